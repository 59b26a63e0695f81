"""What a stranger can do to a daemon: hear nothing, stay a few seconds, take few places, cost little, and change
nothing."""

import contextlib
import os
import socket
import struct
import threading
import time
from types import SimpleNamespace

import pytest

from peerd_harness import Agreement, check, invite_line, pair, run_together, say, wait_until
from tcp_proxy import Proxy

DEADLINE_SECONDS = 5.0
DEADLINE_TOLERANCE = 2.0
HALF_OPEN_MAX = 32
HALF_OPEN_MAX_BY_HOST = 4
# Strangers that are let in at once, and again in a second; from one address, and from all.
PACE_BY_HOST = 100, 20
PACE = 400, 80
GUESSES = 2_000
GUESSES_AT_ONCE = 4
GARBAGE_CONNECTIONS = 10_000
GARBAGE_AT_ONCE = 8
REPLAYS = 200
# The second message of the handshake, and a sealed hello that only the real device could open.
REPLAY_ANSWER_BYTES = 2 + 48 + 300
# What ten thousand refused strangers may leave behind, allocator and thread pools included.
GROWTH_KILOBYTES_MAX = 24 * 1024


GARBAGE = {
    "random bytes": lambda draw: draw.randbytes(64),
    "HTTP": lambda draw: b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "TLS": lambda draw: b"\x16\x03\x01\x02\x00\x01\x00" + bytes(40),
    "another version": lambda draw: b"peerd/2k" + b"\0\x60" + bytes(96),
    "a length of zero": lambda draw: b"peerd/1k\0\0",
    "a length of 65,535": lambda draw: b"peerd/1k\xff\xff" + bytes(1000),
    "a message beyond all limits": lambda draw: b"peerd/1k" + struct.pack(">H", 4097) + bytes(4097),
    "a well-formed message of zeros": lambda draw: b"peerd/1k\0\x60" + bytes(96),
    "a random first message": lambda draw: b"peerd/1k\0\x60" + draw.randbytes(96),
    "pairing without an invite": lambda draw: b"peerd/1p\0\x30" + draw.randbytes(48),
    "a huge flood": lambda draw: b"peerd/1p\0\x30" + draw.randbytes(1 << 20),
}


def dial(port, source=None, seconds=10):
    return socket.create_connection(
        ("127.0.0.1", port), timeout=seconds, source_address=(source, 0) if source else None
    )


def read_until_end(sock, seconds):
    """(bytes, seconds until the end); the end must come."""
    began = time.monotonic()
    sock.settimeout(seconds)
    data = b""
    try:
        while piece := sock.recv(65536):
            data += piece
    except ConnectionResetError:
        pass
    except TimeoutError:
        return data, None
    return data, time.monotonic() - began


def is_ended(sock):
    """Whether the other side has closed, without waiting."""
    sock.setblocking(False)
    try:
        return sock.recv(1) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


def connections_of(peer):
    return sorted((item["name"], item["connected"]) for item in peer.json("peers"))


def open_files(peer):
    return len(os.listdir(f"/proc/{peer.process.pid}/fd"))


def recorded_conversation(proxy, greeting):
    """The greeting with the first message, and all that the dialler sent over its first connection."""
    first_link = next(link for link, to_target, _ in proxy.record if to_target)
    sent = b"".join(data for link, to_target, data in proxy.record if to_target and link is first_link)
    check(sent.startswith(greeting), f"the dialler sent first {sent[:8]!r}")
    return sent[: 10 + struct.unpack(">H", sent[8:10])[0]], sent


def is_answered(port, source, data):
    """Whether anything is said to somebody who says this."""
    try:
        with dial(port, source) as sock:
            sock.sendall(data)
            return sock.recv(1) != b""
    except OSError:
        return False


@contextlib.contextmanager
def guessing(port, source, draw):
    """Somebody guesses the secret of an invite all the while, as fast as he can; gives how often he has."""
    guess = b"peerd/1p\0\x30" + draw.randbytes(48)
    guesses, is_over = [], threading.Event()

    def guess_on():
        while not is_over.is_set():
            check(not is_answered(port, source, guess), "a guess was answered")
            guesses.append(1)

    guessers = threading.Thread(target=run_together, args=([guess_on] * GUESSES_AT_ONCE,))
    guessers.start()
    try:
        wait_until(lambda: len(guesses) > PACE[0], 60, "more guesses than are heard at once")
        yield guesses
    finally:
        is_over.set()
        guessers.join()


@pytest.fixture
def peers(world):
    """Two machines of one workspace, connected, and equal."""
    a, b = world.paired("a", "b")
    b.start(peers=[a.start()])
    Agreement().settle([a, b])
    return a, b


@pytest.fixture
def daemon(world):
    peer = world.founder("a")
    peer.start()
    return peer


@pytest.fixture
def overheard(world, peers):
    """Both, connected through a proxy, and what b has sent: first as it meets a machine, then as it knows who is there.

    As it knows, it shows its key with its first message."""
    a, b = peers
    b.stop()
    # On a new port, so that the proxy is the only way that b knows.
    proxy = Proxy(a.restart())
    world.closers.append(proxy.close)
    conversations = []
    for greeting in (b"peerd/1m", b"peerd/1k"):
        b.stop()
        proxy.record = []
        b.start(peers=[proxy.address])
        wait_until(lambda: any(to_target for _, to_target, _ in proxy.record), 30, "b dials through the proxy")
        wait_until(lambda: all(item["connected"] for item in b.json("peers")), 30, "b is connected")
        Agreement().settle(peers)
        conversations.append(recorded_conversation(proxy, greeting))
    return SimpleNamespace(a=a, b=b, proxy=proxy, conversations=conversations)


def test_who_says_nothing_or_half_of_something_hears_nothing_and_is_dropped_at_one_deadline(daemon):
    known = b"peerd/1k"
    openings = {
        "nothing": b"",
        "half a greeting": b"peer",
        "a greeting": known,
        "half a length": known + b"\0",
        "a length and no message": known + b"\0\x60",
        "half a message": known + b"\0\x60" + bytes(50),
    }
    found = {}

    def one(name, data):
        sock = dial(daemon.port, source=f"127.0.0.{20 + len(name)}")
        sock.sendall(data)
        found[name] = read_until_end(sock, DEADLINE_SECONDS + DEADLINE_TOLERANCE + 5)
        sock.close()

    def drip():
        """Dripping bytes does not move the deadline."""
        sock = dial(daemon.port)
        began = time.monotonic()
        for byte in known + b"\0\x60" + bytes(96):
            try:
                sock.sendall(bytes([byte]))
            except OSError:
                break
            if is_ended(sock):
                break
            # A stranger that is slow.
            time.sleep(0.2)
        found["drops"] = b"", time.monotonic() - began
        sock.close()

    run_together([drip, *(lambda item=item: one(*item) for item in openings.items())])
    for name, (data, seconds) in found.items():
        check(data == b"", f"a stranger who sends {name} heard {data!r}")
        check(seconds is not None, f"a stranger who sends {name} is never dropped")
        off = abs(seconds - DEADLINE_SECONDS)
        check(off < DEADLINE_TOLERANCE, f"a stranger who sends {name} is dropped after {seconds:.1f} s")


@pytest.mark.parametrize("name", GARBAGE)
def test_what_can_be_seen_to_be_wrong_is_dropped_at_once(daemon, draw, name):
    sock = dial(daemon.port)
    try:
        sock.sendall(GARBAGE[name](draw))
    except OSError:
        pass
    heard, seconds = read_until_end(sock, DEADLINE_SECONDS + 5)
    sock.close()
    check(heard == b"", f"{name} was answered with {heard[:40]!r}")
    check(seconds is not None and seconds < 2, f"{name} is dropped after {seconds} s, not at once")


def test_strangers_take_few_places_and_a_known_device_gets_in(peers):
    """Four places for one address, 32 in all: whoever comes then takes the place of the oldest."""
    a, b = peers
    b.stop()

    def check_places(sockets, count):
        wait_until(lambda: all(map(is_ended, sockets[:-count])), 3, "the oldest give way at once")
        live = sum(not is_ended(sock) for sock in sockets[-count:])
        check(live == count, f"{live} half-open connections of {len(sockets)}, not {count}")

    sockets = [dial(a.port, source="127.0.0.50") for _ in range(HALF_OPEN_MAX_BY_HOST + 4)]
    check_places(sockets, HALF_OPEN_MAX_BY_HOST)
    for number in range(51, 61):
        sockets += [dial(a.port, source=f"127.0.0.{number}") for _ in range(HALF_OPEN_MAX_BY_HOST)]
    check_places(sockets, HALF_OPEN_MAX)
    # All places are taken by silent strangers.
    b.start(peers=[a.address])
    b.create("note", "text=while strangers waited")
    Agreement().settle(peers)
    for sock in sockets:
        sock.close()


def test_what_a_known_device_said_has_no_effect_when_it_is_sent_again(overheard):
    """First messages, half of them with what was said after them: at most the answer of the handshake."""
    a = overheard.a
    state, frontier = a.export(), a.frontier()
    connected = connections_of(a)
    memory = a.resident_kilobytes()
    for number in range(REPLAYS):
        first, sent = overheard.conversations[number // 2 % 2]
        data = first if number % 2 else sent
        sock = dial(a.port, source=f"127.0.1.{1 + number % 200}")
        try:
            sock.sendall(data)
            sock.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        heard, _ = read_until_end(sock, DEADLINE_SECONDS + 5)
        check(len(heard) <= REPLAY_ANSWER_BYTES, f"a replay was answered with {len(heard)} bytes")
        sock.close()
    check(connections_of(a) == connected, f"replays changed who is connected: {connections_of(a)}")
    check((a.export(), a.frontier()) == (state, frontier), "replays changed the state")
    growth = a.resident_kilobytes() - memory
    check(growth < GROWTH_KILOBYTES_MAX, f"replays grew the daemon by {growth} kB")
    check(overheard.proxy.live_connections() == 1, "replays ended the session of the real device")


@pytest.mark.parametrize("hosts, pace", [(1, PACE_BY_HOST), (40, PACE)], ids=["one address", "many addresses"])
def test_of_strangers_that_come_in_one_go_few_get_as_far_as_a_handshake(overheard, hosts, pace):
    """A recorded first message is answered whenever it is heard, which costs the most that a stranger can cost."""
    first, _ = overheard.conversations[1]
    numbers = iter(range(GUESSES))
    lock = threading.Lock()
    answered = []

    def work():
        while True:
            with lock:
                number = next(numbers, None)
            if number is None:
                return
            if is_answered(overheard.a.port, f"127.0.3.{1 + number % hosts}", first):
                answered.append(number)

    began = time.monotonic()
    run_together([work] * GUESSES_AT_ONCE)
    most = pace[0] + pace[1] * (time.monotonic() - began)
    say(f"{len(answered)} of {GUESSES} were answered, and at most {most:.0f} may be")
    check(HALF_OPEN_MAX_BY_HOST < len(answered) <= most, f"{len(answered)} of {GUESSES} were answered")


def test_a_guesser_keeps_no_member_out_that_comes_from_where_he_is(peers, draw):
    """Not even from the same address: if it is not heard there, it is dialled itself."""
    a, b = peers
    invite_line(a)
    b.stop()
    with guessing(a.port, "127.0.0.1", draw):
        b.start(listen=b.address, peers=[a.address])
        a.create("note", "text=while strangers guessed")
        state = Agreement().settle(peers)
    check(b"while strangers guessed" in state, "what was written is not in the state")


def test_a_guesser_keeps_nobody_from_pairing(world, daemon, draw):
    with guessing(daemon.port, "127.0.0.60", draw):
        during = world.peer("during")
        pair(daemon, during)
    after = world.peer("after")
    # Who joins comes from where the guesser was.
    with guessing(daemon.port, "127.0.0.1", draw):
        pass
    invite = invite_line(daemon)
    wait_until(lambda: after.result("join", "--name", "after", invite).returncode == 0, 30, "the other joins")
    names = {item["name"] for item in daemon.json("peers")}
    check(names == {"during", "after"}, f"{names} have joined")


def test_ten_thousand_connections_with_garbage_take_bounded_memory_and_descriptors(overheard, draw):
    peer = overheard.a
    handshake, _ = overheard.conversations[1]
    before_memory, before_files = peer.resident_kilobytes(), open_files(peer)
    numbers = iter(range(GARBAGE_CONNECTIONS))
    lock = threading.Lock()
    kinds = [
        lambda: draw.randbytes(draw.randrange(1, 200)),
        lambda: b"peerd/1k" + draw.randbytes(100),
        lambda: b"peerd/1p" + draw.randbytes(60),
        lambda: handshake[: draw.randrange(len(handshake))],
        lambda: b"",
    ]
    peak = [before_memory]

    def work(source):
        while True:
            with lock:
                number = next(numbers, None)
                if number is None:
                    return
                data = draw.choice(kinds)()
                if number % 500 == 0:
                    peak[0] = max(peak[0], peer.resident_kilobytes())
            try:
                sock = dial(peer.port, source=source)
                sock.sendall(data)
                sock.close()
            except OSError:
                # Refused or reset: as good as dropped.
                pass

    run_together([lambda index=index: work(f"127.0.2.{index + 1}") for index in range(GARBAGE_AT_ONCE)])
    wait_until(lambda: open_files(peer) <= before_files + 4, 15, "the descriptors of strangers are closed")
    after = peer.resident_kilobytes()
    say(f"memory: {before_memory} kB before, at most {max(peak[0], after)} kB, {after} kB after")
    check(max(peak[0], after) - before_memory < GROWTH_KILOBYTES_MAX, "the daemon grows with the strangers it refuses")
    peer.create("note", "text=after")
    state = Agreement().settle([peer, overheard.b])
    check(b"after" in state, "the daemon serves its peer no more")
