#!/usr/bin/env python3
"""The outcome of a sync that `peerd preview` tells from real data directories: these must be afterwards as they were,
to the byte and the time of their last change, and no copy of them may be left."""

# time limit: 900 s

import hashlib
import json
import os
import shutil
import signal
import stat
import subprocess
from pathlib import Path

from peerd_harness import Agreement, World, check, main_of_test, pair, program, say, wait_until

SAME, ATTENTION, USAGE, WORKSPACE, BUSY, STORAGE = 0, 1, 2, 4, 5, 7


def fingerprint(directory):
    """Everything about a directory that reading it must not change."""
    entries = []
    for path in [directory, *sorted(directory.rglob("*"))]:
        status = path.lstat()
        content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        entries.append((str(path), status.st_ino, status.st_mode, status.st_size, status.st_mtime_ns, content))
    return entries


class Previews:
    """Runs of the verb, each of which must leave the directories and the temporary directory as they were."""

    def __init__(self, world):
        self.temporary = world.root / "tmp"
        self.temporary.mkdir()
        # There is no workspace of one's own.
        self.environment = {**os.environ, "TMPDIR": str(self.temporary), "PEERD_DIR": str(world.root / "nowhere")}

    def begin(self, directories, *words):
        return subprocess.Popen(
            [program(), "preview", *words, *map(str, directories)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self.environment,
        )

    def run(self, directories, *words, code, stop=None):
        """The outcome of the verb; `stop` may end it early."""
        directories = [Path(directory) for directory in directories]
        before = [fingerprint(directory) for directory in directories if directory.exists()]
        process = self.begin(directories, *words)
        if stop:
            stop(process)
        output, error = process.communicate(timeout=600)
        after = [fingerprint(directory) for directory in directories if directory.exists()]
        check(before == after, f"preview left a trace: {[(b, a) for b, a in zip(before, after) if b != a]}")
        left = list(self.temporary.iterdir())
        check(not left, f"preview left something behind: {left}")
        check(process.returncode == code, f"exit code {process.returncode}, not {code}: {output}{error}")
        return output, error

    def answer(self, peers, *words, code):
        output, _ = self.run([peer.directory for peer in peers], "--json", *words, code=code)
        whole = json.loads(output)
        check((whole["verdict"] == "same") == (code == SAME), f"{whole['verdict']} and exit code {code}")
        return whole

    def refused(self, directories, *words, code, mentions):
        output, error = self.run(directories, *words, code=code)
        check(not output, f"refused, and printed {output}")
        check(mentions in error, f"the error does not mention {mentions!r}: {error}")
        check(len(error.strip().splitlines()) == 1, f"not one sentence: {error}")
        check(str(self.temporary) not in error, f"the error names a copy: {error}")


def met(peers):
    """Lets peers become equal, and ends their daemons."""
    first = peers[0]
    first.start()
    for peer in peers[1:]:
        peer.start(peers=[first.address])
    Agreement().settle(peers)
    for peer in peers:
        peer.stop()


def named(whole, identity):
    return next(item for item in whole["named_objects"] if item["id"] == identity)


def check_pair(world, previews):
    a, b = world.paired("a", "b")
    note = a.create("note", "title=one", "body=text")
    folder, other = a.create("folder", "name=x"), a.create("folder", "name=y")
    met([a, b])

    same = previews.answer([a, b], code=SAME)
    check(same["orders"]["all_end_the_same"] and same["conflicts"] == [], f"{same}")
    check([device["missing"]["changes"] for device in same["devices"]] == [0, 0], f"{same['devices']}")
    check(max(same["transfers"][0]["bytes"]) < 700, f"equal devices have much to say: {same['transfers']}")
    say("equal devices: nothing to do")

    a.run("set", note, "done=true")
    news = previews.answer([a, b], code=SAME)
    check([device["missing"]["changes"] for device in news["devices"]] == [0, 1], f"{news['devices']}")
    check(news["devices"][1]["missing"]["writes"] == {"done": 1}, f"{news['devices']}")
    (changed,) = news["devices"][1]["missing"]["most_changed"]
    check(changed == {"object": note, "operations": 1}, f"{news['devices']}")
    check(named(news, note)["name"] == "one", f"{news['named_objects']}")

    a.run("set", note, "title=from a")
    b.run("set", note, "title=from b")
    whole = previews.answer([a, b], code=ATTENTION)
    conflict = whole["conflicts"]
    check(whole["verdict"] == "conflicts", f"{whole['verdict']}")
    check(len(conflict) == 1 and conflict[0]["name"] == "title", f"{conflict}")
    winner, (loser,) = conflict[0]["winner"], conflict[0]["losers"]
    check((winner["value"], winner["device"]) == ("from b", "b"), f"{conflict}")
    check((loser["value"], loser["device"]) == ("from a", "a"), f"{conflict}")
    check(loser["time_ms"] < winner["time_ms"], f"{conflict}")
    say("one property written apart: both values, with device and time")

    a.run("mv", folder, other)
    b.run("mv", other, folder)
    a.run("rm", note)
    whole = previews.answer([a, b], "--link", "satellite", code=ATTENTION)
    check([(move["object"], move["device"]) for move in whole["moves_undone"]] == [(other, "b")], f"{whole}")
    (revival,) = whole["revived"]
    check(revival["object"] == note and revival["deleted_on"] == ["a"], f"{revival}")
    check(revival["deletion"]["device"] == "a" and revival["deletion"]["kind"] == "delete", f"{revival}")
    check(revival["edit"]["device"] == "b" and revival["edit"]["value"] == "from b", f"{revival}")
    check(whole["blob_references"] == 0, "there is no media yet")
    check_links(previews, a, b, whole)
    text, _ = previews.run([a.directory, b.directory], code=ATTENTION)
    for word in ("values that lose", "moves that lose", "deleted, and back", '"from a"', "media: none"):
        check(word in text, f"the answer does not mention {word!r}:\n{text}")
    check(len(text.splitlines()) < 40 and max(map(len, text.splitlines())) < 200, f"not one screen:\n{text}")
    say(text)

    check_foretold(previews, a, b, whole)


def check_links(previews, a, b, satellite):
    slow = satellite["transfers"][0]["milliseconds"]
    fast = previews.answer([a, b], "--link", "lan", code=ATTENTION)["transfers"][0]
    check(slow > 1000 > 100 > fast["milliseconds"], f"{slow} and {fast['milliseconds']} ms")
    check(fast["bytes"] == satellite["transfers"][0]["bytes"], "another link, other bytes")
    far = previews.answer([a, b], "--link", "lan", "--latency", "300", "--bandwidth", "2000", code=ATTENTION)
    check(far["link"] == {"name": "lan, changed", "bits_per_second": 2_000_000, "latency_ms": 300.0}, f"{far['link']}")
    check(far["transfers"][0]["milliseconds"] == slow, f"{far['transfers']} and {slow} ms")


def check_foretold(previews, a, b, foretold):
    """What was foretold is what happens."""
    met([a, b])
    shown = a.json("conflicts")
    check(shown["properties"] == foretold["conflicts"], f"{shown}")
    check(shown["moves_without_effect"] == foretold["moves_undone"], f"{shown}")
    check(foretold["revived"][0]["object"] in a.objects(), "what was to come back did not")
    check(len(a.objects()) == foretold["objects"], "another number of objects than foretold")
    again = previews.answer([a, b], code=SAME)
    check(again["known_conflicts"] == 1 and again["conflicts"] == [], f"{again}")
    say("what was foretold is what happened")


def check_moves(world, previews):
    """One object moved to two places: a conflict of moves, and a name that would steer a terminal."""
    k, l = world.paired("k", "l")
    note = k.create("note", "title=\u001b[2Jcleared")
    x, y = k.create("folder", "name=x"), k.create("folder", "name=y")
    met([k, l])
    k.run("mv", note, x)
    l.run("mv", note, y)
    (conflict,) = previews.answer([k, l], code=ATTENTION)["conflicts"]
    check("name" not in conflict and conflict["winner"]["parent"] == y, f"{conflict}")
    check([loser["parent"] for loser in conflict["losers"]] == [x], f"{conflict}")
    text, _ = previews.run([k.directory, l.directory], code=ATTENTION)
    check("moves that lose (1)" in text and "\x1b" not in text, f"{text!r}")
    say("an object moved to two places: both places")


def check_unclean_end(world, previews):
    c, d = world.paired("c", "d")
    met([c, d])
    c.start()
    note = c.create("note", "title=only in the log")
    c.kill()
    check((c.directory / "peerd.sqlite-wal").stat().st_size > 0, "there is no write-ahead log to read")
    whole = previews.answer([c, d], code=SAME)
    check(whole["devices"][1]["missing"]["most_changed"][0]["object"] == note, f"{whole['devices']}")
    c.start()
    # What the daemon does meanwhile is its own affair.
    process = previews.begin([c.directory, d.directory])
    _, error = process.communicate(timeout=60)
    check(process.returncode == BUSY and "in use by process" in error, f"{process.returncode}: {error}")
    check(not list(previews.temporary.iterdir()), "refused, and left something behind")
    c.stop()
    say("a write-ahead log is read too, and a running daemon is left alone")


def check_many(world, previews):
    names = [f"m{number}" for number in range(5)]
    peers = world.paired(*names)
    note = peers[0].create("note", "title=shared")
    met(peers)
    for peer in peers:
        peer.run("set", note, f"title=by {peer.name}")
        peer.create("note", f"title=of {peer.name}")
    three = previews.answer(peers[:3], code=ATTENTION)
    check(three["orders"]["count"] == 12 and not three["orders"]["sampled"], f"{three['orders']}")
    check(three["orders"]["all_end_the_same"], f"{three['orders']}")
    check(len(three["conflicts"][0]["losers"]) == 2, f"{three['conflicts']}")
    five = previews.answer(peers, "--orders", "4", "--seed", "9", code=ATTENTION)
    check(five["orders"]["sampled"] and five["orders"]["seed"] == "9", f"{five['orders']}")
    check(five["orders"]["count"] == 4 and five["orders"]["all_end_the_same"], f"{five['orders']}")
    check(len(five["conflicts"][0]["losers"]) == 4, f"{five['conflicts']}")
    check(all(device["missing"]["changes"] == 8 for device in five["devices"]), f"{five['devices']}")
    again = previews.answer(peers, "--orders", "4", "--seed", "9", code=ATTENTION)
    check(again == five, "the same question got another answer")
    say("three devices in all 12 orders; five in orders drawn from a seed")
    check_signals(previews, peers)


def check_signals(previews, peers):
    """A signal ends it at once, and removes the copies, which nobody else could read."""
    directories = [peer.directory for peer in peers]

    def ended_by(number):
        def stop(process):
            copies = lambda: list(previews.temporary.glob("*/*/peerd.sqlite"))
            wait_until(lambda: len(copies()) >= len(directories), 30, "the databases are copied")
            (directory,) = previews.temporary.iterdir()
            check(stat.S_IMODE(directory.stat().st_mode) == 0o700, f"mode {directory.stat().st_mode:o}")
            for path in directory.rglob("*"):
                try:
                    mode = stat.S_IMODE(path.stat().st_mode)
                except FileNotFoundError:
                    continue
                check(mode & 0o077 == 0, f"others may use {path}: {mode:o}")
                check(path.name != "keys", "the keys were written to the disk")
            process.send_signal(number)

        return stop

    for number in (signal.SIGINT, signal.SIGTERM):
        output, _ = previews.run(directories, "--orders", "100000", code=-number, stop=ended_by(number))
        check(not output, f"ended by a signal, and printed {output}")
    say("a signal ends it, and nothing is left")


def check_fork(world, previews):
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
    (conflict,) = previews.answer([g, h], code=ATTENTION)["conflicts"]
    check(conflict["winner"]["value"] == "branch h", f"{conflict}")
    check([loser["value"] for loser in conflict["losers"]] == ["branch g"], f"{conflict}")
    say("two branches of one chain: both count, and what loses is shown")


def check_refusals(world, previews):
    i, j = world.paired("i", "j")
    met([i, j])
    copy = world.root / "copy"
    shutil.copytree(i.directory, copy)
    refused = previews.refused
    refused([i.directory, copy], code=USAGE, mentions="two copies of one device")
    refused([i.directory, world.root / "nothing"], code=WORKSPACE, mentions="nothing")
    empty = world.root / "empty"
    empty.mkdir()
    refused([i.directory, empty], code=WORKSPACE, mentions="no workspace")
    refused([i.directory], code=USAGE, mentions="two data directories")
    refused([i.directory, j.directory], "--link", "carrier-pigeon", code=USAGE, mentions="carrier-pigeon")
    refused([i.directory, j.directory], "--orders", "0", code=USAGE, mentions="--orders")
    refused([i.directory, j.directory], "--bandwidth", "0", code=USAGE, mentions="--bandwidth")
    refused([i.directory, j.directory], "--latency", "60001", code=USAGE, mentions="--latency")
    stranger = world.founder("stranger")
    refused([i.directory, stranger.directory], code=USAGE, mentions="another workspace")

    newer = world.root / "newer"
    shutil.copytree(j.directory, newer)
    content = bytearray((newer / "peerd.sqlite").read_bytes())
    content[60:64] = (99).to_bytes(4, "big")
    (newer / "peerd.sqlite").write_bytes(content)
    refused([i.directory, newer], code=STORAGE, mentions="newer peerd")
    (newer / "peerd.sqlite").write_bytes(b"no database" * 500)
    refused([i.directory, newer], code=STORAGE, mentions=str(newer))
    shutil.copyfile(stranger.directory / "peerd.sqlite", newer / "peerd.sqlite")
    refused([i.directory, newer], code=STORAGE, mentions="belongs to the keys")
    (newer / "peerd.sqlite").unlink()
    refused([i.directory, newer], code=WORKSPACE, mentions=str(newer))
    (newer / "keys").write_bytes((j.directory / "keys").read_bytes()[:40])
    refused([i.directory, newer], code=STORAGE, mentions="not a key file")

    # Two devices that were invited by a third and never ran.
    inviter = world.founder("inviter")
    inviter.start()
    left, right = world.peer("left"), world.peer("right")
    pair(inviter, left)
    pair(inviter, right)
    inviter.stop()
    refused([left.directory, right.directory], code=USAGE, mentions="do not know each other")
    previews.answer([inviter, left, right], code=SAME)
    say("bad input: one clear error each")


def main():
    with World("preview") as world:
        previews = Previews(world)
        check_pair(world, previews)
        check_moves(world, previews)
        check_unclean_end(world, previews)
        check_many(world, previews)
        check_fork(world, previews)
        check_refusals(world, previews)


main_of_test(main)
