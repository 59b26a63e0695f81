"""The edits of Sources/Workbench/Workload.swift, for programs other than peerd."""

import base64
import struct

PROPERTY_COUNT = 10
NAMES = [f"property{number}" for number in range(PROPERTY_COUNT)]
TREE_NODE_COUNT = 10_000
PEER_COUNT = 100
CHANGE_SIZE = 100
MASK = (1 << 64) - 1


def mixed(value):
    value &= MASK
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & MASK
    return value ^ (value >> 31)


class SplitMix64:
    def __init__(self, seed):
        self.state = seed

    def next(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        return mixed(self.state)

    def below(self, bound):
        return self.next() % bound


def object_key(number):
    """The object's 16-byte id in the shortest text."""
    identifier = struct.pack(">QQ", mixed(number * 2 + 1), mixed(number * 2 + 2))
    return base64.urlsafe_b64encode(identifier).decode().rstrip("=")


def value(register, writer):
    return mixed(register << 8 | writer) % 1_000_000


def portions(items):
    for first in range(0, len(items), CHANGE_SIZE):
        yield items[first : first + CHANGE_SIZE]


def property_writes(workload, count):
    """(number of objects, registers written before the clock starts, [(writer, registers)] of the news)."""
    if workload == "writes":
        return count // PROPERTY_COUNT, [], [(1, range(count))]
    if workload == "concurrent":
        return count * 2 // PROPERTY_COUNT, range(count * 2), [(2, range(count))]
    news = []
    for number in range(2, 2 + PEER_COUNT):
        random = SplitMix64(number)
        news.append((number, [random.below(count) for _ in range(count // PEER_COUNT)]))
    return count // PROPERTY_COUNT, [], news


def tree_parents():
    random = SplitMix64(1)
    return [-1] + [random.below(node) for node in range(1, TREE_NODE_COUNT)]


def tree_moves(count, seed, parents):
    parents = list(parents)
    random = SplitMix64(seed)
    moves = []
    while len(moves) < count:
        node = 1 + random.below(len(parents) - 1)
        parent = random.below(len(parents))
        ancestor = parent
        while ancestor >= 0 and ancestor != node:
            ancestor = parents[ancestor]
        if ancestor == node:
            continue
        parents[node] = parent
        moves.append((node, parent))
    return moves
