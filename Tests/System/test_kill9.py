#!/usr/bin/env python3
"""kill -9 of a daemon at random moments while it is written to, 200 times: nothing acknowledged is lost, the database
stays whole, and the peers converge."""

# time limit: 1500 s

import json
import random
import sqlite3
import threading
import time
from pathlib import Path

from peerd_harness import (
    Agreement,
    CheckFailed,
    CommandFailed,
    World,
    check,
    digest,
    free_port,
    main_of_test,
    say,
    seed_from_arguments,
)

KILLS = 200
WRITERS_PER_PEER = 2
INTEGRITY_EVERY = 10
COMPARE_EVERY = 50
RESTART_SECONDS = 30


class Writer(threading.Thread):
    """Writes through the command line as fast as it can, and keeps what was acknowledged.

    A verb whose daemon dies has failed, and nothing is claimed of what it wrote.
    """

    def __init__(self, peer, label, shared, seed):
        super().__init__(daemon=True)
        self.peer = peer
        self.label = label
        self.shared = shared
        self.random = random.Random(seed)
        self.sets = []
        self.created = []
        self.failures = 0
        self.unexpected = []
        self.may_write = threading.Event()
        self.is_idle = threading.Event()
        self.ended = False
        self.count = 0

    def run(self):
        while not self.ended:
            if not self.may_write.is_set():
                self.is_idle.set()
                self.may_write.wait(0.2)
                continue
            self.is_idle.clear()
            self.count += 1
            try:
                self.write()
            except CommandFailed as error:
                self.failures += 1
                if not error.error.strip():
                    self.unexpected.append(f"exit code {error.code} without a word")
        self.is_idle.set()

    def write(self):
        text = f"{self.label}-{self.count}"
        draw = self.random.random()
        if draw < 0.6:
            # Most land on properties that the others write as well.
            self.peer.run("set", self.shared, f"contended={text}", f"{self.label}={self.count}")
            self.sets.append(text)
        else:
            self.created.append((self.peer.create("item", f"made={text}"), text))

    def pause(self):
        self.may_write.clear()

    def resume(self):
        self.is_idle.clear()
        self.may_write.set()


def run():
    seed = seed_from_arguments()
    draw = random.Random(seed)
    began = time.monotonic()
    with World("kill9") as world:
        peers = world.paired("a", "b")
        ports = [free_port() for _ in peers]
        shared = peers[0].create("shared")
        for peer in peers:
            restart(peer, peers, ports)
        agreement = Agreement()
        agreement.settle(peers)

        writers = [
            Writer(peer, f"{peer.name}{number}", shared, draw.random())
            for peer in peers
            for number in range(WRITERS_PER_PEER)
        ]
        for writer in writers:
            writer.start()
            writer.resume()
        for number in range(1, KILLS + 1):
            victim = draw.choice(peers)
            # Short delays hit the start and the first sync as well as the writes.
            time.sleep(draw.choice([draw.uniform(0, 0.05), draw.uniform(0.05, 0.6)]))
            victim.kill()
            if draw.random() < 0.5:
                # Half of the time the verbs find no daemon for a while, and open the directory themselves.
                time.sleep(draw.uniform(0, 0.1))
            restart_against_writers(victim, peers, ports, writers)
            if number % INTEGRITY_EVERY == 0:
                check_whole(victim, peers, ports, writers)
            if number % COMPARE_EVERY == 0:
                compare(agreement, peers, writers, number)
        for writer in writers:
            writer.ended = True
            writer.may_write.set()
        for writer in writers:
            writer.join()
        state = agreement.settle(peers, 120)
        check_nothing_lost(peers, writers, shared)
        for peer in peers:
            peer.stop()
            check_integrity(peer)
        written = sum(len(writer.sets) + len(writer.created) for writer in writers)
        failed = sum(writer.failures for writer in writers)
        say(
            f"{KILLS} kills in {time.monotonic() - began:.0f} s; {written} writes acknowledged, {failed} refused or "
            f"cut off, none lost; sha256 {digest(state)}"
        )
        check(written > KILLS, "too few writes came through to show anything")
        problems = [text for writer in writers for text in writer.unexpected]
        check(not problems, f"verbs failed without saying why: {problems[:3]}")


def restart(peer, peers, ports):
    others = [f"127.0.0.1:{port}" for other, port in zip(peers, ports) if other is not peer]
    peer.start(listen=f"127.0.0.1:{ports[peers.index(peer)]}", peers=others)


def restart_against_writers(peer, peers, ports, writers):
    """A verb may hold the directory just now; a service manager would start the daemon again, too."""
    deadline = time.monotonic() + RESTART_SECONDS
    while True:
        try:
            return restart(peer, peers, ports)
        except CheckFailed as error:
            check("ended with" in str(error), str(error))
            if time.monotonic() > deadline:
                raise
            for writer in writers:
                if writer.peer is peer:
                    writer.pause()
            time.sleep(0.1)
        finally:
            for writer in writers:
                if writer.peer is peer:
                    writer.resume()


def check_whole(peer, peers, ports, writers):
    """Looks at the files as the kill left them, before anybody repairs anything."""
    mine = [writer for writer in writers if writer.peer is peer]
    for writer in mine:
        writer.pause()
    for writer in mine:
        check(writer.is_idle.wait(60), "a writer hangs")
    peer.kill()
    check_integrity(peer)
    restart(peer, peers, ports)
    for writer in mine:
        writer.resume()


def check_integrity(peer):
    files = database_files(peer)
    check(files, f"no database in {peer.directory}")
    for path in files:
        database = sqlite3.connect(path)
        try:
            rows = [row[0] for row in database.execute("PRAGMA integrity_check")]
            check(rows == ["ok"], f"{path}: {rows[:5]}")
            check(not database.execute("PRAGMA foreign_key_check").fetchall(), f"{path}: foreign keys do not hold")
        finally:
            database.close()


def database_files(peer):
    with_header = []
    for path in Path(peer.directory).rglob("*"):
        if path.is_file():
            with open(path, "rb") as file:
                if file.read(16) == b"SQLite format 3\0":
                    with_header.append(path)
    return with_header


def compare(agreement, peers, writers, number):
    for writer in writers:
        writer.pause()
    for writer in writers:
        check(writer.is_idle.wait(60), "a writer hangs")
    agreement.settle(peers, 120)
    say(f"  after {number} kills: equal, {sum(len(w.sets) + len(w.created) for w in writers)} writes acknowledged")
    for writer in writers:
        writer.resume()


def check_nothing_lost(peers, writers, shared):
    for peer in peers:
        objects = peer.objects()
        in_log = {}
        for op in peer.operations():
            if op["kind"] == "set":
                in_log.setdefault((op["object"], op["name"]), set()).add(json.dumps(op["value"]))
        for writer in writers:
            for identity, text in writer.created:
                check(identity in objects, f"{peer.name} lost the object {text}")
                check(objects[identity]["properties"]["made"] == text, f"{peer.name} lost the value of {text}")
            texts = in_log.get((shared, "contended"), set())
            for text in writer.sets:
                check(json.dumps(text) in texts, f"{peer.name} lost the write {text} from its history")
            if writer.sets:
                last = int(writer.sets[-1].rsplit("-", 1)[1])
                value = objects[shared]["properties"][writer.label]
                check(value >= last, f"{peer.name} shows {value} of {writer.label}, who wrote {last}")


if __name__ == "__main__":
    main_of_test(run)
