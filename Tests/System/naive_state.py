"""The rules of merging by brute force: computes the visible state from the log of all operations.

Written from the words of the design alone. Slow, and meant to be.
"""

import math
import struct
from collections import defaultdict
from dataclasses import dataclass, field

from peerd_harness import check


@dataclass(eq=False)
class Change:
    """One node of a replica's chain, which is a tree if two machines wrote as one device."""

    replica: str
    sequence: int
    hash: str
    claimed: int
    previous: "Change | None" = None
    # The last changes that its author had seen.
    seen: list = field(default_factory=list)
    is_restamped: bool = False
    # The time that counts: above that of everything that its author had seen.
    stamp: int = -1

    def path(self):
        """The hashes from the beginning of the chain on: they decide between two forks."""
        change, path = self, []
        while change is not None:
            path.append(change.hash)
            change = change.previous
        return path[::-1]

    def comes_after(self, other):
        """Whether a change is this one, or comes before it in its chain."""
        change = self
        while change is not None and change.sequence > other.sequence:
            change = change.previous
        return change is other


@dataclass(eq=False)
class Operation:
    """One line of the log."""

    change: Change
    index: int
    kind: str
    object: "str | None"
    name: "str | None"
    value: object
    author: "str | None"
    line: dict
    order: tuple = ()
    # The changes that count for the author, where that is not all that he had seen, because of branches.
    taken: "set | None" = None

    @property
    def identity(self):
        return (self.change.replica, self.change.hash, self.index)

    @property
    def milliseconds(self):
        """Six bytes of milliseconds since 1970, then two of a counter."""
        return self.change.stamp >> 16

    def had_seen(self, other):
        """Whether the author of this operation knew the other one."""
        if self.change is other.change:
            return other.index < self.index
        if self.taken is not None:
            return other.change in self.taken
        return any(
            seen.replica == other.change.replica and seen.comes_after(other.change) for seen in self.change.seen
        )


def changes_from(lines):
    """The changes by replica and hash, with their effective stamps."""
    changes = {}
    stored = [line["stored"] for line in lines]
    for line in stored:
        key = (line["replica"], line["hash"])
        changes[key] = Change(line["replica"], line["sequence"], line["hash"], int(line["claimed_stamp"], 16))
    by_name = {(change.replica, change.hash[:16], change.sequence): change for change in changes.values()}
    for line in stored:
        change = changes[line["replica"], line["hash"]]
        change.previous = changes.get((line["replica"], line.get("previous")))
        points = [(replica, *point) for replica, points in line["context"].items() for point in points.items()]
        change.seen = [by_name[point] for point in points if point in by_name]
    users = {line["replica"]: line.get("user") for line in stored}
    for line in stored:
        named = line.get("changes")
        # A restamp counts wherever it stands, if it is by the user whose changes it names.
        if line["kind"] == "restamp" and users.get(named["replica"]) == line.get("user"):
            change = changes.get((named["replica"], named["last_hash"]))
            carrier = changes[line["replica"], line["hash"]]
            while (
                change is not None
                and change.sequence >= named["first_sequence"]
                and change.claimed > carrier.claimed
            ):
                change.is_restamped = True
                change = change.previous
    for change in changes.values():
        set_stamp(change)
    return changes


def set_stamp(change):
    """Computes the effective stamp of a change after those that it follows from."""
    open_changes = [change]
    while open_changes:
        change = open_changes[-1]
        causes = change.seen + ([change.previous] if change.previous else [])
        unknown = [cause for cause in causes if cause.stamp < 0]
        if unknown:
            open_changes += unknown
            continue
        claimed = 0 if change.is_restamped else change.claimed
        change.stamp = max([claimed, *(cause.stamp + 1 for cause in causes)])
        open_changes.pop()


def operations_from(lines, changes=None):
    """Reads the lines of `log --json`, and leaves out what is held or waits.

    A write that lost counts, too: it keeps its object alive, and it may be a conflict. `changes`: those of the whole
    log, if these are lines of some of them.
    """
    changes = changes_from(lines) if changes is None else changes
    forks = defaultdict(lambda: defaultdict(set))
    for change in changes.values():
        forks[change.replica][change.previous].add(change)
    forked = {replica for replica, parents in forks.items() if any(len(next_) > 1 for next_ in parents.values())}
    operations = []
    for line in lines:
        if line["status"] in ("held", "waiting", "unmerged"):
            continue
        stored = line["stored"]
        change = changes[stored["replica"], stored["hash"]]
        if int(stored["stamp"], 16) != change.stamp:
            raise AssertionError(f"the log shows another time than the rules give, {change.stamp:x}: {line}")
        kind, write = stored["kind"], line["action"].get(stored["kind"])
        name, value = (write["name"], write.get("value")) if kind in ("set", "unset") else (stored.get("name"), None)
        operation = Operation(change, stored["index"], kind, line.get("object"), name, value, stored.get("user"), line)
        path = change.path() if change.replica in forked else []
        operation.order = (change.stamp, change.replica, change.sequence, path, operation.index)
        operations.append(operation)
    return sorted(operations, key=lambda op: op.order)


@dataclass
class Thing:
    operations: list = field(default_factory=list)
    parent: "str | None" = None
    position: str = ""


class State:
    """The state that a set of effective operations stands for."""

    def __init__(self, operations):
        self.things = defaultdict(Thing)
        # The last move of an object, if it closed a cycle and so had no effect.
        self.moves_without_effect = {}
        # The move that each object owes its place to, and all that had no effect.
        self.moves_in_force = {}
        self.ineffective = set()
        for op in operations:
            if op.object is not None:
                self.things[op.object].operations.append(op)
        self._place(operations)
        self.visible = self._visible()

    def _place(self, operations):
        """Takes the moves in order; one that would put an object under itself has no effect."""
        for op in operations:
            if op.kind != "move":
                continue
            parent = op.line["action"]["move"]["parent"]
            ancestor = parent
            while ancestor is not None and ancestor != op.object:
                ancestor = self.things[ancestor].parent
            if ancestor is None:
                self.things[op.object].parent = parent
                self.things[op.object].position = op.line["stored"]["position"]
                self.moves_without_effect.pop(op.object, None)
                self.moves_in_force[op.object] = op
            else:
                self.moves_without_effect[op.object] = op
                self.ineffective.add(op)

    def is_alive(self, thing):
        """A creation or write keeps an object unless some deletion had seen it."""
        deletions = [op for op in thing.operations if op.kind == "delete"]
        return any(
            op.kind != "delete" and not any(deletion.had_seen(op) for deletion in deletions)
            for op in thing.operations
        )

    def _visible(self):
        """What lives, and everything above it."""
        visible = set()
        for name in [name for name, thing in self.things.items() if self.is_alive(thing)]:
            while name is not None and name not in visible:
                visible.add(name)
                name = self.things[name].parent
        return visible

    def properties(self, thing):
        winners = {}
        for op in thing.operations:
            if op.kind in ("set", "unset"):
                winners[op.name] = op
        return {name: op.value for name, op in winners.items() if op.kind == "set"}

    def conflicts(self):
        """(object, property, write) of each write that lost and that nobody has seen and overwritten since."""
        found = []
        for name, thing in self.things.items():
            writes = defaultdict(list)
            for op in thing.operations:
                if op.kind in ("set", "unset"):
                    writes[op.name].append(op)
            for prop, ops in writes.items():
                found += [(name, prop, op) for op in ops[:-1] if not any(other.had_seen(op) for other in ops)]
        return found

    def is_opposed(self, name, op):
        """Whether what is in force says something else than a write or a move that lost."""
        if op.kind == "move":
            winner = self.moves_in_force.get(name)
            return winner is None or winner.line["action"] != op.line["action"]
        winner = [other for other in self.things[name].operations
                  if other.kind in ("set", "unset") and other.name == op.name][-1]
        return (winner.kind, winner.value) != (op.kind, op.value)

    def open_moves(self):
        """By object the moves that no other move of it has seen, where there are several."""
        found = {}
        for name, thing in self.things.items():
            moves = [op for op in thing.operations if op.kind == "move"]
            moves = [op for op in moves if not any(other.had_seen(op) for other in moves)]
            if len(moves) > 1:
                found[name] = moves
        return found

    def move_conflicts(self):
        """(object, move) of each of them that is not in force."""
        found = [(name, op) for name, moves in self.open_moves().items() for op in moves]
        return [(name, op) for name, op in found if self.moves_in_force.get(name) != op]

    def statuses(self):
        """What became of each write and each move of the visible objects, as `log` says it."""
        lost = {op for _, _, op in self.conflicts()} | {op for _, op in self.move_conflicts()}
        found = {}
        for name in self.visible:
            winners = {op.name: op for op in self.things[name].operations if op.kind in ("set", "unset")}
            for op in self.things[name].operations:
                if op.kind in ("create", "delete"):
                    continue
                if op in self.ineffective:
                    found[op] = "without_effect"
                elif op in (winners.get(op.name), self.moves_in_force.get(name)):
                    found[op] = "effective"
                else:
                    found[op] = "conflict" if op in lost else "superseded"
        return found

    def tree(self, parent=None):
        """The visible objects below one, in order: [(id, [what is below it])]."""
        children = [name for name in self.visible if self.things[name].parent == parent]
        children.sort(key=lambda name: (position_bytes(self.things[name].position), name))
        return [(name, self.tree(name)) for name in children]

    def exported(self):
        """The visible objects by id, as `export` shows them."""
        return {name: self._exported(name, self.things[name]) for name in self.visible}

    def _exported(self, name, thing):
        creation = next((op for op in thing.operations if op.kind == "create"), None)
        item = {
            "id": name,
            "parent": thing.parent,
            "position": thing.position,
            "updated_at": max((op.milliseconds for op in thing.operations), default=0),
            "type": None,
            "kind": None,
            "created_at": None,
            "creator": None,
            "owner": None,
            "properties": self.properties(thing),
        }
        if creation is not None:
            item |= creation.line["action"]["create"]
            item["created_at"] = creation.milliseconds
            item["creator"] = item["owner"] = creation.author
        return item


def position_bytes(text):
    """The bytes that a position is shown for: printable ASCII as it is, anything else in hexadecimal."""
    return bytes.fromhex(text[2:]) if text.startswith("0x") else text.encode()


def same(left, right):
    """Whether two JSON values are the same to the bit: 1 is not 1.0, and 0.0 is not -0.0."""
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, float):
        return struct.pack(">d", left) == struct.pack(">d", right) or (math.isnan(left) and math.isnan(right))
    return left == right


def differences(computed, exported):
    """Lines that say where a computed state and an exported one differ."""
    lines = []
    for name in sorted(computed.keys() | exported.keys()):
        mine, theirs = computed.get(name), exported.get(name)
        if mine is None or theirs is None:
            lines.append(f"{name}: only {'exported' if mine is None else 'computed'}")
        elif not same(mine, theirs):
            fields = sorted(key for key in mine.keys() | theirs.keys() if not same(mine.get(key), theirs.get(key)))
            lines += [f"{name}.{key}: computed {mine.get(key)!r}, exported {theirs.get(key)!r}" for key in fields]
    return lines


def differences_at(peer):
    """Where what a peer shows is not what the rules make of its own log."""
    return differences(State(operations_from(peer.operations())).exported(), peer.objects())


def check_by_the_rules(peer):
    """What a peer shows is what other code than the product's makes of its log, and its doctor finds no damage."""
    lines = differences_at(peer)
    check(not lines, f"{peer.name} shows another state than its log: {lines[:5]}")
    report = peer.json("doctor")
    check(report["healthy"], f"the doctor of {peer.name} finds: {report['findings']}")
