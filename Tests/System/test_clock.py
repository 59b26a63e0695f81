#!/usr/bin/env python3
"""A device whose clock is a day ahead: its changes are held elsewhere and shown with its name, drag nobody's clock
along, and arrive once its clock is right."""

# time limit: 300 s

import ctypes.util
import glob
import os
import time

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


def run():
    library = fake_clock_library()
    if library is None:
        skip("libfaketime is not here (Debian: apt-get install faketime)")
    before = shared_memory()
    with World("clock") as world:
        world.closers.append(lambda: remove_leftovers(before))
        a, b = world.paired("laptop", "desk")
        right = a.environment
        agreement = Agreement()
        address = a.start()
        b.start(peers=[address])
        note = b.create("note", "k=start")
        agreement.settle([a, b])
        a.stop()
        b.stop()

        set_clock(a, ahead(library, "+1d"), is_fake=True)
        a.run("set", note, "k=poison")
        early = a.create("note", "text=written a day ahead")
        a.start()
        b.start(peers=[a.address])
        wait_until(lambda: reasons_to_wait(b) == ["held"], 20, "b shows that something is held")
        shown = b.run("status")
        check("laptop" in shown and "future" in shown, f"b does not name the device: {shown}")
        check(early not in b.objects(), "a change from tomorrow is applied today")
        check(b.objects()[note]["properties"]["k"] == "start", "a value from tomorrow won today")
        check(any(op["status"] == "held" for op in b.operations()), "the held change is not in b's log")
        say("held at b, and shown with the device's name")

        now = time.time() * 1000
        b.run("set", note, "own=1")
        check(newest_stamp_milliseconds(b) < now + DAY_MILLISECONDS / 2, "b's own clock was dragged along")
        check("clock" in a.run("status").lower(), f"a is not told of its clock: {a.run('status')}")
        say("b's own stamps did not jump; a is told that its clock is ahead")

        # The clock of a is put right; what it wrote is authored anew, with a sane clock, and arrives.
        a.stop()
        set_clock(a, right, is_fake=False)
        a.start()
        b.restart(peers=[a.address])
        a.run("set", note, "j=1")
        state = agreement.settle([a, b], 60)
        check(early in b.objects(), "what was written a day ahead does not arrive")
        check(b.objects()[note]["properties"]["k"] == "poison", "the edit against the start is lost")
        b.run("set", note, "k=good")
        agreement.settle([a, b], 60)
        for peer in (a, b):
            check(peer.objects()[note]["properties"]["k"] == "good", f"{peer.name}: the later edit does not win")
            newest = newest_stamp_milliseconds(peer)
            check(newest < time.time() * 1000 + 60_000, f"{peer.name}: stamps from the future are in force")
        for peer in (a, b):
            peer.stop()
        say(f"after the clock is right everything arrives and the later edit wins; sha256 {digest(state)[:16]}")


if __name__ == "__main__":
    main_of_test(run)
