"""A paired device that lies: it is written in Python, and says of its own changes what it likes."""

import contextlib
import copy
import sys
import time
from datetime import datetime, timezone
from pathlib import Path

import pytest

from peerd_harness import Agreement, check, invite_line, pair, wait_until

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "Interop"))
noise = pytest.importorskip("noise_peer", reason="the Python environment lacks a package; make setup installs it")
from change_writer import REDACTED, SET, UNSET, Author, Change, Write, text  # noqa: E402  after the path


def now():
    return int(time.time() * 1000)


def moment_now():
    """A time between two writes."""
    time.sleep(0.01)
    moment = datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    time.sleep(0.01)
    return moment


class Liar:
    """A device that an honest machine has let in."""

    def __init__(self, honest):
        self.honest, self.identity = honest, noise.Identity("liar")
        invite = noise.Invite.parse(invite_line(honest))
        self.static = invite.static_public
        with contextlib.closing(noise.Wire.dial(honest.address)) as wire:
            channel = noise.dial_to_pair(wire, self.identity, invite)
            welcome = noise.Welcome.parse(channel.message_of(noise.WELCOME))
            channel.close()
        self.author = Author(self.identity, welcome)

    def says(self, *changes):
        """Tells the honest machine changes under one signature; returns whether that has taken them.

        What was not taken was not said."""
        before = copy.copy(self.author)
        with contextlib.closing(noise.Wire.dial(self.honest.address, 30)) as wire:
            channel = noise.dial_known(wire, self.identity, self.static)
            try:
                channel.send_message(noise.HELLO, self.identity.hello(channel, now()))
                channel.message_of(noise.HELLO)
                channel.send_message(*self.author.run(*changes))
                # What was sent has been dealt with when this is answered.
                channel.send_message(noise.PING, noise.varint(now()))
                channel.message_of(noise.PONG)
            except (noise.Ended, OSError):
                self.author = before
                return False
        heads = self.honest.status()["frontier"].get(self.author.replica.hex())
        check(heads == {self.author.previous.hex(): self.author.sequence}, f"{heads}")
        return True


@pytest.fixture
def honest(world):
    peer = world.founder("honest")
    peer.start()
    return peer


@pytest.fixture
def liar(honest):
    return Liar(honest)


def check_content(peer):
    report = peer.json("doctor")
    check(report["healthy"], f"doctor of {peer.name}: {report}")


# What is claimed to be dropped: before anything was written, now, and under another write.
CLAIMS = {
    "long ago": lambda note: [Change([Write(REDACTED, note, "title")], now() - 10**9)],
    "now": lambda note: [Change([Write(REDACTED, note, "title")])],
    "and replaced": lambda note: [
        Change([Write(REDACTED, note, "title")]),
        Change([Write(SET, note, "title", text("mine"))]),
    ],
}


@pytest.mark.parametrize("claim", CLAIMS)
def test_who_claims_to_have_dropped_what_never_was_hides_nothing_of_the_past(honest, liar, claim):
    note = honest.create("note", "title=first", "text=begun")
    honest.run("branch", "create", "plan")
    honest.run("set", note, "title=second")
    moment = moment_now()
    before = honest.raw("export", "--at", moment)
    honest.run("set", note, "text=changed")
    check(liar.says(*CLAIMS[claim](note)), "the claim was not taken")
    check(honest.json("get", note, "title", "--at", moment) == "second", "the past shows another value")
    check(honest.raw("export", "--at", moment) == before, "the past has changed")
    honest.run("undo")
    check(honest.json("get", note, "text") == "begun", "the last edit was not taken back")
    honest.run("restore", note, "--at", moment)
    check(honest.json("get", note, "title") == "second", "the title was not restored")
    honest.run("branch", "switch", "plan")
    check(honest.json("get", note, "title") == "first", "the branch shows another value")
    check(honest.export(), "the branch cannot be exported")
    honest.run("branch", "switch", "main")
    # Now that others have written over what is claimed.
    check(honest.json("get", note, "title", "--at", moment) == "second", "the past shows another value in the end")
    check(honest.raw("export", "--at", moment) == before, "the past has changed in the end")
    check_content(honest)


# More removals than may stand under one signature, and as many as may.
TOO_MANY_REMOVALS = 120_000
REMOVALS = 65_535
CHANGE_REMOVALS = 30_000


def removals(note, count):
    """Changes that remove a property so often; one write stays in each, so that each other one gets a leaf of its own
    once it is erased."""
    kept, removal = Write(SET, note, "title", text("kept")), Write(UNSET, note, "text")
    sizes = [CHANGE_REMOVALS] * (count // CHANGE_REMOVALS) + [count % CHANGE_REMOVALS]
    return [Change([removal] * size + [kept]) for size in sizes]


def test_an_erasure_of_what_a_liar_has_inflated_keeps_no_newcomer_out(world, honest, liar):
    note = honest.create("note", "title=kept", "text=erased")
    liar.says(*removals(note, TOO_MANY_REMOVALS))
    # Whoever was refused is heard again after a moment.
    for _ in range(2):
        wait_until(lambda: liar.says(*removals(note, REMOVALS - 4)), 30, "as many removals as may be are taken")
    honest.run("set", note, "text=after")
    honest.run("erase", note, "text")
    wait_until(lambda: not honest.json("erase", note, "text")["pending"], 60, "the erasure has come to its end")
    check_content(honest)
    newcomer = world.peer("newcomer")
    pair(honest, newcomer)
    newcomer.start(peers=[honest.address])
    Agreement().settle([honest, newcomer])
    for peer in (honest, newcomer):
        check(peer.json("get", note, "text") == "after", f"{peer.name} shows another text")
        check_content(peer)
