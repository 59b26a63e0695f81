#include "program_arguments.h"

static int count;
static char **arguments;

// The C library hands the arguments to whatever runs before the program. The Swift runtime reads them from a file
// instead, and finds none if a library like libfaketime was loaded before.
__attribute__((constructor)) static void note_arguments(int argc, char **argv) {
    count = argc;
    arguments = argv;
}

int peerd_argument_count(void) { return count; }

const char *peerd_argument(int index) { return arguments[index]; }
