#!/usr/bin/env python3
"""History on two real machines: every state of the past can be read again, undo and redo go across devices and
restarts, and what was deleted comes back by a restore.

The states that a machine exported are the oracle: at the moment that it named then, it must export the same bytes, and
so must the other machine, whatever was written since.
"""

import json
import random

from local_api import Entry
from peerd_harness import World, check, main_of_test, say, wait_until

SEED = random.randrange(1 << 32)
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


def check_undo(peer, count):
    """Undo and redo of several transactions: in the end nothing has changed."""
    before = without_times(peer.export())
    undone = peer.json("undo", str(count))
    check(len(undone) == count, f"{peer.name} took back {len(undone)} of {count}")
    peer.restart()
    redone = peer.json("redo", str(count))
    check(len(redone) == count, f"{peer.name} did {len(redone)} of {count} again")
    check(without_times(peer.export()) == before, f"{peer.name}: undo and redo of {count} changed something")
    check(peer.result("redo").returncode == 1, f"{peer.name}: there is more to redo")


def check_restore(laptop, phone):
    folder = laptop.create("folder", "title=kept")
    inner = laptop.create("note", "--parent", folder, "title=inner", "deep=[1,{\"a\":null}]")
    moment = Entry.loopback(laptop).expect(200, "GET", "/api/moment").json["moment"]
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


def check_across_devices(laptop, phone):
    """What one machine wrote, another of the user takes back; what was edited since stays, and is named."""
    id = laptop.create("note", "title=first", "n=1")
    laptop.run("set", id, "title=second", "n=2")
    phone.run("sync", "--wait")
    phone.run("undo")
    laptop.run("sync", "--wait")
    wait_until(lambda: laptop.run("get", id, "title") == "first", 60, "the undo arrives")
    check(laptop.json("redo")[0]["kept"] == [], "a redo on the first machine")
    check(laptop.run("get", id, "title") == "second", "a redo brings it back")


def check_large_undo(peer):
    """An undo that one change cannot hold takes back what fits, names the rest, and bars nothing."""
    note = peer.create("note", "title=before")
    values = {f"v{number}": "x" * 1_000_000 for number in range(9)}
    path = peer.directory.parent / "large.json"
    path.write_text(json.dumps([{"id": note, "properties": values}]))
    peer.run("import", path)
    peer.run("set", note, "title=after")
    entry = Entry.loopback(peer)
    moment = entry.expect(200, "GET", "/api/moment").json["moment"]
    entry.expect(200, "POST", "/api/transactions", {"edits": [{"unset": note, "names": sorted(values)}]})
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
    say(f"of {len(values)} large values {len(values) - len(kept)} come back by an undo, and the others are named")


def refusals(peer, id):
    for words, code in [
        (["get", id, "--at", "yesterdayish"], 2), (["get", id, "--at", "2026-02-30"], 2), (["undo", "0"], 2),
        (["undo", "1001"], 2), (["export", "--at", f"{'0' * 32}-1-1"], 3), (["get", id, "--at", "1970-01-01"], 3),
        (["history", "00000000-0000-4000-8000-000000000000"], 3), (["history", id, "--limit", "0"], 2),
    ]:
        result = peer.result(*words)
        check(result.returncode == code and result.stderr, f"{words}: {result.returncode}, {result.stderr}")
    entry = Entry.loopback(peer)
    entry.refused(422, "invalid-argument", "GET", f"/api/objects/{id}?at=never")
    entry.refused(404, "no-such-moment", "GET", f"/api/tree?at={'0' * 32}-1-1")
    entry.refused(400, "bad-request", "GET", "/api/diff")
    entry.refused(400, "bad-request", "POST", "/api/undo", {"count": 0})


def run():
    say(f"seed {SEED}")
    draw = random.Random(SEED)
    with World("history") as world:
        laptop, phone = world.paired("laptop", "phone")
        laptop.start()
        phone.start(peers=[f"127.0.0.1:{laptop.port}"])
        entry, ids, moments = Entry.loopback(laptop), [], []
        reversible = 0
        for step in range(STEPS):
            reversible += edit(draw.choice([laptop, phone]), draw, ids)
            if step % 4 == 3:
                # Another machine may deliver something between the two, so it is tried until nothing has.
                moment = export = None
                while moment is None or moment != entry.expect(200, "GET", "/api/moment").json["moment"]:
                    moment = entry.expect(200, "GET", "/api/moment").json["moment"]
                    export = laptop.export()
                moments.append((moment, export))
        # The first object may be deleted at once, and most of the edits be refused.
        while reversible < UNDONE:
            reversible += edit(laptop, draw, ids)
        phone.run("sync", "--wait")
        wait_until(lambda: phone.export() == laptop.export(), 60, "both have the same")
        check_past(laptop, moments)
        check_past(phone, moments)
        say(f"{len(moments)} states of the past, on two machines")
        phone.stop()
        check_undo(laptop, UNDONE)
        check_past(laptop, moments[-3:])
        say("undo and redo, with a restart between them")
        phone.start(peers=[f"127.0.0.1:{laptop.port}"])
        check_restore(laptop, phone)
        check_across_devices(laptop, phone)
        check_large_undo(laptop)
        refusals(laptop, laptop.create("note"))
        phone.run("sync", "--wait")
        wait_until(lambda: phone.export() == laptop.export(), 60, "both have the same in the end")
        for peer in (laptop, phone):
            result = peer.result("doctor")
            check(result.returncode == 0, f"{peer.name}: doctor says {result.stdout.decode()}")
        say("restore, undo across devices, and refusals")


if __name__ == "__main__":
    main_of_test(run)
