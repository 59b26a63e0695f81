"""A small peer in Python: Noise by the package `noiseprotocol`, records and messages by the words of DESIGN §7.

It shares no code with the program under test, and knows just enough of the messages to pair and to say hello.
"""

import base64
import hashlib
import socket
import struct
from dataclasses import dataclass

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from noise.connection import Keypair, NoiseConnection

PAIRING = b"peerd/1p"
KNOWN = b"peerd/1k"
MEMBER = b"peerd/1m"
PROTOCOL_NAMES = {
    PAIRING: b"Noise_XXpsk0+psk3_25519_ChaChaPoly_SHA512",
    KNOWN: b"Noise_IK_25519_ChaChaPoly_SHA512",
    MEMBER: b"Noise_XXpsk0_25519_ChaChaPoly_SHA512",
}
DATA, REKEY, CLOSE = 0, 1, 2
HELLO, WELCOME, RANGES, RUN, PING, PONG, JOIN, INTRODUCTION = 1, 2, 3, 4, 10, 11, 12, 13
# Bytes of messages in one record.
RECORD_SIZE = 65_000
PROTOCOL_VERSION = 1
# Of keys whose user has never begun anew.
GENERATION = 1


class Ended(Exception):
    """The other side closed the connection."""


def raw_public(key):
    return key.public_key().public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)


def raw_private(key):
    return key.private_bytes(
        serialization.Encoding.Raw, serialization.PrivateFormat.Raw, serialization.NoEncryption()
    )


class Identity:
    """The two keys of a device."""

    def __init__(self, name):
        self.name = name
        self.signing = Ed25519PrivateKey.generate()
        self.agreement = X25519PrivateKey.generate()

    @property
    def static_private(self):
        return raw_private(self.agreement)

    @property
    def static_public(self):
        return raw_public(self.agreement)

    @property
    def device(self):
        return raw_public(self.signing)

    def certified_by(self, user, workspace):
        """The certificate of this device: its two keys, and the signature of its user."""
        text = certificate_text(workspace, raw_public(user), self.device, self.static_public)
        return self.device, self.static_public, user.sign(text)

    def proof(self, channel):
        """Shows who is at this end of the channel: a signature of its handshake hash."""
        role = b"\x00" if channel.is_initiator else b"\x01"
        return self.signing.sign(b"peerd/proof/1" + role + channel.handshake_hash)

    def join_request(self, channel):
        """What a device that pairs says first."""
        return self.device + prefixed(self.name.encode()) + self.proof(channel)

    def hello(self, channel, wall_milliseconds, port=0):
        start = self.device[:8]
        return Hello(PROTOCOL_VERSION, start, wall_milliseconds, port, bytes(32), self.proof(channel)).encoded()

    def introduction(self, user, certificates, nonce=bytes(16)):
        """What a member says first to another that may not know it, and in its chains, which have each a nonce."""
        # Of the main timeline, in the home circle, under no grant.
        chain = b"\0" + b"\0" + b"\0" + certificate_chain(certificates)
        return user + prefixed(self.name.encode()) + nonce + chain


@dataclass
class Invite:
    """The line with which one other peer may join."""

    static_public: bytes
    secret: bytes
    port: int
    addresses: list

    def line(self):
        body = self.static_public + self.secret + struct.pack(">H", self.port)
        for address in self.addresses:
            body += bytes([len(address)]) + address.encode()
        body += self.checksum(body)
        return "peerd:1:" + base64.urlsafe_b64encode(body).decode().rstrip("=")

    @staticmethod
    def checksum(body):
        return hashlib.blake2b(body, digest_size=32, person=b"peerd/invite").digest()[:4]

    @classmethod
    def parse(cls, line):
        start, version, text = line.split(":")
        assert (start, version) == ("peerd", "1"), line
        assert "=" not in text, "base64url without padding"
        body = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        body, checksum = body[:-4], body[-4:]
        assert checksum == cls.checksum(body), "the checksum of the invite"
        addresses, rest = [], body[66:]
        while rest:
            addresses.append(rest[1 : 1 + rest[0]].decode())
            rest = rest[1 + rest[0] :]
        return cls(body[:32], body[32:64], struct.unpack(">H", body[64:66])[0], addresses)


class Wire:
    """A TCP connection read in exact lengths."""

    def __init__(self, sock, seconds=10.0):
        self.socket = sock
        self.socket.settimeout(seconds)
        self.received = 0

    @classmethod
    def dial(cls, address, seconds=10.0):
        host, port = address.rsplit(":", 1)
        return cls(socket.create_connection((host, int(port)), timeout=seconds), seconds)

    def send(self, data):
        self.socket.sendall(data)

    def exactly(self, count):
        data = b""
        while len(data) < count:
            try:
                piece = self.socket.recv(count - len(data))
            except ConnectionResetError:
                piece = b""
            if not piece:
                raise Ended(f"after {self.received} bytes, {count - len(data)} short")
            data += piece
            self.received += len(piece)
        return data

    def send_framed(self, message):
        self.send(struct.pack(">H", len(message)) + message)

    def framed(self):
        return self.exactly(struct.unpack(">H", self.exactly(2))[0])

    def ends_within(self, seconds):
        """Waits for the end; returns the bytes that came before it, or None if it does not come."""
        self.socket.settimeout(seconds)
        data = b""
        try:
            while piece := self.socket.recv(65536):
                data += piece
        except ConnectionResetError:
            pass
        except TimeoutError:
            return None
        return data

    def close(self):
        self.socket.close()


def new_noise(greeting, identity, is_initiator, remote_static=None, secret=None):
    noise = NoiseConnection.from_name(PROTOCOL_NAMES[greeting])
    if is_initiator:
        noise.set_as_initiator()
    else:
        noise.set_as_responder()
    if secret is not None:
        # One for each slot of the pattern; the invite's secret fills both.
        noise.set_psks(psks=[secret] * PROTOCOL_NAMES[greeting].count(b"psk"))
    noise.set_prologue(greeting)
    noise.set_keypair_from_private_bytes(Keypair.STATIC, identity.static_private)
    if remote_static is not None:
        noise.set_keypair_from_public_bytes(Keypair.REMOTE_STATIC, remote_static)
    noise.start_handshake()
    # The package lets go of this, and of the peer's static key with it, when the handshake is done.
    noise.kept_state = noise.noise_protocol.handshake_state
    return noise


class Channel:
    """The sealed records after a handshake, and the messages in them."""

    def __init__(self, wire, noise, is_initiator):
        assert noise.handshake_finished
        self.wire = wire
        self.noise = noise
        self.is_initiator = is_initiator
        self.handshake_hash = noise.get_handshake_hash()
        self.stream = b""
        self.is_closed = False

    def send_record(self, kind, data=b""):
        self.wire.send_framed(self.noise.encrypt(bytes([kind]) + data))

    def send_message(self, kind, body=b""):
        data = bytes([kind]) + prefixed(body)
        for start in range(0, len(data), RECORD_SIZE):
            self.send_record(DATA, data[start : start + RECORD_SIZE])

    def close(self):
        self.send_record(CLOSE)

    def read_record(self):
        plain = self.noise.decrypt(self.wire.framed())
        kind, data = plain[0], plain[1:]
        if kind == DATA:
            assert data, "a data record without data"
            self.stream += data
        elif kind == REKEY:
            assert not data
            self.noise.rekey_inbound_cipher()
        elif kind == CLOSE:
            assert not data
            self.is_closed = True
            raise Ended("closed in order")
        else:
            raise AssertionError(f"unknown record kind {kind}")
        return kind

    def message(self):
        while True:
            found = self._whole_message()
            if found:
                return found
            self.read_record()

    def message_of(self, wanted, most=200):
        for _ in range(most):
            kind, body = self.message()
            if kind == wanted:
                return body
        raise AssertionError(f"no message of kind {wanted} among {most}")

    def _whole_message(self):
        reader = Reader(self.stream)
        try:
            kind = reader.byte()
            body = reader.prefixed()
        except IndexError:
            return None
        self.stream = self.stream[reader.offset :]
        return kind, body


def dial_to_pair(wire, identity, invite):
    """As the one who joins. Returns the channel, its static key checked against the invite."""
    noise = new_noise(PAIRING, identity, True, secret=invite.secret)
    wire.send(PAIRING)
    wire.send_framed(noise.write_message())
    noise.read_message(wire.framed())
    theirs = remote_static_of(noise)
    assert theirs == invite.static_public, "the static key is not the one of the invite"
    wire.send_framed(noise.write_message())
    channel = Channel(wire, noise, True)
    channel.send_message(JOIN, identity.join_request(channel))
    return channel


def dial_member(wire, identity, membership_key):
    """As a member of a workspace who does not know who is there. Returns the channel and the other's static key."""
    noise = new_noise(MEMBER, identity, True, secret=membership_key)
    wire.send(MEMBER)
    wire.send_framed(noise.write_message())
    noise.read_message(wire.framed())
    theirs = remote_static_of(noise)
    wire.send_framed(noise.write_message())
    return Channel(wire, noise, True), theirs


def dial_known(wire, identity, remote_static):
    noise = new_noise(KNOWN, identity, True, remote_static=remote_static)
    wire.send(KNOWN)
    wire.send_framed(noise.write_message())
    noise.read_message(wire.framed())
    return Channel(wire, noise, True)


def answer(wire, identity, greeting, secret=None):
    """As the one who is dialled. Returns the channel and the dialler's static key."""
    heard = wire.exactly(8)
    assert heard == greeting, heard
    noise = new_noise(greeting, identity, False, secret=secret)
    while not noise.handshake_finished:
        noise.read_message(wire.framed())
        theirs = remote_static_of(noise)
        if not noise.handshake_finished:
            wire.send_framed(noise.write_message())
    return Channel(wire, noise, False), theirs


def remote_static_of(noise):
    return getattr(noise.kept_state.rs, "public_bytes", None)


def first_known_message(identity, remote_static):
    """All bytes that an initiator sends before it hears anything."""
    noise = new_noise(KNOWN, identity, True, remote_static=remote_static)
    message = bytes(noise.write_message())
    return KNOWN + struct.pack(">H", len(message)) + message


def varint(number):
    out = bytearray()
    while True:
        low, number = number & 0x7F, number >> 7
        if not number:
            out.append(low)
            return bytes(out)
        out.append(low | 0x80)


def prefixed(data):
    return varint(len(data)) + data


class Reader:
    """Reads from the front of some bytes; IndexError where there are too few."""

    def __init__(self, data):
        self.data = data
        self.offset = 0

    def bytes(self, count):
        if self.offset + count > len(self.data):
            raise IndexError("too few bytes")
        piece = self.data[self.offset : self.offset + count]
        self.offset += count
        return piece

    def byte(self):
        return self.bytes(1)[0]

    def varint(self):
        number = shift = 0
        while True:
            byte = self.byte()
            number |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return number

    def prefixed(self):
        return self.bytes(self.varint())

    @property
    def is_at_end(self):
        return self.offset == len(self.data)


@dataclass
class Hello:
    version: int
    device_start: bytes
    wall_milliseconds: int
    port: int
    fingerprint: bytes
    proof: bytes
    # Names the run of the program: two copies of one machine differ in this alone.
    instance: int = 1

    def encoded(self):
        numbers = varint(self.wall_milliseconds) + varint(self.port)
        return (varint(self.version) + self.device_start + numbers + self.fingerprint + self.proof
                + varint(self.instance))

    @classmethod
    def parse(cls, body):
        reader = Reader(body)
        version, start = reader.varint(), reader.bytes(8)
        numbers = reader.varint(), reader.varint()
        hello = cls(version, start, *numbers, reader.bytes(32), reader.bytes(64), reader.varint())
        # This peer speaks version 1; what a later version says more stands at the end.
        assert reader.is_at_end or version > PROTOCOL_VERSION, "trailing bytes after hello"
        return hello

    def is_proved_by(self, device, channel):
        """Whether the other side has the key of a device."""
        role = b"\x01" if channel.is_initiator else b"\x00"
        try:
            Ed25519PublicKey.from_public_bytes(device).verify(
                self.proof, b"peerd/proof/1" + role + channel.handshake_hash
            )
        except InvalidSignature:
            return False
        return self.device_start == device[:8]


@dataclass
class Welcome:
    founder: bytes
    workspace_nonce: bytes
    user: bytes
    membership_key: bytes
    # The device that welcomes.
    inviter: bytes
    # (device, static key, signature), the own one first.
    certificates: list

    @property
    def workspace(self):
        return workspace_of(self.founder, self.workspace_nonce)

    def encoded(self):
        names = self.founder + self.workspace_nonce + self.user + self.membership_key + self.inviter
        return names + certificate_chain(self.certificates)

    @classmethod
    def parse(cls, body):
        reader = Reader(body)
        founder, nonce, user, key = reader.bytes(32), reader.bytes(16), reader.bytes(32), reader.bytes(32)
        inviter = reader.bytes(32)
        count = reader.varint()
        certificates = []
        for _ in range(count):
            assert reader.varint() == GENERATION, "certificates of another generation"
            certificates.append((reader.bytes(32), reader.bytes(32), reader.bytes(64)))
        assert reader.is_at_end, "trailing bytes after welcome"
        return cls(founder, nonce, user, key, inviter, certificates)


def workspace_of(founder, nonce):
    """A workspace is named by a hash of who founded it."""
    return hashlib.blake2b(founder + nonce, digest_size=32, person=b"peerd/space/1").digest()


def certificate_text(workspace, user, device, static):
    """What the issuer of a certificate signs."""
    return b"peerd/device/1" + workspace + user + varint(GENERATION) + device + static


def certificate_chain(certificates):
    chain = (varint(GENERATION) + device + static + signature for device, static, signature in certificates)
    return varint(len(certificates)) + b"".join(chain)
