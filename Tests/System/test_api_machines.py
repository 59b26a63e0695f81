"""Two machines and the local API: invites, syncs, waits for what the other writes, and conflicts that one decides."""

import threading
from types import SimpleNamespace
from urllib.parse import urlencode

import pytest

from local_api import Entry, serve
from peerd_harness import check, wait_until


def sync(entry):
    report = entry.expect(200, "POST", "/api/sync", {"timeout_ms": 30_000}).json
    check(report["in_sync"] and not report["interrupted"], f"a sync: {report}")
    return report


@pytest.fixture
def machines(world):
    """The ways to two connected machines, of which the second has joined by an invite over HTTP."""
    here = serve(world)
    other = world.peer("second")
    other.run("join", "--name", "second", here.expect(201, "POST", "/api/invites").json["invite"])
    other.start(peers=[here.peer.address])
    there = Entry.loopback(other)
    wait_until(lambda: there.get("/api/sync/status")["in_sync"], 60, "the new machine is in sync")
    return here, there


def test_an_invite_and_its_qr_code(world):
    entry = serve(world)
    invite = entry.expect(201, "POST", "/api/invites").json
    check(invite["invite"].startswith("peerd:1:") and invite["port"] == entry.peer.port, f"{invite}")
    check(len(invite["qr"]["rows"]) == invite["qr"]["size"] == len(invite["qr"]["rows"][0]), "the QR code is no square")
    check(set("".join(invite["qr"]["rows"])) == {"0", "1"} and invite["lifetime_ms"] > 0, f"{invite}")


def test_after_a_sync_the_other_machine_has_everything(machines):
    here, there = machines
    made = [here.create("sent", properties={"n": n}) for n in range(20)]
    report = sync(here)
    check(there.count(type="sent") == 20, "a sync left something out")
    check([peer["name"] for peer in report["peers"]] == ["second"], f"{report}")
    check(there.get(f"/api/objects/{made[7]['id']}") == made[7], "an object differs on the other machine")
    check(here.export() == there.export(), "exports differ")
    peer = there.get("/api/peers")["peers"][0]
    check(peer["name"] == "first" and peer["connected"] and peer["in_sync"], f"{peer}")
    check(peer["missing_here"] == peer["missing_there"] == 0 and peer["traffic"]["received_bytes"] > 0, f"{peer}")


def test_a_wait_for_changes_ends_when_the_other_machine_writes(machines):
    here, there = machines
    token = there.get("/api/changes?type=sent")["token"]
    answers = []
    target = f"/api/changes?{urlencode({'type': 'sent', 'since': token, 'wait': 60})}"
    waiting = threading.Thread(target=lambda: answers.append(there.another().get(target)))
    waiting.start()
    here.create("sent", properties={"n": 20})
    waiting.join()
    check(len(answers) == 1 and answers[0]["origin"] == "peer", f"{answers}")
    check([item["state"]["properties"]["n"] for item in answers[0]["objects"]] == [20], f"{answers}")
    check([author["name"] for author in answers[0]["authors"]] == ["first"], f"{answers[0]['authors']}")


def test_addresses_of_machines(world, subtests):
    entry = serve(world)
    entry.expect(204, "POST", "/api/peers", {"addresses": [{"host": "127.0.0.1", "port": 1}]})
    for body in ({}, {"addresses": None}, {"addresses": [{"host": "", "port": 1}]}, {"addresses": [{"port": 1}]},
                 {"addresses": [{"host": "x", "port": 65_536}]}):
        with subtests.test(body=body):
            entry.refused(400, "bad-request", "POST", "/api/peers", body)
    check(entry.expect(200, "POST", "/api/restamp").json == {"restamped": []}, "there is nothing to restamp")


# What two machines write while they are apart.


def conflicts(entry):
    found = entry.get("/api/conflicts")["conflicts"]
    for conflict in found:
        for version in (conflict["winner"], *conflict["losers"]):
            # Each machine calls itself this one.
            version["author"].pop("is_this_machine")
    return sorted(found, key=lambda item: item["property"] or "")


@pytest.fixture
def apart(machines):
    """Two machines that have met again, and what they disagree on: a text, a number, and the place of one object."""
    here, there = machines
    made = here.create(properties={"text": "old", "other": 1})
    places = [here.create()["id"] for _ in range(2)]
    sync(here)
    path = f"/api/objects/{made['id']}"
    check(there.get(path) == here.get(path), "the peers differ before")
    for entry in machines:
        entry.peer.stop()
    for entry, text, number, place in ((here, "left", 2**53, places[0]), (there, "right", 2**53 + 1, places[1])):
        entry.peer.start()
        alone = Entry.loopback(entry.peer)
        check(alone.get("/api/peers")["peers"][0]["connected"] is False, "the peers are connected")
        alone.expect(200, "PATCH", path, {"properties": {"text": text, "number": number}})
        alone.expect(200, "POST", f"{path}/move", {"parent": place})
        entry.peer.stop()
    here.peer.start()
    there.peer.start(peers=[here.peer.address])
    here, there = (Entry.loopback(entry.peer) for entry in machines)
    wait_until(lambda: len(here.get(f"{path}/conflicts")["conflicts"]) == 3, 60, "all conflicts are seen")
    wait_until(lambda: conflicts(here) == conflicts(there), 60, "both see the same conflicts")
    by_property = {item["property"]: item for item in conflicts(here)}
    check(set(by_property) == {"text", "number", None}, f"conflicts of {set(by_property)}")
    return SimpleNamespace(here=here, there=there, id=made["id"], path=path, places=set(places), conflict=by_property)


def decision(apart, property, **content):
    """The body of a request that decides on a conflict."""
    conflict = apart.conflict[property]
    losers = [item["id"] for item in conflict["losers"]]
    return {
        "object": apart.id, "property": property, "winner": conflict["winner"]["id"], "losers": losers,
        "content": content,
    }


def decide(apart, entry, body):
    """Decides on one machine, and returns the object as both show it when they know the decision."""
    entry.expect(204, "POST", "/api/conflicts/resolve", body)
    left = set(apart.conflict) - {body["property"]}
    for machine in (apart.here, apart.there):
        wait_until(lambda: {item["property"] for item in conflicts(machine)} == left, 60, "the conflict has ended")
    shown = [machine.get(apart.path) for machine in (apart.here, apart.there)]
    check(shown[0] == shown[1], f"{shown}")
    return shown[0]


def test_a_conflict_names_its_versions_and_a_decision_counts_on_both_machines(apart):
    versions = [apart.conflict["text"]["winner"], *apart.conflict["text"]["losers"]]
    check({item["content"]["value"] for item in versions} == {"left", "right"}, f"{versions}")
    check({item["author"]["name"] for item in versions} == {"first", "second"}, f"{versions}")
    body = decision(apart, "text", value="both")
    for status, code, wrong in (
        (409, "conflict-changed", {"losers": []}), (409, "conflict-changed", {"property": "other"}),
        (400, "bad-request", {"content": {}}), (400, "bad-request", {"content": {"parent": "abc"}}),
    ):
        apart.here.refused(status, code, "POST", "/api/conflicts/resolve", {**body, **wrong})
    check(decide(apart, apart.here, body)["properties"]["text"] == "both", "the decision")
    apart.here.refused(409, "conflict-changed", "POST", "/api/conflicts/resolve", body)


def test_a_decision_may_name_a_version_instead_of_its_content(apart):
    """For clients that cannot hold the content exactly."""
    loser = apart.conflict["number"]["losers"][0]
    body = decision(apart, "number", version=apart.conflict["text"]["winner"]["id"])
    apart.here.refused(422, "invalid", "POST", "/api/conflicts/resolve", body)
    body = decision(apart, "number", version=7)
    apart.here.refused(400, "bad-request", "POST", "/api/conflicts/resolve", body)
    shown = decide(apart, apart.here, decision(apart, "number", version=loser["id"]))
    check(shown["properties"]["number"] == loser["content"]["value"], f"{shown}, not {loser}")


def test_either_machine_may_decide_where_an_object_is(apart):
    conflict = apart.conflict[None]
    parents = {item["content"]["parent"] for item in (conflict["winner"], *conflict["losers"])}
    check(parents == apart.places, f"{conflict}")
    shown = decide(apart, apart.there, decision(apart, None, version=conflict["losers"][0]["id"]))
    check(shown["parent"] == conflict["losers"][0]["content"]["parent"], f"{shown}")
