#!/usr/bin/env python3
"""Erasure on real machines: no file of any of them holds a byte of what was forgotten, the state stays what it is, and
every signature holds. An edit that a machine made offline stays, a newcomer gets no erased value, and kill -9 at any
moment leaves nothing behind.
"""

import contextlib
import json
import random
import sqlite3
import time

from peerd_harness import World, check, main_of_test, say, wait_until

SEED = random.randrange(1 << 32)
KILLS = 6


def holds(peer, secret):
    """The files of a machine that hold a text."""
    found = []
    for path in sorted(peer.directory.rglob("*")):
        if path.is_file() and not path.is_socket() and secret.encode() in path.read_bytes():
            found.append(path.name)
    return found


def gone(secret, *peers, seconds=90):
    """Waits until no file of any machine holds a text."""
    wait_until(lambda: not any(holds(peer, secret) for peer in peers), seconds, f"“{secret}” is gone everywhere")


def in_step(*peers):
    """Waits until all have the same."""
    wait_until(lambda: len({json.dumps(peer.frontier()) for peer in peers}) == 1, 60, "all have the same changes")
    exports = {peer.export() for peer in peers}
    check(len(exports) == 1, "the same changes make different states")
    return exports.pop()


def check_healthy(*peers):
    for peer in peers:
        report = peer.json("doctor")
        check(report["healthy"], f"{peer.name}: {report}")


def check_readers(first, second, note):
    """Another program reads an older state of the database on either machine, which keeps the log of SQLite."""
    say("somebody reads an older state meanwhile")
    for reading in (second, first):
        secret = f"secret-that-{reading.name}-reads"
        first.run("set", note, f"text={secret}")
        in_step(first, second)
        path = reading.directory / "peerd.sqlite"
        with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, isolation_level=None)) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM objects").fetchone()
            first.run("set", note, "text=harmless")
            text = first.run("forget", note, "text")
            in_step(first, second)
            if reading is first:
                check("may hold erased bytes still" in text and "reads an older state" in text, f"forget says {text}")
            wait_until(
                lambda: any(finding["subject"] == "erasures" for finding in reading.json("doctor")["findings"]), 30,
                "doctor tells that erased bytes may be left",
            )
            time.sleep(3)
            check(holds(reading, secret), "the reader hinders nothing: the test shows nothing")
            check(reader.execute("SELECT count(*) FROM objects").fetchone()[0] > 0, "the reader reads")
        # Soon, and not only when the files may be written anew again.
        gone(secret, first, second, seconds=15)
        wait_until(
            lambda: not any(finding["subject"] == "erasures" for finding in reading.json("doctor")["findings"]), 90,
            "doctor finds nothing more",
        )


def check_kills(draw, world, first, second, note):
    """Erasures whose machine is killed, or the one that gets them, at any moment."""
    for number in range(KILLS):
        secret = f"killed-secret-{number}-" + "s" * draw.choice([1, 90, 5000])
        for value in (secret, secret + "again", "harmless"):
            first.run("set", note, f"text={value}")
        in_step(first, second)
        victim = first if number % 2 == 0 else second
        process = first.begin("forget", note, "text")
        time.sleep(draw.random() * 0.3)
        victim.kill()
        process.wait()
        victim.start(peers=[] if victim is first else [first.address])
        if victim is first:
            second.restart(peers=[first.address])
        # What was not written by then is asked for again.
        first.run("forget", note, "text")
        in_step(first, second)
        gone(f"killed-secret-{number}-", first, second)
        check(first.json("get", note, "text") == "harmless", "a kill changed the value")
    check_healthy(first, second)
    say(f"{KILLS} erasures survived a kill")


def main():
    draw = random.Random(SEED)
    say(f"seed {SEED}")
    with World("forget") as world:
        first, second, third = world.paired("first", "second", "third")
        first.start()
        second.start(peers=[first.address])
        third.start(peers=[first.address])
        note = first.create("note", "title=begun", "text=first-secret")
        second_note = first.create("note", "title=other", "text=kept-secret")
        first.run("set", note, "text=" + "large-secret" * 4000, "title=small-secret")
        first.run("set", note, "text=public", "title=plain")
        in_step(first, second, third)
        secrets = ["first-secret", "large-secret", "small-secret"]
        for peer in (first, second, third):
            for secret in secrets:
                check(holds(peer, secret), f"{peer.name} does not hold “{secret}” before: the test shows nothing")

        # The third is away and edits; what it has not seen, and what was not seen of it, stays.
        third.stop()
        third.run("set", note, "title=from afar")
        before = {id: item["properties"] for id, item in first.objects().items()}
        report = first.json("forget", note, "text")
        check(report["erased_writes"] == 2 and not report["pending"] and report["file_failure"] is None, f"{report}")
        # At once on this machine, without another word.
        for secret in ("first-secret", "large-secret"):
            check(not holds(first, secret), f"{holds(first, secret)} of the first machine hold “{secret}”")
        first.json("forget", note, "title")
        check(not holds(first, "small-secret"), "the first machine holds a small value")
        again = first.json("forget", note, "title")
        check(again["erased_writes"] == 0, f"erased again: {again}")
        in_step(first, second)
        for secret in secrets:
            gone(secret, first, second)
        check(holds(first, "kept-secret") and holds(second, "kept-secret"), "another object lost its past")

        after = {id: item["properties"] for id, item in first.objects().items()}
        check(after == before, "an erasure changed the state")
        check_healthy(first, second)
        lines = first.operations("--object", note)
        check(any(line["kind"] == "erase" for line in lines), f"the log does not say so: {lines}")
        done = first.result("history", note, "text")
        check(b"earlier values erased" in done.stdout, f"the history does not say so: {done}")

        # What cannot be.
        check(first.result("forget", note, "never").returncode == 3, "a property that never was")
        check(first.result("forget", "00000000-0000-4000-8000-000000000000", "text").returncode == 3, "no object")

        # A newcomer gets no erased value.
        fourth = world.peer("fourth")
        fourth.run("join", first.run("invite").split()[-1], "--name", "fourth")
        fourth.start(peers=[first.address])
        in_step(first, second, fourth)
        for secret in secrets:
            check(not holds(fourth, secret), f"a newcomer got “{secret}”")
        check_healthy(fourth)

        # The third comes back with its edit, which is a conflict or counts, and loses what was forgotten.
        third.start(peers=[first.address, second.address])
        in_step(first, second, third, fourth)
        for secret in secrets:
            gone(secret, third)
        for peer in (first, second, third, fourth):
            log = json.dumps(peer.operations("--object", note))
            check("from afar" in log, f"{peer.name} lost an edit of the one who was away")
            check_healthy(peer)

        # An open branch bars what it shows.
        first.run("set", second_note, "text=branch-secret")
        first.run("branch", "create", "plan")
        first.run("set", second_note, "text=after")
        barred = first.result("forget", second_note, "text")
        check(barred.returncode == 1 and b"plan" in barred.stderr, f"a branch that shows it: {barred}")
        first.run("branch", "merge", "main", "--into", "plan")
        report = first.json("forget", second_note, "text")
        check(report["pending"] and report["erased_writes"] > 0, f"a branch that shows the last value: {report}")
        check(not holds(first, "branch-secret"), "the branch did not show it")
        first.run("branch", "switch", "plan")
        check(first.json("get", second_note, "text") == "after", "a branch that cannot be read any more")
        check(first.result("forget", second_note, "text").returncode == 2, "an erasure on a branch")
        first.run("branch", "switch", "main")
        first.run("branch", "delete", "plan")
        in_step(first, second, third, fourth)
        for secret in ("branch-secret", "kept-secret"):
            gone(secret, first, second, third, fourth)
        check_healthy(first, second, third, fourth)

        third.stop()
        fourth.stop()
        check_readers(first, second, note)
        check_kills(draw, world, first, second, note)
        say("nothing of what was forgotten is left")


if __name__ == "__main__":
    main_of_test(main)
