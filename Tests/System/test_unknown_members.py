"""Machines that joined through a third one meet although it is lost, or was put back to before one of them joined; and
an address that leads to no machine of the workspace is named with the reason. The line of an invite stays a secret."""

import os
import shutil
import signal
import subprocess
import termios
from pathlib import Path

import pytest

from peerd_harness import Agreement, check, invite_line, pair, program, wait_until


@pytest.fixture
def orphans(world):
    """`b` and `c` have joined through `a`, which is gone; neither has heard of the other."""
    a = world.founder("a")
    b, c = world.peer("b"), world.peer("c")
    a.start()
    pair(a, c)
    pair(a, b)
    a.stop()
    shutil.rmtree(a.directory)
    b.create("note", "from=b")
    c.create("note", "from=c")
    return b, c


def names_of(peer):
    return {item["name"] for item in peer.json("peers")}


def test_two_machines_that_nobody_told_of_each_other_meet_at_a_static_address(orphans):
    b, c = orphans
    check(names_of(c) == {"a"}, f"c has heard of {names_of(c)}")
    c.start(peers=[b.start()])
    Agreement().settle([b, c])
    check("c" in names_of(b) and "b" in names_of(c), "they do not know each other")
    check("through another machine" in c.log_path.read_text() + b.log_path.read_text(), "the log does not say it")
    # From now on they know each other by their keys.
    b.restart()
    c.restart(peers=[b.address])
    c.create("note", "from=c again")
    Agreement().settle([b, c])
    for peer in (b, c):
        peer.stop()


def test_an_invite_of_the_same_workspace_makes_two_machines_known_to_each_other(orphans):
    b, c = orphans
    b.start()
    # The line comes by standard input, where other users of the machine do not see it.
    done = c.result("join", stdin=invite_line(b).encode() + b"\n")
    check(done.returncode == 0 and b"Others on" not in done.stderr, f"join ended with {done}")
    Agreement().settle([b, c])
    # The same with a daemon that runs.
    c.start()
    b.create("note", "from=b again")
    done = c.result("join", invite_line(b))
    check(done.returncode == 0 and b"Others on this machine can read" in done.stderr, f"no warning: {done}")
    Agreement().settle([b, c])
    for peer in (b, c):
        peer.stop()


def test_a_machine_that_was_put_back_to_before_another_joined_knows_it_again(world):
    a = world.founder("a")
    a.create("note", "from=a")
    backup = world.root / "backup"
    shutil.copytree(a.directory, backup, ignore=shutil.ignore_patterns("socket"))
    b = world.peer("b")
    a.start()
    pair(a, b)
    a.stop()
    b.create("note", "from=b")
    shutil.rmtree(a.directory)
    shutil.copytree(backup, a.directory)
    check(names_of(a) == set(), f"the backup knows {names_of(a)}")
    address = a.start()
    b.start(peers=[address])
    a.create("note", "from=a again")
    Agreement().settle([a, b])
    for peer in (a, b):
        peer.stop()


def failures(peer):
    return {item["address"]: item.get("failure", "") for item in peer.json("peers")}


def test_addresses_that_lead_to_no_machine_of_the_workspace_are_named_with_the_reason(world):
    a, other = world.founder("a"), world.founder("other")
    nobody = "127.0.0.1:1"
    a.start(peers=[other.start(), nobody])
    wait_until(lambda: len(failures(a)) == 2, 20, "both addresses are listed")
    found = failures(a)
    check("hangs up" in found[other.address], f"the other workspace: {found}")
    check("does not answer" in found[nobody], f"nobody: {found}")
    text = a.run("peers")
    check(other.address in text and nobody in text, f"peers prints {text!r}")
    log = a.log_path.read_text()
    check(f"{other.address} answers and hangs up" in log, "the log does not name the address")


# Once it was taken for a machine that is alone, if it had not begun to dial when the exchange began.
@pytest.mark.parametrize("attempt", range(4))
def test_an_invite_of_another_workspace_is_refused_and_loses_nothing(world, attempt):
    a, other = world.founder("a"), world.founder("other")
    note = a.create("note", "from=a")
    a.start()
    other.start()
    done = a.result("join", "--timeout", "20", invite_line(other))
    check(done.returncode != 0, "an invite of another workspace was taken")
    check(b"hangs up" in done.stderr, f"join says {done.stderr.decode()!r}")
    check(names_of(other) == set(), "the other workspace knows us")
    check(note in a.objects(), "a note is gone")


def test_join_asks_for_the_line_and_does_not_show_it(world):
    """Arguments of a command, and what a terminal has shown, are read by others."""
    inviting, joining = world.founder("inviting"), world.peer("joining")
    inviting.start()
    line = invite_line(inviting)
    here, there = os.openpty()
    command = [program(), "join", "--dir", str(joining.directory), "--name", "joining"]
    process = subprocess.Popen(command, stdin=there, stdout=there, stderr=there, env=joining.environment)
    shown = b""
    while b"printed: " not in shown:
        shown += os.read(here, 1 << 12)
    wait_until(lambda: not termios.tcgetattr(there)[3] & termios.ECHO, 30, "what is typed is not shown")
    check(line.encode() not in b"".join(Path(f"/proc/{process.pid}/cmdline").read_bytes().split(b"\0")), "an argument")
    os.write(here, line.encode() + b"\n")
    check(process.wait(60) == 0, f"join ended with {process.returncode}")
    shown += os.read(here, 1 << 16)
    check(line.encode() not in shown and b"Joined the workspace" in shown, f"the terminal shows {shown}")
    check(termios.tcgetattr(there)[3] & termios.ECHO, "the terminal shows nothing any more")
    # Who breaks it off gets his terminal back.
    process = subprocess.Popen(
        [*command[:3], str(world.root / "other")], stdin=there, stdout=there, stderr=there, env=joining.environment
    )
    wait_until(lambda: not termios.tcgetattr(there)[3] & termios.ECHO, 30, "it asks again")
    process.send_signal(signal.SIGINT)
    check(process.wait(60) == -signal.SIGINT, f"a signal: {process.returncode}")
    check(termios.tcgetattr(there)[3] & termios.ECHO, "the terminal shows nothing any more")
    os.close(there)
    os.close(here)
    inviting.stop()
