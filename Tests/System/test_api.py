"""The local API over both of its entries, the Unix socket and loopback: what its routes do and answer, and how they
refuse what cannot be done."""

import json
import re
import threading
import urllib.parse

import pytest

from local_api import NOBODY, WAYS, Entry, serve, take_delta, versions
from peerd_harness import check, run_together

OBJECT_MEMBERS = {
    "id", "type", "kind", "parent", "position", "creator", "owner", "created_at", "updated_at", "child_count",
    "version", "properties", "missing",
}
VALUES = [
    None, True, False, 0, -1, 2**63 - 1, -(2**63), 0.5, -0.0, 1e300, "", "Ä\u0000\U0001f600", [], {},
    [1, [2, {"a": None}]], {"$bytes": "00ff"},
]


@pytest.fixture(params=WAYS)
def entry(request, world):
    return serve(world, request.param)


def quoted(text):
    return urllib.parse.quote(text, safe="")


def query(**parameters):
    return urllib.parse.urlencode(parameters)


def match(version):
    return [("If-Match", f'"{version}"')]


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


# Objects and their properties.


def test_an_object_is_read_as_it_was_made(entry):
    made = entry.create("note", properties={"title": "Milk", "done": False})
    check(set(made) >= OBJECT_MEMBERS, f"an object lacks {OBJECT_MEMBERS - set(made)}")
    check(made["properties"] == {"title": "Milk", "done": False} and made["type"] == "note", f"{made}")
    check(made["parent"] is None and made["child_count"] == 0 and made["creator"] == made["owner"], f"{made}")
    path = f"/api/objects/{made['id']}"
    read = entry.expect(200, "GET", path)
    check(read.json == made, f"created {made}, read {read.json}")
    check(read.tag == f'"{made["version"]}"', f"ETag {read.tag} of version {made['version']}")
    check(entry.get(f"/api/objects/{made['id'].replace('-', '')[:12]}") == made, "an abbreviated id")
    check(entry.get(path.upper().replace("/API/OBJECTS", "/api/objects")) == made, "an id in capitals")


def test_conditions_of_reads_and_writes(entry):
    made = entry.create("note", properties={"title": "Milk", "done": False})
    path, tag = f"/api/objects/{made['id']}", f'"{made["version"]}"'
    check(entry.expect(304, "GET", path, fields=[("If-None-Match", tag)]).tag == tag, "304 without ETag")
    entry.expect(304, "GET", path, fields=[("If-None-Match", f'"x", W/{tag}')])
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


def test_a_key_names_one_object(entry):
    first, second = (entry.create(key="k", properties={"n": n}) for n in (1, 2))
    check(first["id"] == second["id"] and second["properties"] == {"n": 2}, "a key named two objects")


def test_a_deleted_object_is_gone(entry):
    path = f"/api/objects/{entry.create('note')['id']}"
    entry.expect(204, "DELETE", path)
    for method in ("GET", "DELETE"):
        entry.refused(404, "no-such-object", method, path)
    entry.refused(404, "no-such-object", "PATCH", path, {"properties": {"a": 1}})


def test_a_property_holds_every_value(entry, subtests):
    path = f"/api/objects/{entry.create()['id']}/properties"
    for value in VALUES:
        with subtests.test(value=value):
            name = "a/b?ü" if value == "" else "value"
            put = entry.expect(200, "PUT", f"{path}/{quoted(name)}", body=json.dumps(value).encode())
            check(put.json["properties"][name] == value, f"PUT {value!r} gave {put.json['properties'][name]!r}")
            got = entry.expect(200, "GET", f"{path}/{quoted(name)}")
            check(json.dumps(got.json) == json.dumps(value), f"PUT {value!r}, GET {got.body!r}")
            check(got.tag == put.tag == f'"{put.json["version"]}"', f"ETag: {got.tag}, {put.tag}")
    tag = entry.expect(200, "GET", f"{path}/value").tag
    check(entry.expect(304, "GET", f"{path}/value", fields=[("If-None-Match", tag)]).tag == tag, "304")
    entry.expect(204, "DELETE", f"{path}/value")
    entry.refused(404, "no-such-property", "GET", f"{path}/value")
    entry.refused(404, "no-such-property", "DELETE", f"{path}/value")
    entry.expect(200, "PUT", f"{path}/value", body=b"1")
    receipt = entry.expect(200, "DELETE", f"{path}/value", fields=[("Prefer", "return=minimal")]).json
    check(receipt["id"] in path and receipt["operations"] == 1, f"{receipt}")


def test_a_property_that_is_too_large_is_refused(entry):
    path = f"/api/objects/{entry.create()['id']}/properties"
    entry.refused(413, "too-large", "PUT", f"{path}/value", "x" * (1 << 21))
    entry.refused(413, "too-large", "PUT", f"{path}/{'n' * 600}", 1)


def test_a_property_without_a_name(entry):
    path = f"/api/objects/{entry.create('note', properties={'n': 0, '': 'empty'})['id']}/properties/"
    check(entry.get(path) == "empty", "an empty name is not found")
    entry.expect(200, "PUT", path, 7)
    check(entry.get(path) == 7, "an empty name is not written")
    entry.expect(204, "DELETE", path)
    entry.refused(404, "no-such-property", "GET", path)


def test_names_of_properties_that_look_alike_stay_apart(entry):
    names = ["\u00e9", "e\u0301", "E\u0301", "\u212b", "\u00c5", "A\u030a"]
    path = f"/api/objects/{entry.create('note')['id']}"
    places = {name: f"{path}/properties/{quoted(name)}" for name in names}
    entry.expect(200, "PUT", places[names[0]], "first")
    entry.refused(404, "no-such-property", "GET", places[names[1]])
    entry.refused(404, "no-such-property", "DELETE", places[names[1]])
    wanted = {name: f"value {number}" for number, name in enumerate(names)}
    for name, value in wanted.items():
        entry.expect(200, "PUT", places[name], value)
    check(entry.get(path)["properties"] == wanted, f"{entry.get(path)['properties']}")
    for name in names:
        check(entry.get(places[name]) == wanted.pop(name), f"{name!a} has the value of another")
        entry.expect(204, "DELETE", places[name])
        check(entry.get(path)["properties"] == wanted, f"without {name!a}: {json.dumps(entry.get(path))}")


# Lists and the tree.


NUMBERS = list(range(25))


@pytest.fixture
def numbered(entry):
    """An object with 25 children, among others."""
    entry.create("note", properties={"title": "Milk"})
    top = entry.create("list", properties={"title": "top of lists"})
    for number in NUMBERS:
        entry.create(
            "entry", top["id"], kind="even" if number % 2 == 0 else "odd",
            properties={"n": number, "text": f"Größe {number}", "same": [number % 5]},
        )
    return top


def test_filters_order_and_search(entry, numbered):
    under = {"parent": numbered["id"]}

    def shown(**parameters):
        return [item["properties"]["n"] for item in pages(entry, "/api/objects", **under, **parameters)[0]]

    check(shown() == NUMBERS, "the children are not in the order of their positions")
    check(pages(entry, "/api/objects", **under, limit=10)[1] == 3, "pages of ten")
    check(shown(limit=4) == NUMBERS, "small pages show something else")
    check(shown(kind="odd") == NUMBERS[1::2], "the filter of kinds")
    check(shown(property="same", value="[3]") == NUMBERS[3::5], "the filter of properties")
    check(shown(order="n", limit=7) == NUMBERS, "order")
    check(shown(search="größe 24") == [24] and shown(search="milk") == [], "search")
    check(shown(search="GRÖẞE") == shown(search="röße") == NUMBERS, "search does not fold cases")
    two = [*under.items(), ("property", "n"), ("value", "8"), ("property", "same"), ("value", "[3]")]
    found = entry.get(f"/api/objects?{urllib.parse.urlencode(two)}")["objects"]
    check([item["properties"]["n"] for item in found] == [8], "two filters")
    check(entry.count(**under, kind="odd") == 12, "count")
    for target in ("limit=0", "limit=1001", "limit=x", "after=zz", "property=n", "value=1", "property=n&value=nope",
                   "type=a&type=b"):
        entry.refused(400, "bad-request", "GET", f"/api/objects?{target}")


def test_children_are_what_the_filter_by_parent_shows(entry, numbered):
    children = pages(entry, f"/api/objects/{numbered['id']}/children", limit=9)[0]
    check(children == pages(entry, "/api/objects", parent=numbered["id"])[0], "the filter shows others")
    root = pages(entry, "/api/children", limit=50)[0]
    check(numbered["id"] in [item["id"] for item in root] and len(root) == 2, "the root")
    check(all(item["parent"] is None for item in root), "the root")
    check(root == pages(entry, "/api/objects", parent="root")[0], "parent=root")


def test_pages_miss_and_repeat_nothing_while_others_write(entry, numbered):
    page = entry.get(f"/api/objects?{query(parent=numbered['id'], limit=10)}")
    entry.expect(204, "DELETE", f"/api/objects/{page['objects'][9]['id']}")
    entry.create("entry", numbered["id"], properties={"n": 25})
    after = entry.get(f"/api/objects?{query(parent=numbered['id'], limit=100, after=page['next'])}")["objects"]
    check([item["properties"]["n"] for item in after] == [*range(10, 26)], "a cursor whose object is gone")


@pytest.fixture
def tree(entry):
    """The objects of a tree by the property n, which says where they are."""
    made = {"": entry.create("tree")}
    for n in ("1", "2", "1.1", "1.1.1", "1.2"):
        made[n] = entry.create("item", made[n[:-2]]["id"], properties={"n": n})
    return made


def shown_tree(entry, top, **parameters):
    found, _ = pages(entry, f"/api/objects/{top['id']}/tree", **parameters)
    return [(item["properties"]["n"], item["depth"]) for item in found]


def test_a_tree_by_pages(entry, tree):
    entry.create("item")
    whole = [("1", 0), ("1.1", 1), ("1.1.1", 2), ("1.2", 1), ("2", 0)]
    for limit in (1, 2, 3, 5, 100):
        shown = shown_tree(entry, tree[""], limit=limit)
        check(shown == whole, f"in pages of {limit}: {shown}")
    check(shown_tree(entry, tree[""], depth=0) == [("1", 0), ("2", 0)], "depth 0")
    check(shown_tree(entry, tree[""], depth=1, limit=1) == whole[:2] + whole[3:], "depth 1")
    everything, _ = pages(entry, "/api/tree", limit=1000)
    check(len(everything) == entry.count() == len(tree) + 1, "the whole tree does not have all objects")
    check(entry.get(f"/api/objects/{tree['']['id']}")["child_count"] == 2, "child_count")
    page = entry.get(f"/api/objects/{tree['']['id']}/tree?limit=3")
    entry.create("item", tree["1"]["id"], properties={"n": "1.3"})
    rest = entry.get(f"/api/objects/{tree['']['id']}/tree?{query(after=page['next'])}")["objects"]
    check([item["properties"]["n"] for item in rest] == ["1.2", "1.3", "2"], "a tree that is resumed")


def test_moves(entry, tree):
    def move(name, **members):
        return entry.expect(200, "POST", f"/api/objects/{tree[name]['id']}/move", members).json

    top = tree[""]["id"]
    check(move("2", parent=top, before=tree["1"]["id"])["parent"] == top, "a move among siblings")
    check([n for n, _ in shown_tree(entry, tree[""], depth=0)] == ["2", "1"], "before")
    move("1.2", parent=top, first=True)
    move("1.1.1", parent=None)
    shown = [n for n, _ in shown_tree(entry, tree[""])]
    check(shown == ["1.2", "2", "1", "1.1"], f"after moves: {shown}")
    check(entry.get(f"/api/objects/{tree['1.1.1']['id']}")["parent"] is None, "a move to the root")


def test_moves_that_are_refused(entry, tree):
    target = f"/api/objects/{tree['1']['id']}/move"
    with entry.unchanged():
        entry.refused(409, "would-close-cycle", "POST", target, {"parent": tree["1.1"]["id"]})
        entry.refused(409, "not-a-sibling", "POST", target, {"parent": tree[""]["id"], "before": tree["1.2"]["id"]})
        entry.refused(404, "no-such-object", "POST", target, {"parent": NOBODY})
        entry.refused(400, "bad-request", "POST", target, {})
        entry.refused(400, "bad-request", "POST", target, {"parent": None, "first": True, "before": tree["2"]["id"]})


def test_a_delete_takes_what_is_below(entry, tree):
    entry.expect(204, "DELETE", f"/api/objects/{tree['1']['id']}")
    for name in ("1", "1.1", "1.1.1", "1.2"):
        entry.refused(404, "no-such-object", "GET", f"/api/objects/{tree[name]['id']}")
    for path in ("/api/tree", f"/api/objects/{tree['']['id']}/tree"):
        entry.refused(410, "place-lost", "GET", f"{path}?after={tree['1.1']['id']}")


# Transactions.


def test_a_transaction_may_name_what_it_makes(entry):
    outside = entry.create(properties={"n": 0})
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
    children = [item["properties"] for item in entry.get(f"/api/objects/{answer['created'][0]}/children")["objects"]]
    check(children == [{"n": n} for n in (3, 2, 6, 4)], f"a transaction made {children}")
    check(entry.expect(200, "POST", "/api/transactions", {}).json == {"created": []}, "no edits")


def test_a_transaction_is_done_whole_or_not_at_all(entry, subtests):
    outside, doomed, elsewhere = entry.create(), entry.create(), entry.create()
    below = entry.create("item", elsewhere["id"])
    entry.expect(200, "PATCH", f"/api/objects/{outside['id']}", {"properties": {"n": 1}})
    some = [{"create": "never", "as": "$x"}, {"set": "$x", "properties": {"n": 1}}, {"delete": doomed["id"]}]
    for status, code, edits, conditions in (
        (404, "no-such-object", [*some, {"set": NOBODY, "properties": {"a": 1}}], {}),
        (409, "would-close-cycle", [*some, {"move": "$x", "parent": "$x"}], {}),
        (409, "not-a-sibling", [*some, {"move": "$x", "parent": None, "before": below["id"]}], {}),
        (422, "invalid", [*some, {"set": "$y", "properties": {}}], {}),
        (413, "too-large", [*some, {"set": "$x", "properties": {"a": "b" * (1 << 21)}}], {}),
        (412, "version-changed", some, {outside["id"]: outside["version"]}),
        (412, "version-changed", some, {NOBODY: "x"}),
        (400, "bad-request", [*some, {"create": "a", "set": "$x"}], {}),
        (400, "bad-request", [*some, {"create": "a", "as": outside["id"]}], {}),
        (400, "bad-request", [*some, {}], {}),
        (400, "bad-request", [*some, {"create": "a", "first": True, "before": "$x"}], {}),
        (413, "too-large", [{"create": "a"}] * 10_001, {}),
        (400, "bad-request", 1, {}),
    ):
        with subtests.test(code, edit=str(edits)[-60:]), entry.unchanged():
            entry.refused(status, code, "POST", "/api/transactions", {"edits": edits, "if": conditions})
    entry.refused(400, "bad-request", "POST", "/api/transactions", {"edits": 1})
    entry.refused(400, "bad-request", "POST", "/api/transactions", [])


def test_a_transaction_that_is_sent_again_is_not_done_again(entry):
    named = {"id": "once", "edits": [{"create": "once"}]}
    created = [entry.expect(200, "POST", "/api/transactions", named).json for _ in range(3)]
    check(created[0] == created[1] == created[2], f"the same id gave {created}")
    check(entry.count(type="once") == 1, "a transaction was done twice")


def test_of_many_clients_at_once_none_undoes_what_another_did(entry):
    path = f"/api/objects/{entry.create(properties={'n': 0})['id']}"

    def count_up(client):
        for _ in range(10):
            while True:
                seen = client.get(path)
                body = {"properties": {"n": seen["properties"]["n"] + 1}}
                if client.ask("PATCH", path, body, match(seen["version"])).status == 200:
                    break

    clients = [Entry.to(entry.peer, way) for way in (*WAYS, entry.name)]
    run_together([lambda client=client: count_up(client) for client in clients])
    check(entry.get(path)["properties"]["n"] == 30, "an edit with If-Match was lost")


# Projects, the log, changes, exports.


def test_projects(entry):
    name = "Häuser/Garten?"
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
    entry.expect(201, "PUT", "/api/projects/other", {})
    listed = [item for item in pages(entry, "/api/projects", "projects", limit=1)[0] if item["name"] == name]
    check(len(listed) == 1 and f'"{listed[0]["version"]}"' == changed.tag, f"the list of projects: {listed}")
    check(set(listed[0]) >= {"name", "id", "updated_at", "version"}, f"a project lacks members: {listed}")
    entry.expect(204, "DELETE", path, fields=[("If-Match", changed.tag)])
    entry.refused(404, "not-found", "GET", path)
    entry.expect(201, "PUT", path, "again")
    check(entry.get(path) == "again", "a project that was deleted cannot be made again")
    entry.refused(422, "invalid", "PUT", f"/api/projects/{'n' * 256}", {})


def test_the_log(entry):
    made = entry.create("logged", properties={"n": 1})
    path = f"/api/objects/{made['id']}"
    entry.expect(200, "PATCH", path, {"properties": {"n": 2}, "remove": ["n"]})
    entry.expect(200, "POST", f"{path}/move", {"parent": None, "first": True})
    entry.expect(204, "DELETE", path)
    entry.create("other")
    newest, _ = pages(entry, f"{path}/log", "entries", limit=2)
    oldest, _ = pages(entry, f"{path}/log", "entries", limit=1000, order="oldest")
    check(newest == oldest[::-1], "the orders of a log differ in more than the order")
    actions = [next(iter(item["action"])) for item in oldest]
    check(sorted(actions) == sorted(["create", "move", "set", "set", "unset", "move", "delete"]), f"{actions}")
    check(all(item["object"] == made["id"] and item["author"]["is_this_machine"] for item in oldest), f"{oldest}")
    statuses = {"effective", "superseded", "conflict", "held", "waiting", "without_effect", "unread"}
    check(all(item["status"] in statuses for item in oldest), f"{oldest}")
    for limit in (3, 100):
        whole, _ = pages(entry, "/api/log", "entries", limit=limit)
        check(len({item["id"] for item in whole}) == len(whole), "the log shows an operation twice")
        times = [item["time_ms"] for item in whole]
        check(times == sorted(times, reverse=True), "order")
        check({item["id"] for item in oldest} < {item["id"] for item in whole}, "the log lacks operations")
    for target in ("order=up", "after=1", "after=x~y", "limit=0"):
        entry.refused(400, "bad-request", "GET", f"/api/log?{target}")


def test_what_long_polls_assemble_is_what_a_list_shows(entry):
    top = entry.create("watched")
    entry.create("unwatched")
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
    check(not follow(wait=1)["objects"], "a delta of nothing after a wait")
    items = [entry.create("item", top["id"], properties={"n": n}) for n in range(5)]
    delta = follow()
    check(not delta["reset"] and delta["origin"] == "local" and delta["authors"][0]["is_this_machine"], f"{delta}")
    check(len(delta["objects"]) >= 5 and len(state) == 6, f"{len(state)} objects")
    # The pause lets the wait begin.
    timer = threading.Timer(0.3, lambda: entry.another().expect(204, "DELETE", f"/api/objects/{items[0]['id']}"))
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


def test_an_export_can_be_imported_elsewhere(entry, world):
    top = entry.create("exported", properties={str(number): value for number, value in enumerate(VALUES)})
    entry.create("item", top["id"], kind="k", properties={"n": [1, 2.5, None]})
    entry.expect(204, "DELETE", f"/api/objects/{entry.create('deleted')['id']}")
    entry.expect(201, "PUT", "/api/projects/p", {})
    entry.create("outside")
    whole = entry.expect(200, "GET", "/api/export")
    part = entry.expect(200, "GET", f"/api/export?{query(under=top['id'])}")
    check(whole.field("Content-Type") == "application/json", f"{whole.field('Content-Type')}")
    check([item["type"] for item in part.json] in (["exported", "item"], ["item", "exported"]), f"{part.json}")
    check(all(item in whole.json for item in part.json), "a part of the export is not in the whole")
    entry.refused(404, "no-such-object", "GET", f"/api/export?{query(under=NOBODY)}")
    other = world.founder("second")
    other.start()
    there = Entry.socket(other)
    report = there.expect(200, "POST", "/api/import", body=whole.body).json
    check(report == {"objects": len(whole.json), "notes": []}, f"import: {report}")
    imported = {id: item["properties"] for id, item in other.objects().items()}
    check(imported == {item["id"]: item["properties"] for item in whole.json}, f"an import has others: {imported}")
    with there.unchanged():
        for body in (b"nope", b"{}", b'[{"a":1}]', b'[{"type":"a"},{"type":1}]', b""):
            there.refused(422, "import-invalid", "POST", "/api/import", body=body)


# What the server says of itself.


def test_status_and_health(entry):
    peer = entry.peer
    entry.create()
    info = entry.get("/api/server-info")
    check(info["name"] == "peerd" and info["device_name"] == peer.name and info["listen"] == peer.address, f"{info}")
    check(json.loads((peer.directory / "api").read_text())["url"] in info["origins"], f"{info}")
    check(info["limits"]["page_objects"] == 1000, f"{info}")
    status, command_line = entry.get("/api/status"), peer.json("status")
    for name in ("workspace", "device", "replica", "objects", "changes", "frontier", "conflicts", "listen"):
        check(status[name] == command_line[name], f"{name}: {status[name]}, and {command_line[name]}")
    check(entry.get("/healthz") == {"status": "ok"}, "health")
    findings = entry.expect(200, "POST", "/api/doctor").json
    check(findings["healthy"] and findings["findings"], f"{findings}")
    check(all(item["level"] in ("ok", "warning", "problem") for item in findings["findings"]), f"{findings}")
    report = entry.get("/api/sync/status")
    check(set(report) >= {"in_sync", "pending", "peers", "waiting"}, f"{report}")


def test_the_server_answers_at_the_ipv6_loopback(world):
    check(Entry.loopback(serve(world).peer, "::1").get("/healthz") == {"status": "ok"}, "IPv6")


def test_metrics_count_objects_and_requests(entry):
    entry.create()
    before = metrics(entry)
    entry.expect(404, "GET", "/nothing")
    after = metrics(entry)
    name = 'peerd_http_requests_total{status="404"}'
    check(after[name] == before.get(name, 0) + 1, f"{name}: {before.get(name)}, then {after[name]}")
    check(after["peerd_objects"] == entry.get("/api/status")["objects"] == 1 and after["peerd_peers"] == 0, f"{after}")
    if entry.name == "loopback":
        name = 'peerd_http_requests_total{status="401"}'
        stranger = Entry("loopback", entry.address, entry.fields[:1])
        stranger.refused(401, "unauthorized", "GET", "/api/status")
        check(metrics(entry).get(name) == after.get(name, 0) + 1, "requests that are refused are not counted")


def test_a_verb_is_one_request(world):
    entry = serve(world, "socket")
    note = entry.create("note", properties={"title": "Milk"})["id"]

    def count():
        return sum(value for name, value in metrics(entry).items() if name.startswith("peerd_http_requests_total"))

    for words in (
        ["set", note, "title=Bread"], ["set", note[:12], "done=true"], ["get", note], ["get", note[:12], "title"],
        ["unset", note[:12], "done"], ["ls"], ["tree"], ["create", "note"], ["mv", note, "--root"], ["history", note],
        ["status"], ["undo"], ["export"], ["log"], ["open", "--print"], ["api"], ["rm", note],
    ):
        before = count()
        entry.peer.run(*words)
        # One of them is that for the metrics.
        found = count() - before - 1
        check(found == 1, f"{words[0]} makes {found} requests")


def metrics(entry):
    """The samples, read as the description of Prometheus' text format says."""
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
