"""Writes that clients send again, because the daemon was killed before they heard the answer: each is done once.

The clients name their writes, like pages do, and have many on their way at once. After each kill they send what was not
acknowledged again, over the WebSocket or by HTTP.
"""

import json
import random
import threading
import uuid

import pytest
from websockets.exceptions import ConnectionClosed

from live_client import Live
from local_api import NOBODY, WAYS, Closed, Entry, both_entries, serve
from peerd_harness import check, free_port, run_together

KILLS = 8
CLIENTS = 3
IN_FLIGHT_MAX = 32
ACKS_BEFORE_KILL_MAX = 150


class Acks:
    """Counts the acknowledgements that all clients got, so that a kill can wait for some."""

    def __init__(self):
        self.condition = threading.Condition()
        self.count = 0

    def note(self):
        with self.condition:
            self.count += 1
            self.condition.notify_all()

    def wait_for(self, count):
        with self.condition:
            check(self.condition.wait_for(lambda: self.count >= count, 60), f"{self.count} acks, not {count}")


class Client:
    """Makes writes, and remembers which of them were acknowledged, with what."""

    def __init__(self, seed, acks):
        self.random = random.Random(seed)
        self.acks = acks
        self.count = 0
        self.writes = {}
        self.created = {}
        # In the order in which they were made.
        self.pending = []
        self.deleted = set()

    def make(self):
        id = str(uuid.UUID(int=self.random.getrandbits(128), version=4))
        edits = [{"create": "resent", "as": "$a", "properties": {"write": id, "n": 0}}]
        if self.count % 3 == 1:
            edits += [{"create": "resent", "parent": "$a", "properties": {"write": id, "n": 1}}]
        # The second time there is nothing to delete.
        if self.count % 5 == 4 and (victim := self.victim()):
            edits += [{"delete": victim}]
        self.count += 1
        self.writes[id] = edits
        self.pending.append(id)
        return id

    def victim(self):
        """An object without children that an acknowledged write has created."""
        for id, created in self.created.items():
            if len(created) == 1 and created[0] not in self.deleted:
                self.deleted.add(created[0])
                return created[0]
        return None

    def acknowledged(self, id, created):
        check(len(created) == sum("create" in edit for edit in self.writes[id]), f"{id} created {created}")
        check(self.created.setdefault(id, created) == created, f"{id} created {created}, and {self.created[id]} before")
        if id in self.pending:
            self.pending.remove(id)
        self.acks.note()

    def message(self, id):
        return {"type": "write", "id": id, "edits": self.writes[id]}

    def receive(self, live):
        ack = live.receive("ack")
        check(ack["durable"] is True, f"{ack}")
        self.acknowledged(ack["id"], ack["created"])

    def post(self, entry, id):
        answer = entry.expect(200, "POST", "/api/transactions", {"id": id, "edits": self.writes[id]}).json
        self.acknowledged(id, answer["created"])

    def resend(self, entry):
        """Sends everything that was not acknowledged again, in one way or the other."""
        if self.random.random() < 0.5:
            for id in list(self.pending):
                self.post(entry, id)
            return
        with Live(entry) as live:
            for id in self.pending:
                live.send(self.message(id))
            while self.pending:
                self.receive(live)

    def work(self, entry):
        """Writes until the daemon is gone."""
        try:
            with Live(entry) as live:
                while True:
                    while len(self.pending) < IN_FLIGHT_MAX:
                        live.send(self.message(self.make()))
                    self.receive(live)
        except (ConnectionClosed, OSError):
            pass

    def post_until_the_end(self, entry):
        try:
            while True:
                self.post(entry, self.make())
        except (Closed, OSError):
            entry.close()


def run_killed(peer, draw):
    acks = Acks()
    clients = [Client(draw.getrandbits(32), acks) for _ in range(CLIENTS + 2)]
    *writers, poster, deaf = clients
    words = ["--http-port", str(free_port())]
    peer.start(words=words)
    unheard_count = 0
    for _ in range(KILLS):
        entries = [Entry.loopback(peer) if number % 2 else Entry.socket(peer) for number in range(len(clients))]
        threads = [threading.Thread(target=client.work, args=(entry,)) for client, entry in zip(writers, entries)]
        threads.append(threading.Thread(target=poster.post_until_the_end, args=(entries[-2],)))
        for thread in threads:
            thread.start()
        # One client hears nothing at all.
        with Live(entries[-1]) as live:
            for _ in range(draw.randrange(1, 60)):
                live.send(deaf.message(deaf.make()))
            acks.wait_for(acks.count + draw.randrange(1, ACKS_BEFORE_KILL_MAX))
            peer.kill()
        for thread in threads:
            thread.join()
        peer.start(words=words)
        durable = {properties["write"] for properties in exported(Entry.socket(peer)).values()}
        unheard_count += sum(id in durable for client in clients for id in client.pending)
        run_together([lambda c=client: c.resend(Entry.socket(peer)) for client in clients])
    check(unheard_count > 0, "of every write that was done the client heard")
    check_done_once(Entry.socket(peer), clients)
    return clients


def exported(entry):
    """The properties of the objects that the clients made, by id."""
    return {item["id"]: item["properties"] for item in json.loads(entry.export()) if item["type"] == "resent"}


def check_done_once(entry, clients):
    expected = {}
    for client in clients:
        check(not client.pending and client.created.keys() == client.writes.keys(), "a write was not acknowledged")
        for id, created in client.created.items():
            expected |= {object: {"write": id, "n": n} for n, object in enumerate(created)}
    for client in clients:
        for object in client.deleted:
            del expected[object]
    found = exported(entry)
    twice = [found[id]["write"] for id in found.keys() - expected.keys()]
    check(not twice, f"{len(twice)} objects too many, of {len(found)}; by the writes {sorted(set(twice))[:10]}")
    check(found == expected, f"{len(expected.keys() - found.keys())} objects are missing")


def check_all_again(peer, clients):
    """Long after, on whichever way in, by whichever kind of request: nothing is done again."""
    for entry in both_entries(peer):
        with entry.unchanged():
            for client in clients:
                ids = client.random.sample(sorted(client.writes), min(40, len(client.writes)))
                with Live(entry) as live:
                    for id in ids:
                        live.send(client.message(id))
                    for _ in ids:
                        client.receive(live)
                    for id in ids:
                        client.post(entry, id)
                        check_other_edits(entry, live, id, client.writes[id])


def check_other_edits(entry, live, id, edits):
    """A name belongs to what was written under it."""
    for members in ({"edits": []}, {"edits": [*edits, {"create": "other"}]}, {"edits": edits, "if": {NOBODY: "x"}}):
        entry.refused(409, "id-of-another-write", "POST", "/api/transactions", {"id": id, **members})
        live.refused("id-of-another-write", {"type": "write", "id": id, **members})


def test_writes_that_are_sent_again_after_kills_are_done_once(world, draw):
    peer = world.founder("first")
    clients = run_killed(peer, draw)
    check_all_again(peer, clients)
    peer.restart()
    check_all_again(peer, clients)
    # What one machine remembers is nothing to others.
    doctor = Entry.socket(peer).expect(200, "POST", "/api/doctor").json
    check(doctor["healthy"], f"{doctor}")


@pytest.fixture(params=WAYS)
def entry(request, world):
    return serve(world, request.param)


def test_a_failed_write_leaves_its_name_free(entry):
    wrong = {"id": "name", "edits": [{"create": "wrong"}, {"delete": NOBODY}]}
    with Live(entry) as live:
        for _ in range(2):
            entry.refused(404, "no-such-object", "POST", "/api/transactions", wrong)
            live.refused("no-such-object", {"type": "write", **wrong})
        live.write([{"create": "right"}], "name")
        entry.refused(409, "id-of-another-write", "POST", "/api/transactions", wrong)
    check(entry.count(type="wrong") == 0 and entry.count(type="right") == 1, "a write that failed has written")


def test_names_of_writes_are_told_apart_by_their_bytes(entry):
    names = ["name", "name\u00e9", "namee\u0301", "name\0", "name\0a", "x" * 256]
    with Live(entry) as live:
        created = {live.write([{"create": "right"}], id)[0] for id in names}
        check(len(created) == len(names), "two names were taken for one")
        live.refused("bad-request", {"type": "write", "id": "x" * 257, "edits": []})
        entry.refused(400, "bad-request", "POST", "/api/transactions", {"id": "\u00fc" * 129, "edits": []})
