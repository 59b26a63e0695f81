"""What is shown of other machines is true: those that are gone can be forgotten, when each was seen outlasts a restart,
addresses that lead nowhere are named, and so are copies of a machine, and an invite that gives way is told."""

import re
import shutil

import pytest

from local_api import Entry
from peerd_harness import check, invite_line, pair, wait_until

WARNING, NO_SUCH_MACHINE, USAGE = "warning", 3, 2


def named(peer):
    return {entry["name"]: entry for entry in peer.json("peers") if entry["device"]}


@pytest.fixture
def gone(world):
    """A laptop and a desk that run, and a ghost that has joined and does not."""
    laptop, desk, ghost = world.founder("laptop"), world.peer("desk"), world.peer("ghost")
    laptop.start()
    pair(laptop, desk)
    pair(laptop, ghost)
    desk.start(peers=[laptop.address])
    wait_until(lambda: named(desk).keys() == {"laptop", "ghost"}, 30, "the desk hears of both")
    return laptop, desk, ghost


def test_a_machine_that_is_gone_is_forgotten_until_it_comes_back(gone):
    laptop, desk, ghost = gone
    done = desk.result("sync", "--wait", "--timeout", "1")
    check(done.returncode == 6, f"a ghost is waited for: {done}")
    desk.run("peers", "forget", "ghost")
    check(named(desk).keys() == {"laptop"}, f"{named(desk)}")
    desk.run("sync", "--wait", "--timeout", "30")
    desk.restart(peers=[laptop.address])
    check("ghost" not in named(desk), "it stays forgotten over a restart")
    check("ghost" in named(laptop), "another machine has not forgotten it")
    ghost.start(peers=[desk.address])
    wait_until(lambda: named(desk).get("ghost", {}).get("connected"), 30, "who comes back is known again")
    for peer in (ghost, desk, laptop):
        peer.stop()


def test_who_cannot_be_forgotten(gone):
    _, desk, _ = gone
    check(desk.result("peers", "forget", "nobody").returncode == NO_SUCH_MACHINE, "an unknown machine")
    check(desk.result("peers", "forgive", "ghost").returncode == USAGE, "another word")
    wait_until(lambda: named(desk)["laptop"]["connected"], 30, "they meet")
    check(desk.result("peers", "forget", "laptop").returncode == 1, "one that is connected is not gone")
    check(named(desk).keys() == {"laptop", "ghost"}, f"{named(desk)}")


def test_when_a_machine_was_seen_last_outlasts_a_restart(world):
    laptop, desk = world.paired("first", "second")
    laptop.start()
    desk.start(peers=[laptop.address])
    wait_until(lambda: named(desk)["first"]["connected"], 30, "they meet")
    laptop.stop()
    wait_until(lambda: not named(desk)["first"]["connected"], 30, "they part")
    seen = named(desk)["first"]["last_seen_ms"]
    check(seen, "when it was seen is known")
    desk.restart()
    check(named(desk)["first"]["last_seen_ms"] == seen, f"after a restart: {named(desk)}")
    check("never seen" not in desk.run("peers"), desk.run("peers"))
    desk.stop()
    check("last seen" in desk.run("peers"), f"without a daemon: {desk.run('peers')}")


def test_addresses_that_lead_nowhere_are_named(world):
    peer = world.founder("typist")
    peer.start(peers=["127.0.0.1:1", "no.such.host.invalid:7400"])
    wait_until(lambda: len(peer.status()["addresses"]) == 2, 30, "both addresses have failed")
    for verb in ("status", "doctor", "peers"):
        text = peer.run(verb)
        check("127.0.0.1:1" in text and "no.such.host.invalid" in text, f"{verb} names the addresses: {text}")
    peer.stop()


def test_a_machine_that_is_away_is_one_machine_and_lacks_nobody_knows_what(world):
    laptop, desk, phone = world.paired("laptop", "desk", "phone")
    desk.start()
    laptop.start(peers=[desk.address])
    phone.start(peers=[laptop.address])
    entry = Entry.socket(laptop)

    def samples():
        lines = entry.expect(200, "GET", "/metrics").body.decode().splitlines()
        return dict(line.split(" ") for line in lines if line.startswith(("peerd_in_sync", "peerd_pending")))

    wait_until(lambda: laptop.status()["in_sync"], 60, "all are in sync")
    check(entry.get("/api/sync/status")["pending"] == 0, "nothing is pending")
    check(samples() == {"peerd_in_sync": "1", "peerd_pending_changes": "0"}, f"{samples()}")
    desk.stop()
    laptop.create("note")
    wait_until(lambda: f"{desk.address} does not answer" in laptop.log_path.read_text(), 60, "it is looked for in vain")
    wait_until(lambda: named(laptop)["phone"]["in_sync"], 60, "the other one has the note")
    report, status = entry.get("/api/sync/status"), laptop.status()
    check(report["in_sync"] is False and report["pending"] is None, f"one is away and lacks a note: {report}")
    check(status["in_sync"] is False and status["addresses"] == [], f"one is away: {status}")
    check(samples() == {"peerd_in_sync": "0"}, f"{samples()}")
    check(len(laptop.json("peers")) == 2, f"one machine is shown twice: {laptop.json('peers')}")
    check(laptop.json("sync", "--timeout", "20")["in_sync"] is False, "a sync without it is called in sync")
    laptop.run("peers", "forget", "desk")
    check(laptop.status()["in_sync"], "nobody waits for one that is gone")
    for peer in (phone, laptop):
        peer.stop()


def test_the_port_from_which_a_machine_dials_is_not_its_address(gone):
    laptop, desk, _ = gone
    desk.stop()
    # A command listens nowhere; it waits for the machine that is gone.
    command = desk.begin("sync", "--wait", "--timeout", "60")
    wait_until(lambda: named(laptop)["desk"]["connected"], 30, "it dials")
    ports = {address.rsplit(":", 1)[1] for address in filter(None, [named(laptop)["desk"]["address"]])}
    check(ports <= {desk.address.rsplit(":", 1)[1]}, f"shown as its address: {named(laptop)['desk']}")
    command.kill()
    command.wait()
    laptop.stop()


def test_a_damaged_file_of_settings_is_told(world):
    peer = world.founder("settings")
    (peer.directory / "config").write_text("{ no settings")
    told = peer.result("status").stderr
    check(b"config is damaged" in told and b"the plan of backups" in told and b"--every" in told, f"status: {told}")
    findings = peer.json("doctor")["findings"]
    found = [finding for finding in findings if finding["subject"] == "config"]
    check(found and found[0]["level"] == WARNING and found[0]["advice"], f"the doctor tells of it: {findings}")
    peer.start()
    check("config is damaged" in peer.log_path.read_text(), "the log tells of it")
    check(peer.result("status").stderr == b"", "the daemon has written another one")
    check((peer.directory / "config.damaged").read_text() == "{ no settings", "the damaged one is kept")
    peer.stop()


def test_settings_that_are_no_file_are_told_before_anything_is_written(world):
    peer = world.founder("unkept")
    (peer.directory / "config").unlink(missing_ok=True)
    (peer.directory / "config" / "in the way").mkdir(parents=True)
    for verb in (["ls"], ["status"], ["create", "note"]):
        done = peer.result(*verb)
        check(done.returncode == 7 and b"config is not a regular file" in done.stderr, f"{verb}: {done}")
    (peer.directory / "config" / "in the way").rmdir()
    (peer.directory / "config").rmdir()
    peer.create("note")


def test_an_invite_that_gave_way_is_told_and_one_that_was_cut_is_refused(world):
    peer = world.founder("inviter")
    peer.start()
    first = invite_line(peer)
    for _ in range(7):
        check(peer.result("invite").stderr == b"", "eight may be open")
    check(b"oldest" in peer.result("invite").stderr, "the ninth ends the first, and says so")
    done = world.peer("late").result("join", first)
    check(done.returncode != 0 and b"gave way" in done.stderr, f"its joiner hears of it: {done}")
    cut = re.sub("....$", "", invite_line(peer))
    done = world.peer("cut").result("join", cut)
    check(done.returncode == USAGE and b"not a complete invite" in done.stderr, f"an invite that was cut: {done}")
    peer.stop()


def test_two_live_copies_of_a_machine_are_named(world):
    hub, twin = world.paired("hub", "twin")
    other = world.peer("other")
    shutil.copytree(twin.directory, other.directory)
    hub.start(words=["--no-http"])
    for peer in (twin, other):
        peer.start(peers=[hub.address], words=["--no-http"])
    wait_until(lambda: named(hub)["twin"]["copies"], 60, "two live copies of a device are noticed")
    for verb in ("status", "doctor"):
        text = hub.run(verb)
        check("more than one machine runs as twin" in text and "join" in text, f"{verb}: {text}")
    for peer in (other, twin, hub):
        peer.stop()
