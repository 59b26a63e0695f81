#!/usr/bin/env python3
"""The command line in rough hands: daemons that hang, are ended at once or wait for others; directories that are
incomplete, damaged, somebody else's or read-only; arguments that no value can hold. Each gets its
reason and exit code."""

# time limit: 300 s

import os
import shutil
import signal
import sqlite3
import subprocess
import threading
from pathlib import Path

from peerd_harness import World, check, invite_line, main_of_test, program, run_together, say

USAGE, WORKSPACE, BUSY, STORAGE = 2, 4, 5, 7
NOBODY = 65_534
READING_VERBS = ("ls", "tree", "export", "log", "conflicts", "status", "peers", "doctor")


def refused(peer, code, *verb, mentions=(), seconds=60):
    done = peer.result(*verb, seconds=seconds)
    text = done.stderr.decode()
    check(done.returncode == code, f"{verb}: exit code {done.returncode}, not {code}: {text}{done.stdout.decode()}")
    for word in mentions:
        check(word in text, f"{verb}: the error does not mention {word!r}: {text}")
    return text


def check_hanging_daemon(world):
    peer = world.founder("hanging")
    note = peer.create("note")
    peer.start(words=["--no-http"])
    os.kill(peer.process.pid, signal.SIGSTOP)
    try:
        # As long as the time limit of the command, if it has one, and else a moment; far below the silence that long
        # work may keep.
        refused(peer, BUSY, "sync", "--timeout", "3", mentions=["3 seconds"], seconds=9)
        verbs = [
            ("ls",), ("get", note), ("set", note, "a=1"), ("create", "note"), ("status",), ("peers",), ("doctor",),
            ("export",), ("log",), ("invite",), ("rm", note), ("conflicts",), ("restamp",), ("open",), ("api",),
            ("run", "--listen", "127.0.0.1:0"),
        ]
        run_together([lambda verb=verb: refused(peer, BUSY, *verb, seconds=45) for verb in verbs])
    finally:
        os.kill(peer.process.pid, signal.SIGCONT)
    check(peer.create("note") in peer.objects(), "it goes on")
    peer.stop()
    say("a daemon that hangs: every verb ends with exit code 5")


def check_early_end(world):
    peer = world.founder("early")
    for _ in range(10):
        peer.start(words=["--no-http"])
        peer.stop()
        check((peer.directory / "lock").read_text() == "", "the directory was not left in order")
    say("SIGTERM right after “listening on” ends a daemon in order")


def copy_of(world, peer, name):
    other = world.peer(name)
    shutil.copytree(peer.directory, other.directory)
    return other


def check_incomplete_directories(world):
    peer = world.founder("whole")
    peer.create("note", "title=kept")
    peer.start()
    refused(peer, USAGE, "join", invite_line(peer), mentions=["made the invite"])
    peer.stop()
    for name, spoil in (("deleted", Path.unlink), ("emptied", lambda path: os.truncate(path, 0))):
        other = copy_of(world, peer, name)
        spoil(other.directory / "peerd.sqlite")
        for verb in (("ls",), ("doctor",), ("status",), ("create", "note"), ("run",)):
            refused(other, STORAGE, *verb, mentions=["peerd.sqlite is missing or empty", "backup", "peerd join"])
        check(not (other.directory / "peerd.sqlite").exists() or name == "emptied", "nothing is made in its place")
    for name, words in (("of another program", "CREATE TABLE t (a)"), ("blank", "VACUUM")):
        other = copy_of(world, peer, name)
        database = other.directory / "peerd.sqlite"
        for path in other.directory.glob("peerd.sqlite*"):
            path.unlink()
        with sqlite3.connect(database) as connection:
            connection.execute(words)
        connection.close()
        content = database.read_bytes()
        for verb in (("ls",), ("doctor",), ("status",), ("create", "note"), ("run",)):
            refused(other, STORAGE, *verb, mentions=["is not the database of this workspace", "backup", "peerd join"])
        check(database.read_bytes() == content, "somebody else's database was written to")
    strange = copy_of(world, peer, "strange")
    shutil.copy(world.founder("another").directory / "peerd.sqlite", strange.directory / "peerd.sqlite")
    refused(strange, STORAGE, "create", "note", mentions=["another workspace", "whose file it is"])
    tableless = copy_of(world, peer, "tableless")
    with sqlite3.connect(tableless.directory / "peerd.sqlite") as connection:
        connection.execute("DROP TABLE operation")
    connection.close()
    refused(tableless, STORAGE, "export", mentions=["damaged", "no such table", "backup"])
    damaged = copy_of(world, peer, "damaged")
    os.truncate(damaged.directory / "peerd.sqlite", 40_000)
    for verb in (("doctor",), ("ls",)):
        text = refused(damaged, STORAGE, *verb, mentions=["damaged", "backup"])
        check("doctor" not in text, f"a doctor that advises to run itself: {text}")
    keyless = copy_of(world, peer, "keyless")
    (keyless.directory / "keys").unlink()
    refused(keyless, STORAGE, "ls", mentions=["keys are missing"])
    file = world.peer("file")
    file.directory.write_text("no directory")
    refused(file, STORAGE, "ls", mentions=["not a directory"])
    refused(world.peer("nowhere"), WORKSPACE, "ls", mentions=["peerd init"])
    say("incomplete and damaged directories: what is missing, and how to get it back")


def check_lost_database_comes_back(world):
    laptop, desk = world.paired("laptop", "desk")
    laptop.start()
    note = laptop.create("note", "title=kept elsewhere")
    (desk.directory / "peerd.sqlite").unlink()
    refused(desk, STORAGE, "ls")
    desk.run("join", invite_line(laptop))
    check(note in desk.objects(), "what the other machine has comes back")
    laptop.stop()
    say("a lost database comes back with “join”")


def as_nobody(peer, *verb):
    words = ["setpriv", f"--reuid={NOBODY}", "--clear-groups", program(), verb[0], "--dir", str(peer.directory)]
    return subprocess.run(words + list(verb[1:]), capture_output=True, check=False)


def check_foreign_directory(world):
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        return say("skipped: without root nobody else's directory can be tried")
    peer = world.founder("private")
    os.chmod(world.root, 0o755)
    done = as_nobody(peer, "ls")
    check(done.returncode == STORAGE and b"Permission denied" in done.stderr, f"somebody else's: {done}")
    theirs = world.founder("theirs")
    os.chown(theirs.directory, NOBODY, NOBODY)
    refused(theirs, STORAGE, "ls", mentions=["belongs to another user"])
    say("somebody else's directory is not called empty")


def check_reading_read_only(world):
    """A directory that its owner cannot write: files on a disk that is mounted read-only."""
    peer = world.founder("frozen")
    note = peer.create("note", "title=frozen")
    expected = peer.export()
    if os.geteuid() != 0:
        return say("skipped: without root nothing can be mounted")
    mount = subprocess.run(["mount", "--bind", "-o", "ro", peer.directory, peer.directory], check=False)
    if mount.returncode != 0:
        return say("skipped: nothing can be mounted here")
    subprocess.run(["mount", "-o", "remount,ro,bind", peer.directory], check=True)
    try:
        check(peer.export() == expected and peer.run("get", note, "title") == "frozen", "reading")
        for verb in READING_VERBS:
            peer.run(verb)
        check(peer.status()["objects"] == 1, f"{peer.status()}")
        for verb in (("create", "note"), ("set", note, "a=1"), ("run",), ("sync",)):
            text = refused(peer, STORAGE, *verb)
            check("Read-only" in text or "read-only" in text, f"{verb}: {text}")
    finally:
        subprocess.run(["umount", peer.directory], check=True)
    say("a read-only directory can be read")


def check_values(world):
    peer = world.founder("values")
    note = peer.create("note", "a=0")
    for text in ("9223372036854775808", "-9223372036854775809", "[1,18446744073709551616]", "1e-400", "1e400",
                 '{"a":1e400}', "[" * 130 + "]" * 130):
        refused(peer, USAGE, "set", note, f"a={text}")
        check(peer.run("get", note, "a") == "0", f"{text} was stored as something else")
    for words in (("a=1", "a=2"), ('a={"b":1,"b":2}',)):
        text = refused(peer, USAGE, "set", note, *words, mentions=["two"])
        check(peer.run("get", note, "a") == "0", f"{words} was stored")
    # What the advice says can be pasted, and is what was typed.
    value = subprocess.run(["sh", "-c", f"printf %s {text.split('marks: ')[1].strip()[:-1]}"],
                           capture_output=True, check=True).stdout.decode()
    peer.run("set", note, f"t={value}")
    check(peer.json("get", note)["properties"]["t"] == '{"b":1,"b":2}', f"the advice stores {value}")
    environment = dict(os.environb)
    environment[b"PEERD_DIR"] = os.fsencode(peer.directory) + b"\xff"
    done = subprocess.run([program(), "init"], env=environment, capture_output=True, check=False)
    check(done.returncode == USAGE and b"PEERD_DIR is not UTF-8" in done.stderr, f"a name that is no text: {done}")
    words = [program().encode(), b"set", b"--dir", str(peer.directory).encode(), note.encode(), b"a=\xff\xfe"]
    done = subprocess.run(words, capture_output=True, check=False)
    check(done.returncode == USAGE and b"not UTF-8" in done.stderr, f"bytes that are no text: {done}")
    for text in ("9223372036854775807", "-9223372036854775808", "5e-324", "1.7976931348623157e+308", "0e-999"):
        peer.run("set", note, f"a={text}")
    say("what no value can hold is refused, with the reason")


def check_many_arguments(world):
    peer = world.founder("arguments")
    words = [f"n{number}={number}" for number in range(20_000)]
    for daemon_runs in (False, True):
        if daemon_runs:
            peer.start(words=["--no-http"])
        properties = peer.json("get", peer.create("wide", *words))["properties"]
        check(properties == {f"n{number}": number for number in range(20_000)}, f"{len(properties)} properties")
        properties = peer.json("get", peer.create("wide", *words, "--kind", "last"))["properties"]
        check(len(properties) == 20_000, f"{len(properties)} properties before an option")
    peer.stop()
    say("20,000 properties on one command line are all there")


def check_preloaded(world):
    """With this library the Swift runtime finds no arguments."""
    library = next(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"), None)
    library = os.environ.get("LIBFAKETIME") or library
    if library is None:
        return say("skipped: libfaketime is not installed")
    environment = {"LD_PRELOAD": str(library), "FAKETIME": "+1d"}
    done = world.peer("faketime", environment=environment).result("status")
    check(done.returncode == WORKSPACE and not done.stdout, f"a preloaded library takes the arguments away: {done}")
    say("a preloaded library does not take the arguments away")


def check_queue(world):
    peer = world.founder("queue")
    run_together([lambda: peer.create("note")] * 40)
    check(len(peer.objects()) == 40, "each is there")
    say("forty commands at a time queue")


def check_foreign_lock(world):
    """Another program holds SQLite's write lock, before a daemon's write and before a command without one."""
    peer = world.founder("locked")

    def locking(work):
        database = sqlite3.connect(peer.directory / "peerd.sqlite", isolation_level=None, check_same_thread=False)
        database.execute("BEGIN IMMEDIATE")
        release = threading.Timer(4, lambda: database.execute("ROLLBACK"))
        release.start()
        done = work()
        release.join()
        database.close()
        return done

    done = locking(lambda: peer.result("create", "note"))
    check(done.returncode == 0 and b"write lock" in done.stderr, f"it waits and says so: {done}")
    peer.start(words=["--no-http"])
    done = locking(lambda: peer.result("create", "note"))
    check(done.returncode == 0, f"the daemon waits: {done}")
    check("write lock" in peer.log_path.read_text(), "the daemon says so")
    check(len(peer.objects()) == 2, "each is written once")
    peer.stop()
    say("the lock of another program is waited for, and named")


def run():
    with World("rough") as world:
        check_values(world)
        check_many_arguments(world)
        check_incomplete_directories(world)
        check_lost_database_comes_back(world)
        check_foreign_directory(world)
        check_reading_read_only(world)
        check_preloaded(world)
        check_early_end(world)
        check_queue(world)
        check_foreign_lock(world)
        check_hanging_daemon(world)


main_of_test(run)
