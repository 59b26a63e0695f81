#!/usr/bin/env python3
"""Writes the man pages of peerd from its own help: man.py PROGRAM FOLDER."""

import gzip
import re
import subprocess
import sys
from pathlib import Path


def help_of(program: str, *verb: str) -> str:
    return subprocess.run([program, "help", *verb], check=True, capture_output=True, text=True).stdout


def roff(text: str) -> str:
    """Text that roff shows as it is."""
    lines = (line.replace("\\", "\\e").replace("-", "\\-") for line in text.split("\n"))
    return "\n".join("\\&" + line if line.startswith((".", "'")) else line for line in lines)


def page(name: str, text: str, version: str, others: list[str]) -> str:
    """A page of the sections that a help text has."""
    overview, _, rest = text.partition("\n\nUSAGE: ")
    overview = overview.removeprefix("OVERVIEW: ")
    summary, _, discussion = overview.partition("\n\n")
    usage, _, rest = rest.partition("\n\n")
    out = [f'.TH {name.upper()} 1 "" "peerd {version}" "User Commands"']
    out += [".SH NAME", roff(f"{name} - {' '.join(summary.split()).rstrip('.')}")]
    out += [".SH SYNOPSIS", ".nf", roff(usage), ".fi"]
    if discussion:
        out += [".SH DESCRIPTION", ".nf", roff(discussion), ".fi"]
    for section in re.split(r"\n\n(?=[A-Z ]+:\n)", rest.strip("\n")):
        title, _, body = section.partition(":\n")
        out += [f".SH {title}", ".nf", roff(body), ".fi"]
    if others:
        out += [".SH SEE ALSO", ", ".join(f".BR {other} (1)" for other in others).replace(", .BR", " ,\n.BR")]
    return "\n".join(out) + "\n"


def main() -> None:
    program, folder = sys.argv[1], Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    version = subprocess.run([program, "--version"], check=True, capture_output=True, text=True).stdout.strip()
    text = help_of(program)
    verbs = re.findall(r"^  ([a-z]+) {2,}", text.partition("SUBCOMMANDS:")[2], re.MULTILINE)
    pages = {"peerd": page("peerd", text, version, [f"peerd-{verb}" for verb in verbs])}
    for verb in verbs:
        text = help_of(program, verb)
        below = re.findall(r"^  ([a-z]+)(?: \(default\))? {2,}", text.partition("SUBCOMMANDS:")[2], re.MULTILINE)
        name = f"peerd-{verb}"
        pages[name] = page(name, text, version, ["peerd"] + [f"{name}-{word}" for word in below])
        for word in below:
            pages[f"{name}-{word}"] = page(f"{name}-{word}", help_of(program, verb, word), version, [name])
    for name, content in pages.items():
        # Without the time of day, so that the same program has the same pages.
        (folder / f"{name}.1.gz").write_bytes(gzip.compress(content.encode(), mtime=0))


if __name__ == "__main__":
    main()
