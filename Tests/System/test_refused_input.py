"""Input that cannot be right is refused with the reason, and costs nobody the use of the workspace: times beyond the
year 9999 in snapshots, backups and the file config, names that lead nowhere, and folders that are not there."""

import hashlib
import json
import os
import struct

import pytest

from peerd_harness import check

FAILURE, USAGE, NO_SUCH_OBJECT, WORKSPACE, STORAGE = 1, 2, 3, 4, 7
HUGE = (1 << 63) - 1
# The last millisecond of the year 9999.
LAST_TIME = 253402300799999


@pytest.fixture
def a(world):
    """A peer with one object."""
    a = world.founder("a")
    a.note = a.create("note", "text=first")
    return a


@pytest.mark.parametrize(
    "verb, words, reason",
    [
        ("get", ["--at", "2000-01-01"], "was not there"),
        ("history", ["nosuch"], "never had"),
        ("restore", ["nosuch", "--at", "now"], "never had"),
    ],
    ids=["get", "history", "restore"],
)
def test_a_past_that_was_not_is_refused(a, verb, words, reason):
    a.refused(NO_SUCH_OBJECT, verb, a.note, *words, mentions=[reason])
    check("first" in a.run("history", a.note, "text"), "the history of a property")


@pytest.fixture
def changed_snapshot(world, a):
    """Makes a snapshot's file with other values."""
    content = json.loads(a.raw("snapshot", "export", a.run("snapshot", "create", a.note).split()[0]))
    file = world.root / "changed.json"

    def change(**values):
        file.write_text(json.dumps({**content, **values}))
        return file

    return change


@pytest.mark.parametrize("values", [{"created_at": HUGE}, {"created_at": LAST_TIME + 1}, {"name": "n" * 513}],
                         ids=["last_time_of_all", "year_10000", "name"])
def test_a_snapshot_with_values_beyond_their_range_is_refused(a, changed_snapshot, values):
    a.refused(FAILURE, "snapshot", "import", changed_snapshot(**values))


def test_a_snapshot_with_values_at_the_end_of_their_range_is_imported(a, changed_snapshot):
    a.run("snapshot", "import", changed_snapshot(created_at=LAST_TIME, name="n" * 512))
    check(len(a.run("snapshot", "list").splitlines()) >= 2, "the snapshots are not listed")


def test_an_import_without_an_end_is_refused(a):
    for words in (("snapshot", "import"), ("import",)):
        a.refused(FAILURE, *words, "/dev/zero", mentions=["/dev/zero is a device"])


@pytest.fixture
def good(world, a):
    """A backup that is as it should be."""
    good = world.root / "good.backup"
    a.run("backup", good)
    return good


def test_a_backup_of_a_time_beyond_the_year_9999_is_refused(world, good):
    world.peer("d").refused(STORAGE, "backup", "restore", forged(world, good), mentions=["year 9999"])


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


def test_a_backup_does_not_replace_a_link(world, a, good):
    link = world.root / "link"
    link.symlink_to(good)
    a.refused(USAGE, "backup", link, mentions=["symbolic link"])
    check(link.is_symlink(), "the link was replaced")


def test_a_backup_to_a_folder_that_is_not_there_or_ones_own_is_refused(world, a):
    a.refused(USAGE, "backup", world.root / "nowhere" / "one.backup")
    a.refused(USAGE, "backup", a.directory / "one.backup")
    a.refused(USAGE, "backup", "--every", "1h", "--keep", "2", "--to", world.root / "nowhere")


def test_a_restored_directory_is_closed_to_others(world, good):
    peer = world.peer("b")
    peer.directory.mkdir(mode=0o755)
    peer.run("backup", "restore", good)
    check(os.stat(peer.directory).st_mode & 0o777 == 0o700, "others can enter a restored directory")


def test_a_restore_that_was_broken_off_is_told(world, good):
    peer = world.peer("c")
    peer.directory.mkdir()
    (peer.directory / "peerd.sqlite.restoring").write_bytes(b"")
    peer.refused(WORKSPACE, "backup", "restore", good, mentions=["broken off"])


@pytest.mark.parametrize(
    "backups",
    [
        {"schedule": {"intervalSeconds": HUGE, "keptCount": -1, "folder": "file:///tmp/"}},
        {"last": {"date": 1e300}},
        {"failureTime": HUGE, "lastScheduledTime": (1 << 64) - 1},
    ],
    ids=["schedule", "last", "times"],
)
@pytest.mark.usefixtures("good")
def test_a_daemon_runs_whatever_the_file_config_says_of_backups(a, backups):
    config = a.directory / "config"
    whole = json.loads(config.read_text())
    if "last" in backups:
        backups = {"last": {**whole["backups"]["last"], **backups["last"]}}
    config.write_text(json.dumps({**whole, "backups": backups}))
    a.start()
    a.status()
    a.result("doctor")
    check(a.process.poll() is None, f"the daemon ended over {backups}")
    a.stop()
