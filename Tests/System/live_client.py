"""Clients of the WebSocket of the local API: one that speaks in messages, and one that writes its own frames."""

import base64
import json
import struct
import uuid

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from local_api import request_bytes, take_delta
from peerd_harness import check

SECONDS = 60.0
KEY = base64.b64encode(bytes(16)).decode()
CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10


class Live:
    """A WebSocket, with the messages that have come and were not asked for yet."""

    def __init__(self, entry, fields=None, origin=None, hello=True, host=None):
        fields = entry.fields[1:] if fields is None else fields
        self.opening = connect(
            f"ws://{host or entry.host}/ws/sync", sock=entry.connect().socket, origin=origin, additional_headers=fields,
            compression=None, max_size=None, proxy=None, ping_interval=None, open_timeout=SECONDS,
        )
        self.socket = self.opening.__enter__()
        self.waiting = []
        self.hello = self.receive("hello") if hello else None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.opening.__exit__(None, None, None)

    def send(self, message):
        self.socket.send(json.dumps(message))

    def next(self, seconds=SECONDS):
        if self.waiting:
            return self.waiting.pop(0)
        return json.loads(self.socket.recv(timeout=seconds))

    def receive(self, type, id=None):
        """The next message of a type, and of a subscription or write if an id is given."""
        for place, message in enumerate(self.waiting):
            if message["type"] == type and (id is None or message.get("id") == id):
                return self.waiting.pop(place)
        while True:
            message = json.loads(self.socket.recv(timeout=SECONDS))
            if message["type"] == type and (id is None or message.get("id") == id):
                return message
            check(message["type"] != "error" or type == "error", f"instead of {type} came {message}")
            self.waiting.append(message)

    def settle(self):
        """Everything that the server has to say before it answers a ping."""
        self.send({"type": "ping"})
        while (message := json.loads(self.socket.recv(timeout=SECONDS)))["type"] != "pong":
            self.waiting.append(message)
        return self.waiting

    def write(self, edits, id=None, **members):
        """Writes, and returns the ids of what was created, once it is on the disk."""
        id = id or str(uuid.uuid4())
        self.send({"type": "write", "id": id, "edits": edits, **members})
        ack = self.receive("ack", id)
        check(ack["durable"] is True, f"{ack}")
        return ack["created"]

    def subscribe(self, id, scope, since=None, credit=1000):
        self.send({"type": "subscribe", "id": id, "scope": scope, "since": since, "credit": credit})

    def refused(self, code, message):
        self.send(message)
        error = self.receive("error")
        check(error["problem"]["code"] == code, f"{message}: {error}")
        check(error["problem"]["detail"] and error["problem"]["status"] >= 400, f"{error}")
        check(error.get("id") == message.get("id"), f"{message}: {error}")

    def close_code(self):
        """The code with which the server ends the connection."""
        try:
            while True:
                self.socket.recv(timeout=SECONDS)
        except ConnectionClosed as closed:
            return closed.rcvd.code if closed.rcvd else None


class Follower:
    """A subscription, and the state that its deltas make."""

    def __init__(self, live, id, scope, since=None, state=None):
        self.live, self.id, self.token = live, id, since
        self.state = {} if state is None else state
        self.count = 0
        live.subscribe(id, scope, since)

    def take(self):
        delta = self.live.receive("delta", self.id)
        take_delta(delta, self.state)
        self.token = delta["token"]
        self.count += 1
        return delta

    def take_all(self):
        """Takes deltas up to one that no other follows at once."""
        while self.take()["more"]:
            pass

    def take_until(self, condition):
        while not condition(self.state):
            self.take()


def upgrade_fields(*fields, version="13"):
    """The fields of a request that opens a WebSocket."""
    return [*fields, ("Connection", "Upgrade"), ("Upgrade", "websocket"), ("Sec-WebSocket-Version", version),
            ("Sec-WebSocket-Key", KEY)]


class Frames:
    """A WebSocket on which a test writes its own frames."""

    def __init__(self, entry):
        self.connection = entry.connect()
        self.connection.send(request_bytes("GET", "/ws/sync", upgrade_fields(*entry.fields)))
        answer = self.connection._read("HEAD")
        check(answer.status == 101, f"an upgrade: {answer.status}")
        check(json.loads(self.read()[1])["type"] == "hello", "no hello")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.connection.close()

    def send(self, opcode, data=b"", fin=True, masked=True, reserved=0, length=None):
        """Writes a frame; `length` is what it says of itself."""
        size = len(data) if length is None else length
        first = (0x80 if fin else 0) | reserved << 4 | opcode
        mask = 0x80 if masked else 0
        if size < 126:
            head = struct.pack(">BB", first, mask | size)
        elif size < 1 << 16:
            head = struct.pack(">BBH", first, mask | 126, size)
        else:
            head = struct.pack(">BBQ", first, mask | 127, size)
        # With a mask of zeros the data stays as it is.
        try:
            self.connection.send(head + (bytes(4) if masked else b"") + data)
        except (BrokenPipeError, ConnectionResetError):
            pass

    def read(self):
        """The next frame: its opcode and data."""
        first, size = self.connection.take(2)
        check(first & 0x70 == 0 and first & 0x80 and size < 128, "a frame of a server is plain, whole and not masked")
        if size == 126:
            size, = struct.unpack(">H", self.connection.take(2))
        elif size == 127:
            size, = struct.unpack(">Q", self.connection.take(8))
        return first & 0x0F, self.connection.take(size)

    def read_text(self):
        opcode, data = self.read()
        check(opcode == TEXT, f"a frame of kind {opcode}: {data!r}")
        return json.loads(data)

    def close_code(self):
        while True:
            opcode, data = self.read()
            if opcode == CLOSE:
                check(self.connection.is_ended(), "the server sends on after it closed")
                return struct.unpack(">H", data[:2])[0]
