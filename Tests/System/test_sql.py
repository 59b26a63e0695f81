#!/usr/bin/env python3
"""The tables that README promises, read by programs of other makes while the daemon writes: `sqlite3`, Python's own
library, and libSQL. They show whole transactions, history and past moments, the same on two machines."""

import json
import sqlite3
import subprocess
import threading

from local_api import Entry
from peerd_harness import World, check, main_of_test, say, skip, wait_until

try:
    import libsql
except ImportError:
    skip("there is no libsql here; scripts/setup.sh installs it, and make test-system uses that environment")

PAIR = "SELECT name, value FROM properties WHERE object_id = ? AND name IN ('left', 'right') ORDER BY name"
HISTORY = """
    SELECT v.name, v.version, v.value, v.created_at FROM properties AS p
    JOIN property_versions AS v ON v.property_id = p.id WHERE p.object_id = ? ORDER BY v.name, v.version
"""
WRITES = 150


class Shell:
    """The command line of SQLite, a process for each question."""

    def __init__(self, path):
        self.path = path

    def rows(self, sql, *values):
        for value in values:
            sql = sql.replace("?", f"'{value}'", 1)
        words = ["sqlite3", "-readonly", "-json", self.path, sql]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        check(done.returncode == 0, f"sqlite3: {done.stderr}")
        return [tuple(row.values()) for row in json.loads(done.stdout or "[]")]


class Library:
    """A library with the interface of Python's sqlite3."""

    def __init__(self, connection):
        self.connection = connection

    def rows(self, sql, *values):
        return self.connection.execute(sql, values).fetchall()


def readers(peer):
    path = str(peer.directory / "peerd.sqlite")
    return {
        "sqlite3": Shell(path),
        "Python": Library(sqlite3.connect(f"file:{path}?mode=ro", uri=True)),
        "libSQL": Library(libsql.connect(path)),
    }


def check_while_written(peer, entry, id):
    """Whoever reads meanwhile sees each transaction as a whole, and never an older state after a newer one."""
    ended = threading.Event()

    def write():
        try:
            for number in range(1, WRITES + 1):
                entry.expect(200, "PATCH", f"/api/objects/{id}", {"properties": {"left": number, "right": number}})
        finally:
            ended.set()

    writer = threading.Thread(target=write)
    writer.start()
    all_readers, last, counts = readers(peer), {}, {}
    while not ended.is_set():
        for name, reader in all_readers.items():
            rows = reader.rows(PAIR, id)
            check([row[0] for row in rows] == ["left", "right"], f"{name} reads {rows}")
            check(rows[0][1] == rows[1][1], f"{name} sees half of a transaction: {rows}")
            check(rows[0][1] >= last.get(name, 0), f"{name} sees {rows} after {last.get(name)}")
            last[name], counts[name] = rows[0][1], counts.get(name, 0) + 1
    writer.join()
    for name, reader in all_readers.items():
        check(reader.rows(PAIR, id) == [("left", WRITES), ("right", WRITES)], f"{name} misses the last write")
    say(f"read while the daemon wrote: {counts}")


def check_history(peer, id):
    """Each write is there once, numbered from 1, and can be read at its moment."""
    for name, reader in readers(peer).items():
        rows = [row for row in reader.rows(HISTORY, id) if row[0] == "left"]
        check([row[1] for row in rows] == list(range(1, WRITES + 2)), f"{name}: versions {[row[1] for row in rows]}")
        check([row[2] for row in rows] == list(range(WRITES + 1)), f"{name}: values {[row[2] for row in rows]}")
        last = {row[3]: row[2] for row in rows}
        for moment, value in list(last.items())[::10]:
            at = "SELECT value FROM property_at WHERE object_id = ? AND name = 'left' AND at = json_quote(?)"
            check(reader.rows(at, id, moment) == [(value,)], f"{name}: not {value} at {moment}")
        at = "SELECT count(*) FROM property_at WHERE object_id = ? AND at = unixepoch('2000-01-01')"
        check(reader.rows(at, id) == [(0,)], f"{name}: something before the beginning")
        recent = "SELECT count(*) FROM objects WHERE abs(julianday(updated_at) - julianday('now')) < 0.1"
        check(reader.rows(recent)[0][0] >= 1, f"{name}: times are not those of SQLite")


def run():
    with World("sql") as world:
        laptop, phone = world.paired("laptop", "phone")
        laptop.start()
        phone.start(peers=[f"127.0.0.1:{laptop.port}"])
        entry = Entry.loopback(laptop)
        id = entry.expect(201, "POST", "/api/objects", {"type": "t", "properties": {"left": 0, "right": 0}}).json["id"]
        check_while_written(laptop, entry, id)
        phone.run("sync", "--wait")
        check_history(laptop, id)
        say("history and past moments, by three programs")
        wait_until(lambda: phone.export() == laptop.export(), 60, "both have the same")
        both = [readers(peer)["Python"].rows(HISTORY, id) for peer in (laptop, phone)]
        check(both[0] == both[1], "the versions of two machines differ")
        columns = "SELECT object_id, name, value, version, updated_at FROM properties ORDER BY object_id, name"
        both = [readers(peer)["libSQL"].rows(columns) for peer in (laptop, phone)]
        check(both[0] == both[1] and both[0], "the properties of two machines differ")
        say("two machines show the same")


if __name__ == "__main__":
    main_of_test(run)
