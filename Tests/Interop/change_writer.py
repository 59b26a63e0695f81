"""Changes of a device in Python, by the words of docs/FORMATS.md: hashed, signed, and packed as runs.

It shares no code with the program under test. It is for members that lie: nothing is checked that they say.
"""

import hashlib
import os
import struct
import time
import uuid

from noise_peer import RUN, prefixed, varint

SET, UNSET, INTRODUCE, REDACTED = 2, 3, 6, 255
RUN_VERSION = CHANGE_VERSION = 1
NOTHING_REDACTED, WHOLLY_REDACTED = 0, 2


def hashed(domain, data, size=32):
    return hashlib.blake2b(data, digest_size=size, person=domain).digest()


def zigzag(number):
    return varint(number << 1 if number >= 0 else (-number << 1) - 1)


def text(value):
    """A text as the value of a property."""
    return b"\x05" + value.encode()


def stamp_of(milliseconds):
    return milliseconds << 16


class Write:
    """An operation that writes a property, and what it says; nothing if that is said to be dropped."""

    def __init__(self, kind, object_id, name, payload=b""):
        self.kind, self.object, self.name, self.payload = kind, uuid.UUID(object_id).bytes, name.encode(), payload

    def shape(self):
        return bytes([SET]) + self.object + prefixed(self.name)


class Introduction:
    kind = INTRODUCE

    def __init__(self, payload):
        self.payload = payload

    def shape(self):
        return bytes([INTRODUCE]) + prefixed(self.payload)


class Change:
    def __init__(self, operations, milliseconds=None):
        now = int(time.time() * 1000)
        self.operations, self.stamp = operations, stamp_of(now if milliseconds is None else milliseconds)
        writes = [operation for operation in operations if operation.kind != INTRODUCE]
        self.is_redacted = bool(writes) and all(write.kind == REDACTED for write in writes)
        # The secret; or what is said to be the hash of what was written, which is then as random.
        self.blinding = os.urandom(32 if self.is_redacted else 16)

    def contents(self):
        if self.is_redacted:
            return self.blinding
        leaves = b""
        writes = [operation for operation in self.operations if operation.kind != INTRODUCE]
        for number, write in enumerate(writes):
            if number % 4 == 0:
                salts = hashed(b"peerd/salt/1", self.blinding + varint(number // 4), 64)
            salt = salts[number % 4 * 16 :][:16]
            leaves += hashed(b"peerd/leaf/1", salt + write.payload)
        return hashed(b"peerd/contents/1", leaves or self.blinding)

    def hash(self, replica, sequence, previous):
        header = bytes([CHANGE_VERSION]) + replica + varint(sequence) + previous + struct.pack(">Q", self.stamp)
        header += varint(0) + varint(len(self.operations))
        shapes = b"".join(operation.shape() for operation in self.operations)
        return hashed(b"peerd/change/1", header + shapes + self.contents())


class Author:
    """A chain of a device that `welcome` has made a member."""

    def __init__(self, identity, welcome):
        self.identity = identity
        nonce = os.urandom(16)
        self.replica = hashed(b"peerd/replica/1", identity.device + nonce)[:16]
        self.sequence, self.previous = 0, welcome.workspace
        self.introduction = Introduction(identity.introduction(welcome.user, welcome.certificates, nonce))

    def run(self, *changes):
        """The message with some changes under one signature, which continue the chain."""
        changes = list(changes)
        if self.sequence == 0:
            changes.insert(0, Change([self.introduction]))
        first = self.sequence + 1
        for change in changes:
            self.sequence += 1
            self.previous = change.hash(self.replica, self.sequence, self.previous)
        signature = self.identity.signing.sign(b"peerd/run/1" + self.previous)
        start = bytes([RUN_VERSION]) + self.replica + varint(first) + b"\0"
        # Not compressed.
        return RUN, b"\0" + start + packed(changes) + b"\1" + signature


def packed(changes):
    operations = [operation for change in changes for operation in change.operations]
    writes = [operation for operation in operations if operation.kind != INTRODUCE]
    objects, names = (list(dict.fromkeys(values)) for values in zip(*((write.object, write.name) for write in writes)))
    data = varint(len(objects)) + b"".join(objects)
    data += varint(len(names)) + b"".join(map(prefixed, names))
    data += varint(len(changes))
    last = 0
    for change in changes:
        data += zigzag(change.stamp - last)
        last = change.stamp
    data += b"".join(varint(len(change.operations)) for change in changes)
    # No contexts.
    data += bytes(len(changes))
    data += bytes(WHOLLY_REDACTED if change.is_redacted else NOTHING_REDACTED for change in changes) + varint(0)
    data += run_lengths(operation.kind for operation in operations)
    numbers = [objects.index(write.object) for write in writes]
    data += b"".join(zigzag(number - before) for before, number in zip([0, *numbers], numbers))
    data += b"".join(varint(names.index(write.name)) for write in writes)
    data += b"".join(varint(len(operation.payload)) for operation in operations)
    return data + b"".join(part.payload for part in operations) + b"".join(change.blinding for change in changes)


def run_lengths(values):
    groups = []
    for value in values:
        if groups and groups[-1][0] == value:
            groups[-1][1] += 1
        else:
            groups.append([value, 1])
    return b"".join(varint(value) + varint(count) for value, count in groups)
