"""Backups by a daemon that is written to: what was acknowledged before is in them, each shows one moment, a daemon that
is killed leaves no half file, a full disk is survived, a restored copy beside the original loses nothing, and the plan
is kept."""

import errno
import json
import os
import shutil
import subprocess
import threading
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from peerd_harness import Agreement, DaemonSocket, check, run_together, say, skip, wait_until

FILLING_BYTES = 500_000
USAGE, WORKSPACE, STORAGE = 2, 4, 7


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


@pytest.fixture
def a(world):
    """A peer whose daemon runs."""
    a = world.founder("a")
    a.start()
    return a


@pytest.fixture
def folder(world):
    """A folder for backups."""
    folder = world.root / "backups"
    folder.mkdir()
    return folder


def fill(peer, draw, count):
    """Makes the database large enough that a backup takes a while."""
    with DaemonSocket(peer) as daemon:
        for number in range(count):
            daemon.create("filling", {"text": f"{number} " + draw.randbytes(FILLING_BYTES // 2).hex()})


def unfinished(folder):
    return [name for name in os.listdir(folder) if ".unfinished-" in name]


def state(peer):
    """What the status of a peer says of backups."""
    return peer.status()["backup"]


def test_backups_beside_writes_show_one_moment_each(world, a, draw):
    fill(a, draw, 30)
    pair = [a.create("pair", "n=0") for _ in range(2)]
    writer = PairWriter(a, pair)
    writer.start()
    taken = []
    for number in range(5):
        before = writer.acknowledged
        file = world.root / f"{number}.backup"
        a.run("backup", file)
        taken.append((before, writer.acknowledged, file))
    writer.stop()
    check(any(after > before for before, after, _ in taken), "nothing was written during any backup")
    for number, (before, _, file) in enumerate(taken):
        copy = world.peer(f"copy-{number}")
        copy.run("backup", "restore", file)
        shown = {copy.objects()[item]["properties"]["n"] for item in pair}
        check(len(shown) == 1, f"a backup shows two moments: {shown}")
        check(shown.pop() >= before, "a write that was acknowledged before the backup is not in it")
    check(a.json("backup", "verify", taken[-1][2])["healthy"], "the last backup is not healthy")
    say(f"{len(taken)} backups beside {writer.acknowledged} transactions")


def test_a_backup_is_closed_to_others_and_replaces_no_workspace(world, a):
    file = world.root / "one.backup"
    a.run("backup", file)
    check(oct(os.stat(file).st_mode)[-3:] == "600", "others can read a backup")
    a.refused(WORKSPACE, "backup", "restore", file)


def test_a_backup_is_replaced_by_who_says_so(world, a):
    file, other = world.root / "one.backup", world.root / "diary.txt"
    other.write_text("dear diary")
    a.run("backup", file)
    before = file.read_bytes()
    a.create("note")
    a.refused(USAGE, "backup", file, mentions=[str(file), "exists", "--replace"])
    check(file.read_bytes() == before, "a backup was replaced")
    a.run("backup", "--replace", file)
    check(file.read_bytes() != before and a.json("backup", "verify", file)["healthy"], "it was not replaced")
    a.refused(USAGE, "backup", "--replace", other, mentions=["no backup"])
    check(other.read_text() == "dear diary", "a file that is no backup was replaced")


@pytest.mark.parametrize("replaces", [True, False], ids=["replacing", "new"])
def test_a_daemon_killed_amid_a_backup_leaves_no_half_file(a, draw, folder, replaces):
    fill(a, draw, 60)
    file = folder / "one.backup"
    if replaces:
        a.run("backup", file)
    before = file.read_bytes() if replaces else None
    again = ["--replace"] if replaces else []
    client = a.begin("backup", file, *again)
    wait_until(lambda: unfinished(folder), 60, "the backup has begun")
    a.kill()
    client.wait()
    check(unfinished(folder), "the backup was over before the daemon was killed")
    check((file.read_bytes() if file.exists() else None) == before, "a daemon that was killed left half a backup")
    a.start()
    a.run("backup", file, *again)
    check(a.json("backup", "verify", file)["healthy"], "the backup is not healthy")
    check(os.listdir(folder) == ["one.backup"], f"left over: {os.listdir(folder)}")


def test_a_restored_copy_beside_the_original_loses_nothing(world):
    """What both write counts, everywhere."""
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


@pytest.fixture
def full_disk(world, a, draw, folder):
    """A disk that is too small for a backup of the peer."""
    fill(a, draw, 4)
    mount = ["mount", "-t", "tmpfs", "-o", "size=3m", "none", folder]
    if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        skip("no file system can be mounted here")
    world.closers.append(lambda: subprocess.run(["umount", "-l", folder], check=False))
    return folder


def test_a_backup_on_a_full_disk_fails_and_leaves_nothing(a, full_disk):
    a.refused(STORAGE, "backup", full_disk / "one.backup", mentions=["no room"])
    check(os.listdir(full_disk) == [], f"a backup that failed left {os.listdir(full_disk)}")


def test_a_plan_tells_of_a_full_disk_and_goes_on_once_there_is_room(a, full_disk):
    a.run("backup", "--every", "1s", "--keep", "2", "--to", full_disk)
    failed = wait_until(lambda: state(a)["failure"], 60, "the status shows the failure")
    check("no room" in failed, f"the status says: {failed}")
    check("no room" in a.run("status") and "no room" in a.log_path.read_text(), "the failure is not told")
    a.create("note", "text=while the disk of the backups is full")
    subprocess.run(["mount", "-o", "remount,size=100m", full_disk], check=True)
    wait_until(lambda: state(a)["last"], 60, "the plan goes on once there is room")
    wait_until(lambda: state(a)["failure"] is None, 60, "the failure is over")


def names(folder):
    return sorted(name for name in os.listdir(folder) if name.endswith(".peerd-backup"))


def test_a_missed_backup_is_made_up_for_once(world, folder):
    a = world.founder("a")
    a.run("backup", "--every", "1h", "--keep", "3", "--to", folder)
    check(state(a)["last"] is None, "a backup was made without a daemon")
    a.start()
    first = wait_until(lambda: state(a)["last"], 60, "what was missed is made up for")
    check(os.path.dirname(first["path"]) == str(folder) and first["is_there"], f"the backup is elsewhere: {first}")
    a.restart()
    check(state(a)["last"] == first, "a restart made a backup that was not due")


def test_a_plan_keeps_as_many_backups_as_it_says(a, folder):
    (folder / "mine.txt").write_text("not a backup")
    a.run("backup", "--every", "1h", "--keep", "3", "--to", folder)
    a.run("backup", "--every", "1s")
    seen = set()

    def several():
        seen.update(names(folder))
        return len(seen) >= 5

    wait_until(several, 60, "five backups were made")
    a.stop()
    kept = names(folder)
    check(len(kept) == 3 and kept == sorted(seen | set(kept))[-3:], f"these were kept: {kept} of {seen}")
    check((folder / "mine.txt").exists(), "a file that is no backup was removed")


def test_a_plan_tells_of_a_missing_folder_and_goes_on_once_it_is_there(a, folder):
    a.run("backup", "--every", "1s", "--keep", "3", "--to", folder)
    a.stop()
    shutil.rmtree(folder)
    a.start()
    wait_until(lambda: state(a)["failure"], 60, "a missing folder is told")
    folder.mkdir()
    wait_until(lambda: names(folder) and state(a)["failure"] is None, 60, "it goes on once the folder is there")
    a.run("backup", "--every", "off")
    check(state(a)["schedule"] is None, "the plan has not ended")


@pytest.fixture
def disk(world, folder):
    """Mounts the disk on which the folder is, or takes it off, so that what is below the mount point is there."""

    def mount(words):
        if subprocess.run(words, capture_output=True, check=False).returncode != 0:
            skip("no file system can be mounted here")

    def put(is_there):
        if is_there:
            mount(["mount", "-t", "tmpfs", "none", folder])
        else:
            mount(["umount", folder])
        (folder / "daily").mkdir(exist_ok=True)

    (folder / "daily").mkdir()
    world.closers.append(lambda: subprocess.run(["umount", "-l", folder], capture_output=True, check=False))
    return put


def test_a_plan_writes_nothing_where_its_disk_is_not_mounted(a, folder, disk):
    disk(True)
    a.run("backup", "--every", "1s", "--keep", "2", "--to", folder / "daily")
    wait_until(lambda: names(folder / "daily"), 60, "a backup on the disk")
    # Nothing has a file open there while the daemon is stopped.
    a.stop()
    disk(False)
    a.start()
    failed = wait_until(lambda: state(a)["failure"], 60, "the status tells that the disk is not there")
    check(str(folder) in failed and "file system" in failed, f"the status says: {failed}")
    check(not os.listdir(folder / "daily"), "a backup went to the disk below the mount point")
    a.refused(STORAGE, "backup", mentions=["file system"])
    a.refused(STORAGE, "backup", "--every", "2s", mentions=["file system", "--every off"])
    disk(True)
    wait_until(lambda: state(a)["failure"] is None and names(folder / "daily"), 90, "it goes on with another disk")
    a.run("backup", "--every", "off")


@pytest.fixture
def without_folder_sync(world, folder):
    """The environment of a program to which the system refuses to sync folders: `without_folder_sync(path, errno)`."""
    library, source = world.root / "no_folder_sync.so", Path(__file__).with_name("no_folder_sync.c")
    built = subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source, "-ldl"], capture_output=True, check=False)
    if built.returncode != 0:
        skip(f"no C compiler: {built.stderr.decode()}")
    return lambda path, number: {
        "LD_PRELOAD": str(library), "NO_FOLDER_SYNC": str(path), "NO_FOLDER_SYNC_ERRNO": str(int(number))
    }


@pytest.mark.parametrize("number", [errno.EIO, errno.EINVAL], ids=["EIO", "EINVAL"])
def test_backups_do_not_pile_up_in_a_folder_that_cannot_be_synced(world, folder, without_folder_sync, number):
    a = world.peer("a", environment=without_folder_sync(folder, number))
    a.run("init", "--name", "a")
    a.start()
    a.run("backup", "--every", "1s", "--keep", "2", "--to", folder)
    seen = set()

    def several():
        seen.update(names(folder))
        return len(seen) >= 4

    wait_until(several, 60, "backups follow one another")
    status = state(a)
    check(status["failure"] is None, f"a backup that is there is called a failure: {status['failure']}")
    warning = status["last"].get("warning") or ""
    check(("power" in warning) == (number == errno.EIO), f"the warning is {warning!r}")
    check(("power" in a.result("backup", folder / "one").stderr.decode()) == (number == errno.EIO), "a single backup")
    a.stop()
    check(len(names(folder)) == 2, f"these were kept: {names(folder)}")
    check(a.json("backup", "verify", folder / names(folder)[-1])["healthy"], "the backup is not healthy")


@pytest.mark.parametrize("number", [errno.EIO, errno.EINVAL], ids=["EIO", "EINVAL"])
def test_init_makes_all_or_nothing_where_a_folder_cannot_be_synced(world, without_folder_sync, number):
    a = world.peer("a")
    a.environment |= without_folder_sync(a.directory, number)
    if number == errno.EINVAL:
        a.run("init")
        check(a.create("note") in a.objects(), "nothing can be written")
        return
    a.refused(STORAGE, "init", mentions=["Input/output error"])
    check(not a.directory.exists(), "half a workspace is left")
    a.environment.pop("LD_PRELOAD")
    a.run("init")


def test_init_on_a_full_disk_leaves_nothing(world, folder):
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=40k", "none", folder], check=False).returncode != 0:
        skip("no file system can be mounted here")
    world.closers.append(lambda: subprocess.run(["umount", "-l", folder], check=False))
    a = world.peer("a")
    a.directory = folder / "a"
    a.refused(STORAGE, "init", mentions=["disk is full"])
    check(not os.listdir(folder), f"this is left: {list(folder.rglob('*'))}")
    subprocess.run(["mount", "-o", "remount,size=100m", folder], check=True)
    a.run("init")


def test_a_program_with_the_token_reads_of_backups_and_has_none_made(a, folder):
    a.run("backup", "--every", "1h", "--keep", "3", "--to", folder)
    url, token = a.run("api", "--url"), a.run("api", "--header")

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
