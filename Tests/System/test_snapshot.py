#!/usr/bin/env python3
"""Snapshots of objects through the command line, with and without a daemon: they survive a killed daemon, a restore
reaches the other machine and writes nothing twice, snapshots stay on their machine unless a file carries them, and SQL
shows them."""

import json
import sqlite3

from peerd_harness import Agreement, CommandFailed, World, check, main_of_test, pair, say

NO_SUCH_OBJECT, FAILURE = 3, 1
ODD_NAME = "na\u0007me\u202e \"quoted\" ü"


def fails(peer, code, *verb):
    try:
        peer.run(*verb)
    except CommandFailed as error:
        check(error.code == code, f"{verb} ended with {error.code}: {error.error}")
        return
    check(False, f"{verb} succeeded")


def below(peer, top):
    """An object and what is below it, without times and places among siblings."""
    items = json.loads(peer.raw("export", top))
    return {item["id"]: (item["type"], item["kind"], item["parent"], item["properties"]) for item in items}


def made(peer):
    """A tree with odd names and a large value."""
    shelf = peer.create("shelf", "title=Shelf")
    top = peer.create("album", "--parent", shelf, f"{ODD_NAME}=1", "title=Album")
    pages = [peer.create("page", "--parent", top, f"n={number}") for number in range(3)]
    peer.run("set", pages[0], "text=" + "x" * 100_000)
    return shelf, top, pages


def changed(peer, top, pages):
    """Changes, moves and deletes parts of the tree, and puts something new below it; returns the new object."""
    peer.run("rm", pages[0])
    peer.run("mv", pages[1], "--root")
    peer.run("unset", top, ODD_NAME)
    peer.run("set", top, "title=Changed", "extra=[1]")
    return peer.create("page", "--parent", top, "n=4")


def snapshots(world):
    a = world.founder("a")
    a.start()
    b = world.peer("b")
    pair(a, b)
    b.start(peers=[a.address])
    agreement = Agreement()
    shelf, top, pages = made(a)
    agreement.settle([a, b])
    before = below(a, top)
    name = "before the sale"
    snapshot = a.run("snapshot", "create", top, "--name", name)
    # Acknowledged is kept.
    a.kill()
    a.start()
    b.restart(peers=[a.address])
    listed = a.json("snapshot", "list")
    check([(item["id"], item["name"], item["objects"]) for item in listed] == [(snapshot, name, 4)], f"list: {listed}")
    check(a.json("snapshot", "list", top) == listed and a.json("snapshot", "list", shelf) == [], "list of an object")
    text = a.run("snapshot", "show", snapshot)
    check(name in text and all(page in text for page in pages), f"show: {text}")
    new = changed(a, top, pages)
    agreement.settle([a, b])
    check(below(b, top) != before, "nothing has changed")

    result = a.json("snapshot", "restore", snapshot[:8])
    check((result["created"], result["transactions"], result["missing_parent"]) == (1, 1, None), f"restored: {result}")
    agreement.settle([a, b])
    for peer in (a, b):
        after = below(peer, top)
        check(new in after, "what was put below since then is gone")
        del after[new]
        check(after == before, f"{peer.name} shows something else than the snapshot")
    order = [item["id"] for item in b.json("ls", top) if item["id"] != new]
    check(order == pages, f"the order of siblings is {order}")
    changes = a.status()["changes"]
    check(a.json("snapshot", "restore", snapshot)["transactions"] == 0, "a second restore wrote something")
    check(a.status()["changes"] == changes, "a second restore made a change")

    # Of this machine alone, until a file carries it.
    check(b.json("snapshot", "list") == [], "another machine got the snapshot")
    fails(b, NO_SUCH_OBJECT, "snapshot", "restore", snapshot)
    file = world.root / "album.json"
    a.run("snapshot", "export", snapshot, file)
    check(file.read_bytes() == a.raw("snapshot", "export", snapshot), "the file and standard output differ")
    fails(a, FAILURE, "snapshot", "export", snapshot, file)
    for _ in range(2):
        check(b.run("snapshot", "import", file) == snapshot, "the imported snapshot is another one")
    b.run("rm", shelf)
    agreement.settle([a, b])
    check(b.json("snapshot", "restore", snapshot)["missing_parent"] == shelf, "a lost parent is not told")
    agreement.settle([a, b])
    after = below(a, top)
    check(after[top][2] is None, "the object is not at the root")
    check({key: value[3] for key, value in after.items()} == {key: value[3] for key, value in before.items()}, "values")
    for broken in (b"", b"[]", file.read_bytes()[:-5], file.read_bytes().replace(b"peerd-snapshot-1", b"x")):
        bad = world.root / "bad.json"
        bad.write_bytes(broken)
        fails(a, FAILURE, "snapshot", "import", bad)

    database = sqlite3.connect(f"file:{a.directory / 'peerd.sqlite'}?mode=ro", uri=True)
    query = "SELECT id, object_id, json_extract(snapshot, '$.name'), date(created_at) FROM snapshots"
    row = database.execute(query).fetchone()
    check(row[:3] == (snapshot, top, name) and row[3].startswith("20"), f"SQL shows {row}")
    a.stop()
    # The same without a daemon.
    check(a.json("snapshot", "list") == listed, "the list without a daemon")
    a.run("set", top, "title=Again")
    check(a.json("snapshot", "restore", snapshot)["changed"] == 1, "a restore without a daemon")
    a.run("snapshot", "delete", snapshot)
    check(a.json("snapshot", "list") == [] and below(a, top)[top][3]["title"] == "Album", "the deletion")
    for peer in (a, b):
        check(peer.json("doctor")["healthy"], f"{peer.name} is not healthy")


def run():
    with World("snapshot") as world:
        snapshots(world)
    say("taken, changed, restored, carried, and read in SQL")


if __name__ == "__main__":
    main_of_test(run)
