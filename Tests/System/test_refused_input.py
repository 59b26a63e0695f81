#!/usr/bin/env python3
"""Input that cannot be right is refused with the reason, and costs nobody the use of the workspace: times beyond the
year 9999 in snapshots, backups and the file config, names that lead nowhere, and folders that are not there."""

import hashlib
import json
import os
import struct

from peerd_harness import CheckFailed, CommandFailed, World, check, main_of_test

FAILURE, USAGE, NO_SUCH_OBJECT, WORKSPACE, STORAGE = 1, 2, 3, 4, 7
HUGE = (1 << 63) - 1


def run():
    with World("refused") as world:
        a = world.founder("a")
        note = a.create("note", "text=first")
        past_and_names(a, note)
        snapshots(world, a, note)
        backups(world, a)
        damaged_config(a)


def refused(peer, code, *verb):
    try:
        peer.run(*verb)
    except CommandFailed as error:
        check(error.code == code, f"{verb} ended with {error.code}: {error.error}")
        return error.error
    raise CheckFailed(f"{verb} was not refused")


def past_and_names(a, note):
    check("was not there" in refused(a, NO_SUCH_OBJECT, "get", note, "--at", "2000-01-01"), "get before the creation")
    check("never had" in refused(a, NO_SUCH_OBJECT, "history", note, "nosuch"), "a history of nothing")
    check("never had" in refused(a, NO_SUCH_OBJECT, "restore", note, "nosuch", "--at", "now"), "a restore of nothing")
    check("first" in a.run("history", note, "text"), "the history of a property")


def snapshots(world, a, note):
    taken = a.run("snapshot", "create", note).split()[0]
    content = a.raw("snapshot", "export", taken)
    for member, value in (("created_at", HUGE), ("created_at", 253402300800000), ("name", "n" * 513)):
        file = world.root / "changed.json"
        file.write_text(json.dumps({**json.loads(content), member: value}))
        refused(a, FAILURE, "snapshot", "import", file)
    check("32 MiB" in refused(a, FAILURE, "snapshot", "import", "/dev/zero"), "a file without an end")
    file.write_text(json.dumps({**json.loads(content), "created_at": 253402300799999, "name": "n" * 512}))
    a.run("snapshot", "import", file)
    check(len(a.run("snapshot", "list").splitlines()) >= 2, "the snapshots are not listed")


def backups(world, a):
    good = world.root / "good.backup"
    a.run("backup", good)
    answer = refused(world.peer("d"), STORAGE, "backup", "restore", forged(world, good))
    check("year 9999" in answer, "a backup of the year 292278994")
    link = world.root / "link"
    link.symlink_to(good)
    check("symbolic link" in refused(a, USAGE, "backup", link), "a link was replaced")
    refused(a, USAGE, "backup", world.root / "nowhere" / "one.backup")
    refused(a, USAGE, "backup", a.directory / "one.backup")
    refused(a, USAGE, "backup", "--every", "1h", "--keep", "2", "--to", world.root / "nowhere")
    open_directory = world.peer("b")
    open_directory.directory.mkdir(mode=0o755)
    open_directory.run("backup", "restore", good)
    check(os.stat(open_directory.directory).st_mode & 0o777 == 0o700, "others can enter a restored directory")
    broken_off = world.peer("c")
    broken_off.directory.mkdir()
    (broken_off.directory / "peerd.sqlite.restoring").write_bytes(b"")
    check("broken off" in refused(broken_off, WORKSPACE, "backup", "restore", good), "what a killed restore left")


def forged(world, good):
    """The same backup with another time, and with all digests right."""

    def digest(person, *parts):
        return hashlib.blake2b(b"".join(parts), digest_size=32, person=person).digest()

    data = good.read_bytes()
    start = data.index(b"\n") + 1
    count = struct.unpack(">Q", data[start + 1 : start + 9])[0]
    manifest = {**json.loads(data[start + 9 : start + 9 + count]), "time_ms": (1 << 64) - 1}
    entries, place = [(1, json.dumps(manifest).encode())], start + 9 + count + 32
    while data[place]:
        count = struct.unpack(">Q", data[place + 1 : place + 9])[0]
        entries.append((data[place], data[place + 9 : place + 9 + count]))
        place += 9 + count + 32
    result, heads = [data[:start]], [data[:start]]
    for kind, content in entries:
        head = struct.pack(">BQ", kind, len(content))
        checksum = digest(b"peerd-backup-ent", head, content)
        result += [head, content, checksum]
        heads += [head, checksum]
    end = struct.pack(">BQ", 0, len(entries))
    result += [end, digest(b"peerd-backup-all", *heads, end)]
    file = world.root / "forged.backup"
    file.write_bytes(b"".join(result))
    return file


def damaged_config(a):
    config = a.directory / "config"
    good = json.loads(config.read_text())
    plan = {"intervalSeconds": HUGE, "keptCount": -1, "folder": "file:///tmp/"}
    last = {**good["backups"]["last"], "date": 1e300}
    for backups in ({"schedule": plan}, {"last": last}, {"failureTime": HUGE, "lastScheduledTime": (1 << 64) - 1}):
        config.write_text(json.dumps({**good, "backups": backups}))
        a.start()
        a.status()
        a.result("doctor")
        check(a.process.poll() is None, f"the daemon ended over {backups}")
        a.stop()


if __name__ == "__main__":
    main_of_test(run)
