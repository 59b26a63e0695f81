#!/usr/bin/env python3
"""Writes Sources/CWebFiles/web_files.c, which has the files below Sources/CWebFiles/web embedded (C23, #embed).

Run it after a file was added or removed; with --check it says whether that was forgotten.
"""

import os
import re
import sys

ROOT = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "Sources", "CWebFiles")
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".ts": "text/plain; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
}


def served(path):
    """The path under which a file is served."""
    return "/" if path == "index.html" else "/" + path


def text():
    top = os.path.join(ROOT, "web")
    paths = sorted(
        os.path.relpath(os.path.join(folder, name), top) for folder, _, names in os.walk(top) for name in names
    )
    lines = ["// Written by scripts/web_files.py.", '#include "web_files.h"', ""]
    lines += ["#pragma clang diagnostic ignored \"-Wc23-extensions\"", ""]
    rows = []
    for path in paths:
        name = re.sub(r"[^a-z0-9]", "_", path.lower())
        lines += [f"static const unsigned char {name}[] = {{", f'#embed "web/{path}"', "};"]
        kind = TYPES[os.path.splitext(path)[1]]
        rows.append(f'    {{"{served(path)}", "{kind}", {name}, sizeof({name})}},')
    lines += ["", "static const struct web_file web_files[] = {", *rows, "};", ""]
    lines += ["size_t web_file_count(void) { return sizeof(web_files) / sizeof(web_files[0]); }"]
    lines += ["const struct web_file *web_file_at(size_t index) { return &web_files[index]; }", ""]
    return "\n".join(lines)


def main():
    target = os.path.join(ROOT, "web_files.c")
    wanted = text()
    if "--check" not in sys.argv[1:]:
        with open(target, "w", encoding="utf-8") as file:
            file.write(wanted)
        return
    with open(target, encoding="utf-8") as file:
        if file.read() != wanted:
            sys.exit("web_files.c does not have the files of today; run scripts/web_files.py")


if __name__ == "__main__":
    main()
