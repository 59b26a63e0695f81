"""A machine that says that it has nothing, takes what it is sent, and asks for more by name; it keeps all of it.

It speaks by the words of DESIGN §7 and shares no code with the program under test.
"""

import ctypes
import ctypes.util
import time

from noise_peer import (
    HELLO, INTRODUCTION, RANGES, RUN, WELCOME, Identity, Invite, Reader, Welcome, Wire, dial_member, dial_to_pair,
    varint,
)

CAUGHT_UP, STORED, CREDIT, PROBE, WANTED, GIVEN, STATE, SUMS, OBJECTS = 5, 6, 7, 9, 14, 15, 16, 17, 18
WANTED_COUNT_MAX, GROUP_COUNT = 256, 1024
# How a run travels.
PLAIN, COMPRESSED = 0, 1
# What is said of a range of chains: nothing, its fingerprint, what there is, and that in answer.
SKIP, FINGERPRINT, ENTRIES, ANSWER = 0, 1, 2, 3


def decompressed(data):
    """A run as it was before it travelled."""
    reader = Reader(data)
    if reader.byte() == PLAIN:
        return data[1:]
    output = ctypes.create_string_buffer(reader.varint())
    zstd = ctypes.CDLL(ctypes.util.find_library("zstd"))
    zstd.ZSTD_decompress.restype = ctypes.c_size_t
    frame = data[reader.offset :]
    written = zstd.ZSTD_decompress(
        output, ctypes.c_size_t(len(output)), ctypes.c_char_p(frame), ctypes.c_size_t(len(frame))
    )
    assert written == len(output), "a run that is no Zstandard frame"
    return output.raw


def denied(body):
    """The answer to what is said of ranges of chains: that there is nothing here. None if that is said already."""
    reader = Reader(body)
    count, claims, answers = reader.varint(), [], b""
    for _ in range(count):
        end = reader.bytes(16) if reader.byte() else None
        claims.append(claim := reader.byte())
        if claim == FINGERPRINT:
            reader.bytes(32)
        elif claim in (ENTRIES, ANSWER):
            for _ in range(reader.varint()):
                reader.bytes(16)
                reader.varint()
                reader.bytes(32)
        answers += b"\0" if end is None else b"\1" + end
        answers += {FINGERPRINT: bytes([ENTRIES, 0]), ENTRIES: bytes([ANSWER, 0])}.get(claim, bytes([SKIP]))
    return varint(count) + answers if {FINGERPRINT, ENTRIES} & set(claims) else None


class GreedyPeer:
    """A machine of the person whose machine has made an invite; `address`: of the one that it talks to."""

    def __init__(self, invite_line, address, name="greedy"):
        self.received = bytearray()
        self.kinds = []
        identity, invite = Identity(name), Invite.parse(invite_line)
        pairing = dial_to_pair(Wire.dial(f"{invite.addresses[0]}:{invite.port}"), identity, invite)
        self.welcome = Welcome.parse(pairing.message_of(WELCOME))
        pairing.close()
        pairing.wire.close()
        self.channel, _ = dial_member(Wire.dial(address), identity, self.welcome.membership_key)
        introduction = identity.introduction(self.welcome.user, self.welcome.certificates)
        self.channel.send_message(INTRODUCTION, introduction)
        self.channel.send_message(HELLO, identity.hello(self.channel, int(time.time() * 1000)))

    def read(self):
        kind, body = self.channel.message()
        self.kinds.append(kind)
        self.received += body
        if kind == RUN:
            self.received += decompressed(body)
            # What is under way is little until it is said to have come.
            self.channel.send_message(CREDIT, varint(len(body)))
        return kind, body

    def read_to(self, wanted):
        while True:
            kind, body = self.read()
            if kind == wanted:
                return body

    def take_all(self):
        """Says of all chains that there is none here, and waits until everything has come."""
        self.channel.send_message(RANGES, varint(1) + bytes([0, ENTRIES]) + varint(0))
        while True:
            kind, body = self.read()
            if kind == CAUGHT_UP:
                return
            if kind == RANGES and (ranges := denied(body)):
                self.channel.send_message(RANGES, ranges)

    def want(self, changes):
        """Asks for what changes write; each is its chain, its number, its hash, and how many operations it has."""
        for start in range(0, len(changes), WANTED_COUNT_MAX):
            part = changes[start : start + WANTED_COUNT_MAX]
            entries = (
                replica + varint(sequence) + hash_ + varint(1) + varint(0) + varint(operations - 1)
                for replica, sequence, hash_, operations in part
            )
            self.channel.send_message(WANTED, varint(len(part)) + b"".join(entries))
            self.read_to(GIVEN)

    def compare(self):
        """Tells of a state that is not that of the other side, in all three ways, and waits for what comes of it."""
        self.channel.send_message(STATE, bytes(64))
        self.channel.send_message(SUMS, bytes(32) + bytes(8 * GROUP_COUNT))
        self.channel.send_message(OBJECTS, bytes(32) + varint(1) + varint(0) + varint(0))

    def holds(self, replica, sequence, hash_):
        """Whether the other side says that it has a change. Its answer names the chain, so nothing of it is kept."""
        self.channel.send_message(PROBE, replica + varint(1) + varint(sequence) + hash_)
        while True:
            kind, body = self.channel.message()
            if kind != STORED:
                continue
            reader = Reader(body)
            if reader.varint() == 1 and reader.bytes(16) == replica:
                return reader.varint() == sequence

    def close(self):
        self.channel.close()
        self.channel.wire.close()
