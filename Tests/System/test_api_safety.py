"""What keeps the local API from others: pages of other origins, programs without the token, names that were made to
lead to it, and strangers that take all connections."""

import os
import re
import socket
import stat
import subprocess
from types import SimpleNamespace

import pytest
from websockets.exceptions import ConnectionClosed

from live_client import Live
from local_api import Entry, check_answer, request_bytes, serve
from browser import PATIENCE_SECONDS
from peerd_harness import check, free_port, program, run_together, wait_until

GOOD_ORIGIN = "https://app.example"
EVIL_ORIGIN = "https://evil.example"
CONNECTIONS_MAX = 256


@pytest.fixture
def entry(world):
    # A port that no other daemon takes while this one is down.
    return serve(world, words=["--allow-origin", GOOD_ORIGIN, "--http-port", str(free_port())])


@pytest.fixture
def host(entry):
    return ("Host", entry.host)


@pytest.fixture
def token(entry):
    return ("Authorization", f"Bearer {entry.token}")


def expect(entry, status, fields, method="GET", target="/api/status", body=None):
    """One request with exactly these fields, on a connection of its own."""
    with entry.connect() as connection:
        connection.send(request_bytes(method, target, fields, body))
        answer = connection.read(method)
    what = f"{method} {target} {fields}"
    check(answer.status == status, f"{what}: {answer.status}, not {status}: {answer.body[:300]!r}")
    check_answer(answer, what, method)
    return answer


def raw_answer(entry, fields, target="/api/status"):
    with entry.connect() as connection:
        return connection.ask("GET", target, fields)


def is_shared(answer):
    """Whether a page of another origin is let near the answer."""
    return any(key.startswith("access-control") for key, _ in answer.fields)


# Hosts and tokens.


def test_the_server_answers_to_its_own_names_only(entry, token, subtests):
    """No name can be made to lead to it (DNS rebinding)."""
    port = entry.port
    for name in (f"127.0.0.1:{port}", f"localhost:{port}", f"[::1]:{port}", f"LOCALHOST:{port}"):
        with subtests.test(name):
            expect(entry, 200, [("Host", name), token])
    for name in (
        "", "localhost", "127.0.0.1", "127.0.0.1:80", f"127.0.0.1:{port + 1}", f"evil.example:{port}", "evil.example",
        f"localhost.evil.example:{port}", f"127.0.0.1.nip.io:{port}", f"localhost:{port}.evil.example",
        f"[::]:{port}", f"0.0.0.0:{port}", f"127.0.0.2:{port}", f"2130706433:{port}", f"0x7f.1:{port}",
        f"localhost.:{port}", f"user@localhost:{port}", f"localhost:{port}, evil.example",
        f"[::ffff:127.0.0.1]:{port}", f"localhost:0{port}",
    ):
        with subtests.test(name):
            for target in ("/api/status", "/healthz", "/", "/open/0123456789abcdef", "/ws/sync"):
                answer = expect(entry, 421, [("Host", name), token], target=target)
                check(answer.json["code"] == "misdirected" and answer.json["advice"], f"{name}: {answer.json}")


def test_whoever_forwards_another_port_is_told_which(entry, token):
    """As with ssh -L 9000:localhost:8080."""
    for name in ("localhost:9000", "127.0.0.1:9000", "[::1]:9000", "localhost"):
        advice = expect(entry, 421, [("Host", name), token], target="/").json["advice"]
        check(f"-L {entry.port}:localhost:{entry.port}" in advice, f"{name}: {advice}")
    advice = expect(entry, 421, [("Host", "evil.example"), token], target="/").json["advice"]
    check("ssh" not in advice, advice)


def test_a_request_names_one_host(entry, host, token):
    expect(entry, 400, [token])
    expect(entry, 400, [host, host, token])
    expect(entry, 400, [host, ("Host", "evil.example"), token])


def test_a_preflight_is_no_way_around_the_host(entry):
    preflight = [("Origin", GOOD_ORIGIN), ("Access-Control-Request-Method", "GET")]
    expect(entry, 421, [("Host", f"evil.example:{entry.port}"), *preflight], "OPTIONS")


def test_nothing_but_health_is_shown_without_the_token(entry, host, token, subtests):
    for target in (
        "/api/status", "/", "/metrics", "/api/objects", "/ws/sync", "/nothing", "/api/openapi.json", "/open",
        "/healthz/", "/healthz/x", "//healthz", "/peerd.js", "/api/links",
    ):
        with subtests.test(target):
            answer = expect(entry, 401, [host], target=target)
            check(answer.field("WWW-Authenticate") == "Bearer" and answer.json["advice"], f"{answer.fields}")
    for method in ("POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "CONNECT", "TRACE"):
        with subtests.test(method):
            expect(entry, 401, [host], method)
    expect(entry, 401, [host], "POST", "/api/objects", b'{"type":"stolen"}')
    check(entry.count(type="stolen") == 0, "a write without the token was done")
    expect(entry, 200, [host], target="/healthz")
    expect(entry, 200, [host, ("Authorization", f"bearer {entry.token}")])


def test_what_is_like_the_token_is_not_the_token(entry, host, token, subtests):
    for value in (
        "", "Bearer", "Bearer ", f"Bearer {entry.token[:-1]}", f"Bearer {entry.token}0", f"Basic {entry.token}",
        entry.token, f"Bearer {entry.token.upper()}", "Bearer " + "0" * 64, f"Bearer x, Bearer {entry.token}",
    ):
        with subtests.test(value.replace(entry.token, "…")):
            expect(entry, 401, [host, ("Authorization", value)])
    # A token elsewhere is no token, and would end up in logs and histories.
    expect(entry, 401, [host], target=f"/api/status?token={entry.token}")
    expect(entry, 401, [host], target=f"/api/status?access_token={entry.token}")
    expect(entry, 401, [host, ("Cookie", f"peerd-{entry.port}={entry.token}")])
    expect(entry, 401, [host, ("Authorization", "Bearer x"), token])


def test_a_browser_without_the_token_is_shown_a_page(entry, host):
    """It names no secret and runs nothing."""
    page = raw_answer(entry, [host, ("Accept", "text/html,*/*")], target="/")
    check(page.status == 401 and page.field("Content-Type").startswith("text/html"), f"{page}")
    check(b"peerd open" in page.body and b"<script" not in page.body and b"style" not in page.body, f"{page.body!r}")


# Links, and the cookies that they give.


def open_link(entry):
    """Host and path of a new link, as `peerd open --print` prints it."""
    link = entry.peer.run("open", "--print")
    found = re.fullmatch(r"http://([0-9a-f]{16}\.localhost:\d+)(/open/[0-9a-f]{32})", link)
    check(found, f"open --print printed {link}")
    return found[1], found[2]


@pytest.fixture
def cookie(entry):
    """The cookie of a page of the server's own, and the host of that page."""
    page_host, path = open_link(entry)
    return let_in(entry, page_host, path)


def let_in(entry, page_host, path):
    text = expect(entry, 200, [("Host", page_host)], target=path).field("Set-Cookie")
    name, _, value = text.split(";")[0].partition("=")
    field = ("Cookie", f"{name}={value}")
    return SimpleNamespace(text=text, name=name, value=value, host=page_host, path=path, field=field)


def page_socket(entry, cookie):
    """A WebSocket of a page that is signed in."""
    return Live(entry, [cookie.field], f"http://{cookie.host}", host=cookie.host)


def test_a_link_works_once_and_by_its_own_name(entry, token):
    page_host, path = open_link(entry)
    # By another name the link lets nobody in, and is not used up.
    for name in (entry.host, f"localhost:{entry.port}", f"0123456789abcdef.localhost:{entry.port}"):
        answer = raw_answer(entry, [("Host", name)], path)
        check(answer.status in (401, 421) and page_host.encode() not in answer.body, f"a link by {name}: {answer}")
    first = expect(entry, 200, [("Host", page_host)], target=path)
    check(b'content="0;url=/"' in first.body and b"<script" not in first.body, f"{first.body}")
    for _ in range(2):
        again = expect(entry, 401, [("Host", page_host)], target=path)
        check(again.field("Set-Cookie") is None, "a link works twice")
    for code in ("", "0" * 32, "x", path.rsplit("/", 1)[1][:-1]):
        expect(entry, 401 if code else 404, [("Host", page_host), token], target=f"/open/{code}")


def test_of_browsers_that_take_one_link_at_once_one_is_let_in(entry):
    (page_host, path), statuses = open_link(entry), []
    page = [("Host", page_host)]
    run_together([lambda: statuses.append(raw_answer(entry, page, path).status) for _ in range(8)])
    check(sorted(statuses) == [200] + [401] * 7, f"eight browsers with one link: {statuses}")
    check(entry.peer.json("sessions") == [], "one of two who used a link is still in")


def test_who_uses_a_link_second_signs_out_the_first_and_both_are_told(entry, cookie):
    """Nobody knows which of them had a right to it."""
    page = ("Host", cookie.host)
    # The same browser may come back to it.
    expect(entry, 200, [page, cookie.field], target=cookie.path)
    expect(entry, 200, [page, cookie.field])
    with page_socket(entry, cookie) as live:
        for fields in ([page], [page, cookie.field]):
            answer = expect(entry, 401, fields, target=cookie.path if fields == [page] else "/api/status")
            check("a second time" in answer.json["detail"] and answer.json["advice"], f"{answer.json}")
        check(live.close_code() is None, "the WebSocket of the first goes on")


def test_browsers_are_listed_and_signed_out(entry, cookie):
    peer, page = entry.peer, ("Host", cookie.host)
    other = let_in(entry, *open_link(entry))
    third = let_in(entry, *open_link(entry))
    [first, second, last] = peer.json("sessions")
    check(not first["current"] and first["begun_ms"] <= first["last_asked_ms"], f"{first}")
    answer = expect(entry, 200, [page, other.field], target="/api/sessions")
    check([session["current"] for session in answer.json["sessions"]] == [False, True, False], f"{answer.json}")
    for secret in (cookie.value, other.value, entry.token):
        check(secret.encode() not in answer.body, "the list has a secret")
    with page_socket(entry, cookie) as one:
        with page_socket(entry, other) as two:
            check(peer.json("sessions")[0]["connections"] == 1, "a WebSocket is not counted")
            check(second["id"] not in peer.run("sessions", "end", second["id"]), "it is still in the list")
            check(two.close_code() is None, "the WebSocket of a browser that was signed out goes on")
        expect(entry, 401, [page, other.field])
        check(one.settle() == [], "that of another one does not")
    check(peer.result("sessions", "end", second["id"]).returncode == 3, "nobody is signed in by that id")
    check(peer.result("sessions", "end").returncode == 2, "who is to be signed out?")
    peer.run("sessions", "end", "all")
    check(peer.json("sessions") == [], "some are still in")
    for former in (cookie, third):
        expect(entry, 401, [page, former.field])
    check(last["id"] != first["id"], "two browsers have one id")


def test_a_former_name_and_cookie_are_worth_nothing_after_a_start(entry, cookie, token):
    """While the daemon is down, whoever takes its port is sent both, and may leave a service worker behind."""
    peer, same = entry.peer, f"http://{cookie.host}"
    peer.restart(words=["--http-port", str(entry.port)])
    page_host, path = open_link(entry)
    check(page_host != cookie.host, "the name of pages is the one of the former start")
    for target in ("/", "/healthz", "/api/status", "/dashboard/app.js", path):
        answer = expect(entry, 401, [("Host", cookie.host), cookie.field, token], target=target)
        if target != path:
            check("started anew" in answer.json["detail"] and "peerd open" in answer.json["advice"], f"{answer.json}")
        check(page_host.encode() not in answer.body, "the new name is told to a page of the old one")
    with entry.connect() as connection:
        connection.send(
            request_bytes("GET", "/ws/sync", [
                ("Host", cookie.host), cookie.field, ("Origin", same), ("Connection", "Upgrade"),
                ("Upgrade", "websocket"), ("Sec-WebSocket-Version", "13"),
                ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
            ])
        )
        check(connection.read().status == 401, "a WebSocket of a page of the former start")
    expect(entry, 401, [("Host", page_host), cookie.field])
    expect(entry, 200, [("Host", page_host), let_in(entry, page_host, path).field])


def test_the_link_is_in_no_argument_of_a_program(entry, tmp_path):
    """All users of a machine can read those."""
    peer, seen = entry.peer, tmp_path / "seen"
    opener = tmp_path / "xdg-open"
    opener.write_text(f"""#!/bin/sh
        (tr '\\0' ' ' < /proc/$$/cmdline; tr '\\0' ' ' < /proc/$PPID/cmdline; echo
         stat -c %a "$1"; cat "$1") > {seen}.new; mv {seen}.new {seen}""")
    opener.chmod(0o755)
    environment = {**peer.environment, "DISPLAY": ":99", "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(
        [program(), "open", "--dir", str(peer.directory)], env=environment, capture_output=True, check=True, text=True
    )
    wait_until(seen.exists, PATIENCE_SECONDS, "a browser was opened")
    arguments, mode, page = seen.read_text().split("\n", 2)
    code = done.stdout.strip().rsplit("/", 1)[1]
    check(len(code) == 32 and code not in arguments, f"the link is in {arguments}")
    check(mode == "600" and f'content="0;url={done.stdout.strip()}"' in page, f"mode {mode}: {page}")
    check(done.stderr == "", done.stderr)


def test_what_holds_data_is_not_to_be_stored(entry, host, token, subtests):
    """A browser keeps the rest on its disk, where no erasure comes."""
    id = entry.create("note", properties={"text": "secret"})["id"]
    entry.expect(201, "PUT", "/api/file/a.txt", body=b"secret")
    for target in (
        "/api/status", f"/api/objects/{id}", f"/api/objects/{id}/history", "/api/objects", "/api/export", "/api/log",
        "/api/file/a.txt", "/audio/a.txt", "/api/file/", "/metrics", "/api/conflicts", "/nothing",
    ):
        with subtests.test(target):
            answer = raw_answer(entry, [host, token], target)
            check(answer.field("Cache-Control") == "no-store", f"{target}: {answer.fields}")
            if tag := answer.tag:
                answer = raw_answer(entry, [host, token, ("If-None-Match", tag)], target)
                check(answer.status == 304 and answer.field("Cache-Control") == "no-store", f"{target}: {answer}")
    for target in ("/", "/peerd.js", "/dashboard/app.js"):
        check(raw_answer(entry, [host, token], target).field("Cache-Control") == "no-cache", target)


def test_a_cookie_is_for_its_page_alone(entry, cookie, subtests):
    attributes = {part.strip().lower() for part in cookie.text.split(";")[1:]}
    check(cookie.name == f"peerd-{entry.port}", cookie.text)
    check({"httponly", "samesite=strict", "path=/"} <= attributes, cookie.text)
    check(entry.token not in cookie.text, "the cookie is the token")
    page, same = ("Host", cookie.host), f"http://{cookie.host}"
    among = ("Cookie", f"a=b; {cookie.name}={cookie.value}; c=d")
    # Browsers send a cookie to every port of its host, so it is for a host that others do not know.
    for name in (entry.host, f"localhost:{entry.port}"):
        expect(entry, 401, [("Host", name), among])
    for fields in (
        [],
        [("Origin", same)],
        [("Sec-Fetch-Site", "same-origin")],
        [("Sec-Fetch-Site", "none")],
        [("Origin", same), ("Sec-Fetch-Site", "same-origin")],
    ):
        with subtests.test(fields=fields):
            expect(entry, 200, [page, among, *fields])
    for wrong in (
        f"{cookie.name}={cookie.value[:-1]}", f"{cookie.name}={cookie.value}0", f"{cookie.name}", f"{cookie.name}=",
        f"x{cookie.name}={cookie.value}", f"{cookie.name}x={cookie.value}",
    ):
        with subtests.test(wrong):
            expect(entry, 401, [page, ("Cookie", wrong)])
    expect(entry, 200, [page, ("Cookie", "a=b"), among])


def test_a_cookie_that_a_page_of_another_origin_sends_is_of_no_use(entry, cookie, subtests):
    page, same = ("Host", cookie.host), f"http://{cookie.host}"
    for fields in (
        [("Origin", EVIL_ORIGIN)],
        [("Origin", "null")],
        [("Origin", "")],
        [("Origin", f"http://localhost:{entry.port + 1}")],
        [("Origin", f"https://{cookie.host}")],
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
        with subtests.test(fields=fields):
            for method, target, body in (("GET", "/api/status", None), ("POST", "/api/objects", b'{"type":"stolen"}')):
                answer = expect(entry, 403, [page, cookie.field, *fields], method, target, body)
                check(answer.json["code"] == "forbidden" and answer.json["advice"], f"{answer.json}")
                check(not is_shared(answer) or fields == [("Origin", GOOD_ORIGIN)], f"{answer.fields}")
    check(entry.count(type="stolen") == 0, "a page of another origin has written")


# Pages of an origin that --allow-origin names.


def test_pages_of_an_allowed_origin_may_use_the_token(entry, host, token):
    asks = [("Access-Control-Request-Method", "PATCH"), ("Access-Control-Request-Headers", "authorization")]
    preflight = expect(entry, 204, [host, ("Origin", GOOD_ORIGIN), *asks], "OPTIONS", "/api/objects")
    check(preflight.field("Vary") == "Origin", f"{preflight.fields}")
    check("PATCH" in preflight.field("Access-Control-Allow-Methods"), f"{preflight.fields}")
    check("Authorization" in preflight.field("Access-Control-Allow-Headers"), f"{preflight.fields}")
    answer = raw_answer(entry, [host, token, ("Origin", GOOD_ORIGIN), ("Sec-Fetch-Site", "cross-site")])
    check(answer.status == 200, f"{answer.status}")
    for shared in (preflight, answer):
        check(shared.field("Access-Control-Allow-Origin") == GOOD_ORIGIN, f"{shared.fields}")
        check(shared.field("Access-Control-Allow-Credentials") is None, "cookies are shared with another origin")


@pytest.mark.parametrize(
    "origin", [EVIL_ORIGIN, "null", f"{GOOD_ORIGIN}.evil.example", GOOD_ORIGIN.upper(), f"{GOOD_ORIGIN}:443", "*"]
)
def test_nothing_is_shared_with_pages_of_other_origins(entry, host, token, origin):
    asks = [("Access-Control-Request-Method", "PATCH"), ("Access-Control-Request-Headers", "authorization")]
    for answer in (
        expect(entry, 401, [host, ("Origin", origin), *asks], "OPTIONS", "/api/objects"),
        expect(entry, 200, [host, token, ("Origin", origin)]),
        expect(entry, 401, [host, ("Origin", origin)]),
    ):
        check(not is_shared(answer), f"{origin}: {answer.fields}")


def test_a_page_of_an_allowed_origin_can_read_why_it_was_refused(entry, host, token, cookie, subtests):
    origin, wrong = ("Origin", GOOD_ORIGIN), ("Authorization", "Bearer " + "0" * 64)
    for status, fields in ((401, [host]), (401, [host, wrong]), (403, [("Host", cookie.host), cookie.field]),
                           (415, [host, token, ("Content-Type", "text/plain")])):
        for method, body in (("POST", b"{}"), ("POST", b""), ("GET", None)):
            if status == 415 and method == "GET":
                continue
            with subtests.test(status=status, method=method, body=body):
                answer = expect(entry, status, [*fields, origin], method, "/api/objects", body)
                check(answer.field("Access-Control-Allow-Origin") == GOOD_ORIGIN, f"{answer.fields}")
                check(answer.field("Vary") == "Origin", f"{answer.fields}")
                check(answer.field("Access-Control-Allow-Credentials") is None, f"{answer.fields}")
    # One that came by another name cannot.
    answer = expect(entry, 421, [("Host", f"evil.example:{entry.port}"), origin])
    check(not is_shared(answer), f"{answer.fields}")


# Connections and secrets.


def test_strangers_that_fill_all_places_do_not_end_the_connections_of_clients(entry):
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


def test_secrets_are_kept_and_not_logged(entry, cookie):
    peer, token = entry.peer, entry.token
    for name in ("api", "socket"):
        mode = stat.S_IMODE((peer.directory / name).lstat().st_mode)
        check(mode == 0o600, f"{name} has mode {mode:o}")
    check(re.fullmatch("[0-9a-f]{64}", token), f"a token of {len(token)} characters")
    check(peer.json("api")["token"] == token, "peerd api prints another token")
    check(peer.run("api", "--header") == f"Authorization: Bearer {token}", "peerd api --header")
    peer.restart(words=["--http-port", str(entry.port)])
    check(Entry.loopback(peer).token == token, "the token does not survive a restart")
    log = peer.log_path.read_text()
    for secret in (token, cookie.value):
        check(secret not in log, "a secret is in the log")
    check("/open/" not in log, "a link is in the log")


def test_without_loopback_there_is_no_file_and_no_one_to_answer(entry):
    peer = entry.peer
    peer.restart(words=["--no-http"])
    check(not (peer.directory / "api").exists(), "the file api is there without loopback")
    check(Entry.socket(peer).get("/healthz") == {"status": "ok"}, "the socket without loopback")
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(entry.address, timeout=5).close()
    peer.restart()
    check(Entry.loopback(peer).get("/healthz") == {"status": "ok"}, "loopback once more")
