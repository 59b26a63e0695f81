#!/usr/bin/env python3
"""Branches through the command line, on two machines that are apart and meet: what is written on one shows nowhere else
until it is merged, both machines that merge it apart get the same state, acknowledged writes survive a killed daemon,
and verbs never act on another timeline than the one that the user has chosen."""

import contextlib
import json
import sqlite3

from peerd_harness import Agreement, CommandFailed, World, check, main_of_test, say, wait_until

FAILURE, USAGE, NO_SUCH_OBJECT = 1, 2, 3
ODD_NAMES = ["Büro / 2", "a?b&c=d#e%2F", "--json", "🌱 „neu“", "x" * 512, "branch:main", "MAIN"]


def refusal(peer, code, *verb):
    """What a verb says that must fail."""
    try:
        peer.run(*verb)
    except CommandFailed as error:
        check(error.code == code, f"{verb} ended with {error.code}: {error.error}")
        check(error.error.count("\n") == 1, f"{verb} says more than one line: {error.error}")
        return error.error
    raise AssertionError(f"{verb} succeeded")


def shown(peer, branch):
    """The export of a branch, or of main."""
    return peer.raw("export", "--at", f"branch:{branch}")


def sql(peer, question, *values):
    """What another program reads in the database."""
    with contextlib.closing(sqlite3.connect(f"file:{peer.directory}/peerd.sqlite?mode=ro", uri=True)) as database:
        return database.execute(question, values).fetchall()


def names(peer):
    return [branch["name"] for branch in peer.json("branch", "list")]


def agreed(peers, branch):
    """Waits until all show one state of a branch."""

    def look():
        states = {shown(peer, branch) for peer in peers}
        return states.pop() if len(states) == 1 else None

    return wait_until(look, 30, f"one state of {branch}")


def counted(peer):
    """How much was ever written."""
    return len(peer.operations()), json.dumps(peer.status()["frontier"], sort_keys=True)


def edit_on_branch(peer, album, pages):
    """Every kind of edit, on the current branch; returns the new object."""
    peer.run("set", album, "title=Branch", "extra=[1]")
    peer.run("unset", album, "old")
    peer.run("mv", pages[0], "--root")
    peer.run("mv", pages[2], album, "--before", pages[1])
    peer.run("rm", pages[1])
    new = peer.create("page", "--parent", album, "n=9")
    check(peer.run("get", album, "title") == "Branch" and new in peer.run("tree"), "the branch shows its edits")
    check(new in peer.run("ls", album) and pages[1] not in peer.run("ls", album), "ls shows another timeline")
    refusal(peer, NO_SUCH_OBJECT, "get", pages[1])
    refusal(peer, NO_SUCH_OBJECT, "unset", album, "old")
    return new


def offline(a):
    """A branch that is created and edited on one machine, without a daemon."""
    album = a.create("album", "title=Album", "old=1")
    pages = [a.create("page", "--parent", album, f"n={number}") for number in range(3)]
    before, count = a.export(), counted(a)
    check(a.json("status")["branch"] is None, "status names a branch before there is one")
    layout = a.run("branch", "create", "layout")
    check(a.run("branch", "switch", "layout") == "on layout now", "switch")
    check(a.json("status")["branch"] == {"id": layout, "name": "layout"} and layout in a.run("status"), "status")
    check(a.export() == before, "a new branch shows another state than what it leaves")
    new = edit_on_branch(a, album, pages)
    check(shown(a, "main") == before, "an edit on the branch shows on main")
    check((a.directory / "branch").stat().st_mode & 0o777 == 0o600, "others may read the file")
    main_only_verbs_refuse(a, album)
    ways_back(a, album)
    a.run("branch", "switch", "main")
    check(a.export() == before and a.json("status")["branch"] is None, "main has changed")
    difference = {item["id"]: item["change"] for item in a.json("branch", "diff", "layout")}
    check(difference[new] == "created" and difference[pages[1]] == "deleted", f"diff: {difference}")
    check(difference[album] == difference[pages[0]] == "changed", f"diff: {difference}")
    check(f"+ page  {new}" in a.run("branch", "diff", "layout", "main"), "diff for people")
    check(counted(a) != count, "nothing was written")
    return album, pages, new


def main_only_verbs_refuse(peer, album):
    state, count = peer.export(), counted(peer)
    for verb in (["conflicts"], ["forget", album, "old"]):
        text = refusal(peer, USAGE, *verb)
        check("peerd branch switch main" in text and "“layout”" in text, f"{verb} says {text}")
    check((peer.export(), counted(peer)) == (state, count), "a refused verb wrote something")


def timeless(export):
    return [{name: value for name, value in item.items() if name != "updated_at"} for item in json.loads(export)]


def ways_back(peer, album):
    """Undo, redo, restore, import and snapshots act on the branch, and nothing of them shows on main."""
    main, state = shown(peer, "main"), timeless(peer.export())

    def is_as_before():
        return timeless(peer.export()) == state

    snapshot = peer.run("snapshot", "create", album)
    moment = peer.json("history", album)[0]["moment"]
    peer.run("set", album, "title=Tried")
    check("took back set title" in peer.run("undo") and is_as_before(), "an undo on the branch")
    check("did again set title" in peer.run("redo"), "a redo on the branch")
    check(peer.run("get", album, "title") == "Tried", "the redo on the branch has no effect")
    peer.run("restore", album, "title", "--at", moment)
    check(is_as_before(), "a property is not what it was")
    peer.run("set", album, "title=Again", "more=1")
    peer.run("snapshot", "restore", snapshot)
    check(is_as_before(), "the snapshot of the branch is not restored")
    path = peer.directory.parent / "branch-import.json"
    path.write_text(json.dumps([{"type": "page", "key": "new", "parent": album, "properties": {"n": 77}}]))
    peer.run("import", path)
    check(sum(item["properties"].get("n") == 77 for item in peer.objects().values()) == 1, "nothing is imported")
    peer.run("undo")
    check(is_as_before() and shown(peer, "main") == main, "the way back")


def both(a, b, album):
    """Both machines edit one branch, and a branch of it, and agree on it; main stays."""
    before = shown(a, "main")
    wait_until(lambda: "layout" in names(b), 30, "the other machine has the branch")
    agreed([a, b], "layout")
    b.run("branch", "switch", "layout")
    b.run("set", album, "b=1")
    a.run("branch", "switch", "layout")
    a.run("set", album, "a=1")
    # Acknowledged is kept.
    a.kill()
    a.start(peers=[b.address])
    check(a.run("get", album, "a") == "1", "a killed daemon lost a write to the branch")
    wait_until(lambda: a.json("get", album)["properties"].get("b") == 1, 30, "the edit of the other machine")
    state = agreed([a, b], "layout")
    b.run("branch", "create", "inner")
    b.run("branch", "switch", "inner")
    b.run("set", album, "title=Inner")
    inner = next(branch for branch in b.json("branch", "list") if branch["name"] == "inner")
    layout = next(branch for branch in b.json("branch", "list") if branch["name"] == "layout")
    check(inner["parent"] == layout["id"] and inner["current"] and inner["unmerged"] == 1, f"inner: {inner}")
    wait_until(lambda: "inner" in names(a), 30, "the branch of the branch")
    agreed([a, b], "inner")
    for peer in (a, b):
        check(shown(peer, "layout") == state and shown(peer, "main") == before, "an edit went to another timeline")
    rows = sql(b, "SELECT name, parent FROM branches ORDER BY name")
    check(rows == [("inner", layout["id"]), ("layout", None)], f"branches in SQL: {rows}")
    written = sql(b, "SELECT value FROM branch_versions WHERE object_id = ? AND branch_id = ? AND name = 'b'",
                  album, layout["id"])
    check(written == [(1,)], f"what was written on the branch, in SQL: {written}")
    check(sql(b, "SELECT * FROM property_versions WHERE name = 'b'") == [], "an edit of the branch is on main, in SQL")
    check(b.run("branch", "merge", "inner") == "merged inner into layout", "inner is merged into what it leaves")
    check(b.json("branch", "diff", "inner", "layout") == [], "the merged branch differs")
    check(b.json("branch", "merge", "inner")["merged"] is False, "a second merge found something")
    agreed([a, b], "layout")
    for peer in (a, b):
        check(shown(peer, "main") == before, "main has changed by a merge into a branch")
        peer.run("branch", "switch", "main")


def merged_apart(a, b, album, pages, new):
    """Conflicts are listed first; both machines merge while they are apart, and agree."""
    agreement = Agreement()
    agreement.settle([a, b])
    a.stop()
    b.stop()
    a.run("set", album, "title=Main")
    a.run("set", pages[1], "note=kept")
    state, count, branches = a.export(), counted(a), a.json("branch", "list")
    trial = a.json("branch", "merge", "layout", "--dry-run")
    kinds = {(item["object"], item["kind"], item.get("property")) for item in trial["conflicts"]}
    check(kinds == {(album, "property", "title"), (pages[1], "deleted-on-branch", None)}, f"conflicts: {kinds}")
    text = a.run("branch", "merge", "layout", "--dry-run")
    check('title: "Inner" on layout, "Main" on main; the later counts' in text, f"dry run: {text}")
    check((a.export(), counted(a), a.json("branch", "list")) == (state, count, branches), "a dry run wrote something")
    lines = a.run("branch", "merge", "layout").splitlines()
    check(lines[-1] == "merged layout into main" and lines[:-1] == text.splitlines()[:-1], f"merge: {lines}")
    check(a.run("get", album, "title") == "Main" and a.run("get", album, "b") == "1", "the later write is in force")
    check(pages[1] in a.run("tree") and new in a.run("tree"), "an edit is lost")
    b.run("branch", "merge", "layout")
    check(b.run("get", album, "title") == "Inner", "the branch is merged on the other machine")
    a.start()
    b.start(peers=[a.address])
    agreement.settle([a, b])
    check(b.run("get", album, "title") == "Main" and b.run("get", pages[1], "note") == "kept", "the merge of both")
    check(sql(b, "SELECT * FROM branch_versions") == [], "something is not merged, in SQL")
    check(a.json("branch", "merge", "layout")["merged"] is False, "there was more to merge")
    # A daemon that starts again shows the same.
    state = a.export()
    a.restart(peers=[b.address])
    check(a.export() == state and names(a) == ["inner", "layout"], "a restart changed something")
    a.run("branch", "merge", "main", "--into", "layout")
    check(shown(a, "layout") == a.export(), "the branch is not up to date")


def deleted(a, b):
    """The current branch of another machine is deleted, which that one says clearly."""
    b.run("branch", "switch", "layout")
    state = shown(a, "main")
    a.run("branch", "delete", "layout")
    log = a.run("log")
    check("branch-delete" in log and "unknown to this version" not in log, f"the log says {log[-400:]}")
    wait_until(lambda: "layout" not in names(b), 30, "the deletion has come")
    for verb in (["ls"], ["export"], ["create", "note"], ["undo"], ["conflicts"], ["branch", "create", "next"]):
        text = refusal(b, USAGE if verb == ["conflicts"] else NO_SUCH_OBJECT, *verb)
        check("peerd branch switch main" in text, f"{verb} says {text}")
    check("was deleted" in b.run("status") and b.json("status")["branch"]["name"] is None, "status of a deleted branch")
    b.run("branch", "switch", "main")
    check(b.export() == state, "what was merged is gone with the branch")
    a.run("branch", "switch", "inner")
    a.run("branch", "delete", "inner")
    check(a.export() == state and a.json("status")["branch"] is None, "the deleted branch is still the current one")
    refusal(a, NO_SUCH_OBJECT, "branch", "switch", "layout")
    refusal(a, USAGE, "branch", "delete", "main")


def from_the_past(a, album):
    moment = a.json("history", album)[-1]["moment"]
    past = a.raw("export", "--at", moment)
    a.run("branch", "create", "old", "--at", moment)
    check(shown(a, "old") == past != a.export(), "a branch from the past begins with another state")
    a.run("branch", "switch", "old")
    a.run("set", album, "title=Old")
    check(a.run("get", album, "title") == "Old" and a.run("get", album, "title", "--at", moment) == "Album", "its edit")
    a.run("branch", "switch", "main")
    check(a.run("get", album, "title") == "Main", "main has changed")


SCHEMA_7 = """
    DROP VIEW property_at; DROP VIEW branches; DROP VIEW branch_versions; DROP VIEW taken;
    DROP TABLE taken_in; DROP TABLE unplaced;
    CREATE VIEW property_at AS SELECT 1;
    PRAGMA user_version = 7;
"""


def migrated(a):
    """A database of before schema 8, which did not know when branches were merged: they count now, as they did."""
    question = "SELECT object_id, name, value FROM property_at WHERE at = unixepoch('now', '+1 day') ORDER BY 1, 2"
    now = sql(a, question)
    a.stop()
    with contextlib.closing(sqlite3.connect(a.directory / "peerd.sqlite")) as database:
        database.executescript(SCHEMA_7)
    a.start()
    check(sql(a, "PRAGMA user_version") == [(8,)], "the database is not migrated")
    check(sql(a, question) == now != [], f"after a migration property_at shows {sql(a, question)}, before {now}")
    report = a.json("doctor")
    check(report["healthy"], f"after a migration: {report}")


def odd_names(a, b):
    for name in ODD_NAMES:
        id = a.run("branch", "create", "--", name)
        a.run("branch", "switch", "--", name)
        check(a.json("status")["branch"] == {"id": id, "name": name}, f"switched to {name!r}")
        a.run("branch", "switch", "main")
        check(a.json("branch", "diff", "--", name) == [], f"{name!r} differs at once")
        check((id, name, None) in sql(a, "SELECT id, name, parent FROM branches"), f"{name!r} in SQL")
        a.run("branch", "delete", "--", name)
        check(id not in {row[0] for row in sql(a, "SELECT id FROM branches")}, f"{name!r} is deleted, in SQL")
    for name in ("main", "", " a", "a\nb", "x" * 513, "0" * 32):
        refusal(a, USAGE, "branch", "create", name)
    refusal(a, FAILURE, "branch", "create", "old")
    a.stop()
    b.stop()
    ids = {peer.run("branch", "create", "twin") for peer in (a, b)}
    a.start()
    b.start(peers=[a.address])
    wait_until(lambda: names(a).count("twin") == names(b).count("twin") == 2, 30, "both have both")
    for peer in (a, b):
        text = refusal(peer, NO_SUCH_OBJECT, "branch", "switch", "twin")
        check(all(id in text for id in ids), f"the ids are not told: {text}")
        for id in ids:
            peer.run("branch", "switch", id)
            check(peer.json("status")["branch"]["id"] == id, "switched by its id")
        peer.run("branch", "switch", "main")
    (a.directory / "branch").write_text("nonsense\n")
    check("branch switch" in refusal(a, 7, "ls"), "a damaged file")
    a.run("branch", "switch", "main")
    a.run("ls")


def run():
    with World("branch") as world:
        a, b = world.paired("a", "b")
        album, pages, new = offline(a)
        say("offline: edits on a branch show nowhere else")
        a.start()
        b.start(peers=[a.address])
        both(a, b, album)
        say("online: both machines write to a branch, and to a branch of it")
        merged_apart(a, b, album, pages, new)
        say("merged on both machines while they were apart")
        deleted(a, b)
        from_the_past(a, album)
        odd_names(a, b)
        say("deleted, begun in the past, oddly named")
        migrated(a)


if __name__ == "__main__":
    main_of_test(run)
