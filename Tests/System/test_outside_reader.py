#!/usr/bin/env python3
"""SQLite clients and verbs beside a daemon that also reads leave it its write-ahead log: after kill -9, every write
that was acknowledged is there."""

import os
import sqlite3

from peerd_harness import DaemonSocket, World, check, main_of_test

ROUNDS = 20


def run():
    with World("outside-reader") as world:
        peer = world.founder("a")
        peer.start()
        with DaemonSocket(peer) as daemon:
            written = [daemon.create("note", {"number": 0})]
            log = log_of(peer)
            for number in range(1, ROUNDS + 1):
                read_through(daemon, written[-1])
                read_from_outside(peer)
                check(log_of(peer) == log, f"round {number}: a SQLite client has removed the log of the daemon")
                written.append(daemon.create("note", {"number": number}))
            for words in verbs(world, written[0]):
                peer.result(*words)
                read_from_outside(peer)
                check(log_of(peer) == log, f"peerd {' '.join(words)}: the log of the daemon has been removed")
                written.append(daemon.create("note", {"after": words[0]}))
            daemon.connection.request("POST", "/api/backup", body='{"path":"%s"}' % (peer.directory / "peerd.sqlite"))
            answer = daemon.connection.getresponse()
            answer.read()
            check(answer.status == 422, f"a backup onto the database: {answer.status}")
            read_from_outside(peer)
            check(log_of(peer) == log, "a refused backup has cost the daemon its log")
            written.append(daemon.create("note", {"after": "all"}))
        peer.kill()
        objects = peer.objects()
        lost = [identity for identity in written if identity not in objects]
        check(not lost, f"{len(lost)} of {len(written)} acknowledged objects are lost")
        check("ok" in peer.run("doctor"), "doctor says nothing good")


def verbs(world, identity):
    """Verbs that read the directory themselves, or have the daemon read it in another way."""
    return [
        ("get", identity),
        ("status",),
        ("ls",),
        ("export",),
        ("log",),
        ("history", identity),
        ("doctor",),
        ("backup", str(world.root / "a.backup")),
        ("preview",),
        ("conflicts",),
        ("run", "--no-discovery"),
        ("init", "--name", "b"),
        ("snapshot", "list"),
    ]


def read_through(daemon, identity):
    daemon.ask("GET", "/api/status")
    daemon.ask("GET", f"/api/objects/{identity}")
    daemon.ask("GET", "/api/log?limit=5")
    daemon.ask("GET", "/api/export")


def read_from_outside(peer):
    """The last connection that is closed moves the log into the database and removes it; the daemon's must count."""
    database = sqlite3.connect(peer.directory / "peerd.sqlite")
    check(database.execute("SELECT count(*) FROM properties").fetchone()[0] > 0, "the view is empty")
    database.close()


def log_of(peer):
    try:
        return os.stat(peer.directory / "peerd.sqlite-wal").st_ino
    except FileNotFoundError:
        return None


if __name__ == "__main__":
    main_of_test(run)
