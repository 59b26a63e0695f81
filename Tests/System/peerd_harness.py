"""What the system tests and the demo share: peers in temporary directories, their daemons, and the wait for agreement.

The program under test is the one that the variable PEERD names.
"""

import copy
import hashlib
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import tempfile
import time
from pathlib import Path

START_SECONDS = 30.0
STOP_SECONDS = 15.0
COMMAND_SECONDS = 120.0
POLL_SECONDS = 0.05
POLL_GROWTH = 1.3
# The signals of a program that traps, and what it and its libraries say of themselves that nobody may overlook.
CRASHES = {signal.SIGILL, signal.SIGTRAP, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGSEGV}
COMPLAINTS = ("Fatal error", "Cannot schedule tasks on an EventLoop")
LISTENING = re.compile(r"listening on (\S+):(\d+)", re.IGNORECASE)


class CheckFailed(AssertionError):
    """Something was not as it should be."""


class CommandFailed(Exception):
    """A verb ended with an exit code other than 0."""

    def __init__(self, verb, code, output, error):
        super().__init__(f"peerd {' '.join(verb)}: exit code {code}: {error.strip() or output.strip()}")
        self.code = code
        self.output = output
        self.error = error


def check(condition, what):
    if not condition:
        raise CheckFailed(what)


def skip(reason):
    """Ends the test that runs, which cannot run here."""
    import pytest  # The demo uses this file without it.

    pytest.skip(reason)


def say(text):
    print(text, flush=True)


def program():
    """The path of the program under test."""
    path = os.environ.get("PEERD", "")
    if not (path and os.path.isfile(path) and os.access(path, os.X_OK)):
        sys.exit(f"PEERD is {path!r}, which is no program; build peerd and set PEERD to its path.")
    return os.path.abspath(path)


def simulator():
    """The simulator under test: the one that SIMULATOR names, or that was built beside peerd."""
    path = Path(os.environ.get("SIMULATOR") or Path(program()).parent / "Simulator")
    if not os.access(path, os.X_OK):
        skip(f"there is no simulator at {path}; build it, or set SIMULATOR to its path")
    return str(path)


def end_in_order_on_sigterm():
    """Has a program that is asked to end leave its worlds, and with them its daemons, first."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))


def poll_pauses():
    """Seconds to wait between looks: longer and longer, for each look at a peer is a process that costs time."""
    pause = POLL_SECONDS
    while True:
        yield pause
        pause = min(pause * POLL_GROWTH, POLL_SECONDS * 10)


def wait_until(predicate, seconds, what):
    """Polls until the predicate gives something true, and returns that."""
    deadline = time.monotonic() + seconds
    pauses = poll_pauses()
    while True:
        result = predicate()
        if result:
            return result
        if time.monotonic() > deadline:
            raise CheckFailed(f"not within {seconds:g} s: {what}")
        time.sleep(next(pauses))


def free_port():
    """A TCP port of the loopback address that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def digest(data):
    return hashlib.sha256(data).hexdigest()


class World:
    """A temporary directory with peers in it. Leaving it ends every daemon that still runs."""

    def __init__(self, name):
        # A short path: the name of a Unix socket has no room for more than about a hundred bytes.
        self.root = Path(tempfile.mkdtemp(prefix=f"peerd-{name}-", dir="/tmp"))
        self.peers = []
        self.closers = []

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        crashes = [crash for peer in self.peers if (crash := peer.end())]
        for close in reversed(self.closers):
            close()
        if crashes or kind is not None and kind is not SystemExit:
            self.show_logs()
        if os.environ.get("PEERD_TEST_KEEP"):
            say(f"kept: {self.root}")
        else:
            shutil.rmtree(self.root, ignore_errors=True)
        if kind is None:
            check(not crashes, "; ".join(crashes))

    def peer(self, name, **options):
        """A peer that has no workspace yet."""
        peer = Peer(self.root / name, name, **options)
        self.peers.append(peer)
        return peer

    def founder(self, name, **options):
        """A peer with a new workspace."""
        peer = self.peer(name, **options)
        peer.run("init", "--name", name)
        return peer

    def paired(self, *names):
        """Peers in one workspace, none of them running. They have met on ports that are gone by now."""
        first = self.founder(names[0])
        first.start()
        others = [self.peer(name) for name in names[1:]]
        for other in others:
            pair(first, other)
        first.stop()
        return [first, *others]

    def show_logs(self):
        for peer in self.peers:
            if peer.log_path.exists():
                lines = peer.log_path.read_text(errors="replace").splitlines()
                say(f"--- the last lines of daemon {peer.name}")
                for line in lines[-25:]:
                    say(f"    {line}")


class Peer:
    """One data directory, the verbs on it, and its daemon if one runs."""

    def __init__(self, directory, name, prefix=(), environment=None):
        self.directory = Path(directory)
        self.name = name
        self.prefix = list(prefix)
        self.environment = {**os.environ, "PEERD_DIR": "", **(environment or {})}
        self.environment.pop("PEERD_DIR")
        self.log_path = self.directory.parent / f"{name}.log"
        self.process = None
        self.address = None

    def used_by(self, program):
        """The same machine, used by a program with a name; the dashboard is "/"."""
        other = copy.copy(self)
        other.environment = {**self.environment, "PEERD_PROGRAM": program}
        return other

    # The verbs.

    def result(self, *verb, seconds=COMMAND_SECONDS, stdin=None):
        """The outcome of one verb, whatever it is."""
        command = self.prefix + [program(), verb[0], "--dir", str(self.directory), *map(str, verb[1:])]
        return subprocess.run(
            command, capture_output=True, env=self.environment, timeout=seconds, input=stdin, check=False
        )

    def begin(self, *verb):
        """Starts a verb and does not wait for it; what it prints is of no interest."""
        command = self.prefix + [program(), verb[0], "--dir", str(self.directory), *map(str, verb[1:])]
        null = subprocess.DEVNULL
        return subprocess.Popen(command, stdin=null, stdout=null, stderr=null, env=self.environment)

    def raw(self, *verb, seconds=COMMAND_SECONDS):
        """What a verb printed, as bytes; the verb must succeed."""
        done = self.result(*verb, seconds=seconds)
        if done.returncode != 0:
            texts = (done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace"))
            raise CommandFailed([str(word) for word in verb], done.returncode, *texts)
        return done.stdout

    def refused(self, code, *verb, mentions=(), seconds=COMMAND_SECONDS):
        """The error of a verb that must end with this exit code, say why, and print nothing else."""
        done = self.result(*verb, seconds=seconds)
        output, error, words = done.stdout.decode(), done.stderr.decode(), " ".join(map(str, verb))
        check(done.returncode == code, f"{words}: exit code {done.returncode}, not {code}: {error}{output}")
        check(not output, f"{words}: failed and printed {output[:80]!r}")
        check(error.strip(), f"{words}: failed without a word")
        check("Fatal error" not in error and "Swift" not in error, f"{words}: {error}")
        for word in mentions:
            check(word in error, f"{words}: the error does not mention {word!r}: {error}")
        return error

    def run(self, *verb, seconds=COMMAND_SECONDS):
        return self.raw(*verb, seconds=seconds).decode().strip()

    def json(self, *verb, seconds=COMMAND_SECONDS):
        return json.loads(self.raw(verb[0], "--json", *verb[1:], seconds=seconds))

    def export(self):
        return self.raw("export")

    def objects(self):
        """The visible objects by id."""
        return {item["id"]: item for item in json.loads(self.export())}

    def operations(self, *words):
        """The log, one dictionary an operation."""
        return [json.loads(line) for line in self.raw("log", "--json", *words).splitlines() if line.strip()]

    def status(self):
        return self.json("status")

    def frontier(self):
        """What this peer claims to hold."""
        return frontier_of(self.status())

    def create(self, kind, *words):
        """Makes an object and returns its id."""
        return self.run("create", kind, *words).split()[0]

    # The daemon.

    def start(self, listen="127.0.0.1:0", peers=(), discovery=False, seconds=START_SECONDS, words=()):
        check(self.process is None, f"{self.name} runs already")
        command = self.prefix + [program(), "run", "--dir", str(self.directory), "--listen", listen]
        for address in peers:
            command += ["--peer", address]
        if not discovery:
            command.append("--no-discovery")
        command += words
        with open(self.log_path, "ab") as log:
            begin = log.tell()
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, env=self.environment
            )
        self.address = wait_until(lambda: self._heard_address(begin), seconds, f"{self.name} listens")
        return self.address

    def _heard_address(self, begin):
        with open(self.log_path, "rb") as log:
            log.seek(begin)
            text = log.read().decode(errors="replace")
        found = LISTENING.search(text)
        if found:
            return f"{found.group(1)}:{found.group(2)}"
        if self.process.poll() is not None:
            code, self.process = self.process.returncode, None
            raise CheckFailed(f"the daemon of {self.name} ended with {code} instead of listening: {text.strip()}")
        return None

    @property
    def port(self):
        return int(self.address.rsplit(":", 1)[1])

    def stop(self):
        """Asks the daemon to end, as a service manager would."""
        process, self.process = self.process, None
        if process is None:
            return
        process.send_signal(signal.SIGTERM)
        try:
            code = process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise CheckFailed(f"the daemon of {self.name} did not end within {STOP_SECONDS:g} s of SIGTERM") from None
        check(code == 0, f"the daemon of {self.name} ended with {code} after SIGTERM")

    def end(self):
        """Ends the daemon in whatever way, and returns what nobody has seen of how it fared; None if it fared well."""
        process, self.process = self.process, None
        if process is not None:
            code = process.poll()
            process.kill()
            process.wait()
            if code is not None and -code in CRASHES:
                return f"the daemon of {self.name} ended by itself: {signal.Signals(-code).name}"
        if self.log_path.exists():
            for line in self.log_path.read_text(errors="replace").splitlines():
                if any(words in line for words in COMPLAINTS):
                    return f"the daemon of {self.name} says: {line}"
        return None

    def kill(self):
        process, self.process = self.process, None
        if process is not None:
            process.kill()
            process.wait()

    def restart(self, **options):
        self.stop()
        return self.start(**options)

    def resident_kilobytes(self):
        text = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+) kB", text).group(1))


class DaemonSocket:
    """HTTP over the Unix socket of a running daemon, on one connection; for many writes in a row."""

    def __init__(self, peer):
        self.connection = http.client.HTTPConnection("localhost")
        self.connection.sock = socket.socket(socket.AF_UNIX)
        self.connection.sock.connect(str(peer.directory / "socket"))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.connection.close()

    def create(self, kind, properties):
        """Makes an object and returns its id."""
        return self.ask("POST", "/api/objects", {"type": kind, "properties": properties})["id"]

    def ask(self, method, path, body=None):
        """Has one request answered, and returns the JSON of the answer."""
        status, content = self.request(method, path, body)
        check(200 <= status < 300, f"{method} {path}: {status} {str(content)[:500]}")
        return content

    def request(self, method, path, body=None):
        """The same, whatever the answer is: its status, and its JSON."""
        text = None if body is None else json.dumps(body)
        self.connection.request(method, path, body=text)
        answer = self.connection.getresponse()
        content = answer.read()
        return answer.status, json.loads(content) if content else None


def run_together(works):
    """Does several things at the same time; the first failure of any is raised here."""
    failures = []

    def guarded(work):
        try:
            work()
        except BaseException as error:  # reported by the caller's thread, also if it would end a test or a program
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def frontier_of(status):
    """What a peer claims to hold, and what of it waits: equal ones must mean equal states."""

    def plain(value):
        return json.dumps(value, sort_keys=True)

    waiting = [(item["replica"], item["sequence"]) for item in status["waiting"]]
    return plain(status["frontier"]), plain(sorted(waiting))


def invite_line(peer):
    """The line with which one other peer may join."""
    for word in peer.run("invite").split():
        if word.startswith("peerd:1:"):
            return word
    raise CheckFailed("invite printed no line that begins with peerd:1:")


def pair(inviting, joining, seconds=30.0):
    """Lets a peer without a workspace join that of another, whose daemon runs."""
    joining.run("join", "--name", joining.name, invite_line(inviting), seconds=seconds)


def observed(peer):
    """A frontier and the state that belongs to it: read again until nothing moved in between."""
    while True:
        before = peer.frontier()
        state = peer.export()
        if peer.frontier() == before:
            return before, state


class Agreement:
    """Collects what peers show, and fails if equal frontiers show different states."""

    def __init__(self):
        self.seen = {}

    def look(self, peer):
        """What a peer shows; fails if that contradicts an agreement that was reached before."""
        frontier, state = observed(peer)
        known = self.seen.get(frontier)
        if known is not None and known != state:
            explain_difference(known, state, "agreed before", peer.name)
            raise CheckFailed(f"{peer.name} shows a frontier that was agreed on, and another state")
        return frontier, state

    def settle(self, peers, seconds=60.0):
        """Waits until all peers show one frontier and one state; returns the state."""
        deadline = time.monotonic() + seconds
        pauses = poll_pauses()
        while True:
            # Exports are long: they are read once the frontiers agree.
            if len({peer.frontier() for peer in peers}) == 1:
                views = [self.look(peer) for peer in peers]
                frontiers, states = {frontier for frontier, _ in views}, {state for _, state in views}
                if len(frontiers) == len(states) == 1:
                    self.seen[views[0][0]] = views[0][1]
                    return views[0][1]
                if len(frontiers) == 1:
                    self.explain(peers)
                    raise CheckFailed("equal frontiers hide different states")
            if time.monotonic() > deadline:
                self.explain(peers)
                raise CheckFailed(f"the peers are not equal after {seconds:g} s")
            time.sleep(next(pauses))

    def explain(self, peers):
        views = [observed(peer) for peer in peers]
        for peer, (frontier, state) in zip(peers, views):
            say(f"{peer.name}: {digest(state)[:16]} {' '.join(frontier)}")
        for peer, (_, state) in zip(peers[1:], views[1:]):
            explain_difference(views[0][1], state, peers[0].name, peer.name)


def explain_difference(left, right, left_name, right_name, most=10):
    """Prints the lines that only one of two exports has."""
    left_lines, right_lines = set(left.splitlines()), set(right.splitlines())
    for name, lines in ((left_name, left_lines - right_lines), (right_name, right_lines - left_lines)):
        for line in sorted(lines)[:most]:
            say(f"    only {name}: {line.decode(errors='replace')[:400]}")
