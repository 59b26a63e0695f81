#!/usr/bin/env python3
"""An import names the line, the object and the property of what is wrong, and writes nothing then; if it breaks off
midway, it says what is stored; it tells of parents that are nowhere; and its memory does not grow with the file."""

# time limit: 300 s

import json
import os
import re
import subprocess

from peerd_harness import World, check, main_of_test, program, say

FAILURE, STORAGE = 1, 7
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


def check_bad_object(world):
    """What only the workspace can refuse is found midway: here a folder that would come below itself."""
    peer = world.founder("midway")
    upper = peer.create("folder")
    lower = peer.create("folder", "--parent", upper)
    notes = [{"type": "note", "key": str(number), "properties": {"text": "x" * 200}} for number in range(2500)]
    items = [*notes[:2000], {"id": upper, "type": "folder", "parent": lower}, *notes[2000:]]
    path = world.root / "midway.json"
    for daemon_runs in (False, True):
        if daemon_runs:
            peer.start(words=["--no-http"])
        path.write_text("[\n" + ",\n".join(map(json.dumps, items)) + "\n]\n")
        code, text = outcome(peer, path, path.read_bytes())
        check(code == FAILURE and f"{upper} cannot be moved below itself" in text, f"{code} {text}")
        check(stored(text) == (2501, len(peer.objects()) - 2), f"{text}: {len(peer.objects())} objects are there")
        first, last = map(int, re.search(r"objects from number (\d+) on line .* to number (\d+)", text).groups())
        check(first == stored(text)[1] + 1 and first <= 2001 <= last, f"the pieces: {text}")
    peer.run("mv", lower, "--root")
    second = peer.result("import", path)
    check(second.returncode == 0 and len(peer.objects()) == 2502, "the rest comes with a second try")
    peer.stop()
    say("an object that is refused midway: what is stored, and what is not, is told")


def stored(text):
    """How many objects the file has, and how many were imported, as the message says."""
    return tuple(int(number) for number in re.search(r"Of (\d+) objects, (\d+) were imported", text).groups())


def check_full_disk(world):
    small = world.root / "small"
    small.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=6m", "none", small]
    if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        return say("no disk of a size of our own: this needs root")
    try:
        peer = world.peer("full")
        peer.directory = small / "full"
        peer.run("init", "--name", "full")
        path = world.root / "full.json"
        items = [{"type": "note", "key": str(number), "properties": {"text": "x" * 2000}} for number in range(1500)]
        path.write_text("[\n" + ",\n".join(map(json.dumps, items)) + "\n]\n")
        code, text = outcome(peer, path, path.read_bytes())
        check(code == STORAGE, f"{code} {text}")
        count = len(peer.objects())
        check(stored(text) == (1500, count) and 0 < count < 1500, f"{text}: {count} objects are there")
        subprocess.run([*mount[:4], "remount,size=64m", *mount[5:]], check=True)
        check(peer.result("import", path).returncode == 0 and len(peer.objects()) == 1500, "the rest fits now")
    finally:
        subprocess.run(["umount", "-l", small], check=False)
    say("a disk that fills up midway: what is stored is told, and the rest comes with a second try")


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
        check_bad_object(world)
        check_full_disk(world)
        check_memory(world)


main_of_test(run)
