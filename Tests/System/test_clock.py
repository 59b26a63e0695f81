#!/usr/bin/env python3
"""A device whose clock is a day ahead: its changes are held elsewhere and shown with its name, and drag nobody's clock
along. They arrive once its clock is right, or if that never happens, by a command elsewhere; what was written meanwhile
stays in force."""

# time limit: 300 s

import os
import shutil
import subprocess
import time
from pathlib import Path

import naive_state
from peerd_harness import Agreement, World, check, digest, main_of_test, say, skip, wait_until

DAY_SECONDS = 24 * 3600


def build_library(folder):
    """The library with which a program's wall clock, and only that, is wrong."""
    compiler = next(filter(None, map(shutil.which, ("cc", "clang", "gcc"))), None)
    if compiler is None:
        skip("there is no C compiler to make a wrong clock with")
    library = folder / "wrong_clock.so"
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
        state = self.agreement.settle(peers)
        for peer in peers:
            check(self.early in peer.objects(), f"{peer.name}: what was written a day ahead does not arrive")
            shown = peer.objects()[self.note]["properties"]["k"]
            check(shown == "newer", f"{peer.name}: {shown!r} is in force over what was written later")
            (item,) = peer.json("conflicts")["properties"]
            lost = [write["value"] for write in item["losers"]]
            check(lost == ["poison"], f"{peer.name}: conflicts lists {lost}")
            newest = newest_stamp_milliseconds(peer)
            check(newest < time.time() * 1000 + 60_000, f"{peer.name}: stamps from the future are in force")
            check_doctor(peer)
            lines = naive_state.differences_at(peer)
            check(not lines, f"{peer.name} shows another state than its log: {lines[:5]}")
        return state


def put_right(world, library):
    story = Ahead(world, library)
    a, b, note = story.laptop, story.desk, story.note
    story.meet([a, b])
    story.check_held(b)
    check(b.objects()[note]["properties"]["k"] == "start", "a value from tomorrow won today")
    say("held at the desk, and shown with the device's name")

    now = time.time() * 1000
    b.run("set", note, "k=newer")
    check(newest_stamp_milliseconds(b) < now + DAY_SECONDS * 1000 / 2, "the desk's own clock was dragged along")
    check("clock" in a.run("status").lower(), f"the laptop is not told of its clock: {a.run('status')}")
    say("the desk's own stamps did not jump; the laptop is told that its clock is ahead")

    # The clock is put right. The laptop's own changes are held by its own clock, until another one agrees with it.
    a.stop()
    b.stop()
    set_clock(a, library, 0)
    story.check_held(a)
    story.meet([a, b])
    state = story.check_arrived([a, b])
    a.run("set", note, "k=good")
    story.agreement.settle([a, b])
    for peer in (a, b):
        check(peer.objects()[note]["properties"]["k"] == "good", f"{peer.name}: the later edit does not win")
        peer.stop()
    say(f"once the clock is right everything arrives and the later edits win; sha256 {digest(state)[:16]}")


def gone_for_good(world, library):
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
    state = story.check_arrived([b, phone])
    check(phone.run("restamp") == "Nothing is held.", "restamp finds something a second time")
    for peer in (b, phone):
        peer.stop()
    say(f"with the laptop gone a command on the phone brings everything in; sha256 {digest(state)[:16]}")


def both_behind(world, library):
    """Laptop and desk fall three hours behind and meet. Neither knows the time, so nothing that they wrote in time is
    restamped, by themselves or by command, and the newest write is in force in the end."""

    laptop, desk, phone = everyone = world.paired("laptop", "desk", "phone")
    agreement = Agreement()
    note = desk.create("note", "k=start")

    def meet_in_time():
        address = desk.start()
        for peer in (laptop, phone):
            peer.start(peers=[address])
        return agreement.settle(everyone)

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
    state = meet_in_time()
    for peer in everyone:
        properties = peer.objects()[note]["properties"]
        check(properties == {"k": "newest", "j": "in time"}, f"{peer.name} shows {properties}")
        check(reasons_to_wait(peer) == [], f"{peer.name} holds something: {peer.status()['waiting']}")
        check("has shown" not in check_doctor(peer), f"{peer.name} doubts its clock, which is right")
        lines = naive_state.differences_at(peer)
        check(not lines, f"{peer.name} shows another state than its log: {lines[:5]}")
        peer.stop()
    say(f"two clocks that fall behind together have nothing restamped; sha256 {digest(state)[:16]}")


def run():
    for story in (put_right, gone_for_good, both_behind):
        with World("clock") as world:
            story(world, build_library(world.root))


if __name__ == "__main__":
    main_of_test(run)
