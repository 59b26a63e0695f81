"""Erasure on real machines: no file of any of them holds a byte of what was erased, the state stays what it is, and
every signature holds. An edit that a machine made offline stays, a newcomer gets no erased value, and kill -9 at any
moment leaves nothing behind."""

import contextlib
import json
import sqlite3
import time
from types import SimpleNamespace

import pytest

from peerd_harness import Agreement, DaemonSocket, check, wait_until

KILLS = 6
SECRETS = ["first-secret", "large-secret", "small-secret"]
NOBODY = "00000000-0000-4000-8000-000000000000"


def holds(peer, secret):
    """The files of a machine that hold a text."""
    found = []
    for path in sorted(peer.directory.rglob("*")):
        if path.is_file() and not path.is_socket() and secret.encode() in path.read_bytes():
            found.append(path.name)
    return found


def gone(secret, *peers, seconds=90):
    """Waits until no file of any machine holds a text."""
    wait_until(lambda: not any(holds(peer, secret) for peer in peers), seconds, f"“{secret}” is gone everywhere")


def is_told_of(peer):
    """Whether doctor says that the files may hold bytes of what was erased."""
    return any(finding["subject"] == "erasures" for finding in peer.json("doctor")["findings"])


def in_step(*peers):
    Agreement().settle(peers)


def check_healthy(*peers):
    for peer in peers:
        report = peer.json("doctor")
        check(report["healthy"], f"{peer.name}: {report}")


def properties_of_all(peer):
    return {id: item["properties"] for id, item in peer.objects().items()}


@pytest.fixture
def machines(world):
    """Three machines that hold secrets, of which the third has edited since and is away."""
    first, second, third = world.paired("first", "second", "third")
    first.start()
    second.start(peers=[first.address])
    third.start(peers=[first.address])
    note = first.create("note", "title=begun", "text=first-secret")
    other = first.create("note", "title=other", "text=kept-secret")
    first.run("set", note, "text=" + "large-secret" * 4000, "title=small-secret")
    first.run("set", note, "text=public", "title=plain")
    in_step(first, second, third)
    for peer in (first, second, third):
        for secret in SECRETS:
            check(holds(peer, secret), f"{peer.name} does not hold “{secret}” before: the test shows nothing")
    third.stop()
    third.run("set", note, "title=from afar")
    return SimpleNamespace(first=first, second=second, third=third, note=note, other=other)


def test_what_is_erased_is_gone_from_every_file_and_nothing_else(machines):
    first, second, note = machines.first, machines.second, machines.note
    before = properties_of_all(first)
    report = first.json("erase", note, "text")
    check(report["erased_writes"] == 2 and not report["pending"] and report["file_failure"] is None, f"{report}")
    # At once on this machine, without another word.
    for secret in ("first-secret", "large-secret"):
        check(not holds(first, secret), f"{holds(first, secret)} of the first machine hold “{secret}”")
    first.json("erase", note, "title")
    check(not holds(first, "small-secret"), "the first machine holds a small value")
    again = first.json("erase", note, "title")
    check(again["erased_writes"] == 0, f"erased again: {again}")
    in_step(first, second)
    for secret in SECRETS:
        gone(secret, first, second)
    check(holds(first, "kept-secret") and holds(second, "kept-secret"), "another object lost its past")
    check(properties_of_all(first) == before, "an erasure changed the state")
    check_healthy(first, second)
    lines = first.operations("--object", note)
    check(any(line["stored"]["kind"] == "erase" for line in lines), f"the log does not say so: {lines}")
    done = first.result("history", note, "text")
    check(b"earlier values erased" in done.stdout, f"the history does not say so: {done}")


def test_what_never_was_cannot_be_erased(world):
    peer = world.founder("first")
    note = peer.create("note", "title=begun")
    check(peer.result("erase", note, "never").returncode == 3, "a property that never was")
    check(peer.result("erase", NOBODY, "text").returncode == 3, "no object")


def test_a_newcomer_gets_no_erased_value_and_one_who_was_away_loses_it(world, machines):
    first, second, third, note = machines.first, machines.second, machines.third, machines.note
    for name in ("text", "title"):
        first.run("erase", note, name)
    fourth = world.peer("fourth")
    fourth.run("join", first.run("invite").split()[-1], "--name", "fourth")
    fourth.start(peers=[first.address])
    in_step(first, second, fourth)
    for secret in SECRETS:
        check(not holds(fourth, secret), f"a newcomer got “{secret}”")
    check_healthy(fourth)
    # The third comes back with its edit, which is a conflict or counts, and loses what was erased.
    third.start(peers=[first.address, second.address])
    in_step(first, second, third, fourth)
    for secret in SECRETS:
        gone(secret, third)
    for peer in (first, second, third, fourth):
        log = json.dumps(peer.operations("--object", note))
        check("from afar" in log, f"{peer.name} lost an edit of the one who was away")
        check_healthy(peer)


def test_an_open_branch_bars_what_it_shows(machines):
    first, second, third, other = machines.first, machines.second, machines.third, machines.other
    third.start(peers=[first.address])
    first.run("set", other, "text=branch-secret")
    first.run("branch", "create", "plan")
    first.run("set", other, "text=after")
    barred = first.result("erase", other, "text")
    check(barred.returncode == 1 and b"plan" in barred.stderr, f"a branch that shows it: {barred}")
    first.run("branch", "merge", "main", "--into", "plan")
    report = first.json("erase", other, "text")
    check(report["pending"] and report["erased_writes"] > 0, f"a branch that shows the last value: {report}")
    check(not holds(first, "branch-secret"), "the branch did not show it")
    first.run("branch", "switch", "plan")
    check(first.json("get", other, "text") == "after", "a branch that cannot be read any more")
    check(first.result("erase", other, "text").returncode == 2, "an erasure on a branch")
    first.run("branch", "switch", "main")
    first.run("branch", "delete", "plan")
    in_step(first, second, third)
    for secret in ("branch-secret", "kept-secret"):
        gone(secret, first, second, third)
    check_healthy(first, second, third)


def test_what_stands_on_a_deleted_branch_is_erased_unless_another_branch_shows_it(machines):
    first, second, third, other = machines.first, machines.second, machines.third, machines.other
    third.start(peers=[first.address])
    first.run("branch", "create", "plan")
    first.run("branch", "switch", "plan")
    first.run("set", other, "text=plan-secret", "only=draft-secret")
    first.run("branch", "create", "later")
    first.run("branch", "switch", "main")
    in_step(first, second, third)
    first.run("branch", "delete", "plan", "--discard")
    in_step(first, second, third)
    for name in ("text", "only"):
        barred = second.result("erase", other, name)
        check(barred.returncode == 1 and b"later" in barred.stderr, f"a branch that shows {name}: {barred}")
    first.run("branch", "delete", "later", "--discard")
    in_step(first, second, third)
    check(holds(third, "draft-secret"), "the log keeps what a deleted branch had: the test shows nothing")
    check(second.json("erase", other, "only")["erased_writes"] == 1, "a property that only a deleted branch had")
    check(second.json("erase", other, "text")["erased_writes"] == 1, "a value of a deleted branch")
    in_step(first, second, third)
    gone("plan-secret", first, second, third)
    gone("draft-secret", first, second, third)
    check(second.json("erase", other, "only")["erased_writes"] == 0, "erased again")
    check(first.json("get", other, "text") == "kept-secret", "what is in force stays")
    check_healthy(first, second, third)
    third.restart(peers=[first.address])
    in_step(first, second, third)
    check_healthy(third)


def test_what_only_a_deleted_branch_had_is_erased_and_the_object_does_not_come(machines):
    first, second, third = machines.first, machines.second, machines.third
    third.start(peers=[first.address])
    first.run("branch", "create", "plan")
    note = first.run("create", "note", "text=plan-secret", "--branch", "plan")
    in_step(first, second, third)
    first.run("branch", "delete", "plan", "--discard")
    in_step(first, second, third)
    before = properties_of_all(second)
    check(second.json("erase", note, "text")["erased_writes"] == 1, "a value of an object of a deleted branch")
    in_step(first, second, third)
    gone("plan-secret", first, second, third)
    check(properties_of_all(third) == before, "an erasure changed the state")
    check_healthy(first, second, third)


def test_what_was_erased_stays_so_where_late_edits_open_the_branch_again(machines):
    first, second, third, other = machines.first, machines.second, machines.third, machines.other
    third.start(peers=[first.address])
    first.run("branch", "create", "plan")
    for text in ("plan-older", "plan-secret"):
        first.run("set", other, f"text={text}", "--branch", "plan")
    in_step(first, second, third)
    third.stop()
    third.run("set", other, "title=late", "--branch", "plan")
    first.run("branch", "delete", "plan", "--discard")
    check(first.json("erase", other, "text")["erased_writes"] == 2, "the values of a deleted branch")
    in_step(first, second)
    gone("plan-secret", first, second)
    third.start(peers=[first.address])
    in_step(first, second, third)
    # Whose branch shows a value keeps it; nobody else asks for it, or shows an older one in its place.
    check(third.run("get", other, "text", "--branch", "plan") == "plan-secret", "the third lost what its branch shows")
    gone("plan-older", first, second, third)
    for peer in (first, second):
        refused = peer.result("get", other, "text", "--branch", "plan")
        check(refused.returncode == 3 and b"or erased" in refused.stderr, f"{peer.name}: {refused}")
        check(peer.run("get", other, "title", "--branch", "plan") == "late", f"{peer.name} lost a late edit")
        check(not holds(peer, "plan-secret"), f"{peer.name} got it again")
        # The rest of the branch can be read all the same.
        (line,) = (item for item in peer.json("export", "--branch", "plan") if item["id"] == other)
        check(line["properties"] == {"title": "late"}, f"{peer.name} exports {line}")
        listed = peer.json("get", other, "--branch", "plan")
        check(listed["missing"] == ["text"], f"{peer.name} does not name what is missing: {listed}")
        (differing,) = peer.json("branch", "diff", "plan")
        check(list(differing["properties"]) == ["title"], f"{peer.name} says of what is not here: {differing}")
        peer.run("tree", "--branch", "plan")
        peer.run("branch", "merge", "plan", "--dry-run")
    check_healthy(first, second, third)
    third.run("branch", "delete", "plan", "--discard")
    in_step(first, second, third)
    gone("plan-secret", first, second, third)
    check_healthy(first, second, third)


@pytest.fixture
def two(world):
    """Two machines that run, and a note."""
    first, second = world.paired("first", "second")
    second.start(peers=[first.start()])
    return first, second, first.create("note", "text=begun")


@pytest.mark.parametrize("reading", ["first", "second"])
def test_who_reads_an_older_state_keeps_erased_bytes_for_so_long_and_is_told_of(two, reading):
    """A reader of the database keeps the log of SQLite."""
    first, second, note = two
    reading = {peer.name: peer for peer in (first, second)}[reading]
    secret = "secret-that-is-read"
    first.run("set", note, f"text={secret}")
    in_step(first, second)

    path = reading.directory / "peerd.sqlite"
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM objects").fetchone()
        first.run("set", note, "text=harmless")
        text = first.run("erase", note, "text")
        in_step(first, second)
        if reading is first:
            check("may hold erased bytes still" in text and "reads an older state" in text, f"erase says {text}")
        wait_until(lambda: is_told_of(reading), 30, "doctor tells that erased bytes may be left")
        # The daemon tries again every second.
        time.sleep(2)
        check(holds(reading, secret), "the reader hinders nothing: the test shows nothing")
        check(reader.execute("SELECT count(*) FROM objects").fetchone()[0] > 0, "the reader reads")
    # Soon, and not only when the files may be written anew again.
    gone(secret, first, second, seconds=15)
    wait_until(lambda: not is_told_of(reading), 90, "doctor finds nothing more")


def test_who_writes_to_the_database_keeps_erased_bytes_for_so_long_and_is_told_of(two):
    """Another program that holds the lock of the database has its files not written anew."""
    first, second, note = two
    told = "The files still hold bytes of what was erased"
    for attempt in range(5):
        secret = f"secret-of-attempt-{attempt}"
        first.run("set", note, f"text={secret}")
        first.run("set", note, "text=harmless")
        in_step(first, second)
        first.run("erase", note, "text")
        wait_until(lambda: is_told_of(second) or not holds(second, secret), 30, "the second machine erases it, too")
        path = second.directory / "peerd.sqlite"
        with contextlib.closing(sqlite3.connect(path, timeout=10, isolation_level=None)) as writer:
            writer.execute("BEGIN IMMEDIATE")
            # Else the daemon was faster, and is tried again. Who reads the file here takes the lock away: POSIX.
            if is_told_of(second):
                wait_until(lambda: told in second.log_path.read_text(), 60, "the log tells that bytes are left")
                check(is_told_of(second), "doctor tells nothing more")
                break
    else:
        check(False, "the files were always written anew before they were locked")
    gone(secret, first, second)
    wait_until(lambda: not is_told_of(second), 60, "doctor finds nothing more")


def test_a_kill_at_any_moment_leaves_nothing_of_what_was_erased(two, draw):
    """Now the machine that erases is killed, and now the one that gets the erasure."""
    first, second, note = two
    for number in range(KILLS):
        secret = f"killed-secret-{number}-" + "s" * draw.choice([1, 90, 5000])
        for value in (secret, secret + "again", "harmless"):
            first.run("set", note, f"text={value}")
        in_step(first, second)
        victim = first if number % 2 == 0 else second
        process = first.begin("erase", note, "text")
        # The erasure goes on meanwhile.
        time.sleep(draw.random() * 0.3)
        victim.kill()
        process.wait()
        victim.start(peers=[] if victim is first else [first.address])
        if victim is first:
            second.restart(peers=[first.address])
        # What was not written by then is asked for again.
        first.run("erase", note, "text")
        in_step(first, second)
        gone(f"killed-secret-{number}-", first, second)
        check(first.json("get", note, "text") == "harmless", "a kill changed the value")
    check_healthy(first, second)


def test_what_another_machine_erases_in_bulk_waits_and_is_stopped_or_allowed(world):
    laptop, desk = world.paired("laptop", "desk")
    laptop.start()
    desk.start(peers=[laptop.address])
    note = laptop.create("note", "text=first").strip()
    with DaemonSocket(laptop) as daemon:
        for number in range(1100):
            daemon.ask("PATCH", f"/api/objects/{note}", {"properties": {"text": f"secret-{number:04}"}})
    in_step(laptop, desk)
    check("No erasure" in desk.run("erasures"), desk.run("erasures"))
    laptop.run("erase", note, "text")
    in_step(laptop, desk)
    gone("secret-0500", laptop)

    def waiting():
        return desk.status()["waiting_erasures"]

    wait_until(lambda: len(waiting()) == 1, 30, "the erasure waits on the desk")
    entry = waiting()[0]
    check(entry["device_name"] == "laptop" and entry["erasures"] == 1 and entry["due_ms"], f"{entry}")
    for verb in ("status", "erasures"):
        check("1 erasure of laptop" in desk.run(verb), f"{verb} names it: {desk.run(verb)}")
    check("wait for a day" in desk.log_path.read_text(), "the log tells")
    check(desk.result("erasures", "stop", "nobody").returncode == 3, "an unknown machine")
    check(desk.result("erasures", "halt", "laptop").returncode == 2, "another word")
    desk.run("erasures", "stop", "laptop")
    desk.restart(peers=[laptop.address])
    check(waiting()[0]["due_ms"] is None, f"it is stopped, over a restart too: {waiting()}")
    check(holds(desk, "secret-0500"), "the value is still there")
    desk.run("erasures", "allow", "laptop")
    gone("secret-0500", desk)
    check(waiting() == [], f"{waiting()}")
    in_step(laptop, desk)
    check_healthy(laptop, desk)
