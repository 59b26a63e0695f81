"""kill -9 of a daemon at random moments, while it is written to and other programs read its database: nothing
acknowledged is lost, the database stays whole, and the peers converge."""

import contextlib
import json
import os
import random
import sqlite3
import threading
import time

import pytest

from peerd_harness import Agreement, CheckFailed, CommandFailed, check, digest, free_port, say

KILLS = int(os.environ.get("PEERD_KILLS", "25"))
WRITERS_PER_PEER = 2
INTEGRITY_EVERY = 5
COMPARE_EVERY = 10
RESTART_SECONDS = 30


class Worker(threading.Thread):
    """Does one thing to a peer again and again, until it is ended."""

    def __init__(self, peer, seed):
        super().__init__(daemon=True)
        self.peer = peer
        self.random = random.Random(seed)
        self.may_work = threading.Event()
        self.is_idle = threading.Event()
        self.ended = False
        self.failure = None

    def run(self):
        while not self.ended and self.failure is None:
            if not self.may_work.is_set():
                self.is_idle.set()
                self.may_work.wait(0.2)
                continue
            self.is_idle.clear()
            try:
                self.work()
            except Exception as error:
                self.failure = error
        self.is_idle.set()

    def pause(self):
        self.may_work.clear()

    def resume(self):
        self.is_idle.clear()
        self.may_work.set()


class Writer(Worker):
    """Writes through the command line as fast as it can, and keeps what was acknowledged.

    A verb whose daemon dies has failed, and nothing is claimed of what it wrote.
    """

    def __init__(self, peer, label, shared, seed):
        super().__init__(peer, seed)
        self.label = label
        self.shared = shared
        self.sets = []
        self.created = []
        self.refused = 0
        self.count = 0

    def work(self):
        self.count += 1
        try:
            self.write(f"{self.label}-{self.count}")
        except CommandFailed as error:
            self.refused += 1
            check(error.error.strip(), f"a verb failed with exit code {error.code} without a word")

    def write(self, text):
        if self.random.random() < 0.6:
            # Most land on properties that the others write as well.
            self.peer.run("set", self.shared, f"contended={text}", f"{self.label}={self.count}")
            self.sets.append(text)
        else:
            self.created.append((self.peer.create("item", f"made={text}"), text))

    @property
    def acknowledged(self):
        return len(self.sets) + len(self.created)


class OutsideReader(Worker):
    """Reads the database as any SQLite client does.

    Such a client recovers the write-ahead log after a kill. Whoever closes the last connection moves the log into the
    database and removes it, so the connections of the daemon must count.
    """

    def __init__(self, peer, seed):
        super().__init__(peer, seed)
        self.reads = 0
        self.most = 0

    def work(self):
        with contextlib.closing(sqlite3.connect(self.peer.directory / "peerd.sqlite", isolation_level=None)) as reader:
            reader.execute("BEGIN")
            seen = self.count(reader)
            check(seen >= self.most, f"a reader beside {self.peer.name} sees {seen} objects after {self.most}")
            # A kill or a start of the daemon falls into some of these.
            time.sleep(self.random.uniform(0, 0.05))
            check(self.count(reader) == seen, f"an older state of {self.peer.name} has changed under its reader")
        self.reads += 1
        self.most = seen

    def count(self, reader):
        return reader.execute("SELECT count(*) FROM objects").fetchone()[0]


class Network:
    """Two peers that know each other's addresses, and the threads that work on each."""

    def __init__(self, world, draw):
        self.peers = world.paired("a", "b")
        self.ports = {peer: free_port() for peer in self.peers}
        self.shared = self.peers[0].create("shared")
        for peer in self.peers:
            self.restart(peer)
        self.agreement = Agreement()
        self.agreement.settle(self.peers)
        self.writers = [
            Writer(peer, f"{peer.name}{number}", self.shared, draw.random())
            for peer in self.peers
            for number in range(WRITERS_PER_PEER)
        ]
        self.readers = [OutsideReader(peer, draw.random()) for peer in self.peers]
        self.workers = [*self.writers, *self.readers]
        for worker in self.workers:
            worker.start()
            worker.resume()

    def restart(self, peer):
        others = [f"127.0.0.1:{port}" for other, port in self.ports.items() if other is not peer]
        peer.start(listen=f"127.0.0.1:{self.ports[peer]}", peers=others)

    def restart_against_writers(self, peer):
        """A verb may hold the directory just now; a service manager would start the daemon again, too."""
        deadline = time.monotonic() + RESTART_SECONDS
        mine = [writer for writer in self.writers if writer.peer is peer]
        while True:
            try:
                self.restart(peer)
                break
            except CheckFailed as error:
                check("ended with" in str(error), str(error))
                if time.monotonic() > deadline:
                    raise
            # On a slow machine one verb after the other would come first.
            for writer in mine:
                writer.pause()
            time.sleep(0.1)
        for writer in mine:
            writer.resume()

    @contextlib.contextmanager
    def standstill(self, *peers):
        """Nobody writes to these peers or reads them from outside meanwhile."""
        mine = [worker for worker in self.workers if worker.peer in peers]
        for worker in mine:
            worker.pause()
        for worker in mine:
            check(worker.is_idle.wait(60), "a thread hangs")
        yield
        for worker in mine:
            worker.resume()

    def check_whole(self, peer):
        """Looks at the files as a kill left them, before anybody repairs anything."""
        with self.standstill(peer):
            peer.kill()
            check_integrity(peer)
            self.restart(peer)

    def compare(self):
        with self.standstill(*self.peers):
            self.agreement.settle(self.peers, 120)

    def check_workers(self):
        for worker in self.workers:
            if worker.failure is not None:
                raise worker.failure

    def end_workers(self):
        for worker in self.workers:
            worker.ended = True
            worker.may_work.set()
        for worker in self.workers:
            worker.join()
        self.check_workers()

    def check_nothing_lost(self):
        for peer in self.peers:
            objects = peer.objects()
            in_log = {}
            for op in peer.operations():
                if "set" in op["action"]:
                    write = op["action"]["set"]
                    in_log.setdefault((op["object"], write["name"]), set()).add(json.dumps(write["value"]))
            texts = in_log.get((self.shared, "contended"), set())
            for writer in self.writers:
                for identity, text in writer.created:
                    check(identity in objects, f"{peer.name} lost the object {text}")
                    check(objects[identity]["properties"]["made"] == text, f"{peer.name} lost the value of {text}")
                for text in writer.sets:
                    check(json.dumps(text) in texts, f"{peer.name} lost the write {text} from its history")
                if writer.sets:
                    last = int(writer.sets[-1].rsplit("-", 1)[1])
                    value = objects[self.shared]["properties"][writer.label]
                    check(value >= last, f"{peer.name} shows {value} of {writer.label}, who wrote {last}")


def check_integrity(peer):
    files = [path for path in peer.directory.rglob("*") if path.is_file() and is_database(path)]
    check(files, f"no database in {peer.directory}")
    for path in files:
        with contextlib.closing(sqlite3.connect(path)) as database:
            rows = [row[0] for row in database.execute("PRAGMA integrity_check")]
            check(rows == ["ok"], f"{path}: {rows[:5]}")
            check(not database.execute("PRAGMA foreign_key_check").fetchall(), f"{path}: foreign keys do not hold")


def is_database(path):
    with open(path, "rb") as file:
        return file.read(16) == b"SQLite format 3\0"


@pytest.mark.timeout(max(300, KILLS * 8))
def test_kills_at_any_moment_lose_nothing(world, draw):
    network = Network(world, draw)
    for number in range(1, KILLS + 1):
        victim = draw.choice(network.peers)
        # Short delays hit the start and the first sync as well as the writes.
        time.sleep(draw.choice([draw.uniform(0, 0.05), draw.uniform(0.05, 0.6)]))
        victim.kill()
        if draw.random() < 0.5:
            # Half of the time the verbs find no daemon for a while, and open the directory themselves.
            time.sleep(draw.uniform(0, 0.1))
        network.restart_against_writers(victim)
        network.check_workers()
        if number % INTEGRITY_EVERY == 0:
            network.check_whole(victim)
        if number % COMPARE_EVERY == 0:
            network.compare()
    network.end_workers()
    state = network.agreement.settle(network.peers, 120)
    network.check_nothing_lost()
    for peer in network.peers:
        peer.stop()
        check_integrity(peer)
    written, refused = (sum(counts) for counts in zip(*((w.acknowledged, w.refused) for w in network.writers)))
    reads = [reader.reads for reader in network.readers]
    say(f"{written} writes acknowledged, {refused} refused or cut off; {reads} outside reads; {digest(state)}")
    check(written > KILLS, "too few writes came through to show anything")
    check(min(reads) > KILLS, "too few reads came through to show anything")
