"""What an undo takes back: what somebody did in one go with one program, all of it and nothing else."""

import contextlib
import json

import pytest

from local_api import Entry
from peerd_harness import check, wait_until

OBJECTS = 2000
STEPS = 300


@pytest.fixture
def peer(world):
    peer = world.founder("desk")
    peer.start()
    return peer


def shown(peer):
    """The objects without the times of their updates, which an undo cannot take back."""
    return {id: {**item, "updated_at": None} for id, item in peer.objects().items()}


def properties(peer, id, *options):
    return peer.json("get", id, *options)["properties"]


def test_an_import_is_one_action(peer):
    note = peer.create("note", "title=before")
    before = shown(peer)
    path = peer.directory.parent / "many.json"
    path.write_text(json.dumps([{"type": "item", "key": f"k{n}", "properties": {"n": n}} for n in range(OBJECTS)]))
    check("undo" in peer.run("import", path), "the answer says how to take it back")
    imported = shown(peer)
    check(len(imported) == OBJECTS + 1, f"{len(imported)} objects")
    (undone,) = peer.json("undo")
    check(undone["transaction_count"] > 1 and undone["edit_count"] >= OBJECTS, f"{undone['transaction_count']}")
    check(shown(peer) == before, "the import is taken back, and nothing else")
    peer.run("redo")
    check(shown(peer) == imported, "it is done again")
    # The step before it is the next.
    check(len(peer.json("undo", "2")) == 2 and note not in peer.objects(), "both steps")
    peer.restart()
    peer.run("redo", "2")
    check(shown(peer) == imported, "both are done again after a restart")
    peer.run("doctor")


def test_what_another_program_writes_is_left_alone_and_ends_no_redo(peer):
    job = peer.used_by("nightly job")
    note = peer.create("note", "title=first")
    peer.run("set", note, "title=second")
    job.run("set", note, "checked=true")
    (undone,) = peer.json("undo")
    check(undone["program"] == "" and properties(peer, note) == {"title": "first", "checked": True}, f"{undone}")
    job.run("set", note, "checked=false")
    peer.run("redo")
    check(properties(peer, note) == {"title": "second", "checked": False}, "the job has ended no redo")
    check(job.run("undo") and properties(peer, note)["checked"] is True, "the job takes back what it wrote")
    (undone,) = peer.json("undo", "--program", "nightly job")
    check(undone["program"] == "nightly job" and "checked" not in properties(peer, note), f"{undone}")
    (undone,) = peer.json("undo", "--all-programs")
    check(undone["program"] == "" and properties(peer, note) == {"title": "first"}, "the last of any program")
    stored = [entry["stored"] for entry in peer.operations()]
    programs = {operation["name"] for operation in stored if operation["kind"] == "action"}
    check(programs == {"", "nightly job"}, f"the log names the programs: {programs}")


def test_requests_with_one_action_are_taken_back_in_one(peer):
    entry = Entry.loopback(peer)
    note = peer.create("note", "x=0")

    def write(value, *fields):
        body = {"edits": [{"set": note, "properties": {"x": value}}]}
        answer = entry.ask("POST", "/api/transactions", json_body=body, fields=[("Peerd-Program", "a%20page"), *fields])
        check(answer.status == 200, f"{answer.status}")

    for value in range(1, 6):
        write(value, ("Peerd-Action", "drag-1"))
    write(9, ("Peerd-Action", "drag-2"))
    page = peer.used_by("a page")
    page.run("undo")
    check(properties(peer, note) == {"x": 5}, "the last drag alone")
    (undone,) = page.json("undo")
    check(undone["transaction_count"] == 5 and properties(peer, note) == {"x": 0}, f"the whole drag: {undone}")
    page.run("redo", "2")
    check(properties(peer, note) == {"x": 9}, "both are done again")
    check("nothing to redo" in page.refused(1, "redo"), "that was all")
    for field in ("Peerd-Program", "Peerd-Action"):
        answer = entry.ask("POST", "/api/transactions", json_body={"edits": []}, fields=[(field, "x" * 65)])
        check(answer.status == 400, f"a long name: {answer.status}")


def test_a_merge_is_one_action(peer):
    note = peer.create("note", "title=main")
    peer.run("branch", "create", "draft")
    for words in (["title=draft"], ["more=1"]):
        peer.run("branch", "switch", "draft")
        peer.run("set", note, *words)
    peer.run("branch", "switch", "main")
    peer.run("set", note, "other=2")
    peer.run("branch", "merge", "draft")
    merged = shown(peer)
    undone = peer.result("undo")
    check(b"redo" in undone.stderr and properties(peer, note) == {"title": "main", "other": 2}, f"{undone}")
    check("redo" in peer.run("branch", "merge", "draft"), "another merge says what brings it back")
    peer.run("redo")
    check(shown(peer) == merged, "a redo brings it back")
    peer.run("undo", "2")
    check(properties(peer, note) == {"title": "main"}, "the step before the merge is the next")


def test_an_undo_that_a_merge_had_brought_is_what_is_taken_back(peer):
    note = peer.create("note", "title=main")
    peer.run("branch", "create", "draft")
    peer.run("set", note, "more=1", "--branch", "draft")
    peer.run("undo")
    (before, alone) = (properties(peer, note, "--branch", "draft"), {"more": 1})
    peer.run("branch", "merge", "main", "--into", "draft")
    check(before == {"title": "main", "more": 1}, f"{before}")
    check(properties(peer, note, "--branch", "draft") == alone, "what was taken back on main is gone")
    (undone,) = peer.json("undo", "--branch", "draft")
    check(undone["is_merge"] and all(edit["is_undo"] for edit in undone["edits"]), f"{undone}")
    check(properties(peer, note, "--branch", "draft") == before, "it is as before the merge")
    check("a merge: the undo of" in peer.run("redo", "--branch", "draft"), "it is said what is done again")
    check(properties(peer, note, "--branch", "draft") == alone, "a redo leads back")
    peer.run("undo", "2", "--branch", "draft")
    check(properties(peer, note, "--branch", "draft") == {"title": "main"}, "then comes the edit before it")


def test_a_value_that_compaction_dropped_is_found_where_an_undo_put_it(peer):
    note = peer.create("note", "a=1")
    peer.run("set", note, "a=2")
    peer.run("undo")
    peer.run("compact", "--keep", "0")
    peer.run("set", note, "a=9")
    (undone,) = peer.json("undo")
    check(undone["kept"] == [] and properties(peer, note) == {"a": 1}, f"{undone}, {properties(peer, note)}")


def test_each_property_of_what_stays_is_judged_by_itself(peer):
    other = peer.used_by("other")
    folder = peer.create("folder", "title=mine", "color=mine")
    other.run("create", "note", "--parent", folder)
    other.run("set", folder, "color=theirs")
    (undone,) = peer.json("undo")
    kept = {(part["part"], part["property"]): part["reason"] for part in undone["kept"]}
    check(kept == {("object", None): "edited", ("property", "color"): "edited"}, f"{kept}")
    check(properties(peer, folder) == {"color": "theirs"}, f"{properties(peer, folder)}")


def test_many_steps_on_one_property_are_taken_back_and_done_again(peer):
    note = peer.create("note", "n=0")
    with contextlib.closing(Entry.loopback(peer)) as entry:
        for n in range(STEPS):
            body = {"edits": [{"set": note, "properties": {"n": n + 1}}]}
            check(entry.ask("POST", "/api/transactions", json_body=body).status == 200, "a step")
    for left in range(STEPS - 1, -1, -75):
        count = min(75, left + 1)
        check(len(peer.json("undo", str(count))) == count, "as many as asked for")
        check(properties(peer, note) == {"n": left + 1 - count}, f"{properties(peer, note)}")
    check(len(peer.json("redo", str(STEPS))) == STEPS, "all are done again")
    check(properties(peer, note) == {"n": STEPS}, "and the last is in force")


def test_what_was_done_again_in_another_scope_is_a_step_again(peer):
    other = peer.used_by("other")
    note = peer.create("note", "a=1")
    peer.run("set", note, "a=2")
    other.run("set", note, "b=1")
    peer.run("undo")
    peer.run("undo", "--all-programs")
    peer.run("redo")
    check(properties(peer, note) == {"a": 2}, f"{properties(peer, note)}")
    peer.run("undo", "--all-programs")
    check(properties(peer, note) == {"a": 1}, f"what was done again is the last step: {shown(peer)}")
    peer.run("redo", "--all-programs")
    for words in ("c=1", "d=1"):
        peer.run("set", note, words)
    peer.run("undo", "--all-programs")
    peer.run("undo")
    peer.run("redo", "--all-programs")
    check(properties(peer, note) == {"a": 2, "d": 1}, f"{properties(peer, note)}")
    peer.run("undo")
    check(properties(peer, note) == {"a": 2}, f"the same in its own scope: {properties(peer, note)}")


def test_more_steps_than_there_are_are_no_error(peer):
    note = peer.create("note", "n=0")
    for n in range(5):
        peer.run("set", note, f"n={n + 1}")
    check("1 to 1000" in peer.refused(2, "undo", "1001"), "no more at once")
    check(len(peer.json("undo", "1000")) == 6, "no more than there are")
    check(note not in peer.objects(), "its creation is the first step")
    check(len(peer.json("redo", "1000")) == 6 and properties(peer, note) == {"n": 5}, "all of it again")


def test_nothing_to_take_back_is_a_failure(peer):
    peer.create("note", "title=before")
    peer.run("undo")
    for verb in ("undo", "redo"):
        if verb == "redo":
            peer.run(verb)
        for options in ((), ("--json",)):
            peer.refused(1, verb, *options, mentions=(f"nothing to {verb}",))


def test_what_another_machine_took_back_and_did_again_is_a_step_still(world):
    desk, phone = world.paired("desk", "phone")
    desk.start()
    phone.start(peers=[desk.address])
    note = desk.used_by("another").create("note")
    for words in ("a=1", "b=1"):
        desk.run("set", note, words)
    desk.run("undo")
    desk.run("set", note, "c=1")
    wait_until(lambda: phone.export() == desk.export(), 20, "the phone has all")
    phone.run("undo", "--device", "all", "2")
    phone.run("redo", "--device", "all", "2")
    wait_until(lambda: phone.frontier() == desk.frontier(), 20, "the desk has all")
    check(properties(desk, note) == {"a": 1, "c": 1}, f"{properties(desk, note)}")
    for left in ({"a": 1}, {}):
        desk.run("undo")
        check(properties(desk, note) == left, f"{properties(desk, note)}, not {left}")


def test_an_undo_of_all_machines_passes_what_it_cannot_take_back(world):
    desk, phone = world.paired("desk", "phone")
    desk.start()
    phone.start(peers=[desk.address])
    note = desk.create("note", "a=1")
    desk.run("set", note, "a=2")
    desk.run("set", note, "b=2")
    wait_until(lambda: phone.export() == desk.export(), 20, "the phone has all")
    # In no scope of a program with a name, so that it stands in the way.
    phone.used_by("another").run("set", note, "b=3")
    check(phone.result("undo", "--device", "all").returncode == 1, "it could be taken back")
    phone.run("undo", "--device", "all")
    check(properties(phone, note) == {"a": 1, "b": 3}, f"{properties(phone, note)}")
    wait_until(lambda: phone.frontier() == desk.frontier(), 20, "the desk has all")
    # What the phone could not take back is the desk's last step still, and no earlier one is taken back for it.
    check(desk.result("undo").returncode == 1 and properties(desk, note) == {"a": 1, "b": 3}, "the desk goes too far")
