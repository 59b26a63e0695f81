#!/usr/bin/env python3
"""Live handshakes over TCP with an independent implementation of Noise (PyPI `noiseprotocol`), in both roles of all
patterns, and what becomes of those who have no right to one."""

# time limit: 300 s

import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

from peerd_harness import World, check, invite_line, main_of_test, program, say, skip, wait_until

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "Interop"))
try:
    import noise_peer as noise
except ImportError as missing:
    noise = None
    MISSING = missing

# Longer than the one deadline for strangers.
STRANGER_SECONDS = 8
# The exit code of a verb that did not exchange everything.
SYNC_INCOMPLETE = 6


def run():
    if noise is None:
        skip(f"the Python environment lacks a package ({MISSING}); make setup installs it")
    with World("noise") as world:
        daemon = world.founder("daemon")
        address = daemon.start()
        folder = daemon.create("folder", "name=here")
        python, theirs, welcome = pair_as_initiator(daemon, address)
        known_as_initiator(daemon, address, python, theirs, welcome)
        member_as_initiator(daemon, address, python, welcome)
        unknown_gets_nothing(address, theirs)
        wrong_secret_gets_nothing(daemon, address, theirs)
        used_invite_is_used(daemon, address)
        check(folder in daemon.objects(), "the daemon lost its object over the handshakes")
        daemon.stop()
    with World("noise") as world:
        python, joined, static = pair_as_responder(world)
        known_as_responder(world, joined, python, static)


def pair_as_initiator(daemon, address):
    python = noise.Identity("python")
    invite = noise.Invite.parse(invite_line(daemon))
    check(invite.port == daemon.port, f"the invite names port {invite.port}, the daemon listens on {daemon.port}")
    wire = noise.Wire.dial(address)
    channel = noise.dial_to_pair(wire, python, invite)
    welcome = noise.Welcome.parse(channel.message_of(noise.WELCOME))
    device, static, _ = welcome.certificates[0]
    check(device == python.device and static == python.static_public, "the certificate is for somebody else")
    wait_until(lambda: "python" in daemon.run("peers"), 10, "the daemon lists the paired device")
    say("XXpsk0+psk3: noiseprotocol dialled, paired and was certified")
    channel.close()
    wire.close()
    return python, invite.static_public, welcome


def known_as_initiator(daemon, address, python, theirs, welcome):
    wire = noise.Wire.dial(address)
    channel = noise.dial_known(wire, python, theirs)
    # The initiator speaks first: what it sent so far could have been a replay, so nothing was said to it yet.
    channel.send_message(noise.HELLO, python.hello(channel, int(time.time() * 1000)))
    hello = noise.Hello.parse(channel.message_of(noise.HELLO))
    check(hello.is_proved_by(welcome.certificates[1][0], channel), "the daemon has not proved to be who certified us")
    check(hello.version == 3, f"version {hello.version}")
    check(hello.port == daemon.port, f"the hello names port {hello.port}")
    channel.send_message(noise.PING, noise.varint(int(time.time() * 1000)))
    shown = noise.Reader(channel.message_of(noise.PONG)).varint()
    check(abs(shown - time.time() * 1000) < 60_000, f"the pong says that it is {shown} ms after 1970")
    say("IK: noiseprotocol dialled as a known device; hello and ping were answered")
    channel.close()
    wire.close()


def member_as_initiator(daemon, address, certifier, welcome):
    """A device that another member has certified, and of which the daemon has never heard."""
    python = noise.Identity("unheard")
    text = noise.certificate_text(welcome.workspace, welcome.user, python.device, python.static_public)
    chain = [(python.device, python.static_public, certifier.signing.sign(text))] + welcome.certificates
    wire = noise.Wire.dial(address)
    channel, theirs = noise.dial_member(wire, python, welcome.membership_key)
    check(theirs == welcome.certificates[1][1], "the daemon answered with another static key")
    channel.send_message(noise.INTRODUCTION, python.introduction(welcome.user, chain))
    channel.send_message(noise.HELLO, python.hello(channel, int(time.time() * 1000)))
    channel.message_of(noise.INTRODUCTION)
    hello = noise.Hello.parse(channel.message_of(noise.HELLO))
    check(hello.is_proved_by(welcome.certificates[1][0], channel), "the daemon has not proved who it is")
    wait_until(lambda: "unheard" in daemon.run("peers"), 10, "the daemon lists the member that it has met")
    channel.close()
    wire.close()
    say("XXpsk0: noiseprotocol dialled as a member that nobody had told of, and was let in by its certificates")
    # Without the key nobody gets an answer, and without certificates nobody is let in.
    wire = noise.Wire.dial(address)
    try:
        noise.dial_member(wire, python, os.urandom(32))
        check(False, "a wrong membership key got an answer")
    except noise.Ended:
        check(wire.received == 0, f"a wrong membership key got {wire.received} bytes")
    wire.close()
    stranger = noise.Identity("stranger")
    for introduction in (stranger.introduction(welcome.user, chain), stranger.introduction(welcome.user, [])):
        wire = noise.Wire.dial(address)
        channel, _ = noise.dial_member(wire, stranger, welcome.membership_key)
        channel.send_message(noise.INTRODUCTION, introduction)
        channel.send_message(noise.HELLO, stranger.hello(channel, int(time.time() * 1000)))
        check(wire.ends_within(STRANGER_SECONDS) is not None, "a stranger with the membership key was let in")
        wire.close()
    check("stranger" not in daemon.run("peers"), "a stranger left a trace")
    say("XXpsk0: a wrong key got not one byte, and certificates of another device did not help")


def unknown_gets_nothing(address, theirs):
    stranger = noise.Identity("stranger")
    wire = noise.Wire.dial(address)
    wire.send(noise.first_known_message(stranger, theirs))
    heard = wire.ends_within(STRANGER_SECONDS)
    check(heard == b"", f"an unknown static key was answered with {heard!r}")
    wire.close()
    # The right key for the initiator, but the daemon's key is not known: no answer either.
    wire = noise.Wire.dial(address)
    wire.send(noise.first_known_message(stranger, noise.Identity("other").static_public))
    heard = wire.ends_within(STRANGER_SECONDS)
    check(heard == b"", f"a message for another key was answered with {heard!r}")
    wire.close()
    say("IK: an unknown device, and one that does not know the key, got not one byte")


def wrong_secret_gets_nothing(daemon, address, theirs):
    invite = noise.Invite.parse(invite_line(daemon))
    wrong = noise.Invite(theirs, os.urandom(32), invite.port, invite.addresses)
    peers_before = daemon.run("peers")
    wire = noise.Wire.dial(address)
    try:
        noise.dial_to_pair(wire, noise.Identity("guesser"), wrong)
        check(False, "a wrong secret got an answer")
    except noise.Ended:
        check(wire.received == 0, f"a wrong secret got {wire.received} bytes")
    wire.close()
    check("guesser" not in daemon.run("peers") and daemon.run("peers") == peers_before, "a guesser left a trace")
    # The invite is still good: a failed guess does not use it up.
    wire = noise.Wire.dial(address)
    channel = noise.dial_to_pair(wire, noise.Identity("second"), invite)
    channel.message_of(noise.WELCOME)
    channel.close()
    wire.close()
    say("XXpsk0+psk3: a wrong secret got not one byte, and the right one still works after it")


def used_invite_is_used(daemon, address):
    invite = noise.Invite.parse(invite_line(daemon))
    for attempt in range(2):
        wire = noise.Wire.dial(address)
        try:
            channel = noise.dial_to_pair(wire, noise.Identity(f"attempt{attempt}"), invite)
            channel.message_of(noise.WELCOME)
            check(attempt == 0, "an invite was good twice")
        except noise.Ended:
            check(attempt == 1, "a fresh invite was refused")
            check(wire.received == 0, "a used invite got an answer")
        wire.close()
    say("XXpsk0+psk3: an invite is good once")


class Listener:
    """Python as the side that is dialled."""

    def __init__(self):
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]

    def accept(self, seconds=20):
        self.socket.settimeout(seconds)
        return noise.Wire(self.socket.accept()[0])


def pair_as_responder(world):
    """`peerd join` dials Python: at least the whole handshake and the first record must pass."""
    joining = world.peer("joining")
    python = noise.Identity("python")
    listener = Listener()
    secret = os.urandom(32)
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
        say("XXpsk0+psk3: peerd join dialled noiseprotocol, and named itself only after the handshake")
        workspace = welcome(channel, python, device, static)
        wire.close()
        # The exchange that follows finds nobody, since Python answers no more; the workspace is there all the same.
        code = process.wait(30)
        check(code in (0, SYNC_INCOMPLETE), f"join failed: {process.stderr.read().decode()}")
        check(joining.run("status"), "no status after join")
        say("   and became a member by a welcome and certificates that Python made")
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()
    python.workspace = workspace
    python.joined = device
    return python, joining, static


def welcome(channel, python, device, static):
    """Founds a workspace on the spot and certifies the device that joins it."""
    user = noise.Ed25519PrivateKey.generate()
    user_id, nonce = noise.raw_public(user), os.urandom(16)
    workspace = noise.workspace_of(user_id, nonce)
    certificates = [
        (device, static, python.signing.sign(noise.certificate_text(workspace, user_id, device, static))),
        python.certified_by(user, workspace),
    ]
    python.membership_key = os.urandom(32)
    welcome = noise.Welcome(user_id, nonce, user_id, python.membership_key, certificates)
    channel.send_message(noise.WELCOME, welcome.encoded())
    python.user, python.certificates = user_id, certificates[1:]
    return workspace


def known_as_responder(world, joined, python, static):
    """A daemon dials Python: as a member, since it does not know whose the address is, and then as a known device."""
    listener = Listener()
    joined.start(peers=[f"127.0.0.1:{listener.port}"])
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
            channel.send_message(noise.HELLO, python.hello(channel, int(time.time() * 1000)))
            hello = noise.Hello.parse(channel.message_of(noise.HELLO))
            heard[greeting] = hello.is_proved_by(python.joined, channel)
            channel.close()
            wire.close()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    thread.join(60)
    check(heard == {noise.MEMBER: True, noise.KNOWN: True}, f"what the daemon that dials proved: {heard}")
    joined.stop()
    say("XXpsk0 and IK: the daemon dialled noiseprotocol, and proved who it is")


if __name__ == "__main__":
    main_of_test(run)
