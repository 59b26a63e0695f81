#!/usr/bin/env python3
"""Clients of the local API that take or send much, slowly: they cost others neither time nor memory. Names of
properties that look alike stay apart."""

import json
import urllib.parse

from local_api import Entry, request_bytes
from peerd_harness import World, check, main_of_test, say

READERS = 8
OBJECTS = 150
TEXT = "x" * 20_000
UPLOAD_MEBIBYTES = 200
MEMORY_MEBIBYTES_MAX = 120
HEAVY_OBJECTS = 20
HEAVY_TEXT = "y" * 1_000_000
PAGE_BYTES_MAX = 6 << 20


def create(entry, type, **properties):
    return entry.expect(201, "POST", "/api/objects", {"type": type, "properties": properties}).json


def memory_peak_mebibytes(peer):
    with open(f"/proc/{peer.process.pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM")) >> 10


def check_readers(entry):
    """Exports that nobody reads keep neither reads nor writes waiting, and are whole when somebody does."""
    edits = [{"create": "big", "properties": {"n": number, "text": TEXT}} for number in range(OBJECTS // 3)]
    for _ in range(3):
        entry.expect(200, "POST", "/api/transactions", {"edits": edits})
    before = entry.expect(200, "GET", "/api/export").body
    readers = []
    for _ in range(READERS):
        connection = entry.connect()
        connection.send(request_bytes("GET", "/api/export", entry.fields))
        readers.append(connection)
    for connection in readers:
        check(connection.read_head().status == 200, "an export is refused")
    made = create(entry, "small", n=1)
    check(entry.get("/api/objects?type=small")["objects"] == [made], "a list beside readers")
    check(len(entry.get("/api/tree?limit=2")["objects"]) == 2, "a tree beside readers")
    for connection in readers:
        body = b""
        while size := int(connection._line(), 16):
            body += connection.take(size)
            connection._line()
        check(body == before, f"an export that was read late has {len(body)} bytes of {len(before)}")
        connection.close()


def check_upload(peer, entry):
    """A file passes through; it is not gathered in memory, however fast it comes."""
    piece = b"\xa5" * (1 << 20)
    connection = entry.connect()
    head = [*entry.fields, ("Content-Length", str(UPLOAD_MEBIBYTES << 20))]
    connection.send(request_bytes("PUT", "/api/file/large", head))
    for _ in range(UPLOAD_MEBIBYTES):
        connection.send(piece)
    check(connection.read("PUT").status == 201, "a large file is refused")
    connection.close()
    peak = memory_peak_mebibytes(peer)
    check(peak < MEMORY_MEBIBYTES_MAX, f"a file of {UPLOAD_MEBIBYTES} MiB took {peak} MiB of memory")
    entry.expect(204, "DELETE", "/api/file/large")


def check_pages(entry):
    """Whatever lists objects ends a page early rather than answer with very much at once."""
    for number in range(HEAVY_OBJECTS):
        create(entry, "heavy", n=number, text=HEAVY_TEXT)
    for path, member, parameters in (
        ("/api/objects", "objects", {"type": "heavy"}), ("/api/tree", "objects", {}), ("/api/log", "entries", {}),
    ):
        found, after, largest = [], {}, 0
        while after is not None:
            target = f"{path}?{urllib.parse.urlencode({**parameters, **after, 'limit': 1000})}"
            answer = entry.expect(200, "GET", target)
            largest = max(largest, len(answer.body))
            found += answer.json[member]
            after = {"after": answer.json["next"]} if answer.json["next"] else None
        check(largest < PAGE_BYTES_MAX, f"{path} answers with {largest} bytes at once")
        heavy = [item for item in found if HEAVY_TEXT in (json.dumps(item))]
        check(len(heavy) == HEAVY_OBJECTS, f"{path} shows {len(heavy)} of {HEAVY_OBJECTS}")
    token, objects, answers = None, 0, 0
    while True:
        since = {"since": token} if token else {}
        answer = entry.get(f"/api/changes?{urllib.parse.urlencode({'type': 'heavy', **since})}")
        objects, token, answers = objects + len(answer["objects"]), answer["token"], answers + 1
        if not answer["more"]:
            break
    check(objects == HEAVY_OBJECTS and answers > 2, f"{objects} changed objects in {answers} answers")


def check_names(entry):
    """Names are the same if their bytes are, whatever they look like."""
    names = ["\u00e9", "e\u0301", "E\u0301", "\u212b", "\u00c5", "A\u030a"]
    path = f"/api/objects/{create(entry, 'note')['id']}"
    alone = urllib.parse.quote(names[0])
    entry.expect(200, "PUT", f"{path}/properties/{alone}", "first")
    entry.refused(404, "no-such-property", "GET", f"{path}/properties/{urllib.parse.quote(names[1])}")
    entry.refused(404, "no-such-property", "DELETE", f"{path}/properties/{urllib.parse.quote(names[1])}")
    for number, name in enumerate(names):
        entry.expect(200, "PUT", f"{path}/properties/{urllib.parse.quote(name)}", f"value {number}")
    wanted = {name: f"value {number}" for number, name in enumerate(names)}
    check(entry.get(path)["properties"] == wanted, f"{entry.get(path)['properties']}")
    for name in names:
        place = f"{path}/properties/{urllib.parse.quote(name)}"
        check(entry.get(place) == wanted.pop(name), f"{name!a} has the value of another")
        entry.expect(204, "DELETE", place)
        check(entry.get(path)["properties"] == wanted, f"without {name!a}: {json.dumps(entry.get(path))}")


def run():
    with World("slow") as world:
        peer = world.founder("first")
        peer.start()
        entry = Entry.loopback(peer)
        check_names(entry)
        say("names that look alike stay apart")
        check_upload(peer, entry)
        say("a large file passes through")
        check_pages(entry)
        say("pages are no larger than they should be")
        # Nobody who reads from the Unix socket is cut off, so others would wait for ever.
        check_readers(Entry.socket(peer))
        say("readers that do not read cost only themselves")


if __name__ == "__main__":
    main_of_test(run)
