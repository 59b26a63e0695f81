#ifndef PEERD_PROGRAM_ARGUMENTS_H
#define PEERD_PROGRAM_ARGUMENTS_H

/// The number of the arguments that the program was started with, its name included; 0 if they are not known.
int peerd_argument_count(void);

/// One of them, byte for byte.
const char *peerd_argument(int index);

#endif
