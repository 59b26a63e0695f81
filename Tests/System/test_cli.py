#!/usr/bin/env python3
"""Every verb of the command line, with a daemon and without one: what it prints, its exit codes and error texts, file
modes, values of all kinds to the bit, and a log from which anyone can compute the state again."""

# time limit: 300 s

import json
import os
import random
import stat
import struct
import subprocess
import threading

import naive_state
from peerd_harness import (
    Agreement,
    World,
    check,
    digest,
    explain_difference,
    main_of_test,
    program,
    say,
    seed_from_arguments,
)

# The documented exit codes.
USAGE, NO_SUCH_OBJECT, WORKSPACE, BUSY, SYNC_INCOMPLETE = 2, 3, 4, 5, 6
RANDOM_STEPS = 120
NOBODY = "00000000-0000-4000-8000-000000000000"
VERBS = (
    "init run invite join peers status sync create set unset get mv rm ls tree conflicts preview log import export "
    "doctor restamp completion"
).split()


def refused(peer, code, *verb, mentions=()):
    """A verb must fail with this exit code and say why in a clear sentence."""
    done = peer.result(*verb)
    text = done.stderr.decode()
    words = " ".join(map(str, verb))
    check(done.returncode == code, f"{words}: exit code {done.returncode}, not {code}: {text}{done.stdout.decode()}")
    check(not done.stdout, f"{words}: failed and printed {done.stdout[:80]!r}")
    check(text.strip(), f"{words}: failed without a word")
    check("Fatal error" not in text and "Swift" not in text, f"{words}: {text}")
    for word in mentions:
        check(word in text, f"{words}: the error does not mention {word!r}: {text}")
    return text


def check_help():
    for verb in VERBS:
        for words in ((verb, "--help"), ("help", verb)):
            done = subprocess.run([program(), *words], capture_output=True, text=True, check=False)
            check(done.returncode == 0 and "USAGE" in done.stdout.upper(), f"{words}: {done.stderr}")
        check("Exit codes" in done.stdout, f"the help of {verb} does not list its exit codes")
    done = subprocess.run([program(), "--help"], capture_output=True, text=True, check=False)
    check(all(verb in done.stdout for verb in VERBS), "the help does not list every verb")
    done = subprocess.run([program(), "no-such-verb"], capture_output=True, text=True, check=False)
    check(done.returncode == USAGE and done.stderr and not done.stdout, f"an unknown verb: {done}")
    for shell in ("bash", "zsh", "fish"):
        done = subprocess.run([program(), "completion", shell], capture_output=True, text=True, check=False)
        check(done.returncode == 0 and "peerd" in done.stdout, f"completion {shell}: {done.stderr}")
    say("help and completion: every verb")


def check_directory(world):
    peer = world.peer("dir")
    refused(peer, WORKSPACE, "status", mentions=["init", "join"])
    refused(peer, WORKSPACE, "create", "note")
    refused(peer, WORKSPACE, "run")
    peer.run("init", "--name", "dir")
    refused(peer, WORKSPACE, "init")
    refused(peer, USAGE, "create")
    refused(peer, USAGE, "set")
    check_modes(peer)
    # The environment names the directory as the option does, and the option counts more.
    environment = {**os.environ, "PEERD_DIR": str(peer.directory)}
    done = subprocess.run([program(), "status", "--json"], capture_output=True, env=environment, check=False)
    check(done.returncode == 0 and json.loads(done.stdout) == peer.status(), "PEERD_DIR is not heeded")
    environment = {"PATH": os.environ["PATH"], "XDG_STATE_HOME": str(world.root / "state")}
    done = subprocess.run([program(), "init"], capture_output=True, env=environment, check=False)
    check(done.returncode == 0 and (world.root / "state" / "peerd").is_dir(), f"XDG_STATE_HOME: {done.stderr}")
    # A directory whose path is too long for the name of a socket.
    deep = world.root / ("d" * 60) / ("e" * 60)
    deep.mkdir(parents=True)
    long_path = world.peer("long")
    long_path.directory = deep / "data"
    long_path.run("init")
    long_path.start()
    made = long_path.create("note")
    check(made in long_path.objects(), "a long path does not work")
    long_path.stop()
    say("data directory: option, environment, default, long path")


def check_modes(peer):
    check(stat.S_IMODE(peer.directory.stat().st_mode) == 0o700, "the directory is open to others")
    for path in peer.directory.rglob("*"):
        mode = stat.S_IMODE(path.lstat().st_mode)
        wanted = 0o700 if path.is_dir() else 0o600
        check(mode == wanted, f"{path.name} has mode {mode:o}")


def check_second_daemon(peer):
    done = peer.result("run", "--listen", "127.0.0.1:0", "--no-discovery", seconds=20)
    text = done.stderr.decode() + done.stdout.decode()
    check(done.returncode == BUSY, f"a second daemon: exit code {done.returncode}: {text}")
    check(str(peer.directory) in text, f"a second daemon is refused with: {text}")
    check(peer.process.poll() is None and peer.run("status"), "the first daemon suffered")


def check_verbs(peer):
    """The story of one object and its family."""
    root = peer.create("folder", "name=root")
    one = peer.create("note", "--kind", "short", "--parent", root, "title=one", "n=1", "done=false", "tags=[1,\"b\"]")
    two = peer.create("note", "--parent", root, "title=two words = and more")
    check(peer.run("get", two, "title") == "two words = and more", "a value with an equals sign")
    check(json.loads(peer.raw("get", "--json", one, "tags")) == [1, "b"], "get NAME --json")
    whole = json.loads(peer.raw("get", "--json", one))
    check(whole == peer.objects()[one], f"get --json is not what export shows: {whole}")
    check(whole["type"] == "note" and whole["kind"] == "short" and whole["parent"] == root, f"{whole}")
    check(whole["properties"] == {"title": "one", "n": 1, "done": False, "tags": [1, "b"]}, f"{whole}")

    peer.run("set", one, "n=2", "extra=null")
    check(peer.objects()[one]["properties"]["n"] == 2, "set")
    check(peer.objects()[one]["properties"]["extra"] is None, "null is a value")
    peer.run("unset", one, "extra")
    check("extra" not in peer.objects()[one]["properties"], "unset")
    refused(peer, NO_SUCH_OBJECT, "get", one, "extra", mentions=["extra"])

    check(order_of(peer, root) == [one, two], "the order of creation")
    peer.run("mv", two, root, "--before", one)
    check(order_of(peer, root) == [two, one], "mv --before")
    peer.run("mv", two, "--root")
    check(order_of(peer, root) == [one] and peer.objects()[two]["parent"] is None, "mv --root")
    peer.run("mv", two, one)
    refused(peer, 1, "mv", root, two)
    refused(peer, 1, "mv", root, root)
    check("one" in peer.run("tree", root) and "two words" in peer.run("tree"), "tree")
    check(peer.run("ls"), "ls without an id")

    # Abbreviated ids, as in git.
    prefix = next(one[:n] for n in range(4, 37) if sum(i.startswith(one[:n]) for i in known_ids(peer)) == 1)
    check(peer.run("get", prefix, "title") == "one", f"the unique prefix {prefix}")
    check(peer.run("get", one.upper(), "title") == "one", "an id in capitals")
    refused(peer, NO_SUCH_OBJECT, "get", NOBODY, mentions=[NOBODY[:8]])
    for words in (["set", NOBODY, "a=1"], ["rm", NOBODY], ["mv", NOBODY, "--root"], ["mv", one, NOBODY],
                  ["create", "note", "--parent", NOBODY], ["unset", NOBODY, "a"], ["ls", NOBODY], ["tree", NOBODY]):
        refused(peer, NO_SUCH_OBJECT, *words)
    refused(peer, USAGE, "set", one, "no-equals-sign")
    refused(peer, USAGE, "mv", one)

    key = peer.create("day", "--key", "2025-01-01", "a=1")
    check(peer.create("day", "--key", "2025-01-01", "b=2") == key, "one key, two objects")
    check(peer.objects()[key]["properties"] == {"a": 1, "b": 2}, "the keyed object lost a property")
    check(peer.create("night", "--key", "2025-01-01") != key, "the type is not part of a key's meaning")

    peer.run("rm", root)
    left = peer.objects()
    check(not {root, one, two} & left.keys(), "rm leaves something below")
    refused(peer, NO_SUCH_OBJECT, "get", one)
    check(peer.run("restamp") == "Nothing is held.", "restamp where nothing is held")
    for verb in ("status", "peers", "conflicts", "doctor", "restamp", "ls", "tree", "log"):
        peer.run(verb)
        json_of = peer.raw(verb, "--json")
        for line in json_of.splitlines() if verb == "log" else [json_of]:
            json.loads(line)
    check(peer.run("log", "--object", key).strip(), "log --object")
    check(all(op["object"] == key for op in peer.operations("--object", key)), "log --object shows other objects")


def order_of(peer, parent):
    return [item["id"] for item in peer.json("ls", parent)]


def known_ids(peer):
    return {op["object"] for op in peer.operations() if op.get("object")}


def check_values(peer):
    """Every kind of JSON value, floats to the bit."""
    values = [
        None, True, False, 0, 1, -1, 2**53 + 1, 2**63 - 1, -(2**63), 0.0, -0.0, 1.0, 1.5, -2.5, 0.1, 1e300, 1e-300,
        5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, 1e16, 123456789012345680.0, 1e21, 1e-7,
        -1.1754943508222875e-38, "", "text", "two\nlines", 'quote " and \\', "\u0001\u001f",
        "\u00e4\u00f6 \u4e16\u754c \U0001f600",
        "e\u0301", "5", "true", "null", [], {}, [1, [2, [3.0, None]]], {"b": 1, "a": {"c": [True]}},
        {"\u00e4": 1, "z": 2},
    ]
    draw = random.Random(5)
    values += [struct.unpack(">d", struct.pack(">Q", bits))[0] for bits in finite_doubles(draw, 200)]
    identity = peer.create("values")
    for start in range(0, len(values), 40):
        words = [f"v{start + n}={json.dumps(value)}" for n, value in enumerate(values[start : start + 40])]
        peer.run("set", identity, *words)
    shown = peer.objects()[identity]["properties"]
    for number, value in enumerate(values):
        check(naive_state.same(shown[f"v{number}"], value), f"{value!r} came back as {shown[f'v{number}']!r}")
    raw = peer.create("raw", "a=plain text", "b=05", "c=1e5", "d={not json", "e= 1 ", "f=")
    want = {"a": "plain text", "b": "05", "c": 100000.0, "d": "{not json", "f": ""}
    have = peer.objects()[raw]["properties"]
    for name, value in want.items():
        check(naive_state.same(have[name], value), f"{name}: {have[name]!r}, not {value!r}")
    special = peer.create("special", 'nan={"$double":"7ff8000000000001"}', 'bytes={"$bytes":"00ff10"}')
    check(
        peer.objects()[special]["properties"]
        == {"nan": {"$double": "7ff8000000000001"}, "bytes": {"$bytes": "00ff10"}},
        "what JSON has no word for",
    )
    refused(peer, 1, "set", identity, f"{'n' * 600}=1")
    say(f"{len(values)} values came back to the bit")


def finite_doubles(draw, count):
    while count:
        bits = draw.getrandbits(64)
        if (bits >> 52) & 0x7FF != 0x7FF:
            count -= 1
            yield bits


def check_import_and_export(world, peer):
    exported = peer.export()
    check(exported == peer.export(), "two exports differ")
    path = world.root / "export.json"
    path.write_bytes(exported)
    other = world.founder("importer")
    other.run("import", path)
    mine, theirs = json.loads(exported), other.objects()
    check(len(mine) == len(theirs), f"{len(mine)} exported, {len(theirs)} there after the import")
    for item in mine:
        twin = theirs.get(item["id"])
        check(twin is not None, f"{item['id']} was not imported under its id")
        for field in ("type", "kind", "parent", "properties"):
            check(naive_state.same(item[field], twin[field]), f"{field}: {item[field]!r} became {twin[field]!r}")
    check(tree_of(other.json("tree")) == tree_of(peer.json("tree")), "the import has another order of siblings")
    before = other.export()
    other.run("import", path)
    again = {item["id"]: item["properties"] for item in json.loads(other.export())}
    check(again == {item["id"]: item["properties"] for item in json.loads(before)}, "a second import changed values")
    for text in ("{", "[1]", '{"a": 1}', '[{"type": 5}]', ""):
        path.write_text(text)
        done = other.result("import", path)
        check(done.returncode not in (0, 139) and done.stderr, f"importing {text!r}: {done}")
    check(other.export().count(b"\n") == before.count(b"\n"), "a refused import left something")
    refused(other, 1, "import", world.root / "missing.json", mentions=["missing.json"])
    # A part of the tree.
    folder = peer.create("folder")
    inner = peer.create("note", "--parent", folder)
    part = json.loads(peer.raw("export", folder))
    check({item["id"] for item in part} == {folder, inner}, "export ID")
    say(f"export and import: {len(mine)} objects there and back")


def random_history(peers, draw):
    """Edits at several peers, none of which knows the others' until they meet."""
    objects = {peer.name: sorted(peer.objects()) for peer in peers}
    for _ in range(RANDOM_STEPS):
        peer = draw.choice(peers)
        mine = objects[peer.name]
        # Half of the edits go to a few objects, so that collisions are the norm.
        target = draw.choice(mine[:5] if draw.random() < 0.5 else mine) if mine else None
        action = draw.choice(["create", "set", "set", "set", "unset", "mv", "mv", "mv", "rm", "key"])
        if action == "create" or target is None:
            words = ["--parent", draw.choice(mine)] if mine and draw.random() < 0.7 else []
            done = peer.result("create", draw.choice("xyz"), *words, f"p={draw.randrange(5)}")
            if done.returncode == 0:
                mine.append(done.stdout.decode().split()[0])
        elif action == "set":
            peer.result("set", target, f"{draw.choice('pqr')}={draw.randrange(9)}")
        elif action == "unset":
            peer.result("unset", target, draw.choice("pqr"))
        elif action == "mv":
            peer.result("mv", target, draw.choice([*mine, "--root"]))
        elif action == "rm" and draw.random() < 0.5:
            peer.result("rm", target)
        elif action == "key":
            peer.result("create", "keyed", "--key", draw.choice("abc"), f"by={peer.name}")


def check_recomputation(peers, agreement):
    state = agreement.settle(peers)
    lines = peers[0].operations()
    model = naive_state.State(naive_state.operations_from(lines))
    exported = {item["id"]: item for item in json.loads(state)}
    lines_of_difference = naive_state.differences(model.exported(), exported)
    for line in lines_of_difference[:20]:
        say(f"    {line}")
    check(not lines_of_difference, "the state computed from the log is not the exported one")
    check(tree_of(peers[0].json("tree")) == model.tree(), "the tree computed from the log has another order")
    for op, status in model.statuses().items():
        check(op.line["status"] == status, f"by the rules this is {status}: {op.line}")
    shown = peers[0].json("conflicts")
    conflicts = [(identity, name, op) for identity, name, op in model.conflicts()
                 if identity in model.visible and model.is_opposed(identity, op)]
    moves = [(identity, None, op) for identity, op in model.move_conflicts()
             if identity in model.visible and model.is_opposed(identity, op)]
    useless = [(identity, None, op) for identity, op in model.moves_without_effect.items() if identity in model.visible]
    check(losers(shown["properties"]) == computed(conflicts), "conflicts shows other values than the rules give")
    check(losers(shown["moves"]) == computed(moves), "conflicts shows other moves than the rules give")
    for item in shown["moves"]:
        in_force = model.moves_in_force.get(item["object"])
        check((item["winner"] or {}).get("parent") == (in_force.line["parent"] if in_force else None), f"{item}")
    without_effect = [{"object": item["object"], "losers": [item]} for item in shown["moves_without_effect"]]
    check(losers(without_effect) == computed(useless), "conflicts shows other moves without effect")
    say(f"computed again from {len(lines)} log lines: {len(exported)} objects, {len(conflicts)} conflicts, "
        f"{len(moves)} moves that lost and {len(useless)} without effect, as shown")


def losers(items):
    return {
        (item["object"], item.get("name"), write["replica"], write["sequence"], write["index"])
        for item in items
        for write in item["losers"]
    }


def computed(items):
    return {(identity, name, op.change.replica, op.change.sequence, op.index) for identity, name, op in items}


def tree_of(items):
    return [(item["id"], tree_of(item["children"])) for item in items]


def check_moves_that_lose(world):
    """Two people move one thing apart: the move that loses is a conflict until someone moves the thing again."""
    a, b = world.paired("left", "right")
    agreement = Agreement()
    address = a.start()
    b.start(peers=[address])
    thing, p, q = a.create("thing"), a.create("folder", "name=P"), a.create("folder", "name=Q")
    agreement.settle([a, b])
    a.stop()
    b.stop()
    a.run("mv", thing, p)
    b.run("mv", thing, q)
    address = a.start()
    b.start(peers=[address])
    agreement.settle([a, b])
    for peer in (a, b):
        place = peer.objects()[thing]["parent"]
        check(place in (p, q), f"{peer.name}: under {place}")
        mover, loser = ("left", "right") if place == p else ("right", "left")
        (item,) = peer.json("conflicts")["moves"]
        check(item["object"] == thing and item["winner"]["parent"] == place, f"{item}")
        check(item["winner"]["device"] == mover, f"{item}")
        (lost,) = item["losers"]
        check((lost["device"], lost["parent"]) == (loser, q if place == p else p), f"{item}")
        text = peer.run("conflicts")
        check(all(word in text for word in ("in force", "lost", p, q, loser)), f"conflicts: {text}")
        statuses = [op["status"] for op in peer.operations("--object", thing) if op["kind"] == "move"]
        # The first one put it at the end of the root when it was made.
        check(sorted(statuses)[:2] == ["conflict", "effective"], f"the log: {statuses}")
        check(peer.status()["conflicts"] == 1, f"status: {peer.status()['conflicts']}")
    b.run("mv", thing, "--root")
    agreement.settle([a, b])
    for peer in (a, b):
        check(peer.run("conflicts") == "No conflicts.", f"{peer.name}: {peer.run('conflicts')}")
    check_recomputation([a, b], agreement)
    a.stop()
    b.stop()
    say("a move that loses is listed until the object is moved again")


def check_kinds_that_lose(world):
    """Two people create one thing apart, of different kinds: the kind that lost is listed as long as the thing is."""
    a, b = world.paired("kind-left", "kind-right")
    agreement = Agreement()
    made = {peer.name: peer.create("day", "--key", "monday", "--kind", peer.name) for peer in (a, b)}
    for peer in (a, b):
        peer.create("day", "--key", "tuesday", "--kind", "workday")
    thing = made[a.name]
    check(made[b.name] == thing, f"one key makes two things: {made}")
    address = a.start()
    b.start(peers=[address])
    agreement.settle([a, b])
    for peer in (a, b):
        kind = peer.objects()[thing]["kind"]
        lost = ({a.name, b.name} - {kind}).pop()
        shown = peer.json("conflicts")
        check(shown["properties"] == [] and shown["moves"] == [], f"{shown}")
        (item,) = shown["creations"]
        check((item["object"], item["winner"]["kind"], item["winner"]["type"]) == (thing, kind, "day"), f"{item}")
        check([(loser["kind"], loser["device"]) for loser in item["losers"]] == [(lost, lost)], f"{item}")
        text = peer.run("conflicts")
        check(all(word in text for word in ("in force", "lost", lost, "cannot be changed")), f"conflicts: {text}")
        check(peer.status()["conflicts"] == 1, f"status: {peer.status()['conflicts']}")
    b.run("rm", thing)
    agreement.settle([a, b])
    for peer in (a, b):
        check(peer.run("conflicts") == "No conflicts.", f"{peer.name}: {peer.run('conflicts')}")
        peer.stop()
    say("a kind that loses is listed while the object is there")


def check_log_and_sync(world, draw):
    peers = world.paired("p", "q", "r")
    agreement = Agreement()
    for number in range(3):
        # Apart, and without daemons.
        random_history(peers, draw)
        address = peers[0].start()
        for peer in peers[1:]:
            peer.start(peers=[address])
        # Together, while everything is pushed live.
        random_history(peers, draw)
        check_recomputation(peers, agreement)
        done = peers[0].run("sync", "--wait")
        check("pushed" in done.lower() and "pulled" in done.lower(), f"sync --wait printed {done!r}")
        views = [peer.run("peers") for peer in peers]
        check(all(name in views[0] for name in ("q", "r")), f"peers: {views[0]}")
        for peer in peers:
            peer.stop()
    check(peers[0].export() == peers[1].export(), "stopped peers differ")
    # Two peers without daemons: one runs, the other's sync opens the directory itself.
    peers[1].run("create", "note", "text=made before a sync without a daemon")
    done = peers[1].result("sync", "--wait", "--timeout", "2")
    check(done.returncode == SYNC_INCOMPLETE, f"sync without anybody: exit code {done.returncode}")


def check_without_reader(peer):
    """A reader that goes away is no reason to complain."""
    done = subprocess.run(
        f"'{program()}' log --dir '{peer.directory}' | head -n 1",
        shell=True, capture_output=True, text=True, check=False
    )
    check(done.stdout.count("\n") == 1 and "rror" not in done.stderr, f"log | head: {done.stderr}")


def check_starting(world):
    """What needs a daemon waits for one that was started a moment ago."""
    for verb in (("invite",), ("open", "--print"), ("api", "--url")):
        peer = world.founder(f"starting-{verb[0]}")
        starting = threading.Thread(target=peer.start)
        starting.start()
        try:
            check(peer.run(*verb).strip(), f"{verb} right behind run prints nothing")
        finally:
            starting.join()
            peer.stop()
    refused(world.founder("alone"), 5, "invite", mentions=["No daemon runs"])


def run():
    draw = random.Random(seed_from_arguments())
    with World("cli") as world:
        check_help()
        check_directory(world)
        check_starting(world)
        peer = world.founder("one")
        check_verbs(peer)
        say("all verbs, without a daemon")
        check_values(peer)
        check_import_and_export(world, peer)
        before = peer.export()
        peer.start()
        check(peer.export() == before, "the daemon shows another state")
        check_modes(peer)
        check_second_daemon(peer)
        check_verbs(peer)
        say("all verbs, with a daemon; a second daemon is refused")
        check_values(peer)
        check_without_reader(peer)
        during = peer.export()
        peer.stop()
        for name in ("socket",):
            check(not (peer.directory / name).exists(), f"the daemon leaves its {name} behind")
        after = peer.export()
        if after != during:
            explain_difference(during, after, "with the daemon", "without")
        check(after == during, f"another state after the daemon: {digest(during)}, {digest(after)}")
        check_moves_that_lose(world)
        check_kinds_that_lose(world)
        check_log_and_sync(world, draw)


if __name__ == "__main__":
    main_of_test(run)
