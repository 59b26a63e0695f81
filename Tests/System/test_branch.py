"""Branches through the command line, on two machines that are apart and meet: what is written on one shows nowhere else
until it is merged, both machines that merge it apart get the same state, acknowledged writes survive a killed daemon,
and verbs never act on another timeline than the one that the user has chosen."""

import contextlib
import json
import os
import sqlite3
import subprocess

import pytest

from naive_branches import Timelines
from naive_state import differences
from peerd_harness import Agreement, DaemonSocket, check, program, wait_until

FAILURE, USAGE, NO_SUCH_OBJECT, DAMAGED = 1, 2, 3, 7
ODD_NAMES = ["Büro / 2", "a?b&c=d#e%2F", "--json", "🌱 „neu“", "branch:main", "MAIN", pytest.param("x" * 512, id="long")]
BAD_NAMES = ["main", "", " a", "a\nb", "0" * 32, pytest.param("x" * 513, id="long")]


def refusal(peer, code, *verb):
    """What a verb says that must fail: one line."""
    text = peer.refused(code, *verb)
    check(text.count("\n") == 1, f"{verb} says more than one line: {text}")
    return text


def shown(peer, branch):
    """The export of a branch, or of main."""
    return peer.raw("export", "--at", f"branch:{branch}")


def timeless(export):
    return [{name: value for name, value in item.items() if name != "updated_at"} for item in json.loads(export)]


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


def album_of(peer):
    """An album with three pages."""
    album = peer.create("album", "title=Album", "old=1")
    return album, [peer.create("page", "--parent", album, f"n={number}") for number in range(3)]


def begin(peer, name):
    """A new branch, which the machine is on then; returns its id."""
    id = peer.run("branch", "create", name)
    peer.run("branch", "switch", name)
    return id


def edit(peer, album, pages):
    """Every kind of edit, on the current branch; returns the new object."""
    peer.run("set", album, "title=Branch", "extra=[1]")
    peer.run("unset", album, "old")
    peer.run("mv", pages[0], "--root")
    peer.run("mv", pages[2], album, "--before", pages[1])
    peer.run("rm", pages[1])
    return peer.create("page", "--parent", album, "n=9")


def meet(a, b):
    a.start()
    b.start(peers=[a.address])


@pytest.fixture
def a(world):
    """A machine whose daemon does not run."""
    return world.founder("a")


@pytest.fixture
def album(a):
    """Its album, with pages, and the current branch “layout”, on which nothing is written yet."""
    album, _ = album_of(a)
    begin(a, "layout")
    return album


@pytest.fixture
def pair(world):
    """Two machines that can meet, and an album on one of them."""
    a, b = world.paired("a", "b")
    return a, b, *album_of(a)


@pytest.fixture
def both(pair):
    """Two machines that have met, and that both have a branch “layout” with edits; both are on main."""
    a, b, album, pages = pair
    begin(a, "layout")
    new = edit(a, album, pages)
    a.run("branch", "switch", "main")
    meet(a, b)
    wait_until(lambda: "layout" in names(b), 30, "the other machine has the branch")
    agreed([a, b], "layout")
    return a, b, album, pages, new


def test_edits_on_a_branch_show_there_and_not_on_main(a):
    album, pages = album_of(a)
    before, count = a.export(), counted(a)
    check(a.json("status")["branch"] is None, "status names a branch before there is one")
    layout = a.run("branch", "create", "layout")
    check(a.run("branch", "switch", "layout") == "on layout now", "switch")
    check(a.json("status")["branch"] == {"id": layout, "name": "layout"} and layout in a.run("status"), "status")
    check((a.directory / "branch").stat().st_mode & 0o777 == 0o600, "others may read the file")
    check(a.export() == before, "a new branch shows another state than what it leaves")
    new = edit(a, album, pages)
    check(a.run("get", album, "title") == "Branch" and new in a.run("tree"), "the branch shows its edits")
    check(new in a.run("ls", album) and pages[1] not in a.run("ls", album), "ls shows another timeline")
    refusal(a, NO_SUCH_OBJECT, "get", pages[1])
    refusal(a, NO_SUCH_OBJECT, "unset", album, "old", "--branch", "layout")
    check(shown(a, "main") == before, "an edit on the branch shows on main")
    a.run("branch", "switch", "main")
    check(a.export() == before and a.json("status")["branch"] is None, "main has changed")
    difference = {item["id"]: item["change"] for item in a.json("branch", "diff", "layout")}
    check(difference[new] == "created" and difference[pages[1]] == "deleted", f"diff: {difference}")
    check(difference[album] == difference[pages[0]] == "changed", f"diff: {difference}")
    check(f"+ page  {new}" in a.run("branch", "diff", "layout", "main"), "diff for people")
    check(counted(a) != count, "nothing was written")


def test_verbs_that_act_on_main_alone_are_refused_on_a_branch(a, album):
    state, count = a.export(), counted(a)
    for verb in (["conflicts"], ["erase", album, "old"]):
        text = refusal(a, USAGE, *verb)
        check("peerd branch switch main" in text and "“layout”" in text, f"{verb} says {text}")
    check((a.export(), counted(a)) == (state, count), "a refused verb wrote something")


SWITCHED = "peerd branch switch"


def environment(peer, name):
    """The same machine in another session."""
    return type(peer)(peer.directory, peer.name, environment={"PEERD_BRANCH": name} if name else {})


def said(peer, *verb):
    """What a verb says on standard error; it must succeed."""
    done = peer.result(*verb)
    check(done.returncode == 0, f"{verb}: {done.returncode} {done.stderr}")
    return done.stderr.decode()


@pytest.mark.parametrize("how", ["option", "environment"])
def test_a_script_says_which_branch_it_means(a, how, world):
    """Whatever another shell has switched to."""
    page, _ = album_of(a)
    branch = a.run("branch", "create", "layout")
    items = world.root / "items.json"
    items.write_text('[{"type": "page", "key": "new"}]')
    verbs = {
        "create": ["create", "page"], "set": ["set", page, "title=x"], "unset": ["unset", page, "old"],
        "mv": ["mv", page, "--root"], "import": ["import", items], "undo": ["undo"], "redo": ["redo"],
        "rm": ["rm", page],
    }
    for name, other, word in (("layout", "main", branch), ("main", "layout", "main")):
        a.run("branch", "switch", other)
        script = environment(a, name if how == "environment" else None)
        words = ["--branch", word] if how == "option" else []
        for verb in verbs.values():
            before = {each: shown(a, each) for each in (name, other)}
            text = said(script, *verb, *words)
            check(SWITCHED not in text, f"{verb} says {text}")
            check(shown(a, other) == before[other], f"{verb} went to {other}")
            check(shown(a, name) != before[name], f"{verb} did not go to {name}")
        check(script.raw("export", *words) == shown(a, name), "export shows another branch")
        check(script.run("tree", *words) == a.run("tree", "--at", f"branch:{name}"), "tree shows another branch")
        script.run("conflicts", "--branch", "main")
        script.run("diff", "branch:main", *words)
    check(json.loads(environment(a, "layout").raw("status", "--json"))["branch"]["id"] == branch, "status")


def test_an_option_comes_before_the_environment_and_that_before_the_switch(a, album):
    script = environment(a, "main")
    before = shown(a, "main")
    script.run("set", album, "title=x", "--branch=layout")
    check(shown(a, "main") == before, "the environment came before the option")
    leading = [program(), "--branch", "main", "--dir", str(a.directory), "set", album, "title=y"]
    subprocess.run(leading, check=True)
    check(shown(a, "main") != before, "an option before the verb")
    check("PEERD_BRANCH" in said(script, "branch", "switch", "layout"), "a switch that has no effect here")


def test_a_write_that_goes_to_a_branch_by_the_switch_alone_says_so(a, album):
    for verb in (["create", "page"], ["set", album, "title=z"], ["undo"], ["rm", album]):
        text = said(a, *verb)
        check("“layout”" in text and SWITCHED in text and text.count("\n") == 1, f"{verb} says {text}")
    for verb in (["export"], ["tree"], ["branch", "list"]):
        check(not said(a, *verb), f"{verb} says something")
    a.run("branch", "switch", "main")
    check(not said(a, "create", "page"), "a write to main says something")


@pytest.mark.parametrize("words", [["--branch", "nowhere"], ["--branch", ""]], ids=["unknown", "empty"])
def test_a_branch_that_there_is_not_is_refused_before_anything_is_written(a, album, words):
    count = counted(a)
    refusal(a, USAGE if words[1] == "" else NO_SUCH_OBJECT, "create", "page", *words)
    refusal(a, USAGE, "ls", "--branch", "main", "--at", "branch:layout")
    check(counted(a) == count, "something was written")


@pytest.fixture
def way_back(a, album):
    """Gives the machine; in the end the branch is as it was after a first edit, and main as before all."""
    main = shown(a, "main")
    a.run("set", album, "title=Branch")
    state = timeless(a.export())
    yield a
    check(timeless(a.export()) == state, "the branch is not as it was")
    check(shown(a, "main") == main, "main has changed")


def test_undo_and_redo_act_on_the_branch(way_back, album):
    a, state = way_back, timeless(way_back.export())
    a.run("set", album, "title=Tried")
    check("took back set title" in a.run("undo") and timeless(a.export()) == state, "an undo on the branch")
    check("did again set title" in a.run("redo"), "a redo on the branch")
    check(a.run("get", album, "title") == "Tried", "the redo on the branch has no effect")
    a.run("undo")


def test_a_restored_property_is_restored_on_the_branch(way_back, album):
    moment = way_back.json("history", album)[0]["moment"]
    way_back.run("set", album, "title=Tried")
    way_back.run("restore", album, "title", "--at", moment)


def test_a_snapshot_of_the_branch_is_restored_there(way_back, album):
    snapshot = way_back.run("snapshot", "create", album)
    way_back.run("set", album, "title=Again", "more=1")
    way_back.run("snapshot", "restore", snapshot)


def test_an_import_goes_to_the_branch_and_can_be_undone(way_back, album, world):
    path = world.root / "import.json"
    path.write_text(json.dumps([{"type": "page", "key": "new", "parent": album, "properties": {"n": 77}}]))
    way_back.run("import", path)
    count = sum(item["properties"].get("n") == 77 for item in way_back.objects().values())
    check(count == 1, "nothing is imported")
    way_back.run("undo")


def test_two_machines_edit_one_branch_and_a_killed_daemon_keeps_its_writes(both):
    a, b, album, *_ = both
    before = shown(a, "main")
    for peer, word in ((b, "b=1"), (a, "a=1")):
        peer.run("branch", "switch", "layout")
        peer.run("set", album, word)
    # Acknowledged is kept.
    a.kill()
    a.start(peers=[b.address])
    check(a.run("get", album, "a") == "1", "a killed daemon lost a write to the branch")
    wait_until(lambda: a.json("get", album)["properties"].get("b") == 1, 30, "the edit of the other machine")
    agreed([a, b], "layout")
    for peer in (a, b):
        check(shown(peer, "main") == before, "an edit went to main")
    (layout,) = (branch["id"] for branch in b.json("branch", "list"))
    written = sql(b, "SELECT value FROM branch_versions WHERE object_id = ? AND branch_id = ? AND name = 'b'",
                  album, layout)
    check(written == [(1,)], f"what was written on the branch, in SQL: {written}")
    check(sql(b, "SELECT * FROM property_versions WHERE name = 'b'") == [], "an edit of the branch is on main, in SQL")


def test_a_branch_of_a_branch_is_merged_into_what_it_leaves(both):
    a, b, album, *_ = both
    before, state = shown(a, "main"), shown(a, "layout")
    b.run("branch", "switch", "layout")
    begin(b, "inner")
    b.run("set", album, "title=Inner")
    inner, layout = (next(branch for branch in b.json("branch", "list") if branch["name"] == name)
                     for name in ("inner", "layout"))
    check(inner["parent"] == layout["id"] and inner["current"] and inner["unmerged"] == 1, f"inner: {inner}")
    wait_until(lambda: "inner" in names(a), 30, "the branch of the branch")
    agreed([a, b], "inner")
    for peer in (a, b):
        check(shown(peer, "layout") == state and shown(peer, "main") == before, "an edit went to another timeline")
    rows = sql(b, "SELECT name, parent FROM branches ORDER BY name")
    check(rows == [("inner", layout["id"]), ("layout", None)], f"branches in SQL: {rows}")
    check(b.run("branch", "merge", "inner") == "merged inner into layout", "inner is merged into what it leaves")
    check(b.json("branch", "diff", "inner", "layout") == [], "the merged branch differs")
    check(b.json("branch", "merge", "inner")["merged"] is False, "a second merge found something")
    agreed([a, b], "layout")
    for peer in (a, b):
        check(shown(peer, "main") == before, "main has changed by a merge into a branch")


def test_two_machines_merge_a_branch_while_they_are_apart_and_agree(both):
    a, b, album, pages, new = both
    b.run("branch", "switch", "layout")
    b.run("set", album, "b=1")
    begin(b, "inner")
    b.run("set", album, "title=Inner")
    b.run("branch", "merge", "inner")
    b.run("branch", "switch", "main")
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
    meet(a, b)
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


def test_a_machine_whose_branch_another_has_deleted_says_so(both):
    a, b, *_ = both
    b.run("branch", "switch", "layout")
    a.run("branch", "merge", "layout")
    Agreement().settle([a, b])
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
    refusal(a, NO_SUCH_OBJECT, "branch", "switch", "layout")


def test_who_deletes_the_current_branch_is_on_main_then(a, album):
    a.start()
    state = shown(a, "main")
    a.run("set", album, "title=Branch")
    text = refusal(a, FAILURE, "branch", "delete", "layout")
    check("1 transaction that nothing else has" in text and album in text and "--discard" in text, f"it says {text}")
    check(a.json("status")["branch"]["name"] == "layout", "a branch is gone that was not deleted")
    a.run("branch", "delete", "layout", "--discard")
    check(a.export() == state and a.json("status")["branch"] is None, "the deleted branch is still the current one")
    refusal(a, NO_SUCH_OBJECT, "branch", "switch", "layout")
    refusal(a, USAGE, "branch", "delete", "main")


def test_what_comes_while_a_deletion_asks_is_asked_for_again(a, album):
    a.start()
    a.run("set", album, "title=Branch")
    a.run("branch", "switch", "main")

    def asked(answers):
        """Deletes the branch on a terminal; each answer is given once the question is there."""
        here, there = os.openpty()
        command = [program(), "branch", "delete", "--dir", str(a.directory), "layout"]
        process = subprocess.Popen(command, stdin=there, stdout=there, stderr=there, env=a.environment)
        os.close(there)
        text = ""
        for number, answer in enumerate(answers):
            while text.count("[y/N]") <= number:
                text += os.read(here, 1 << 12).decode()
            answer()
            os.write(here, b"y\n" if answer is not no else b"n\n")
        with contextlib.suppress(OSError):  # nobody holds the other end any more
            while piece := os.read(here, 1 << 12):
                text += piece.decode()
        os.close(here)
        return process.wait(60), text

    def no():
        pass

    def write():
        with DaemonSocket(a) as api:
            api.ask("PUT", f"/api/objects/{album}/properties/later?branch=layout", 1)

    code, text = asked([no])
    check(code == FAILURE and "Nothing was deleted." in text and names(a) == ["layout"], f"no: {text}")
    code, text = asked([write, no])
    check(code == FAILURE and "2 transactions that nothing else has" in text, f"what came meanwhile: {text}")
    check(names(a) == ["layout"], "it was deleted with what nobody had agreed to")
    code, text = asked([lambda: None])
    check(code == 0 and names(a) == [], f"yes: {text}")


def test_a_branch_with_edits_that_its_deletion_had_not_seen_stays(both):
    a, b, album, pages, new = both
    agreement = Agreement()
    agreement.settle([a, b])
    a.stop()
    b.stop()
    b.run("branch", "switch", "layout")
    b.run("set", album, "title=Unseen")
    b.run("branch", "switch", "main")
    a.run("branch", "delete", "layout", "--discard")
    check(names(a) == [] and a.json("status")["branches_kept"] == [], "the branch is deleted there")
    meet(a, b)
    wait_until(lambda: "layout" in names(a), 30, "the branch is back")
    agreement.settle([a, b])
    for peer in (a, b):
        check(peer.run("get", album, "title", "--at", "branch:layout") == "Unseen", "the unseen edit is there")
        [kept] = peer.json("status")["branches_kept"]
        check((kept["name"], kept["unseen"], kept["deleted_by"]["name"]) == ("layout", 1, "a"), f"status: {kept}")
        check(kept["id"] in peer.run("status") and "deleted by a" in peer.run("branch", "list"), "it is named")
        check(new in peer.run("tree", "--at", "branch:layout"), "what was seen of it is there, too")
    b.run("branch", "delete", "layout", "--discard")
    wait_until(lambda: names(a) == names(b) == [], 30, "whoever has seen all of it deletes it")
    check(a.json("status")["branches_kept"] == [], "status of a deleted branch")


def test_a_branch_from_the_past_begins_with_the_state_of_then(a):
    a.start()
    album, _ = album_of(a)
    a.run("set", album, "title=Main")
    moment = a.json("history", album)[-1]["moment"]
    past = a.raw("export", "--at", moment)
    a.run("branch", "create", "old", "--at", moment)
    check(shown(a, "old") == past != a.export(), "a branch from the past begins with another state")
    a.run("branch", "switch", "old")
    a.run("set", album, "title=Old")
    check(a.run("get", album, "title") == "Old" and a.run("get", album, "title", "--at", moment) == "Album", "its edit")
    a.run("branch", "switch", "main")
    check(a.run("get", album, "title") == "Main", "main has changed")


@pytest.mark.parametrize("name", ODD_NAMES)
def test_a_branch_may_have_an_odd_name(a, name):
    a.start()
    id = a.run("branch", "create", "--", name)
    a.run("branch", "switch", "--", name)
    check(a.json("status")["branch"] == {"id": id, "name": name}, f"switched to {name!r}")
    a.run("branch", "switch", "main")
    check(a.json("branch", "diff", "--", name) == [], f"{name!r} differs at once")
    check((id, name, None) in sql(a, "SELECT id, name, parent FROM branches"), f"{name!r} in SQL")
    a.run("branch", "delete", "--", name)
    check(id not in {row[0] for row in sql(a, "SELECT id FROM branches")}, f"{name!r} is deleted, in SQL")


@pytest.mark.parametrize("name", BAD_NAMES)
def test_a_name_that_is_none_is_refused(a, name):
    a.start()
    refusal(a, USAGE, "branch", "create", name)


def test_a_name_that_is_taken_is_refused(a, album):
    a.start()
    refusal(a, FAILURE, "branch", "create", "layout")


def test_of_two_branches_with_one_name_the_ids_are_told(pair):
    a, b, *_ = pair
    ids = {peer.run("branch", "create", "twin") for peer in (a, b)}
    meet(a, b)
    wait_until(lambda: names(a).count("twin") == names(b).count("twin") == 2, 30, "both have both")
    for peer in (a, b):
        text = refusal(peer, NO_SUCH_OBJECT, "branch", "switch", "twin")
        check(all(id in text for id in ids), f"the ids are not told: {text}")
        for id in ids:
            peer.run("branch", "switch", id)
            check(peer.json("status")["branch"]["id"] == id, "switched by its id")


def test_a_damaged_choice_of_the_branch_is_told(a):
    a.start()
    (a.directory / "branch").write_text("nonsense\n")
    check("branch switch" in refusal(a, DAMAGED, "ls"), "a damaged file")
    a.run("branch", "switch", "main")
    a.run("ls")


def check_by_the_log(peer):
    """Each branch shows what other code than the product's makes of the log alone."""
    timelines = Timelines(peer.operations())
    check_same(timelines.state(None), peer, "main")
    for branch in timelines.openings:
        check_same(timelines.state(branch), peer, branch)
    return len(timelines.openings)


def check_same(computed, peer, branch):
    exported = {item["id"]: item for item in json.loads(shown(peer, branch))}
    found = differences(computed, exported)
    check(not found, f"{peer.name} shows another state of {branch} than its log: {found[:5]}")


def test_each_branch_follows_from_the_log_alone(pair):
    """Branches of now, of a moment and of branches; written on by both machines, merged into each other and main."""
    a, b, album, pages = pair
    early = a.json("history", pages[2])[0]["moment"]
    a.run("set", album, "title=Later")
    later = a.json("history", album)[0]["moment"]
    a.run("rm", pages[0])
    a.run("branch", "create", "untouched", "--at", early)
    a.run("branch", "create", "early", "--at", early)
    a.run("branch", "create", "later", "--at", later)
    begin(a, "now")
    a.run("set", album, "title=Now")
    a.run("branch", "create", "child", "--from", "now")
    a.run("branch", "switch", "early")
    edit(a, album, pages)
    a.run("branch", "switch", "main")
    a.run("set", album, "title=Main")
    meet(a, b)
    wait_until(lambda: "child" in names(b), 30, "the other machine has the branches")
    Agreement().settle([a, b])
    b.run("branch", "switch", "child")
    b.run("set", album, "title=Child", "of=b")
    b.run("branch", "switch", "main")
    a.run("branch", "switch", "later")
    a.run("set", album, "of=a")
    a.run("branch", "merge", "early", "--into", "later")
    a.run("branch", "switch", "main")
    Agreement().settle([a, b])
    b.run("branch", "merge", "now")
    a.run("branch", "merge", "later")
    b.run("branch", "create", "last", "--from", "child")
    Agreement().settle([a, b])
    for peer in (a, b):
        count = check_by_the_log(peer)
        check(count == 6, f"{peer.name} has {count} branches in its log")
