"""What was written is said to be written, whatever becomes of the read for the answer: an error would have a client
write it again."""

import os
import resource

import pytest

from local_api import Entry, serve
from peerd_harness import check


@pytest.fixture
def entry(world):
    return serve(world, "socket")


def leave_no_file_to_open(entry):
    """The daemon opens nothing any more; what it has open goes on. Nothing has been read so far."""
    pid = entry.peer.process.pid
    open_count = max(map(int, os.listdir(f"/proc/{pid}/fd"))) + 1
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (open_count, resource.prlimit(pid, resource.RLIMIT_NOFILE)[1]))


@pytest.mark.parametrize("way", ["create", "patch", "move", "set"])
def test_a_write_whose_object_cannot_be_read_is_said_to_be_written(entry, way):
    id = entry.peer.create("note", "text=old")
    entry.peer.restart()
    entry = Entry.socket(entry.peer)
    with entry.connect() as connection:
        def ask(method, target, body):
            fields = [*entry.fields, ("Content-Type", "application/json")]
            return connection.ask(method, target, fields, body)

        check(ask("POST", "/api/transactions", b'{"edits":[{"create":"first"}]}').status == 200, "a write")
        leave_no_file_to_open(entry)
        answer = {
            "create": lambda: ask("POST", "/api/objects", b'{"type":"unread"}'),
            "patch": lambda: ask("PATCH", f"/api/objects/{id}", b'{"properties":{"text":"new"}}'),
            "move": lambda: ask("POST", f"/api/objects/{id}/move", b'{"parent":null}'),
            "set": lambda: ask("PUT", f"/api/objects/{id}/properties/text", b'"new"'),
        }[way]()
        check(answer.status == (201 if way == "create" else 200), f"{answer.status}: {answer.body}")
        check(answer.field("Preference-Applied") == "return=minimal", f"{answer.fields}")
        made = answer.json["id"]
        check(answer.json["operations"] in (1, 2) and (way == "create" or made == id), f"{answer.json}")
        if way == "create":
            check(answer.field("Location") == f"/api/objects/{made}", f"{answer.fields}")
    entry.peer.kill()
    objects = entry.peer.objects()
    check(made in objects, "it is not written")
    check(way not in ("patch", "set") or objects[id]["properties"]["text"] == "new", f"{objects[id]}")
    check(len(objects) == (3 if way == "create" else 2), f"{objects}")
