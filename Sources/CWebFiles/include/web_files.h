#ifndef PEERD_WEB_FILES_H
#define PEERD_WEB_FILES_H

#include <stddef.h>

/// A file that the local server has within itself.
struct web_file {
    /// The path under which it is served.
    const char *path;
    const char *media_type;
    const unsigned char *bytes;
    size_t byte_count;
};

size_t web_file_count(void);
const struct web_file *web_file_at(size_t index);

#endif
