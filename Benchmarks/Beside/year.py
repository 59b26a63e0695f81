"""A year of one person's use, simulated; see scripts/bench.sh.

Three real data directories, and a wall clock that this script moves from day to day. Every day the person makes 30 to
60 edits on one or two of the devices. In the evening those that are online meet, until all have the same. Each device
is offline for two to three weeks several times, and is used meanwhile. Everything is drawn from one seed.

The year is lived twice at the same time: in one world nothing is compacted until its end, in the other each device
compacts every 30 days. Prints the size of the databases beside that of the live data as a Markdown table.
"""

import argparse
import concurrent.futures
import contextlib
import json
import os
import random
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from compaction import DATABASE, database_bytes, size, table_bytes

HERE = os.path.dirname(os.path.abspath(__file__))
SYSTEM_TESTS = os.path.join(HERE, "..", "..", "Tests", "System")
sys.path.insert(0, SYSTEM_TESTS)

import peerd_harness  # noqa: E402 (the folder is only known by now)
from peerd_harness import DaemonSocket, World, check, frontier_of  # noqa: E402

DEVICES = ["laptop", "phone", "desktop"]
# How often a device is the one in use.
USE = [5, 3, 2]
DAY_SECONDS = 86_400
COMPACTION_DAYS = 30
TEXT_BYTES = (20, 2_000)
WORDS = [
    "the", "of", "and", "to", "in", "is", "that", "for", "it", "with", "as", "on", "this", "by", "from", "or", "an",
    "was", "at", "which", "morning", "evening", "meeting", "garden", "invoice", "train", "letter", "chapter", "idea",
    "because", "between", "another", "question", "answer", "quickly", "remember", "tomorrow", "yesterday", "project",
]


def note(words):
    print(f"year: {words}", file=sys.stderr, flush=True)


def prose(draw, byte_count):
    """Words of about so many bytes."""
    words, length = [], 0
    while length < byte_count:
        words.append(draw.choice(WORDS))
        length += len(words[-1]) + 1
    return " ".join(words)[: max(byte_count, 1)]


def edited(draw, words):
    """A text that somebody has gone over: usually longer, with another word here and there."""
    longest = TEXT_BYTES[1]
    place = draw.randrange(len(words) + 1) if draw.random() < 0.3 else len(words)
    added = prose(draw, int(min(400, 20 + draw.expovariate(1 / 60))))
    removed = draw.randrange(40) if draw.random() < 0.4 else 0
    return (words[:place] + " " + added + words[place + removed :])[:longest]


class Worlds(World):
    """The folder of both worlds; in memory if there is such a folder, since only sizes are measured."""

    def __init__(self, directory):
        super().__init__("year")
        self.root.rmdir()
        self.root = Path(tempfile.mkdtemp(prefix="peerd-year-", dir=directory))


class Person:
    """The edits of one person. What a device shows decides what can be edited on it."""

    def __init__(self, seed):
        self.draw = random.Random(seed)
        self.serials = {}
        self.counts = dict.fromkeys(["texts", "fields", "new", "moves", "deletions"], 0)

    def offline_days(self, days):
        """The days on which each device is offline: two to three weeks, three times a year, somewhere in each third."""
        found = []
        for _ in DEVICES:
            offline, third = set(), days // 3
            for part in range(3):
                length = min(self.draw.randint(14, 21), max(third - 2, 0))
                first = part * third + self.draw.randrange(max(third - length, 1))
                offline.update(range(first, first + length))
            found.append(offline)
        return found

    def plan(self):
        """The edits of a day: for each device, how many."""
        count = self.draw.randint(30, 60)
        first, second = (self.draw.choices(range(len(DEVICES)), USE)[0] for _ in range(2))
        on_second = count // 3 if self.draw.random() < 0.5 else 0
        plan = [0] * len(DEVICES)
        plan[first] += count - on_second
        plan[second] += on_second
        return plan

    def learn(self, ids):
        for id in ids:
            self.serials[id] = len(self.serials)

    def choose(self, view, *kinds):
        """An object of these types, usually a recent one."""
        objects = sorted((id for id, item in view.items() if item["type"] in kinds), key=self.serials.__getitem__)
        if not objects:
            return None
        if self.draw.random() < 0.2:
            return self.draw.choice(objects)
        return objects[-1 - min(len(objects) - 1, int(self.draw.expovariate(1 / 12)))]

    def create(self, view, day):
        kind = self.draw.choices(["note", "task"], [2, 3])[0]
        properties = {"title": prose(self.draw, self.draw.randint(10, 50))}
        if kind == "task":
            properties.update(state="open", due=day + self.draw.randint(1, 30), text="")
        else:
            properties["text"] = prose(self.draw, self.draw.randint(TEXT_BYTES[0], 300))
        return {"create": kind, "parent": self.choose(view, "folder"), "properties": properties}

    def edit(self, view, day):
        """One edit, as a transaction has it."""
        draw = self.draw
        what = draw.choices(["texts", "fields", "new", "moves", "deletions"], [62, 25, 7, 4, 2])[0]
        target = self.choose(view, "task") if what == "deletions" else self.choose(view, "note", "journal", "task")
        if what == "new" or target is None:
            self.counts["new"] += 1
            return self.create(view, day)
        self.counts[what] += 1
        item = view[target]
        if what == "texts":
            return {"set": target, "properties": {"text": edited(draw, item["properties"].get("text") or "")}}
        if what == "fields" and item["type"] == "task":
            properties = [{"state": draw.choice(["open", "doing", "done"])}, {"due": day + draw.randint(1, 30)}]
            return {"set": target, "properties": draw.choice(properties)}
        if what == "fields":
            properties = [{"title": prose(draw, draw.randint(10, 50))}, {"pinned": draw.random() < 0.5}]
            return {"set": target, "properties": draw.choice(properties)}
        if what == "moves":
            return {"move": target, "parent": self.choose(view, "folder"), "first": draw.random() < 0.5}
        return {"delete": target}


class Year:
    """One world of three devices."""

    def __init__(self, world, name, options, library, end):
        self.world, self.name, self.library = world, name, library
        self.days, self.begin = options.days, end - options.days * DAY_SECONDS
        self.person = Person(options.seed)
        self.offline = self.person.offline_days(self.days)
        self.is_compacted = name == "monthly"
        self.reports = []
        self.edit_count = 0

    def found(self):
        """Makes the devices, which have met and are stopped, and the folders."""
        for device in DEVICES:
            peer = self.world.peer(f"{device}-{self.name}")
            self.set_clock(peer, 0)
            if device == DEVICES[0]:
                peer.run("init", "--name", device)
                peer.start()
            else:
                peer.run("join", "--name", device, peerd_harness.invite_line(self.peers[0]))
        with DaemonSocket(self.peers[0]) as socket:
            edits = [{"create": "folder", "properties": {"title": f"folder {number}"}} for number in range(6)]
            self.person.learn(socket.ask("POST", "/api/transactions", {"edits": edits})["created"])
        self.peers[0].stop()
        self.views = [{} for _ in DEVICES]

    @property
    def peers(self):
        return [peer for peer in self.world.peers if peer.name.endswith("-" + self.name)]

    def set_clock(self, peer, day):
        """Has the programs of a device believe that it is the noon of a day."""
        ahead = round(self.begin + (day + 0.5) * DAY_SECONDS - time.time())
        peer.environment.update(LD_PRELOAD=self.library, WRONG_CLOCK_SECONDS=str(ahead))

    def live(self):
        self.found()
        self.meet([0, 1, 2])
        for day in range(self.days):
            for peer in self.peers:
                self.set_clock(peer, day)
            for index, count in enumerate(self.person.plan()):
                if count > 0:
                    self.use(index, count, day)
            online = [index for index in range(len(DEVICES)) if day not in self.offline[index]]
            if len(online) > 1:
                self.meet(online)
            if self.is_compacted and day % COMPACTION_DAYS == COMPACTION_DAYS - 1:
                self.reports += [peer.json("compact", "--keep", "90d") for peer in self.peers]
            if day % 50 == 49:
                note(f"{self.name}: {day + 1} days, {self.edit_count} edits")
        for peer in self.peers:
            self.set_clock(peer, self.days)
        self.meet([0, 1, 2])
        return self

    def use(self, index, count, day):
        """A session on one device, with the journal of the day."""
        peer, view = self.peers[index], self.views[index]
        peer.start()
        with DaemonSocket(peer) as socket:
            today = f"journal of day {day}"
            if not any(item["properties"].get("title") == today for item in view.values()):
                text = prose(self.person.draw, self.person.draw.randint(*TEXT_BYTES) // 4)
                self.write(socket, view, {"create": "journal", "properties": {"title": today, "text": text}})
            for _ in range(count):
                self.write(socket, view, self.person.edit(view, day))
        peer.stop()

    def write(self, socket, view, edit):
        """Makes an edit, and remembers what the device shows then."""
        created = socket.ask("POST", "/api/transactions", {"edits": [edit]})["created"]
        self.edit_count += 1
        if "create" in edit:
            self.person.learn(created)
            view[created[0]] = {"type": edit["create"], "properties": dict(edit["properties"])}
        elif "set" in edit:
            view[edit["set"]]["properties"].update(edit["properties"])
        elif "delete" in edit:
            del view[edit["delete"]]

    def meet(self, online):
        """Syncs these devices, until all have the same; then they stop."""
        peers, addresses = [self.peers[index] for index in online], []
        for peer in peers:
            addresses.append(peer.start(peers=list(addresses)))
        sockets = [DaemonSocket(peer) for peer in peers]
        peerd_harness.wait_until(
            lambda: len({frontier_of(socket.ask("GET", "/api/status")) for socket in sockets}) == 1,
            60, f"{self.name}: all that are online have the same",
        )
        objects = sockets[0].ask("GET", "/api/export")
        for index in online:
            self.views[index] = {
                item["id"]: {"type": item["type"], "properties": dict(item["properties"])} for item in objects
            }
        for socket in sockets:
            socket.connection.close()
        for peer in peers:
            peer.stop()

    def state(self):
        """The export, which must be the same on all devices."""
        exports = {peer.export() for peer in self.peers}
        check(len(exports) == 1, f"{self.name}: the devices export different states")
        return exports.pop()


def build_library(folder):
    library = os.path.join(folder, "wrong_clock.so")
    source = os.path.join(SYSTEM_TESTS, "wrong_clock.c")
    subprocess.run([os.environ.get("CC", "gcc"), "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)
    return library


def vacuumed_bytes(peer):
    """What SQLite alone makes of the database, without a compaction of ours."""
    path = str(peer.directory / DATABASE)
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as database:
        database.execute("VACUUM INTO ?", (path + ".vacuumed",))
    count = os.path.getsize(path + ".vacuumed")
    os.remove(path + ".vacuumed")
    return count


def new_bytes(world, live):
    """The database of a new workspace that has imported the live data: it has no history at all."""
    peer = world.founder("new")
    path = world.root / "live.json"
    path.write_bytes(live)
    peer.run("import", path)
    check(len(peer.objects()) == len(json.loads(live)), "the import left something out")
    return database_bytes(peer.directory)


# The writes of the log by what they are to the state, with the bytes of their values.
VALUES = """
    WITH write (line, sequence, idx, status) AS (
        SELECT register.segment, register.sequence, register.idx, iif(object.visible, 'in force', 'of deleted objects')
        FROM register JOIN object ON object.object = register.object
        UNION ALL SELECT segment, sequence, idx, \
            iif(status = 1, 'in conflict', 'replaced') FROM version WHERE status < 2
    )
    SELECT write.status, count(*), sum(length(CAST(operation.value AS BLOB))) FROM write
    JOIN change ON change.segment = write.segment AND change.sequence = write.sequence
    JOIN operation ON operation.operation = change.operation + write.idx
    GROUP BY 1 ORDER BY 3 DESC
"""


def print_rest(directory, words):
    """The parts of a database that take most room."""
    shown = [f"`{name}` {size(count)}{f' in {rows:,} rows' if rows else ''}"
             for name, count, rows in table_bytes(directory)[:5]]
    with contextlib.closing(sqlite3.connect(f"file:{directory}/{DATABASE}?mode=ro", uri=True)) as database:
        values = [f"{count:,} {status}, {size(length or 0)}" for status, count, length in database.execute(VALUES)]
    print(f"\n{words}: {', '.join(shown)}. Values: {'; '.join(values)}.")


def row(words, counts, live):
    cells = [words, *map(size, counts), f"{max(counts) / live:.1f}"]
    print(f"| {' | '.join(cells)} |", flush=True)


def compacted(year, keep, live):
    """Compacts all devices; the state must stay what it is."""
    for peer in year.peers:
        report = peer.json("compact", "--keep", keep)
        check(not report["lacking_machines"], f"{peer.name} waits for {report['lacking_machines']}")
        check(peer.json("doctor")["healthy"], f"{peer.name} is not healthy")
        dropped, examined = report["dropped_writes"], report["examined_changes"]
        note(f"{peer.name}, {keep}: {dropped:,} values dropped in {examined:,} changes")
    check(year.state() == live, "compaction changed the state")
    return [database_bytes(peer.directory) for peer in year.peers]


def print_year(kept, monthly):
    live = kept.state()
    of_kept, of_monthly = (json.loads(text) for text in (live, monthly.state()))
    check(len(of_kept) == len(of_monthly), "the two worlds have different objects in the end")
    print(f"\n{kept.edit_count:,} edits in {kept.days} days, each a transaction: {kept.person.counts}. "
          f"{len(of_kept):,} objects are left, {size(len(live))} as `peerd export` prints them.\n")
    print(f"| | {' | '.join(DEVICES)} | largest, as a multiple of live data |")
    print("|---|---|---|---|---|")
    row("without compaction", [database_bytes(peer.directory) for peer in kept.peers], len(live))
    row("the same after `VACUUM`", [vacuumed_bytes(peer) for peer in kept.peers], len(live))
    for keep in ("90d", "7d", "0"):
        row(f"`compact --keep {keep}` at the end", compacted(kept, keep, live), len(live))
    row("`compact --keep 90d` every 30 days", [database_bytes(peer.directory) for peer in monthly.peers], len(live))
    row("live data, imported into a new workspace", [new_bytes(kept.world, live)] * len(DEVICES), len(live))
    print_rest(kept.peers[0].directory, f"What is left on the {DEVICES[0]} after `--keep 0`")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peerd", required=True)
    parser.add_argument("--cache", help=argparse.SUPPRESS)
    parser.add_argument("--days", type=int, default=365)
    parser.add_argument("--seed", type=int, default=1)
    in_memory = "/dev/shm"
    parser.add_argument("--directory", default=in_memory if os.path.isdir(in_memory) else "/tmp")
    options = parser.parse_args()
    os.environ["PEERD"] = options.peerd
    peerd_harness.end_in_order_on_sigterm()
    peerd_harness.POLL_SECONDS = 0.01
    peerd_harness.POLL_GROWTH = 1
    start = time.perf_counter()
    with Worlds(options.directory) as world, concurrent.futures.ThreadPoolExecutor() as threads:
        library = build_library(str(world.root))
        years = [Year(world, name, options, library, time.time()) for name in ("kept", "monthly")]
        kept, monthly = (done.result() for done in [threads.submit(year.live) for year in years])
        note(f"the year took {time.perf_counter() - start:.0f} s")
        print_year(kept, monthly)


if __name__ == "__main__":
    main()
