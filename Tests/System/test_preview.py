"""The outcome of a sync that `peerd preview` tells from real data directories: these must be afterwards as they were,
to the byte and the time of their last change, and no copy of them may be left."""

import fcntl
import hashlib
import json
import os
import shutil
import signal
import stat
import subprocess
from pathlib import Path

import pytest

from peerd_harness import Agreement, check, pair, program, wait_until

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


@pytest.fixture
def previews(world):
    return Previews(world)


@pytest.fixture
def two(world):
    """Two devices of one workspace that do not run."""
    return world.paired("a", "b")


@pytest.fixture
def shared(two):
    """Two devices that hold the same, and the ids of a note and of two folders."""
    a, b = two
    note = a.create("note", "title=one", "body=text")
    folder, other = a.create("folder", "name=x"), a.create("folder", "name=y")
    met([a, b])
    return a, b, note, folder, other


@pytest.fixture
def apart(shared):
    """They have written one property apart, moved two folders into each other, and one has deleted the note."""
    a, b, note, folder, other = shared
    a.run("set", note, "title=from a")
    b.run("set", note, "title=from b")
    a.run("mv", folder, other)
    b.run("mv", other, folder)
    a.run("rm", note)
    return shared


def test_equal_devices_have_nothing_to_do(previews, shared):
    a, b, *_ = shared
    same = previews.answer([a, b], code=SAME)
    check(same["orders"]["all_end_the_same"] and same["conflicts"] == [], f"{same}")
    check([device["missing"]["changes"] for device in same["devices"]] == [0, 0], f"{same['devices']}")
    check(max(same["transfers"][0]["bytes"]) < 700, f"equal devices have much to say: {same['transfers']}")


def test_what_one_device_lacks_is_counted(previews, shared):
    a, b, note, *_ = shared
    a.run("set", note, "done=true")
    news = previews.answer([a, b], code=SAME)
    check([device["missing"]["changes"] for device in news["devices"]] == [0, 1], f"{news['devices']}")
    check(news["devices"][1]["missing"]["writes"] == {"done": 1}, f"{news['devices']}")
    (changed,) = news["devices"][1]["missing"]["most_changed"]
    check(changed == {"object": note, "operations": 1}, f"{news['devices']}")
    named = next(item for item in news["named_objects"] if item["id"] == note)
    check(named["name"] == "one", f"{news['named_objects']}")


def test_both_values_of_a_property_written_apart_are_told(previews, shared):
    a, b, note, *_ = shared
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


def test_what_is_foretold_is_what_happens(previews, apart):
    a, b, note, _, other = apart
    whole = previews.answer([a, b], code=ATTENTION)
    check([(move["object"], move["device"]) for move in whole["moves_undone"]] == [(other, "b")], f"{whole}")
    (revival,) = whole["revived"]
    check(revival["object"] == note and revival["deleted_on"] == ["a"], f"{revival}")
    check(revival["deletion"]["device"] == "a" and revival["deletion"]["kind"] == "delete", f"{revival}")
    check(revival["edit"]["device"] == "b" and revival["edit"]["value"] == "from b", f"{revival}")
    check(whole["blob_references"] == 0, "there is no media yet")
    met([a, b])
    shown = a.json("conflicts")
    check(shown["properties"] == whole["conflicts"], f"{shown}")
    check(shown["moves_without_effect"] == whole["moves_undone"], f"{shown}")
    check(note in a.objects(), "what was to come back did not")
    check(len(a.objects()) == whole["objects"], "another number of objects than foretold")
    again = previews.answer([a, b], code=SAME)
    check(again["known_conflicts"] == 1 and again["conflicts"] == [], f"{again}")


def test_the_text_fits_on_one_screen(previews, apart):
    a, b, *_ = apart
    text, _ = previews.run([a.directory, b.directory], code=ATTENTION)
    for word in ("values that lose", "moves that lose", "deleted, and back", '"from a"', "media: none"):
        check(word in text, f"the answer does not mention {word!r}:\n{text}")
    check(len(text.splitlines()) < 40 and max(map(len, text.splitlines())) < 200, f"not one screen:\n{text}")


def test_the_link_decides_how_long_a_transfer_takes(previews, apart):
    a, b, *_ = apart
    satellite = previews.answer([a, b], "--link", "satellite", code=ATTENTION)["transfers"][0]
    fast = previews.answer([a, b], "--link", "lan", code=ATTENTION)["transfers"][0]
    slow = satellite["milliseconds"]
    check(slow > 1000 > 100 > fast["milliseconds"], f"{slow} and {fast['milliseconds']} ms")
    check(fast["bytes"] == satellite["bytes"], "another link, other bytes")
    far = previews.answer([a, b], "--link", "lan", "--latency", "300", "--bandwidth", "2000", code=ATTENTION)
    check(far["link"] == {"name": "lan, changed", "bits_per_second": 2_000_000, "latency_ms": 300.0}, f"{far['link']}")
    check(far["transfers"][0]["milliseconds"] == slow, f"{far['transfers']} and {slow} ms")


def test_both_places_of_an_object_moved_apart_are_told(world, previews):
    """Its name would steer a terminal."""
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


def test_a_write_ahead_log_is_read_too(previews, shared):
    c, d, *_ = shared
    c.start()
    note = c.create("note", "title=only in the log")
    c.kill()
    check((c.directory / "peerd.sqlite-wal").stat().st_size > 0, "there is no write-ahead log to read")
    whole = previews.answer([c, d], code=SAME)
    check(whole["devices"][1]["missing"]["most_changed"][0]["object"] == note, f"{whole['devices']}")


def test_a_running_daemon_is_left_alone(previews, two):
    c, d = two
    c.start()
    # What the daemon does meanwhile is its own affair.
    process = previews.begin([c.directory, d.directory])
    _, error = process.communicate(timeout=60)
    check(process.returncode == BUSY and "in use by process" in error, f"{process.returncode}: {error}")
    check(not list(previews.temporary.iterdir()), "refused, and left something behind")


def written_apart(world, count):
    """Devices each of which has written the same property and an object of its own."""
    peers = world.paired(*(f"m{number}" for number in range(count)))
    note = peers[0].create("note", "title=shared")
    met(peers)
    for peer in peers:
        peer.run("set", note, f"title=by {peer.name}")
        peer.create("note", f"title=of {peer.name}")
    return peers


def test_three_devices_meet_in_every_order(world, previews):
    three = previews.answer(written_apart(world, 3), code=ATTENTION)
    check(three["orders"]["count"] == 12 and not three["orders"]["sampled"], f"{three['orders']}")
    check(three["orders"]["all_end_the_same"], f"{three['orders']}")
    check(len(three["conflicts"][0]["losers"]) == 2, f"{three['conflicts']}")


def test_five_devices_meet_in_orders_drawn_from_a_seed(world, previews):
    five = written_apart(world, 5)
    whole = previews.answer(five, "--orders", "4", "--seed", "9", code=ATTENTION)
    check(whole["orders"]["sampled"] and whole["orders"]["seed"] == "9", f"{whole['orders']}")
    check(whole["orders"]["count"] == 4 and whole["orders"]["all_end_the_same"], f"{whole['orders']}")
    check(len(whole["conflicts"][0]["losers"]) == 4, f"{whole['conflicts']}")
    check(all(device["missing"]["changes"] == 8 for device in whole["devices"]), f"{whole['devices']}")
    again = previews.answer(five, "--orders", "4", "--seed", "9", code=ATTENTION)
    check(again == whole, "the same question got another answer")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_a_signal_ends_it_and_nothing_is_left(world, previews, number):
    """The copies go, which nobody else could read."""
    directories = [peer.directory for peer in written_apart(world, 4)]

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

    output, _ = previews.run(directories, "--orders", "100000", code=-number, stop=stop)
    check(not output, f"ended by a signal, and printed {output}")


def test_two_forks_of_one_chain_both_count(world, previews):
    """A machine that was put back as a whole, and went on: two devices hold two forks of its chain."""
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


@pytest.mark.parametrize(
    "option, value", [("--link", "carrier-pigeon"), ("--orders", "0"), ("--bandwidth", "0"), ("--latency", "60001")]
)
def test_a_value_that_no_option_can_have_is_refused(world, previews, option, value):
    mentions = value if option == "--link" else option
    directories = [world.founder(name).directory for name in ("a", "b")]
    previews.refused(directories, option, value, code=USAGE, mentions=mentions)


def test_directories_that_are_not_two_devices_are_refused(world, previews, two):
    i = two[0]
    copy, empty = world.root / "copy", world.root / "empty"
    shutil.copytree(i.directory, copy)
    empty.mkdir()
    previews.refused([i.directory, copy], code=USAGE, mentions="two copies of one device")
    previews.refused([i.directory, world.root / "nothing"], code=WORKSPACE, mentions="nothing")
    previews.refused([i.directory, empty], code=WORKSPACE, mentions="no workspace")
    previews.refused([i.directory], code=USAGE, mentions="two data directories")
    stranger = world.founder("stranger")
    previews.refused([i.directory, stranger.directory], code=USAGE, mentions="another workspace")


def of_version(version):
    """Spoils a database: gives its schema another number."""

    def spoil(database):
        content = bytearray(database.read_bytes())
        content[60:64] = version.to_bytes(4, "big")
        database.write_bytes(content)

    return spoil


@pytest.mark.parametrize(
    "spoil, code, mentions",
    [
        (of_version(99), STORAGE, "newer peerd"),
        (of_version(8), STORAGE, "earlier peerd"),
        (lambda database: database.write_bytes(b"no database" * 500), STORAGE, "{directory}"),
        (lambda database: database.write_bytes(b""), STORAGE, "missing or empty"),
        (Path.unlink, STORAGE, "missing or empty"),
    ],
    ids=["of_a_newer_version", "of_an_earlier_version", "no_database", "empty", "gone"],
)
def test_a_database_that_cannot_be_read_is_refused(previews, two, spoil, code, mentions):
    i, j = two
    spoil(j.directory / "peerd.sqlite")
    mentions = mentions.format(directory=j.directory)
    previews.refused([i.directory, j.directory], code=code, mentions=mentions)


def test_a_database_of_other_keys_is_refused(world, previews, two):
    i, j = two
    shutil.copyfile(world.founder("stranger").directory / "peerd.sqlite", j.directory / "peerd.sqlite")
    previews.refused([i.directory, j.directory], code=STORAGE, mentions="belongs to the keys")


def link_like_a_preview(previews):
    """A link that is named like a directory of a preview, to one that looks like one."""
    target = previews.temporary.parent / "target"
    target.mkdir(mode=0o700)
    (target / "lock-of-a-preview").touch()
    link = previews.temporary / "peerd-preview-link"
    link.symlink_to(target)
    return link


def test_copies_of_a_preview_that_was_killed_are_removed_by_the_next(previews, two):
    killed, used, another = (previews.temporary / f"peerd-preview-{name}" for name in ("killed", "in-use", "another"))
    linked = link_like_a_preview(previews)
    for directory in (killed, used, another):
        directory.mkdir(mode=0o700)
        (directory / "copy").write_bytes(b"values")
    for directory in (killed, used):
        (directory / "lock-of-a-preview").touch()
    with open(used / "lock-of-a-preview", "r+b") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        process = previews.begin([peer.directory for peer in two])
        output, error = process.communicate(timeout=60)
        check(process.returncode == SAME, f"{process.returncode}: {output}{error}")
        left = set(previews.temporary.iterdir())
        check(left == {used, another, linked}, f"left: {left}")
    previews.begin([peer.directory for peer in two]).communicate(timeout=60)
    left = set(previews.temporary.iterdir())
    check(left == {another, linked}, f"what is not a preview's is gone, or what is is left: {left}")
    check((linked.resolve() / "lock-of-a-preview").exists(), "the content behind a link is gone")


def test_half_a_key_file_is_refused(previews, two):
    i, j = two
    (j.directory / "keys").write_bytes((j.directory / "keys").read_bytes()[:40])
    previews.refused([i.directory, j.directory], code=STORAGE, mentions="no key file")


def test_devices_that_do_not_know_each_other_need_the_one_that_invited_them(world, previews):
    inviter = world.founder("inviter")
    inviter.start()
    left, right = world.peer("left"), world.peer("right")
    pair(inviter, left)
    pair(inviter, right)
    inviter.stop()
    previews.refused([left.directory, right.directory], code=USAGE, mentions="do not know each other")
    previews.answer([inviter, left, right], code=SAME)
