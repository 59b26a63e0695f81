"""The rules of merging by brute force: computes the visible state from the log of all operations.

Written from the words of the design alone. Slow, and meant to be.
"""

import math
import struct
from collections import defaultdict
from dataclasses import dataclass, field


@dataclass
class Operation:
    """One line of the log."""

    replica: str
    sequence: int
    index: int
    stamp: str
    context: dict
    kind: str
    object: "str | None"
    name: "str | None"
    value: object
    author: "str | None"
    line: dict

    @property
    def order(self):
        """The strict total order of all operations."""
        return (self.stamp, self.replica, self.sequence, self.index)

    @property
    def milliseconds(self):
        """Six bytes of milliseconds since 1970, then two of a counter."""
        return int(self.stamp[:12], 16)

    def had_seen(self, other):
        """Whether the author of this operation knew the other one."""
        if self.replica == other.replica:
            return (other.sequence, other.index) < (self.sequence, self.index)
        return other.sequence <= self.context.get(other.replica, 0)


def operations_from(lines):
    """Reads the lines of `log --json`, and leaves out what does not count.

    A write that lost still counts: it keeps its object alive, and it may be a conflict.
    """
    operations = [
        Operation(
            *(line[name] for name in ("replica", "sequence", "index", "stamp", "context", "kind", "object", "name")),
            value=line["value"],
            author=line["author"],
            line=line,
        )
        for line in lines
        if line["effective"]
    ]
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
            parent = op.line["parent"]
            ancestor = parent
            while ancestor is not None and ancestor != op.object:
                ancestor = self.things[ancestor].parent
            if ancestor is None:
                self.things[op.object].parent = parent
                self.things[op.object].position = op.line["position"]
                self.moves_without_effect.pop(op.object, None)
            else:
                self.moves_without_effect[op.object] = op

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
            item["type"] = creation.line["object_type"]
            item["kind"] = creation.line["object_kind"]
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
