"""What sharing costs between real daemons over loopback; see sharing.py."""

import json
import os
import random
import re
import sqlite3
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path

from compaction import DATABASE, database_bytes
from history import text
from object_tree import properties

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "Tests", "System"))

from peerd_harness import DaemonSocket, World, check, pair, run_together, wait_until  # noqa: E402 (see the line above)
from tcp_proxy import Proxy  # noqa: E402

# For so long no byte may pass until a session counts as quiet; the first sign of life comes after 15 s.
QUIET_SECONDS = 2.0
TRANSFER_SECONDS = 600.0


def row(what, value, bound=""):
    print(f"| {what} | {value} | {bound} |", flush=True)


def bound(shown, value, most):
    """What a value must not exceed, and whether it does."""
    return f"{shown}: missed" if value > most else shown


def ask(peer, method, path, body=None):
    with DaemonSocket(peer) as connection:
        return connection.ask(method, path, body)


def with_role(role):
    return {"role": role}


class Poll:
    """One connection to a daemon, for many questions in a row."""

    def __init__(self, peer):
        self.connection = DaemonSocket(peer)

    def until(self, path, predicate, seconds=30.0):
        """Asks again and again; returns when the answer was right first."""
        end = time.perf_counter() + seconds
        while True:
            answer = self.connection.ask("GET", path)
            now = time.perf_counter()
            if predicate(answer):
                return now
            check(now < end, f"not within {seconds:g} s: {path}")
            time.sleep(0.001)


class People:
    """The laptop of the founder, who owns all that is shared, and the machines of others."""

    def __init__(self, world):
        self.world = world
        self.laptop = world.founder("laptop")
        self.laptop.start()

    def person(self, name):
        """Somebody who was let in; his machine runs."""
        invite = next(word for word in self.laptop.run("invite", name).split() if word.startswith("peerd:2:"))
        peer = self.world.peer(name)
        peer.run("join", "--name", name, invite, seconds=60.0)
        peer.start(peers=[self.laptop.address])
        wait_until(lambda: name in [user["name"] for user in peer.json("users")], 60.0, f"{name} knows his name")
        return peer

    def machine(self, name):
        """A second machine of the founder, which does not run."""
        peer = self.world.peer(name)
        pair(self.laptop, peer)
        return peer

    def folder(self, title="folder"):
        return ask(self.laptop, "POST", "/api/objects", {"type": "folder", "properties": {"title": title}})["id"]

    def share(self, item, name, role="read"):
        ask(self.laptop, "PUT", f"/api/objects/{item}/access/{name}", with_role(role))


def traffic(peer, other=None):
    """The bytes that a daemon has sent and received since its start, with one machine or with all."""
    if other is None:
        found = ask(peer, "GET", "/api/status")["traffic"]
    else:
        found = next(entry for entry in ask(peer, "GET", "/api/peers")["peers"] if entry["name"] == other)["traffic"]
    return found["sent_bytes"], found["received_bytes"]


def wait_quiet(peer, other="laptop"):
    """Waits until a daemon is in sync with another one, and no byte passes between them."""

    def is_in_sync():
        entries = ask(peer, "GET", "/api/peers")["peers"]
        return any(entry["name"] == other and entry["in_sync"] for entry in entries)

    wait_until(is_in_sync, TRANSFER_SECONDS, f"{peer.name} is in sync with {other}")
    last, since = traffic(peer, other), time.monotonic()
    while time.monotonic() < since + QUIET_SECONDS:
        time.sleep(0.1)
        found = traffic(peer, other)
        if found != last:
            last, since = found, time.monotonic()
    return last


def in_use(peer):
    """The bytes of the database that are in use, also while a daemon has it."""
    with sqlite3.connect(f"file:{peer.directory / DATABASE}?mode=ro", uri=True) as database:
        pages, free, page_size = (
            database.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size")
        )
    return (pages - free) * page_size


def object_count(peer):
    with sqlite3.connect(f"file:{peer.directory / DATABASE}?mode=ro", uri=True) as database:
        return database.execute("SELECT count(*) FROM objects").fetchone()[0]


def import_folders(peer, folder_count, folder_size, property_count, path):
    """Folders with so many objects each, themselves included; returns the ids of the folders."""
    chance, elements = random.Random(1), []
    for folder in range(folder_count):
        key = f"folder {folder}"
        elements.append({"type": "folder", "key": key, "properties": properties(chance, folder, property_count)})
        for item in range(folder_size - 1):
            made = {"type": "item", "parent_key": key, "parent_type": "folder"}
            elements.append({**made, "properties": properties(chance, item, property_count)})
    Path(path).write_text(json.dumps(elements))
    peer.run("import", str(path), seconds=TRANSFER_SECONDS)
    children = json.loads(peer.raw("ls", "--json"))
    return [item["id"] for item in children if item["type"] == "folder"]


# The parts; each makes a world of its own.


def one_percent(options):
    """The bytes of somebody who reads one object of a hundred, beside those of a machine that has all."""
    count = 10_000 if options.quick else 100_000
    with World("sharing") as world:
        people = People(world)
        reader, full = people.person("reader"), people.machine("full")
        wait_quiet(reader)
        reader.stop()
        people.laptop.stop()
        empty = database_bytes(reader.directory)
        folder = import_folders(people.laptop, 100, count // 100, 10, world.root / "objects.json")[50]
        people.laptop.run("share", folder, "reader", seconds=TRANSFER_SECONDS)
        people.laptop.start()
        wire, disk = [], []
        for peer, expected in ((reader, count // 100), (full, count)):
            peer.start(peers=[people.laptop.address])
            wire.append(sum(wait_quiet(peer)))
            check(object_count(peer) == expected, f"{peer.name} has {object_count(peer)} objects")
            peer.stop()
            disk.append(database_bytes(peer.directory))
        beyond = (disk[0] - empty) / (disk[1] - empty)
        words = f"one who reads {count // 100:,} of {count:,} objects, beside one who has all"
        row(f"{words}: bytes over the wire", f"{wire[0]:,} / {wire[1]:,} = {wire[0] / wire[1]:.4f}",
            bound("0.02", wire[0] / wire[1], 0.02))
        row(f"{words}: bytes on the disk", f"{disk[0]:,} / {disk[1]:,} = {disk[0] / disk[1]:.4f}",
            bound("0.02", disk[0] / disk[1], 0.02))
        row(f"the same beyond a database without objects, {empty:,} bytes", f"{beyond:.4f}")


def session(people, peer):
    """The bytes that a machine sends and receives until a session with the laptop is quiet, and those of its hello.

    Both have met since either began, so that each knows what the other has.
    """
    # On a new port nobody finds it but by way of the proxy.
    peer.stop()
    people.laptop.restart()
    proxy = Proxy(people.laptop.address)
    try:
        for _ in range(2):
            proxy.record = []
            peer.start(peers=[proxy.address])
            sent, received = wait_quiet(peer)
            peer.stop()
        pieces = [len(data) for _, is_to_target, data in proxy.record if is_to_target]
        # The first piece is the handshake.
        return sent, received, pieces[1]
    finally:
        proxy.close()


def reconnects(options):
    """The bytes of a session between two machines that are equal."""
    many = 20 if options.quick else 200
    with World("sharing") as world:
        people = People(world)
        ann, phone = people.person("ann"), people.machine("phone")
        folders = [people.folder(f"folder {number}") for number in range(many)]
        for shared in (1, many):
            known = {share["object"] for share in ask(people.laptop, "GET", "/api/access")["shares"]}
            for folder in folders[:shared]:
                if folder not in known:
                    people.share(folder, "ann", "write")
            for peer, who in ((ann, "another person"), (phone, "the same person")):
                if peer.process is None:
                    peer.start(peers=[people.laptop.address])
                wait_quiet(peer)
                sent, received, hello = session(people, peer)
                words = f"a session of two equal machines, the other one of {who}, {shared} share{'s' * (shared > 1)}"
                row(f"{words}: all bytes each way, handshake included", f"{sent:,} and {received:,}")
                row("of these the hello, with what goes along with it", f"{hello:,}", bound("161", hello, 161))


def resident(peer):
    rollup = Path(f"/proc/{peer.process.pid}/smaps_rollup").read_text()
    return [int(re.search(rf"{name}:\s+(\d+) kB", rollup).group(1)) / 1024 for name in ("Rss", "Anonymous")]


def started(peer):
    """The time from the start of a daemon until it has answered."""
    peer.stop()
    begin = time.perf_counter()
    command = [os.environ["PEERD"], "run", "--dir", str(peer.directory), "--listen", "127.0.0.1:0", "--no-discovery"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while True:
            try:
                ask(peer, "GET", "/api/status")
                return time.perf_counter() - begin
            except (OSError, AssertionError):
                time.sleep(0.001)
    finally:
        process.terminate()
        process.wait()


def footprint(options):
    """The memory and the start of a daemon that knows many people and shares much with them."""
    person_count, share_count = (3, 10) if options.quick else (10, 100)
    with World("sharing") as world:
        people = People(world)

        def measure(words):
            people.laptop.restart()
            time.sleep(3.0)
            memory = resident(people.laptop)
            times = [started(people.laptop) for _ in range(5)]
            people.laptop.start()
            usual = usual_write(people.laptop, note)
            shown = f"{memory[0]:.1f} MiB resident, {memory[1]:.1f} MiB of it not from files"
            row(f"an idle daemon, {words}", shown, bound("25 MiB", memory[0], 25))
            start = statistics.median(times)
            row("its start until the first answer", text(start), bound("50 ms", start, 0.05))
            row("p50 of writes to what is not shared", text(usual))

        note = people.folder("note")
        measure("nobody else, nothing shared")
        names = [f"person{number}" for number in range(person_count)]
        for name in names:
            people.person(name).stop()
        for number in range(share_count):
            folder = people.folder(f"folder {number}")
            for name in names:
                people.share(folder, name, "write")
        for peer in world.peers[1:]:
            peer.start(peers=[people.laptop.address])
            wait_quiet(peer)
            peer.stop()
        measure(f"{person_count} people, {share_count} shares of which each has all")


class WaitingWriter:
    """Writes again and again, and keeps how long each write took."""

    def __init__(self, peer, item):
        self.connection, self.item, self.times, self.ends = DaemonSocket(peer), item, [], False
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        while not self.ends:
            edits = [{"set": self.item, "properties": {"number": len(self.times)}}]
            start = time.perf_counter()
            self.connection.ask("POST", "/api/transactions", {"edits": edits})
            self.times.append(time.perf_counter() - start)
            time.sleep(0.002)

    def stop(self):
        self.ends = True
        self.thread.join()
        return max(self.times)


def usual_write(peer, item, count=50):
    """The median time of single writes, one after the other."""
    writer = WaitingWriter(peer, item)
    wait_until(lambda: len(writer.times) >= count, TRANSFER_SECONDS, "some writes are made")
    writer.stop()
    return statistics.median(writer.times)


def first_share(options):
    """What it takes to share many objects with somebody, and with one more."""
    count = 1_000 if options.quick else 10_000
    with World("sharing") as world:
        people = People(world)
        laptop, ann, bob = people.laptop, people.person("ann"), people.person("bob")
        other = people.folder("other")
        laptop.stop()
        folder = next(
            item for item in import_folders(laptop, 1, count, 3, world.root / "objects.json") if item != other
        )
        laptop.start()
        for peer in (ann, bob):
            peer.restart(peers=[laptop.address])
            wait_quiet(peer)
        for name, peer, words in (
            ("ann", ann, f"sharing {count:,} objects with three properties each, for the first time"),
            ("bob", bob, "the same with one more person"),
        ):
            before, sent = in_use(laptop), traffic(laptop, name)[0]
            usual = usual_write(laptop, other)
            writer = WaitingWriter(laptop, other)
            time.sleep(0.5)
            begin = time.perf_counter()
            people.share(folder, name)
            done = time.perf_counter() - begin
            wait_until(lambda peer=peer: object_count(peer) == count, TRANSFER_SECONDS, f"{name} has all")
            there = time.perf_counter() - begin
            longest = writer.stop()
            wait_quiet(peer)
            added, later = in_use(laptop) - before, usual_write(laptop, other)
            row(f"{words}: until it is done", text(done))
            row("until the other machine shows all of them", text(there))
            row("the longest that another writer of this machine waits meanwhile", text(longest))
            row("p50 of writes to something else, before and afterwards", f"{text(usual)}, {text(later)}")
            row("bytes of the database that it adds, and bytes sent to that person",
                f"{added:,}, {traffic(laptop, name)[0] - sent:,}")


def ends_of_sessions(options):
    """From a removal until the machine is gone, and until a third one knows."""
    person_count = 2 if options.quick else 5
    with World("sharing") as world:
        people = People(world)
        laptop, third = people.laptop, people.person("third")
        folder = people.folder()
        people.share(folder, "third")
        names = [f"person{number}" for number in range(person_count)]
        peers = [people.person(name) for name in names]
        for name, peer in zip(names, peers, strict=True):
            people.share(folder, name, "write")
            wait_quiet(peer)
        wait_quiet(third)
        access = f"/api/objects/{folder}/access"
        ids = {user["name"]: user["id"] for user in ask(laptop, "GET", "/api/users")["users"]}

        def has_no(name):
            return lambda answer: all(entry["user"]["id"] != ids[name] for entry in answer["access"])

        def times(work, *polls):
            """When each of some questions had the right answer, counted from the begin of some work."""
            found = {}

            def poll(number, peer, path, predicate):
                found[number] = Poll(peer).until(path, predicate)

            begin = []

            def act():
                time.sleep(0.1)
                begin.append(time.perf_counter())
                work()

            works = [lambda one=(number, *question): poll(*one) for number, question in enumerate(polls)]
            run_together([*works, act])
            return [found[number] - begin[0] for number in range(len(polls))]

        unshared = []
        for _ in range(2 if options.quick else 10):
            unshared.append(times(
                lambda: ask(laptop, "DELETE", f"{access}/{names[0]}"),
                (peers[0], access, lambda answer: answer["has_ended"]),
                (third, access, has_no(names[0])),
            ))
            people.share(folder, names[0], "write")
            Poll(peers[0]).until(access, lambda answer: not answer["has_ended"])
            wait_quiet(third)
        removed = []
        for name, peer in zip(names, peers, strict=True):
            removed.append(times(
                lambda name=name: ask(laptop, "DELETE", f"/api/users/{name}"),
                (peer, "/api/peers", lambda answer: not any(entry["connected"] for entry in answer["peers"])),
                (third, "/api/users", lambda answer, name=name: ids[name] not in [u["id"] for u in answer["users"]]),
            ))
        for words, found, place in (
            ("from `users remove` until the removed machine has no session", removed, 0),
            ("from `users remove` until a third machine knows", removed, 1),
            ("from `unshare` until the machine is told", unshared, 0),
            ("from `unshare` until a third machine knows", unshared, 1),
        ):
            values = [one[place] for one in found]
            shown = f"{text(statistics.median(values))}, at most {text(max(values))} of {len(values)}"
            row(words, shown, bound("1 s", max(values), 1) if place == 0 else "")


PARTS = [
    ("percent", one_percent), ("reconnect", reconnects), ("footprint", footprint), ("first", first_share),
    ("ends", ends_of_sessions),
]


def run(options):
    chosen = [part for name, part in PARTS if options.only in name]
    if not chosen:
        return
    print("\nDaemons over loopback:\n\n| | measured | bound |\n|---|---|---|", flush=True)
    for part in chosen:
        part(options)
