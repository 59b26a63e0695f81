"""The tables that docs/guide/sql.md promises, read by other programs while the daemon writes: `sqlite3`, Python's own
library, and libSQL. They show whole transactions, history and past moments, the same on two machines."""

import json
import sqlite3
import subprocess
import threading

import pytest

from local_api import Entry, serve
from peerd_harness import Agreement, check

libsql = pytest.importorskip("libsql", reason="there is no libsql here; scripts/setup.sh installs it")

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


def python_library(path):
    return Library(sqlite3.connect(f"file:{path}?mode=ro", uri=True))


def libsql_library(path):
    return Library(libsql.connect(path))


def path_of(peer):
    return str(peer.directory / "peerd.sqlite")


READERS = {"sqlite3": Shell, "Python": python_library, "libSQL": libsql_library}


@pytest.fixture(params=READERS)
def reader(request):
    """One of the programs that read, and how it opens a database."""
    return lambda peer: READERS[request.param](path_of(peer))


@pytest.fixture
def written(world):
    """A way to a daemon, and an object there."""
    entry = serve(world)
    return entry, entry.create("t", properties={"left": 0, "right": 0})["id"]


def write(entry, id):
    for number in range(1, WRITES + 1):
        entry.expect(200, "PATCH", f"/api/objects/{id}", {"properties": {"left": number, "right": number}})


def test_who_reads_while_the_daemon_writes_sees_whole_transactions(written, reader):
    """And never an older state after a newer one."""
    entry, id = written
    writer = threading.Thread(target=write, args=written)
    writer.start()
    database, last, count = reader(entry.peer), 0, 0
    while writer.is_alive():
        rows = database.rows(PAIR, id)
        check([row[0] for row in rows] == ["left", "right"], f"read: {rows}")
        check(rows[0][1] == rows[1][1], f"half of a transaction: {rows}")
        check(rows[0][1] >= last, f"{rows} after {last}")
        last, count = rows[0][1], count + 1
    check(count > 0, "nothing was read meanwhile")
    check(database.rows(PAIR, id) == [("left", WRITES), ("right", WRITES)], "the last write is missing")


def test_each_write_is_there_once_and_can_be_read_at_its_moment(written, reader):
    entry, id = written
    write(entry, id)
    database = reader(entry.peer)
    rows = [row for row in database.rows(HISTORY, id) if row[0] == "left"]
    check([row[1] for row in rows] == list(range(1, WRITES + 2)), f"versions {[row[1] for row in rows]}")
    check([row[2] for row in rows] == list(range(WRITES + 1)), f"values {[row[2] for row in rows]}")
    last = {row[3]: row[2] for row in rows}
    for moment, value in list(last.items())[::10]:
        at = "SELECT value FROM property_at WHERE object_id = ? AND name = 'left' AND at = json_quote(?)"
        check(database.rows(at, id, moment) == [(value,)], f"not {value} at {moment}")
    at = "SELECT count(*) FROM property_at WHERE object_id = ? AND at = unixepoch('2000-01-01')"
    check(database.rows(at, id) == [(0,)], "something before the beginning")
    recent = "SELECT count(*) FROM objects WHERE abs(julianday(updated_at) - julianday('now')) < 0.1"
    check(database.rows(recent)[0][0] >= 1, "times are not those of SQLite")


def test_two_machines_show_the_same(world):
    laptop, phone = world.paired("laptop", "phone")
    laptop.start()
    phone.start(peers=[laptop.address])
    entry = Entry.loopback(laptop)
    id = entry.create("t", properties={"left": 0, "right": 0})["id"]
    write(entry, id)
    phone.run("sync", "--wait")
    Agreement().settle([laptop, phone])
    columns = "SELECT object_id, name, value, version, updated_at FROM properties ORDER BY object_id, name"
    for name, open_database in READERS.items():
        for question in ((HISTORY, id), (columns,)):
            ours, theirs = (open_database(path_of(peer)).rows(*question) for peer in (laptop, phone))
            check(ours == theirs and ours, f"{name}: the rows of two machines differ: {question[0]}")
