#ifndef PEERD_PROGRAM_MEMORY_H
#define PEERD_PROGRAM_MEMORY_H

/// Returns free memory to the system, and the pages of program code, which come back from the page cache when needed.
void peerd_program_memory_give_back(void);

#endif
