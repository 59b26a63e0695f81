"""The WebSocket of the local API: who is let in, subscriptions, live pages, writes, clients that read slowly, and what
was assembled from deltas after the daemon was killed."""

import json
import threading
import urllib.parse
from types import SimpleNamespace

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus

from live_client import PONG, TEXT, Follower, Frames, Live, upgrade_fields
from local_api import NOBODY, WAYS, Entry, check_answer, request_bytes, serve, versions
from peerd_harness import check, free_port, run_together, wait_until

GOOD_ORIGIN = "https://app.example"
SUBSCRIPTIONS_MAX = 256


@pytest.fixture(params=WAYS)
def entry(request, world):
    return serve(world, request.param)


@pytest.fixture
def clients(entry):
    """Two clients of one daemon."""
    with Live(entry) as live, Live(entry) as other:
        yield live, other


# Who is let in.


@pytest.fixture
def loopback(world):
    return serve(world, words=["--allow-origin", GOOD_ORIGIN])


@pytest.fixture
def page(loopback):
    """A page of the server's own: its host, and its cookie."""
    link = urllib.parse.urlsplit(loopback.peer.run("open", "--print"))
    host = ("Host", link.netloc)
    with loopback.connect() as connection:
        cookie = connection.ask("GET", link.path, [host]).field("Set-Cookie").split(";")[0]
    return SimpleNamespace(name=link.netloc, host=host, cookie=("Cookie", cookie))


def refused_upgrade(entry, status, fields):
    with entry.connect() as connection:
        connection.send(request_bytes("GET", "/ws/sync", fields))
        answer = connection.read()
        check(answer.status == status, f"{fields}: {answer.status}, not {status}")
        check_answer(answer, f"an upgrade with {fields}")


def test_every_way_in_is_greeted_alike(loopback, page):
    peer = loopback.peer
    with Live(loopback) as live:
        hello = live.hello
    check(hello["device_name"] == peer.name and hello["workspace"] == peer.status()["workspace"], f"{hello}")
    check(hello["version"], f"{hello}")
    with Live(Entry.socket(peer)) as live:
        check(live.hello == hello, "another hello over the socket")
    for origin in (None, GOOD_ORIGIN):
        with Live(loopback, [], origin, hello=False) as live:
            live.send({"type": "auth", "bearer": loopback.token})
            check(live.receive("hello") == hello, "another hello after auth")
            live.send({"type": "auth", "bearer": "x"})
            check(live.settle() == [], "a second auth")
    with Live(loopback, [page.cookie], f"http://{page.name}", host=page.name) as live:
        check(live.hello == hello, "another hello with a cookie")


def test_nothing_is_done_before_auth(loopback, subtests):
    for message in ({"type": "auth", "bearer": "0" * 64}, {"type": "auth"}, {"type": "auth", "bearer": 1}, [],
                    {"type": "ping"}, {"type": "subscribe", "id": 1, "scope": {"all": True}},
                    {"type": "write", "id": "a", "edits": [{"create": "stolen"}]}):
        with subtests.test(message=message), Live(loopback, [], hello=False) as live:
            live.send(message)
            check(live.close_code() == 4401, f"{message} before auth")
    check(loopback.count(type="stolen") == 0, "a write before auth")


def test_a_client_that_says_nothing_is_not_kept(loopback):
    with Live(loopback, [], hello=False) as live:
        check(live.close_code() == 4401, "a client that says nothing is kept")


def test_pages_of_other_origins_cannot_use_the_cookie(loopback, page, subtests):
    """CVE-2024-28179."""
    for origin in ("https://evil.example", "null", f"http://{loopback.host}", f"https://{page.name}"):
        with subtests.test(origin):
            refused_upgrade(loopback, 403, upgrade_fields(page.host, page.cookie, ("Origin", origin)))
            refused_upgrade(loopback, 401, upgrade_fields(page.host, ("Origin", origin)))
    refused_upgrade(loopback, 403, upgrade_fields(page.host, page.cookie, ("Sec-Fetch-Site", "cross-site")))
    with pytest.raises(InvalidStatus) as refusal:
        Live(loopback, [page.cookie], "https://evil.example", host=page.name)
    check(refusal.value.response.status_code == 403, f"{refusal.value}")


def test_upgrades_that_are_refused(loopback, page):
    host, token = loopback.fields
    evil = ("Host", f"evil.example:{loopback.port}")
    refused_upgrade(loopback, 421, upgrade_fields(evil, token))
    refused_upgrade(loopback, 421, upgrade_fields(evil, page.cookie))
    refused_upgrade(loopback, 400, upgrade_fields(token))
    refused_upgrade(loopback, 426, upgrade_fields(host, token, version="12"))
    refused_upgrade(loopback, 426, upgrade_fields(host, token)[:-1])
    refused_upgrade(loopback, 426, [host, token])
    refused_upgrade(loopback, 426, [host, token, ("Connection", "Upgrade"), ("Upgrade", "h2c")])
    with loopback.connect() as connection:
        answer = connection.ask("GET", "/api/status", upgrade_fields(host, token))
        check(answer.status == 200, f"an upgrade of another path: {answer.status}")


# Subscriptions.


def test_a_transaction_is_one_delta_of_each_subscription(clients):
    live, other = clients
    top, = other.write([{"create": "top"}])
    whole = Follower(live, 1, {"all": True})
    whole.take_all()
    subtree = Follower(live, 2, {"subtree": top})
    check(subtree.take()["reset"] and list(subtree.state) == [top], f"{subtree.state}")
    items = Follower(live, 3, {"query": {"type": "item", "parent": top, "where": {"done": False}}})
    check(items.take()["reset"] and not items.state, f"{items.state}")
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


def test_messages_that_are_refused(clients, subtests):
    live, _ = clients
    whole = Follower(live, 1, {"all": True})
    whole.take_all()
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
        with subtests.test(message=message):
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


def test_a_subscription_is_resumed_where_it_ended(clients):
    live, other = clients
    top, = other.write([{"create": "resumed"}])
    scope = {"subtree": top}
    first = Follower(live, 20, scope)
    first.take_all()
    live.send({"type": "unsubscribe", "id": 20})
    check(live.settle() == [], "the subscription that ends had something to say")
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


def test_without_credit_nothing_comes_and_then_all_as_one_delta(clients):
    live, other = clients
    made, = other.write([{"create": "credited", "properties": {"n": 0}}])
    live.subscribe(30, {"object": made}, credit=1)
    check(live.receive("delta", 30)["reset"], "the first delta")
    for n in range(1, 6):
        other.write([{"set": made, "properties": {"n": n}}])
    check(live.settle() == [], "a delta without credit")
    live.send({"type": "credit", "id": 30, "add": 1})
    item, = live.receive("delta", 30)["objects"]
    check(item["state"]["properties"] == {"n": 5}, f"{item}")
    live.subscribe(31, {"object": made}, credit=0)
    check(live.settle() == [], "a delta without credit")
    live.send({"type": "credit", "id": 31, "add": 1})
    live.receive("delta", 31)


def test_a_number_is_free_as_soon_as_its_subscription_has_ended(clients):
    live, other = clients
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


def test_there_is_a_limit_to_subscriptions(clients):
    live, _ = clients
    for id in range(SUBSCRIPTIONS_MAX):
        live.subscribe(id, {"object": NOBODY}, credit=0)
    check(live.settle() == [], f"{live.waiting}")
    live.subscribe(SUBSCRIPTIONS_MAX, {"object": NOBODY}, credit=0)
    error = live.receive("error")
    check(error["problem"]["code"] == "too-many-requests" and error["id"] == SUBSCRIPTIONS_MAX, f"{error}")


def test_a_live_page_shows_what_its_query_finds(clients):
    live, other = clients
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
    check(live.settle() == [], "the page that ends had something to say")
    other.write([{"delete": top}])
    check(live.settle() == [], "a page after the end")


def test_a_watch_of_the_status_shows_what_changes(clients):
    live, other = clients
    live.send({"type": "watch", "id": 7, "what": "status", "credit": 1000})
    first = live.receive("status", 7)["status"]
    check(set(first) >= {"objects", "peers", "in_sync", "frontier"}, f"{first}")
    other.write([{"create": "seen"}])
    while live.receive("status", 7)["status"]["objects"] != first["objects"] + 1:
        pass


# Writes.


def test_a_write_with_the_same_id_is_done_once_on_whichever_connection(entry, clients):
    live, other = clients
    once, answers = [{"create": "once"}], []
    made = live.write(once, "first")
    check(live.write(once, "first") == made == other.write(once, "first"), "another answer")
    many = [Live(entry) for _ in range(8)]
    run_together([lambda c=c: answers.append(tuple(c.write(once, "same"))) for c in many])
    for client in many:
        client.close()
    check(len(set(answers)) == 1, f"eight writes with one id: {answers}")
    check(entry.count(type="once") == 2, "a write was applied twice")


def test_acks_come_in_the_order_of_the_writes_errors_among_them(entry, clients):
    live, _ = clients
    list_id, item = live.write([
        {"create": "list", "as": "$l"}, {"create": "item", "parent": "$l", "properties": {"n": 1}},
    ])
    shown = entry.get(f"/api/objects/{item}")
    check(shown["parent"] == list_id and shown["properties"] == {"n": 1}, f"{shown}")
    ids = [f"write {n}" for n in range(200)]
    for n, id in enumerate(ids):
        edits = [{"set": NOBODY if n % 10 == 7 else item, "properties": {"n": n}}]
        live.send({"type": "write", "id": id, "edits": edits})
    answers = [live.next() for _ in ids]
    check([answer["id"] for answer in answers] == ids, "acks in another order than the writes")
    for n, answer in enumerate(answers):
        check(answer["type"] == ("error" if n % 10 == 7 else "ack"), f"write {n}: {answer}")
    check(answers[7]["problem"]["code"] == "no-such-object", f"{answers[7]}")
    check(entry.get(f"/api/objects/{item}")["properties"] == {"n": 199}, "the last write does not hold")
    # A write that failed may be sent again.
    live.write([{"set": item, "properties": {"n": -1}}], ids[7])
    again = {"type": "write", "id": ids[8], "edits": [{"set": item, "properties": {"n": -2}}]}
    live.refused("id-of-another-write", again)
    check(entry.get(f"/api/objects/{item}")["properties"] == {"n": -1}, "a write that was refused has written")


def test_a_write_is_done_whole_or_not_at_all(entry, clients):
    live, _ = clients
    item, = live.write([{"create": "item"}])
    shown = entry.get(f"/api/objects/{item}")
    edits = [{"set": item, "properties": {"n": 5}}, {"create": "never"}]
    live.refused("version-changed", {"type": "write", "id": "c1", "edits": edits, "if": {item: "x"}})
    live.refused("no-such-object", {"type": "write", "id": "c2", "edits": [*edits, {"delete": NOBODY}]})
    check(entry.get(f"/api/objects/{item}") == shown, "a write that failed has written")
    live.write(edits[:1], "c1", **{"if": {item: shown["version"]}})
    check(entry.count(type="never") == 0, "a write that failed has written")


# Slow readers, kills, other machines.


def metric_of_sockets(entry):
    for line in entry.expect(200, "GET", "/metrics").body.decode().splitlines():
        if line.startswith("peerd_websockets "):
            return int(line.split(" ")[1])
    return None


def test_a_client_that_reads_nothing_blocks_nobody_and_is_sent_away(world):
    entry = serve(world)
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


def test_nothing_is_missed_or_doubled_when_the_daemon_is_killed(world):
    """Clients write and follow meanwhile; what was acknowledged is there."""
    words = ["--http-port", str(free_port())]
    peer = serve(world, words=words).peer
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
        follower = Follower(Live(entry), 1, {"all": True}, token, state)
        for writer in writers:
            writer.start()
        with pytest.raises(ConnectionClosed):
            while follower.count < 60:
                follower.take()
            peer.kill()
            while True:
                follower.take()
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


EXPORTED = ("id", "type", "kind", "parent", "position", "properties")


def compare_with_export(entry, state):
    def shown(objects):
        return {item["id"]: {name: item.get(name) for name in EXPORTED} for item in objects}

    assembled, exported = shown(state.values()), shown(json.loads(entry.export()))
    for id in assembled.keys() | exported.keys():
        check(assembled.get(id) == exported.get(id), f"{id}: {assembled.get(id)}, exported {exported.get(id)}")


def test_a_write_on_one_machine_is_a_delta_on_the_other(world):
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
