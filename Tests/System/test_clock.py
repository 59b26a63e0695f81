#!/usr/bin/env python3
"""A device whose clock is a day ahead: its changes are held elsewhere and shown with its name, and drag nobody's clock
along. They arrive once its clock is right, or if that never happens, by a command elsewhere; what was written meanwhile
stays in force."""

# time limit: 300 s

import ctypes.util
import glob
import os
import shutil
import time

import naive_state
from peerd_harness import Agreement, World, check, digest, main_of_test, say, skip, wait_until

LIBRARY_PLACES = ("/usr/lib/*/faketime/libfaketime.so.1", "/usr/lib/faketime/libfaketime.so.1")
DAY_MILLISECONDS = 24 * 3600 * 1000


def fake_clock_library():
    for pattern in LIBRARY_PLACES:
        for path in glob.glob(pattern):
            return path
    return ctypes.util.find_library("faketime")


def ahead(library, offset):
    """The environment of a process whose wall clock, and only that, is off."""
    return {
        **os.environ,
        "LD_PRELOAD": library,
        "FAKETIME": offset,
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "FAKETIME_FORCE_MONOTONIC_FIX": "0",
    }


def set_clock(peer, environment, is_fake):
    """The library must be loaded first in another program, which then becomes ours: it rewrites the environment of the
    first, and Swift looks for its arguments beside that."""
    peer.environment = environment
    peer.prefix = ["env"] if is_fake else []


def shared_memory():
    return set(glob.glob("/dev/shm/faketime_shm_*") + glob.glob("/dev/shm/sem.faketime_sem_*"))


def remove_leftovers(before):
    """What the library leaves behind for processes that are gone."""
    for path in shared_memory() - before:
        if not os.path.exists("/proc/" + path.rsplit("_", 1)[1]):
            os.unlink(path)


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
        self.right = self.laptop.environment
        self.agreement = Agreement()
        self.note = self.desk.create("note", "k=start")
        everyone = [self.laptop, self.desk, *self.others]
        self.meet(everyone)
        self.agreement.settle(everyone)
        for peer in everyone:
            peer.stop()
        set_clock(self.laptop, ahead(library, "+1d"), is_fake=True)
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
    check(newest_stamp_milliseconds(b) < now + DAY_MILLISECONDS / 2, "the desk's own clock was dragged along")
    check("clock" in a.run("status").lower(), f"the laptop is not told of its clock: {a.run('status')}")
    say("the desk's own stamps did not jump; the laptop is told that its clock is ahead")

    # The clock is put right. The laptop's own changes are held by its own clock, until another one agrees with it.
    a.stop()
    b.stop()
    set_clock(a, story.right, is_fake=False)
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


def run():
    library = fake_clock_library()
    if library is None:
        skip("libfaketime is not here (Debian: apt-get install faketime)")
    before = shared_memory()
    for story in (put_right, gone_for_good):
        with World("clock") as world:
            world.closers.append(lambda: remove_leftovers(before))
            story(world, library)


if __name__ == "__main__":
    main_of_test(run)
