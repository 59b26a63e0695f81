#!/usr/bin/env python3
"""What is shown of other machines is true: those that are gone can be forgotten, when each was seen outlasts a restart,
addresses that lead nowhere are named, held changes are not called in sync, and an invite that gives way is told."""

# time limit: 180 s

import re
import shutil

from peerd_harness import World, check, invite_line, main_of_test, pair, say, wait_until
from test_clock import DAY_SECONDS, build_library, set_clock

WARNING, NO_SUCH_MACHINE, USAGE = "warning", 3, 2


def named(peer):
    return {entry["name"]: entry for entry in peer.json("peers") if entry["device"]}


def check_forgetting(world):
    laptop = world.founder("laptop")
    laptop.start()
    desk, ghost = world.peer("desk"), world.peer("ghost")
    pair(laptop, desk)
    pair(laptop, ghost)
    desk.start(peers=[f"127.0.0.1:{laptop.port}"])
    wait_until(lambda: named(desk).keys() == {"laptop", "ghost"}, 30, "the desk hears of both")
    done = desk.result("sync", "--wait", "--timeout", "1")
    check(done.returncode == 6, f"a ghost is waited for: {done}")
    check(desk.result("peers", "forget", "nobody").returncode == NO_SUCH_MACHINE, "an unknown machine")
    check(desk.result("peers", "forgive", "ghost").returncode == USAGE, "another word")
    check(desk.result("peers", "forget", "laptop").returncode == 1, "one that is connected is not gone")
    desk.run("peers", "forget", "ghost")
    check(named(desk).keys() == {"laptop"}, f"{named(desk)}")
    desk.run("sync", "--wait", "--timeout", "30")
    desk.restart(peers=[f"127.0.0.1:{laptop.port}"])
    check("ghost" not in named(desk), "it stays forgotten over a restart")
    check("ghost" in named(laptop), "another machine has not forgotten it")
    ghost.start(peers=[f"127.0.0.1:{desk.port}"])
    wait_until(lambda: named(desk).get("ghost", {}).get("connected"), 30, "who comes back is known again")
    for peer in (ghost, desk, laptop):
        peer.stop()
    say("a machine that is gone is forgotten, until it comes back")


def check_last_seen(world):
    laptop, desk = world.paired("first", "second")
    laptop.start()
    desk.start(peers=[f"127.0.0.1:{laptop.port}"])
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
    say("when a machine was seen last outlasts a restart")


def check_addresses(world):
    peer = world.founder("typist")
    peer.start(peers=["127.0.0.1:1", "no.such.host.invalid:7400"])
    wait_until(lambda: len(peer.status()["addresses"]) == 2, 30, "both addresses have failed")
    for verb in ("status", "doctor", "peers"):
        text = peer.run(verb)
        check("127.0.0.1:1" in text and "no.such.host.invalid" in text, f"{verb} names the addresses: {text}")
    peer.stop()
    say("addresses that lead nowhere are named")


def check_settings(world):
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
    say("a damaged file of settings is told")


def check_invites(world):
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
    say("an invite that gave way is told, and one that was cut is refused")


def check_held_changes(world):
    library = build_library(world.root)
    fast, right = world.paired("fast", "right")
    set_clock(fast, library, DAY_SECONDS)
    fast.create("note", "title=from tomorrow")
    right.start()
    fast.start(peers=[f"127.0.0.1:{right.port}"])
    wait_until(lambda: right.status()["waiting"], 30, "the change is held")
    wait_until(lambda: named(right)["fast"]["in_sync"], 30, "everything is exchanged")
    status = right.status()
    check(not status["in_sync"], f"changes that are held are called in sync: {status}")
    text = right.run("status")
    check("in sync" not in text and "values may differ" in text, text)
    # Where they were written, too: nothing is held there, but others do not show what this machine shows.
    wait_until(lambda: named(fast)["right"]["in_sync"], 30, "everything is exchanged, as the author sees it")
    status = fast.status()
    check(not status["in_sync"] and not status["waiting"], f"their author says that all is in sync: {status}")
    check(named(fast)["right"]["holds_until_ms"] and not named(right)["fast"]["holds_until_ms"], "who holds them")
    for verb in ("status", "peers", "sync"):
        text = fast.run(verb)
        check("in sync" not in text and "held there until" in text, f"{verb}: {text}")
    check(not fast.json("sync")["in_sync"], "a sync of the author ends in sync")
    # In order again, by their author's right clock: now it is true.
    set_clock(fast, library, 0)
    fast.restart(peers=[f"127.0.0.1:{right.port}"])
    for peer, other in ((fast, "right"), (right, "fast")):
        wait_until(lambda: peer.status()["in_sync"], 60, f"{peer.name} is in sync once the clock is right")
        check("in sync" in peer.run("status") and named(peer)[other]["holds_until_ms"] is None, peer.run("status"))
    fast.stop()
    right.stop()
    say("held changes are not called in sync")


def check_live_copies(world):
    hub, twin = world.paired("hub", "twin")
    other = world.peer("other")
    shutil.copytree(twin.directory, other.directory)
    hub.start(words=["--no-http"])
    for peer in (twin, other):
        peer.start(peers=[f"127.0.0.1:{hub.port}"], words=["--no-http"])
    wait_until(lambda: named(hub)["twin"]["copies"], 60, "two live copies of a device are noticed")
    for verb in ("status", "doctor"):
        text = hub.run(verb)
        check("more than one machine runs as twin" in text and "join" in text, f"{verb}: {text}")
    other.stop()
    twin.stop()
    hub.stop()
    say("two live copies of a device are named")


def run():
    with World("honest") as world:
        check_forgetting(world)
        check_last_seen(world)
        check_addresses(world)
        check_settings(world)
        check_invites(world)
        check_held_changes(world)
        check_live_copies(world)


main_of_test(run)
