#!/usr/bin/env python3
"""The local API over both of its entries, the Unix socket and loopback: every route, what it answers, and how it
refuses what cannot be done."""

# time limit: 300 s

import json
import re
import threading
import urllib.parse

from local_api import Entry, both_entries, take_delta, versions
from peerd_harness import World, check, main_of_test, run_together, say, wait_until

NOBODY = "00000000-0000-4000-8000-000000000000"
OBJECT_MEMBERS = {
    "id", "type", "kind", "parent", "position", "creator", "owner", "created_at", "updated_at", "child_count",
    "version", "properties",
}
VALUES = [
    None,
    True,
    False,
    0,
    -1,
    2**63 - 1,
    -(2**63),
    0.5,
    -0.0,
    1e300,
    "",
    "Ä\u0000\U0001f600",
    [],
    {},
    [1, [2, {"a": None}]],
    {"$bytes": "00ff"},
]


def quoted(text):
    return urllib.parse.quote(text, safe="")


def query(**parameters):
    return urllib.parse.urlencode(parameters)


def match(version):
    return [("If-Match", f'"{version}"')]


def create(entry, type="item", parent=None, /, **members):
    answer = entry.expect(201, "POST", "/api/objects", {"type": type, "parent": parent, **members})
    check(answer.field("Location") == f"/api/objects/{answer.json['id']}", f"Location: {answer.field('Location')}")
    return answer.json


def pages(entry, path, member="objects", **parameters):
    """All elements of a list, and how many pages they had."""
    found, count, after = [], 0, {}
    while True:
        page = entry.get(f"{path}?{query(**parameters, **after)}")
        found += page[member]
        count += 1
        if page["next"] is None:
            return found, count
        check(page[member], f"{path}: an empty page that is not the last")
        after = {"after": page["next"]}


def check_objects(entry):
    made = create(entry, "note", properties={"title": "Milk", "done": False})
    check(set(made) >= OBJECT_MEMBERS, f"an object lacks {OBJECT_MEMBERS - set(made)}")
    check(made["properties"] == {"title": "Milk", "done": False} and made["type"] == "note", f"{made}")
    check(made["parent"] is None and made["child_count"] == 0 and made["creator"] == made["owner"], f"{made}")
    path = f"/api/objects/{made['id']}"
    read = entry.expect(200, "GET", path)
    check(read.json == made, f"created {made}, read {read.json}")
    check(read.tag == f'"{made["version"]}"', f"ETag {read.tag} of version {made['version']}")
    check(entry.get(f"/api/objects/{made['id'].replace('-', '')[:12]}") == made, "an abbreviated id")
    check(entry.get(path.upper().replace("/API/OBJECTS", "/api/objects")) == made, "an id in capitals")

    # Conditions.
    check(entry.expect(304, "GET", path, fields=[("If-None-Match", read.tag)]).tag == read.tag, "304 without ETag")
    entry.expect(304, "GET", path, fields=[("If-None-Match", f'"x", W/{read.tag}')])
    entry.expect(304, "GET", path, fields=[("If-None-Match", "*")])
    entry.expect(200, "GET", path, fields=[("If-None-Match", '"x"')])
    patched = entry.expect(200, "PATCH", path, {"properties": {"done": True, "n": None}}, match(made["version"])).json
    check(patched["properties"] == {"title": "Milk", "done": True, "n": None}, f"PATCH: {patched['properties']}")
    check(patched["version"] != made["version"], "a PATCH and the same version")
    for method, target, body in (
        ("PATCH", path, {"properties": {"title": "lost"}}), ("DELETE", path, None),
        ("POST", f"{path}/move", {"parent": None}), ("PUT", f"{path}/properties/title", "lost"),
        ("DELETE", f"{path}/properties/title", None),
    ):
        entry.refused(412, "version-changed", method, target, body, match(made["version"]))
    check(entry.get(path) == patched, "a refused write wrote")
    entry.expect(200, "PATCH", path, {"remove": ["n", "never"]}, [("If-Match", f'"x", "{patched["version"]}"')])
    check(entry.get(path)["properties"] == {"title": "Milk", "done": True}, "remove")

    # The same key names the same object.
    first, second = (create(entry, key="k", properties={"n": n}) for n in (1, 2))
    check(first["id"] == second["id"] and second["properties"] == {"n": 2}, "a key named two objects")

    entry.expect(204, "DELETE", path)
    for method in ("GET", "DELETE"):
        entry.refused(404, "no-such-object", method, path)
    entry.refused(404, "no-such-object", "PATCH", path, {"properties": {"a": 1}})


def check_properties(entry):
    made = create(entry)
    path = f"/api/objects/{made['id']}/properties"
    for value in VALUES:
        name = "a/b?ü" if value == "" else "value"
        put = entry.expect(200, "PUT", f"{path}/{quoted(name)}", body=json.dumps(value).encode())
        check(put.json["properties"][name] == value, f"PUT {value!r} gave {put.json['properties'][name]!r}")
        got = entry.expect(200, "GET", f"{path}/{quoted(name)}")
        check(json.dumps(got.json) == json.dumps(value), f"PUT {value!r}, GET {got.body!r}")
        check(got.tag == put.tag == f'"{put.json["version"]}"', f"ETag: {got.tag}, {put.tag}")
    check(entry.expect(304, "GET", f"{path}/value", fields=[("If-None-Match", got.tag)]).tag == got.tag, "304")
    entry.expect(204, "DELETE", f"{path}/value")
    entry.refused(404, "no-such-property", "GET", f"{path}/value")
    entry.refused(404, "no-such-property", "DELETE", f"{path}/value")
    entry.refused(413, "too-large", "PUT", f"{path}/value", "x" * (1 << 21))
    entry.refused(413, "too-large", "PUT", f"{path}/{'n' * 600}", 1)


def check_lists(entry):
    """Filters, order, search, and pages that miss and repeat nothing while others write."""
    top = create(entry, "list", properties={"title": "top of lists"})
    numbers = list(range(25))
    for number in numbers:
        create(
            entry, "entry", top["id"], kind="even" if number % 2 == 0 else "odd",
            properties={"n": number, "text": f"Größe {number}", "same": [number % 5]},
        )
    under = {"parent": top["id"]}

    def shown(**parameters):
        return [item["properties"]["n"] for item in pages(entry, "/api/objects", **under, **parameters)[0]]

    check(shown() == numbers, "the children are not in the order of their positions")
    check(pages(entry, "/api/objects", **under, limit=10)[1] == 3, "pages of ten")
    check(shown(limit=4) == numbers, "small pages show something else")
    check(shown(kind="odd") == numbers[1::2], "the filter of kinds")
    check(shown(property="same", value="[3]") == numbers[3::5], "the filter of properties")
    check(shown(order="n", limit=7) == numbers, "order")
    check(shown(search="größe 24") == [24] and shown(search="milk") == [], "search")
    check(shown(search="GRÖẞE") == shown(search="röße") == numbers, "search does not fold cases")
    two = [*under.items(), ("property", "n"), ("value", "8"), ("property", "same"), ("value", "[3]")]
    found = entry.get(f"/api/objects?{urllib.parse.urlencode(two)}")["objects"]
    check([item["properties"]["n"] for item in found] == [8], "two filters")
    check(entry.get(f"/api/objects/count?{query(**under, kind='odd')}") == {"count": 12}, "count")
    check(pages(entry, f"/api/objects/{top['id']}/children", limit=9)[0] == pages(entry, "/api/objects", **under)[0],
          "children are not what the filter by parent shows")
    root = pages(entry, "/api/children", limit=50)[0]
    check(top["id"] in [item["id"] for item in root] and all(item["parent"] is None for item in root), "the root")
    check(root == pages(entry, "/api/objects", parent="root")[0], "parent=root")

    # Between two pages, one object that was read goes and one comes.
    page = entry.get(f"/api/objects?{query(**under, limit=10)}")
    entry.expect(204, "DELETE", f"/api/objects/{page['objects'][9]['id']}")
    create(entry, "entry", top["id"], properties={"n": 25})
    after = entry.get(f"/api/objects?{query(**under, limit=100, after=page['next'])}")["objects"]
    check([item["properties"]["n"] for item in after] == [*range(10, 26)], "a cursor whose object is gone")
    for target in ("limit=0", "limit=1001", "limit=x", "after=zz", "property=n", "value=1", "property=n&value=nope",
                   "type=a&type=b"):
        entry.refused(400, "bad-request", "GET", f"/api/objects?{target}")


def check_tree(entry):
    top = create(entry, "tree")
    one = create(entry, "item", top["id"], properties={"n": "1"})
    two = create(entry, "item", top["id"], properties={"n": "2"})
    below = create(entry, "item", one["id"], properties={"n": "1.1"})
    deep = create(entry, "item", below["id"], properties={"n": "1.1.1"})
    last = create(entry, "item", one["id"], properties={"n": "1.2"})

    def tree(**parameters):
        found, _ = pages(entry, f"/api/objects/{top['id']}/tree", **parameters)
        return [(item["properties"]["n"], item["depth"]) for item in found]

    whole = [("1", 0), ("1.1", 1), ("1.1.1", 2), ("1.2", 1), ("2", 0)]
    check(tree() == whole, f"the tree is {tree()}")
    for limit in (1, 2, 3, 5):
        check(tree(limit=limit) == whole, f"in pages of {limit}: {tree(limit=limit)}")
    check(tree(depth=0) == [("1", 0), ("2", 0)] and tree(depth=1, limit=1) == whole[:2] + whole[3:], "depth")
    page = entry.get(f"/api/objects/{top['id']}/tree?limit=3")
    added = create(entry, "item", one["id"], properties={"n": "1.3"})
    rest = entry.get(f"/api/objects/{top['id']}/tree?{query(after=page['next'])}")["objects"]
    check([item["properties"]["n"] for item in rest] == ["1.2", "1.3", "2"], "a tree that is resumed")
    everything, _ = pages(entry, "/api/tree", limit=1000)
    check(len(everything) == entry.get("/api/objects/count")["count"], "the whole tree does not have all objects")
    check(entry.get(f"/api/objects/{top['id']}")["child_count"] == 2, "child_count")

    def move(item, **members):
        return entry.expect(200, "POST", f"/api/objects/{item['id']}/move", members).json

    check(move(two, parent=top["id"], before=one["id"])["parent"] == top["id"], "a move among siblings")
    check([n for n, depth in tree(depth=0)] == ["2", "1"], "before")
    move(added, parent=top["id"], first=True)
    move(deep, parent=None)
    check([n for n, depth in tree()] == ["1.3", "2", "1", "1.1", "1.2"], f"after moves: {tree()}")
    check(entry.get(f"/api/objects/{deep['id']}")["parent"] is None, "a move to the root")
    target = f"/api/objects/{one['id']}/move"
    entry.refused(409, "would-close-cycle", "POST", target, {"parent": below["id"]})
    entry.refused(409, "not-a-sibling", "POST", target, {"parent": top["id"], "before": last["id"]})
    entry.refused(404, "no-such-object", "POST", target, {"parent": NOBODY})
    entry.refused(400, "bad-request", "POST", target, {})
    entry.refused(400, "bad-request", "POST", target, {"parent": None, "first": True, "before": two["id"]})
    entry.expect(204, "DELETE", f"/api/objects/{one['id']}")
    for item in (one, below, last):
        entry.refused(404, "no-such-object", "GET", f"/api/objects/{item['id']}")
    for path in ("/api/tree", f"/api/objects/{top['id']}/tree"):
        entry.refused(410, "place-lost", "GET", f"{path}?after={below['id']}")


def check_transactions(entry):
    outside = create(entry, properties={"n": 0})
    answer = entry.expect(200, "POST", "/api/transactions", {"edits": [
        {"create": "list", "as": "$list", "properties": {"title": "L"}},
        {"create": "item", "parent": "$list", "as": "$a", "properties": {"n": 1}},
        {"create": "item", "parent": "$list", "before": "$a", "properties": {"n": 2}},
        {"create": "item", "parent": "$list", "first": True, "properties": {"n": 3}},
        {"set": outside["id"], "properties": {"n": 4, "m": 5}},
        {"unset": outside["id"], "names": ["m"]},
        {"move": outside["id"], "parent": "$list"},
        {"set": "$a", "properties": {"n": 6}},
    ], "if": {outside["id"]: outside["version"]}}).json
    check(len(answer["created"]) == 4, f"created: {answer}")
    children = entry.get(f"/api/objects/{answer['created'][0]}/children")["objects"]
    check([item["properties"]["n"] for item in children] == [3, 2, 6, 4], f"a transaction made {children}")

    # All or nothing: each of these fails at its end.
    before = entry.expect(200, "GET", "/api/export").body
    some = [{"create": "never", "as": "$x"}, {"set": "$x", "properties": {"n": 1}}, {"delete": answer["created"][1]}]
    for status, code, edits, conditions in (
        (404, "no-such-object", [*some, {"set": NOBODY, "properties": {"a": 1}}], {}),
        (409, "would-close-cycle", [*some, {"move": "$x", "parent": "$x"}], {}),
        (409, "not-a-sibling", [*some, {"move": "$x", "parent": None, "before": answer["created"][2]}], {}),
        (422, "invalid", [*some, {"set": "$y", "properties": {}}], {}),
        (413, "too-large", [*some, {"set": "$x", "properties": {"a": "b" * (1 << 21)}}], {}),
        (412, "version-changed", some, {outside["id"]: outside["version"]}),
        (412, "version-changed", some, {NOBODY: "x"}),
        (400, "bad-request", [*some, {"create": "a", "set": "$x"}], {}),
        (400, "bad-request", [*some, {"create": "a", "as": outside["id"]}], {}),
        (400, "bad-request", [*some, {}], {}),
        (400, "bad-request", [*some, {"create": "a", "first": True, "before": "$x"}], {}),
        (413, "too-large", [{"create": "a"}] * 10_001, {}),
    ):
        entry.refused(status, code, "POST", "/api/transactions", {"edits": edits, "if": conditions})
    entry.refused(400, "bad-request", "POST", "/api/transactions", {"edits": 1})
    entry.refused(400, "bad-request", "POST", "/api/transactions", [])
    check(entry.expect(200, "GET", "/api/export").body == before, "a transaction that failed has written")

    # A transaction that is sent again is not done again.
    named = {"id": f"once-{entry.name}", "edits": [{"create": "once"}]}
    created = [entry.expect(200, "POST", "/api/transactions", named).json for _ in range(3)]
    check(created[0] == created[1] == created[2], f"the same id gave {created}")
    check(entry.get(f"/api/objects/count?{query(type='once')}")["count"] == 1, "a transaction was done twice")
    for item in (*created[0]["created"], answer["created"][0]):
        entry.expect(204, "DELETE", f"/api/objects/{item}")
    check(entry.expect(200, "POST", "/api/transactions", {}).json == {"created": []}, "no edits")


def check_projects(entry):
    name = f"Häuser/{entry.name}?"
    path = f"/api/projects/{quoted(name)}"
    entry.refused(404, "not-found", "GET", path)
    entry.refused(404, "not-found", "DELETE", path)
    entry.refused(412, "version-changed", "PUT", path, {}, [("If-Match", "*")])
    made = entry.expect(201, "PUT", path, {"rooms": [1, 2.5, "ü"]}, [("If-None-Match", "*")])
    got = entry.expect(200, "GET", path)
    check(got.json == {"rooms": [1, 2.5, "ü"]} and got.tag == made.tag, f"a project: {got.body!r} {got.tag} {made.tag}")
    entry.expect(304, "GET", path, fields=[("If-None-Match", made.tag)])
    entry.refused(412, "version-changed", "PUT", path, [], [("If-None-Match", "*")])
    changed = entry.expect(204, "PUT", path, [1], [("If-Match", made.tag)])
    entry.refused(412, "version-changed", "PUT", path, [2], [("If-Match", made.tag)])
    entry.refused(412, "version-changed", "DELETE", path, fields=[("If-Match", made.tag)])
    listed = [item for item in pages(entry, "/api/projects", "projects", limit=1)[0] if item["name"] == name]
    check(len(listed) == 1 and f'"{listed[0]["version"]}"' == changed.tag, f"the list of projects: {listed}")
    check(set(listed[0]) >= {"name", "id", "updated_at", "version"}, f"a project lacks members: {listed}")
    entry.expect(204, "DELETE", path, fields=[("If-Match", changed.tag)])
    entry.refused(404, "not-found", "GET", path)
    entry.expect(201, "PUT", path, "again")
    check(entry.get(path) == "again", "a project that was deleted cannot be made again")
    entry.refused(422, "invalid", "PUT", f"/api/projects/{'n' * 256}", {})


def check_log(entry):
    made = create(entry, "logged", properties={"n": 1})
    path = f"/api/objects/{made['id']}"
    entry.expect(200, "PATCH", path, {"properties": {"n": 2}, "remove": ["n"]})
    entry.expect(200, "POST", f"{path}/move", {"parent": None, "first": True})
    entry.expect(204, "DELETE", path)
    newest, _ = pages(entry, f"{path}/log", "entries", limit=2)
    oldest, _ = pages(entry, f"{path}/log", "entries", limit=1000, order="oldest")
    check(newest == oldest[::-1], "the orders of a log differ in more than the order")
    actions = [next(iter(item["action"])) for item in oldest]
    check(sorted(actions) == sorted(["create", "move", "set", "set", "unset", "move", "delete"]), f"{actions}")
    check(all(item["object"] == made["id"] and item["author"]["is_this_machine"] for item in oldest), f"{oldest}")
    statuses = {"effective", "superseded", "conflict", "held", "waiting", "without_effect", "unread"}
    check(all(item["status"] in statuses for item in oldest), f"{oldest}")
    whole, _ = pages(entry, "/api/log", "entries", limit=100)
    check(len({item["id"] for item in whole}) == len(whole), "the log shows an operation twice")
    check([item["time_ms"] for item in whole] == sorted((item["time_ms"] for item in whole), reverse=True), "order")
    check({item["id"] for item in oldest} <= {item["id"] for item in whole}, "the log lacks operations")
    for target in ("order=up", "after=1", "after=x~y", "limit=0"):
        entry.refused(400, "bad-request", "GET", f"/api/log?{target}")


def check_changes(entry):
    """Long polling: what was assembled from deltas is what a list shows."""
    top = create(entry, "watched")
    state, token = {}, None

    def follow(wait=0):
        nonlocal token
        while True:
            parameters = {"subtree": top["id"], "wait": wait, **({"since": token} if token else {})}
            delta = entry.get(f"/api/changes?{query(**parameters)}")
            token = delta["token"]
            take_delta(delta, state)
            if not delta["more"]:
                return delta

    first = follow()
    check(first["reset"] and list(state) == [top["id"]], f"the first delta: {first}")
    check(not follow()["objects"], "a delta of nothing")
    follow(wait=1)
    items = [create(entry, "item", top["id"], properties={"n": n}) for n in range(5)]
    delta = follow()
    check(not delta["reset"] and delta["origin"] == "local" and delta["authors"][0]["is_this_machine"], f"{delta}")
    check(len(delta["objects"]) >= 5 and len(state) == 6, f"{len(state)} objects")
    timer = threading.Timer(0.3, lambda: Entry(entry.name, entry.address, entry.fields).expect(
        204, "DELETE", f"/api/objects/{items[0]['id']}"))
    timer.start()
    delta = follow(wait=60)
    timer.join()
    gone = [item for item in delta["objects"] if item["id"] == items[0]["id"]]
    check(gone and gone[0]["state"] is None, f"a delete while waiting: {delta}")
    entry.expect(200, "POST", f"/api/objects/{items[1]['id']}/move", {"parent": None})
    entry.expect(200, "PATCH", f"/api/objects/{items[2]['id']}", {"properties": {"n": 22}})
    delta = follow()
    changed = {item["id"]: item for item in delta["objects"]}
    check(changed[items[2]["id"]]["changed"] == ["n"], f"{changed[items[2]['id']]}")
    shown = {item["id"]: item for item in pages(entry, "/api/objects", parent=top["id"])[0]}
    shown[top["id"]] = entry.get(f"/api/objects/{top['id']}")
    check(versions(shown) == versions(state), f"deltas made {versions(state)}, the list shows {versions(shown)}")
    one = entry.get(f"/api/changes?{query(object=items[2]['id'])}")
    check([item["id"] for item in one["objects"]] == [items[2]["id"]], "the changes of one object")
    entry.refused(422, "invalid-argument", "GET", "/api/changes?since=zz")
    entry.refused(422, "token-of-another-scope", "GET", f"/api/changes?{query(since=token)}")
    entry.refused(400, "bad-request", "GET", "/api/changes?wait=61")


def check_exchange(entry, world):
    top = create(entry, "exported", properties={"title": "top"})
    create(entry, "item", top["id"], properties={"n": [1, 2.5, None]})
    whole = entry.expect(200, "GET", "/api/export")
    part = entry.expect(200, "GET", f"/api/export?{query(under=top['id'])}")
    check(whole.field("Content-Type") == "application/json", f"{whole.field('Content-Type')}")
    check([item["type"] for item in part.json] in (["exported", "item"], ["item", "exported"]), f"{part.json}")
    check(all(item in whole.json for item in part.json), "a part of the export is not in the whole")
    entry.refused(404, "no-such-object", "GET", f"/api/export?{query(under=NOBODY)}")
    other = world.founder(f"import-{entry.name}")
    other.start()
    there = Entry.socket(other)
    report = there.expect(200, "POST", "/api/import", body=whole.body).json
    check(report == {"objects": len(whole.json), "notes": []}, f"import: {report}")
    check(other.objects().keys() == {item["id"] for item in whole.json}, "an import has other objects")
    before = there.expect(200, "GET", "/api/export").body
    for body in (b"nope", b"{}", b'[{"a":1}]', b'[{"type":"a"},{"type":1}]', b""):
        there.refused(422, "import-invalid", "POST", "/api/import", body=body)
    check(there.expect(200, "GET", "/api/export").body == before, "an import that failed has written")
    other.stop()


def check_system(entry, peer):
    info = entry.get("/api/server-info")
    check(info["name"] == "peerd" and info["device_name"] == peer.name and info["listen"] == peer.address, f"{info}")
    check(json.loads((peer.directory / "api").read_text())["url"] in info["origins"], f"{info}")
    check(info["limits"]["page_objects"] == 1000, f"{info}")
    status = entry.get("/api/status")
    command_line = peer.json("status")
    for name in ("workspace", "device", "replica", "objects", "changes", "frontier", "conflicts", "listen"):
        check(status[name] == command_line[name], f"{name}: {status[name]}, and {command_line[name]}")
    check(entry.get("/healthz") == {"status": "ok"}, "health")
    findings = entry.expect(200, "POST", "/api/doctor").json
    check(findings["healthy"] and findings["findings"], f"{findings}")
    check(all(item["level"] in ("ok", "warning", "problem") for item in findings["findings"]), f"{findings}")
    report = entry.get("/api/sync/status")
    check(set(report) >= {"in_sync", "pending", "peers", "waiting"}, f"{report}")
    check_metrics(entry, status)


def check_metrics(entry, status):
    """The text format of Prometheus, read as its description says."""
    before = metrics(entry)
    entry.expect(404, "GET", "/nothing")
    after = metrics(entry)
    name = 'peerd_http_requests_total{status="404"}'
    check(after[name] == before.get(name, 0) + 1, f"{name}: {before.get(name)}, then {after[name]}")
    check(after["peerd_objects"] == status["objects"] and after["peerd_peers"] == len(status["peers"]), f"{after}")
    if entry.name == "loopback":
        name = 'peerd_http_requests_total{status="401"}'
        stranger = Entry("loopback", entry.address, entry.fields[:1])
        stranger.refused(401, "unauthorized", "GET", "/api/status")
        check(metrics(entry).get(name) == after.get(name, 0) + 1, "requests that are refused are not counted")


def metrics(entry):
    answer = entry.expect(200, "GET", "/metrics")
    check(answer.field("Content-Type").startswith("text/plain; version=0.0.4"), f"{answer.field('Content-Type')}")
    samples, kinds = {}, {}
    for line in answer.body.decode().splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            check(kind in ("gauge", "counter") and name not in kinds, f"a type: {line}")
            kinds[name] = kind
        elif not line.startswith("# HELP "):
            found = re.fullmatch(r'([a-z_]+)(\{[a-z_]+="[^"\\\n]*"\})? (-?[0-9.e+]+)', line)
            check(found and found[1] in kinds, f"no sample of a metric that was declared: {line!r}")
            check((kinds[found[1]] == "counter") == found[1].endswith("_total"), f"a name: {line!r}")
            samples[found[1] + (found[2] or "")] = float(found[3])
    check(answer.body.endswith(b"\n"), "the last line of the metrics has no end")
    return samples


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


def check_methods(entry):
    for target in GETS:
        got, head = entry.expect(200, "GET", target), entry.expect(200, "HEAD", target)
        check(head.field("Content-Type") == got.field("Content-Type"), f"HEAD {target}: {head.field('Content-Type')}")
        lengths = {answer.field("Content-Length") for answer in (got, head)}
        # Metrics and clocks move; everything else is as long as before.
        check(target in ("/metrics", "/api/status") or len(lengths) == 1, f"HEAD {target}: the lengths are {lengths}")
    entry.refused(404, "not-found", "HEAD", "/nothing")
    for target, words in ALLOWED.items():
        for method in {"GET", "PUT", "POST", "PATCH", "DELETE", "OPTIONS", "TRACE"} - set(words.split()):
            answer = entry.refused(405, "method-not-allowed", method, target)
            allowed = (answer.field("Allow") or "").split(", ")
            check(sorted(allowed) == sorted(words.split()), f"{target} allows {allowed}, not {words}")
    for target in (
        "/nothing",
        "/api",
        "/api/",
        "/api/objects/",
        f"/api/objects/{NOBODY}/",
        "//api/status",
        "/API/status",
        "/api/objects/../status",
        "/api/status%00",
    ):
        entry.refused(404, "not-found", "GET", target)
    entry.refused(426, "upgrade-required", "GET", "/ws/sync")


def check_bad_bodies(entry):
    made = create(entry)
    path = f"/api/objects/{made['id']}"
    bodies = (b"", b"{", b'{"a":1}x', b"\xff", b'"\xed\xa0\x80"', b"[" * 100_000, b"1e999", b"{'a':1}", b'{"a":NaN}')
    for method, target in (
        ("POST", "/api/objects"), ("PATCH", path), ("PUT", f"{path}/properties/a"), ("POST", f"{path}/move"),
        ("POST", "/api/transactions"), ("POST", "/api/conflicts/resolve"), ("PUT", "/api/projects/bad"),
    ):
        for body in bodies:
            entry.refused(400, "bad-request", method, target, body=body)
    for body in ([], 1, "a", None, {}, {"type": 1}, {"type": None}, {"type": "a", "properties": []},
                 {"type": "a", "parent": 1}, {"type": "a", "first": 1}, {"type": "a", "key": {}}):
        answer = entry.refused(400, "bad-request", "POST", "/api/objects", body=json.dumps(body).encode())
        check("body" in answer.json["detail"] or "member" in answer.json["detail"], f"{body}: {answer.json}")
    entry.refused(404, "no-such-object", "POST", "/api/objects", {"type": "a", "parent": NOBODY})
    entry.refused(404, "no-such-object", "GET", "/api/objects/zzzz")
    entry.refused(404, "no-such-object", "GET", f"/api/objects/{made['id'][:3]}")
    entry.refused(400, "bad-request", "GET", "/api/objects/%ff")
    entry.refused(400, "bad-request", "GET", "/api/objects/%4")
    entry.refused(400, "bad-request", "POST", "/api/sync", {"timeout_ms": 0})
    entry.refused(400, "bad-request", "POST", "/api/sync", body=b"nope")
    check(entry.get(path) == made, "a request that was refused has written")
    # Of an id with so many digits in common there must be several before it is ambiguous.
    ids = [create(entry)["id"][:4] for _ in range(600)]
    twice = next((id for id in ids if ids.count(id) > 1), None)
    if twice:
        entry.refused(409, "ambiguous-id", "GET", f"/api/objects/{twice}")


# What a page may send to any server without being asked (the types of forms), and more that is no JSON.
OTHER_TYPES = (
    "text/plain", "text/plain;charset=UTF-8", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x",
    "", "application/x-ndjson", "application/octet-stream", "text/json", "text/plain, application/json",
)
JSON_TYPES = ("application/json", "application/json; charset=utf-8", "Application/JSON ; a=b", "application/x+json")


def check_types(entry):
    path = f"/api/objects/{create(entry)['id']}"
    before = entry.expect(200, "GET", "/api/export").body
    for method, target, body in (
        ("POST", "/api/objects", {"type": "a"}), ("PATCH", path, {"properties": {"a": 1}}),
        ("PUT", f"{path}/properties/a", 1), ("POST", f"{path}/move", {"parent": None, "first": True}),
        ("POST", "/api/transactions", {"edits": [{"create": "a"}]}), ("PUT", "/api/projects/typed", {}),
        ("POST", "/api/import", [{"type": "a"}]), ("POST", "/api/conflicts/resolve", {}), ("POST", "/api/sync", {}),
        ("POST", "/api/peers", {"addresses": []}), ("POST", "/api/restamp", {}),
    ):
        for type in OTHER_TYPES:
            fields = [("Content-Type", type)]
            data = json.dumps(body).encode()
            answer = entry.refused(415, "unsupported-media-type", method, target, fields=fields, body=data)
            check("application/json" in answer.json["advice"], f"{answer.json}")
    check(entry.expect(200, "GET", "/api/export").body == before, "a body of another type was taken for JSON")
    for type in JSON_TYPES:
        fields = [("Content-Type", type)]
        entry.expect(200, "PATCH", path, fields=fields, body=json.dumps({"properties": {"type": type}}).encode())
        check(entry.get(path)["properties"]["type"] == type, f"a body of the type {type}")
    # Files have any type.
    entry.expect(201, "PUT", f"/api/file/typed-{entry.name}", fields=[("Content-Type", "text/plain")], body=b"{}")


def check_conflicts(left, right):
    """Two daemons write the same offline; over HTTP both see it, and one decides."""
    one, two = Entry.loopback(left), Entry.loopback(right)
    made = create(one, properties={"text": "old", "other": 1})
    place_a, place_b = create(one), create(one)
    sync(one)
    path = f"/api/objects/{made['id']}"
    check(two.get(path) == one.get(path), "the peers differ before")
    for peer in (left, right):
        peer.stop()
    for peer, text, number, place in ((left, "left", 2**53, place_a), (right, "right", 2**53 + 1, place_b)):
        peer.start()
        entry = Entry.loopback(peer)
        check(entry.get("/api/peers")["peers"][0]["connected"] is False, "the peers are connected")
        entry.expect(200, "PATCH", path, {"properties": {"text": text, "number": number}})
        entry.expect(200, "POST", f"{path}/move", {"parent": place["id"]})
        peer.stop()
    left.start()
    right.start(peers=[left.address])
    one, two = Entry.loopback(left), Entry.loopback(right)
    wait_until(lambda: len(one.get(f"{path}/conflicts")["conflicts"]) == 3, 60, "all conflicts are seen")
    wait_until(lambda: conflicts(one) == conflicts(two), 60, "both see the same conflicts")
    by_property = {item["property"]: item for item in conflicts(one)}
    check(set(by_property) == {"text", "number", None}, f"conflicts of {set(by_property)}")
    text = by_property["text"]
    versions = [text["winner"], *text["losers"]]
    check({item["content"]["value"] for item in versions} == {"left", "right"}, f"{versions}")
    check({item["author"]["name"] for item in versions} == {left.name, right.name}, f"{versions}")
    decision = {
        "object": made["id"], "property": "text", "winner": text["winner"]["id"],
        "losers": [item["id"] for item in text["losers"]], "content": {"value": "both"},
    }
    one.refused(409, "conflict-changed", "POST", "/api/conflicts/resolve", {**decision, "losers": []})
    one.refused(409, "conflict-changed", "POST", "/api/conflicts/resolve", {**decision, "property": "other"})
    one.refused(400, "bad-request", "POST", "/api/conflicts/resolve", {**decision, "content": {}})
    one.refused(400, "bad-request", "POST", "/api/conflicts/resolve", {**decision, "content": {"parent": "abc"}})
    one.expect(204, "POST", "/api/conflicts/resolve", decision)
    one.refused(409, "conflict-changed", "POST", "/api/conflicts/resolve", decision)
    # A version is named by its id, for clients that cannot hold its content exactly.
    number = by_property["number"]
    loser = number["losers"][0]
    decision = {
        "object": made["id"], "property": "number", "winner": number["winner"]["id"], "losers": [loser["id"]],
        "content": {"version": text["winner"]["id"]},
    }
    one.refused(422, "invalid", "POST", "/api/conflicts/resolve", decision)
    one.refused(400, "bad-request", "POST", "/api/conflicts/resolve", {**decision, "content": {"version": 7}})
    one.expect(204, "POST", "/api/conflicts/resolve", {**decision, "content": {"version": loser["id"]}})
    place = by_property[None]
    check({item["content"]["parent"] for item in (place["winner"], *place["losers"])}
          == {place_a["id"], place_b["id"]}, f"{place}")
    two.expect(204, "POST", "/api/conflicts/resolve", {
        "object": made["id"], "property": None, "winner": place["winner"]["id"],
        "losers": [item["id"] for item in place["losers"]], "content": {"version": place["losers"][0]["id"]},
    })
    for entry in (one, two):
        wait_until(lambda: conflicts(entry) == [], 60, "the conflicts have ended")
        shown = entry.get(path)
        check(shown["properties"]["text"] == "both", f"{entry.name}: {shown}")
        check(shown["properties"]["number"] == loser["content"]["value"], f"{entry.name}: {shown}, not {loser}")
        check(shown["parent"] == place["losers"][0]["content"]["parent"], f"{entry.name}: {shown}")


def conflicts(entry):
    found = entry.get("/api/conflicts")["conflicts"]
    for conflict in found:
        for version in (conflict["winner"], *conflict["losers"]):
            # Each machine calls itself this one.
            version["author"].pop("is_this_machine")
    return sorted(found, key=lambda item: item["property"] or "")


def sync(entry):
    report = entry.expect(200, "POST", "/api/sync", {"timeout_ms": 30_000}).json
    check(report["in_sync"] and not report["interrupted"], f"a sync: {report}")
    return report


def check_invite_and_sync(world, founder):
    """A machine joins by an invite over HTTP; what one writes the other has after a sync."""
    entry = Entry.loopback(founder)
    invite = entry.expect(201, "POST", "/api/invites").json
    check(invite["invite"].startswith("peerd:1:") and invite["port"] == founder.port, f"{invite}")
    check(len(invite["qr"]["rows"]) == invite["qr"]["size"] == len(invite["qr"]["rows"][0]), "the QR code is no square")
    check(set("".join(invite["qr"]["rows"])) == {"0", "1"} and invite["lifetime_ms"] > 0, f"{invite}")
    other = world.peer("second")
    other.run("join", "--name", "second", invite["invite"])
    other.start(peers=[founder.address])
    there = Entry.loopback(other)
    wait_until(lambda: there.get("/api/sync/status")["in_sync"], 60, "the new machine is in sync")
    made = [create(entry, "sent", properties={"n": n}) for n in range(20)]
    report = sync(entry)
    check(there.get(f"/api/objects/count?{query(type='sent')}")["count"] == 20, "a sync left something out")
    check([peer["name"] for peer in report["peers"]] == ["second"], f"{report}")
    check(there.get(f"/api/objects/{made[7]['id']}") == made[7], "an object differs on the other machine")
    check(
        entry.expect(200, "GET", "/api/export").body == there.expect(200, "GET", "/api/export").body, "exports differ"
    )
    peer = there.get("/api/peers")["peers"][0]
    check(peer["name"] == founder.name and peer["connected"] and peer["in_sync"], f"{peer}")
    check(peer["missing_here"] == peer["missing_there"] == 0 and peer["traffic"]["received_bytes"] > 0, f"{peer}")
    # A wait for changes ends when the other machine writes.
    token = there.get(f"/api/changes?{query(type='sent')}")["token"]
    answers = []
    waiting = threading.Thread(
        target=lambda: answers.append(there.get(f"/api/changes?{query(type='sent', since=token, wait=60)}"))
    )
    waiting.start()
    create(entry, "sent", properties={"n": 20})
    waiting.join()
    check(len(answers) == 1 and answers[0]["origin"] == "peer", f"{answers}")
    check([item["state"]["properties"]["n"] for item in answers[0]["objects"]] == [20], f"{answers}")
    check([author["name"] for author in answers[0]["authors"]] == [founder.name], f"{answers[0]['authors']}")
    return other


def check_parallel(peer):
    """Many clients at once: each write is done once, and a version lets one of them win."""
    made = create(Entry.socket(peer), properties={"n": 0})
    path = f"/api/objects/{made['id']}"

    def count_up(entry):
        for _ in range(10):
            while True:
                seen = entry.get(path)
                body = {"properties": {"n": seen["properties"]["n"] + 1}}
                if entry.ask("PATCH", path, body, match(seen["version"])).status == 200:
                    break

    run_together([lambda: count_up(Entry.socket(peer)), lambda: count_up(Entry.loopback(peer)),
                  lambda: count_up(Entry.loopback(peer))])
    check(Entry.socket(peer).get(path)["properties"]["n"] == 30, "an edit with If-Match was lost")


def run():
    with World("api") as world:
        peer = world.founder("first")
        peer.start()
        for entry in both_entries(peer):
            for part in (check_objects, check_properties, check_lists, check_tree, check_transactions, check_projects,
                         check_log, check_changes, check_methods, check_bad_bodies, check_types):
                part(entry)
            check_exchange(entry, world)
            check_system(entry, peer)
            say(f"all routes over the {entry.name}")
        entry = Entry.loopback(peer, "::1")
        check(entry.get("/healthz") == {"status": "ok"}, "IPv6")
        check_parallel(peer)
        other = check_invite_and_sync(world, peer)
        say("two machines: invite, join, sync, waits")
        check_conflicts(peer, other)
        say("conflicts, resolved on either machine")


if __name__ == "__main__":
    main_of_test(run)
