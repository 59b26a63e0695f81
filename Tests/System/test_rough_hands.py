"""The command line in rough hands: daemons that hang, are ended at once or wait for others; directories that are
incomplete, damaged, somebody else's or read-only; arguments that no value can hold. Each gets its
reason and exit code."""

import os
import shutil
import signal
import sqlite3
import subprocess
from pathlib import Path

import pytest

from peerd_harness import CheckFailed, DaemonSocket, check, invite_line, program, run_together, skip, wait_until

USAGE, WORKSPACE, BUSY, STORAGE = 2, 4, 5, 7
NOBODY = 65_534
READING_VERBS = ("ls", "tree", "export", "log", "conflicts", "status", "peers", "doctor")
OPENING_VERBS = (("ls",), ("doctor",), ("status",), ("create", "note"), ("run",))
with_and_without_a_daemon = pytest.mark.parametrize("daemon_runs", [False, True], ids=["alone", "daemon"])


def test_a_daemon_that_hangs_ends_every_verb(world):
    peer = world.founder("hanging")
    note = peer.create("note")
    peer.start(words=["--no-http"])
    os.kill(peer.process.pid, signal.SIGSTOP)
    try:
        # As long as the time limit of the command, if it has one, and else a moment; far below the silence that long
        # work may keep.
        peer.refused(BUSY, "sync", "--timeout", "3", mentions=["3 seconds"], seconds=9)
        verbs = [
            ("ls",), ("get", note), ("set", note, "a=1"), ("create", "note"), ("status",), ("peers",), ("doctor",),
            ("export",), ("log",), ("invite",), ("rm", note), ("conflicts",), ("restamp",), ("open",), ("api",),
            ("run", "--listen", "127.0.0.1:0"),
        ]
        run_together([lambda verb=verb: peer.refused(BUSY, *verb, seconds=45) for verb in verbs])
    finally:
        os.kill(peer.process.pid, signal.SIGCONT)
    # Whoever was refused may try again, and would have it twice.
    left = peer.objects()
    check(list(left) == [note] and not left[note]["properties"], f"what was refused is done later: {left}")
    check(peer.create("note") in peer.objects(), "it goes on")


def test_a_daemon_that_is_ended_at_once_ends_in_order(world):
    peer = world.founder("early")
    for _ in range(10):
        peer.start(words=["--no-http"])
        peer.stop()
        check((peer.directory / "lock").read_text() == "", "the directory was not left in order")


def test_a_daemon_whose_terminal_is_closed_ends_in_order(world):
    # The tests may have been started by nohup themselves.
    peer = world.founder("a", prefix=["env", "--default-signal=HUP"])
    peer.start()
    peer.process.send_signal(signal.SIGHUP)
    check(peer.process.wait(20) == 0, f"it ended with {peer.process.returncode}")
    peer.process = None
    check((peer.directory / "lock").read_bytes() == b"", "it has not ended in order")


def test_a_daemon_that_nohup_has_started_goes_on(world):
    peer = world.founder("a", prefix=["nohup"])
    peer.start()
    peer.process.send_signal(signal.SIGHUP)
    check(peer.create("note") in peer.objects() and peer.process.poll() is None, "it has ended")
    peer.stop()


@pytest.fixture
def peer(world):
    """A peer with one object."""
    peer = world.founder("peer")
    peer.note = peer.create("note", "a=0")
    return peer


def test_an_invite_of_ones_own_is_refused(peer):
    peer.start()
    peer.refused(USAGE, "join", invite_line(peer), mentions=["made the invite"])


def ends_as_moved(peer):
    """Waits until a daemon has ended because its files are not where they were."""
    process, peer.process = peer.process, None
    check(process.wait(10) == STORAGE, f"it ended with {process.returncode}")
    check("was moved or deleted" in peer.log_path.read_text(), "it did not say why")


def test_a_daemon_whose_directory_is_moved_ends_and_leaves_alone_what_comes_in_its_place(world):
    peer, other = world.founder("moved"), world.founder("other")
    home, away = peer.directory, world.root / "away"
    ours, theirs = peer.create("note"), other.create("note")
    for machine in (peer, other):
        machine.start(words=["--no-http"])
        machine.create("note", "title=while it runs")
    files = {path.name for path in other.directory.iterdir()}
    with DaemonSocket(peer) as socket:
        home.rename(away)
        other.directory.rename(home)
        for method, path, body in (("PATCH", f"/api/objects/{ours}", {"properties": {"title": "after"}}),
                                   ("POST", "/api/doctor", None), ("GET", "/api/export", None)):
            with pytest.raises((CheckFailed, OSError)):
                socket.ask(method, path, body)
    # What it would write, and delete when it ends, has the other one's names by now.
    ends_as_moved(peer)
    ends_as_moved(other)
    left = {path.name for path in home.iterdir()}
    check(left | {"socket"} == files, f"{left} of {files}")
    peer.directory, other.directory = away, home
    for machine, note in ((peer, ours), (other, theirs)):
        check(len(machine.objects()) == 2 and note in machine.objects(), f"{machine.name}: {machine.objects()}")
        machine.run("doctor")
        machine.start(words=["--no-http"])
        machine.run("set", note, "title=after")


@pytest.mark.parametrize("name", [".", "peerd.sqlite", "peerd.sqlite-wal"])
def test_a_daemon_acknowledges_nothing_once_its_files_are_deleted(peer, name):
    peer.start(words=["--no-http"])
    last = peer.create("note")
    with DaemonSocket(peer) as socket:
        if name == ".":
            shutil.rmtree(peer.directory)
        else:
            (peer.directory / name).unlink()
        for _ in range(3):
            with pytest.raises((CheckFailed, OSError)):
                socket.create("note", {})
    ends_as_moved(peer)
    if name == "peerd.sqlite-wal":
        check(sorted(peer.objects()) == sorted([peer.note, last]), f"what was acknowledged is gone: {peer.objects()}")


@pytest.mark.parametrize("spoil", [Path.unlink, lambda path: os.truncate(path, 0)], ids=["deleted", "emptied"])
def test_a_database_that_is_gone_is_named(peer, spoil):
    database = peer.directory / "peerd.sqlite"
    spoil(database)
    for verb in OPENING_VERBS:
        peer.refused(STORAGE, *verb, mentions=["peerd.sqlite is missing or empty", "backup", "peerd join"])
    check(not database.exists() or database.stat().st_size == 0, "something is made in its place")


@pytest.mark.parametrize("words", ["CREATE TABLE t (a)", "VACUUM"], ids=["of_another_program", "blank"])
def test_a_database_of_another_program_is_left_alone(peer, words):
    for path in peer.directory.glob("peerd.sqlite*"):
        path.unlink()
    database = peer.directory / "peerd.sqlite"
    run_sql(database, words)
    content = database.read_bytes()
    for verb in OPENING_VERBS:
        peer.refused(STORAGE, *verb, mentions=["is not the database of this workspace", "backup", "peerd join"])
    check(database.read_bytes() == content, "somebody else's database was written to")


def run_sql(database, words):
    connection = sqlite3.connect(database)
    with connection:
        connection.execute(words)
    connection.close()


def test_the_database_of_another_workspace_is_refused(world, peer):
    shutil.copy(world.founder("another").directory / "peerd.sqlite", peer.directory / "peerd.sqlite")
    peer.refused(STORAGE, "create", "note", mentions=["another workspace", "whose file it is"])


def test_a_table_that_is_gone_is_damage(peer):
    run_sql(peer.directory / "peerd.sqlite", "DROP TABLE operation")
    peer.refused(STORAGE, "export", mentions=["damaged", "no such table", "backup"])


@pytest.mark.parametrize("verb", ["doctor", "ls"])
def test_a_database_that_was_cut_is_damage(peer, verb):
    os.truncate(peer.directory / "peerd.sqlite", 40_000)
    text = peer.refused(STORAGE, verb, mentions=["damaged", "backup"])
    check("doctor" not in text, f"a doctor that advises to run itself: {text}")


def test_keys_that_are_gone_are_named(peer):
    (peer.directory / "keys").unlink()
    peer.refused(STORAGE, "ls", mentions=["keys are missing"])


def test_a_file_is_no_directory(world):
    peer = world.peer("file")
    peer.directory.write_text("no directory")
    peer.refused(STORAGE, "ls", mentions=["not a directory"])


def test_a_lost_database_comes_back_with_join(world):
    laptop, desk = world.paired("laptop", "desk")
    laptop.start()
    note = laptop.create("note", "title=kept elsewhere")
    (desk.directory / "peerd.sqlite").unlink()
    desk.refused(STORAGE, "ls")
    desk.run("join", invite_line(laptop))
    check(note in desk.objects(), "what the other machine has does not come back")


def test_somebody_elses_directory_is_not_called_empty(world, peer):
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        skip("without root nobody else's directory can be tried")
    os.chmod(world.root, 0o755)
    words = ["setpriv", f"--reuid={NOBODY}", "--clear-groups", program(), "ls", "--dir", str(peer.directory)]
    done = subprocess.run(words, capture_output=True, check=False)
    check(done.returncode == STORAGE and b"Permission denied" in done.stderr, f"somebody else's: {done}")
    os.chown(peer.directory, NOBODY, NOBODY)
    peer.refused(STORAGE, "ls", mentions=["belongs to another user"])


def test_a_read_only_directory_can_be_read(world, peer):
    """A directory that its owner cannot write: files on a disk that is mounted read-only."""
    expected = peer.export()
    if os.geteuid() != 0:
        skip("without root nothing can be mounted")
    if subprocess.run(["mount", "--bind", "-o", "ro", peer.directory, peer.directory], check=False).returncode != 0:
        skip("nothing can be mounted here")
    world.closers.append(lambda: subprocess.run(["umount", "-l", peer.directory], check=True))
    subprocess.run(["mount", "-o", "remount,ro,bind", peer.directory], check=True)
    check(peer.export() == expected and peer.run("get", peer.note, "a") == "0", "reading")
    for verb in READING_VERBS:
        peer.run(verb)
    check(peer.status()["objects"] == 1, f"{peer.status()}")
    for verb in (("create", "note"), ("set", peer.note, "a=1"), ("run",), ("sync",)):
        text = peer.refused(STORAGE, *verb)
        check("Read-only" in text or "read-only" in text, f"{verb}: {text}")


@pytest.mark.parametrize(
    "text",
    ["9223372036854775808", "-9223372036854775809", "[1,18446744073709551616]", "1e-400", "1e400", '{"a":1e400}',
     "[" * 130 + "]" * 130],
    ids=lambda text: text[:25],
)
def test_what_no_value_can_hold_is_refused(peer, text):
    peer.refused(USAGE, "set", peer.note, f"a={text}")
    check(peer.run("get", peer.note, "a") == "0", f"{text} was stored as something else")


@pytest.mark.parametrize(
    "text", ["9223372036854775807", "-9223372036854775808", "5e-324", "1.7976931348623157e+308", "0e-999"]
)
def test_the_ends_of_what_a_value_can_hold(peer, text):
    peer.run("set", peer.note, f"a={text}")


def test_one_name_twice_is_refused_with_advice_that_can_be_pasted(peer):
    for words in (("a=1", "a=2"), ('a={"b":1,"b":2}',)):
        text = peer.refused(USAGE, "set", peer.note, *words, mentions=["two"])
        check(peer.run("get", peer.note, "a") == "0", f"{words} was stored")
    command = f"printf %s {text.split('marks: ')[1].strip()[:-1]}"
    value = subprocess.run(["sh", "-c", command], capture_output=True, check=True).stdout.decode()
    peer.run("set", peer.note, f"t={value}")
    check(peer.json("get", peer.note)["properties"]["t"] == '{"b":1,"b":2}', f"the advice stores {value}")


def test_bytes_that_are_no_text_are_refused(peer):
    environment = {**os.environb, b"PEERD_DIR": os.fsencode(peer.directory) + b"\xff"}
    done = subprocess.run([program(), "init"], env=environment, capture_output=True, check=False)
    check(done.returncode == USAGE and b"PEERD_DIR is not UTF-8" in done.stderr, f"a name that is no text: {done}")
    words = [program().encode(), b"set", b"--dir", str(peer.directory).encode(), peer.note.encode(), b"a=\xff\xfe"]
    done = subprocess.run(words, capture_output=True, check=False)
    check(done.returncode == USAGE and b"not UTF-8" in done.stderr, f"bytes that are no text: {done}")


@with_and_without_a_daemon
def test_many_arguments_are_all_there(world, daemon_runs):
    peer = world.founder("arguments")
    if daemon_runs:
        peer.start(words=["--no-http"])
    words = [f"n{number}={number}" for number in range(20_000)]
    properties = peer.json("get", peer.create("wide", *words))["properties"]
    check(properties == {f"n{number}": number for number in range(20_000)}, f"{len(properties)} properties")
    properties = peer.json("get", peer.create("wide", *words, "--kind", "last"))["properties"]
    check(len(properties) == 20_000, f"{len(properties)} properties before an option")


def test_a_preloaded_library_does_not_take_the_arguments_away(world):
    """With this library the Swift runtime finds no arguments."""
    library = next(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"), None)
    library = os.environ.get("LIBFAKETIME") or library
    if library is None:
        skip("libfaketime is not installed")
    environment = {"LD_PRELOAD": str(library), "FAKETIME": "+1d"}
    world.peer("faketime", environment=environment).refused(WORKSPACE, "status")


# A command gives up if one other keeps the directory for some seconds, as happens on a machine without time for it.
@pytest.mark.alone
def test_forty_commands_at_a_time_queue(world):
    peer = world.founder("queue")
    run_together([lambda: peer.create("note")] * 40)
    check(len(peer.objects()) == 40, "each is there")


@with_and_without_a_daemon
def test_the_lock_of_another_program_is_waited_for_and_named(world, daemon_runs):
    peer = world.founder("locked")
    if daemon_runs:
        peer.start(words=["--no-http"])
    told = peer.log_path if daemon_runs else world.root / "error"
    database = sqlite3.connect(peer.directory / "peerd.sqlite", isolation_level=None)
    database.execute("BEGIN IMMEDIATE")
    with open(world.root / "error", "w") as error:
        process = subprocess.Popen([program(), "create", "--dir", str(peer.directory), "note"], stderr=error)
    wait_until(lambda: "write lock" in told.read_text(), 30, "it says what it waits for")
    database.execute("ROLLBACK")
    database.close()
    check(process.wait(60) == 0, "it does not wait")
    check(len(peer.objects()) == 1, "it is not written once")


def test_a_full_disk_can_be_read_without_a_daemon(world):
    disk = world.root / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=20m", "none", disk], check=False).returncode != 0:
        skip("no file system can be mounted here")
    world.closers.append(lambda: subprocess.run(["umount", "-l", disk], check=False))
    peer = world.peer("a")
    peer.directory = disk / "a"
    peer.run("init")
    note = peer.create("note", "n=1")
    subprocess.run(["dd", "if=/dev/zero", f"of={disk}/filling", "bs=1k"], capture_output=True, check=False)
    peer.refused(STORAGE, "create", "note", mentions=["disk is full"])
    for verb in (["ls"], ["get", note], ["export"], ["tree"], ["log"]):
        check(note in peer.run(*verb), f"{verb} does not show it")
    peer.run("status")
    (disk / "filling").unlink()
    peer.run("create", "note")
