#!/usr/bin/env python3
"""Words that nobody knows are refused and change nothing: parameters of a query, members of bodies and messages. Each
route takes the parameters that the document says, and no others."""

import json
import re
from pathlib import Path

from live_client import Live
from local_api import Entry
from peerd_harness import World, check, main_of_test, say

DOCUMENT = Path(__file__).resolve().parent.parent.parent / "Sources" / "CWebFiles" / "web" / "api" / "openapi.json"
EDIT = {"create": "typo"}
BODIES = (
    ("POST", "/api/objects", {"type": "typo", "propertys": {"n": 1}}),
    ("PATCH", "/api/objects/{id}", {"properties": {"n": 1}, "removed": ["m"]}),
    ("POST", "/api/objects/{id}/move", {"parent": None, "befor": None}),
    ("POST", "/api/transactions", {"edits": [EDIT], "iff": {}}),
    ("POST", "/api/transactions", {"id": "w", "edits": [EDIT], "iff": {}}),
    ("POST", "/api/transactions", {"edits": [{**EDIT, "propertys": {}}]}),
    ("POST", "/api/sync", {"timeout": 5}),
    ("POST", "/api/restamp", {"clock": True}),
    ("POST", "/api/peers", {"addresses": [{"host": "127.0.0.1", "port": 1, "name": "x"}]}),
)
MESSAGES = (
    {"type": "write", "id": "w", "edits": [EDIT], "iff": {}},
    {"type": "write", "id": "w", "edits": [{**EDIT, "propertys": {}}]},
    {"type": "subscribe", "id": 1, "scope": {"all": True}, "from": "now"},
    {"type": "subscribe", "id": 1, "scope": {"all": True, "typ": "a"}},
    {"type": "live", "id": 1, "query": {"typ": "a"}},
    {"type": "live", "id": 1, "query": {}, "count": 3},
    {"type": "watch", "id": 1, "what": "status", "often": True},
    {"type": "credit", "id": 1, "count": 3},
)


def parameters(document, operation):
    for parameter in operation.get("parameters", []):
        if "$ref" in parameter:
            parameter = document["components"]["parameters"][parameter["$ref"].rsplit("/", 1)[1]]
        if parameter["in"] == "query":
            yield parameter["name"]


def is_refusal_of(answer, name):
    return answer.status == 400 and f"There is no parameter “{name}”" in answer.json["detail"]


def check_parameters(entry, document, id):
    """A parameter that the document lacks is refused, and one that it has is not."""
    count = 0
    for path, methods in document["paths"].items():
        # Pages add a number to addresses of files, so that no cache answers.
        if not path.startswith("/api/") or path.startswith("/api/file/") or path.endswith(".json"):
            continue
        for method, operation in methods.items():
            target = re.sub(r"\{[a-z]+\}", "n", path.replace("{id}", id))
            answer = entry.ask(method.upper(), f"{target}?limt=1", None if method == "get" else {})
            if answer.status == 426:
                continue
            check(is_refusal_of(answer, "limt"), f"{method} {path} takes any parameter: {answer.status}")
            count += 1
            if method != "get":
                continue
            for name in parameters(document, operation):
                answer = entry.ask("GET", f"{target}?{name}=1")
                refused = answer.status == 400 and "There is no parameter" in answer.json["detail"]
                check(not refused, f"{method} {path} does not take {name}")
    check(count > 25, f"only {count} operations were tried")
    say(f"{count} operations refuse parameters that nobody knows")


def run():
    document = json.loads(DOCUMENT.read_text(encoding="utf-8"))
    with World("words") as world:
        peer = world.founder("one")
        peer.start()
        entry = Entry.loopback(peer)
        id = entry.expect(201, "POST", "/api/objects", {"type": "note", "properties": {"n": 0, "": "empty"}}).json["id"]
        before = entry.expect(200, "GET", "/api/export").body
        check_parameters(entry, document, id)
        for method, path, body in BODIES:
            answer = entry.refused(400, "bad-request", method, path.replace("{id}", id), body)
            check("There is no member" in answer.json["detail"], f"{path}: {answer.json}")
        with Live(entry) as client:
            for message in MESSAGES:
                client.send(message)
                answer = client.receive("error")
                check("There is no member" in answer["problem"]["detail"], f"{message}: {answer}")
        check(entry.expect(200, "GET", "/api/export").body == before, "a refusal has changed something")

        say("a property without a name is one")
        path = f"/api/objects/{id}/properties/"
        check(entry.get(path) == "empty", "an empty name is not found")
        entry.expect(200, "PUT", path, 7)
        check(entry.get(path) == 7, "an empty name is not written")
        entry.expect(204, "DELETE", path)
        entry.refused(404, "no-such-property", "GET", path)

        say("JSON that cannot be kept is refused with the reason")
        for text, reason in (
            (b'{"type":"a","properties":{"x":1e400}}', "beyond the range of a double"),
            (b'{"type":"a","properties":{"x":' + b"[" * 200 + b"]" * 200 + b"}}", "128 levels"),
            (b'{"type":"a",}', "is not JSON"),
        ):
            answer = entry.ask("POST", "/api/objects", body=text)
            check(answer.status == 400 and reason in answer.json["detail"], f"{text[:40]}: {answer.json}")


if __name__ == "__main__":
    main_of_test(run)
