"""A client of the local API that hides nothing: it writes the bytes it is given, and reads answers strictly.

The standard library's client is too kind for a test. It repairs requests, and accepts answers that others would not.
"""

import contextlib
import json
import socket
import urllib.parse
from dataclasses import dataclass
from pathlib import Path

from peerd_harness import CheckFailed, check

DOCUMENT = Path(__file__).resolve().parent.parent.parent / "Sources" / "CWebFiles" / "web" / "api" / "openapi.json"
NOBODY = "00000000-0000-4000-8000-000000000000"
WAYS = ("socket", "loopback")
ANSWER_SECONDS = 60.0
PROBLEM_MEMBERS = {"type", "title", "status", "detail", "code", "advice"}
SAFETY_FIELDS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
}
POLICY_PARTS = (
    "default-src 'none'", "script-src 'self'", "connect-src 'self'", "base-uri 'none'", "frame-ancestors 'none'",
)


class Closed(CheckFailed):
    """The server ended the connection before a whole answer."""


@dataclass
class Answer:
    status: int
    fields: "list[tuple[str, str]]"
    body: bytes
    version: str = "HTTP/1.1"

    def all(self, name):
        return [value for key, value in self.fields if key == name.lower()]

    def field(self, name):
        """The one value of a field, or None."""
        values = self.all(name)
        check(len(values) <= 1, f"the answer has {name} {len(values)} times")
        return values[0] if values else None

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def tag(self):
        return self.field("ETag")


class Connection:
    """One connection, on which requests follow each other."""

    def __init__(self, raw, seconds=ANSWER_SECONDS):
        self.socket = raw
        self.socket.settimeout(seconds)
        self.buffer = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data if isinstance(data, bytes) else data.encode())

    def end_of_sending(self):
        self.socket.shutdown(socket.SHUT_WR)

    def _more(self):
        try:
            data = self.socket.recv(1 << 16)
        except (ConnectionResetError, BrokenPipeError):
            data = b""
        except socket.timeout:
            raise CheckFailed(f"no answer; so far: {self.buffer[:200]!r}") from None
        if not data:
            raise Closed(f"the connection ended; so far: {self.buffer[:200]!r}")
        self.buffer += data

    def _line(self):
        while b"\r\n" not in self.buffer:
            check(b"\n" not in self.buffer, f"a line without CR: {self.buffer[:100]!r}")
            self._more()
        line, self.buffer = self.buffer.split(b"\r\n", 1)
        return line.decode("latin-1")

    def take(self, count):
        """So many bytes, as they come."""
        pieces, missing = [], count
        while missing:
            if not self.buffer:
                self._more()
            piece, self.buffer = self.buffer[:missing], self.buffer[missing:]
            pieces.append(piece)
            missing -= len(piece)
        return b"".join(pieces)

    def read(self, method="GET", skips_continue=True):
        """The next answer, which must be framed as RFC 9112 says."""
        while True:
            answer = self._read(method)
            if answer.status != 100 or not skips_continue:
                return answer

    def read_head(self):
        """The next answer without its body, which is left to the caller."""
        version, status, *_ = self._line().split(" ", 2)
        check(version in ("HTTP/1.1", "HTTP/1.0") and len(status) == 3, f"a status line of {version} {status}")
        fields = []
        while line := self._line():
            name, colon, value = line.partition(":")
            check(colon and name == name.strip(), f"a header line {line!r}")
            fields.append((name.lower(), value.strip()))
        return Answer(int(status), fields, b"", version)

    def _read(self, method):
        answer = self.read_head()
        coding, length = answer.field("Transfer-Encoding"), answer.field("Content-Length")
        check(coding is None or length is None, "an answer with two lengths")
        if method == "HEAD" or answer.status in (204, 304) or answer.status < 200:
            return answer
        if coding is not None:
            check(coding == "chunked", f"a transfer coding {coding}")
            while size := int(self._line(), 16):
                answer.body += self.take(size)
                check(self._line() == "", "a chunk is longer than it says")
            check(self._line() == "", "the answer has trailers")
        elif length is not None:
            answer.body = self.take(int(length))
        else:
            check((answer.field("Connection") or "") == "close", "an answer without length on a connection that stays")
            answer.body = self.rest()
        return answer

    def rest(self):
        """Everything until the server ends the connection."""
        pieces = []
        try:
            while True:
                pieces.append(self.buffer)
                self.buffer = b""
                self._more()
        except Closed:
            return b"".join(pieces)

    def is_ended(self):
        """Whether the server ends the connection, with nothing more before."""
        return self.rest() == b""

    def ask(self, method, target, fields=(), body=None):
        self.send(request_bytes(method, target, fields, body))
        return self.read(method)


def request_bytes(method, target, fields=(), body=None, version="HTTP/1.1"):
    lines = [f"{method} {target} {version}", *(f"{name}: {value}" for name, value in fields)]
    if body is not None:
        lines.append(f"Content-Length: {len(body)}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + (body or b"")


class Entry:
    """A way to the API of one daemon: its Unix socket, or loopback TCP with the token."""

    def __init__(self, name, address, fields, peer=None):
        self.name = name
        self.peer = peer
        self.address = address
        # What each request brings: Host, and the token where one is needed.
        self.fields = fields
        self._kept = None

    @classmethod
    def socket(cls, peer):
        return cls("socket", str(peer.directory / "socket"), [("Host", "localhost")], peer)

    @classmethod
    def loopback(cls, peer, host="127.0.0.1"):
        endpoint = json.loads((peer.directory / "api").read_text())
        port = urllib.parse.urlsplit(endpoint["url"]).port
        shown = f"[{host}]" if ":" in host else host
        fields = [("Host", f"{shown}:{port}"), ("Authorization", f"Bearer {endpoint['token']}")]
        return cls("loopback", (host, port), fields, peer)

    @classmethod
    def to(cls, peer, way):
        return cls.socket(peer) if way == "socket" else cls.loopback(peer)

    def another(self):
        """The same way in, for another thread."""
        return Entry(self.name, self.address, self.fields, self.peer)

    @property
    def port(self):
        return self.address[1]

    @property
    def host(self):
        return dict(self.fields)["Host"]

    @property
    def token(self):
        return dict(self.fields)["Authorization"].removeprefix("Bearer ")

    def connect(self, seconds=ANSWER_SECONDS):
        if isinstance(self.address, str):
            raw = socket.socket(socket.AF_UNIX)
            raw.settimeout(seconds)
            raw.connect(self.address)
        else:
            raw = socket.create_connection(self.address, timeout=seconds)
        return Connection(raw, seconds)

    def close(self):
        if self._kept is not None:
            self._kept.close()
            self._kept = None

    def ask(self, method, target, json_body=None, fields=(), body=None):
        """One request on a connection that is kept; every answer is checked for what all answers have."""
        if json_body is not None:
            body = json.dumps(json_body).encode()
            fields = [("Content-Type", "application/json"), *fields]
        for attempt in (1, 2):
            if self._kept is None:
                self._kept = self.connect()
            try:
                answer = self._kept.ask(method, target, [*self.fields, *fields], body)
                break
            except (Closed, BrokenPipeError, ConnectionResetError):
                # The server may end a connection between two requests; a new one must do.
                self.close()
                if attempt == 2:
                    raise
        if answer.field("Connection") == "close":
            self.close()
        check_answer(answer, f"{method} {target} ({self.name})", method)
        return answer

    def get(self, target, fields=()):
        """The JSON of a GET that must succeed."""
        return self.expect(200, "GET", target, fields=fields).json

    def create(self, type="item", parent=None, /, **members):
        """Makes an object, and returns it as the answer shows it."""
        answer = self.expect(201, "POST", "/api/objects", {"type": type, "parent": parent, **members})
        place = answer.field("Location")
        check(place == f"/api/objects/{answer.json['id']}", f"Location: {place}")
        return answer.json

    def count(self, **parameters):
        """How many objects there are of a type, or of what else the parameters say."""
        return self.get(f"/api/objects/count?{urllib.parse.urlencode(parameters)}")["count"]

    def export(self):
        return self.expect(200, "GET", "/api/export").body

    @contextlib.contextmanager
    def unchanged(self):
        """What is done meanwhile writes nothing."""
        before = self.export()
        yield
        check(self.export() == before, "something was written")

    def expect(self, status, method, target, json_body=None, fields=(), body=None):
        answer = self.ask(method, target, json_body, fields, body)
        check(
            answer.status == status,
            f"{method} {target} ({self.name}): {answer.status}, not {status}: {answer.body[:400]!r}",
        )
        return answer

    def refused(self, status, code, method, target, json_body=None, fields=(), body=None):
        """A request that must fail with this status and code."""
        answer = self.expect(status, method, target, json_body, fields, body)
        if method != "HEAD":
            problem = answer.json
            check(problem.get("code") == code, f"{method} {target} ({self.name}): {problem}, not {code}")
        return answer


def check_answer(answer, what, method="GET"):
    """What every answer must have: the fields that keep pages safe, and a problem in JSON if it is one."""
    for name, value in SAFETY_FIELDS.items():
        check(answer.field(name) == value, f"{what}: {name} is {answer.field(name)}")
    policy = answer.field("Content-Security-Policy") or ""
    for part in POLICY_PARTS:
        check(part in policy, f"{what}: the policy lacks {part}: {policy}")
    check("unsafe" not in policy, f"{what}: the policy is {policy}")
    check(answer.status < 500 or answer.status in (503, 507), f"{what}: {answer.status} {answer.body[:300]!r}")
    if answer.status >= 400:
        check_problem(answer, what, method)


def check_problem(answer, what, method="GET"):
    check(answer.field("Content-Type") == "application/problem+json", f"{what}: {answer.field('Content-Type')}")
    if method == "HEAD":
        return
    problem = answer.json
    check(set(problem) >= PROBLEM_MEMBERS, f"{what}: the problem lacks {PROBLEM_MEMBERS - set(problem)}")
    check(problem["status"] == answer.status, f"{what}: the problem says {problem['status']}")
    code = problem["code"]
    check(code and code == code.lower() and " " not in code, f"{what}: the code {code!r}")
    check(problem["type"] == f"/problems/{code}" and problem["title"], f"{what}: {problem}")
    check(problem["detail"].strip().endswith((".", "”")), f"{what}: the detail is no sentence: {problem['detail']!r}")
    advice = problem["advice"]
    check(advice is None or advice.strip(), f"{what}: the advice is {advice!r}")
    for word in ("Swift", "NIO", "Fatal"):
        check(word not in problem["detail"], f"{what}: the detail is not for people: {problem['detail']}")


def both_entries(peer):
    return [Entry.to(peer, way) for way in WAYS]


def serve(world, way="loopback", words=()):
    """A way to the daemon of a new workspace."""
    peer = world.founder("first")
    peer.start(words=words)
    return Entry.to(peer, way)


def openapi():
    """The description of the API."""
    return json.loads(DOCUMENT.read_text(encoding="utf-8"))


def query_parameters(document, operation):
    """The names of the parameters of the query that the description says an operation has."""
    for parameter in operation.get("parameters", []):
        if "$ref" in parameter:
            parameter = document["components"]["parameters"][parameter["$ref"].rsplit("/", 1)[1]]
        if parameter["in"] == "query":
            yield parameter["name"]


def take_delta(delta, state):
    """Takes a delta into a state, a dictionary of objects by id."""
    if delta["reset"]:
        state.clear()
    for item in delta["objects"]:
        if item["state"] is not None:
            state[item["id"]] = item["state"]
            continue
        gone = {item["id"]}
        while gone:
            for id in gone:
                state.pop(id, None)
            below = {id for id, object in state.items() if object["parent"] in gone}
            gone = below if item["includes_below"] else set()


def versions(state):
    """What two states have in common if they are the same; how many children an object has is no part of a version."""
    return {id: object["version"] for id, object in state.items()}
