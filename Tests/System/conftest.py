"""How pytest runs the system tests: a network of its own for each worker, a world for each test, and nothing left over.

    make test-system                                         all of them, against the build of make test
    PEERD=path .build-venv/bin/python -m pytest Tests/System -n 6 -k cli
    ... --seed 17                                            draws what that seed draws; --seed fresh draws another
"""

import ctypes
import os
import random
import signal
import subprocess
import time
import zlib
from pathlib import Path

import pytest

import network_namespaces
import peerd_harness
from browser import Browser, Chromiums, needs_chromium

CLONE_NEWNET = 0x40000000
PR_SET_CHILD_SUBREAPER = 36
GRACE_SECONDS = 5.0

failed_key = pytest.StashKey[bool]()
chromiums_key = pytest.StashKey[Chromiums]()
own_network_key = pytest.StashKey[bool]()


def pytest_addoption(parser):
    parser.addoption(
        "--seed",
        default="fixed",
        help="what tests that draw begin with: a number, “fresh”, or by default a number made of the test's name",
    )


def pytest_configure(config):
    # Shells have what they run in the background ignore it, which programs keep to.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    config.stash[chromiums_key] = Chromiums()
    config.addinivalue_line("markers", "alone: loads the machine, and runs when nothing else does")
    peerd_harness.program()
    if getattr(config.option, "numprocesses", None) and not hasattr(config, "workerinput"):
        # The workers run the tests, and not this process.
        return
    # Else it would be the failure of one test, and the next would follow.
    signal.signal(signal.SIGTERM, lambda *_: pytest.exit("SIGTERM", 143))
    libc = ctypes.CDLL(None, use_errno=True)
    # What a test leaves behind becomes a child of this process, and can be found.
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    config.stash[own_network_key] = os.geteuid() == 0 and libc.unshare(CLONE_NEWNET) == 0
    if config.stash[own_network_key]:
        network_namespaces.command("ip", "link", "set", "lo", "up")


def pytest_unconfigure(config):
    config.stash[chromiums_key].close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if report.failed:
        item.stash[failed_key] = True
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item, nextitem):
    result = yield
    end_descendants(item.config.stash[chromiums_key].processes())
    return result


def end_descendants(kept):
    """Ends what the test has left behind, whatever session or parent it has chosen; but not what others will use."""
    number = signal.SIGTERM
    deadline = time.monotonic() + GRACE_SECONDS
    while left := descendants(kept):
        for process in left:
            try:
                os.kill(process, number)
            except ProcessLookupError:
                pass
        time.sleep(0.02)
        if time.monotonic() > deadline:
            number = signal.SIGKILL
        reap()
    reap()


def descendants(kept):
    """The processes that this one or a child of it has started, and that still run; not these, nor what is below."""
    children = {}
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            try:
                name, fields = Path(entry.path, "stat").read_text().split("(", 1)[1].rsplit(")", 1)
            except OSError:
                continue
            fields = fields.split()
            # The one that waits for crashes of a Chromium is a child of nobody, and ends with it.
            if fields[0] != "Z" and int(entry.name) not in kept and not name.startswith("chrome_crashpad"):
                children.setdefault(int(fields[1]), []).append(int(entry.name))
    found, parents = [], [os.getpid()]
    while parents:
        new = children.get(parents.pop(), [])
        found += new
        parents += new
    return found


def reap():
    """Takes the exit statuses of processes that nobody waits for."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


@pytest.fixture
def world(request):
    """A temporary directory with peers in it; every daemon that still runs at the end is ended."""
    with peerd_harness.World(request.node.originalname.removeprefix("test_")[:24]) as world:
        yield world
        if request.node.stash.get(failed_key, False):
            world.show_logs()


@pytest.fixture
def seed(request):
    """The number that everything is drawn from; a test that failed shows it, and `--seed` gives it."""
    given = request.config.getoption("seed")
    if given == "fixed":
        number = zlib.crc32(request.node.nodeid.rsplit("/", 1)[-1].encode())
    else:
        number = int.from_bytes(os.urandom(4), "big") if given == "fresh" else int(given)
    print(f"seed {number}: give --seed {number} to draw the same again")
    return number


@pytest.fixture
def draw(seed):
    return random.Random(seed)


@pytest.fixture
def lan(request):
    """Makes machines on a switch of their own: `lan(3)`."""
    if reason := network_namespaces.reason_to_skip():
        pytest.skip(reason)
    made = []

    def make(count):
        made.append(network_namespaces.Lan(count))
        return made[-1]

    yield make
    for lan in made:
        lan.close()


@pytest.fixture
def open_browser(world, request):
    """Opens a Chromium on the pages of a peer: `open_browser(peer)`; skips where there is none."""
    needs_chromium()
    chromiums = request.config.stash[chromiums_key]

    def open_one(peer):
        driver = chromiums.take()
        world.closers.append(lambda: chromiums.give_back(driver))
        return Browser(peer, driver)

    return open_one

