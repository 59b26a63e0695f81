"""Nothing that a person typed or a peer sent steers a terminal: every command on a real pseudo-terminal, with every
scalar that could in arguments, paths, names, values, types, kinds and device names. A pipe gets them unchanged."""

import json
import os
import pty
import re
import subprocess
import threading

import pytest

from peerd_harness import check, program, wait_until

FAILURE, USAGE, NO_SUCH_OBJECT, WORKSPACE, BUSY, SYNC_INCOMPLETE = 1, 2, 3, 4, 5, 6
NOBODY = "00000000-0000-4000-8000-000000000000"
RANGES = [(0x00, 0x1F), (0x7F, 0x9F), (0x200B, 0x200F), (0x2028, 0x202E), (0x2060, 0x2069), (0xFEFF, 0xFEFF)]
DANGEROUS = [chr(value) for first, last in RANGES for value in range(first, last + 1)]
# An argument of a program holds no zero byte; JSON in one can name it.
TYPED = "<" + ".".join(DANGEROUS[1:]) + ">"
VALUE = "<" + ".".join(DANGEROUS) + ">"
# Control characters are refused in the name of a branch; these turn text around all the same.
BIDIRECTIONAL = "<\u202e.\u2066>"
# The name of a file has at most 255 bytes.
NAME = "<" + "".join(DANGEROUS[1:]) + ">"
# In front of an argument, so that even the first character steers.
STEERING = "\x1b]0;title\x07\u202e" + TYPED
# Of the program itself: a line of progress that replaces the last, and the colours of a QR code.
PROGRESS = "\r\x1b[K"
COLOURS = re.compile("\x1b\\[(?:30;107|0)m")
EXIT_SECONDS = 60.0


class Terminal:
    """A pseudo-terminal with one process on it, and all that reached it."""

    def __init__(self, command, environment=None):
        self.command = command
        self.master, other = pty.openpty()
        self.received = bytearray()
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=other, stderr=other, env=environment or os.environ
        )
        os.close(other)
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        while True:
            try:
                piece = os.read(self.master, 1 << 16)
            except OSError:  # nobody holds the other end any more
                return
            if not piece:
                return
            self.received += piece

    def finish(self):
        """Waits for the process; returns its exit code."""
        code = self.process.wait(EXIT_SECONDS)
        self.reader.join(EXIT_SECONDS)
        os.close(self.master)
        return code

    def text(self):
        """What reached the terminal, where nothing may be dangerous but line breaks and the program's own marks."""
        text = bytes(self.received).decode("utf-8", errors="strict").replace("\r\n", "\n")
        bare = text.replace(PROGRESS, "")
        if self.command[1] == "invite":
            bare = COLOURS.sub("", bare)
        found = sorted({f"U+{ord(char):04X}" for char in bare if char in DANGEROUS and char != "\n"})
        check(not found, f"{self.command[1:]!r}: {found} reached the terminal: {text[:2000]!r}")
        return text


def shown(peer, *verb, codes=(0,), options=()):
    """What a verb shows on a terminal in the end, without its progress."""
    terminal = Terminal([program(), verb[0], "--dir", str(peer.directory), *options, *verb[1:]], peer.environment)
    code = terminal.finish()
    text = terminal.text()
    check(code in codes, f"{verb!r}: exit code {code}: {text}")
    return re.sub(f"[^\n]*{re.escape(PROGRESS)}", "", text)


def escaped(text, newline="\\n"):
    """The text as a terminal is shown it."""
    short = {"\n": newline, "\t": "\\t", "\r": "\\r"}
    return "".join(short.get(char, f"\\u{ord(char):04x}") if char in DANGEROUS else char for char in text)


def parsed(text):
    """The value of a JSON text; None if it is not JSON."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return None


@pytest.fixture
def first(world):
    """A peer whose directory and device have dangerous names."""
    first = world.peer("first")
    first.directory = world.root / f"data{NAME}"
    text = shown(first, "init", "--name", TYPED)
    # Besides, two lines with the recovery words.
    check(text.count("\n") == 3 and escaped(TYPED) in text, f"init: {text!r}")
    return first


def test_a_second_init(first):
    shown(first, "init", codes=(WORKSPACE,))


@pytest.mark.parametrize(
    "words",
    [["--help"], ["--version"], ["help"], ["help", "log"], ["completion", "bash"], ["completion", "zsh"],
     ["completion", "fish"]],
    ids=" ".join,
)
def test_help(words):
    terminal = Terminal([program(), *words])
    check(terminal.finish() == 0, f"{words}")
    terminal.text()


# Command lines that are not understood, and objects and files that are not there: each message quotes them.
DIR, MISSING, FILE_BELOW = "a directory with a workspace", "a file that is not there", "a file below that"
WRONG = [
    [STEERING], ["--" + STEERING], ["help", STEERING], ["get", "--" + STEERING, NOBODY], ["get", "-" + STEERING],
    ["get", NOBODY, "name", STEERING], ["sync", "--timeout", STEERING], ["sync", f"--timeout={STEERING}"],
    ["completion", STEERING], ["get", "--dir", "x", STEERING], ["get", "--dir", STEERING, NOBODY],
    [f"--dir={STEERING}", "status"], ["--generate-completion-script", STEERING],
    ["run", "--listen", STEERING], ["run", "--peer", STEERING], ["run", "--log-level", STEERING],
    ["set", NOBODY, STEERING], ["join", STEERING], ["status", "--json=" + STEERING],
    ["import", "--dir", DIR, MISSING], ["snapshot", "import", "--dir", DIR, MISSING], ["backup", "verify", MISSING],
    ["snapshot", "restore", "--dir", DIR, STEERING], ["backup", "--every", STEERING],
    ["backup", "--dir", DIR, FILE_BELOW], ["backup", "restore", MISSING],
]
for verb in (["get"], ["set", "a=1"], ["unset", "a"], ["mv", "--root"], ["rm"], ["ls"], ["tree"], ["export"],
             ["log", "--object"], ["create", "note", "--parent"], ["mv", NOBODY], ["mv", NOBODY, "--before"]):
    # Some take the id in the middle; a wrong place is one more error to print.
    WRONG.append([verb[0], "--dir", DIR, *verb[1:], STEERING])
    WRONG.append([verb[0], "--dir", DIR, STEERING, *verb[1:]])


@pytest.mark.parametrize("words", WRONG, ids=[words[0] if words[0].isalpha() else "option" for words in WRONG])
def test_a_wrong_command_line(world, words):
    missing = world.root / f"missing{NAME}"
    stands_for = {MISSING: str(missing), FILE_BELOW: str(missing / "file")}
    if DIR in words:
        stands_for[DIR] = str(world.founder("peer").directory)
    terminal = Terminal(
        [program(), *(stands_for.get(word, word) for word in words)],
        {**os.environ, "PEERD_DIR": f"/nowhere/{STEERING}"},
    )
    code = terminal.finish()
    text = terminal.text()
    check(code not in (0, 139) or words[0] == "help", f"{words!r}: exit code {code}: {text}")


def test_the_parser_quotes_an_argument_on_one_line():
    wrong = "--no\n" + TYPED
    terminal = Terminal([program(), "status", wrong])
    check(terminal.finish() == USAGE, f"{terminal.command!r}")
    lines = [line for line in terminal.text().split("\n") if "nknown option" in line]
    check(len(lines) == 1 and escaped(wrong) in lines[0], f"an unknown option: {lines}")
    # Also where standard error is a file: text for people is one line everywhere.
    done = subprocess.run([program(), "status", wrong], capture_output=True, check=False)
    check(done.returncode == USAGE and escaped(wrong).encode() in done.stderr, f"{done.stderr}")


def test_an_error_is_one_line_in_a_pipe_too(first):
    done = first.result("get", STEERING)
    check(done.stderr.decode().count("\n") == 1 and escaped(STEERING).encode() in done.stderr, f"{done.stderr}")


class Story:
    """Objects whose every text is dangerous."""

    def __init__(self, peer):
        self.root = peer.create(TYPED, "--kind", TYPED, f"name={json.dumps(VALUE)}")
        self.inner = peer.create(
            TYPED, "--kind", TYPED, "--parent", self.root, "--key", TYPED, f"title={json.dumps(VALUE)}",
            f"{TYPED}={json.dumps([VALUE, {VALUE: VALUE}])}", f"text={json.dumps(VALUE)}",
        )


def check_reading(peer, story):
    """Each verb that shows data, in both forms."""
    snapshot = peer.run("snapshot", "create", story.root, "--name", TYPED)
    branch = peer.run("branch", "create", BIDIRECTIONAL)
    for verb in (["ls"], ["ls", story.root], ["tree"], ["tree", story.root], ["conflicts"], ["log"], ["status"],
                 ["peers"], ["doctor"], ["log", "--object", story.inner], ["get", story.inner], ["restamp"],
                 ["get", story.inner, TYPED], ["get", story.inner, "text"], ["export"], ["export", story.inner],
                 ["snapshot", "list"], ["snapshot", "show", snapshot], ["snapshot", "export", snapshot],
                 ["branch", "list"], ["branch", "diff", branch], ["branch", "merge", branch, "--dry-run"]):
        shown(peer, *verb, codes=(0, FAILURE))
        text = shown(peer, *verb, codes=(0, FAILURE), options=["--json"])
        for line in text.splitlines() if verb[0] == "log" else [text]:
            check(parsed(line) is not None, f"{verb!r}: no JSON: {text!r}")
    # A value stays in its line; only the text of one property has lines of its own.
    line = shown(peer, "ls", story.root)
    check(line.count("\n") == 1 and escaped(TYPED) in line and escaped(VALUE)[:60] in line, f"ls: {line!r}")
    check(shown(peer, "tree", story.root).count("\n") == 2, "tree breaks its lines")
    lines = shown(peer, "snapshot", "list", story.root)
    check(all(line.endswith(escaped(TYPED)) for line in lines.splitlines()), f"snapshot list: {lines!r}")
    check(shown(peer, "snapshot", "show", snapshot).count("\n") == 3, "snapshot show breaks its lines")
    for verb in (["branch", "list"], ["branch", "merge", branch]):
        check(escaped(BIDIRECTIONAL) in shown(peer, *verb), f"{verb!r} does not escape the name")
    shown(peer, "branch", "delete", branch)
    text = shown(peer, "get", story.inner)
    check(escaped(VALUE) in text and escaped(TYPED) in text, f"get: {text!r}")
    check(shown(peer, "get", story.inner, "text") == escaped(VALUE, newline="\n") + "\n", "get ID NAME")
    lines = shown(peer, "log", "--object", story.inner)
    check(lines.count("\n") == len(peer.operations("--object", story.inner)), "log breaks its lines")
    # It is the same JSON, and a pipe gets the bytes.
    for verb in (["get", story.inner], ["get", story.inner, TYPED], ["get", story.inner, "text"], ["export"], ["ls"],
                 ["tree"], ["log", "--object", story.inner], ["conflicts"]):
        seen, piped = shown(peer, *verb, options=["--json"]), peer.raw(verb[0], "--json", *verb[1:]).decode()
        check("\u202e" in piped or verb[0] == "conflicts", f"{verb!r}: a pipe gets escapes")
        pairs = zip(seen.splitlines(), piped.split("\n")) if verb[0] == "log" else [(seen, piped)]
        check(all(json.loads(left) == json.loads(right) for left, right in pairs), f"{verb!r}: other JSON")
    check(peer.raw("get", story.inner, "text") == (VALUE + "\n").encode(), "a pipe does not get the text itself")
    refusal = shown(peer, "get", story.inner, STEERING, codes=(NO_SUCH_OBJECT,))
    check(refusal.count("\n") == 1 and escaped(STEERING) in refusal, f"no such property: {refusal!r}")


@pytest.mark.parametrize("daemon_runs", [False, True], ids=["alone", "daemon"])
def test_writing(world, first, daemon_runs):
    """Each verb that writes."""
    peer, story = first, Story(first)
    if daemon_runs:
        peer.start()
    identity = shown(peer, "create", TYPED, "--kind", TYPED, f"{TYPED}={TYPED}", "--parent", story.root).strip()
    shown(peer, "create", TYPED, "--key", TYPED, "--parent", STEERING, codes=(NO_SUCH_OBJECT,))
    shown(peer, "set", identity, f"{TYPED}={STEERING}", f"other={STEERING}", options=["--json"])
    shown(peer, "unset", identity, TYPED, options=["--json"])
    shown(peer, "unset", identity, TYPED, codes=(NO_SUCH_OBJECT,))
    shown(peer, "mv", identity, "--root", options=["--json"])
    shown(peer, "mv", identity, story.inner, "--before", STEERING, codes=(NO_SUCH_OBJECT,))
    shown(peer, "set", identity, f"{TYPED * 20}=1", codes=(FAILURE,))
    shown(peer, "rm", identity, options=["--json"])
    path = world.root / f"{NAME}.json"
    for content in (
        [{"type": VALUE, "kind": VALUE, "key": VALUE, "properties": {VALUE: VALUE}}], [{"type": VALUE, VALUE: VALUE}],
        [{"type": VALUE, "id": VALUE}], [{"type": VALUE, "parent": VALUE}], [{"type": VALUE, "position": VALUE}],
        [{"type": VALUE, "parent_key": VALUE}], [{"type": VALUE, "properties": VALUE}], [{VALUE: VALUE}], VALUE,
    ):
        path.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
        shown(peer, "import", str(path), codes=(0, FAILURE))
    path.write_bytes(b"[" + VALUE.encode())
    shown(peer, "import", str(path), codes=(FAILURE,))


def test_reading_without_a_daemon(first):
    check_reading(first, Story(first))


class Joined:
    """A daemon on a terminal, and that of a peer with a dangerous name that has joined it. They have written one
    property apart, and moved one object."""

    def __init__(self, world, first):
        self.first, self.second, self.story = first, world.peer("second"), Story(first)
        self.daemon = Terminal(
            [program(), "run", "--dir", str(first.directory), "--listen", "127.0.0.1:0", "--no-discovery",
             "--log-level", "trace"]
        )
        world.closers.append(self.daemon.process.kill)
        address = self.logged(rb"listening on (\S+)\r\n").group(1).decode()
        self.invite = shown(first, "invite").split("\n")[0]
        check(self.invite.startswith("peerd:1:"), f"invite: {self.invite[:80]!r}")
        text = shown(self.second, "join", self.invite, "--name", STEERING)
        check(escaped(STEERING) in text, f"join: {text!r}")
        for peer, value, place in ((first, VALUE + "1", "--root"), (self.second, VALUE + "2", self.story.root)):
            peer.run("set", self.story.inner, f"{TYPED}={json.dumps(value)}")
            peer.run("mv", self.story.inner, place)
        self.second.start(peers=[address])
        for peer in (first, self.second):
            wait_until(lambda: len(peer.json("conflicts")["properties"]) == 1, 60, "a conflict")

    def logged(self, words):
        return wait_until(lambda: re.search(words, bytes(self.daemon.received)), 30, f"the log has {words}")


@pytest.fixture
def joined(world, first):
    return Joined(world, first)


def test_invite_join_and_run_beside_a_daemon(joined):
    shown(joined.first, "invite", options=["--json"])
    codes = (0, FAILURE, USAGE, WORKSPACE, SYNC_INCOMPLETE)
    shown(joined.second, "join", joined.invite, "--name", STEERING, codes=codes)
    for verb in (["run", "--listen", "127.0.0.1:0"], ["init"]):
        shown(joined.first, *verb, codes=(WORKSPACE, BUSY))


@pytest.mark.parametrize("name", ["first", "second"])
def test_reading_with_a_daemon_and_a_conflict(joined, name):
    peer = getattr(joined, name)
    text = shown(peer, "conflicts")
    check("in force" in text and escaped(VALUE)[:80] in text, f"conflicts: {text!r}")
    text = shown(peer, "peers")
    check(text.count("\n") == 1 and "online" in text, f"peers: {text!r}")
    text = shown(peer, "sync", "--wait")
    check(escaped(TYPED) in text and "in sync" in text, f"sync: {text!r}")
    shown(peer, "sync", options=["--json"])
    check_reading(peer, joined.story)


def test_the_log_of_a_daemon(joined):
    joined.logged(b"has joined the workspace")
    joined.second.stop()
    joined.logged(b"has ended")
    shown(joined.first, "sync", "--wait", "--timeout", "1", codes=(SYNC_INCOMPLETE,))
    shown(joined.first, "doctor", codes=(0, FAILURE))
    joined.daemon.process.terminate()
    check(joined.daemon.finish() == 0, "the daemon ended otherwise")
    log = joined.daemon.text()
    check(escaped(STEERING) in log, f"the log does not name the newcomer: {log!r}")


def test_preview(joined):
    """A preview of directories whose every name and text is dangerous."""
    first, second, story = joined.first, joined.second, joined.story
    second.stop()
    joined.daemon.process.terminate()
    joined.daemon.finish()
    first.run("set", story.inner, f"{TYPED}={json.dumps(VALUE + '3')}")
    second.run("set", story.inner, f"{TYPED}={json.dumps(VALUE + '4')}")
    second.run("rm", story.root)
    first.run("create", TYPED, "--parent", story.root, f"name={json.dumps(VALUE)}")
    for words in ([], ["--json"]):
        terminal = Terminal([program(), "preview", *words, str(first.directory), str(second.directory)])
        check(terminal.finish() == FAILURE, f"preview: {terminal.received!r}")
        text = terminal.text()
        check(escaped(VALUE)[:60] in text and escaped(TYPED) in text, f"preview: {text!r}")
    missing = first.directory.parent / f"missing{NAME}"
    terminal = Terminal([program(), "preview", str(first.directory), str(missing)])
    check(terminal.finish() == WORKSPACE and escaped(NAME) in terminal.text(), f"preview: {terminal.received!r}")
