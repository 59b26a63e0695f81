"""SQLite clients and verbs beside a daemon that also reads leave it its write-ahead log: after kill -9, every write
that was acknowledged is there."""

import contextlib
import os
import sqlite3

import pytest

from peerd_harness import DaemonSocket, check

ROUNDS = 20


class Guarded:
    """A daemon with a log that must stay, and what was written there."""

    def __init__(self, peer, socket):
        self.peer = peer
        self.socket = socket
        self.written = [socket.create("note", {"number": 0})]
        self.log = self.log_now()
        check(self.log, "the daemon has no log")

    def log_now(self):
        try:
            return os.stat(self.peer.directory / "peerd.sqlite-wal").st_ino
        except FileNotFoundError:
            return None

    def check_log(self, what):
        """The last connection that is closed moves the log into the database and removes it; the daemon's must
        count."""
        with contextlib.closing(sqlite3.connect(self.peer.directory / "peerd.sqlite")) as database:
            check(database.execute("SELECT count(*) FROM properties").fetchone()[0] > 0, "the view is empty")
        check(self.log_now() == self.log, f"{what}: the log of the daemon has been removed")
        self.written.append(self.socket.create("note", {"after": what}))


@pytest.fixture
def guarded(world):
    """In the end, the daemon is killed, and everything that was written must be there."""
    peer = world.founder("a")
    peer.start()
    with DaemonSocket(peer) as socket:
        guarded = Guarded(peer, socket)
        yield guarded
    peer.kill()
    objects = peer.objects()
    lost = [identity for identity in guarded.written if identity not in objects]
    check(not lost, f"{len(lost)} of {len(guarded.written)} acknowledged objects are lost")
    check("ok" in peer.run("doctor"), "doctor says nothing good")


def test_a_sqlite_client_beside_reads_of_the_daemon(guarded):
    for number in range(1, ROUNDS + 1):
        for path in ("status", f"objects/{guarded.written[-1]}", "log?limit=5", "export"):
            guarded.socket.ask("GET", f"/api/{path}")
        guarded.check_log(f"round {number}")


# Some read the directory themselves, and others have the daemon read it in another way.
@pytest.mark.parametrize("words", [
    "get ID", "status", "ls", "export", "log", "history ID", "doctor", "backup ROOT/a.backup", "preview", "conflicts",
    "run --no-discovery", "init --name b", "snapshot list",
], ids=lambda words: words.split()[0])
def test_a_verb_beside_the_daemon(guarded, world, words):
    guarded.peer.result(*words.replace("ID", guarded.written[0]).replace("ROOT", str(world.root)).split())
    guarded.check_log(words)


def test_a_refused_backup_onto_the_database(guarded):
    connection = guarded.socket.connection
    connection.request("POST", "/api/backup", body='{"path":"%s"}' % (guarded.peer.directory / "peerd.sqlite"))
    answer = connection.getresponse()
    answer.read()
    check(answer.status == 422, f"a backup onto the database: {answer.status}")
    guarded.check_log("a refused backup")
