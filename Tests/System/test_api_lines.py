#!/usr/bin/env python3
"""What the local API answers to programs that ask for less or for more at once: summaries, receipts, and lines."""

import json

from local_api import both_entries
from peerd_harness import World, check, main_of_test, say

LINES = [("Accept", "application/x-ndjson")]
RECEIPT = [("Prefer", "return=minimal")]
SUMMARY_MEMBERS = {"id", "type", "kind", "name", "child_count"}


def lines(entry, method, target, json_body=None, fields=()):
    answer = entry.expect(200, method, target, json_body, fields=[*LINES, *fields])
    check(answer.field("Content-Type") == "application/x-ndjson", f"{target}: {answer.field('Content-Type')}")
    text = answer.body.decode()
    check(text == "" or text.endswith("\n"), f"{target}: the last line has no end")
    return [json.loads(line) for line in text.splitlines()]


def create(entry, type, parent=None, **properties):
    return entry.expect(201, "POST", "/api/objects", {"type": type, "parent": parent, "properties": properties}).json


def check_lists(entry, top, children):
    ids = [child["id"] for child in children]
    path = f"/api/objects/{top['id']}"
    found = lines(entry, "GET", f"{path}/children")
    check(found == [entry.get(f"/api/objects/{id}") for id in ids], f"children by line: {found}")
    summaries = lines(entry, "GET", f"{path}/children?fields=summary")
    check([set(item) for item in summaries] == [SUMMARY_MEMBERS] * len(ids), f"summaries: {summaries}")
    check([item["name"] for item in summaries] == ["Child 0", "Child 1", "Child 2"], f"names: {summaries}")
    page = entry.get(f"{path}/children?fields=summary&limit=2")
    check(page["objects"] == summaries[:2] and page["next"], f"a page of summaries: {page}")
    check(entry.get(f"/api/objects?parent={top['id']}&fields=summary")["objects"] == summaries, "a list of summaries")

    tree = lines(entry, "GET", f"{path}/tree?fields=summary&top=true")
    shown = [(item["id"], item["depth"], item["is_last"]) for item in tree]
    check(shown[0] == (top["id"], 0, True) and shown[-1] == (ids[2], 1, True), f"a tree by line: {shown}")
    check([depth for _, depth, _ in shown] == [0, 1, 1, 1], f"depths: {shown}")
    below = lines(entry, "GET", f"{path}/tree")
    check([item["id"] for item in below] == ids and "properties" in below[0], f"a tree without its top: {below}")
    pages = entry.get(f"{path}/tree?fields=summary")["objects"]
    check([set(item) for item in pages] == [SUMMARY_MEMBERS | {"depth"}] * len(ids), f"a page of a tree: {pages}")

    for target in (
        f"{path}/children?fields=some", f"{path}/tree?fields=", f"{path}/tree?top=1", "/api/conflicts?summaries=yes",
        "/api/objects?fields=Summary",
    ):
        entry.refused(400, "bad-request", "GET", target)
        entry.refused(400, "bad-request", "GET", target, fields=LINES)
    entry.refused(404, "no-such-object", "GET", f"/api/objects/{'0' * 32}/children", fields=LINES)


def check_receipts(entry):
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


def check_log_and_work(entry, top):
    path = f"/api/objects/{top['id']}"
    log = lines(entry, "GET", f"{path}/log")
    check([item["kind"] for item in log] == ["create", "move", "set"], f"a log: {[item['kind'] for item in log]}")
    check({item["object"] for item in log} == {top["id"]} and len(log[0]["hash"]) > 30, f"all that is stored: {log[0]}")
    everything = lines(entry, "GET", "/api/log")
    check(len(everything) > len(log) and "introduce" in {item["kind"] for item in everything}, "the whole log")
    check(lines(entry, "GET", "/api/conflicts?summaries=true") == [], "there are no conflicts")
    for target, member in (("/api/doctor", "healthy"), ("/api/sync", "in_sync")):
        *progress, result = lines(entry, "POST", target)
        check(member in result, f"{target}: {result}")
        check(all(set(item) == {"progress"} for item in progress), f"{target}: {progress}")
    *_, imported = lines(entry, "POST", "/api/import", [{"type": "note"}] * 3)
    check(imported == {"objects": 3, "notes": []}, f"an import: {imported}")
    *_, failed = lines(entry, "POST", "/api/import", [{"kind": "no type"}])
    check(failed["problem"]["code"] == "import-invalid", f"an import that fails: {failed}")
    exported = entry.get(f"{path}/export")
    check(exported["created_by"] == "first" and exported["properties"] == {"title": "Top"}, f"an export: {exported}")
    one = entry.get(f"{path}/export?property=title")
    check(one["properties"] == {"title": "Top"} and set(one) == {"id", "properties", "created_by"}, f"{one}")
    entry.refused(404, "no-such-property", "GET", f"{path}/export?property=other")


def check_machines(entry):
    entry.expect(204, "POST", "/api/peers", {"addresses": [{"host": "127.0.0.1", "port": 1}]})
    for body in ({}, {"addresses": None}, {"addresses": [{"host": "", "port": 1}]}, {"addresses": [{"port": 1}]},
                 {"addresses": [{"host": "x", "port": 65_536}]}):
        entry.refused(400, "bad-request", "POST", "/api/peers", body)
    check(entry.expect(200, "POST", "/api/restamp").json == {"restamped": []}, "there is nothing to restamp")


def run():
    with World("lines") as world:
        peer = world.founder("first")
        peer.start()
        for entry in both_entries(peer):
            top = create(entry, "list", title="Top")
            children = [create(entry, "item", top["id"], title=f"Child {number}") for number in range(3)]
            check_lists(entry, top, children)
            check_receipts(entry)
            check_log_and_work(entry, top)
            check_machines(entry)
            say(f"summaries, receipts and lines over the {entry.name}")


if __name__ == "__main__":
    main_of_test(run)
