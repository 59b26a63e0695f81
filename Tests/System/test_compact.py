"""Compaction on real machines: the state stays what it is on all of them, whoever compacts and whoever does not, also
for a newcomer, for a machine that was away, and after kill -9 at any moment. The file gets smaller."""

import contextlib
import json
import os
import sqlite3
import subprocess
import threading
import time
from types import SimpleNamespace

import pytest

from peerd_harness import Agreement, DaemonSocket, check, program, say, skip, wait_until

OBJECTS = 6
NAMES = ["title", "text", "count"]
WRITES = 200
KILLS = 10
LARGE_VALUES, LARGE_VALUE_BYTES = 240, 1_000_000


def write(socket, draw, ids, number):
    """One transaction with a few writes, some of them large."""
    edits = []
    for _ in range(draw.randrange(1, 5)):
        value = {"title": f"title {number}", "text": f"{number}:" + "x" * draw.choice([3, 60, 900]), "count": number}
        name = draw.choice(NAMES)
        edits.append({"set": draw.choice(ids), "properties": {name: value[name]}})
    socket.ask("POST", "/api/transactions", {"edits": edits})


def versions(peer):
    """What any SQLite client reads: each property, with the number of its writes."""
    with contextlib.closing(sqlite3.connect(f"file:{peer.directory}/peerd.sqlite?mode=ro", uri=True)) as database:
        return sorted(database.execute("SELECT object_id, name, value, version FROM properties"))


def database_bytes(peer):
    return os.path.getsize(peer.directory / "peerd.sqlite")


def check_equal(*peers):
    """All have the same, to the number of writes of each property, as if it were computed anew from their logs."""
    Agreement().settle(peers)
    for peer in peers:
        check(versions(peer) == versions(peers[0]), f"{peer.name} counts versions differently")
        report = peer.json("doctor", "--verify")
        check(report["healthy"], f"{peer.name}: {report}")


def values_in_history(peer, *words):
    return [line["action"].get("set", {}).get("value") for line in peer.json("history", *words)]


@pytest.fixture
def machines(world, draw):
    """Two machines that have written much, and a third that was off meanwhile, and has edits of its own."""
    first, second, third = world.paired("first", "second", "third")
    first.start()
    second.start(peers=[first.address])
    ids = [first.create("note", "title=begun") for _ in range(OBJECTS)]
    first.run("set", ids[0], "title=early")
    third.start(peers=[first.address])
    Agreement().settle([first, second, third])
    early = first.json("get", ids[0], "title")
    with DaemonSocket(first) as socket:
        moment = socket.ask("GET", "/api/moment")["moment"]
    third.stop()
    third.run("set", ids[0], "title=from afar")
    third.run("set", ids[1], "count=-1")
    for peer in (first, second):
        with DaemonSocket(peer) as socket:
            for number in range(WRITES):
                write(socket, draw, ids, number)
    with DaemonSocket(first) as socket:
        for title, id in [(title, id) for title in ("older", "last") for id in ids]:
            socket.ask("POST", "/api/transactions", {"edits": [{"set": id, "properties": {"title": title}}]})
    Agreement().settle([first, second])
    check(versions(first) == versions(second), "two machines count versions differently")
    return SimpleNamespace(first=first, second=second, third=third, ids=ids, early=early, moment=moment)


def forget_the_third(machines):
    for peer in (machines.first, machines.second):
        peer.run("peers", "forget", "third")


def test_what_a_machine_lacks_that_was_heard_of_lately_is_kept(machines):
    for keep in ("0", "1h"):
        report = machines.first.json("compact", "--dry-run", "--keep", keep)
        check(report["lacking_machines"] == ["third"] and report["dropped_writes"] == 0, f"lacking: {report}")


def test_a_compaction_makes_the_file_smaller_while_another_machine_writes(machines, draw):
    first, second, ids = machines.first, machines.second, machines.ids
    forget_the_third(machines)
    dry = first.json("compact", "--keep", "0", "--dry-run")
    check(dry["dropped_writes"] > WRITES and dry["file_bytes_after"] is None, f"a dry run: {dry}")
    before = database_bytes(first)
    is_over = threading.Event()

    def keep_writing():
        with DaemonSocket(second) as socket:
            # Not more than that: it is what the file grows by meanwhile, however long that takes.
            for number in range(WRITES, WRITES + WRITES // 5):
                if is_over.is_set():
                    return
                write(socket, draw, ids[2:], number)

    writer = threading.Thread(target=keep_writing)
    writer.start()
    report = first.json("compact", "--keep", "0")
    is_over.set()
    writer.join()
    check(report["dropped_writes"] >= dry["dropped_writes"] * 3 // 4, f"dropped {report}, of {dry}")
    # Half of a file as small as this one is tables that were empty from the start.
    check(report["file_bytes_after"] < before * 9 // 10, f"the file has {report['file_bytes_after']} of {before}")
    check_equal(first, second)
    # What one has dropped, it says; the other still shows it.
    done = first.result("get", ids[0], "title", "--at", machines.moment)
    check(done.returncode == 3 and b"compaction" in done.stderr, f"the past of the first: {done}")
    check(second.json("get", ids[0], "title", "--at", machines.moment) == machines.early, "the past of the second")
    check(len(first.json("history", ids[0], "title")) >= 1, "a history without its last entry")
    again = first.json("compact", "--keep", "0")
    first.json("compact", "--keep", "0")
    check(again["dropped_writes"] < report["dropped_writes"], f"dropped again: {again}")


def test_a_newcomer_and_one_who_was_away_have_the_same_after_compactions(world, machines):
    first, second, third = machines.first, machines.second, machines.third
    forget_the_third(machines)
    first.json("compact", "--keep", "0")
    # A newcomer gets what is left.
    fourth = world.peer("fourth")
    fourth.run("join", first.run("invite").split()[-1], "--name", "fourth")
    fourth.start(peers=[first.address])
    check_equal(first, second, fourth)
    # The third comes back, meets only those that have compacted, and loses nothing.
    second.json("compact", "--keep", "0")
    third.start(peers=[first.address, second.address])
    check_equal(first, second, third, fourth)
    for peer in (first, second, third, fourth):
        values = values_in_history(peer, machines.ids[1], "count", "--limit", "1000")
        check(-1 in values, f"{peer.name} lost an edit of the one who was away")


@pytest.fixture
def pair_of_machines(world):
    first, second = world.paired("first", "second")
    second.start(peers=[first.start()])
    return first, second


def test_an_undo_names_what_was_dropped_and_it_cannot_bring_back(pair_of_machines):
    first, second = pair_of_machines
    note = first.create("note")
    for text in ("one", "two"):
        first.run("set", note, f"last={text}")
    Agreement().settle([first, second])

    def has_dropped_one():
        # What the others have acknowledged may be known a moment later than they show it.
        first.json("compact", "--keep", "0")
        return values_in_history(first, note, "last") == ["two"]

    wait_until(has_dropped_one, 30, "the first of two values is dropped")

    def undo(*words):
        done = first.result("undo", *words)
        check(done.returncode == 1 and b"Nothing was taken back" in done.stderr, f"an undo of what was dropped: {done}")
        return done.stdout.decode()

    undone = json.loads(undo("--json"))
    check(undone[0]["kept"][0]["reason"] == "unknown", f"an undo of what was dropped: {undone}")
    check(undone[0]["has_effect"] is False, f"an undo without effect: {undone}")
    first.run("redo")
    text = undo()
    check("could not take back set last" in text and "its former value is not here" in text, text)
    check(first.json("get", note, "last") == "two", "an undo without effect changed something")


def test_a_compaction_that_is_killed_changes_nothing(pair_of_machines, draw):
    first, second = pair_of_machines
    ids = [first.create("note", "title=begun") for _ in range(OBJECTS)]
    done = 0
    for _ in range(KILLS):
        with DaemonSocket(first) as socket:
            for number in range(60):
                write(socket, draw, ids, number)
        Agreement().settle([first, second])
        before = first.export()
        process = first.begin("compact", "--keep", "0")
        # The compaction goes on meanwhile.
        time.sleep(draw.random() * 0.25)
        done += process.poll() is not None
        first.kill()
        process.wait()
        first.start(peers=[second.address])
        check(first.export() == before, "a compaction that was killed changed something")
    say(f"{done} of {KILLS} compactions were done before the kill")
    check_equal(first, second)


def test_a_compaction_of_a_large_database_takes_memory_for_a_part_of_it_only(world):
    """Also where it makes the file smaller."""
    peer = world.founder("large")
    peer.start()
    with DaemonSocket(peer) as socket:
        for number in range(LARGE_VALUES):
            socket.create("note", {"text": str(number % 10) * LARGE_VALUE_BYTES})
        small = socket.create("note", {"count": 1})
    peer.run("set", small, "count=2")
    peer.run("set", small, "count=3")
    peer.stop()
    command = [program(), "compact", "--keep", "0", "--dir", str(peer.directory)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    check(process.returncode == 0, f"the compaction ended with {process.returncode}")
    peak, file = usage.ru_maxrss << 10, database_bytes(peer)
    check(file > LARGE_VALUES * LARGE_VALUE_BYTES, f"the database has {file} bytes")
    check(peak < file * 3 // 4, f"a compaction of {file} bytes took {peak} bytes of memory")


FREE_BYTES = 4_000_000


class CrowdedDisk:
    """A machine whose database is large, half of it values that were replaced, on a disk of its own."""

    NOTES = 60

    def __init__(self, world):
        self.disk = world.root / "disk"
        self.disk.mkdir()
        if subprocess.run(["mount", "-t", "tmpfs", "none", self.disk], capture_output=True, check=False).returncode:
            skip("no file system can be mounted here")
        world.closers.append(lambda: subprocess.run(["umount", "-l", self.disk], check=False))
        self.peer = world.peer("a")
        self.peer.directory = self.disk / "a"
        self.peer.run("init", "--name", "a")
        self.peer.start(words=["--no-http"])
        with DaemonSocket(self.peer) as socket:
            ids = [socket.create("note", {"text": f"{number}" + "x" * 200_000}) for number in range(self.NOTES)]
            for number, identity in enumerate(ids):
                socket.ask("PATCH", f"/api/objects/{identity}", {"properties": {"text": f"{number}" + "y" * 200_000}})
        self.peer.stop()

    def free(self):
        status = os.statvfs(self.disk)
        return status.f_bavail * status.f_frsize

    def leave(self, count):
        """Gives the disk so many free bytes."""
        status = os.statvfs(self.disk)
        used = (status.f_blocks - status.f_bfree) * status.f_frsize
        subprocess.run(["mount", "-o", f"remount,size={used + count}", self.disk], check=True)


@pytest.fixture
def crowded(world):
    return CrowdedDisk(world)


@pytest.mark.parametrize("daemon_runs", [True, False], ids=["daemon", "alone"])
def test_a_compaction_on_a_nearly_full_disk_gives_room_back(crowded, daemon_runs):
    """What is left of the database is larger than what is free, so that there is no room for another copy of it."""
    peer = crowded.peer
    before, state = database_bytes(peer), peer.export()
    crowded.leave(FREE_BYTES)
    if daemon_runs:
        peer.start(words=["--no-http"])
    report = peer.json("compact", "--keep", "0")
    check(report["dropped_writes"] == crowded.NOTES, f"not everything was dropped: {report}")
    check(peer.export() == state, "the state is another")
    if daemon_runs:
        peer.stop()
    after = database_bytes(peer)
    check(after < before * 0.6, f"the file had {before} bytes, and has {after}: {report}")
    check(crowded.free() > FREE_BYTES + (before - after) * 0.9, "the room is not given back")
    check(peer.json("doctor")["healthy"], "it is not healthy")


def mode_of_pages(peer, mode=None):
    """How a database takes note of its pages, once it is written anew if a mode is given."""
    connection = sqlite3.connect(peer.directory / "peerd.sqlite")
    if mode is not None:
        connection.execute(f"PRAGMA auto_vacuum = {mode}")
        connection.execute("VACUUM")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    found = connection.execute("PRAGMA auto_vacuum").fetchone()[0]
    connection.close()
    return found


def test_a_former_database_says_on_a_nearly_full_disk_what_it_needs(crowded):
    """One that takes no note of its pages, as no database did before."""
    peer = crowded.peer
    check(mode_of_pages(peer, "NONE") == 0, "it takes note of its pages")
    before = database_bytes(peer)
    crowded.leave(FREE_BYTES)
    report = peer.json("compact", "--keep", "0")
    check(report["dropped_writes"] == crowded.NOTES, f"not everything was dropped: {report}")
    check("earlier version" in report["shrink_failure"], f"it does not say what it needs: {report}")
    check(crowded.free() > FREE_BYTES * 0.9, f"it took the last bytes: {crowded.free()} are left")
    check(peer.json("doctor")["healthy"], "it is not healthy")
    # What is written next takes no room beyond the file.
    for number in range(10):
        peer.create("note", f"text={number}" + "z" * 100_000)
    check(database_bytes(peer) == before, "the file has grown")
    crowded.leave(2 * before)
    report = peer.json("compact", "--keep", "0")
    check(report["shrink_failure"] is None and database_bytes(peer) < before * 0.7, f"with room: {report}")
    check(mode_of_pages(peer) == 2, "it must be written anew the next time too")
