"""History on two real machines: every state of the past can be read again, undo and redo go across devices and
restarts, and what was deleted comes back by a restore.

The states that a machine exported are the oracle: at the moment that it named then, it must export the same bytes, and
so must the other machine, whatever was written since.
"""

import json

import pytest

from local_api import NOBODY, Entry
from peerd_harness import Agreement, DaemonSocket, check, wait_until

STEPS = 40
UNDONE = 7


def without_times(export):
    """The objects of an export without the times of their updates, which an undo cannot take back."""
    return [{name: value for name, value in item.items() if name != "updated_at"} for item in json.loads(export)]


def edit(peer, draw, ids):
    """At most one transaction, by a verb: objects that are deleted are edited too, which is refused.

    Returns whether it is one that can be taken back for certain.
    """
    verb = draw.choice(["create", "create", "set", "set", "set", "unset", "mv", "rm"])
    if verb == "create" or not ids:
        words = ["--parent", draw.choice(ids)] if ids and draw.random() < 0.6 else []
        # The parent may be deleted, or not be here yet.
        done = peer.result("create", "note", *words, f"title={draw.randrange(100)}", "done=false")
        if done.returncode == 0:
            ids.append(done.stdout.decode().strip())
        return done.returncode == 0
    id = draw.choice(ids)
    if verb == "set":
        done = peer.result("set", id, f"title={draw.randrange(100)}", f"n={draw.randrange(100)}")
        return done.returncode == 0
    elif verb == "unset":
        peer.result("unset", id, "done")
    elif verb == "mv":
        peer.result("mv", id, *([draw.choice(ids)] if draw.random() < 0.6 else ["--root"]))
    else:
        peer.result("rm", id)
    return False


def check_past(peer, moments):
    for moment, export in moments:
        check(peer.raw("export", "--at", moment) == export, f"{peer.name}: the state at {moment} is another one")


def moment_of(peer):
    return Entry.loopback(peer).expect(200, "GET", "/api/moment").json["moment"]


@pytest.fixture
def machines(world):
    """Two machines of one user, which run."""
    laptop, phone = world.paired("laptop", "phone")
    phone.start(peers=[laptop.start()])
    return laptop, phone


@pytest.fixture
def edited(machines, draw):
    """Both, after many edits on either, and some moments with what the laptop exported then."""
    laptop, phone = machines
    ids, moments = [], []
    reversible = 0
    for step in range(STEPS):
        peer = draw.choice([laptop, phone])
        count = edit(peer, draw, ids)
        # An undo takes back what its own machine wrote.
        reversible += count if peer is laptop else 0
        if step % 4 == 3:
            # Another machine may deliver something between the two, so it is tried until nothing has.
            moment = export = None
            while moment is None or moment != moment_of(laptop):
                moment = moment_of(laptop)
                export = laptop.export()
            moments.append((moment, export))
    # The first object may be deleted at once, and most of the edits be refused.
    while reversible < UNDONE:
        reversible += edit(laptop, draw, ids)
    phone.run("sync", "--wait")
    Agreement().settle([laptop, phone])
    return laptop, phone, moments


def check_in_order(*peers):
    """In the end, all have the same, and are healthy."""
    Agreement().settle(peers)
    for peer in peers:
        result = peer.result("doctor")
        check(result.returncode == 0, f"{peer.name}: doctor says {result.stdout.decode()}")


def test_every_state_of_the_past_can_be_read_again_on_two_machines(edited):
    laptop, phone, moments = edited
    check_past(laptop, moments)
    check_past(phone, moments)
    check_in_order(laptop, phone)


def test_undo_and_redo_of_several_edits_change_nothing_over_a_restart(edited):
    laptop, phone, moments = edited
    phone.stop()
    before = without_times(laptop.export())
    undone = laptop.json("undo", str(UNDONE))
    check(len(undone) == UNDONE, f"{len(undone)} of {UNDONE} were taken back")
    laptop.restart()
    redone = laptop.json("redo", str(UNDONE))
    check(len(redone) == UNDONE, f"{len(redone)} of {UNDONE} were done again")
    check(without_times(laptop.export()) == before, f"undo and redo of {UNDONE} changed something")
    check(laptop.result("redo").returncode == 1, "there is more to redo")
    check_past(laptop, moments[-3:])
    phone.start(peers=[laptop.address])
    check_in_order(laptop, phone)


def test_what_was_deleted_comes_back_by_a_restore(machines):
    laptop, phone = machines
    folder = laptop.create("folder", "title=kept")
    inner = laptop.create("note", "--parent", folder, "title=inner", "deep=[1,{\"a\":null}]")
    moment = moment_of(laptop)
    laptop.run("set", inner, "title=changed", "more=1")
    laptop.run("rm", folder)
    phone.run("sync", "--wait")
    check(phone.result("get", folder).returncode == 3, "the folder is still there")
    check(json.loads(phone.run("get", inner, "deep", "--at", moment)) == [1, {"a": None}], "the past of a value")
    phone.run("restore", folder, "--at", moment)
    found = phone.json("get", inner)["properties"]
    check(found == {"title": "inner", "deep": [1, {"a": None}]}, f"restored as {found}")
    check(phone.json("diff", moment, "--object", folder) == [], "a restored folder differs")
    phone.run("set", folder, "title=other")
    phone.run("restore", folder, "title", "--at", moment)
    check(phone.run("get", folder, "title") == "kept", "a restored property")
    entries = phone.json("history", folder, "title")
    replaced = [(entry["replaced"] or {}).get("set", {}).get("value") for entry in entries]
    check(replaced == ["other", "kept", None], f"the history of the title replaced {replaced}")
    check([entry["status"] for entry in entries] == ["effective", "superseded", "superseded"], "which is in force")
    never = laptop.create("note")
    result = laptop.result("restore", never, "--at", moment)
    check(result.returncode == 3 and b"was not there" in result.stderr, f"{result.returncode}: {result.stderr}")
    phone.run("sync", "--wait")
    check_in_order(laptop, phone)


def test_an_undo_takes_back_the_last_step_of_its_machine(machines):
    laptop, phone = machines
    id = laptop.create("note", "title=first", "n=1")
    phone.run("sync", "--wait")
    phone.run("set", id, "done=true")
    laptop.run("sync", "--wait")
    laptop.run("set", id, "title=second", "n=2")
    phone.run("sync", "--wait")
    # What the laptop wrote last stays, and what it writes afterwards ends no redo.
    check(phone.json("undo")[0]["device_name"] == phone.name, "the last step of the phone")
    laptop.run("sync", "--wait")
    laptop.run("set", id, "n=3")
    phone.run("sync", "--wait")
    check(phone.json("get", id)["properties"] == {"title": "second", "n": 3}, "an undo on the phone")
    check(phone.json("redo")[0]["kept"] == [], "a redo on the phone")
    laptop.run("sync", "--wait")
    laptop.run("undo", "2")
    check(laptop.json("get", id)["properties"] == {"title": "first", "n": 1, "done": True}, "two undos on the laptop")
    phone.run("sync", "--wait")
    check_in_order(laptop, phone)


def test_an_undo_that_one_change_cannot_hold_names_the_rest_and_bars_nothing(machines):
    peer, phone = machines
    note = peer.create("note", "title=before")
    values = {f"v{number}": "x" * 1_000_000 for number in range(9)}
    path = peer.directory.parent / "large.json"
    path.write_text(json.dumps([{"id": note, "properties": values}]))
    peer.run("import", path)
    peer.run("set", note, "title=after")
    moment = moment_of(peer)
    Entry.loopback(peer).expect(200, "POST", "/api/transactions", {"edits": [{"unset": note, "names": sorted(values)}]})
    (undone,) = peer.json("undo")
    kept = {item["property"] for item in undone["kept"]}
    check(all(item["reason"] == "too-large" for item in undone["kept"]) and len(kept) == 3, f"{undone['kept']}")
    properties = peer.json("get", note)["properties"]
    expected = {"title": "after"} | {name: values[name] for name in values.keys() - kept}
    check(properties == expected, f"{properties.keys()}")
    peer.run("undo")
    check(peer.json("get", note)["properties"]["title"] == "before", "the one before is not barred")
    peer.run("redo", "2")
    check(peer.json("get", note)["properties"] == {"title": "after"}, "redo does both again")
    peer.run("undo")
    for name in sorted(kept):
        peer.run("restore", note, name, "--at", moment)
    check(peer.json("get", note)["properties"] == {"title": "after"} | values, "a restore brings each of the others")
    phone.run("sync", "--wait")
    check_in_order(peer, phone)


@pytest.fixture
def noted(world):
    """A machine that runs, and a note."""
    peer = world.founder("laptop")
    peer.start()
    return peer, peer.create("note")


@pytest.mark.parametrize("code, words", [
    (2, "get NOTE --at yesterdayish"), (2, "get NOTE --at 2026-02-30"), (3, "get NOTE --at 1970-01-01"),
    (2, "undo 0"), (2, "undo 1001"), (3, f"export --at {'0' * 32}-1-1"), (3, f"history {NOBODY}"),
    (2, "history NOTE --limit 0"),
])
def test_refused_verbs(noted, code, words):
    peer, id = noted
    peer.refused(code, *words.replace("NOTE", id).split())


def test_refused_requests(noted):
    peer, id = noted
    entry = Entry.loopback(peer)
    entry.refused(422, "invalid-argument", "GET", f"/api/objects/{id}?at=never")
    entry.refused(404, "no-such-moment", "GET", f"/api/tree?at={'0' * 32}-1-1")
    entry.refused(400, "bad-request", "GET", "/api/diff")
    entry.refused(400, "bad-request", "POST", "/api/undo", {"count": 0})


def test_the_history_has_each_write_of_a_transaction_that_writes_one_property_often(world):
    """More than a page of them, of two transactions, with what each has replaced."""
    peer = world.founder("often")
    note = peer.create("note", "n=-1")
    peer.start()
    with DaemonSocket(peer) as daemon:
        for first in (0, 1200):
            edits = [{"set": note, "properties": {"n": n, "m": n}} for n in range(first, first + 1200)]
            daemon.ask("POST", "/api/transactions", {"edits": edits})
    peer.stop()
    entries = peer.json("history", note, "n")
    found = [(item["action"]["set"]["value"], (item["replaced"] or {}).get("set", {}).get("value")) for item in entries]
    check(found == [(n, n - 1) for n in range(2399, -1, -1)] + [(-1, None)], f"the history of n: {found[:5]}")
    effective = [item["action"]["set"]["value"] for item in entries if item["status"] == "effective"]
    check(effective == [2399], f"in force: {effective}")
