"""HTTP over both entries of the local API: clients that send what two readers could understand in two ways, too much,
or in pieces, and clients that are slow, greedy, or gone in the middle."""

import json
import resource
import socket

import pytest

from local_api import NOBODY, WAYS, check_answer, request_bytes, serve
from peerd_harness import check

SLOW_CLIENTS = 1_000
BODY_BYTES_MAX = 8 << 20
HEADER_BYTES_MAX = 32 << 10
# An export with it needs several writes.
TEXT = "x" * 1_000_000


@pytest.fixture(params=WAYS)
def entry(request, world):
    return serve(world, request.param)


def exchange(entry, data, ended=True):
    """Sends bytes, and returns the answer to them; the connection must end behind it if `ended`."""
    with entry.connect() as connection:
        try:
            connection.send(data)
        except (BrokenPipeError, ConnectionResetError):
            pass
        answer = connection.read()
        if ended:
            check(connection.is_ended(), f"{data[:200]!r}: the connection goes on")
    return answer


@pytest.fixture
def parts(entry):
    """The fields of a request by this way in, how one that writes begins, and one that must not be carried out."""
    head = "".join(f"{name}: {value}\r\n" for name, value in entry.fields)
    return head, f"POST /api/objects HTTP/1.1\r\n{head}", f"GET /api/status HTTP/1.1\r\n{head}\r\n"


def test_what_two_readers_could_understand_in_two_ways_is_refused(entry, parts, subtests):
    """The connection ends, too."""
    head, post, hidden = parts
    chunk = '13\r\n{"type":"smuggled"}\r\n'
    bad = {
        "both lengths": f"{post}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{hidden}",
        "both, in the other order": f"{post}Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n{hidden}",
        "two lengths": f"{post}Content-Length: 19\r\nContent-Length: 5\r\n\r\n{{\"type\":\"smuggled\"}}{hidden}",
        "the same length twice": f"{post}Content-Length: 19\r\nContent-Length: 19\r\n\r\n{{\"type\":\"smuggled\"}}",
        "a list of lengths": f"{post}Content-Length: 19, 19\r\n\r\n{{\"type\":\"smuggled\"}}",
        "a length with a sign": f"{post}Content-Length: +19\r\n\r\n{{\"type\":\"smuggled\"}}",
        "a negative length": f"{post}Content-Length: -1\r\n\r\n{{\"type\":\"smuggled\"}}",
        "a length in hexadecimal": f"{post}Content-Length: 0x13\r\n\r\n{{\"type\":\"smuggled\"}}",
        "a length beyond 64 bits": f"{post}Content-Length: 18446744073709551635\r\n\r\n{{\"type\":\"smuggled\"}}",
        "a coding that is none": f"{post}Transfer-Encoding: xchunked\r\n\r\n{chunk}0\r\n\r\n{hidden}",
        "chunked and another": f"{post}Transfer-Encoding: chunked, identity\r\n\r\n{chunk}0\r\n\r\n",
        "another and chunked": f"{post}Transfer-Encoding: gzip, chunked\r\n\r\n{chunk}0\r\n\r\n",
        "chunked twice": f"{post}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n{chunk}0\r\n\r\n",
        "a vertical tab": f"{post}Transfer-Encoding: \x0bchunked\r\n\r\n{chunk}0\r\n\r\n",
        "a quoted coding": f"{post}Transfer-Encoding: \"chunked\"\r\n\r\n{chunk}0\r\n\r\n",
        "a space before the colon": f"{post}Transfer-Encoding : chunked\r\n\r\n{chunk}0\r\n\r\n",
        "a folded line": f"{post}X: a\r\n b\r\nContent-Length: 19\r\n\r\n{{\"type\":\"smuggled\"}}",
        "a folded coding": f"{post}Transfer-Encoding:\r\n chunked\r\n\r\n{chunk}0\r\n\r\n",
        "bare LF everywhere": hidden.replace("\r\n", "\n"),
        "bare LF between two fields": f"GET /api/status HTTP/1.1\r\nX: a\nY: b\r\n{head}\r\n",
        "bare CR in a value": f"GET /api/status HTTP/1.1\r\nX: a\rY: b\r\n{head}\r\n",
        "NUL in a value": f"GET /api/status HTTP/1.1\r\nX: a\0b\r\n{head}\r\n",
        "NUL in a name": f"GET /api/status HTTP/1.1\r\nX\0: a\r\n{head}\r\n",
        "NUL in the target": f"GET /api/status\0 HTTP/1.1\r\n{head}\r\n",
        "a field without a name": f"GET /api/status HTTP/1.1\r\n: a\r\n{head}\r\n",
        "a line without a colon": f"GET /api/status HTTP/1.1\r\nnothing\r\n{head}\r\n",
        "no version": f"GET /api/status\r\n{head}\r\n",
        "another version": f"GET /api/status HTTP/1.2\r\n{head}\r\n",
        "HTTP/2": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "a method with a bracket": f"GE(T /api/status HTTP/1.1\r\n{head}\r\n",
        "a target with a space": f"GET /api/sta tus HTTP/1.1\r\n{head}\r\n",
        "TLS": "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
    }
    for what, text in bad.items():
        with subtests.test(what):
            answer = exchange(entry, text.encode("latin-1"))
            check(answer.status in (400, 501), f"{what}: {answer.status} {answer.body[:200]!r}")
            check_answer(answer, what)
    check(entry.count(type="smuggled") == 0, "a request that was refused has written")


def test_a_broken_body_is_answered_and_what_seems_to_follow_is_no_request(entry, parts, subtests):
    _, post, hidden = parts
    broken = {
        "a size that is none": "zz\r\n{}\r\n0\r\n\r\n",
        "a size beyond 64 bits": "f" * 17 + "\r\n{}\r\n0\r\n\r\n",
        "a chunk longer than it says": '5\r\n{"type":"smuggled"}\r\n0\r\n\r\n',
        "a size with LF": "2\n{}\n0\n\n",
        "a negative size": "-2\r\n{}\r\n0\r\n\r\n",
        "an empty size": "\r\n{}\r\n0\r\n\r\n",
        "a size in words": "0x2\r\n{}\r\n0\r\n\r\n",
    }
    for what, text in broken.items():
        with subtests.test(what):
            request = f"{post}Transfer-Encoding: chunked\r\n\r\n{text}{hidden}"
            answer = exchange(entry, request.encode())
            check(answer.status == 400, f"{what}: {answer.status}")
            check_answer(answer, what)
    check(entry.count(type="smuggled") == 0, "a request that was refused has written")


def test_targets_that_cannot_be_asked_for(entry, parts, subtests):
    """They are requests, so the connection may go on."""
    targets = [
        (method, target)
        for target in (f"http://{entry.host}/api/status", "http://evil.example/api/status", "*", "ws://localhost/")
        for method in ("GET", "OPTIONS")
    ]
    own = entry.host if entry.name == "loopback" else "localhost:80"
    for method, target in (*targets, ("CONNECT", own), ("CONNECT", "evil.example:443")):
        with subtests.test(method=method, target=target):
            answer = exchange(entry, f"{method} {target} HTTP/1.1\r\n{parts[0]}\r\n".encode(), ended=False)
            check(answer.status == 400, f"{answer.status}")
            check_answer(answer, f"{method} {target}")


def test_heads_that_are_too_large(entry, subtests):
    def status(*fields, target="/healthz"):
        answer = exchange(entry, request_bytes("GET", target, [*entry.fields, *fields]), ended=False)
        check_answer(answer, f"GET {target[:50]}, {len(fields)} fields")
        return answer.status

    room = HEADER_BYTES_MAX - 2_000
    check(status(("X", "a" * room)) == 200 and status(*[("X", "a")] * 200) == 200, "a header within the limits")
    check(status(target="/healthz?" + "a" * 8_000) == 200, "a long target")
    for what, fields in {
        "a value": [("X", "a" * HEADER_BYTES_MAX)],
        "a larger value": [("X", "a" * 100_000)],
        "a very large value": [("X", "a" * 2_000_000)],
        "a name": [("X" * 100_000, "a")],
        "many fields of a name": [("X", "a" * 100)] * 20_000,
        "many names": [(f"X{n}", "") for n in range(20_000)],
    }.items():
        with subtests.test(what):
            check(status(*fields) == 431, f"a header of {len(fields)} fields is not too large")
    check(status(target="/" + "a" * 20_000) in (400, 414, 431), "a target")
    check(status(target="/" + "a" * 500_000) in (414, 431), "a very long target")


@pytest.mark.parametrize("size", [BODY_BYTES_MAX + 1, 32 << 20])
def test_a_body_beyond_the_limit_is_answered_while_it_still_comes(entry, size):
    """Be it announced or in chunks."""
    body = b'"' + b"a" * (size - 2) + b'"'
    chunked = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces(body, 1 << 20)) + b"0\r\n\r\n"
    length = ("Content-Length", str(size))
    for fields, data in (([length], body), ([("Transfer-Encoding", "chunked")], chunked)):
        head = request_bytes("PUT", "/api/projects/large", [*entry.fields, *fields])
        answer = exchange(entry, head + data, ended=False)
        check(answer.status == 413, f"a body of {size} bytes: {answer.status}")
        check_answer(answer, "a body that is too large")
    check(entry.ask("GET", "/api/projects/large").status == 404, "a body beyond the limit was stored")
    answer = exchange(entry, request_bytes("POST", "/api/nothing", [*entry.fields, length]) + body, ended=False)
    check(answer.status == 404, f"a body that nobody reads: {answer.status}")
    if entry.name == "loopback":
        answer = exchange(entry, request_bytes("POST", "/api/objects", [entry.fields[0], length]) + body)
        check(answer.status == 401, f"a body without a token: {answer.status}")


def pieces(data, size):
    return [data[begin : begin + size] for begin in range(0, len(data), size)]


# Connections: requests behind each other, bodies in pieces, versions, and ends in the middle.


@pytest.fixture
def get(entry):
    return request_bytes("GET", "/healthz", entry.fields)


@pytest.fixture
def post(entry):
    return request_bytes("POST", "/api/objects", entry.fields, b'{"type":"posted"}')


def test_a_train_of_requests(entry, get, post):
    train = [
        ("GET", get, 200),
        ("POST", post, 201),
        ("GET", request_bytes("GET", "/api/objects?limit=1", entry.fields), 200),
        ("HEAD", request_bytes("HEAD", "/api/export", entry.fields), 200),
        ("POST", request_bytes("POST", "/api/objects", entry.fields, b"{"), 400),
        ("GET", request_bytes("GET", "/api/export", entry.fields), 200),
        ("DELETE", request_bytes("DELETE", f"/api/objects/{NOBODY}", entry.fields), 404),
        ("POST", post, 201),
        ("GET", get, 200),
    ] * 5
    with entry.connect() as connection:
        connection.send(b"".join(data for _, data, _ in train))
        for number, (method, _, status) in enumerate(train):
            answer = connection.read(method)
            check(answer.status == status, f"request {number} of a train: {answer.status}, not {status}")
            check_answer(answer, f"request {number} of a train", method)
        # The connection is still good, request by request and byte by byte.
        for method, data, status in train[:9]:
            connection.send(data)
            check(connection.read(method).status == status, f"{method} after the train")
        for byte in get:
            connection.send(bytes([byte]))
        check(connection.read().status == 200, "a request byte by byte")
    check(entry.count(type="posted") == 12, "a train of requests left one out, or did one twice")


def test_behind_what_breaks_the_rules_or_closes_nothing_is_done(entry, get, post):
    with entry.connect() as connection:
        connection.send(get + b"nonsense\r\n\r\n" + post)
        check(connection.read().status == 200 and connection.read().status == 400, "nonsense behind a request")
        check(connection.is_ended(), "a connection goes on behind nonsense")
    with entry.connect() as connection:
        connection.send(request_bytes("GET", "/healthz", [*entry.fields, ("Connection", "close")]) + post)
        check(connection.read().field("Connection") == "close" and connection.is_ended(), "Connection: close")
    check(entry.count(type="posted") == 0, "a request behind the end was done")


@pytest.mark.parametrize("target", ["/healthz", "/api/export", "/api/objects", "/nothing"])
def test_http_1_0_is_answered_without_chunks_and_ends(entry, target):
    entry.create(properties={"text": TEXT})
    for fields in ([], [("Connection", "keep-alive")]):
        with entry.connect() as connection:
            connection.send(request_bytes("GET", target, [*entry.fields, *fields], version="HTTP/1.0"))
            answer = connection.read()
            check(answer.field("Transfer-Encoding") is None, "chunks")
            check(answer.field("Connection") == "close" and connection.is_ended(), "the connection goes on")
            check(json.loads(answer.body) is not None, f"{answer.body[:50]!r}")


def test_bodies_in_chunks(entry, get):
    body = json.dumps({"type": "chunked", "properties": {"text": "ü" * 1000}}).encode()
    for size, extension in ((1, b""), (7, b";a=b"), (len(body), b"")):
        with entry.connect() as connection:
            connection.send(request_bytes("POST", "/api/objects", [*entry.fields, ("Transfer-Encoding", "Chunked")]))
            for piece in pieces(body, size):
                connection.send(b"%x%s\r\n%s\r\n" % (len(piece), extension, piece))
            connection.send(b"0\r\nX-Trailer: y\r\n\r\n" + get)
            answer = connection.read()
            check(answer.status == 201 and answer.json["properties"]["text"] == "ü" * 1000, f"chunks of {size}")
            check(connection.read().status == 200, f"behind chunks of {size}")
    check(entry.count(type="chunked") == 3, "chunks")


def test_a_body_that_waits_to_be_asked_for(entry, get):
    body = b'{"type":"expected"}'
    expects = [*entry.fields, ("Expect", "100-continue"), ("Content-Length", str(len(body)))]
    with entry.connect() as connection:
        connection.send(request_bytes("POST", "/api/objects", expects))
        answer = connection.read(skips_continue=False)
        check(answer.status == 100, f"Expect: {answer.status}")
        connection.send(body)
        check(connection.read().status == 201, "a body after 100")
        connection.send(get)
        check(connection.read().status == 200, "behind a body after 100")
    path = f"/api/objects/{entry.create()['id']}"
    for end, status in ((b"", 200), (b"0\r\n\r\n", 404)):
        with entry.connect() as connection:
            connection.send(request_bytes("DELETE", path, [*expects[:-1], ("Transfer-Encoding", "chunked")]))
            check(connection.read(skips_continue=False).status == 100, "the end of an empty body is not asked for")
            connection.send(end)
            if end:
                check(connection.read().status == 204, "an empty body after 100")
        check(entry.get("/healthz") and entry.ask("GET", path).status == status, f"{status}: begun without its body")
    with entry.connect() as connection:
        # To a client of HTTP/1.0 that would be the answer.
        connection.send(request_bytes("POST", "/api/objects", expects, version="HTTP/1.0") + body)
        check(connection.read(skips_continue=False).status == 201, "100 Continue is sent to HTTP/1.0")
    if entry.name == "loopback":
        with entry.connect() as connection:
            connection.send(request_bytes("POST", "/api/objects", [entry.fields[0], *expects[2:]]))
            check(connection.read(skips_continue=False).status == 401, "a body without a token is asked for")


@pytest.mark.parametrize("is_reset", [False, True], ids=["ended", "reset"])
def test_a_body_that_is_cut_short_is_not_taken_for_whole(entry, is_reset):
    whole = request_bytes("POST", "/api/objects", entry.fields, b'{"type":"cut"}')
    chunked = request_bytes("POST", "/api/objects", [*entry.fields, ("Transfer-Encoding", "chunked")])
    imported = request_bytes("POST", "/api/import", [*entry.fields, ("Content-Length", "9000000")])
    for data in (
        whole[:10],
        whole[:-1],
        chunked + b'e\r\n{"type":"cut"}',
        chunked + b'e\r\n{"type":"cut"}\r\n',
        imported + b'[{"type":"cut"}' + b" " * 5_000_000,
    ):
        with entry.connect() as connection:
            connection.send(data)
            if is_reset:
                # Closing now resets the connection.
                connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            else:
                connection.end_of_sending()
                rest = connection.rest()
                check(not rest or rest.startswith(b"HTTP/1.1 400"), f"a body cut short: {rest[:200]!r}")
    check(entry.get("/healthz") == {"status": "ok"}, "the server is not well")
    check(entry.count(type="cut") == 0, "a body that was cut short was taken for whole")


def test_who_goes_away_while_the_answer_is_written_harms_nobody(entry):
    entry.create(properties={"text": TEXT})
    for _ in range(20):
        with entry.connect() as connection:
            connection.send(request_bytes("GET", "/api/export", entry.fields) * 10)
            connection.socket.recv(10)
    with entry.connect() as connection:
        target = "/api/changes?wait=60&since=" + entry.get("/api/changes")["token"]
        connection.send(request_bytes("GET", target, entry.fields))
    check(entry.get("/healthz") == {"status": "ok"}, "the server is not well")


# Clients that are slow.


@pytest.fixture
def many_files():
    """Lets this process have as many connections as slow clients need."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(limits[1], max(limits[0], 4 * SLOW_CLIENTS)), limits[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def test_a_thousand_slow_clients_do_not_keep_an_honest_one_waiting(entry, many_files):
    """They send a byte now and then."""
    honest = entry.connect()
    check(honest.ask("GET", "/healthz", entry.fields).status == 200, "an honest client")
    slow, sent = [], 0
    request = request_bytes("GET", "/api/status", entry.fields)
    try:
        for number in range(SLOW_CLIENTS):
            slow.append(SlowClient(entry, request))
            if number % 50 == 0:
                sent += sum(client.send_a_byte() for client in slow)
                check(honest.ask("GET", "/api/status", entry.fields).status == 200, "a connection that is kept")
                with entry.connect() as another:
                    check(another.ask("GET", "/healthz", entry.fields).status == 200, "a new honest client")
        for _ in range(10):
            sent += sum(client.send_a_byte() for client in slow)
            check(honest.ask("POST", "/api/objects", entry.fields, b'{"type":"honest"}').status == 201, "a write")
    finally:
        for client in slow:
            client.connection.close()
        honest.close()
    check(sent > SLOW_CLIENTS, f"only {sent} bytes trickled")
    check(entry.get("/healthz") == {"status": "ok"}, "the server has suffered")


class SlowClient:
    """Sends a request byte by byte, as long as the server lets it."""

    def __init__(self, entry, request):
        self.connection = entry.connect()
        self.connection.socket.setblocking(False)
        self.rest = request

    def send_a_byte(self):
        try:
            count = self.connection.socket.send(self.rest[:1])
        except OSError:
            return 0
        self.rest = self.rest[count:]
        return count
