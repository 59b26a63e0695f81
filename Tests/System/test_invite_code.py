"""The QR code under an invite: a decoder of another make reads the invite's line from what is drawn on a terminal."""

import os
import pty
import re
import subprocess

import pytest

from peerd_harness import check, program

zxingcpp = pytest.importorskip("zxingcpp", reason="scripts/setup.sh installs zxing-cpp")

LINE = re.compile("\x1b\\[30;107m([ ▀▄█]+)\x1b\\[0m")
PIXELS_A_MODULE = 4
HALVES = {" ": (255, 255), "▀": (0, 255), "▄": (255, 0), "█": (0, 0)}


def drawn(command):
    """What a command shows on a terminal, as lines."""
    master, other = pty.openpty()
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=other, stderr=subprocess.PIPE)
    os.close(other)
    received = b""
    while True:
        try:
            piece = os.read(master, 1 << 16)
        except OSError:  # the command has ended
            break
        received += piece
    error = process.communicate()[1]
    os.close(master)
    check(process.returncode == 0, f"{command}: {error}")
    return received.decode().replace("\r\n", "\n").splitlines()


def image(rows):
    """The drawing as a picture in shades of grey, for the decoder."""
    modules = []
    for row in rows:
        modules.append([HALVES[half][0] for half in row])
        modules.append([HALVES[half][1] for half in row])
    lines = [bytes(shade for shade in line for _ in range(PIXELS_A_MODULE)) for line in modules]
    pixels = [line for line in lines for _ in range(PIXELS_A_MODULE)]
    width = len(pixels[0])
    check(all(len(line) == width for line in pixels), "the lines of the drawing differ in length")
    return memoryview(b"".join(pixels)).cast("B", (len(pixels), width))


def test_a_decoder_reads_the_invite_from_its_drawing(world):
    peer = world.founder("one")
    peer.start()
    for _ in range(20):
        invite, *lines = drawn([program(), "invite", "--dir", str(peer.directory)])
        rows = [match.group(1) for match in map(LINE.fullmatch, lines) if match]
        check(invite.startswith("peerd:1:") and len(rows) == len(lines) > 10, f"invite shows {invite!r}, {lines}")
        codes = zxingcpp.read_barcodes(image(rows))
        check([code.text for code in codes] == [invite], f"{[code.text for code in codes]}, not {invite!r}")
        check("\x1b" not in peer.run("invite"), "a pipe gets a drawing")
