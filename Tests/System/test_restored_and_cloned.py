"""A database that is put back, a data directory that is restored from an older copy, and one that runs twice: all that
was written on any side counts, and equal frontiers never hide different states."""

import json
import os
import shutil
import subprocess

import pytest

from naive_state import check_by_the_rules
from peerd_harness import Agreement, check

# Far below the waits of a machine whose sessions are ended again and again.
ROUND_SECONDS = 10
# One with each, and some more until it is known where the chains of the copies part.
SESSION_COUNT = 6


class Written:
    """Every value of an acknowledged write, each of them different from all others."""

    def __init__(self):
        self.values = {}
        self.count = 0

    def set(self, peer, identity, name, label):
        self.count += 1
        value = f"{label} {self.count}"
        peer.run("set", identity, f"{name}={value}")
        self.values[value] = (identity, name)
        return value

    def create(self, peer, label):
        self.count += 1
        value = f"{label} {self.count}"
        identity = peer.create("note", f"text={value}")
        self.values[value] = (identity, "text")
        return identity

    def check_kept(self, peer):
        """Each value is in force, or in the history, of the very object it was written to."""
        writes = [(op["object"], op["action"]["set"]) for op in peer.operations() if "set" in op["action"]]
        in_log = {(identity, write["name"], json.dumps(write["value"])) for identity, write in writes}
        for value, (identity, name) in self.values.items():
            check((identity, name, json.dumps(value)) in in_log, f"{peer.name} lost {value!r}")

    def check_shown(self, peer, values):
        shown = {value for item in peer.objects().values() for value in map(str, item["properties"].values())}
        for value in values:
            check(value in shown, f"{peer.name} does not show {value!r}")


def copy_of(peer, target):
    """Copies the directory of a stopped peer, as a backup program would: every regular file."""
    shutil.copytree(peer.directory, target, ignore=not_regular)
    return target


def not_regular(directory, names):
    paths = [(name, os.path.join(directory, name)) for name in names]
    return [name for name, path in paths if not (os.path.isdir(path) or os.path.isfile(path))]


def restore_as_new_files(backup, directory):
    shutil.rmtree(directory)
    shutil.copytree(backup, directory)


def restore_in_place(backup, directory):
    """Writes the old bytes into the files that are there, so that nothing about the files themselves tells."""
    for path in sorted(directory.rglob("*"), reverse=True):
        if path.is_file() and not (backup / path.relative_to(directory)).exists():
            path.unlink()
    for path in backup.rglob("*"):
        if path.is_file():
            target = directory / path.relative_to(backup)
            before = target.stat().st_ino if target.exists() else None
            with open(target, "r+b" if before else "wb") as file:
                file.write(path.read_bytes())
                file.truncate()
            check(before in (None, target.stat().st_ino), "the restore made a new file")


def put_back_database(backup, directory):
    """As someone would do who has a copy of the database alone: the files stay the same, and so does the machine."""
    subprocess.run(["cp", backup / "peerd.sqlite", directory / "peerd.sqlite"], check=True)


def connect(a, b, **options):
    """Starts both, and tells b where a is."""
    address = a.start(**options)
    b.start(peers=[address])


@pytest.mark.parametrize("meets_first", [True, False], ids=["meets-first", "writes-first"])
@pytest.mark.parametrize("restore", [restore_as_new_files, restore_in_place])
def test_all_that_was_written_before_and_after_a_restore_counts(world, restore, meets_first):
    """The machine meets its peer before it writes, or writes before that."""
    a, b = world.paired("a", "b")
    connect(a, b)
    agreement, written = Agreement(), Written()
    shared = written.create(a, "before the backup")
    agreement.settle([a, b])
    a.stop()
    backup = copy_of(a, world.root / "backup")

    address = a.start()
    b.restart(peers=[address])
    lost = [written.set(a, shared, "lost", "after the backup") for _ in range(3)]
    made = written.create(a, "made after the backup")
    agreement.settle([a, b])
    b.run("set", made, "seen=true")
    agreement.settle([a, b])
    a.stop()
    b.stop()
    restore(backup, a.directory)
    if meets_first:
        # Time to notice before the first new write.
        connect(a, b)
        agreement.settle([a, b])
        again = [written.set(a, shared, "again", "after the restore") for _ in range(5)]
    else:
        again = [written.set(a, shared, "again", "after the restore") for _ in range(3)]
        extra = written.create(a, "made after the restore")
        again += [written.set(a, extra, "more", "after the restore") for _ in range(3)]
        connect(a, b)
    for number in range(3):
        agreement.settle([a, b])
        for peer in (a, b):
            written.check_kept(peer)
            written.check_shown(peer, [lost[-1], again[-1]])
        again.append(written.set(a, shared, "again", f"round {number}"))
        written.set(b, shared, "other", f"round {number}")
    agreement.settle([a, b])
    for peer in (a, b):
        written.check_kept(peer)
        check_by_the_rules(peer)
        peer.stop()


class Week:
    """Three devices of which one is put back to an earlier day, and what became of its two lives.

    To put back the whole directory forks its log, and to put back the database alone does not.
    """

    def __init__(self, world, restore, is_gone):
        self.restore, self.is_gone = restore, is_gone
        self.a, self.b, self.c = world.paired("a", "b", "c")
        self.agreement = Agreement()
        address = self.a.start()
        self.b.start(peers=[address])
        self.c.start(peers=[address])
        self.note = self.a.create("note", "title=first")
        self.page = self.a.create("page", "text=first")
        self.agreement.settle([self.a, self.b, self.c])
        for peer in (self.a, self.b, self.c):
            peer.stop()
        self.backup = copy_of(self.a, world.root / "backup")

    def meet(self, left, right):
        """Two of them run until they are equal."""
        connect(left, right)
        self.agreement.settle([left, right])
        left.stop()
        right.stop()

    def put_back(self):
        before = (self.a.directory / "peerd.sqlite").stat().st_ino
        self.restore(self.backup, self.a.directory)
        check((self.a.directory / "peerd.sqlite").stat().st_ino == before, "the database is another file")

    def end(self):
        """All who are left meet; each must show the same, and the tree that the device's log has become."""
        if self.is_gone:
            shutil.rmtree(self.a.directory)
        left = [self.b, self.c] if self.is_gone else [self.b, self.c, self.a]
        address = left[0].start()
        for peer in left[1:]:
            peer.start(peers=[address])
        self.agreement.settle(left)
        forked = ["a"] if self.restore is restore_in_place else []
        for peer in left:
            check_by_the_rules(peer)
            forks = [item["device_name"] for item in peer.status()["forks"]]
            check(forks == forked, f"{peer.name} lists as forked: {forks}")
        return left

    def check_title(self, peer, title, lost):
        shown = peer.objects()[self.note]["properties"]["title"]
        check(shown == title, f"{peer.name}: the title is {shown!r}, not {title!r}")
        losers = [write["value"] for item in peer.json("conflicts")["properties"] for write in item["losers"]]
        check(losers == lost, f"{peer.name}: conflicts lists {losers}, not {lost}")
        (written,) = [op for op in peer.operations() if op["action"].get("set", {}).get("value") == lost[0]]
        check(written["status"] == "conflict", f"{peer.name}: the log says {written['status']} of {lost[0]!r}")


@pytest.fixture(params=[False, True], ids=["all-left", "one-gone"])
def is_gone(request):
    """Whether the machine with two lives is lost in the end."""
    return request.param


@pytest.fixture(params=[put_back_database, restore_in_place])
def week(world, request, is_gone):
    return Week(world, request.param, is_gone)


def test_the_second_life_of_a_machine_writes_again_what_the_first_wrote_and_deleted(week):
    """The next life knows nothing of the title and the deletion of the one before."""
    connect(week.a, week.b)
    week.a.run("set", week.note, "title=OLD")
    week.a.run("rm", week.page)
    week.agreement.settle([week.a, week.b])
    week.a.stop()
    week.b.stop()
    week.put_back()
    week.a.run("set", week.note, "title=NEWEST")
    week.a.run("set", week.page, "text=edited")
    if week.is_gone:
        week.meet(week.a, week.c)
    for peer in week.end():
        week.check_title(peer, "NEWEST", lost=["OLD"])
        check(peer.objects()[week.page]["properties"]["text"] == "edited", f"{peer.name}: the edited page is gone")


def test_what_one_machine_has_of_a_first_life_does_not_win_over_a_later_write(week):
    """What only c has of the first life was written before b's title."""
    connect(week.a, week.c)
    week.a.run("set", week.note, "title=OLD (monday)")
    week.agreement.settle([week.a, week.c])
    week.a.stop()
    week.c.stop()
    week.put_back()
    week.a.run("set", week.note, "day=tuesday")
    week.meet(week.a, week.b)
    week.b.run("set", week.note, "title=FRIDAY")
    week.meet(week.b, week.a)
    week.a.run("set", week.note, "day=saturday")
    week.meet(week.a, week.b)
    for peer in week.end():
        week.check_title(peer, "FRIDAY", lost=["OLD (monday)"])
        check(peer.objects()[week.note]["properties"]["day"] == "saturday", f"{peer.name}: not the last edit")


@pytest.mark.parametrize("together", [True, False], ids=["together", "in-turn"])
def test_two_copies_of_a_machine_with_one_key_lose_nothing(world, together):
    a, b = world.paired("a", "b")
    connect(a, b)
    agreement, written = Agreement(), Written()
    shared = written.create(a, "before the copy")
    agreement.settle([a, b])
    a.stop()
    b.stop()
    clone = world.peer("clone")
    copy_of(a, clone.directory)

    for number in range(3):
        written.set(a, shared, "p", f"original {number}")
        written.set(clone, shared, "p", f"clone {number}")
    written.create(a, "original made")
    written.create(clone, "clone made")
    everyone = [a, clone, b]
    if together:
        address = b.start()
        clone_address = clone.start(peers=[address])
        a.start(peers=[address, clone_address])
    else:
        # First one, then the other, then all: the second to come finds its numbers taken.
        connect(a, b)
        agreement.settle([a, b])
        a.stop()
        clone.start(peers=[b.address])
        agreement.settle([clone, b])
        a.start(peers=[b.address])
    agreement.settle(everyone, 90)
    for number in range(3):
        written.set(a, shared, "q", f"original live {number}")
        written.set(clone, shared, "q", f"clone live {number}")
        written.set(b, shared, "q", f"witness {number}")
        agreement.settle(everyone, 90)
    for peer in everyone:
        written.check_kept(peer)
        written.check_shown(peer, [value for value in written.values if "made" in value])
        check_by_the_rules(peer)
        peer.stop()


def restore_beside(x, z, root):
    """A backup is restored to another directory while the daemon goes on."""
    backup = root / "x.backup"
    x.run("backup", backup)
    x.create("note", "text=after the backup")
    z.run("backup", "restore", backup)


def copy_beside(x, z, _):
    """A whole directory is copied, and the original runs on."""
    address = x.address
    x.stop()
    copy_of(x, z.directory)
    x.start(listen=address)


@pytest.mark.parametrize("copy", [restore_beside, copy_beside])
def test_original_and_copy_live_on_beside_each_other(world, copy):
    """They write again and again, with one machine that both sync with."""
    x, y = world.paired("x", "y")
    connect(x, y)
    agreement, written = Agreement(), Written()
    shared = written.create(x, "before the copy")
    agreement.settle([x, y])
    z = world.peer("z")
    copy(x, z, world.root)
    z.start(peers=[y.address, x.address])
    everyone = [x, y, z]
    for number in range(6):
        for peer in everyone:
            written.create(peer, f"{peer.name} made {number}")
            written.set(peer, shared, peer.name, f"round {number}")
        agreement.settle(everyone, ROUND_SECONDS)
    for peer in everyone:
        written.check_kept(peer)
        check_by_the_rules(peer)
    (seen,) = [peer for peer in y.status()["peers"] if peer["name"] == "x"]
    check(seen["copies"] and seen["in_sync"], f"y shows of x: {seen}")
    for verb in ("status", "doctor"):
        text = y.run(verb)
        check("more than one machine runs as x" in text, f"{verb} of y: {text}")
    begun = y.log_path.read_text().count('Connected to "x"')
    check(begun <= SESSION_COUNT, f"y began {begun} sessions:\n{y.log_path.read_text()}")
    for peer in everyone:
        peer.stop()
