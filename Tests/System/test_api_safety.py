#!/usr/bin/env python3
"""What keeps the local API from others: pages of other origins, programs without the token, and clients that send what
two readers could understand in two ways, or that are slow, greedy, or gone in the middle."""

# time limit: 300 s

import json
import re
import resource
import socket
import stat

from websockets.exceptions import ConnectionClosed

from live_client import Live
from local_api import Entry, check_answer, request_bytes
from peerd_harness import CheckFailed, World, check, main_of_test, run_together, say, wait_until

GOOD_ORIGIN = "https://app.example"
EVIL_ORIGIN = "https://evil.example"
SLOW_CLIENTS = 1_000
CONNECTIONS_MAX = 256
BODY_BYTES_MAX = 8 << 20
HEADER_BYTES_MAX = 32 << 10


def expect(entry, status, fields, method="GET", target="/api/status", body=None):
    """One request with exactly these fields, on a connection of its own."""
    with entry.connect() as connection:
        connection.send(request_bytes(method, target, fields, body))
        answer = connection.read(method)
    what = f"{method} {target} {fields}"
    check(answer.status == status, f"{what}: {answer.status}, not {status}: {answer.body[:300]!r}")
    check_answer(answer, what, method)
    return answer


def check_hosts(entry):
    """The server answers to its own names only, so that no name can be made to lead to it (DNS rebinding)."""
    port, token = entry.port, ("Authorization", f"Bearer {entry.token}")
    for host in (f"127.0.0.1:{port}", f"localhost:{port}", f"[::1]:{port}", f"LOCALHOST:{port}"):
        expect(entry, 200, [("Host", host), token])
    for host in (
        "",
        "localhost",
        "127.0.0.1",
        "127.0.0.1:80",
        f"127.0.0.1:{port + 1}",
        f"evil.example:{port}",
        "evil.example",
        f"localhost.evil.example:{port}",
        f"127.0.0.1.nip.io:{port}",
        f"localhost:{port}.evil.example",
        f"[::]:{port}",
        f"0.0.0.0:{port}",
        f"127.0.0.2:{port}",
        f"2130706433:{port}",
        f"0x7f.1:{port}",
        f"localhost.:{port}",
        f"user@localhost:{port}",
        f"localhost:{port}, evil.example",
        f"[::ffff:127.0.0.1]:{port}",
        f"localhost:0{port}",
    ):
        for target in ("/api/status", "/healthz", "/", "/open/0123456789abcdef", "/ws/sync"):
            answer = expect(entry, 421, [("Host", host), token], target=target)
            check(answer.json["code"] == "misdirected" and answer.json["advice"], f"{host}: {answer.json}")
    expect(entry, 400, [token])
    expect(entry, 400, [("Host", entry.host), ("Host", entry.host), token])
    expect(entry, 400, [("Host", entry.host), ("Host", "evil.example"), token])
    # A preflight is no way around.
    preflight = [("Origin", GOOD_ORIGIN), ("Access-Control-Request-Method", "GET")]
    expect(entry, 421, [("Host", f"evil.example:{port}"), *preflight], "OPTIONS")


def check_token(entry):
    host = ("Host", entry.host)
    targets = (
        "/api/status",
        "/",
        "/metrics",
        "/api/objects",
        "/ws/sync",
        "/nothing",
        "/api/openapi.json",
        "/open",
        "/open/",
        "/open/a/b",
        "/healthz/",
        "/healthz/x",
        "//healthz",
        "/peerd.js",
        "/api/links",
    )
    for target in targets:
        if target.startswith("/open/"):
            continue
        answer = expect(entry, 401, [host], target=target)
        check(answer.field("WWW-Authenticate") == "Bearer" and answer.json["advice"], f"{target}: {answer.fields}")
    for value in (
        "",
        "Bearer",
        "Bearer ",
        f"Bearer {entry.token[:-1]}",
        f"Bearer {entry.token}0",
        f"Basic {entry.token}",
        entry.token,
        f"Bearer {entry.token.upper()}",
        "Bearer " + "0" * 64,
        f"Bearer x, Bearer {entry.token}",
    ):
        expect(entry, 401, [host, ("Authorization", value)])
    # A token elsewhere is no token, and would end up in logs and histories.
    expect(entry, 401, [host], target=f"/api/status?token={entry.token}")
    expect(entry, 401, [host], target=f"/api/status?access_token={entry.token}")
    expect(entry, 401, [host, ("Cookie", f"peerd-{entry.port}={entry.token}")])
    expect(entry, 401, [host, ("Authorization", "Bearer x"), ("Authorization", f"Bearer {entry.token}")])
    for method in ("POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "CONNECT", "TRACE"):
        expect(entry, 401, [host], method)
    expect(entry, 401, [host], "POST", "/api/objects", b'{"type":"stolen"}')
    check(entry.get("/api/objects/count?type=stolen") == {"count": 0}, "a write without the token was done")
    expect(entry, 200, [host], target="/healthz")
    expect(entry, 200, [host, ("Authorization", f"bearer {entry.token}")])
    # A browser is shown a page, which names no secret and runs nothing.
    page = raw_answer(entry, [host, ("Accept", "text/html,*/*")], target="/")
    check(page.status == 401 and page.field("Content-Type").startswith("text/html"), f"{page}")
    check(b"peerd open" in page.body and b"<script" not in page.body and b"style" not in page.body, f"{page.body!r}")


def raw_answer(entry, fields, method="GET", target="/api/status"):
    with entry.connect() as connection:
        return connection.ask(method, target, fields)


def open_link(peer):
    """Host and path of a new link, as `peerd open --print` prints it."""
    link = peer.run("open", "--print")
    found = re.fullmatch(r"http://([0-9a-f]{16}\.localhost:\d+)(/open/[0-9a-f]{32})", link)
    check(found, f"open --print printed {link}")
    return found[1], found[2]


def check_links(peer, entry):
    page_host, path = open_link(peer)
    host = ("Host", page_host)
    # By another name the link lets nobody in, and is not used up.
    for name in (entry.host, f"localhost:{entry.port}", f"0123456789abcdef.localhost:{entry.port}"):
        answer = raw_answer(entry, [("Host", name)], target=path)
        check(answer.status in (401, 421) and page_host.encode() not in answer.body, f"a link by {name}: {answer}")
    first = expect(entry, 303, [host], target=path)
    check(first.field("Location") == "/", f"{first.fields}")
    cookie = first.field("Set-Cookie")
    name, _, value = cookie.split(";")[0].partition("=")
    attributes = {part.strip().lower() for part in cookie.split(";")[1:]}
    check(name == f"peerd-{entry.port}" and {"httponly", "samesite=strict", "path=/"} <= attributes, f"{cookie}")
    check(entry.token not in cookie, "the cookie is the token")
    for _ in range(2):
        check("Set-Cookie" not in dict(expect(entry, 401, [host], target=path).fields), "a link works twice")
    for code in ("", "0" * 32, "x", path.rsplit("/", 1)[1][:-1]):
        expect(
            entry, 401 if code else 404, [host, ("Authorization", f"Bearer {entry.token}")], target=f"/open/{code}"
        )
    # Of two browsers that take the same link at the same time, one is let in.
    (_, path), statuses = open_link(peer), []
    run_together([lambda: statuses.append(raw_answer(entry, [host], target=path).status) for _ in range(8)])
    check(sorted(statuses) == [303] + [401] * 7, f"eight browsers with one link: {statuses}")
    return (name, value, page_host)


def check_cookie(entry, name, value, page_host):
    """A cookie that a page of another origin makes the browser send is of no use to it."""
    host, cookie = ("Host", page_host), ("Cookie", f"a=b; {name}={value}; c=d")
    same = f"http://{page_host}"
    # Browsers send a cookie to every port of its host, so it is for a host that others do not know.
    for name_of_host in (entry.host, f"localhost:{entry.port}"):
        expect(entry, 401, [("Host", name_of_host), cookie])
    for fields in (
        [],
        [("Origin", same)],
        [("Sec-Fetch-Site", "same-origin")],
        [("Sec-Fetch-Site", "none")],
        [("Origin", same), ("Sec-Fetch-Site", "same-origin")],
    ):
        expect(entry, 200, [host, cookie, *fields])
    for fields in (
        [("Origin", EVIL_ORIGIN)],
        [("Origin", "null")],
        [("Origin", "")],
        [("Origin", f"http://localhost:{entry.port + 1}")],
        [("Origin", f"https://{page_host}")],
        [("Origin", f"http://{entry.host}")],
        [("Origin", f"{same}.evil.example")],
        [("Origin", f"{same}/")],
        [("Origin", GOOD_ORIGIN)],
        [("Sec-Fetch-Site", "cross-site")],
        [("Sec-Fetch-Site", "same-site")],
        [("Sec-Fetch-Site", "")],
        [("Origin", same), ("Sec-Fetch-Site", "cross-site")],
        [("Origin", EVIL_ORIGIN), ("Sec-Fetch-Site", "same-origin")],
        [("Origin", same), ("Origin", EVIL_ORIGIN)],
    ):
        for method, target, body in (("GET", "/api/status", None), ("POST", "/api/objects", b'{"type":"stolen"}')):
            answer = expect(entry, 403, [host, cookie, *fields], method, target, body)
            check(answer.json["code"] == "forbidden" and answer.json["advice"], f"{fields}: {answer.json}")
            check(
                answer.field("Access-Control-Allow-Origin") is None or fields == [("Origin", GOOD_ORIGIN)],
                f"{fields}",
            )
    check(entry.get("/api/objects/count?type=stolen") == {"count": 0}, "a page of another origin has written")
    for wrong in (
        f"{name}={value[:-1]}",
        f"{name}={value}0",
        f"{name}",
        f"{name}=",
        f"x{name}={value}",
        f"{name}x={value}",
    ):
        expect(entry, 401, [host, ("Cookie", wrong)])
    expect(entry, 200, [host, ("Cookie", "a=b"), cookie])


def check_sharing(entry):
    """Pages of an origin that --allow-origin names may use the API with the token, and no others."""
    host, token = ("Host", entry.host), ("Authorization", f"Bearer {entry.token}")
    asks = [("Access-Control-Request-Method", "PATCH"), ("Access-Control-Request-Headers", "authorization")]
    answer = expect(entry, 204, [host, ("Origin", GOOD_ORIGIN), *asks], "OPTIONS", "/api/objects")
    check(
        answer.field("Access-Control-Allow-Origin") == GOOD_ORIGIN and answer.field("Vary") == "Origin", f"{answer}"
    )
    check("PATCH" in answer.field("Access-Control-Allow-Methods"), f"{answer.fields}")
    check("Authorization" in answer.field("Access-Control-Allow-Headers"), f"{answer.fields}")
    check(answer.field("Access-Control-Allow-Credentials") is None, "cookies are shared with another origin")
    answer = raw_answer(entry, [host, token, ("Origin", GOOD_ORIGIN), ("Sec-Fetch-Site", "cross-site")])
    check(answer.status == 200 and answer.field("Access-Control-Allow-Origin") == GOOD_ORIGIN, f"{answer.fields}")
    check(answer.field("Access-Control-Allow-Credentials") is None, "cookies are shared with another origin")
    for origin in (
        EVIL_ORIGIN,
        "null",
        f"{GOOD_ORIGIN}.evil.example",
        GOOD_ORIGIN.upper(),
        f"{GOOD_ORIGIN}:443",
        "*",
    ):
        answer = expect(entry, 401, [host, ("Origin", origin), *asks], "OPTIONS", "/api/objects")
        check(not any(key.startswith("access-control") for key, _ in answer.fields), f"{origin}: {answer.fields}")
        answer = expect(entry, 200, [host, token, ("Origin", origin)])
        check(not any(key.startswith("access-control") for key, _ in answer.fields), f"{origin}: {answer.fields}")
        answer = expect(entry, 401, [host, ("Origin", origin)])
        check(not any(key.startswith("access-control") for key, _ in answer.fields), f"{origin}: {answer.fields}")


def check_shared_refusals(entry, name, value, page_host):
    """A page of an allowed origin can read why it was refused; one that came by another name cannot."""
    host, token, origin = ("Host", entry.host), ("Authorization", f"Bearer {entry.token}"), ("Origin", GOOD_ORIGIN)
    wrong = ("Authorization", "Bearer " + "0" * 64)
    cookie = ("Cookie", f"{name}={value}")
    for status, fields in ((401, [host]), (401, [host, wrong]), (403, [("Host", page_host), cookie]),
                           (415, [host, token, ("Content-Type", "text/plain")])):
        for method, body in (("POST", b"{}"), ("POST", b""), ("GET", None)):
            if status == 415 and method == "GET":
                continue
            answer = expect(entry, status, [*fields, origin], method, "/api/objects", body)
            what = f"{status} to {method}: {answer.fields}"
            check(answer.field("Access-Control-Allow-Origin") == GOOD_ORIGIN and answer.field("Vary") == "Origin", what)
            check(answer.field("Access-Control-Allow-Credentials") is None, what)
    answer = expect(entry, 421, [("Host", f"evil.example:{entry.port}"), origin])
    check(not any(key.startswith("access-control") for key, _ in answer.fields), f"{answer.fields}")


def check_strangers(entry):
    """Strangers that fill all places do not end the connections of clients, however those were let in."""
    with Live(entry) as early, Live(entry, [], hello=False) as late, entry.connect() as kept:
        late.send({"type": "auth", "bearer": entry.token})
        late.receive("hello")
        check(kept.ask("GET", "/api/status", entry.fields).status == 200, "a client")
        # Nothing that it sends makes a stranger a client.
        unknown = Live(entry, [], hello=False)
        strangers = []
        for number in range(2 * CONNECTIONS_MAX):
            strangers.append(socket.create_connection(entry.address, timeout=10))
            if number % 32 == 0:
                late.settle()
                try:
                    unknown.socket.pong()
                except ConnectionClosed:
                    pass
        check(early.settle() == [] and late.settle() == [], "a WebSocket was ended by strangers")
        check(kept.ask("GET", "/api/status", entry.fields).status == 200, "a connection was ended by strangers")
        check(unknown.close_code() in (None, 4401), "a WebSocket that never said who it is was kept")
        for stranger in strangers:
            stranger.close()


def check_secrets(peer, entry, cookie):
    for name in ("api", "socket"):
        mode = stat.S_IMODE((peer.directory / name).lstat().st_mode)
        check(mode == 0o600, f"{name} has mode {mode:o}")
    token = entry.token
    check(re.fullmatch("[0-9a-f]{64}", token), f"a token of {len(token)} characters")
    check(peer.json("api")["token"] == token, "peerd api prints another token")
    check(peer.run("api", "--header") == f"Authorization: Bearer {token}", "peerd api --header")
    peer.restart(words=["--allow-origin", GOOD_ORIGIN, "--http-port", str(entry.port)])
    check(Entry.loopback(peer).token == token, "the token does not survive a restart")
    expect(entry, 200, [("Host", cookie[2]), ("Cookie", "=".join(cookie[:2]))])
    log = peer.log_path.read_text()
    for secret in (token, cookie[1]):
        check(secret not in log, "a secret is in the log")
    check("/open/" not in log, "a link is in the log")
    # Without loopback there is no file, and no one to answer.
    peer.restart(words=["--no-http"])
    check(not (peer.directory / "api").exists(), "the file api is there without loopback")
    check(Entry.socket(peer).get("/healthz") == {"status": "ok"}, "the socket without loopback")
    try:
        socket.create_connection(entry.address, timeout=5).close()
        check(False, "loopback is served with --no-http")
    except ConnectionRefusedError:
        pass
    peer.restart()


def exchange(entry, data, methods=("GET",), ended=True):
    """Sends bytes, and returns the answers to them; the connection must end behind them if `ended`."""
    with entry.connect() as connection:
        try:
            connection.send(data)
        except (BrokenPipeError, ConnectionResetError):
            pass
        answers = [connection.read(method) for method in methods]
        if ended:
            check(connection.is_ended(), f"{data[:200]!r}: the connection goes on")
    return answers


def check_smuggling(entry):
    """What two readers could understand in two ways is refused, and the connection ends."""
    head = "".join(f"{name}: {value}\r\n" for name, value in entry.fields)
    hidden = f"GET /api/status HTTP/1.1\r\n{head}\r\n"
    post = f"POST /api/objects HTTP/1.1\r\n{head}"
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
        try:
            (answer,) = exchange(entry, text.encode("latin-1"))
        except CheckFailed as failure:
            raise CheckFailed(f"{what}: {failure}") from None
        check(answer.status in (400, 501), f"{what}: {answer.status} {answer.body[:200]!r}")
        check_answer(answer, what)
    # A broken body is answered, too, and what seems to follow it is no request.
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
        (answer,) = exchange(entry, f"{post}Transfer-Encoding: chunked\r\n\r\n{text}{hidden}".encode())
        check(answer.status == 400, f"{what}: {answer.status}")
        check_answer(answer, what)
    # These are requests, and cannot be carried out; the connection may go on.
    for target in (f"http://{entry.host}/api/status", "http://evil.example/api/status", "*", "ws://localhost/"):
        for method in ("GET", "OPTIONS"):
            (answer,) = exchange(entry, f"{method} {target} HTTP/1.1\r\n{head}\r\n".encode(), ended=False)
            check(answer.status == 400, f"{method} {target}: {answer.status}")
            check_answer(answer, f"{method} {target}")
    for target in (entry.host if entry.name == "loopback" else "localhost:80", "evil.example:443"):
        (answer,) = exchange(entry, f"CONNECT {target} HTTP/1.1\r\n{head}\r\n".encode(), ended=False)
        check(answer.status == 400, f"CONNECT {target}: {answer.status}")
    check(entry.get("/api/objects/count?type=smuggled") == {"count": 0}, "a request that was refused has written")


def check_limits(entry):
    def status(*fields, target="/healthz"):
        (answer,) = exchange(entry, request_bytes("GET", target, [*entry.fields, *fields]), ended=False)
        check_answer(answer, f"GET {target[:50]}, {len(fields)} fields")
        return answer.status

    room = HEADER_BYTES_MAX - 2_000
    check(status(("X", "a" * room)) == 200 and status(*[("X", "a")] * 200) == 200, "a header within the limits")
    check(status(target="/healthz?" + "a" * 8_000) == 200, "a long target")
    for fields in (
        [("X", "a" * HEADER_BYTES_MAX)],
        [("X", "a" * 100_000)],
        [("X", "a" * 2_000_000)],
        [("X" * 100_000, "a")],
        [("X", "a" * 100)] * 20_000,
        [(f"X{n}", "") for n in range(20_000)],
    ):
        check(status(*fields) == 431, f"a header of {len(fields)} fields is not too large")
    check(
        status(target="/" + "a" * 20_000) in (400, 414, 431) and status(target="/" + "a" * 500_000) in (414, 431),
        "target",
    )

    # A body beyond the limit, announced and in chunks: the answer comes although the client is still sending.
    for size in (BODY_BYTES_MAX + 1, 32 << 20):
        body = b'"' + b"a" * (size - 2) + b'"'
        chunked = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces(body, 1 << 20)) + b"0\r\n\r\n"
        length = ("Content-Length", str(size))
        for fields, data in (([length], body), ([("Transfer-Encoding", "chunked")], chunked)):
            head = request_bytes("PUT", "/api/projects/large", [*entry.fields, *fields])
            (answer,) = exchange(entry, head + data, ended=False)
            check(answer.status == 413, f"a body of {size} bytes: {answer.status}")
            check_answer(answer, "a body that is too large")
    (answer,) = exchange(
        entry,
        request_bytes("POST", "/api/nothing", [*entry.fields, ("Content-Length", str(size))]) + body,
        ended=False,
    )
    check(answer.status == 404, f"a body that nobody reads: {answer.status}")
    if entry.name == "loopback":
        head = request_bytes("POST", "/api/objects", [entry.fields[0], ("Content-Length", str(size))])
        (answer,) = exchange(entry, head + body)
        check(answer.status == 401, f"a body without a token: {answer.status}")
    check(entry.ask("GET", "/api/projects/large").status == 404, "a body beyond the limit was stored")


def pieces(data, size):
    return [data[begin : begin + size] for begin in range(0, len(data), size)]


def check_connections(entry):
    """Requests behind each other, bodies in pieces, versions, and ends in the middle."""
    get = request_bytes("GET", "/healthz", entry.fields)
    objects = request_bytes("GET", "/api/objects?limit=1", entry.fields)
    head = request_bytes("HEAD", "/api/export", entry.fields)
    export = request_bytes("GET", "/api/export", entry.fields)
    post = request_bytes("POST", "/api/objects", entry.fields, json.dumps({"type": f"piped-{entry.name}"}).encode())
    bad = request_bytes("POST", "/api/objects", entry.fields, b"{")
    none = request_bytes("DELETE", "/api/objects/00000000-0000-4000-8000-000000000000", entry.fields)
    train = [
        ("GET", get, 200),
        ("POST", post, 201),
        ("GET", objects, 200),
        ("HEAD", head, 200),
        ("POST", bad, 400),
        ("GET", export, 200),
        ("DELETE", none, 404),
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
    check(
        entry.get(f"/api/objects/count?type=piped-{entry.name}") == {"count": 12},
        "a train of requests left one out, or did one twice",
    )
    # Behind a request that breaks the rules nothing is carried out.
    with entry.connect() as connection:
        connection.send(get + b"nonsense\r\n\r\n" + post)
        check(connection.read().status == 200 and connection.read().status == 400, "nonsense behind a request")
        check(connection.is_ended(), "a connection goes on behind nonsense")
    with entry.connect() as connection:
        connection.send(request_bytes("GET", "/healthz", [*entry.fields, ("Connection", "close")]) + post)
        check(connection.read().field("Connection") == "close" and connection.is_ended(), "Connection: close")
    check(
        entry.get(f"/api/objects/count?type=piped-{entry.name}") == {"count": 12}, "a request behind the end was done"
    )
    check_old_version(entry)
    check_chunks(entry)
    check_expectation(entry)
    check_cut(entry)


def check_old_version(entry):
    for target in ("/healthz", "/api/export", "/api/objects", "/nothing"):
        for fields in ([], [("Connection", "keep-alive")]):
            with entry.connect() as connection:
                connection.send(request_bytes("GET", target, [*entry.fields, *fields], version="HTTP/1.0"))
                answer = connection.read()
                check(answer.field("Transfer-Encoding") is None, f"HTTP/1.0 {target}: chunks")
                check(answer.field("Connection") == "close" and connection.is_ended(), f"HTTP/1.0 {target} goes on")
                check(json.loads(answer.body) is not None, f"HTTP/1.0 {target}: {answer.body[:50]!r}")


def check_chunks(entry):
    body = json.dumps({"type": f"chunked-{entry.name}", "properties": {"text": "ü" * 1000}}).encode()
    for size, extension in ((1, b""), (7, b";a=b"), (len(body), b"")):
        with entry.connect() as connection:
            connection.send(request_bytes("POST", "/api/objects", [*entry.fields, ("Transfer-Encoding", "Chunked")]))
            for piece in pieces(body, size):
                connection.send(b"%x%s\r\n%s\r\n" % (len(piece), extension, piece))
            connection.send(b"0\r\nX-Trailer: y\r\n\r\n" + request_bytes("GET", "/healthz", entry.fields))
            answer = connection.read()
            check(answer.status == 201 and answer.json["properties"]["text"] == "ü" * 1000, f"chunks of {size}")
            check(connection.read().status == 200, f"behind chunks of {size}")
    check(entry.get(f"/api/objects/count?type=chunked-{entry.name}") == {"count": 3}, "chunks")


def check_expectation(entry):
    body = b'{"type":"expected"}'
    expects = [*entry.fields, ("Expect", "100-continue"), ("Content-Length", str(len(body)))]
    with entry.connect() as connection:
        connection.send(request_bytes("POST", "/api/objects", expects))
        answer = connection.read(skips_continue=False)
        check(answer.status == 100, f"Expect: {answer.status}")
        connection.send(body)
        check(connection.read().status == 201, "a body after 100")
        connection.send(request_bytes("GET", "/healthz", entry.fields))
        check(connection.read().status == 200, "behind a body after 100")
    if entry.name == "loopback":
        with entry.connect() as connection:
            connection.send(request_bytes("POST", "/api/objects", [entry.fields[0], *expects[2:]]))
            check(connection.read(skips_continue=False).status == 401, "a body without a token is asked for")


def check_cut(entry):
    whole = request_bytes("POST", "/api/objects", entry.fields, b'{"type":"cut"}')
    chunked = request_bytes("POST", "/api/objects", [*entry.fields, ("Transfer-Encoding", "chunked")])
    data = b'[{"type":"cut"}' + b" " * 5_000_000
    imported = request_bytes("POST", "/api/import", [*entry.fields, ("Content-Length", "9000000")]) + data
    for data in (
        whole[:10],
        whole[:-1],
        chunked + b'e\r\n{"type":"cut"}',
        chunked + b'e\r\n{"type":"cut"}\r\n',
        imported,
    ):
        for is_reset in (False, True):
            with entry.connect() as connection:
                connection.send(data)
                if is_reset:
                    # Closing now resets the connection.
                    connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                else:
                    connection.end_of_sending()
                    rest = connection.rest()
                    check(not rest or rest.startswith(b"HTTP/1.1 400"), f"a body cut short: {rest[:200]!r}")
    wait_until(lambda: entry.get("/healthz"), 10, "the server is well")
    check(entry.get("/api/objects/count?type=cut") == {"count": 0}, "a body that was cut short was taken for whole")
    # Whoever goes away while the answer is written harms nobody.
    for _ in range(20):
        with entry.connect() as connection:
            connection.send(request_bytes("GET", "/api/export", entry.fields) * 10)
            connection.socket.recv(10)
    with entry.connect() as connection:
        connection.send(
            request_bytes("GET", "/api/changes?wait=60&since=" + entry.get("/api/changes")["token"], entry.fields)
        )
    check(entry.get("/healthz") == {"status": "ok"}, "the server is not well")


def check_slow_clients(peer):
    """A thousand clients that send a byte now and then do not keep an honest one from being answered."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(limits[1], max(limits[0], 4 * SLOW_CLIENTS)), limits[1]))
    for entry in (Entry.loopback(peer), Entry.socket(peer)):
        honest = entry.connect()
        check(honest.ask("GET", "/healthz", entry.fields).status == 200, "an honest client")
        slow, sent = [], 0
        request = request_bytes("GET", "/api/status", entry.fields)
        try:
            for number in range(SLOW_CLIENTS):
                slow.append(SlowClient(entry, request))
                if number % 50 == 0:
                    sent += sum(client.send_a_byte() for client in slow)
                    check(
                        honest.ask("GET", "/api/status", entry.fields).status == 200,
                        "an honest connection that is kept",
                    )
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
        say(f"{SLOW_CLIENTS} slow clients of the {entry.name}, {sent} bytes")


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


def run():
    with World("safety") as world:
        peer = world.founder("first")
        peer.start(words=["--allow-origin", GOOD_ORIGIN])
        entry = Entry.loopback(peer)
        check_hosts(entry)
        check_token(entry)
        cookie = check_links(peer, entry)
        check_cookie(entry, *cookie)
        check_sharing(entry)
        check_shared_refusals(entry, *cookie)
        check_strangers(entry)
        say("hosts, tokens, links, cookies, origins")
        check_secrets(peer, entry, cookie)
        for entry in (Entry.socket(peer), Entry.loopback(peer)):
            check_smuggling(entry)
            check_limits(entry)
            check_connections(entry)
            say(f"HTTP on the {entry.name}")
        check_slow_clients(peer)
        for entry in (Entry.socket(peer), Entry.loopback(peer)):
            check(entry.get("/healthz") == {"status": "ok"}, "the server has suffered")


if __name__ == "__main__":
    main_of_test(run)
