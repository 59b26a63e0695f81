#!/usr/bin/env python3
"""The WebSocket of the local API: who is let in, subscriptions, live pages, writes, frames, clients that read slowly,
and what was assembled from deltas after the daemon was killed."""

# time limit: 300 s

import base64
import json
import os
import struct
import threading
import urllib.parse
import uuid

from websockets.exceptions import ConnectionClosed, InvalidStatus

from live_client import Follower, Live
from local_api import Entry, check_answer, request_bytes, versions
from peerd_harness import World, check, main_of_test, run_together, say, wait_until

GOOD_ORIGIN = "https://app.example"
MESSAGE_BYTES_MAX = 4 << 20
SUBSCRIPTIONS_MAX = 256
NOBODY = "00000000-0000-4000-8000-000000000000"


def upgrade_fields(*fields, version="13", key=None):
    key = base64.b64encode(os.urandom(16)).decode() if key is None else key
    return [*fields, ("Connection", "Upgrade"), ("Upgrade", "websocket"), ("Sec-WebSocket-Version", version),
            ("Sec-WebSocket-Key", key)]


def refused_upgrade(entry, status, fields):
    with entry.connect() as connection:
        connection.send(request_bytes("GET", "/ws/sync", fields))
        answer = connection.read()
        check(answer.status == status, f"{fields}: {answer.status}, not {status}")
        check_answer(answer, f"an upgrade with {fields}")


def check_entrance(peer, entry):
    host, token = entry.fields
    with Live(entry) as live:
        hello = live.hello
    check(hello["device_name"] == peer.name and hello["workspace"] == peer.status()["workspace"], f"{hello}")
    check(hello["version"], f"{hello}")
    with Live(Entry.socket(peer)) as live:
        check(live.hello == hello, "another hello over the socket")
    for origin in (None, GOOD_ORIGIN):
        with Live(entry, [], origin, hello=False) as live:
            live.send({"type": "auth", "bearer": entry.token})
            check(live.receive("hello") == hello, "another hello after auth")
            live.send({"type": "auth", "bearer": "x"})
            check(live.settle() == [], "a second auth")
    for message in ({"type": "auth", "bearer": "0" * 64}, {"type": "auth"}, {"type": "auth", "bearer": 1}, [],
                    {"type": "ping"}, {"type": "subscribe", "id": 1, "scope": {"all": True}},
                    {"type": "write", "id": "a", "edits": [{"create": "stolen"}]}):
        with Live(entry, [], hello=False) as live:
            live.send(message)
            check(live.close_code() == 4401, f"{message} before auth")
    check(entry.get("/api/objects/count?type=stolen") == {"count": 0}, "a write before auth")

    # The cookie lets pages of the server's own origin in, and no others (CVE-2024-28179).
    link = urllib.parse.urlsplit(peer.run("open", "--print"))
    page = ("Host", link.netloc)
    with entry.connect() as connection:
        cookie = ("Cookie", connection.ask("GET", link.path, [page]).field("Set-Cookie").split(";")[0])
    with Live(entry, [cookie], f"http://{link.netloc}", host=link.netloc) as live:
        check(live.hello == hello, "another hello with a cookie")
    for origin in ("https://evil.example", "null", f"http://{entry.host}", f"https://{link.netloc}"):
        for fields in ([page, cookie], [page]):
            refused_upgrade(entry, 403 if cookie in fields else 401, upgrade_fields(*fields, ("Origin", origin)))
    refused_upgrade(entry, 403, upgrade_fields(page, cookie, ("Sec-Fetch-Site", "cross-site")))
    refused_upgrade(entry, 421, upgrade_fields(("Host", f"evil.example:{entry.port}"), token))
    refused_upgrade(entry, 421, upgrade_fields(("Host", f"evil.example:{entry.port}"), cookie))
    refused_upgrade(entry, 400, upgrade_fields(token))
    refused_upgrade(entry, 426, upgrade_fields(host, token, version="12"))
    refused_upgrade(entry, 426, upgrade_fields(host, token)[:-1])
    refused_upgrade(entry, 426, [host, token])
    refused_upgrade(entry, 426, [host, token, ("Connection", "Upgrade"), ("Upgrade", "h2c")])
    with entry.connect() as connection:
        answer = connection.ask("GET", "/api/status", upgrade_fields(host, token))
        check(answer.status == 200, f"an upgrade of another path: {answer.status}")
    try:
        Live(entry, [cookie], "https://evil.example", host=link.netloc)
        check(False, "a page of another origin opened a WebSocket")
    except InvalidStatus as refusal:
        check(refusal.response.status_code == 403, f"{refusal}")


def check_silence(entry):
    """Whoever does not say who they are is not kept."""
    with Live(entry, [], hello=False) as live:
        check(live.close_code() == 4401, "a client that says nothing is kept")


def check_subscriptions(entry):
    with Live(entry) as live, Live(entry) as other:
        top, = other.write([{"create": "top"}])
        whole = Follower(live, 1, {"all": True})
        whole.take_all()
        subtree = Follower(live, 2, {"subtree": top})
        check(subtree.take()["reset"] and list(subtree.state) == [top], f"{subtree.state}")
        items = Follower(live, 3, {"query": {"type": "item", "parent": top, "where": {"done": False}}})
        check(items.take()["reset"] and not items.state, f"{items.state}")
        # One message of each subscription for one transaction, with all of it.
        made = other.write([
            {"create": "item", "parent": top, "as": f"$a{n}", "properties": {"n": n, "done": n == 3}} for n in range(5)
        ] + [{"set": "$a0", "properties": {"title": "first"}}, {"set": top, "properties": {"count": 5}}])
        for follower, ids in ((whole, {top, *made}), (subtree, {top, *made}), (items, set(made) - {made[3]})):
            delta = follower.take()
            check({item["id"] for item in delta["objects"]} == ids, f"subscription {follower.id}: {delta}")
            check(delta["origin"] == "local" and not delta["reset"] and not delta["more"], f"{delta}")
        check(live.settle() == [], f"a transaction made more messages: {live.waiting}")
        one = Follower(live, 4, {"object": made[0]})
        one.take()
        other.write([{"set": made[0], "properties": {"done": True, "x": 1}}])
        change, = one.take()["objects"]
        check(sorted(change["changed"]) == ["done", "x"] and not change["created"], f"{change}")
        check(items.take()["objects"][0]["state"] is None and made[0] not in items.state, "out of a query")
        other.write([{"delete": top}])
        for follower in (whole, subtree, one, items):
            follower.take_until(lambda state: not any(id in state for id in (top, *made)))
        check_errors(live, whole)
        for id in (1, 2, 3, 4):
            live.send({"type": "unsubscribe", "id": id})
        check_resume(live, other)
        check_credit(live, other)
        check_numbers(live, other)
    say("subscriptions: scopes, transactions, resume, credit, errors")


def check_errors(live, whole):
    for message in (
        {"type": "subscribe", "id": 90}, {"type": "subscribe", "id": 90, "scope": {}},
        {"type": "subscribe", "id": 90, "scope": {"all": False}}, {"type": "subscribe", "id": 90, "scope": []},
        {"type": "subscribe", "scope": {"all": True}}, {"type": "subscribe", "id": "x", "scope": {"all": True}},
        {"type": "subscribe", "id": -1, "scope": {"all": True}}, {"type": "subscribe", "id": 1, "scope": {"all": True}},
        {"type": "subscribe", "id": 90, "scope": {"all": True}, "credit": -1},
        {"type": "subscribe", "id": 90, "scope": {"all": True}, "since": 1},
        {"type": "live", "id": 90, "query": []}, {"type": "live", "id": 90, "limit": 0},
        {"type": "watch", "id": 90, "what": "weather"}, {"type": "watch", "id": 90},
        {"type": "write", "edits": []}, {"type": "write", "id": "a", "edits": {}},
        {"type": "credit", "id": 1, "add": 0}, {"type": "dance"}, {"type": 1}, {"type": "credit", "id": 1, "add": "x"},
        {"type": "write", "id": "a", "edits": [{"create": "a", "set": "b"}]}, {},
    ):
        live.refused("bad-request", message)
    live.refused("no-such-object", {"type": "subscribe", "id": 90, "scope": {"subtree": "zzzz"}})
    live.refused("invalid-argument", {"type": "subscribe", "id": 90, "scope": {"all": True}, "since": "zz"})
    live.refused("token-of-another-scope",
                 {"type": "subscribe", "id": 90, "scope": {"object": NOBODY}, "since": whole.token})
    live.send([1])
    check(live.receive("error")["problem"]["code"] == "bad-request", "a message that is an array")
    # None of these began a subscription, and an unknown one is nothing to end.
    live.send({"type": "unsubscribe", "id": 90})
    live.send({"type": "credit", "id": 90, "add": 1})
    check(live.settle() == [], f"{live.waiting}")


def check_resume(live, other):
    top, = other.write([{"create": "resumed"}])
    scope = {"subtree": top}
    first = Follower(live, 20, scope)
    first.take_all()
    live.send({"type": "unsubscribe", "id": 20})
    made = [other.write([{"create": "item", "parent": top, "properties": {"n": n}}])[0] for n in range(10)]
    other.write([{"delete": made[0]}])
    check(live.settle() == [], "a subscription goes on after its end")
    resumed = Follower(live, 20, scope, first.token, first.state)
    delta = resumed.take()
    check(not delta["reset"], f"a resume began anew: {delta}")
    resumed.take_until(lambda state: len(state) == 10)
    anew = Follower(live, 21, scope)
    check(anew.take()["reset"] and versions(anew.state) == versions(resumed.state), "a new subscription differs")
    again = Follower(live, 22, scope, resumed.token, dict(resumed.state))
    other.write([{"set": made[1], "properties": {"n": 100}}])
    for follower in (again, resumed, anew):
        follower.take_until(lambda state: state[made[1]]["properties"] == {"n": 100})
    check(versions(again.state) == versions(anew.state), "a resume with nothing missed")
    for id in (20, 21, 22):
        live.send({"type": "unsubscribe", "id": id})
    live.settle()
    live.waiting.clear()


def check_credit(live, other):
    """Without credit nothing comes; what happened meanwhile comes as one delta."""
    made, = other.write([{"create": "credited", "properties": {"n": 0}}])
    live.subscribe(30, {"object": made}, credit=1)
    check(live.receive("delta", 30)["reset"], "the first delta")
    for n in range(1, 6):
        other.write([{"set": made, "properties": {"n": n}}])
    check([m for m in live.settle() if m.get("id") == 30] == [], "a delta without credit")
    live.send({"type": "credit", "id": 30, "add": 1})
    item, = live.receive("delta", 30)["objects"]
    check(item["state"]["properties"] == {"n": 5}, f"{item}")
    live.subscribe(31, {"object": made}, credit=0)
    check([m for m in live.settle() if m.get("id") in (30, 31)] == [], "a delta without credit")
    live.send({"type": "credit", "id": 31, "add": 1})
    live.receive("delta", 31)
    for id in (30, 31):
        live.send({"type": "unsubscribe", "id": id})
    live.settle()
    live.waiting.clear()


def check_numbers(live, other):
    """A number is free as soon as its subscription has ended, and there is a limit to how many there are."""
    made, = other.write([{"create": "numbered", "properties": {"n": 0}}])
    for n in range(1, 60):
        live.subscribe(40, {"object": made})
        live.send({"type": "unsubscribe", "id": 40})
        live.subscribe(40, {"object": made})
        live.receive("delta", 40)
        other.write([{"set": made, "properties": {"n": n}}])
        while [o["state"]["properties"]["n"] for o in live.receive("delta", 40)["objects"]] != [n]:
            pass
        live.send({"type": "unsubscribe", "id": 40})
        live.settle()
        live.waiting.clear()
    for id in range(1_000, 1_000 + SUBSCRIPTIONS_MAX + 1):
        live.subscribe(id, {"object": NOBODY}, credit=0)
    error = live.receive("error")
    check(error["problem"]["code"] == "too-many-requests" and error["id"] >= 1_000 + SUBSCRIPTIONS_MAX - 4, f"{error}")
    live.settle()
    live.waiting.clear()
    for id in range(1_000, 1_000 + SUBSCRIPTIONS_MAX + 1):
        live.send({"type": "unsubscribe", "id": id})


def check_live_pages(entry):
    with Live(entry) as live, Live(entry) as other:
        top, = other.write([{"create": "pages"}])
        query = {"type": "row", "parent": top, "order": "n"}
        live.send({"type": "live", "id": 1, "query": query, "limit": 3, "credit": 1000})

        def page():
            message = live.receive("page", 1)
            return [item["properties"]["n"] for item in message["objects"]], message["more"]

        def wait_for(rows, more):
            while (shown := page()) != (rows, more):
                check(len(shown[0]) <= 3, f"a page of {shown}")

        check(page() == ([], False), "an empty page")
        made = other.write([{"create": "row", "parent": top, "properties": {"n": n}} for n in (5, 1, 3)])
        wait_for([1, 3, 5], False)
        first, = other.write([{"create": "row", "parent": top, "properties": {"n": 0}}])
        wait_for([0, 1, 3], True)
        other.write([{"set": first, "properties": {"n": 4}}])
        wait_for([1, 3, 4], True)
        other.write([{"delete": made[1]}])
        wait_for([3, 4, 5], False)
        live.send({"type": "unsubscribe", "id": 1})
        other.write([{"delete": top}])
        check(live.settle() == [], "a page after the end")


def check_watch(entry):
    with Live(entry) as live, Live(entry) as other:
        live.send({"type": "watch", "id": 7, "what": "status", "credit": 1000})
        first = live.receive("status", 7)["status"]
        check(set(first) >= {"objects", "peers", "in_sync", "frontier"}, f"{first}")
        other.write([{"create": "seen"}])
        while live.receive("status", 7)["status"]["objects"] != first["objects"] + 1:
            pass
        live.send({"type": "unsubscribe", "id": 7})


def check_writes(entry):
    with Live(entry) as live, Live(entry) as other:
        list_id, item = live.write([
            {"create": "list", "as": "$l"}, {"create": "item", "parent": "$l", "properties": {"n": 1}},
        ])
        shown = entry.get(f"/api/objects/{item}")
        check(shown["parent"] == list_id and shown["properties"] == {"n": 1}, f"{shown}")
        # The same id is acknowledged and not applied twice, on whichever connection.
        id = str(uuid.uuid4())
        made = live.write([{"create": f"once-{entry.name}"}], id)
        again, elsewhere = (client.write([{"create": f"once-{entry.name}"}], id) for client in (live, other))
        check(again == made == elsewhere, "another answer")
        same, answers = str(uuid.uuid4()), []
        clients = [Live(entry) for _ in range(8)]
        once = [{"create": f"once-{entry.name}"}]
        run_together([lambda c=c: answers.append(tuple(c.write(once, same))) for c in clients])
        [client.close() for client in clients]
        check(len(set(answers)) == 1, f"eight writes with one id: {answers}")
        check(entry.get(f"/api/objects/count?type=once-{entry.name}") == {"count": 2}, "a write was applied twice")
        # Acks come in the order of the writes, errors among them; a write that failed may be sent again.
        ids = [str(uuid.uuid4()) for _ in range(200)]
        for n, id in enumerate(ids):
            edits = [{"set": NOBODY if n % 10 == 7 else item, "properties": {"n": n}}]
            live.send({"type": "write", "id": id, "edits": edits})
        answers = [live.next() for _ in ids]
        check([answer["id"] for answer in answers] == ids, "acks in another order than the writes")
        for n, answer in enumerate(answers):
            check(answer["type"] == ("error" if n % 10 == 7 else "ack"), f"write {n}: {answer}")
        check(answers[7]["problem"]["code"] == "no-such-object", f"{answers[7]}")
        check(entry.get(f"/api/objects/{item}")["properties"] == {"n": 199}, "the last write does not hold")
        live.write([{"set": item, "properties": {"n": -1}}], ids[7])
        again = {"type": "write", "id": ids[8], "edits": [{"set": item, "properties": {"n": -2}}]}
        live.refused("id-of-another-write", again)
        shown = entry.get(f"/api/objects/{item}")
        check(shown["properties"] == {"n": -1}, f"{shown}")
        # All or nothing, under a condition.
        edits = [{"set": item, "properties": {"n": 5}}, {"create": "never"}]
        live.refused("version-changed", {"type": "write", "id": f"c1-{entry.name}", "edits": edits, "if": {item: "x"}})
        edits = [*edits, {"delete": NOBODY}]
        live.refused("no-such-object", {"type": "write", "id": f"c2-{entry.name}", "edits": edits})
        check(entry.get(f"/api/objects/{item}") == shown, "a write that failed has written")
        live.write(edits[:1], f"c1-{entry.name}", **{"if": {item: shown["version"]}})
        check(entry.get("/api/objects/count?type=never") == {"count": 0}, "a write that failed has written")


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


CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10
PING_MESSAGE = b'{"type":"ping"}'


def check_frames(entry):
    with Frames(entry) as frames:
        frames.send(PING, b"abc")
        check(frames.read() == (PONG, b"abc"), "a pong")
        frames.send(PONG, b"not asked for")
        # A message in pieces, with control frames between them, and pieces of nothing.
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
        # Frames byte by byte, and many at once.
        for byte in b"\x81\x8f\0\0\0\0" + PING_MESSAGE:
            frames.connection.send(bytes([byte]))
        check(frames.read_text() == {"type": "pong"}, "a frame byte by byte")
        frames.connection.send((b"\x81\x8f\0\0\0\0" + PING_MESSAGE) * 500)
        check(all(frames.read_text() == {"type": "pong"} for _ in range(500)), "many frames at once")
        padding = b" " * (MESSAGE_BYTES_MAX - len(PING_MESSAGE))
        frames.send(TEXT, PING_MESSAGE + padding)
        check(frames.read_text() == {"type": "pong"}, "a message of the greatest length")
        frames.send(CLOSE, struct.pack(">H", 1000) + b"bye")
        check(frames.close_code() == 1000, "a close is answered with another code")
    for what, code, steps in BROKEN:
        with Frames(entry) as frames:
            for step in steps:
                frames.send(**step)
            check(frames.close_code() == code, f"{what}: not {code}")
    with Frames(entry) as frames:
        frames.send(CLOSE)
        check(frames.close_code() in (1000, 1005), "a close without a code")
    for reason, code in CLOSES:
        with Frames(entry) as frames:
            frames.send(CLOSE, reason)
            check(frames.close_code() == code, f"a close with {reason!r} is answered with another code than {code}")
    with Frames(entry) as frames:
        frames.send(TEXT, b"nonsense")
        check(frames.read_text()["problem"]["code"] == "bad-request", "nonsense is not answered")
        check(frames.close_code() in (1003, 1007), "nonsense goes on")
    check(entry.get("/api/objects/count?type=broken") == {"count": 0}, "a broken message was carried out")


def frame(opcode, data=b"", **members):
    return {"opcode": opcode, "data": data, **members}


CLOSES = (
    *((struct.pack(">H", code), code) for code in (1000, 1001, 1011, 3000, 4999)),
    # No codes of clients, a code cut short, and a reason that is not UTF-8.
    *((struct.pack(">H", code), 1002) for code in (0, 999, 1004, 1005, 1006, 1015, 2000, 5000, 65535)),
    (b"\x03", 1002), (struct.pack(">H", 1000) + b"\xff", 1002),
)
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


def metric_of_sockets(entry):
    for line in entry.expect(200, "GET", "/metrics").body.decode().splitlines():
        if line.startswith("peerd_websockets "):
            return int(line.split(" ")[1])
    return None


def check_slow_reader(entry):
    """A client that reads nothing blocks nobody, costs little, and is sent away."""
    wait_until(lambda: metric_of_sockets(entry) == 0, 30, "no WebSocket is open")
    with Frames(entry) as slow, Live(entry) as live, Live(entry) as other:
        for id in range(20):
            subscription = {"type": "subscribe", "id": id, "scope": {"all": True}, "credit": 1000}
            slow.send(TEXT, json.dumps(subscription).encode())
        whole = Follower(live, 1, {"all": True})
        whole.take_all()
        for n in range(40):
            made, = other.write([{"create": "large", "properties": {"text": f"{n}" + "x" * 500_000}}])
            whole.take_until(lambda state: made in state)
            other.write([{"delete": made}])

        def is_sent_away():
            # It answers pings, so that it is not taken for gone.
            slow.send(PONG)
            return metric_of_sockets(entry) == 2

        wait_until(is_sent_away, 90, "the slow reader is sent away")
        live.settle()
        check(other.write([{"create": "after"}]), "a write")


def run_killed(world):
    """The daemon is killed while clients write and follow: nothing is missed or doubled, and what was acknowledged is
    there."""
    peer = world.founder("killed")
    peer.start()
    entry = Entry.loopback(peer)
    words = ["--http-port", str(entry.port)]
    state, token, acknowledged = {}, None, {}
    for round in range(4):
        entry = Entry.loopback(peer)
        ends = threading.Event()

        def write(client):
            try:
                with Live(entry) as live:
                    for n in range(10_000):
                        name = f"{round}-{client}-{n}"
                        made = live.write([{"create": "item", "properties": {"name": name}}])
                        acknowledged[made[0]] = name
                        if n % 3 == 2:
                            live.write([{"set": made[0], "properties": {"again": n}}, {"create": "twin"}])
                        if n % 5 == 4:
                            live.write([{"delete": made[0]}])
                            del acknowledged[made[0]]
            except (ConnectionClosed, OSError):
                ends.set()

        writers = [threading.Thread(target=write, args=(client,)) for client in range(3)]
        live = Live(entry)
        follower = Follower(live, 1, {"all": True}, token, state)
        for writer in writers:
            writer.start()
        try:
            while follower.count < 60:
                follower.take()
            peer.kill()
            while True:
                follower.take()
        except ConnectionClosed:
            pass
        for writer in writers:
            writer.join()
        check(ends.is_set(), "the writers ended before the daemon")
        token = follower.token
        peer.start(words=words)
    entry = Entry.loopback(peer)
    with Live(entry) as live:
        follower = Follower(live, 1, {"all": True}, token, state)
        made, = live.write([{"create": "last"}])
        follower.take_until(lambda state: made in state)
    compare_with_export(entry, state)
    # Of a write that was not acknowledged before the kill it is open whether it was done.
    for id, name in acknowledged.items():
        if id not in state:
            deleted = [item for item in entry.get(f"/api/objects/{id}/log")["entries"] if "delete" in item["action"]]
            check(deleted, f"the write of {name} was acknowledged and is lost")
    check(len(state) > 100, f"only {len(state)} objects")
    say(f"killed four times: {len(state)} objects, assembled from deltas, equal the export")


EXPORTED = ("id", "type", "kind", "parent", "position", "properties")


def compare_with_export(entry, state):
    def shown(objects):
        return {item["id"]: {name: item.get(name) for name in EXPORTED} for item in objects}

    assembled, exported = shown(state.values()), shown(entry.expect(200, "GET", "/api/export").json)
    for id in assembled.keys() | exported.keys():
        check(assembled.get(id) == exported.get(id), f"{id}: {assembled.get(id)}, exported {exported.get(id)}")


def check_two_machines(world):
    left, right = world.paired("left", "right")
    left.start()
    right.start(peers=[left.address])
    one, two = Entry.socket(left), Entry.loopback(right)
    wait_until(lambda: two.get("/api/sync/status")["in_sync"], 60, "the machines are in sync")
    with Live(one) as writing, Live(two) as reading:
        follower = Follower(reading, 1, {"query": {"type": "sent"}})
        follower.take_all()
        made = []
        for n in range(30):
            made += writing.write([{"create": "sent", "properties": {"n": n}}, {"create": "other"}])[:1]
        while len(follower.state) < 30:
            delta = follower.take()
            check(delta["origin"] == "peer" and [a["name"] for a in delta["authors"]] == ["left"], f"{delta}")
            check(not delta["authors"][0]["is_this_machine"], f"{delta}")
        check({item["id"]: item["properties"]["n"] for item in follower.state.values()}
              == {id: n for n, id in enumerate(made)}, "other objects arrived")
        # And what the other machine does to them comes back.
        follower = Follower(writing, 5, {"object": made[3]})
        follower.take()
        reading.write([{"set": made[3], "properties": {"n": "back"}}])
        check(follower.take()["objects"][0]["state"]["properties"] == {"n": "back"}, "an edit that came back")
        reading.send({"type": "watch", "id": 9, "what": "status"})
        check(reading.receive("status", 9)["status"]["peers"][0]["name"] == "left", "peers of a status")
    say("two machines: a write on one is a delta on the other")


def run():
    with World("websocket") as world:
        peer = world.founder("first")
        peer.start(words=["--allow-origin", GOOD_ORIGIN])
        entry = Entry.loopback(peer)
        run_together([lambda: check_silence(entry), lambda: check_entrance(peer, entry)])
        say("who is let in")
        for way in (Entry.socket(peer), entry):
            check_subscriptions(way)
            check_live_pages(way)
            check_watch(way)
            check_writes(way)
            check_frames(way)
            say(f"pages, status, writes and frames over the {way.name}")
        check_slow_reader(entry)
        say("a slow reader")
        check_two_machines(world)
        run_killed(world)


if __name__ == "__main__":
    main_of_test(run)
