/* A file system that cannot sync folders, for a program that is started with LD_PRELOAD: fsync of a folder at or below
 * NO_FOLDER_SYNC fails with the error number NO_FOLDER_SYNC_ERRNO. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int refuses(int descriptor) {
    const char *folder = getenv("NO_FOLDER_SYNC");
    struct stat status;
    if (!folder || fstat(descriptor, &status) || !S_ISDIR(status.st_mode)) return 0;
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t count = readlink(link, path, sizeof path - 1);
    if (count < 0) return 0;
    path[count] = 0;
    return !strncmp(path, folder, strlen(folder));
}

int fsync(int descriptor) {
    static int (*real)(int);
    if (!real) real = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
    if (!refuses(descriptor)) return real(descriptor);
    errno = atoi(getenv("NO_FOLDER_SYNC_ERRNO"));
    return -1;
}
