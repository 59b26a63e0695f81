"""One bit of the write-ahead log is damaged while nobody has it open: what SQLite would take for its end is noticed,
named and kept, and no sequence number is used again."""

import json
import shutil
import subprocess

import pytest

from local_api import Entry
from naive_state import check_by_the_rules
from peerd_harness import Agreement, check, program, skip

HEADER_BYTES = 32
FRAME_HEADER_BYTES = 24
NOTES = 6
STORAGE = 7
KEPT = "peerd.sqlite.damaged-"


class Log:
    """The write-ahead log of a peer whose daemon was killed."""

    def __init__(self, peer):
        self.path = peer.directory / "peerd.sqlite-wal"
        content = self.path.read_bytes()
        self.frame_bytes = FRAME_HEADER_BYTES + int.from_bytes(content[8:12])
        salts, self.commits, number = content[16:24], [], 1
        while (start := self.offset(number)) + self.frame_bytes <= len(content):
            if content[start + 8 : start + 16] != salts:
                break
            if content[start + 4 : start + 8] != bytes(4):
                self.commits.append(number)
            number += 1
        self.count = number - 1

    def offset(self, frame):
        return HEADER_BYTES + (frame - 1) * self.frame_bytes

    def flip(self, offset):
        with open(self.path, "r+b") as file:
            file.seek(offset)
            byte = file.read(1)[0]
            file.seek(offset)
            file.write(bytes([byte ^ 0x10]))


def in_header_of_the_log(log):
    log.flip(20)
    return 0


def in_page(log):
    frame = log.commits[-4] + 1
    log.flip(log.offset(frame) + FRAME_HEADER_BYTES + 1000)
    return frame


def in_number_of_the_page(log):
    frame = log.commits[-3] + 1
    log.flip(log.offset(frame) + 3)
    return frame


def in_salt(log):
    frame = log.commits[-3] + 1
    log.flip(log.offset(frame) + 9)
    return frame


def in_checksum(log):
    frame = log.commits[-4] + 2
    log.flip(log.offset(frame) + 18)
    return frame


def in_page_of_a_commit(log):
    frame = log.commits[-2]
    log.flip(log.offset(frame) + FRAME_HEADER_BYTES + 40)
    return frame


def in_mark_of_a_commit(log):
    """The bit says how long the database is, so it still is a commit."""
    frame = log.commits[-3]
    log.flip(log.offset(frame) + 7)
    return frame


PLACES = [
    in_header_of_the_log,
    in_page,
    in_number_of_the_page,
    in_salt,
    in_checksum,
    in_page_of_a_commit,
    in_mark_of_a_commit,
]


def kept_files(peer):
    return sorted(path.name for path in peer.directory.iterdir() if path.name.startswith(KEPT))


def dots(peer):
    """What each sequence number of each chain stands for."""
    stored = [line["stored"] for line in peer.operations()]
    return {(line["replica"], line["sequence"]): line["hash"] for line in stored}


def killed_with_notes(peer, peers=()):
    """Six notes, of which all is in the log still, and a kill."""
    peer.start(peers=peers)
    notes = [peer.create("note", f"number={number}") for number in range(NOTES)]
    return notes


def check_named(peer, text, frame):
    check("damaged" in text and f"from frame {frame} of" in text, f"{peer.name} does not name the damage: {text}")
    database, log = kept_files(peer)
    check(log == database + "-wal", f"{peer.name} kept {database} and {log}")
    for name in (database, log):
        path = peer.directory / name
        check(str(path) in text, f"{peer.name} does not say where {name} is: {text}")
        check(path.stat().st_mode & 0o777 == 0o600, f"{name} is accessible to others")


def check_doctor(peer, is_named):
    done = peer.result("doctor")
    text = done.stdout.decode() + done.stderr.decode()
    named = [line for line in text.splitlines() if KEPT in line and "write-ahead log" in line]
    check(bool(named) == is_named, f"doctor of {peer.name}: {text}")
    check((done.returncode == 0) == (not is_named), f"doctor of {peer.name} ends with {done.returncode}: {text}")
    copies = [str(peer.directory / name) for name in kept_files(peer) if not name.endswith("-wal")]
    check(peer.status()["damaged_copies"] == copies, f"status of {peer.name}: {peer.status()}")
    row = peer.run("status")
    check(all(copy in row for copy in copies) and ("damaged" in row) == is_named, f"status of {peer.name}: {row}")


def health(peer):
    """What a daemon says to anybody: a status, and a code."""
    answer = Entry.socket(peer).ask("GET", "/healthz")
    return answer.status, json.loads(answer.body).get("code")


@pytest.mark.parametrize("damage", PLACES)
def test_a_damaged_log_is_named_and_no_number_is_used_again(world, damage):
    """A peer has what the machine loses; both have all of it in the end, and nobody is called a fork."""
    a, b = world.paired("a", "b")
    address = b.start()
    notes = killed_with_notes(a, peers=[address])
    agreement = Agreement()
    agreement.settle([a, b])
    before = dots(b)
    a.kill()
    b.stop()
    log = Log(a)
    content = log.path.read_bytes()
    frame = damage(log)
    damaged = log.path.read_bytes()
    check(sum(x != y for x, y in zip(content, damaged)) == 1, "more than a byte is damaged")

    done = a.result("create", "note", "after=true")
    check(done.returncode == 0, f"create after the damage: {done.stderr.decode()}")
    made = done.stdout.decode().split()[0]
    check_named(a, done.stderr.decode(), frame)
    check((a.directory / kept_files(a)[1]).read_bytes() == damaged, "the log was not kept as it was")
    check_doctor(a, is_named=True)
    check(len(kept_files(a)) == 2, f"the next start keeps files again: {kept_files(a)}")
    again = {dot: change for dot, change in dots(a).items() if dot in before and before[dot] != change}
    check(not again, f"numbers that b has are used again: {again}")

    address = b.start()
    a.start(peers=[address])
    check(health(a) == (503, "log-damaged"), f"{health(a)}")
    agreement.settle([a, b])
    for peer in (a, b):
        check(set(peer.objects()) == {*notes, made}, f"{peer.name} shows {peer.objects()}")
        check(not peer.status()["forks"], f"{peer.name} speaks of a fork: {peer.status()['forks']}")
    check(set(before.items()) <= set(dots(a).items()), "a lacks changes that b had")
    for name in kept_files(a):
        (a.directory / name).unlink()
    check(health(a) == (200, None), f"{health(a)}")
    a.stop()
    b.stop()
    check_doctor(a, is_named=False)
    for peer in (a, b):
        check_by_the_rules(peer)


def opened_by_daemon(peer):
    peer.start()
    peer.stop()
    return peer.log_path.read_text()


def opened_by(*verb):
    return lambda peer: peer.result(*verb).stderr.decode()


@pytest.mark.parametrize(
    "opened",
    [opened_by_daemon, opened_by("ls"), opened_by("doctor"), opened_by("export"), opened_by("backup", "a-backup")],
    ids=["daemon", "ls", "doctor", "export", "backup"],
)
def test_each_opener_names_a_damaged_log(world, opened, monkeypatch):
    monkeypatch.chdir(world.root)
    a = world.founder("a")
    killed_with_notes(a)
    a.kill()
    frame = in_page(Log(a))
    check_named(a, opened(a), frame)
    check_doctor(a, is_named=True)


def test_a_preview_refuses_a_damaged_log_and_changes_nothing(world):
    a, b = world.paired("a", "b")
    killed_with_notes(a)
    a.kill()
    in_page(Log(a))
    before = {path.name: path.read_bytes() for path in a.directory.iterdir() if path.is_file()}
    command = [program(), "preview", a.directory, b.directory]
    done = subprocess.run(command, capture_output=True, env=a.environment, check=False)
    check(done.returncode == STORAGE and b"log of the database is damaged" in done.stderr, f"preview: {done}")
    check({path.name: path.read_bytes() for path in a.directory.iterdir() if path.is_file()} == before, "it changed")


def test_where_there_is_no_room_for_a_copy_nothing_is_changed(world):
    a = world.founder("a")
    killed_with_notes(a)
    a.kill()
    frame = in_page(Log(a))
    small = world.root / "small"
    small.mkdir()
    files = [path for path in a.directory.iterdir() if path.is_file()]
    size = sum(path.stat().st_size for path in files) + (200 << 10)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "none", small]
    if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        skip("no file system can be mounted here")
    world.closers.append(lambda: subprocess.run(["umount", "-l", small], check=False))
    full = world.peer("small/full")
    full.directory.mkdir(mode=0o700)
    for path in files:
        shutil.copy2(path, full.directory)
    before = (full.directory / "peerd.sqlite-wal").read_bytes()
    full.refused(STORAGE, "ls", mentions=["no room", "nothing was changed"])
    check((full.directory / "peerd.sqlite-wal").read_bytes() == before, "the log was changed")
    check(not kept_files(full), f"a part of a copy stays: {kept_files(full)}")
    subprocess.run(["mount", "-o", "remount,size=100m", small], check=True)
    check_named(full, full.result("ls").stderr.decode(), frame)


def test_a_log_that_ends_in_the_middle_of_a_commit_is_not_damaged(world):
    """As a power cut leaves it: the last commit is torn, and whatever frames of former logs lie behind it."""
    a = world.founder("a")
    killed_with_notes(a)
    a.kill()
    log = Log(a)
    with open(log.path, "r+b") as file:
        file.truncate(log.offset(log.commits[-1]) + 100)
    done = a.result("ls")
    check(done.returncode == 0 and not done.stderr, f"ls: {done}")
    check(not kept_files(a) and len(a.objects()) == NOTES - 1, f"{kept_files(a)} {a.objects()}")
