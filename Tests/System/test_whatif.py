#!/usr/bin/env python3
"""What the simulator says would happen if devices met, told from their real data directories: which must be afterwards
as they were, to the byte and the time of their last change."""

# time limit: 900 s

import hashlib
import json
import shutil
import subprocess
from pathlib import Path

from peerd_harness import Agreement, World, check, main_of_test, pair, say, simulator

SAME, CONFLICTS, USAGE, UNFIT, BUSY = 0, 1, 64, 65, 75


def fingerprint(directory):
    """Everything about a directory that reading it must not change."""
    entries = []
    for path in [directory, *sorted(directory.rglob("*"))]:
        status = path.lstat()
        content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        entries.append((str(path), status.st_ino, status.st_mode, status.st_size, status.st_mtime_ns, content))
    return entries


def asked(directories, *words, code):
    """The outcome of `whatif`, which must leave no trace."""
    directories = [Path(directory) for directory in directories]
    before = [fingerprint(directory) for directory in directories if directory.exists()]
    command = [simulator(), "whatif", *words, *map(str, directories)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    after = [fingerprint(directory) for directory in directories if directory.exists()]
    check(before == after, f"whatif left a trace: {[(b, a) for b, a in zip(before, after) if b != a]}")
    check(done.returncode == code, f"exit code {done.returncode}, not {code}: {done.stdout}{done.stderr}")
    return done


def answer(peers, *words, code):
    return json.loads(asked([peer.directory for peer in peers], "--json", *words, code=code).stdout)


def refused(directories, *words, code=UNFIT, mentions):
    done = asked(directories, *words, code=code)
    check(not done.stdout, f"refused, and printed {done.stdout}")
    check(mentions in done.stderr, f"the error does not mention {mentions!r}: {done.stderr}")


def met(peers):
    """Lets peers become equal, and ends their daemons."""
    first = peers[0]
    first.start()
    for peer in peers[1:]:
        peer.start(peers=[first.address])
    Agreement().settle(peers)
    for peer in peers:
        peer.stop()


def check_pair(world):
    a, b = world.paired("a", "b")
    note = a.create("note", "title=one", "body=text")
    folder, other = a.create("folder", "name=x"), a.create("folder", "name=y")
    met([a, b])

    same = answer([a, b], code=SAME)
    check(same["orders"]["all_end_the_same"] and same["conflicts"] == [], f"{same}")
    check([device["lacks_changes"] for device in same["devices"]] == [0, 0], f"{same['devices']}")
    check(max(same["transfers"][0]["bytes"]) < 700, f"equal devices have much to say: {same['transfers']}")
    say("equal devices: nothing to do")

    a.run("set", note, "done=true")
    news = answer([a, b], code=SAME)
    check([device["lacks_changes"] for device in news["devices"]] == [0, 1], f"{news['devices']}")
    check(news["devices"][1]["lacks_by_property"] == {"done": 1}, f"{news['devices']}")
    check(news["devices"][1]["lacks_by_object"][0]["object"]["name"] == "one", f"{news['devices']}")

    a.run("set", note, "title=from a")
    b.run("set", note, "title=from b")
    conflict = answer([a, b], code=CONFLICTS)["conflicts"]
    check(len(conflict) == 1 and conflict[0]["property"] == "title", f"{conflict}")
    winner, (loser,) = conflict[0]["winner"], conflict[0]["losers"]
    check((winner["value"], winner["device"]) == ('"from b"', "b"), f"{conflict}")
    check((loser["value"], loser["device"]) == ('"from a"', "a"), f"{conflict}")
    check(loser["time_ms"] < winner["time_ms"], f"{conflict}")
    say("one property written apart: both values, with device and time")

    a.run("mv", folder, other)
    b.run("mv", other, folder)
    a.run("rm", note)
    whole = answer([a, b], "--link", "satellite", code=CONFLICTS)
    check([(move["reason"], move["move"]["device"]) for move in whole["moves_undone"]] == [("cycle", "b")], f"{whole}")
    (revival,) = whole["revived"]
    check(revival["object"]["id"] == note and revival["deleted_on"] == ["a"], f"{revival}")
    check(revival["deletion"]["device"] == "a" and revival["edit"]["device"] == "b", f"{revival}")
    check(whole["blob_references"] == 0, "there is no media yet")
    slow, fast = whole["transfers"][0]["milliseconds"], answer([a, b], "--link", "lan", code=CONFLICTS)
    check(slow > 1000 > 100 > fast["transfers"][0]["milliseconds"], f"{slow} and {fast['transfers']} ms")
    text = asked([a.directory, b.directory], code=CONFLICTS).stdout
    for word in ("values that lose", "moves that lose", "deleted, and back", '"from a"', "media: none"):
        check(word in text, f"the answer does not mention {word!r}:\n{text}")
    check(len(text.splitlines()) < 40 and max(map(len, text.splitlines())) < 200, f"not one screen:\n{text}")
    say(text)

    check_foretold(a, b, whole)


def check_foretold(a, b, foretold):
    """What was foretold is what happens."""
    met([a, b])
    shown = a.json("conflicts")
    (conflict,), (move,) = shown["properties"], shown["moves_without_effect"]
    check(json.dumps(conflict["winner"]["value"]) == foretold["conflicts"][0]["winner"]["value"], f"{shown}")
    check(move["object"] == foretold["moves_undone"][0]["object"]["id"], f"{shown}")
    check(foretold["revived"][0]["object"]["id"] in a.objects(), "what was to come back did not")
    check(len(a.objects()) == foretold["objects"], "another number of objects than foretold")
    again = answer([a, b], code=SAME)
    check(again["older_conflicts"] == 1 and again["conflicts"] == [], f"{again}")
    say("what was foretold is what happened")


def check_unclean_end(world):
    c, d = world.paired("c", "d")
    met([c, d])
    c.start()
    note = c.create("note", "title=only in the log")
    c.kill()
    check((c.directory / "peerd.sqlite-wal").stat().st_size > 0, "there is no write-ahead log to read")
    whole = answer([c, d], code=SAME)
    check(whole["devices"][1]["lacks_by_object"][0]["object"]["id"] == note, f"{whole['devices']}")
    c.start()
    refused([c.directory, d.directory], code=BUSY, mentions="in use by process")
    c.stop()
    say("a write-ahead log is read too, and a running daemon is left alone")


def check_many(world):
    names = [f"m{number}" for number in range(5)]
    peers = world.paired(*names)
    note = peers[0].create("note", "title=shared")
    met(peers)
    for peer in peers:
        peer.run("set", note, f"title=by {peer.name}")
        peer.create("note", f"title=of {peer.name}")
    three = answer(peers[:3], code=CONFLICTS)
    check(three["orders"]["count"] == 12 and not three["orders"]["sampled"], f"{three['orders']}")
    check(three["orders"]["all_end_the_same"], f"{three['orders']}")
    check(len(three["conflicts"][0]["losers"]) == 2, f"{three['conflicts']}")
    five = answer(peers, "--orders", "4", "--seed", "9", code=CONFLICTS)
    check(five["orders"]["sampled"] and five["orders"]["seed"] == "9", f"{five['orders']}")
    check(five["orders"]["count"] == 4 and five["orders"]["all_end_the_same"], f"{five['orders']}")
    check(len(five["conflicts"][0]["losers"]) == 4, f"{five['conflicts']}")
    check(all(device["lacks_changes"] == 8 for device in five["devices"]), f"{five['devices']}")
    say("three devices in all 12 orders; five in orders drawn from a seed")


def check_fork(world):
    """A machine that was put back as a whole, and went on: two devices hold two branches of its chain; both count."""
    f, g, h = world.paired("f", "g", "h")
    note = f.create("note", "title=old")
    met([f, g, h])
    names = ("peerd.sqlite", "token")
    backup = {name: (f.directory / name).read_bytes() for name in names}
    f.run("set", note, "title=branch g")
    met([f, g])
    for name in names:
        (f.directory / name).write_bytes(backup[name])
    f.run("set", note, "title=branch h")
    met([f, h])
    whole = answer([g, h], code=CONFLICTS)
    (conflict,) = whole["conflicts"]
    check(conflict["winner"]["value"] == '"branch h"', f"{whole}")
    check([loser["value"] for loser in conflict["losers"]] == ['"branch g"'], f"{whole}")
    say("two branches of one chain: both count, and what loses is shown")


def check_refusals(world):
    i, j = world.paired("i", "j")
    met([i, j])
    copy = world.root / "copy"
    shutil.copytree(i.directory, copy)
    refused([i.directory, copy], mentions="two copies of one device")
    refused([i.directory, world.root / "nothing"], mentions="nothing")
    empty = world.root / "empty"
    empty.mkdir()
    refused([i.directory, empty], mentions="not a data directory")
    refused([i.directory], code=USAGE, mentions="two data directories")
    refused([i.directory, j.directory], "--link", "carrier-pigeon", code=USAGE, mentions="carrier-pigeon")
    stranger = world.founder("stranger")
    refused([i.directory, stranger.directory], mentions="another workspace")

    newer = world.root / "newer"
    shutil.copytree(j.directory, newer)
    content = bytearray((newer / "peerd.sqlite").read_bytes())
    content[60:64] = (99).to_bytes(4, "big")
    (newer / "peerd.sqlite").write_bytes(content)
    refused([i.directory, newer], mentions="newer")
    (newer / "peerd.sqlite").write_bytes(b"no database" * 500)
    refused([i.directory, newer], mentions=str(newer))
    (newer / "keys").write_bytes((j.directory / "keys").read_bytes()[:40])
    refused([i.directory, newer], mentions="not a key file")

    # Two devices that were invited by a third and never ran.
    inviter = world.founder("inviter")
    inviter.start()
    left, right = world.peer("left"), world.peer("right")
    pair(inviter, left)
    pair(inviter, right)
    inviter.stop()
    refused([left.directory, right.directory], mentions="do not know each other")
    answer([inviter, left, right], code=SAME)
    say("bad input: one clear error each")


def main():
    with World("whatif") as world:
        check_pair(world)
        check_unclean_end(world)
        check_many(world)
        check_fork(world)
        check_refusals(world)


main_of_test(main)
