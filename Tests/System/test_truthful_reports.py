"""What `sync` and `doctor` report is true: a peer that does not answer is not in sync, derived rows that contradict the
log are found, and a doctor that finds no room does not blame the workspace."""

import contextlib
import json
import os
import signal
import sqlite3
import subprocess

import pytest

from peerd_harness import check, skip

STORAGE = 7


def outcome(peer, *verb):
    """Exit status and texts of a verb, whatever comes of it."""
    done = peer.result(*verb)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def test_a_machine_that_does_not_answer_is_not_in_sync(world):
    """The other machine's daemon stands still, and its connection does not end."""
    laptop, desk = world.paired("laptop", "desk")
    laptop.stop()
    desk.restart()
    laptop.start(peers=[desk.address])
    code, _, _ = outcome(laptop, "sync", "--wait", "--json")
    check(code == 0, f"two machines that are there sync with exit status {code}")
    os.kill(desk.process.pid, signal.SIGSTOP)
    try:
        for words in (["--wait", "--timeout", "3"], ["--timeout", "3"]):
            code, output, error = outcome(laptop, "sync", "--json", *words)
            check(code == 6 and '"in_sync":false' in output, f"a silent peer: {code} {output} {error}")
            check("No answer came from desk" in error, f"a silent peer is named: {error}")
    finally:
        os.kill(desk.process.pid, signal.SIGCONT)
    code, output, error = outcome(laptop, "sync", "--wait", "--json", "--timeout", "30")
    check(code == 0 and '"in_sync":true' in output, f"it is there again: {code} {output} {error}")
    laptop.stop()
    desk.stop()


def findings(peer):
    code, output, error = outcome(peer, "doctor", "--json")
    return code, output + error


def meet(one, other):
    """Both run until they hold the same, and end."""
    one.restart()
    other.restart(peers=[one.address])
    other.run("sync", "--wait")
    one.stop()
    other.stop()


@pytest.mark.parametrize("change", [
    "UPDATE version SET status = 0 WHERE status = 1",
    "UPDATE register SET conflict_count = 0 WHERE conflict_count > 0",
    "UPDATE object SET child_count = child_count + 1 WHERE child_count > 0",
    "DELETE FROM move WHERE parent IS NOT NULL",
])
def test_derived_rows_that_contradict_the_log_are_found(world, change):
    """Rows that an export does not show."""
    laptop, desk = world.paired("first", "second")
    note = laptop.create("note", "title=one")
    folder = laptop.create("folder")
    laptop.create("item", "--parent", folder)
    meet(laptop, desk)
    for peer in (laptop, desk):
        peer.run("set", note, f"title=from {peer.name}")
    meet(laptop, desk)
    check("title" in desk.run("conflicts"), "one property is in conflict")
    check(findings(desk)[0] in (0, 1), "the doctor runs")
    path = desk.directory / "peerd.sqlite"
    saved = path.read_bytes()
    with contextlib.closing(sqlite3.connect(path)) as database, database:
        check(database.execute(change).rowcount > 0, "this changes no rows: the test shows nothing")
    code, report = findings(desk)
    check(code == 1 and "the state differs from the log" in report, f"{code} {report}")
    path.write_bytes(saved)
    code, report = findings(desk)
    check("the state agrees with the log" in report, f"put back: {code} {report}")


def test_a_doctor_that_finds_no_room_does_not_blame_the_workspace(world):
    """No file of the doctor may grow beyond a limit, as if its disk were full."""
    laptop = world.founder("laptop")
    objects = [{"type": "note", "properties": {"title": "x" * 200}} for _ in range(1000)]
    file = laptop.directory.parent / "notes.json"
    file.write_text(json.dumps(objects))
    laptop.run("import", file)
    laptop.prefix = ["bash", "-c", 'ulimit -f 200; exec "$@"', "bash"]
    code, report = findings(laptop)
    check("a copy could not be written" in report, f"a doctor without room: {code} {report}")
    check("restore" not in report, f"a doctor without room blames the workspace: {code} {report}")
    laptop.prefix = []
    code, report = findings(laptop)
    check("the state agrees with the log" in report, f"a doctor with room: {code} {report}")
    left = [path.name for path in laptop.directory.glob("scratch-*")]
    check(not left, f"this is left of its copy: {left}")


@pytest.fixture
def small_disk(world):
    """A peer on a disk of its own, and a function that leaves so many bytes free there."""
    disk = world.root / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "none", disk], check=False).returncode != 0:
        skip("no file system can be mounted here")
    world.closers.append(lambda: subprocess.run(["umount", "-l", disk], check=False))

    def leave(count):
        fill = disk / "fill"
        fill.unlink(missing_ok=True)
        if count is not None:
            state = os.statvfs(disk)
            fill.write_bytes(bytes(state.f_bavail * state.f_frsize - count))

    peer = world.peer("a")
    peer.directory = disk / "a"
    peer.run("init")
    return peer, leave


def refused_in_the_middle(peer, *words):
    """What the work says that breaks off since the disk is full."""
    done = peer.result(*words)
    text = done.stderr.decode()
    check(done.returncode == STORAGE and "disk is full" in text, f"{words}: {done.returncode} {text}")
    check("nothing was written" not in text and "before, and stay" in text, f"{words} says {text}")


def test_what_was_written_before_the_disk_was_full_is_not_denied(small_disk):
    peer, leave = small_disk
    for number in range(40):
        peer.create("note", f"title={number}")
    leave(300 << 10)
    refused_in_the_middle(peer, "undo", "40")
    check(0 < len(peer.objects()) < 40, f"{len(peer.objects())} of 40 are left")
    leave(None)
    peer.run("undo", str(len(peer.objects())))
    leave(300 << 10)
    refused_in_the_middle(peer, "redo", "40")
    leave(None)

    top = peer.create("folder")
    file = peer.directory.parent.parent / "notes.json"
    notes = [{"type": "note", "parent": top, "properties": {"title": f"{n}" + "x" * 60_000}} for n in range(160)]
    file.write_text(json.dumps(notes))
    # The file is kept in the directory first.
    leave((7 << 20) + file.stat().st_size)
    refused_in_the_middle(peer, "import", file)
    leave(None)
    peer.run("import", file)
    snapshot = peer.run("snapshot", "create", top)
    peer.run("rm", top)
    leave(7 << 20)
    refused_in_the_middle(peer, "snapshot", "restore", snapshot)
    leave(None)
    peer.run("snapshot", "restore", snapshot)
    check(top in peer.objects(), "the snapshot is not restored")
