"""What lies in the place of a file and is none: named pipes, folders, links, sockets and devices, in a data directory
and in the place of a file to import; and databases with two names. Nothing waits for them, nothing is lost, and each is
named."""

import os
import shutil
import socket
import stat
import subprocess

import pytest

from peerd_harness import World, check, invite_line, program

FAILURE, USAGE, STORAGE = 1, 2, 7
# A failsafe: no verb here takes a second.
SECONDS = 30
DATABASE = "peerd.sqlite"
FILES = ["keys", "lock", DATABASE, f"{DATABASE}-wal", f"{DATABASE}-shm", f"{DATABASE}-journal", "token", "config",
         "branch", "api"]


def make_pipe(path, _):
    os.mkfifo(path)


def make_folder(path, _):
    path.mkdir()


def make_link(path, original):
    """A link to what should be there, if there is such a file."""
    path.symlink_to(original)


def make_dangling_link(path, original):
    path.symlink_to(original.with_name("nowhere"))


def make_device_link(path, _):
    path.symlink_to("/dev/zero")


def make_socket(path, _):
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))


def make_device(path, _):
    try:
        os.mknod(path, 0o600 | stat.S_IFCHR, os.makedev(1, 5))
    except PermissionError:
        pytest.skip("only root makes devices")


KINDS = [make_pipe, make_folder, make_link, make_dangling_link, make_device_link, make_socket, make_device]


@pytest.fixture(scope="module")
def inviting(world_of_module):
    """A machine of another workspace, for verbs that join."""
    peer = world_of_module.founder("inviting")
    peer.start(words=["--no-http"])
    return peer


@pytest.fixture(scope="module")
def world_of_module():
    with World("strange") as world:
        yield world


@pytest.fixture
def peer(world):
    """A peer with one object and all files that a data directory can have."""
    peer = world.founder("peer")
    peer.note = peer.create("note", "a=0")
    peer.start()
    peer.stop()
    peer.run("branch", "create", "layout")
    peer.run("branch", "switch", "main")
    return peer


def verbs(peer, world, line):
    """Every verb that opens a data directory, in one way each."""
    content = world.root / "objects.json"
    content.write_text("[]")
    return [
        ("ls",), ("tree",), ("get", peer.note), ("export",), ("log",), ("history", peer.note), ("conflicts",),
        ("status",), ("peers",), ("doctor",), ("create", "note"), ("set", peer.note, "a=1"), ("rm", peer.note),
        ("import", content), ("backup", world.root / "made.backup"), ("snapshot", "list"), ("branch", "list"),
        ("branch", "switch", "main"), ("sync", "--timeout", "1"), ("invite",), ("api",), ("open",), ("compact",),
        ("run", "--listen", "127.0.0.1:0", "--no-discovery"), ("init",), ("join", line),
        ("backup", "restore", world.root / "good.backup"),
    ]


def contents(directory):
    """What is in a directory, with the content of what is a file."""
    return {
        str(path.relative_to(directory)): (path.lstat().st_mode, path.read_bytes() if path.is_file() else None)
        for path in directory.rglob("*")
    }


def refused(mention, verb, *words):
    done = subprocess.run([program(), *map(str, words)], capture_output=True, timeout=SECONDS, check=False)
    text = done.stderr.decode()
    check(done.returncode == STORAGE and mention in text, f"{verb}: exit code {done.returncode}, {text}")


def refused_by_every_verb(mention, peer, world, inviting):
    """Every verb ends with one error, and nothing in the directory is another than before."""
    before = contents(peer.directory)
    for verb in verbs(peer, world, invite_line(inviting)):
        refused(mention, verb, verb[0], "--dir", peer.directory, *verb[1:])
    refused(mention, "preview", "preview", peer.directory, inviting.directory)
    check(contents(peer.directory) == before, "something was written")


@pytest.mark.parametrize("make", KINDS, ids=lambda make: make.__name__)
@pytest.mark.parametrize("name", FILES)
def test_what_is_no_file_is_refused_by_every_verb(world, peer, inviting, name, make):
    peer.run("backup", world.root / "good.backup")
    path, original = peer.directory / name, world.root / "original"
    if path.exists():
        path.rename(original)
    make(path, original)
    outside = original.exists() and original.read_bytes()
    refused_by_every_verb(f"{path} is not a regular file", peer, world, inviting)
    check((original.exists() and original.read_bytes()) == outside, "what a link leads to was written")
    shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    if original.exists():
        original.rename(path)
    check(peer.objects()[peer.note]["properties"], "the object is lost")
    peer.run("doctor")


@pytest.mark.parametrize("name", ["lock", DATABASE, f"{DATABASE}-wal", f"{DATABASE}-shm", f"{DATABASE}-journal"])
def test_what_has_another_name_is_refused_by_every_verb(world, peer, inviting, name):
    peer.run("backup", world.root / "good.backup")
    path, other = peer.directory / name, world.root / "other"
    path.touch()
    other.hardlink_to(path)
    refused_by_every_verb(f"{path} has another name", peer, world, inviting)
    other.unlink()
    check(peer.note in peer.objects(), "the object is lost")


def test_a_directory_of_hard_links_harms_neither_directory(world):
    """`cp -al` while the daemon runs: the copy would have the database, and a log of its own."""
    peer, copy = world.founder("peer"), world.peer("copy")
    peer.start()
    notes = {peer.create("note", f"n={number}") for number in range(30)}
    subprocess.run(["cp", "-al", peer.directory, copy.directory], check=True)
    copy.refused(STORAGE, "ls", mentions=["has another name", "copy"])
    peer.kill()
    for directory in (copy, peer):
        for verb in (["ls"], ["doctor"], ["run", "--listen", "127.0.0.1:0"], ["create", "note"]):
            directory.refused(STORAGE, *verb, mentions=["has another name"])
    shutil.rmtree(copy.directory)
    check(set(peer.objects()) == notes, "objects are lost")
    peer.run("doctor")


@pytest.mark.parametrize("name", ["keys", "lock", DATABASE])
def test_init_and_join_make_nothing_beside_what_is_no_file(world, inviting, name):
    peer = world.peer("new")
    peer.directory.mkdir(mode=0o700)
    os.mkfifo(peer.directory / name)
    for verb in (("init",), ("join", invite_line(inviting)), ("ls",)):
        peer.refused(STORAGE, *verb, mentions=["is not a regular file"], seconds=SECONDS)
    check([path.name for path in peer.directory.iterdir()] == [name], "something was made")


@pytest.mark.parametrize("make", [make_pipe, make_folder, make_link], ids=lambda make: make.__name__)
def test_what_is_no_socket_is_not_removed(world, peer, make):
    path, original = peer.directory / "socket", world.root / "original"
    original.write_text("a file of mine")
    make(path, original)
    for verb in (("ls",), ("run", "--listen", "127.0.0.1:0")):
        peer.refused(STORAGE, *verb, mentions=["is not a socket"], seconds=SECONDS)
    check(path.exists() and original.read_text() == "a file of mine", "it was removed")


def test_the_directory_itself_may_be_a_link(world, peer):
    link = world.root / "link"
    link.symlink_to(peer.directory)
    linked = world.peer("link")
    check(peer.note in linked.objects(), "it is another workspace")
    linked.run("set", peer.note, "a=1")
    check("a" in peer.objects()[peer.note]["properties"], "it was not written")


def test_a_flipped_bit_of_the_keys_is_told_before_anything_is_written(peer):
    keys = peer.directory / "keys"
    good = keys.read_bytes()
    rest = {name: content for name, content in contents(peer.directory).items() if name != "keys"}
    # A few bits of each part: the name, the certificates, the seeds and the checksum.
    bits = [*range(0, len(good) * 8, 163), *range(len(good) * 8 - 64, 0, -256)]
    for bit in bits[:40]:
        bad = bytearray(good)
        bad[bit // 8] ^= 1 << bit % 8
        keys.write_bytes(bad)
        peer.refused(STORAGE, "create", "note", mentions=["keys is damaged"])
    for verb in (("run", "--listen", "127.0.0.1:0"), ("doctor",), ("ls",), ("backup", peer.directory.parent / "b")):
        peer.refused(STORAGE, *verb, mentions=["keys is damaged"])
    after = {name: content for name, content in contents(peer.directory).items() if name != "keys"}
    check(after == rest, "something was written")
    keys.write_bytes(good)
    peer.run("set", peer.note, "a=1")


def test_keys_of_an_earlier_version_are_refused(peer):
    keys = peer.directory / "keys"
    good = keys.read_bytes()
    for version in (1, 2):
        keys.write_bytes(good[:10] + bytes([version]) + good[11:-32])
        peer.refused(STORAGE, "create", "note", mentions=["no key file of this version"])


IMPORTS = [("import",), ("snapshot", "import")]
verb_that_imports = pytest.mark.parametrize("verb", IMPORTS, ids=["import", "snapshot"])


def imported(peer, verb, path, **options):
    """The outcome of an import, whatever it is."""
    command = [program(), verb[0], "--dir", str(peer.directory), *verb[1:], str(path)]
    return subprocess.run(command, capture_output=True, timeout=SECONDS, check=False, **options)


@verb_that_imports
def test_an_import_of_what_is_no_file_ends_at_once(world, peer, verb):
    before = peer.export()
    pipe, folder = world.root / "pipe", world.root / "folder"
    os.mkfifo(pipe)
    folder.mkdir()
    (world.root / "to-pipe").symlink_to(pipe)
    for path, reason in [("/dev/zero", "a device"), (pipe, "a named pipe"),
                         (world.root / "to-pipe", "a named pipe"), (folder, "a folder"),
                         (world.root / "none", "no file")]:
        peer.refused(FAILURE, *verb, path, mentions=[str(path), reason], seconds=SECONDS)
    with open("/dev/zero", "rb") as zeros:
        done = imported(peer, verb, "-", stdin=zeros)
    check(done.returncode == FAILURE and b"device" in done.stderr, f"{done.returncode} {done.stderr}")
    check(peer.export() == before, "something was imported")


@verb_that_imports
def test_an_import_without_an_end_ends(world, peer, verb):
    limit = "1024 MiB" if verb == ("import",) else "32 MiB"
    large = world.root / "large"
    with open(large, "wb") as file:
        file.truncate((1 << 30) + 1)
    peer.refused(FAILURE, *verb, large, mentions=[limit], seconds=SECONDS)
    for path in ("-", "/dev/stdin"):
        endless = subprocess.Popen(["yes"], stdout=subprocess.PIPE)
        done = imported(peer, verb, path, stdin=endless.stdout)
        endless.kill()
        endless.wait()
        check(done.returncode == FAILURE and limit in done.stderr.decode(), f"{done.returncode} {done.stderr}")
    check({path.name for path in peer.directory.iterdir()} <= {*FILES, "files"}, "a copy is left")


def test_what_pipes_and_links_lead_to_is_imported(world, peer):
    text = b'[{"type": "note", "key": "k", "properties": {"b": 1}}]'
    file, link = world.root / "file.json", world.root / "link.json"
    file.write_bytes(text)
    link.symlink_to(file)
    for path, options in [("-", {"input": text}), ("/dev/stdin", {"input": text}), (link, {})]:
        done = imported(peer, ("import",), path, **options)
        check(done.returncode == 0 and b"imported 1 object" in done.stdout, f"{path}: {done.stderr}")
    with open(file, "rb") as standard_input:
        check(imported(peer, ("import",), "-", stdin=standard_input).returncode == 0, "a file as standard input")
    shell = f"{program()} import --dir {peer.directory} <(cat {file})"
    done = subprocess.run(["bash", "-c", shell], capture_output=True, timeout=SECONDS, check=False)
    check(done.returncode == 0, f"a process as a file: {done.stderr}")
    check(len(peer.objects()) == 2, "one object is one, however often it is imported")


def test_an_invite_without_an_end_is_refused(world):
    with open("/dev/zero", "rb") as zeros:
        command = [program(), "join", "--dir", str(world.root / "new")]
        done = subprocess.run(command, stdin=zeros, capture_output=True, timeout=SECONDS, check=False)
    check(done.returncode == USAGE and b"not a complete invite" in done.stderr, f"{done.returncode} {done.stderr}")


def test_a_backup_that_is_no_file_is_refused(world):
    pipe = world.root / "pipe"
    os.mkfifo(pipe)
    peer = world.peer("restored")
    for path in (pipe, "/dev/zero"):
        peer.refused(STORAGE, "backup", "restore", path, mentions=["is not a regular file"], seconds=SECONDS)
    check(not peer.directory.exists(), "a directory was made")


def test_the_sixteenth_in_a_row_says_who_can_invite(world):
    peers = [world.founder("machine-1")]
    for number in range(2, 17):
        inviting = peers[-1]
        inviting.start(words=["--no-http"])
        joining = world.peer(f"machine-{number}")
        joining.run("join", "--name", joining.name, invite_line(inviting))
        inviting.stop()
        check("has joined the workspace" in inviting.log_path.read_text(), f"{inviting.name} does not say it")
        peers.append(joining)
    last = peers[-1]
    last.start(words=["--no-http"])
    last.refused(FAILURE, "invite", mentions=["machine-1”"])
    last.stop()
    # And it says so before it has said anything else.
    check("has joined" not in last.log_path.read_text(), "it has let somebody in")
    check(last.create("note") in last.objects(), "it cannot write")
