#!/usr/bin/env python3
"""Compaction on real machines: the state stays what it is on all of them, whoever compacts and whoever does not, also
for a newcomer, for a machine that was away, and after kill -9 at any moment. The file gets smaller.
"""

import json
import os
import random
import sqlite3
import subprocess
import threading
import time

from peerd_harness import DaemonSocket, World, check, main_of_test, program, say, wait_until

SEED = random.randrange(1 << 32)
OBJECTS = 6
NAMES = ["title", "text", "count"]
WRITES = 400
KILLS = 10
LARGE_VALUES, LARGE_VALUE_BYTES = 240, 1_000_000


def write(socket, draw, ids, number):
    """One transaction with a few writes, some of them large."""
    edits = []
    for _ in range(draw.randrange(1, 5)):
        value = {"title": f"title {number}", "text": f"{number}:" + "x" * draw.choice([3, 60, 900]), "count": number}
        name = draw.choice(NAMES)
        edits.append({"set": draw.choice(ids), "properties": {name: value[name]}})
    socket.ask("POST", "/api/transactions", {"edits": edits})


def versions(peer):
    """What any SQLite client reads: each property, with the number of its writes."""
    with sqlite3.connect(f"file:{peer.directory}/peerd.sqlite?mode=ro", uri=True) as database:
        return sorted(database.execute("SELECT object_id, name, value, version FROM properties"))


def database_bytes(peer):
    return os.path.getsize(peer.directory / "peerd.sqlite")


def in_step(*peers):
    """Waits until all have the same."""
    wait_until(lambda: len({json.dumps(peer.frontier()) for peer in peers}) == 1, 60, "all have the same changes")
    exports = {peer.export() for peer in peers}
    check(len(exports) == 1, "the same changes make different states")
    return exports.pop()


def check_healthy(peer):
    report = peer.json("doctor", "--verify")
    check(report["healthy"], f"{peer.name}: {report}")


def check_past(first, second, id, moment, old):
    """What one has dropped, it says; the other still shows it."""
    done = first.result("get", id, "title", "--at", moment)
    check(done.returncode == 3 and b"compaction" in done.stderr, f"the past of {first.name}: {done}")
    check(second.json("get", id, "title", "--at", moment) == old, f"the past of {second.name}")
    entries = first.json("history", id, "title")
    check(len(entries) >= 1, "a history without its last entry")


def check_kills(peer, draw, ids):
    """Compactions that are killed with the daemon, at any moment of theirs."""
    done = 0
    for _ in range(KILLS):
        with DaemonSocket(peer) as socket:
            for number in range(60):
                write(socket, draw, ids, number)
        before = peer.export()
        process = peer.begin("compact", "--keep", "0")
        time.sleep(draw.random() * 0.25)
        done += process.poll() is not None
        peer.kill()
        process.wait()
        peer.start()
        check(peer.export() == before, "a compaction that was killed changed something")
    check_healthy(peer)
    say(f"{done} of {KILLS} compactions were done before the kill")


def check_memory():
    """A compaction of a large database takes memory for a part of it only, also where it makes the file smaller."""
    with World("compact-large") as world:
        peer = world.founder("large")
        peer.start()
        with DaemonSocket(peer) as socket:
            for number in range(LARGE_VALUES):
                socket.create("note", {"text": str(number % 10) * LARGE_VALUE_BYTES})
            small = socket.create("note", {"count": 1})
        peer.run("set", small, "count=2")
        peer.run("set", small, "count=3")
        peer.stop()
        command = [program(), "compact", "--keep", "0", "--dir", str(peer.directory)]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        check(process.returncode == 0, f"the compaction ended with {process.returncode}")
        peak, file = usage.ru_maxrss << 10, database_bytes(peer)
        check(file > LARGE_VALUES * LARGE_VALUE_BYTES, f"the database has {file} bytes")
        check(peak < file * 3 // 4, f"a compaction of {file} bytes took {peak} bytes of memory")
        say(f"a compaction of {file} bytes took {peak} bytes of memory")


def main():
    check_memory()
    draw = random.Random(SEED)
    say(f"seed {SEED}")
    with World("compact") as world:
        first, second, third = world.paired("first", "second", "third")
        first.start()
        second.start(peers=[first.address])
        third.start(peers=[first.address])
        ids = [first.create("note", "title=begun") for _ in range(OBJECTS)]
        first.run("set", ids[0], "title=early")
        in_step(first, second, third)
        early = first.json("get", ids[0], "title")
        with DaemonSocket(first) as socket:
            moment = socket.ask("GET", "/api/moment")["moment"]
        # The third is away from here on, and edits.
        third.stop()
        third.run("set", ids[0], "title=from afar")
        third.run("set", ids[1], "count=-1")
        for peer in (first, second):
            with DaemonSocket(peer) as socket:
                for number in range(WRITES):
                    write(socket, draw, ids, number)
        with DaemonSocket(first) as socket:
            for title, id in [(title, id) for title in ("older", "last") for id in ids]:
                socket.ask("POST", "/api/transactions", {"edits": [{"set": id, "properties": {"title": title}}]})
        state = in_step(first, second)
        numbers = versions(second)
        check(versions(first) == numbers, "two machines count versions differently")

        # What a machine lacks that was heard of lately is kept, however short the history shall be.
        for keep in ("0", "1h"):
            report = first.json("compact", "--dry-run", "--keep", keep)
            check(report["lacking_machines"] == ["third"] and report["dropped_writes"] == 0, f"lacking: {report}")
        for peer in (first, second):
            peer.run("peers", "forget", "third")
        dry = first.json("compact", "--keep", "0", "--dry-run")
        check(dry["dropped_writes"] > WRITES and dry["file_bytes_after"] is None, f"a dry run: {dry}")
        before = database_bytes(first)

        # The other one writes meanwhile.
        is_over = threading.Event()

        def keep_writing():
            with DaemonSocket(second) as socket:
                number = WRITES
                while not is_over.is_set():
                    write(socket, draw, ids[2:], number)
                    number += 1

        writer = threading.Thread(target=keep_writing)
        writer.start()
        report = first.json("compact", "--keep", "0")
        is_over.set()
        writer.join()
        check(report["dropped_writes"] >= dry["dropped_writes"] * 3 // 4, f"dropped {report}, of {dry}")
        check(report["file_bytes_after"] < before * 3 // 4, f"the file has {report['file_bytes_after']} of {before}")
        say(f"dropped {report['dropped_writes']} values; {before} bytes of database are {database_bytes(first)}")
        in_step(first, second)
        check(versions(first) == versions(second), "a compaction changed versions")
        check_healthy(first)
        check_past(first, second, ids[0], moment, early)
        again = first.json("compact", "--keep", "0")
        first.json("compact", "--keep", "0")
        check(again["dropped_writes"] < report["dropped_writes"], f"dropped again: {again}")

        # A newcomer gets what is left, and has the same; an undo names what it cannot bring back.
        fourth = world.peer("fourth")
        fourth.run("join", first.run("invite").split()[-1], "--name", "fourth")
        fourth.start(peers=[first.address])
        in_step(first, second, fourth)
        check(versions(fourth) == versions(second), "a newcomer counts versions differently")
        check_healthy(fourth)
        for text in ("one", "two"):
            first.run("set", ids[0], f"last={text}")
        in_step(first, second, fourth)

        def has_dropped_one():
            # What the others have acknowledged may be known a moment later than they show it.
            first.json("compact", "--keep", "0")
            lines = first.json("history", ids[0], "last")
            return [line["action"].get("set", {}).get("value") for line in lines] == ["two"]

        wait_until(has_dropped_one, 30, "the first of two values is dropped")
        undone = first.json("undo")
        check(undone[0]["kept"][0]["reason"] == "unknown", f"an undo of what was dropped: {undone}")
        check(undone[0]["has_effect"] is False, f"an undo without effect: {undone}")
        first.run("redo")
        text = first.run("undo")
        check("could not take back set last" in text and "its former value is not here any more" in text, text)
        check(first.json("get", ids[0], "last") == "two", "an undo without effect changed something")

        # The third comes back, meets only those that have compacted, and loses nothing.
        second.json("compact", "--keep", "0")
        third.start(peers=[first.address, second.address])
        in_step(first, second, third, fourth)
        for peer in (first, second, third, fourth):
            lines = peer.json("history", ids[1], "count", "--limit", "1000")
            values = [line["action"].get("set", {}).get("value") for line in lines]
            check(-1 in values, f"{peer.name} lost an edit of the one who was away")
        for peer in (first, second, third, fourth):
            check(versions(peer) == versions(first), f"{peer.name} counts versions differently")
            check_healthy(peer)
        check_kills(first, draw, ids)
        in_step(first, second, third, fourth)
        # Everything is as if it were computed anew, also by a machine that was emptied and joined once more.
        for peer in (first, second, third, fourth):
            check(versions(peer) == versions(second), f"{peer.name} counts versions differently in the end")
        say("the state is the same on all machines, before and after")


if __name__ == "__main__":
    main_of_test(main)
