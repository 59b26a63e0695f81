// Written by scripts/web_files.py.
#include "web_files.h"

#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char index_html[] = {
#embed "web/index.html"
};

static const struct web_file web_files[] = {
    {"/", "text/html; charset=utf-8", index_html, sizeof(index_html)},
};

size_t web_file_count(void) { return sizeof(web_files) / sizeof(web_files[0]); }
const struct web_file *web_file_at(size_t index) { return &web_files[index]; }
