"""What the local API answers to programs that ask for less or for more at once: summaries, receipts, and lines."""

import json

import pytest

from local_api import WAYS, serve
from peerd_harness import check

LINES = [("Accept", "application/x-ndjson")]
RECEIPT = [("Prefer", "return=minimal")]
SUMMARY_MEMBERS = {"id", "type", "kind", "name", "child_count"}


@pytest.fixture(params=WAYS)
def entry(request, world):
    return serve(world, request.param)


@pytest.fixture
def top(entry):
    """The path of a list with three children."""
    made = entry.create("list", properties={"title": "Top"})
    for number in range(3):
        entry.create("item", made["id"], properties={"title": f"Child {number}"})
    return f"/api/objects/{made['id']}"


def lines(entry, method, target, json_body=None, fields=()):
    answer = entry.expect(200, method, target, json_body, fields=[*LINES, *fields])
    check(answer.field("Content-Type") == "application/x-ndjson", f"{target}: {answer.field('Content-Type')}")
    text = answer.body.decode()
    check(text == "" or text.endswith("\n"), f"{target}: the last line has no end")
    return [json.loads(line) for line in text.splitlines()]


def test_lists_and_summaries_by_line(entry, top):
    children = entry.get(f"{top}/children")["objects"]
    found = lines(entry, "GET", f"{top}/children")
    check(found == children == [entry.get(f"/api/objects/{child['id']}") for child in children], f"by line: {found}")
    summaries = lines(entry, "GET", f"{top}/children?fields=summary")
    check([set(item) for item in summaries] == [SUMMARY_MEMBERS] * 3, f"summaries: {summaries}")
    check([item["name"] for item in summaries] == ["Child 0", "Child 1", "Child 2"], f"names: {summaries}")
    page = entry.get(f"{top}/children?fields=summary&limit=2")
    check(page["objects"] == summaries[:2] and page["next"], f"a page of summaries: {page}")
    parent = top.rsplit("/", 1)[1]
    check(entry.get(f"/api/objects?parent={parent}&fields=summary")["objects"] == summaries, "a list of summaries")


def test_trees_by_line(entry, top):
    ids = [child["id"] for child in entry.get(f"{top}/children")["objects"]]
    tree = lines(entry, "GET", f"{top}/tree?fields=summary&top=true")
    shown = [(item["id"], item["depth"], item["is_last"]) for item in tree]
    check(shown[0] == (top.rsplit("/", 1)[1], 0, True) and shown[-1] == (ids[2], 1, True), f"a tree by line: {shown}")
    check([depth for _, depth, _ in shown] == [0, 1, 1, 1], f"depths: {shown}")
    below = lines(entry, "GET", f"{top}/tree")
    check([item["id"] for item in below] == ids and "properties" in below[0], f"a tree without its top: {below}")
    pages = entry.get(f"{top}/tree?fields=summary")["objects"]
    check([set(item) for item in pages] == [SUMMARY_MEMBERS | {"depth"}] * len(ids), f"a page of a tree: {pages}")


def test_what_is_refused_is_refused_by_line_too(entry, top, subtests):
    for target in (
        f"{top}/children?fields=some", f"{top}/tree?fields=", f"{top}/tree?top=1", "/api/conflicts?summaries=yes",
        "/api/objects?fields=Summary",
    ):
        with subtests.test(target):
            entry.refused(400, "bad-request", "GET", target)
            entry.refused(400, "bad-request", "GET", target, fields=LINES)
    entry.refused(404, "no-such-object", "GET", f"/api/objects/{'0' * 32}/children", fields=LINES)


def test_receipts(entry):
    body = {"type": "item", "properties": {"n": 1}}
    made = entry.expect(201, "POST", "/api/objects", body, fields=RECEIPT).json
    check(set(made) == {"id", "operations", "replica", "sequence"} and made["operations"] == 3, f"a receipt: {made}")
    path = f"/api/objects/{made['id']}"
    patch = entry.expect(200, "PATCH", path, {"properties": {"n": 2}}, fields=RECEIPT).json
    check(patch == {**made, "operations": 1, "sequence": made["sequence"] + 1}, f"an edit after {made}: {patch}")
    same = entry.expect(200, "PATCH", path, {"properties": {}}, fields=RECEIPT).json
    check(same["operations"] == 0 and same["sequence"] is None, f"nothing was written: {same}")
    put = entry.expect(200, "PUT", f"{path}/properties/n", 3, fields=RECEIPT).json
    moved = entry.expect(200, "POST", f"{path}/move", {"parent": None}, fields=RECEIPT).json
    check(put["sequence"] == patch["sequence"] + 1 and moved["operations"] == 1, f"{put}, {moved}")
    # Other wishes are none.
    shown = entry.expect(200, "PATCH", path, {"properties": {"n": 4}}, fields=[("Prefer", "return=representation")])
    check(shown.json["properties"] == {"n": 4}, f"the object itself: {shown.json}")
    gone = entry.expect(200, "DELETE", path, fields=RECEIPT).json
    check(gone["id"] == made["id"] and gone["operations"] == 1, f"a receipt of a delete: {gone}")
    entry.refused(404, "no-such-object", "DELETE", path, fields=RECEIPT)


def test_the_log_by_line(entry, top):
    log = lines(entry, "GET", f"{top}/log")
    kinds = [item["stored"]["kind"] for item in log]
    check(kinds == ["create", "move", "set"] == [next(iter(item["action"])) for item in log], f"a log: {kinds}")
    check({item["object"] for item in log} == {top.rsplit("/", 1)[1]}, "the log of an object has those of others")
    check(len(log[0]["stored"]["hash"]) > 30, f"all that is stored: {log[0]}")
    page = entry.get(f"{top}/log?order=oldest")["entries"]
    shared = [{name: value for name, value in item.items() if name != "stored"} for item in log]
    check(sorted(page, key=str) == sorted(shared, key=str), f"a page has other entries: {page}, {shared}")
    everything = lines(entry, "GET", "/api/log")
    kinds = {item["stored"]["kind"] for item in everything}
    check(len(everything) > len(log) and "introduce" in kinds, f"the whole log: {kinds}")
    check(lines(entry, "GET", "/api/conflicts?summaries=true") == [], "there are no conflicts")


def test_long_work_reports_by_line(entry):
    for target, member in (("/api/doctor", "healthy"), ("/api/sync", "in_sync")):
        *progress, result = lines(entry, "POST", target)
        check(member in result, f"{target}: {result}")
        check(all(set(item) == {"progress"} for item in progress), f"{target}: {progress}")
    *_, imported = lines(entry, "POST", "/api/import", [{"type": "note"}] * 3)
    check(imported == {"objects": 3, "notes": []}, f"an import: {imported}")
    *_, failed = lines(entry, "POST", "/api/import", [{"kind": "no type"}])
    check(failed["problem"]["code"] == "import-invalid", f"an import that fails: {failed}")


def test_an_object_or_a_property_alone_is_exported(entry, top):
    exported = entry.get(f"{top}/export")
    check(exported["created_by"] == "first" and exported["properties"] == {"title": "Top"}, f"an export: {exported}")
    one = entry.get(f"{top}/export?property=title")
    check(one["properties"] == {"title": "Top"} and set(one) == {"id", "properties", "created_by"}, f"{one}")
    entry.refused(404, "no-such-property", "GET", f"{top}/export?property=other")
