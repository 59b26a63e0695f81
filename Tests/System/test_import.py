#!/usr/bin/env python3
"""An import names the line, the object and the property of what is wrong, and writes nothing then; it tells of parents
that are nowhere; and its memory does not grow with the file."""

# time limit: 300 s

import json
import os
import subprocess

from peerd_harness import World, check, main_of_test, program, say

FAILURE = 1
NOWHERE = "00000000-0000-4000-8000-000000000009"
# The smaller file fills the caches of SQLite.
LARGE_VALUE_COUNTS = (300, 900)
LARGE_VALUE = "x" * 60_000
ALLOWED_KILOBYTES = 24 << 10


def outcome(peer, path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    done = peer.result("import", path)
    return done.returncode, done.stderr.decode()


def check_messages(world):
    peer = world.founder("messages")
    path = world.root / "file.json"
    wrong = [
        ('[{"type":"a"},\n{"type":"a"},,{"type":"a"}]', ["line 2", "comma too many behind object 2"]),
        ('[{"type":"a"},\n{"type":"a",\n"properties":{"n":1e999}}]', ["Object 2", "line 2", '"n" on line 3']),
        ('[{"type":"a","properties":{"":1}}]', ["Object 1", "line 1", "without a name"]),
        ('[{"type":"a"},\n{"id":"%s"}]' % NOWHERE, ["Object 2", "line 2", 'no "type"']),
        ("[{\"type\":\"a\"}".encode("utf-16"), ["UTF-16"]),
    ]
    for daemon_runs in (False, True):
        if daemon_runs:
            peer.start(words=["--no-http"])
        for content, words in wrong:
            code, text = outcome(peer, path, content)
            check(code == FAILURE and "Nothing was imported" in text, f"{content}: {code} {text}")
            for word in words:
                check(word in text, f"{content}: the error does not mention {word!r}: {text}")
        check(peer.objects() == {}, "a refused file left something")
    code, text = outcome(peer, path, b'\xef\xbb\xbf[{"type":"a","key":"here"}]')
    check(code == 0 and not text, f"a byte order mark: {code} {text}")
    code, text = outcome(peer, path, '[{"type":"b","parent":"%s"},\n{"type":"b","parent_key":"none"}]' % NOWHERE)
    check(code == 0 and NOWHERE in text and "1 more" in text, f"parents that are nowhere: {code} {text}")
    code, text = outcome(peer, path, '[{"type":"a","parent_key":"here"}]')
    check(code == 0 and not text, f"a parent in the workspace: {code} {text}")
    check(len(peer.objects()) == 4, "each is there")
    peer.stop()
    say("a wrong file is refused by line, object and property; parents that are nowhere are told")


def peak_kilobytes(peer, path):
    command = [program(), "import", "--dir", str(peer.directory), str(path)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    check(process.returncode == 0, f"the import ended with {process.returncode}")
    return usage.ru_maxrss


def check_memory(world):
    peer = world.founder("memory")
    path = world.root / "large.json"
    peaks = []
    for count in LARGE_VALUE_COUNTS:
        # Piece by piece: the peak of a process that was forked counts what this one has in memory.
        with open(path, "w") as file:
            for number in range(count):
                item = {"type": "t", "key": f"{count}.{number}", "properties": {"p": LARGE_VALUE}}
                file.write(("," if number else "[") + json.dumps(item) + "\n")
            file.write("]")
        peaks.append(peak_kilobytes(peer, path))
    size = path.stat().st_size >> 10
    growth = peaks[1] - peaks[0]
    check(growth < ALLOWED_KILOBYTES < size, f"memory grows with the file: {peaks} kB for {size} kB")
    say("memory does not grow with the file")


def run():
    with World("import") as world:
        check_messages(world)
        check_memory(world)


main_of_test(run)
