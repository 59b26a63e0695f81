"""Snapshots of objects through the command line, with and without a daemon: they survive a killed daemon, a restore
reaches the other machine and writes nothing twice, snapshots stay on their machine unless a file carries them, and SQL
shows them."""

import contextlib
import json
import sqlite3

import pytest

from peerd_harness import Agreement, check, pair

NO_SUCH_OBJECT, FAILURE = 3, 1
NAME = "before the sale"
ODD_NAME = "na\u0007me\u202e \"quoted\" ü"


def below(peer, top):
    """An object and what is below it, without times and places among siblings."""
    items = json.loads(peer.raw("export", top))
    return {item["id"]: (item["type"], item["kind"], item["parent"], item["properties"]) for item in items}


@pytest.fixture
def a(world):
    """A machine whose daemon runs."""
    a = world.founder("a")
    a.start()
    return a


@pytest.fixture
def tree(a):
    """A tree on it with odd names and a large value: the shelf, the album on it, and the pages of that."""
    shelf = a.create("shelf", "title=Shelf")
    top = a.create("album", "--parent", shelf, f"{ODD_NAME}=1", "title=Album")
    pages = [a.create("page", "--parent", top, f"n={number}") for number in range(3)]
    a.run("set", pages[0], "text=" + "x" * 100_000)
    return shelf, top, pages


@pytest.fixture
def snapshot(a, tree):
    """A snapshot of the album."""
    return a.run("snapshot", "create", tree[1], "--name", NAME)


@pytest.fixture
def b(world, a):
    """A second machine, whose daemon has met that of the first."""
    b = world.peer("b")
    pair(a, b)
    b.start(peers=[a.address])
    return b


def test_a_snapshot_survives_a_killed_daemon_and_is_shown(a, tree, snapshot):
    shelf, top, pages = tree
    # Acknowledged is kept.
    a.kill()
    a.start()
    listed = a.json("snapshot", "list")
    check([(item["id"], item["name"], item["objects"]) for item in listed] == [(snapshot, NAME, 4)], f"list: {listed}")
    check(a.json("snapshot", "list", top) == listed and a.json("snapshot", "list", shelf) == [], "list of an object")
    text = a.run("snapshot", "show", snapshot)
    check(NAME in text and all(page in text for page in pages), f"show: {text}")
    query = "SELECT id, object_id, json_extract(snapshot, '$.name'), date(created_at) FROM snapshots"
    database = sqlite3.connect(f"file:{a.directory / 'peerd.sqlite'}?mode=ro", uri=True)
    with contextlib.closing(database):
        row = database.execute(query).fetchone()
    check(row[:3] == (snapshot, top, NAME) and row[3].startswith("20"), f"SQL shows {row}")


def test_a_restore_reaches_the_other_machine_and_writes_nothing_twice(a, tree, snapshot, b):
    _, top, pages = tree
    agreement = Agreement()
    agreement.settle([a, b])
    before = below(a, top)
    a.run("rm", pages[0])
    a.run("mv", pages[1], "--root")
    a.run("unset", top, ODD_NAME)
    a.run("set", top, "title=Changed", "extra=[1]")
    new = a.create("page", "--parent", top, "n=4")
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
    for peer in (a, b):
        check(peer.json("doctor")["healthy"], f"{peer.name} is not healthy")


def test_a_snapshot_stays_on_its_machine_until_a_file_carries_it(world, a, tree, snapshot, b):
    shelf, top, _ = tree
    agreement = Agreement()
    agreement.settle([a, b])
    before = below(a, top)
    check(b.json("snapshot", "list") == [], "another machine got the snapshot")
    b.refused(NO_SUCH_OBJECT, "snapshot", "restore", snapshot)
    file = world.root / "album.json"
    a.run("snapshot", "export", snapshot, file)
    check(file.read_bytes() == a.raw("snapshot", "export", snapshot), "the file and standard output differ")
    a.refused(FAILURE, "snapshot", "export", snapshot, file)
    for _ in range(2):
        check(b.run("snapshot", "import", file) == snapshot, "the imported snapshot is another one")
    b.run("rm", shelf)
    agreement.settle([a, b])
    check(b.json("snapshot", "restore", snapshot)["missing_parent"] == shelf, "a lost parent is not told")
    agreement.settle([a, b])
    after = below(a, top)
    check(after[top][2] is None, "the object is not at the root")
    check({key: value[3] for key, value in after.items()} == {key: value[3] for key, value in before.items()}, "values")
    for peer in (a, b):
        check(peer.json("doctor")["healthy"], f"{peer.name} is not healthy")


def test_a_damaged_file_is_not_imported(world, a, snapshot, subtests):
    whole = a.raw("snapshot", "export", snapshot)
    bad = world.root / "bad.json"
    for broken in (b"", b"[]", whole[:-5], whole.replace(b"peerd-snapshot-1", b"x")):
        with subtests.test(broken[:20]):
            bad.write_bytes(broken)
            a.refused(FAILURE, "snapshot", "import", bad)


def test_a_snapshot_is_restored_and_deleted_without_a_daemon(a, tree, snapshot):
    top, listed = tree[1], a.json("snapshot", "list")
    a.stop()
    check(a.json("snapshot", "list") == listed, "the list without a daemon")
    a.run("set", top, "title=Again")
    check(a.json("snapshot", "restore", snapshot)["changed"] == 1, "a restore without a daemon")
    a.run("snapshot", "delete", snapshot)
    check(a.json("snapshot", "list") == [] and below(a, top)[top][3]["title"] == "Album", "the deletion")
    check(a.json("doctor")["healthy"], "the workspace is not healthy")
