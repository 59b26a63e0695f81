#!/usr/bin/env python3
"""A data directory that is restored from an older copy, and one that runs twice: nothing is lost, and equal frontiers
never hide different states."""

# time limit: 600 s

import json
import os
import shutil

from peerd_harness import Agreement, World, check, digest, main_of_test, say


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
            peer.stop()
        say(f"    equal, {len(written.values)} values kept; sha256 {digest(state)[:16]}")


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
            peer.stop()
        say(f"    equal, {len(written.values)} values kept; sha256 {digest(state)[:16]}")


def run():
    for name, restore in (("as new files", restore_as_new_files), ("into the same files", restore_in_place)):
        say(f"== restored {name}, and meets its peer before it writes")
        restored(restore, meets_first=True)
        say(f"== restored {name}, and writes before it meets its peer")
        restored(restore, meets_first=False)
    say("== copied, and run one after the other")
    cloned("clone1", together=False)
    say("== copied, and run at the same time")
    cloned("clone2", together=True)


if __name__ == "__main__":
    main_of_test(run)
