#!/usr/bin/env python3
"""Backups by a daemon that is written to: what was acknowledged before is in them, each shows one moment, a daemon that
is killed leaves no half file, a full disk is survived, a restored copy beside the original loses nothing, and the plan
is kept."""

# time limit: 600 s

import json
import os
import shutil
import subprocess
import threading
import urllib.error
import urllib.request

from peerd_harness import (
    Agreement,
    CommandFailed,
    DaemonSocket,
    World,
    check,
    main_of_test,
    run_together,
    say,
    wait_until,
)

FILLING_BYTES = 500_000
WORKSPACE_FAILURE, STORAGE_FAILURE = 4, 7


class PairWriter(threading.Thread):
    """Writes the same number to two objects in one transaction, as fast as it is acknowledged."""

    def __init__(self, peer, pair):
        super().__init__(daemon=True)
        self.peer, self.pair = peer, pair
        self.acknowledged, self.ended, self.failure = 0, False, None

    def run(self):
        try:
            with DaemonSocket(self.peer) as daemon:
                while not self.ended:
                    number = self.acknowledged + 1
                    edits = [{"set": item, "properties": {"n": number}} for item in self.pair]
                    daemon.ask("POST", "/api/transactions", {"edits": edits})
                    self.acknowledged = number
        except Exception as error:  # reported by the test
            self.failure = error

    def stop(self):
        self.ended = True
        self.join()
        check(self.failure is None, f"the writer failed: {self.failure}")


def filled(peer, count):
    """Makes the database large enough that a backup takes a while."""
    with DaemonSocket(peer) as daemon:
        for number in range(count):
            daemon.create("filling", {"text": f"{number} " + os.urandom(FILLING_BYTES // 2).hex()})


def unfinished(folder):
    return [name for name in os.listdir(folder) if ".unfinished-" in name]


def fails(peer, code, *verb):
    try:
        peer.run(*verb)
    except CommandFailed as error:
        check(error.code == code, f"{verb} ended with {error.code}: {error.error}")
        return error.error
    check(False, f"{verb} succeeded")


def under_write_load(world):
    a = world.founder("load")
    a.start()
    filled(a, 30)
    pair = [a.create("pair", "n=0") for _ in range(2)]
    writer = PairWriter(a, pair)
    writer.start()
    taken = []
    for number in range(5):
        before = writer.acknowledged
        file = world.root / f"load-{number}.backup"
        a.run("backup", file)
        taken.append((before, writer.acknowledged, file))
    writer.stop()
    check(any(after > before for before, after, _ in taken), "nothing was written during any backup")
    for number, (before, after, file) in enumerate(taken):
        copy = world.peer(f"load-copy-{number}")
        copy.run("backup", "restore", file)
        shown = {copy.objects()[item]["properties"]["n"] for item in pair}
        check(len(shown) == 1, f"a backup shows two moments: {shown}")
        check(shown.pop() >= before, "a write that was acknowledged before the backup is not in it")
    check(a.json("backup", "verify", taken[-1][2])["healthy"], "the last backup is not healthy")
    check(oct(os.stat(taken[0][2]).st_mode)[-3:] == "600", "others can read a backup")
    fails(a, WORKSPACE_FAILURE, "backup", "restore", taken[0][2])
    say(f"{len(taken)} backups beside {writer.acknowledged} transactions")
    a.stop()


def killed(world):
    """kill -9 in the middle of a backup."""
    a = world.founder("killed")
    a.start()
    filled(a, 60)
    folder = world.root / "killed-backups"
    folder.mkdir()
    file = folder / "whole.backup"
    a.run("backup", file)
    whole = file.read_bytes()
    client = a.begin("backup", file)
    wait_until(lambda: unfinished(folder), 60, "the backup has begun")
    a.kill()
    client.wait()
    check(unfinished(folder), "the backup was over before the daemon was killed")
    check(file.read_bytes() == whole, "a daemon that was killed changed the earlier backup")
    a.start()
    client = a.begin("backup", folder / "new.backup")
    wait_until(lambda: [name for name in unfinished(folder) if name.startswith(".new.")], 60, "it has begun")
    a.kill()
    client.wait()
    check(not (folder / "new.backup").exists(), "a daemon that was killed left half a backup under its name")
    a.start()
    for name in ("whole.backup", "new.backup"):
        a.run("backup", folder / name)
        check(a.json("backup", "verify", folder / name)["healthy"], f"{name} is not healthy")
    check(sorted(os.listdir(folder)) == ["new.backup", "whole.backup"], f"left over: {os.listdir(folder)}")
    a.stop()


def beside_the_original(world):
    """A restored copy runs while the original does: what both write counts, everywhere."""
    a, b = world.paired("a", "b")
    address = a.start()
    b.start(peers=[address])
    agreement = Agreement()
    shared = a.create("note", "text=shared")
    agreement.settle([a, b])
    file = world.root / "twin.backup"
    a.run("backup", file)
    twin = world.peer("twin")
    twin.run("backup", "restore", file)
    written = {}

    def write(peer, label):
        for number in range(20):
            peer.run("set", shared, f"{label}{number}={number}")
            written[peer.create("note", f"text={label} {number}")] = f"{label} {number}"

    twin.start(peers=[b.address])
    run_together([lambda: write(a, "original"), lambda: write(twin, "twin"), lambda: write(b, "other")])
    agreement.settle([a, b, twin])
    for peer in (a, b, twin):
        objects = peer.objects()
        for identity, text in written.items():
            check(identity in objects and objects[identity]["properties"]["text"] == text, f"{peer.name} lost {text}")
        names = objects[shared]["properties"]
        for label in ("original", "twin", "other"):
            check(all(names.get(f"{label}{n}") == n for n in range(20)), f"{peer.name} lost values of {label}")
        check(peer.json("doctor")["healthy"], f"{peer.name} is not healthy")
    replicas = {a.status()["replica"], twin.status()["replica"]}
    check(len(replicas) == 2, "the copy writes under the replica id of the original")
    for peer in (a, b, twin):
        peer.stop()


def full_disk(world):
    a = world.founder("full")
    a.start()
    filled(a, 4)
    small = world.root / "small"
    small.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "none", small], capture_output=True, check=False)
    if mounted.returncode != 0:
        say("no file system can be mounted here, so a full disk was not tried")
        return a.stop()
    world.closers.append(lambda: subprocess.run(["umount", "-l", small], check=False))
    error = fails(a, STORAGE_FAILURE, "backup", small / "one.backup")
    check("no room" in error, f"a full disk is not named: {error}")
    check(os.listdir(small) == [], f"a backup that failed left {os.listdir(small)}")
    a.run("backup", "--every", "1s", "--keep", "2", "--to", small)
    failed = wait_until(lambda: a.status()["backup"]["failure"], 60, "the status shows the failure")
    check("no room" in failed, f"the status says: {failed}")
    check("no room" in a.run("status") and "no room" in a.log_path.read_text(), "the failure is not told")
    a.create("note", "text=while the disk of the backups is full")
    subprocess.run(["mount", "-o", "remount,size=100m", small], check=True)
    wait_until(lambda: a.status()["backup"]["last"], 60, "the plan goes on once there is room")
    wait_until(lambda: a.status()["backup"]["failure"] is None, 60, "the failure is over")
    a.run("backup", "--every", "off")
    a.stop()


def over_loopback(peer, folder):
    """A program with the token reads the state of backups, and has none made."""
    url, token = peer.run("api", "--url"), peer.run("api", "--header")

    def ask(method, path, body=None):
        name, _, value = token.partition(": ")
        text = None if body is None else json.dumps(body).encode()
        headers = {name: value, "Content-Type": "application/json"}
        request = urllib.request.Request(url + path, data=text, method=method, headers=headers)
        try:
            with urllib.request.urlopen(request) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)

    check(ask("GET", "/api/backup")[1]["schedule"]["folder"] == str(folder), "the state over loopback")
    plan = {"every_seconds": 1, "keep": 1, "folder": str(folder)}
    for request in (
        ("POST", "/api/backup", {}), ("POST", "/api/backup", {"path": str(folder / "stolen")}),
        ("PUT", "/api/backup/schedule", plan), ("DELETE", "/api/backup/schedule"),
    ):
        status, answer = ask(*request)
        check((status, answer["code"]) == (422, "only-over-socket"), f"{request}: {status} {answer}")


def planned(world):
    a = world.founder("planned")
    folder = world.root / "planned-backups"
    folder.mkdir()
    (folder / "mine.txt").write_text("not a backup")
    a.run("backup", "--every", "1h", "--keep", "3", "--to", folder)
    check(a.status()["backup"]["last"] is None, "a backup was made without a daemon")
    a.start()
    first = wait_until(lambda: a.status()["backup"]["last"], 60, "what was missed is made up for")
    check(os.path.dirname(first["path"]) == str(folder) and first["is_there"], f"the backup is elsewhere: {first}")
    over_loopback(a, folder)
    a.restart()
    check(a.status()["backup"]["last"] == first, "a restart made a backup that was not due")
    a.run("backup", "--every", "1s")
    names = lambda: sorted(name for name in os.listdir(folder) if name.endswith(".peerd-backup"))
    seen = set()

    def several():
        seen.update(names())
        return len(seen) >= 6

    wait_until(several, 60, "six backups were made")
    a.stop()
    check(len(names()) == 3 and names() == sorted(seen | set(names()))[-3:], f"these were kept: {names()} of {seen}")
    check((folder / "mine.txt").exists(), "a file that is no backup was removed")
    shutil.rmtree(folder)
    a.start()
    wait_until(lambda: a.status()["backup"]["failure"], 60, "a missing folder is told")
    folder.mkdir()
    wait_until(lambda: names() and a.status()["backup"]["failure"] is None, 60, "it goes on once the folder is there")
    a.run("backup", "--every", "off")
    check(a.status()["backup"]["schedule"] is None, "the plan has not ended")
    a.stop()


def run():
    for story in (planned, under_write_load, killed, beside_the_original, full_disk):
        with World("backup") as world:
            story(world)
        say(f"{story.__name__}: done")


if __name__ == "__main__":
    main_of_test(run)
