#!/usr/bin/env python3
"""A database that is put back, a data directory that is restored from an older copy, and one that runs twice: all that
was written on any side counts, and equal frontiers never hide different states."""

# time limit: 600 s

import json
import os
import shutil
import subprocess

import naive_state
from peerd_harness import Agreement, World, check, digest, main_of_test, say

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
        writes = [op for op in peer.operations() if op["kind"] == "set"]
        in_log = {(op["object"], op["name"], json.dumps(op["value"])) for op in writes}
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


def check_doctor(peer):
    report = peer.json("doctor")
    check(report["healthy"], f"the doctor of {peer.name} finds: {report['findings']}")


def check_by_the_rules(peer):
    """The tree of the log, read by other code."""
    lines = naive_state.differences_at(peer)
    check(not lines, f"{peer.name} shows another state than its log: {lines[:5]}")


def connect(a, b, **options):
    """Starts both, and tells b where a is."""
    address = a.start(**options)
    b.start(peers=[address])


def restored(restore, meets_first):
    """The story of S14: backup, more work, sync, restore, work again, sync."""
    with World("restore") as world:
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
            state = agreement.settle([a, b])
            for peer in (a, b):
                written.check_kept(peer)
                written.check_shown(peer, [lost[-1], again[-1]])
            again.append(written.set(a, shared, "again", f"round {number}"))
            written.set(b, shared, "other", f"round {number}")
        state = agreement.settle([a, b])
        for peer in (a, b):
            written.check_kept(peer)
            check_by_the_rules(peer)
            check_doctor(peer)
            peer.stop()
        say(f"    equal, {len(written.values)} values kept; sha256 {digest(state)[:16]}")


class Week:
    """Three devices of which one is put back to an earlier day, and what became of its two lives."""

    def __init__(self, world, restore, is_gone):
        self.world, self.restore, self.is_gone = world, restore, is_gone
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

    def end(self, has_forked):
        """All who are left meet; each must show the same, and the tree that the device's log has become."""
        if self.is_gone:
            shutil.rmtree(self.a.directory)
        left = [self.b, self.c] if self.is_gone else [self.b, self.c, self.a]
        address = left[0].start()
        for peer in left[1:]:
            peer.start(peers=[address])
        state = self.agreement.settle(left)
        for peer in left:
            check_by_the_rules(peer)
            check_doctor(peer)
            forks = [item["device_name"] for item in peer.status()["forks"]]
            check(forks == (["a"] if has_forked else []), f"{peer.name} lists as forked: {forks}")
        say(f"    equal{', a gone' if self.is_gone else ''}; sha256 {digest(state)[:16]}")
        return left

    def check_title(self, peer, title, lost):
        shown = peer.objects()[self.note]["properties"]["title"]
        check(shown == title, f"{peer.name}: the title is {shown!r}, not {title!r}")
        losers = [write["value"] for item in peer.json("conflicts")["properties"] for write in item["losers"]]
        check(losers == lost, f"{peer.name}: conflicts lists {losers}, not {lost}")
        (written,) = [op for op in peer.operations() if op["value"] == lost[0]]
        check(written["status"] == "conflict", f"{peer.name}: the log says {written['status']} of {lost[0]!r}")


def overwritten(restore, is_gone, has_forked):
    """One life wrote a title and deleted a page; the next, which knows nothing of it, writes both again."""
    with World("overwrite") as world:
        week = Week(world, restore, is_gone)
        connect(week.a, week.b)
        week.a.run("set", week.note, "title=OLD")
        week.a.run("rm", week.page)
        week.agreement.settle([week.a, week.b])
        week.a.stop()
        week.b.stop()
        week.put_back()
        week.a.run("set", week.note, "title=NEWEST")
        week.a.run("set", week.page, "text=edited")
        if is_gone:
            week.meet(week.a, week.c)
        for peer in week.end(has_forked):
            week.check_title(peer, "NEWEST", lost=["OLD"])
            check(peer.objects()[week.page]["properties"]["text"] == "edited", f"{peer.name}: the edited page is gone")


def friday(restore, is_gone, has_forked):
    """What only c has of the first life was written before b's title, and must not come before it."""
    with World("friday") as world:
        week = Week(world, restore, is_gone)
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
        for peer in week.end(has_forked):
            week.check_title(peer, "FRIDAY", lost=["OLD (monday)"])
            check(peer.objects()[week.note]["properties"]["day"] == "saturday", f"{peer.name}: not the last edit")


def cloned(world_name, together):
    """The story of S15: a directory is copied and both run, each with the same device key."""
    with World(world_name) as world:
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
            state = agreement.settle(everyone, 90)
        for peer in everyone:
            written.check_kept(peer)
            written.check_shown(peer, [value for value in written.values if "made" in value])
            check_by_the_rules(peer)
            check_doctor(peer)
            peer.stop()
        say(f"    equal, {len(written.values)} values kept; sha256 {digest(state)[:16]}")



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


def beside(world_name, copy):
    """Original and copy live on beside each other, and write again and again, with one machine that both sync with."""
    with World(world_name) as world:
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
            state = agreement.settle(everyone, ROUND_SECONDS)
        for peer in everyone:
            written.check_kept(peer)
            check_by_the_rules(peer)
            check_doctor(peer)
        (seen,) = [peer for peer in y.status()["peers"] if peer["name"] == "x"]
        check(seen["copies"] and seen["in_sync"], f"y shows of x: {seen}")
        for verb in ("status", "doctor"):
            text = y.run(verb)
            check("more than one machine runs as x" in text, f"{verb} of y: {text}")
        begun = y.log_path.read_text().count('Connected to "x"')
        check(begun <= SESSION_COUNT, f"y began {begun} sessions:\n{y.log_path.read_text()}")
        for peer in everyone:
            peer.stop()
        say(f"    equal, {len(written.values)} values kept, {begun} sessions; sha256 {digest(state)[:16]}")


def run():
    for name, restore in (("as new files", restore_as_new_files), ("into the same files", restore_in_place)):
        say(f"== restored {name}, and meets its peer before it writes")
        restored(restore, meets_first=True)
        say(f"== restored {name}, and writes before it meets its peer")
        restored(restore, meets_first=False)
    for name, restore, has_forked in (
        ("the database is put back", put_back_database, False),
        ("the whole directory is put back", restore_in_place, True),
    ):
        for is_gone in (False, True):
            say(f"== {name}: a title written in both lives, and a page deleted in one and edited in the other")
            overwritten(restore, is_gone, has_forked)
            say(f"== {name}: a third device has written since")
            friday(restore, is_gone, has_forked)
    say("== restored from a backup, beside the original")
    beside("beside1", restore_beside)
    say("== copied, beside the original")
    beside("beside2", copy_beside)
    say("== copied, and run one after the other")
    cloned("clone1", together=False)
    say("== copied, and run at the same time")
    cloned("clone2", together=True)


if __name__ == "__main__":
    main_of_test(run)
