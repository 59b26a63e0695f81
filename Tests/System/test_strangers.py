#!/usr/bin/env python3
"""What a stranger can do to a daemon: hear nothing, stay a few seconds, take few places, and change nothing."""

# time limit: 600 s

import os
import random
import resource
import socket
import struct
import threading
import time

from peerd_harness import (
    Agreement,
    World,
    check,
    digest,
    main_of_test,
    run_together,
    say,
    seed_from_arguments,
    wait_until,
)
from tcp_proxy import Proxy

DEADLINE_SECONDS = 5.0
DEADLINE_TOLERANCE = 2.0
HALF_OPEN_MAX = 32
HALF_OPEN_MAX_BY_HOST = 4
GARBAGE_CONNECTIONS = 10_000
GARBAGE_AT_ONCE = 8
REPLAYS = 200
# The second message of the handshake, and a sealed hello that only the real device could open.
REPLAY_ANSWER_BYTES = 2 + 48 + 300
# What ten thousand refused strangers may leave behind, allocator and thread pools included.
GROWTH_KILOBYTES_MAX = 24 * 1024


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


def check_silence(port):
    """Says nothing, or half of something, and is dropped at the one deadline without having heard a byte."""
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
        sock = dial(port, source=f"127.0.0.{20 + len(name)}")
        sock.sendall(data)
        found[name] = read_until_end(sock, DEADLINE_SECONDS + DEADLINE_TOLERANCE + 5)
        sock.close()

    run_together([lambda item=item: one(*item) for item in openings.items()])
    for name, (data, seconds) in found.items():
        check(data == b"", f"a stranger who sends {name} heard {data!r}")
        check(seconds is not None, f"a stranger who sends {name} is never dropped")
        off = abs(seconds - DEADLINE_SECONDS)
        check(off < DEADLINE_TOLERANCE, f"a stranger who sends {name} is dropped after {seconds:.1f} s")
    # Dripping bytes does not move the deadline.
    sock = dial(port)
    began = time.monotonic()
    for byte in b"peerd/1k" + b"\0\x60" + bytes(96):
        try:
            sock.sendall(bytes([byte]))
        except OSError:
            break
        if is_ended(sock):
            break
        time.sleep(0.2)
    spent = time.monotonic() - began
    check(abs(spent - DEADLINE_SECONDS) < DEADLINE_TOLERANCE, f"a slow stranger is dropped after {spent:.1f} s")
    sock.close()
    say(f"{len(found) + 1} silent or slow strangers: no byte, dropped at {DEADLINE_SECONDS:g} s")


def check_garbage(port, draw):
    """What can be seen to be wrong is dropped at once."""
    preludes = {
        "random bytes": draw.randbytes(64),
        "HTTP": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "TLS": b"\x16\x03\x01\x02\x00\x01\x00" + bytes(40),
        "another version": b"peerd/2k" + b"\0\x60" + bytes(96),
        "a length of zero": b"peerd/1k\0\0",
        "a length of 65,535": b"peerd/1k\xff\xff" + bytes(1000),
        "a message beyond all limits": b"peerd/1k" + struct.pack(">H", 4097) + bytes(4097),
        "a well-formed message of zeros": b"peerd/1k\0\x60" + bytes(96),
        "a random first message": b"peerd/1k\0\x60" + draw.randbytes(96),
        "pairing without an invite": b"peerd/1p\0\x30" + draw.randbytes(48),
        "a huge flood": b"peerd/1p\0\x30" + draw.randbytes(1 << 20),
    }
    for name, data in preludes.items():
        sock = dial(port)
        try:
            sock.sendall(data)
        except OSError:
            pass
        heard, seconds = read_until_end(sock, DEADLINE_SECONDS + 5)
        sock.close()
        check(heard == b"", f"{name} was answered with {heard[:40]!r}")
        check(seconds is not None and seconds < 2, f"{name} is dropped after {seconds} s, not at once")
    say(f"{len(preludes)} kinds of garbage: no byte, dropped at once")


def check_half_open(port):
    """Four places for one address, 32 in all; more are turned away, and the places come free again."""
    sockets = [dial(port, source="127.0.0.50") for _ in range(HALF_OPEN_MAX_BY_HOST + 4)]
    time.sleep(0.7)
    live = sum(not is_ended(sock) for sock in sockets)
    check(live == HALF_OPEN_MAX_BY_HOST, f"{live} half-open connections from one address")
    for number in range(51, 61):
        sockets += [dial(port, source=f"127.0.0.{number}") for _ in range(HALF_OPEN_MAX_BY_HOST)]
    time.sleep(0.7)
    live = sum(not is_ended(sock) for sock in sockets)
    check(live == HALF_OPEN_MAX, f"{live} half-open connections in all")
    say(f"half open: {HALF_OPEN_MAX_BY_HOST} from one address, {live} in all, of {len(sockets)} tried")
    return sockets


def check_replay(world, peers, agreement):
    """First messages of a known device, sent again: at most the answer of the handshake, and no effect."""
    a, b = peers
    b.stop()
    # On a new port, so that the proxy is the only way that b knows.
    proxy = Proxy(a.restart())
    world.closers.append(proxy.close)
    proxy.record = []
    b.start(peers=[proxy.address])
    wait_until(lambda: any(to_target for _, to_target, _ in proxy.record), 30, "b dials through the proxy")
    wait_until(lambda: all(item["connected"] for item in b.json("peers")), 30, "b is connected")
    agreement.settle(peers)
    conversations = [recorded_conversation(proxy, b"peerd/1m")]
    # As it knows now who is there, it shows its key with its first message.
    b.stop()
    proxy.record = []
    b.start(peers=[proxy.address])
    wait_until(lambda: all(item["connected"] for item in b.json("peers")), 30, "b is connected again")
    agreement.settle(peers)
    conversations.append(recorded_conversation(proxy, b"peerd/1k"))
    state, frontier = a.export(), a.frontier()
    connected = connections_of(a)
    memory = a.resident_kilobytes()
    for number in range(REPLAYS):
        # Half of them go on with what was said after the first message as well.
        first, sent = conversations[number // 2 % 2]
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
    check(proxy.live_connections() == 1, "replays ended the session of the real device")
    say(f"{REPLAYS} replays of a handshake, half with the records after it: no effect; {growth} kB more memory")
    return conversations[1][0]


def recorded_conversation(proxy, greeting):
    """The greeting with the first message, and all that the dialler sent over its first connection."""
    first_link = next(link for link, to_target, _ in proxy.record if to_target)
    sent = b"".join(data for link, to_target, data in proxy.record if to_target and link is first_link)
    check(sent.startswith(greeting), f"the dialler sent first {sent[:8]!r}")
    return sent[: 10 + struct.unpack(">H", sent[8:10])[0]], sent


def connections_of(peer):
    return sorted((item["name"], item["connected"]) for item in peer.json("peers"))


def check_flood(peer, draw, handshake):
    """Ten thousand quick connections with garbage: memory and descriptors stay bounded."""
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

    began = time.monotonic()
    run_together([lambda index=index: work(f"127.0.2.{index + 1}") for index in range(GARBAGE_AT_ONCE)])
    seconds = time.monotonic() - began
    wait_until(lambda: open_files(peer) <= before_files + 4, 15, "the descriptors of strangers are closed")
    after = peer.resident_kilobytes()
    say(
        f"{GARBAGE_CONNECTIONS} connections with garbage in {seconds:.0f} s: memory {before_memory} kB before, at most "
        f"{max(peak[0], after)} kB, {after} kB after"
    )
    check(max(peak[0], after) - before_memory < GROWTH_KILOBYTES_MAX, "the daemon grows with the strangers it refuses")


def open_files(peer):
    return len(os.listdir(f"/proc/{peer.process.pid}/fd"))


def run():
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, hard), hard))
    draw = random.Random(seed_from_arguments())
    with World("strangers") as world:
        peers = a, b = world.paired("a", "b")
        b.start(peers=[a.start()])
        agreement = Agreement()
        note = a.create("note", "text=before")
        agreement.settle(peers)

        check_silence(a.port)
        check_garbage(a.port, draw)
        b.stop()
        strangers = check_half_open(a.port)
        # All places are taken by silent strangers. A known device gets in once their deadline has passed.
        b.start(peers=[a.address])
        b.run("set", note, "text=while strangers waited")
        agreement.settle(peers)
        for sock in strangers:
            sock.close()
        say("a known device got in although strangers had taken all places")
        handshake = check_replay(world, peers, agreement)
        check_flood(a, draw, handshake)

        a.run("set", note, "text=after")
        state = agreement.settle(peers)
        check(b"after" in state, "the last edit is not there")
        say(f"the daemon still serves its peer; sha256 {digest(state)[:16]}")
        for peer in peers:
            peer.stop()


if __name__ == "__main__":
    main_of_test(run)
