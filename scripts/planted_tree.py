#!/usr/bin/env python3
"""Makes a copy of the package in which all bugs of Tests/Mutants are planted, to be built and run apart.

    scripts/planted_tree.py FOLDER         copies the package, and applies the patches
    scripts/planted_tree.py FOLDER --save  writes the patches anew, from what was edited in the copy

Only files that differ are written, so that a build goes on from the last one.
"""

import difflib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent
MUTANTS = PACKAGE / "Tests" / "Mutants"
PATCHES, ADDED = MUTANTS / "Patches", MUTANTS / "Sources"
PARTS = ["Package.swift", "Sources", "Tests", "Benchmarks", "Examples", "Fuzz"]


def files():
    """What the package is built from, by path: the content of each file."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", *PARTS]
    listed = subprocess.run(command, cwd=PACKAGE, capture_output=True, check=True).stdout.decode().split("\0")
    return {path: (PACKAGE / path).read_bytes() for path in listed if path and (PACKAGE / path).is_file()}


def added():
    """The files that only the copy has: the list of the bugs, and what looks for them."""
    return {f"Sources/{path.relative_to(ADDED)}": path.read_bytes() for path in ADDED.rglob("*.swift")}


def planted(clean):
    """The same with the patches applied. One that does not apply is an error, and nothing is made."""
    patches = sorted(PATCHES.rglob("*.patch"))
    touched = {f"Sources/{patch.relative_to(PATCHES).with_suffix('.swift')}" for patch in patches}
    with tempfile.TemporaryDirectory() as folder:
        for path in touched & clean.keys():
            write(Path(folder, path), clean[path])
        environment = {**os.environ, "GIT_CEILING_DIRECTORIES": str(Path(folder).parent)}
        if subprocess.run(["git", "apply", *patches], cwd=folder, env=environment).returncode != 0:
            sys.exit("A patch below Tests/Mutants/Patches does not fit its source: CONTRIBUTING.md, “Planted bugs”.")
        return clean | {path: Path(folder, path).read_bytes() for path in touched} | added()


def write(path, content):
    if not path.is_file() or path.read_bytes() != content:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def make(folder):
    wanted = planted(files())
    for path, content in wanted.items():
        write(folder / path, content)
    for part in PARTS:
        for path in sorted((folder / part).rglob("*")):
            if path.is_file() and str(path.relative_to(folder)) not in wanted:
                path.unlink()


def save(folder):
    clean, extra = files(), added()
    for path in sorted(folder.joinpath("Sources").rglob("*.swift")):
        name = str(path.relative_to(folder))
        if name in extra:
            write(ADDED / path.relative_to(folder / "Sources"), path.read_bytes())
            continue
        lines = [content.decode().splitlines(keepends=True) for content in (clean[name], path.read_bytes())]
        patch = PATCHES / path.relative_to(folder / "Sources").with_suffix(".patch")
        if lines[0] == lines[1]:
            patch.unlink(missing_ok=True)
        else:
            write(patch, "".join(difflib.unified_diff(*lines, f"a/{name}", f"b/{name}")).encode())


if __name__ == "__main__":
    folder = Path(sys.argv[1]).resolve()
    if sys.argv[2:] == ["--save"]:
        save(folder)
    else:
        make(folder)
