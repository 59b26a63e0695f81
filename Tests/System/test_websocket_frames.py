"""The frames of the WebSocket of the local API: messages in pieces, control frames, closes, and what no client may
send."""

import json
import struct
from pathlib import Path

import pytest

from live_client import BINARY, CLOSE, CONTINUATION, PING, PONG, TEXT, Frames
from local_api import WAYS, serve
from peerd_harness import check

MESSAGE_BYTES_MAX = 4 << 20
PING_MESSAGE = b'{"type":"ping"}'


@pytest.fixture(params=WAYS)
def entry(request, world):
    return serve(world, request.param)


@pytest.fixture
def frames(entry):
    with Frames(entry) as frames:
        yield frames


def test_pings_are_answered_and_pongs_are_not(frames):
    frames.send(PING, b"abc")
    check(frames.read() == (PONG, b"abc"), "a pong")
    frames.send(PONG, b"not asked for")
    frames.send(TEXT, PING_MESSAGE)
    check(frames.read_text() == {"type": "pong"}, "a message behind a pong")


def test_messages_in_pieces(frames):
    # With control frames between them, and pieces of nothing.
    frames.send(TEXT, PING_MESSAGE[:3], fin=False)
    frames.send(PING, b"between")
    frames.send(CONTINUATION, b"", fin=False)
    frames.send(CONTINUATION, PING_MESSAGE[3:])
    check(frames.read() == (PONG, b"between") and frames.read_text() == {"type": "pong"}, "a message in pieces")
    # A text may be cut within a character.
    text = json.dumps({"type": "ü\U0001f600"}, ensure_ascii=False).encode()
    for piece in range(len(text)):
        frames.send(TEXT if piece == 0 else CONTINUATION, text[piece:piece + 1], fin=piece == len(text) - 1)
    check("“ü\U0001f600”" in frames.read_text()["problem"]["detail"], "a message byte by byte")


def test_frames_byte_by_byte_and_many_at_once(frames):
    for byte in b"\x81\x8f\0\0\0\0" + PING_MESSAGE:
        frames.connection.send(bytes([byte]))
    check(frames.read_text() == {"type": "pong"}, "a frame byte by byte")
    frames.connection.send((b"\x81\x8f\0\0\0\0" + PING_MESSAGE) * 500)
    check(all(frames.read_text() == {"type": "pong"} for _ in range(500)), "many frames at once")


def test_a_message_of_the_greatest_length(frames):
    frames.send(TEXT, PING_MESSAGE + b" " * (MESSAGE_BYTES_MAX - len(PING_MESSAGE)))
    check(frames.read_text() == {"type": "pong"}, "a message of the greatest length")


def test_nonsense_is_answered_and_ends_the_connection(frames):
    frames.send(TEXT, b"nonsense")
    check(frames.read_text()["problem"]["code"] == "bad-request", "nonsense is not answered")
    check(frames.close_code() in (1003, 1007), "nonsense goes on")


CLOSES = (
    *((struct.pack(">H", code), code) for code in (1000, 1001, 1011, 3000, 4999)),
    (struct.pack(">H", 1000) + b"bye", 1000),
    # No codes of clients, a code cut short, and a reason that is not UTF-8.
    *((struct.pack(">H", code), 1002) for code in (0, 999, 1004, 1005, 1006, 1015, 2000, 5000, 65535)),
    (b"\x03", 1002), (struct.pack(">H", 1000) + b"\xff", 1002),
)


def test_closes_are_answered(entry, subtests):
    for reason, code in CLOSES:
        with subtests.test(reason=reason), Frames(entry) as frames:
            frames.send(CLOSE, reason)
            check(frames.close_code() == code, f"a close with {reason!r} is answered with another code than {code}")
    with Frames(entry) as frames:
        frames.send(CLOSE)
        check(frames.close_code() in (1000, 1005), "a close without a code")


def frame(opcode, data=b"", **members):
    return {"opcode": opcode, "data": data, **members}


WRITE = b'{"type":"write","id":"b","edits":[{"create":"broken"}]}'
BROKEN = (
    ("binary", 1003, [frame(BINARY, WRITE)]),
    ("text that is not UTF-8", 1007, [frame(TEXT, b'{"type":"\xff"}')]),
    ("text with half a surrogate pair", 1007, [frame(TEXT, b'{"type":"\xed\xa0\x80"}')]),
    ("text that ends in a character", 1007, [frame(TEXT, b'{"', fin=False), frame(CONTINUATION, b"\xc3")]),
    ("no mask", 1002, [frame(TEXT, WRITE, masked=False)]),
    ("a ping without mask", 1002, [frame(PING, masked=False)]),
    ("a reserved bit", 1002, [frame(TEXT, WRITE, reserved=4)]),
    ("another reserved bit", 1002, [frame(PING, reserved=1)]),
    ("a kind that is reserved", 1002, [frame(3, WRITE)]),
    ("a control frame that is reserved", 1002, [frame(11)]),
    ("a ping in pieces", 1002, [frame(PING, fin=False)]),
    ("a ping that is too long", 1002, [frame(PING, b"x" * 126)]),
    ("a piece of nothing", 1002, [frame(CONTINUATION, WRITE)]),
    ("a message within a message", 1002, [frame(TEXT, b"{", fin=False), frame(TEXT, WRITE)]),
    ("a frame that is too long", 1009, [frame(TEXT, b"", length=MESSAGE_BYTES_MAX + 1)]),
    ("a frame beyond 63 bits", 1009, [frame(TEXT, b"", length=1 << 63)]),
    ("a message that is too long", 1009, [
        frame(TEXT, b" " * (MESSAGE_BYTES_MAX // 2), fin=False),
        frame(CONTINUATION, b" " * (MESSAGE_BYTES_MAX // 2), fin=False), frame(CONTINUATION, WRITE),
    ]),
    ("too many pieces", 1009, [frame(TEXT, b" ", fin=False)] + [frame(CONTINUATION, b" ", fin=False)] * 2_000),
)


def test_what_no_client_may_send_ends_the_connection(entry, subtests):
    for what, code, steps in BROKEN:
        with subtests.test(what), Frames(entry) as frames:
            for step in steps:
                frames.send(**step)
            check(frames.close_code() == code, f"{what}: not {code}")
    check(entry.count(type="broken") == 0, "a broken message was carried out")


def test_a_page_that_watches_the_status_wakes_nobody_while_nothing_happens(entry, frames):
    """It counts how often a thread of the daemon began to wait, from the first ping of the server to the second."""
    process = f"/proc/{entry.peer.process.pid}/task"

    def wait_count():
        lines = [line for path in Path(process).glob("*/status") for line in path.read_text().splitlines()]
        return sum(int(line.split()[1]) for line in lines if line.startswith("voluntary_ctxt_switches"))

    def read_to_ping():
        while (frame := frames.read())[0] != PING:
            check(frame[0] == TEXT, f"{frame}")
        frames.send(PONG, frame[1])
        return wait_count()

    frames.send(TEXT, b'{"type":"watch","id":1,"what":"status","credit":1000}')
    count = -read_to_ping() + read_to_ping()
    # Four times a second makes 700; the watch for other writers, which costs little, some dozens.
    check(count < 350, f"{count} times")
