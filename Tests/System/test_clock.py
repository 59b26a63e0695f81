"""A device whose clock is a day ahead: its changes are held elsewhere and shown with its name, and drag nobody's clock
along. They arrive once its clock is right, or if that never happens, by a command elsewhere; what was written meanwhile
stays in force. Nobody calls held changes in sync."""

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from naive_state import check_by_the_rules
from peerd_harness import Agreement, check, skip, wait_until

DAY_SECONDS = 24 * 3600


@pytest.fixture
def library(world):
    """The library with which a program's wall clock, and only that, is wrong."""
    compiler = next(filter(None, map(shutil.which, ("cc", "clang", "gcc"))), None)
    if compiler is None:
        skip("there is no C compiler to make a wrong clock with")
    library = world.root / "wrong_clock.so"
    source = Path(__file__).with_name("wrong_clock.c")
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)
    return library


def set_clock(peer, library, seconds_ahead):
    """From its next start or verb on."""
    peer.environment = {**os.environ, "LD_PRELOAD": str(library), "WRONG_CLOCK_SECONDS": str(seconds_ahead)}


def reasons_to_wait(peer):
    return [item["reason"] for item in peer.status()["waiting"]]


def newest_stamp_milliseconds(peer):
    """Of the changes that count: a held one may be stamped with anything."""
    return max(item["updated_at"] for item in peer.objects().values())


def check_doctor(peer):
    """A clock is no damage."""
    report = peer.json("doctor")
    check(report["healthy"], f"the doctor of {peer.name} finds: {report['findings']}")
    return peer.run("doctor")


class Ahead:
    """Two devices, of which the laptop has written with a clock that was a day ahead, and the desk has it."""

    def __init__(self, world, library, *others):
        self.library = library
        self.laptop, self.desk, *self.others = world.paired("laptop", "desk", *others)
        self.agreement = Agreement()
        self.note = self.desk.create("note", "k=start")
        everyone = [self.laptop, self.desk, *self.others]
        self.meet(everyone)
        self.agreement.settle(everyone)
        for peer in everyone:
            peer.stop()
        set_clock(self.laptop, library, DAY_SECONDS)
        self.laptop.run("set", self.note, "k=poison")
        self.early = self.laptop.create("note", "text=written a day ahead")
        check_doctor(self.laptop)

    def meet(self, peers):
        address = peers[0].start()
        for peer in peers[1:]:
            peer.start(peers=[address])

    def check_held(self, peer):
        """The changes of the laptop are here, and wait."""
        wait_until(lambda: reasons_to_wait(peer) == ["held"], 20, f"{peer.name} shows that something is held")
        for shown in (peer.run("status"), check_doctor(peer)):
            check("laptop" in shown and "future" in shown, f"{peer.name} does not name the device: {shown}")
            check("peerd restamp" in shown, f"{peer.name} does not name the command: {shown}")
        check(self.early not in peer.objects(), "a change from tomorrow is applied today")
        check(any(op["status"] == "held" for op in peer.operations()), f"the held change is not in {peer.name}'s log")

    def check_arrived(self, peers):
        for peer in peers:
            wait_until(lambda: reasons_to_wait(peer) == [], 30, f"{peer.name} holds nothing any more")
        self.agreement.settle(peers)
        for peer in peers:
            check(self.early in peer.objects(), f"{peer.name}: what was written a day ahead does not arrive")
            shown = peer.objects()[self.note]["properties"]["k"]
            check(shown == "newer", f"{peer.name}: {shown!r} is in force over what was written later")
            (item,) = peer.json("conflicts")["properties"]
            lost = [write["value"] for write in item["losers"]]
            check(lost == ["poison"], f"{peer.name}: conflicts lists {lost}")
            newest = newest_stamp_milliseconds(peer)
            check(newest < time.time() * 1000 + 60_000, f"{peer.name}: stamps from the future are in force")
            check_by_the_rules(peer)


def test_what_was_written_a_day_ahead_is_held_and_arrives_once_the_clock_is_right(world, library):
    story = Ahead(world, library)
    a, b, note = story.laptop, story.desk, story.note
    story.meet([a, b])
    story.check_held(b)
    check(b.objects()[note]["properties"]["k"] == "start", "a value from tomorrow won today")

    now = time.time() * 1000
    b.run("set", note, "k=newer")
    check(newest_stamp_milliseconds(b) < now + DAY_SECONDS * 1000 / 2, "the desk's own clock was dragged along")
    check("clock" in a.run("status").lower(), f"the laptop is not told of its clock: {a.run('status')}")

    # The clock is put right. The laptop's own changes are held by its own clock, until another one agrees with it.
    a.stop()
    b.stop()
    set_clock(a, library, 0)
    story.check_held(a)
    story.meet([a, b])
    story.check_arrived([a, b])
    a.run("set", note, "k=good")
    story.agreement.settle([a, b])
    for peer in (a, b):
        check(peer.objects()[note]["properties"]["k"] == "good", f"{peer.name}: the later edit does not win")
        peer.stop()


def test_a_command_brings_in_what_is_held_of_a_device_that_is_gone(world, library):
    story = Ahead(world, library, "phone")
    a, b, note = story.laptop, story.desk, story.note
    story.meet([a, b])
    story.check_held(b)
    a.kill()
    shutil.rmtree(a.directory)
    b.run("set", note, "k=newer")
    (phone,) = story.others
    phone.start(peers=[b.address])
    story.check_held(phone)
    done = phone.run("restamp")
    check("laptop" in done and "change" in done, f"restamp says {done!r}")
    story.check_arrived([b, phone])
    check(phone.run("restamp") == "Nothing is held.", "restamp finds something a second time")
    for peer in (b, phone):
        peer.stop()


def test_two_clocks_that_fall_behind_together_have_nothing_restamped(world, library):
    """Neither knows the time, so nothing that they wrote in time is restamped, by themselves or by command, and the
    newest write is in force in the end."""
    laptop, desk, phone = everyone = world.paired("laptop", "desk", "phone")
    agreement = Agreement()
    note = desk.create("note", "k=start")

    def meet_in_time():
        address = desk.start()
        for peer in (laptop, phone):
            peer.start(peers=[address])
        agreement.settle(everyone)

    meet_in_time()
    for peer in everyone:
        peer.stop()
    phone.run("set", note, "k=older")
    laptop.run("set", note, "k=newest")
    desk.run("set", note, "j=in time")
    for peer in (laptop, desk):
        set_clock(peer, library, -3 * 3600)
    laptop.start(peers=[desk.start()])
    wait_until(lambda: laptop.status()["peers_online"] == 1, 20, "the two meet")
    for peer in (laptop, desk):
        for shown in (peer.run("status"), check_doctor(peer)):
            check("has shown" in shown and "--clock-is-right" in shown, f"{peer.name} says of its clock: {shown}")
        result = peer.result("restamp")
        check(result.returncode == 1 and b"clock" in result.stderr, f"{peer.name}: restamp says {result}")
    for peer in (laptop, desk):
        peer.stop()
        set_clock(peer, library, 0)
    meet_in_time()
    for peer in everyone:
        properties = peer.objects()[note]["properties"]
        check(properties == {"k": "newest", "j": "in time"}, f"{peer.name} shows {properties}")
        check(reasons_to_wait(peer) == [], f"{peer.name} holds something: {peer.status()['waiting']}")
        check("has shown" not in peer.run("doctor"), f"{peer.name} doubts its clock, which is right")
        check_by_the_rules(peer)
        peer.stop()


def of_the_other(peer):
    """What one of two machines shows of the other."""
    (entry,) = [entry for entry in peer.json("peers") if entry["device"]]
    return entry


def test_held_changes_are_not_called_in_sync(world, library):
    fast, right = world.paired("fast", "right")
    set_clock(fast, library, DAY_SECONDS)
    fast.create("note", "title=from tomorrow")
    right.start()
    fast.start(peers=[right.address])
    wait_until(lambda: right.status()["waiting"], 30, "the change is held")
    wait_until(lambda: of_the_other(right)["in_sync"], 30, "everything is exchanged")
    status = right.status()
    check(not status["in_sync"], f"changes that are held are called in sync: {status}")
    text = right.run("status")
    check("in sync" not in text and "values may differ" in text, text)
    # Where they were written, too: nothing is held there, but others do not show what this machine shows.
    wait_until(lambda: of_the_other(fast)["in_sync"], 30, "everything is exchanged, as the author sees it")
    status = fast.status()
    check(not status["in_sync"] and not status["waiting"], f"their author says that all is in sync: {status}")
    check(of_the_other(fast)["holds_until_ms"] and not of_the_other(right)["holds_until_ms"], "who holds them")
    for verb in ("status", "peers", "sync"):
        text = fast.run(verb)
        check("in sync" not in text and "held there until" in text, f"{verb}: {text}")
    check(not fast.json("sync")["in_sync"], "a sync of the author ends in sync")
    # In order again, by their author's right clock: now it is true.
    set_clock(fast, library, 0)
    fast.restart(peers=[right.address])
    for peer in (fast, right):
        wait_until(lambda: peer.status()["in_sync"], 60, f"{peer.name} is in sync once the clock is right")
        check("in sync" in peer.run("status") and of_the_other(peer)["holds_until_ms"] is None, peer.run("status"))
    fast.stop()
    right.stop()
