"""An import names the line, the object and the property of what is wrong, and writes nothing then; if it breaks off
midway, it says what is stored; it tells of parents that are nowhere; and its memory does not grow with the file."""

import json
import os
import re
import subprocess

import pytest

from peerd_harness import check, program, skip

FAILURE, STORAGE = 1, 7
NOWHERE = "00000000-0000-4000-8000-000000000009"
# The smaller file fills the caches of SQLite.
LARGE_VALUE_COUNTS = (300, 900)
LARGE_VALUE = "x" * 60_000
ALLOWED_KILOBYTES = 24 << 10


@pytest.fixture(params=[False, True], ids=["alone", "daemon"])
def peer(world, request):
    """A peer whose verbs open its directory themselves, or ask its daemon."""
    peer = world.founder("one")
    if request.param:
        peer.start(words=["--no-http"])
    return peer


def outcome(peer, content):
    path = peer.directory.parent / "file.json"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    done = peer.result("import", path)
    return done.returncode, done.stderr.decode()


def many(count, size):
    """Objects that are new at the first import alone."""
    return [{"type": "note", "key": str(number), "properties": {"text": "x" * size}} for number in range(count)]


def lines_of(items):
    return "[\n" + ",\n".join(map(json.dumps, items)) + "\n]\n"


def stored(text):
    """How many objects the file has, and how many were imported, as the message says."""
    return tuple(int(number) for number in re.search(r"Of (\d+) objects, (\d+) were imported", text).groups())


WRONG = {
    "two_commas": ('[{"type":"a"},\n{"type":"a"},,{"type":"a"}]', ["line 2", "comma too many behind object 2"]),
    "number": ('[{"type":"a"},\n{"type":"a",\n"properties":{"n":1e999}}]', ["Object 2", "line 2", '"n" on line 3']),
    "no_type": ('[{"type":"a"},\n{"id":"%s"}]' % NOWHERE, ["Object 2", "line 2", 'no "type"']),
    "UTF-16": ('[{"type":"a"}'.encode("utf-16"), ["UTF-16"]),
    "broken_off": ("{", []), "no_object": ("[1]", []), "no_list": ('{"a": 1}', []), "no_text": ('[{"type": 5}]', []),
    "empty": ("", []),
}


@pytest.mark.parametrize("content, words", WRONG.values(), ids=WRONG)
def test_a_wrong_file_is_refused_as_a_whole(peer, content, words):
    code, text = outcome(peer, content)
    check(code == FAILURE and "Nothing was imported" in text, f"{content}: {code} {text}")
    for word in words:
        check(word in text, f"{content}: the error does not mention {word!r}: {text}")
    check(peer.objects() == {}, "a refused file left something")


def test_what_was_exported_is_imported_whatever_its_properties_are_called(world, peer):
    names = ["", " ", "=", "a\nb", "\u00e9", "e\u0301", "n" * 512]
    content = json.dumps([{"id": NOWHERE, "type": "note", "properties": {name: name for name in names}}])
    code, text = outcome(peer, content)
    check(code == 0 and not text, f"{code} {text}")
    exported = peer.export()
    check(set(json.loads(exported)[0]["properties"]) == set(names), f"exported: {exported}")
    other = world.founder("other")
    code, text = outcome(other, exported)
    check(code == 0 and not text, f"what was exported is refused: {code} {text}")
    check(other.objects()[NOWHERE]["properties"] == peer.objects()[NOWHERE]["properties"], "something is lost")


def test_a_file_that_is_not_there_is_refused(world, peer):
    peer.refused(FAILURE, "import", world.root / "missing.json", mentions=["missing.json"])


def test_parents_that_are_nowhere_are_told(peer):
    code, text = outcome(peer, b'\xef\xbb\xbf[{"type":"a","key":"here"}]')
    check(code == 0 and not text, f"a byte order mark: {code} {text}")
    code, text = outcome(peer, '[{"type":"b","parent":"%s"},\n{"type":"b","parent_key":"none"}]' % NOWHERE)
    check(code == 0 and NOWHERE in text and "1 more" in text, f"parents that are nowhere: {code} {text}")
    code, text = outcome(peer, '[{"type":"a","parent_key":"here"}]')
    check(code == 0 and not text, f"a parent in the workspace: {code} {text}")
    check(len(peer.objects()) == 4, "each is there")


def test_an_import_that_breaks_off_midway_says_what_is_stored(peer):
    """What only the workspace can refuse is found midway: here a folder that would come below itself."""
    upper = peer.create("folder")
    lower = peer.create("folder", "--parent", upper)
    notes = many(2500, 200)
    content = lines_of([*notes[:2000], {"id": upper, "type": "folder", "parent": lower}, *notes[2000:]])
    code, text = outcome(peer, content)
    check(code == FAILURE and f"{upper} cannot be moved below itself" in text, f"{code} {text}")
    check(stored(text) == (2501, len(peer.objects()) - 2), f"{text}: {len(peer.objects())} objects are there")
    first, last = map(int, re.search(r"objects from number (\d+) on line .* to number (\d+)", text).groups())
    check(first == stored(text)[1] + 1 and first <= 2001 <= last, f"the pieces: {text}")
    peer.run("mv", lower, "--root")
    code, text = outcome(peer, content)
    check(code == 0 and len(peer.objects()) == 2502, f"the rest does not come with a second try: {text}")


def test_a_disk_that_fills_up_midway(world):
    small = world.root / "small"
    small.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=6m", "none", small]
    if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        skip("no disk of a size of our own: this needs root")
    world.closers.append(lambda: subprocess.run(["umount", "-l", small], check=False))
    peer = world.peer("full")
    peer.directory = small / "full"
    peer.run("init", "--name", "full")
    path = world.root / "full.json"
    path.write_text(lines_of(many(1500, 2000)))
    text = peer.refused(STORAGE, "import", path)
    count = len(peer.objects())
    check(stored(text) == (1500, count) and 0 < count < 1500, f"{text}: {count} objects are there")
    subprocess.run([*mount[:4], "remount,size=64m", *mount[5:]], check=True)
    check(peer.result("import", path).returncode == 0 and len(peer.objects()) == 1500, "the rest does not fit now")


def peak_kilobytes(peer, path):
    command = [program(), "import", "--dir", str(peer.directory), str(path)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    check(process.returncode == 0, f"the import ended with {process.returncode}")
    return usage.ru_maxrss


def test_the_memory_of_an_import_does_not_grow_with_the_file(world):
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
