"""Live handshakes over TCP with an independent implementation of Noise (PyPI `noiseprotocol`), in both roles of all
patterns, and what becomes of those who have no right to one."""

import contextlib
import socket
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from peerd_harness import Peer, check, invite_line, program, wait_until

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "Interop"))
noise = pytest.importorskip("noise_peer", reason="the Python environment lacks a package; make setup installs it")

# Longer than the one deadline for strangers.
STRANGER_SECONDS = 8
# The exit code of a verb that did not exchange everything.
SYNC_INCOMPLETE = 6


def now():
    return int(time.time() * 1000)


# Python as the side that dials.


@pytest.fixture
def daemon(world):
    """One that runs, and that has an object which no handshake may cost it."""
    daemon = world.founder("daemon")
    daemon.start()
    folder = daemon.create("folder", "name=here")
    yield daemon
    check(folder in daemon.objects(), "the daemon lost its object over the handshakes")


@dataclass
class Paired:
    """A device in Python that the daemon has certified."""

    daemon: Peer
    python: "noise.Identity"
    # The key and the certificates of the daemon.
    static: bytes
    welcome: "noise.Welcome"

    def dial_member(self, identity, key=None):
        return noise.dial_member(dial(self.daemon), identity, key or self.welcome.membership_key)

    def certificates_of(self, identity):
        """Those of a device that this one has certified, and of which the daemon has never heard."""
        welcome = self.welcome
        text = noise.certificate_text(welcome.workspace, welcome.user, identity.device, identity.static_public)
        return [(identity.device, identity.static_public, self.python.signing.sign(text))] + welcome.certificates


def dial(daemon):
    return noise.Wire.dial(daemon.address)


@pytest.fixture
def paired(daemon):
    python = noise.Identity("python")
    invite = noise.Invite.parse(invite_line(daemon))
    check(invite.port == daemon.port, f"the invite names port {invite.port}, the daemon listens on {daemon.port}")
    with contextlib.closing(dial(daemon)) as wire:
        channel = noise.dial_to_pair(wire, python, invite)
        welcome = noise.Welcome.parse(channel.message_of(noise.WELCOME))
        channel.close()
    return Paired(daemon, python, invite.static_public, welcome)


def test_a_device_that_pairs_is_certified(paired):
    """XXpsk0+psk3."""
    device, static, _ = paired.welcome.certificates[0]
    python = paired.python
    check(device == python.device and static == python.static_public, "the certificate is for somebody else")
    wait_until(lambda: "python" in paired.daemon.run("peers"), 10, "the daemon lists the paired device")


def test_a_known_device_is_answered(paired):
    """IK."""
    with contextlib.closing(dial(paired.daemon)) as wire:
        channel = noise.dial_known(wire, paired.python, paired.static)
        # The initiator speaks first: what it sent so far could have been a replay, so nothing was said to it yet.
        channel.send_message(noise.HELLO, paired.python.hello(channel, now()))
        hello = noise.Hello.parse(channel.message_of(noise.HELLO))
        issuer = paired.welcome.certificates[1][0]
        check(hello.is_proved_by(issuer, channel), "the daemon has not proved to be who certified us")
        check(hello.version == 1, f"version {hello.version}")
        check(hello.port == paired.daemon.port, f"the hello names port {hello.port}")
        channel.send_message(noise.PING, noise.varint(now()))
        shown = noise.Reader(channel.message_of(noise.PONG)).varint()
        check(abs(shown - now()) < 60_000, f"the pong says that it is {shown} ms after 1970")
        channel.close()


def test_a_member_that_nobody_had_told_of_is_let_in_by_its_certificates(paired):
    """XXpsk0."""
    python, welcome = noise.Identity("unheard"), paired.welcome
    channel, theirs = paired.dial_member(python)
    check(theirs == welcome.certificates[1][1], "the daemon answered with another static key")
    channel.send_message(noise.INTRODUCTION, python.introduction(welcome.user, paired.certificates_of(python)))
    channel.send_message(noise.HELLO, python.hello(channel, now()))
    channel.message_of(noise.INTRODUCTION)
    hello = noise.Hello.parse(channel.message_of(noise.HELLO))
    check(hello.is_proved_by(welcome.certificates[1][0], channel), "the daemon has not proved who it is")
    wait_until(lambda: "unheard" in paired.daemon.run("peers"), 10, "the daemon lists the member that it has met")
    channel.close()
    channel.wire.close()


@pytest.mark.parametrize("certificates", ["of another device", "none"])
def test_a_stranger_with_the_membership_key_is_not_let_in(paired, certificates):
    stranger = noise.Identity("stranger")
    chain = paired.certificates_of(noise.Identity("unheard")) if certificates != "none" else []
    channel, _ = paired.dial_member(stranger)
    channel.send_message(noise.INTRODUCTION, stranger.introduction(paired.welcome.user, chain))
    channel.send_message(noise.HELLO, stranger.hello(channel, now()))
    check(channel.wire.ends_within(STRANGER_SECONDS) is not None, "a stranger with the membership key was let in")
    channel.wire.close()
    check("stranger" not in paired.daemon.run("peers"), "a stranger left a trace")


def test_a_wrong_membership_key_gets_not_one_byte(paired, draw):
    python = noise.Identity("python")
    with contextlib.closing(dial(paired.daemon)) as wire:
        with pytest.raises(noise.Ended):
            noise.dial_member(wire, python, draw.randbytes(32))
        check(wire.received == 0, f"a wrong membership key got {wire.received} bytes")


@pytest.mark.parametrize("key", ["of the daemon", "of another"])
def test_an_unknown_device_gets_not_one_byte(daemon, key):
    """Whether it knows the key of the daemon or not."""
    static = noise.Invite.parse(invite_line(daemon)).static_public
    if key == "of another":
        static = noise.Identity("other").static_public
    with contextlib.closing(dial(daemon)) as wire:
        wire.send(noise.first_known_message(noise.Identity("stranger"), static))
        heard = wire.ends_within(STRANGER_SECONDS)
        check(heard == b"", f"an unknown device was answered with {heard!r}")


def test_a_wrong_secret_gets_not_one_byte_and_costs_the_invite_nothing(daemon, draw):
    invite = noise.Invite.parse(invite_line(daemon))
    wrong = noise.Invite(invite.static_public, draw.randbytes(32), invite.port, invite.addresses)
    peers_before = daemon.run("peers")
    with contextlib.closing(dial(daemon)) as wire:
        with pytest.raises(noise.Ended):
            noise.dial_to_pair(wire, noise.Identity("guesser"), wrong)
        check(wire.received == 0, f"a wrong secret got {wire.received} bytes")
    check("guesser" not in daemon.run("peers") and daemon.run("peers") == peers_before, "a guesser left a trace")
    # The invite is still good: a failed guess does not use it up.
    with contextlib.closing(dial(daemon)) as wire:
        channel = noise.dial_to_pair(wire, noise.Identity("second"), invite)
        channel.message_of(noise.WELCOME)
        channel.close()


def test_an_invite_is_good_once(daemon):
    invite = noise.Invite.parse(invite_line(daemon))
    with contextlib.closing(dial(daemon)) as wire:
        noise.dial_to_pair(wire, noise.Identity("first"), invite).message_of(noise.WELCOME)
    with contextlib.closing(dial(daemon)) as wire:
        with pytest.raises(noise.Ended):
            noise.dial_to_pair(wire, noise.Identity("second"), invite).message_of(noise.WELCOME)
        check(wire.received == 0, "a used invite got an answer")


# Python as the side that is dialled.


class Listener:
    def __init__(self):
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]

    def accept(self, seconds=20):
        self.socket.settimeout(seconds)
        return noise.Wire(self.socket.accept()[0])


@pytest.fixture
def joined(world, draw):
    """`peerd join` dials Python: the peer that joined, the device that let it in, and the static key of the peer."""
    joining = world.peer("joining")
    python = noise.Identity("python")
    listener = Listener()
    secret = draw.randbytes(32)
    line = noise.Invite(python.static_public, secret, listener.port, ["127.0.0.1"]).line()
    command = [program(), "join", "--dir", str(joining.directory), "--name", "joining", "--timeout", "1", line]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        wire = listener.accept()
        channel, static = noise.answer(wire, python, noise.PAIRING, secret)
        reader = noise.Reader(channel.message_of(noise.JOIN))
        device, name, proof = reader.bytes(32), reader.prefixed().decode(), reader.bytes(64)
        check(name == "joining" and reader.is_at_end, f"the request names {name!r}")
        hello = noise.Hello(1, device[:8], 0, 0, bytes(32), proof)
        check(hello.is_proved_by(device, channel), "the request does not prove the key of its device")
        welcome(channel, python, device, static, draw)
        wire.close()
        # The exchange that follows finds nobody, since Python answers no more; the workspace is there all the same.
        code = process.wait(30)
        check(code in (0, SYNC_INCOMPLETE), f"join failed: {process.stderr.read().decode()}")
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()
    python.joined = device
    return joining, python, static


def welcome(channel, python, device, static, draw):
    """Founds a workspace on the spot and certifies the device that joins it."""
    user = noise.Ed25519PrivateKey.generate()
    user_id, nonce = noise.raw_public(user), draw.randbytes(16)
    workspace = noise.workspace_of(user_id, nonce)
    certificates = [
        (device, static, python.signing.sign(noise.certificate_text(workspace, user_id, device, static))),
        python.certified_by(user, workspace),
    ]
    python.membership_key = draw.randbytes(32)
    welcome = noise.Welcome(user_id, nonce, user_id, python.membership_key, python.device, certificates)
    channel.send_message(noise.WELCOME, welcome.encoded())
    python.user, python.certificates = user_id, certificates[1:]


def test_a_peer_joins_by_a_welcome_and_certificates_of_another_make(joined):
    """XXpsk0+psk3."""
    check(joined[0].run("status"), "no status after join")


def test_a_daemon_dials_a_member_and_then_the_known_device(joined):
    """XXpsk0, since it does not know whose the address is, and then IK."""
    peer, python, static = joined
    listener = Listener()
    peer.start(peers=[f"127.0.0.1:{listener.port}"])
    heard = {}

    def serve():
        for greeting, secret in ((noise.MEMBER, python.membership_key), (noise.KNOWN, None)):
            wire = listener.accept()
            channel, theirs = noise.answer(wire, python, greeting, secret)
            check(theirs == static, "the daemon dialled with another static key")
            if greeting == noise.MEMBER:
                introduction = python.introduction(python.user, python.certificates)
                channel.send_message(noise.INTRODUCTION, introduction)
                channel.message_of(noise.INTRODUCTION)
            channel.send_message(noise.HELLO, python.hello(channel, now()))
            hello = noise.Hello.parse(channel.message_of(noise.HELLO))
            heard[greeting] = hello.is_proved_by(python.joined, channel)
            channel.close()
            wire.close()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    thread.join(60)
    check(heard == {noise.MEMBER: True, noise.KNOWN: True}, f"what the daemon that dials proved: {heard}")
