"""What the local API refuses, over both of its entries: methods, paths, bodies and types of bodies that a route does
not take, and words that nobody knows, be they parameters of a query or members of bodies and messages. Nothing of it
changes anything."""

import json
import re

import pytest

from live_client import Live
from local_api import NOBODY, WAYS, openapi, query_parameters, serve
from peerd_harness import check


@pytest.fixture(params=WAYS)
def entry(request, world):
    return serve(world, request.param)


@pytest.fixture
def id(entry):
    """The id of an object."""
    return entry.create("note", properties={"n": 0})["id"]


GETS = (
    "/api/server-info", "/api/status", "/api/sync/status", "/api/peers", "/api/objects", "/api/objects/count",
    "/api/children", "/api/tree", "/api/conflicts", "/api/log", "/api/changes", "/api/projects", "/api/export",
    "/healthz", "/metrics",
)
ALLOWED = {
    "/api/objects": "GET HEAD POST",
    "/api/conflicts/resolve": "POST",
    "/api/status": "GET HEAD",
    "/api/objects/count": "GET HEAD",
    f"/api/objects/{NOBODY}": "GET HEAD PATCH DELETE",
    f"/api/objects/{NOBODY}/properties/a": "GET HEAD PUT DELETE",
    f"/api/objects/{NOBODY}/move": "POST",
    "/api/sync": "POST",
    "/api/projects/p": "GET HEAD PUT DELETE",
    "/api/import": "POST",
    "/api/transactions": "POST",
    "/healthz": "GET HEAD",
    "/api/doctor": "POST",
}


def test_head_answers_like_get(entry, id, subtests):
    for target in GETS:
        with subtests.test(target):
            got, head = entry.expect(200, "GET", target), entry.expect(200, "HEAD", target)
            check(head.field("Content-Type") == got.field("Content-Type"), f"{head.field('Content-Type')}")
            lengths = {answer.field("Content-Length") for answer in (got, head)}
            # Metrics and clocks move; everything else is as long as before.
            check(target in ("/metrics", "/api/status") or len(lengths) == 1, f"the lengths are {lengths}")
    entry.refused(404, "not-found", "HEAD", "/nothing")


def test_methods_that_a_route_does_not_have(entry, subtests):
    for target, words in ALLOWED.items():
        with subtests.test(target):
            for method in {"GET", "PUT", "POST", "PATCH", "DELETE", "OPTIONS", "TRACE"} - set(words.split()):
                answer = entry.refused(405, "method-not-allowed", method, target)
                allowed = (answer.field("Allow") or "").split(", ")
                check(sorted(allowed) == sorted(words.split()), f"{target} allows {allowed}, not {words}")


def test_paths_that_lead_nowhere(entry, subtests):
    for target in (
        "/nothing", "/api", "/api/", "/api/objects/", f"/api/objects/{NOBODY}/", "//api/status", "/API/status",
        "/api/objects/../status", "/api/status%00",
    ):
        with subtests.test(target):
            entry.refused(404, "not-found", "GET", target)
    entry.refused(426, "upgrade-required", "GET", "/ws/sync")


BAD_JSON = (b"", b"{", b'{"a":1}x', b"\xff", b'"\xed\xa0\x80"', b"[" * 100_000, b"1e999", b"{'a':1}", b'{"a":NaN}')


def test_bodies_that_are_no_json(entry, id, subtests):
    path = f"/api/objects/{id}"
    with entry.unchanged():
        for method, target in (
            ("POST", "/api/objects"), ("PATCH", path), ("PUT", f"{path}/properties/a"), ("POST", f"{path}/move"),
            ("POST", "/api/transactions"), ("POST", "/api/conflicts/resolve"), ("PUT", "/api/projects/bad"),
        ):
            with subtests.test(target, method=method):
                for body in BAD_JSON:
                    entry.refused(400, "bad-request", method, target, body=body)
        entry.refused(400, "bad-request", "POST", "/api/sync", body=b"nope")


def test_json_that_cannot_be_kept_is_refused_with_the_reason(entry, subtests):
    for text, reason in (
        (b'{"type":"a","properties":{"x":1e400}}', "beyond the range of a double"),
        (b'{"type":"a","properties":{"x":' + b"[" * 200 + b"]" * 200 + b"}}", "128 levels"),
        (b'{"type":"a",}', "is not JSON"),
    ):
        with subtests.test(reason):
            answer = entry.ask("POST", "/api/objects", body=text)
            check(answer.status == 400 and reason in answer.json["detail"], f"{text[:40]}: {answer.json}")


def test_bodies_of_other_shapes(entry, subtests):
    with entry.unchanged():
        for body in ([], 1, "a", None, {}, {"type": 1}, {"type": None}, {"type": "a", "properties": []},
                     {"type": "a", "parent": 1}, {"type": "a", "first": 1}, {"type": "a", "key": {}}):
            with subtests.test(body=body):
                answer = entry.refused(400, "bad-request", "POST", "/api/objects", body=json.dumps(body).encode())
                check("body" in answer.json["detail"] or "member" in answer.json["detail"], f"{answer.json}")
        entry.refused(404, "no-such-object", "POST", "/api/objects", {"type": "a", "parent": NOBODY})
        entry.refused(400, "bad-request", "POST", "/api/sync", {"timeout_ms": 0})


def test_ids_of_no_object_and_of_several(entry, id):
    entry.refused(404, "no-such-object", "GET", "/api/objects/zzzz")
    entry.refused(404, "no-such-object", "GET", f"/api/objects/{id[:3]}")
    entry.refused(400, "bad-request", "GET", "/api/objects/%ff")
    entry.refused(400, "bad-request", "GET", "/api/objects/%4")
    # Of so many objects some begin with the same four digits.
    edits = {"edits": [{"create": "item"}] * 2_000}
    ids = [made[:4] for made in entry.expect(200, "POST", "/api/transactions", edits).json["created"]]
    entry.refused(409, "ambiguous-id", "GET", f"/api/objects/{next(id for id in ids if ids.count(id) > 1)}")


# What a page may send to any server without being asked (the types of forms), and more that is no JSON.
OTHER_TYPES = (
    "text/plain", "text/plain;charset=UTF-8", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x",
    "", "application/x-ndjson", "application/octet-stream", "text/json", "text/plain, application/json",
)
JSON_TYPES = ("application/json", "application/json; charset=utf-8", "Application/JSON ; a=b", "application/x+json")


def test_bodies_of_other_types(entry, id, subtests):
    path = f"/api/objects/{id}"
    with entry.unchanged():
        for method, target, body in (
            ("POST", "/api/objects", {"type": "a"}), ("PATCH", path, {"properties": {"a": 1}}),
            ("PUT", f"{path}/properties/a", 1), ("POST", f"{path}/move", {"parent": None, "first": True}),
            ("POST", "/api/transactions", {"edits": [{"create": "a"}]}), ("PUT", "/api/projects/typed", {}),
            ("POST", "/api/import", [{"type": "a"}]), ("POST", "/api/conflicts/resolve", {}), ("POST", "/api/sync", {}),
            ("POST", "/api/peers", {"addresses": []}), ("POST", "/api/restamp", {}),
        ):
            with subtests.test(target, method=method):
                for type in OTHER_TYPES:
                    fields, data = [("Content-Type", type)], json.dumps(body).encode()
                    answer = entry.refused(415, "unsupported-media-type", method, target, fields=fields, body=data)
                    check("application/json" in answer.json["advice"], f"{answer.json}")


def test_types_that_are_json(entry, id, subtests):
    path = f"/api/objects/{id}"
    for type in JSON_TYPES:
        with subtests.test(type):
            body = json.dumps({"properties": {"type": type}}).encode()
            entry.expect(200, "PATCH", path, fields=[("Content-Type", type)], body=body)
            check(entry.get(path)["properties"]["type"] == type, f"a body of the type {type}")
    # Files have any type.
    entry.expect(201, "PUT", "/api/file/typed", fields=[("Content-Type", "text/plain")], body=b"{}")


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


def test_members_of_bodies_that_nobody_knows(entry, id, subtests):
    with entry.unchanged():
        for method, path, body in BODIES:
            with subtests.test(path, method=method, body=body):
                answer = entry.refused(400, "bad-request", method, path.replace("{id}", id), body)
                check("There is no member" in answer.json["detail"], f"{answer.json}")


def test_members_of_messages_that_nobody_knows(entry, id, subtests):
    with entry.unchanged(), Live(entry) as client:
        for message in MESSAGES:
            with subtests.test(message=message):
                client.send(message)
                answer = client.receive("error")
                check("There is no member" in answer["problem"]["detail"], f"{answer}")


def test_a_route_takes_the_parameters_of_the_document_and_no_others(entry, id, subtests):
    document, count = openapi(), 0
    before = entry.export()
    for path, methods in document["paths"].items():
        # Pages add a number to addresses of files, so that no cache answers.
        if not path.startswith("/api/") or path.startswith("/api/file/") or path.endswith(".json"):
            continue
        for method, operation in methods.items():
            target = re.sub(r"\{[a-z]+\}", "n", path.replace("{id}", id))
            answer = entry.ask(method.upper(), f"{target}?limt=1", None if method == "get" else {})
            if answer.status == 426:
                continue
            with subtests.test(path, method=method):
                is_refused = answer.status == 400 and "There is no parameter “limt”" in answer.json["detail"]
                check(is_refused, f"any parameter is taken: {answer.status}")
                for name in query_parameters(document, operation) if method == "get" else ():
                    answer = entry.ask("GET", f"{target}?{name}=1")
                    is_refused = answer.status == 400 and "There is no parameter" in answer.json["detail"]
                    check(not is_refused, f"{name} is not taken")
            count += 1
    check(count > 25, f"only {count} operations were tried")
    check(entry.export() == before, "a refusal has changed something")
