"""Clients of the local API that take or send much, slowly: they cost others neither time nor memory."""

import json
import urllib.parse

import pytest

from local_api import request_bytes, serve
from peerd_harness import check

READERS = 8
OBJECTS = 150
TEXT = "x" * 20_000
UPLOAD_MEBIBYTES = 200
MEMORY_MEBIBYTES_MAX = 120
HEAVY_OBJECTS = 20
HEAVY_TEXT = "y" * 1_000_000
PAGE_BYTES_MAX = 6 << 20


def memory_peak_mebibytes(peer):
    with open(f"/proc/{peer.process.pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM")) >> 10


def test_exports_that_nobody_reads_keep_nobody_waiting_and_are_whole(world):
    # Nobody who reads from the Unix socket is cut off, so others would wait for ever.
    entry = serve(world, "socket")
    edits = [{"create": "big", "properties": {"n": number, "text": TEXT}} for number in range(OBJECTS // 3)]
    for _ in range(3):
        entry.expect(200, "POST", "/api/transactions", {"edits": edits})
    before = entry.export()
    readers = []
    for _ in range(READERS):
        connection = entry.connect()
        connection.send(request_bytes("GET", "/api/export", entry.fields))
        readers.append(connection)
    for connection in readers:
        check(connection.read_head().status == 200, "an export is refused")
    made = entry.create("small", properties={"n": 1})
    check(entry.get("/api/objects?type=small")["objects"] == [made], "a list beside readers")
    check(len(entry.get("/api/tree?limit=2")["objects"]) == 2, "a tree beside readers")
    for connection in readers:
        body = b""
        while size := int(connection._line(), 16):
            body += connection.take(size)
            connection._line()
        check(body == before, f"an export that was read late has {len(body)} bytes of {len(before)}")
        connection.close()


def test_a_large_file_passes_through_and_is_not_gathered_in_memory(world):
    entry = serve(world)
    piece = b"\xa5" * (1 << 20)
    with entry.connect() as connection:
        length = ("Content-Length", str(UPLOAD_MEBIBYTES << 20))
        connection.send(request_bytes("PUT", "/api/file/large", [*entry.fields, length]))
        for _ in range(UPLOAD_MEBIBYTES):
            connection.send(piece)
        check(connection.read("PUT").status == 201, "a large file is refused")
    peak = memory_peak_mebibytes(entry.peer)
    check(peak < MEMORY_MEBIBYTES_MAX, f"a file of {UPLOAD_MEBIBYTES} MiB took {peak} MiB of memory")
    entry.expect(204, "DELETE", "/api/file/large")


@pytest.fixture
def heavy(world):
    """A way to a daemon that has objects of a megabyte each."""
    entry = serve(world)
    for number in range(HEAVY_OBJECTS):
        entry.create("heavy", properties={"n": number, "text": HEAVY_TEXT})
    return entry


@pytest.mark.parametrize(
    ("path", "member"), [("/api/objects?type=heavy&", "objects"), ("/api/tree?", "objects"), ("/api/log?", "entries")]
)
def test_a_page_ends_early_rather_than_be_very_large(heavy, path, member):
    found, after, largest = [], {}, 0
    while after is not None:
        answer = heavy.expect(200, "GET", path + urllib.parse.urlencode({**after, "limit": 1000}))
        largest = max(largest, len(answer.body))
        found += answer.json[member]
        after = {"after": answer.json["next"]} if answer.json["next"] else None
    check(largest < PAGE_BYTES_MAX, f"{path} answers with {largest} bytes at once")
    shown = [item for item in found if HEAVY_TEXT in json.dumps(item)]
    check(len(shown) == HEAVY_OBJECTS, f"{path} shows {len(shown)} of {HEAVY_OBJECTS}")


def test_changes_end_early_rather_than_be_very_large(heavy):
    since, objects, answers, more = {}, 0, 0, True
    while more:
        answer = heavy.get(f"/api/changes?{urllib.parse.urlencode({'type': 'heavy', **since})}")
        objects, answers, more, since = objects + len(answer["objects"]), answers + 1, answer["more"], {
            "since": answer["token"]
        }
    check(objects == HEAVY_OBJECTS and answers > 2, f"{objects} changed objects in {answers} answers")
