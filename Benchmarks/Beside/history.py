"""Reading the past after many writes to a thousand properties; see scripts/bench.sh.

At each size, peerd answers over its local API what properties were when half of the writes had been made, and exports
that state. The same properties are read in SQL, from the view `property_at`, where the steps of SQLite's virtual
machine are counted. Loro goes back to the state, and Automerge reads properties there and makes a document of it.
Prints a Markdown table.
"""

import argparse
import contextlib
import json
import os
import random
import shutil
import signal
import sqlite3
import statistics
import subprocess
import sys
import time

from live_latency import Control

NAMES = [f"p{number}" for number in range(10)]
# With a tenth of the objects, each property has ten times as many versions.
OBJECTS = int(os.environ.get("BENCH_OBJECTS", "100"))
PROPERTIES = OBJECTS * len(NAMES)
PER_TRANSACTION = 100
READS = 1000
START_SECONDS_MAX = 60
PROPERTY_AT = "SELECT value FROM property_at WHERE object_id = ? AND name = ? AND at = ?"


def note(text):
    print(f"history: {text}", file=sys.stderr, flush=True)


def place(write):
    """The object and the name that a write is to: all properties in turn."""
    return write // len(NAMES) % OBJECTS, NAMES[write % len(NAMES)]


def value(write):
    return f"the value of write {write}"


def expected(half):
    """The last of the first `half` writes to each property."""
    return {place(write): value(write) for write in range(half - PROPERTIES, half)}


def text(seconds):
    if seconds < 1e-3:
        return f"{seconds * 1e6:.0f} µs"
    return f"{seconds * 1e3:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"


class Counter:
    """The calls of a progress handler."""

    def __init__(self):
        self.count = 0

    def __call__(self):
        self.count += 1
        return 0


class Peerd:
    def __init__(self, peerd, directory):
        self.peerd, self.directory = peerd, directory
        shutil.rmtree(directory, ignore_errors=True)
        self.call("init", "--name", "bench")
        self.start()
        edits = [{"create": "note"} for _ in range(OBJECTS)]
        self.ids = self.control.request("POST", "/api/transactions", {"edits": edits})["created"]
        self.count = 0

    def command(self, *arguments):
        return [self.peerd, "--dir", self.directory, *arguments]

    def call(self, *arguments):
        return subprocess.run(self.command(*arguments), check=True, capture_output=True).stdout

    def start(self):
        command = self.command("run", "--listen", "127.0.0.1:0", "--no-discovery")
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        end = time.monotonic() + START_SECONDS_MAX
        while True:
            try:
                self.control = Control(os.path.join(self.directory, "socket"))
                self.control.request("GET", "/api/status")
                return
            except (OSError, RuntimeError):
                if time.monotonic() > end or self.process.poll() is not None:
                    raise
                time.sleep(0.05)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()

    def fill(self, count, per_transaction=PER_TRANSACTION):
        """Writes until so many writes are made; returns the rate."""
        start, before = time.perf_counter(), self.count
        while self.count < count:
            edits = []
            for write in range(self.count, min(self.count + per_transaction, count)):
                number, name = place(write)
                edits.append({"set": self.ids[number], "properties": {name: value(write)}})
            self.control.request("POST", "/api/transactions", {"edits": edits})
            self.count += len(edits)
        return (count - before) / (time.perf_counter() - start)

    def moment(self):
        """The name of the present state, and a time at which it was in force."""
        named, at = self.control.request("GET", "/api/moment")["moment"], time.time()
        time.sleep(0.01)
        return named, at

    def reads(self, moment, half, draw):
        """The median time of reading one property at a moment."""
        known, times = expected(half), []
        for _ in range(READS):
            number, name = place(draw.randrange(PROPERTIES))
            path = f"/api/objects/{self.ids[number]}/properties/{name}?at={moment}"
            start = time.perf_counter()
            found = self.control.request("GET", path)
            times.append(time.perf_counter() - start)
            if known[number, name] not in json.dumps(found):
                raise RuntimeError(f"{path} is {found}, not {known[number, name]}")
        return statistics.median(times)

    def reads_in_sql(self, at, half, draw):
        """The median time of the same from the view `property_at`; and the steps of the virtual machine, the most."""
        known, times, steps = expected(half), [], []
        path = f"file:{self.directory}/peerd.sqlite?mode=ro"
        with contextlib.closing(sqlite3.connect(path, uri=True)) as database:
            for read in range(READS):
                number, name = place(draw.randrange(PROPERTIES))
                # Counting slows the read down, so that only every other read is counted.
                counter = Counter() if read % 2 else None
                database.set_progress_handler(counter, 1)
                start = time.perf_counter()
                found = database.execute(PROPERTY_AT, (self.ids[number], name, at)).fetchall()
                seconds = time.perf_counter() - start
                if found != [(known[number, name],)]:
                    raise RuntimeError(f"property_at has {found}, not {known[number, name]}")
                if counter:
                    steps.append(counter.count)
                else:
                    times.append(seconds)
        return statistics.median(times), max(steps)

    def export(self, moment):
        """The time of reading the whole state at a moment."""
        start = time.perf_counter()
        self.call("export", "--at", moment)
        return time.perf_counter() - start


def loro_checkout(count):
    """How long Loro takes to go back to the half, and to read all properties there."""
    import loro

    doc = loro.LoroDoc()
    root = doc.get_map("objects")
    objects = [root.insert_container(str(number), loro.LoroMap()) for number in range(OBJECTS)]
    for write in range(count):
        number, name = place(write)
        objects[number].insert(name, value(write))
        if write % PER_TRANSACTION == PER_TRANSACTION - 1:
            doc.commit()
        if write == count // 2 - 1:
            doc.commit()
            half = doc.oplog_frontiers
    doc.commit()
    start = time.perf_counter()
    doc.checkout(half)
    found = doc.get_deep_value()["objects"]
    seconds = time.perf_counter() - start
    for (number, name), wanted in expected(count // 2).items():
        if found[str(number)][name] != wanted:
            raise RuntimeError("Loro shows another state")
    return [seconds]


def automerge_reads(count, draw):
    """How long Automerge takes to read one property at the heads of the half, and to make a document of them."""
    from automerge import core

    doc, objects = core.Document(), []
    with doc.transaction() as transaction:
        for number in range(OBJECTS):
            objects.append(transaction.put_object(core.ROOT, str(number), core.ObjType.Map))
    for start in range(0, count, PER_TRANSACTION):
        with doc.transaction() as transaction:
            for write in range(start, start + PER_TRANSACTION):
                number, name = place(write)
                transaction.put(objects[number], name, core.ScalarType.Str, value(write))
        if start + PER_TRANSACTION == count // 2:
            half = doc.get_heads()
    known, times = expected(count // 2), []
    for _ in range(20):
        number, name = place(draw.randrange(PROPERTIES))
        start = time.perf_counter()
        found = doc.get(objects[number], name, half)
        times.append(time.perf_counter() - start)
        if known[number, name] not in str(found):
            raise RuntimeError("Automerge shows another state")
    start = time.perf_counter()
    doc.fork(half)
    return [statistics.median(times), time.perf_counter() - start]


def in_a_process(options, what, count):
    """The times of another library, in a process of its own; says so if it took too long."""
    command = [sys.executable, __file__, "--beside", what, "--sizes", str(count)]
    try:
        done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=options.beside_seconds_max)
    except subprocess.TimeoutExpired:
        return [f"over {options.beside_seconds_max} s with the writes"] * (1 if what == "loro" else 2)
    return [text(seconds) for seconds in json.loads(done.stdout)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peerd")
    parser.add_argument("--cache", default=".")
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--beside-seconds-max", type=int, default=300)
    parser.add_argument("--beside", choices=["loro", "automerge"], help=argparse.SUPPRESS)
    options = parser.parse_args()
    draw = random.Random(1)
    if options.beside:
        count = options.sizes[0]
        times = loro_checkout(count) if options.beside == "loro" else automerge_reads(count, draw)
        return print(json.dumps(times))
    os.makedirs(options.cache, exist_ok=True)
    bench = Peerd(options.peerd, os.path.join(options.cache, "history"))
    try:
        print("| writes | written, a second | peerd: a past property, p50 | in SQL, p50 | steps of SQLite, at most "
              "| Automerge: the same | peerd: `export --at` | Loro: checkout, and all values | Automerge: fork |")
        print("|---|---|---|---|---|---|---|---|---|")
        for count in options.sizes:
            half = count // 2
            bench.fill(half)
            moment, at = bench.moment()
            rate = bench.fill(count)
            note(f"{count} writes are made")
            (checkout,), (read, fork) = (in_a_process(options, what, count) for what in ("loro", "automerge"))
            api = bench.reads(moment, half, draw)
            sql, steps = bench.reads_in_sql(at, half, draw)
            cells = [f"{count:,}", f"{rate:,.0f}", text(api), text(sql), str(steps), read,
                     text(bench.export(moment)), checkout, fork]
            print(f"| {' | '.join(cells)} |", flush=True)
    finally:
        if bench.process.poll() is None:
            bench.stop()
    return None


if __name__ == "__main__":
    main()
