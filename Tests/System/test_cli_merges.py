"""What the command line shows of edits that were made apart: conflicts of properties, moves and kinds, and a log from
which anyone can compute the state again."""

import json
import random

import pytest

import naive_state
from peerd_harness import Agreement, check, run_together, say

SYNC_INCOMPLETE = 6
RANDOM_STEPS = 20


def start_together(peers):
    address = peers[0].start()
    for peer in peers[1:]:
        peer.start(peers=[address])


@pytest.fixture
def agreement():
    return Agreement()


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
        parent = in_force.line["action"]["move"]["parent"] if in_force else None
        check((item["winner"] or {}).get("parent") == parent, f"{item}")
    without_effect = [{"object": item["object"], "losers": [item]} for item in shown["moves_without_effect"]]
    check(losers(without_effect) == computed(useless), "conflicts shows other moves without effect")
    say(f"computed again from {len(lines)} log lines: {len(exported)} objects, {len(conflicts)} conflicts, "
        f"{len(moves)} moves that lost and {len(useless)} without effect, as shown")


def test_a_move_that_loses_is_listed_until_the_object_moves_again(world, agreement):
    a, b = world.paired("left", "right")
    start_together([a, b])
    thing, p, q = a.create("thing"), a.create("folder", "name=P"), a.create("folder", "name=Q")
    agreement.settle([a, b])
    a.stop()
    b.stop()
    a.run("mv", thing, p)
    b.run("mv", thing, q)
    start_together([a, b])
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
        statuses = [op["status"] for op in peer.operations("--object", thing) if "move" in op["action"]]
        # The first one put it at the end of the root when it was made.
        check(sorted(statuses)[:2] == ["conflict", "effective"], f"the log: {statuses}")
        check(peer.status()["conflicts"] == 1, f"status: {peer.status()['conflicts']}")
    b.run("mv", thing, "--root")
    agreement.settle([a, b])
    for peer in (a, b):
        check(peer.run("conflicts") == "No conflicts.", f"{peer.name}: {peer.run('conflicts')}")
    check_recomputation([a, b], agreement)


def test_a_kind_that_loses_is_listed_while_the_object_is_there(world, agreement):
    a, b = world.paired("kind-left", "kind-right")
    made = {peer.name: peer.create("day", "--key", "monday", "--kind", peer.name) for peer in (a, b)}
    for peer in (a, b):
        peer.create("day", "--key", "tuesday", "--kind", "workday")
    thing = made[a.name]
    check(made[b.name] == thing, f"one key makes two things: {made}")
    start_together([a, b])
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


def random_history(peers, draw):
    """Edits at all peers at a time."""
    run_together([lambda peer=peer, own=random.Random(draw.getrandbits(64)): edit(peer, own) for peer in peers])


def edit(peer, draw):
    """Random edits at one peer of what it knows before; some may be refused."""
    mine = sorted(peer.objects())
    for _ in range(RANDOM_STEPS):
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
        elif action == "rm" and draw.random() < 0.2:
            peer.result("rm", target)
        elif action == "key":
            peer.result("create", "keyed", "--key", draw.choice("abc"), f"by={peer.name}")


@pytest.mark.parametrize("history", range(3))
def test_the_log_of_a_random_history_gives_the_state(world, agreement, draw, history):
    peers = world.paired("p", "q", "r")
    for _ in range(2):
        # Apart, and without daemons.
        random_history(peers, draw)
        start_together(peers)
        check_recomputation(peers, agreement)
        # Together, while everything is pushed live.
        random_history(peers, draw)
        check_recomputation(peers, agreement)
        done = peers[0].run("sync", "--wait")
        check("pushed" in done.lower() and "pulled" in done.lower(), f"sync --wait printed {done!r}")
        shown = peers[0].run("peers")
        check(all(name in shown for name in ("q", "r")), f"peers: {shown}")
        for peer in peers:
            peer.stop()
    check(peers[0].export() == peers[1].export(), "stopped peers differ")


def test_a_sync_without_a_daemon_that_meets_nobody_is_incomplete(world):
    a, _ = world.paired("a", "b")
    a.run("create", "note", "text=made before a sync without a daemon")
    done = a.result("sync", "--wait", "--timeout", "2")
    check(done.returncode == SYNC_INCOMPLETE, f"sync without anybody: exit code {done.returncode}")
