"""Compaction after many writes to a thousand properties; see scripts/bench.sh.

A daemon takes the writes of history.py. Then `peerd compact --keep 0`, a process of its own without a daemon, drops
every value that was replaced. Prints the size of the database before and after, that of the live data, and the time and
the peak memory of the command; then the tables that take the room that is left.
"""

import argparse
import contextlib
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time

from history import PROPERTIES, Peerd, text
from verbs import Sample

DATABASE = "peerd.sqlite"
# Single writes wait for the disk, each for itself.
SINGLE_WRITES_MAX = 100_000


def note(words):
    print(f"compaction: {words}", file=sys.stderr, flush=True)


def size(count):
    return f"{count / 1e6:.1f} MB" if count >= 1e6 else f"{count / 1e3:.0f} kB"


def database_bytes(directory):
    """The length of the database with its write-ahead log, which a daemon that ends leaves empty or removes."""
    paths = (os.path.join(directory, DATABASE + suffix) for suffix in ("", "-wal"))
    return sum(os.path.getsize(path) for path in paths if os.path.exists(path))


def table_bytes(directory):
    """The bytes and the rows of each table and index, largest first; nothing where SQLite cannot tell."""
    found = []
    with contextlib.closing(sqlite3.connect(f"file:{directory}/{DATABASE}?mode=ro", uri=True)) as database:
        try:
            sums = database.execute("SELECT name, sum(pgsize) FROM dbstat GROUP BY name ORDER BY 2 DESC").fetchall()
        except sqlite3.OperationalError:
            return []
        tables = {name for (name,) in database.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
        for name, count in sums:
            rows = database.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0] if name in tables else None
            found.append((name, count, rows))
    return found


def measured(command):
    """Runs a command; returns its JSON, its time and the most memory that it had resident."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        start = time.perf_counter()
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=errors)
        _, status, usage = os.wait4(process.pid, 0)
        sample = Sample(time.perf_counter() - start, usage.ru_maxrss << 10)
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        errors.seek(0)
        if process.returncode != 0:
            raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}: {errors.read()[-1000:]!r}")
        return json.loads(output.read()), sample


class Trial:
    """One workspace with so many writes, which is compacted twice."""

    def __init__(self, options, count, per_transaction):
        self.count, self.per_transaction = count, per_transaction
        self.directory = os.path.join(options.cache, "compaction")
        self.peerd = Peerd(options.peerd, self.directory)
        try:
            rate = self.peerd.fill(count, per_transaction)
        finally:
            self.peerd.stop()
        note(f"{count:,} writes, {per_transaction} a transaction, are made: {rate:,.0f} a second")

    def run(self):
        live = self.peerd.call("export")
        before = database_bytes(self.directory)
        command = self.peerd.command("compact", "--json", "--keep", "0")
        report, sample = measured(command)
        after = database_bytes(self.directory)
        self.check(report, live)
        _, again = measured(command)
        self.check(report, live)
        row = [
            f"{self.count:,}, {self.per_transaction} a transaction", size(before), size(after), size(len(live)),
            f"{after / len(live):.1f}", f"{report['dropped_writes']:,}", text(sample.seconds),
            f"{sample.memory_bytes / 1e6:.0f} MB", text(again.seconds),
        ]
        print(f"| {' | '.join(row)} |", flush=True)
        return table_bytes(self.directory)

    def check(self, report, live):
        """Everything but the last write to each property is dropped, and the state is the same."""
        if self.peerd.call("export") != live:
            raise RuntimeError("compaction changed the state")
        if report["dropped_writes"] < self.count - PROPERTIES - self.per_transaction:
            raise RuntimeError(f"compaction dropped {report}, of {self.count} writes")
        doctor = json.loads(self.peerd.call("doctor", "--json"))
        if not doctor["healthy"]:
            raise RuntimeError(f"doctor finds {doctor}")


def print_tables(parts):
    """The parts of what is left that take the most room."""
    print()
    print("| writes | what is left |")
    print("|---|---|")
    for writes, tables in parts:
        total = sum(count for _, count, _ in tables)
        shown = []
        for name, count, rows in tables[:4]:
            of_rows = f", {rows:,} rows of {count / rows:.0f} bytes" if rows else ""
            shown.append(f"`{name}` {size(count)} ({count * 100 // total} %{of_rows})")
        print(f"| {writes} | {'; '.join(shown)} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peerd", required=True)
    parser.add_argument("--cache", default=".")
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    options = parser.parse_args()
    os.makedirs(options.cache, exist_ok=True)
    print("| writes to 1,000 properties | database before | after | live data | after, as a multiple of live data "
          "| values dropped | time | peak memory | time of the next one |")
    print("|---|---|---|---|---|---|---|---|---|")
    parts = []
    try:
        for per_transaction in (100, 1):
            for count in options.sizes:
                if per_transaction > 1 or count <= SINGLE_WRITES_MAX:
                    tables = Trial(options, count, per_transaction).run()
                    if tables:
                        parts.append((f"{count:,}, {per_transaction} a transaction", tables))
    finally:
        shutil.rmtree(os.path.join(options.cache, "compaction"), ignore_errors=True)
    print_tables(parts)


if __name__ == "__main__":
    main()
