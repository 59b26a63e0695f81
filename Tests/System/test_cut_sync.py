#!/usr/bin/env python3
"""A sync that is cut at random byte offsets, 200 times: it ends equal, and costs little more than one clean sync."""

# time limit: 900 s

import json
import random
import time

from peerd_harness import Agreement, World, check, main_of_test, say, seed_from_arguments, wait_until
from tcp_proxy import Proxy

CUTS = 200
OBJECTS_PER_ROUND = 500
PROPERTIES_PER_OBJECT = 4
TEXT_BYTES = 120
# What may be on its way, in vain, when a link breaks: one sealed record (DESIGN §7) ...
RECORD_BYTES = 2 + 65519 + 16
# ... and what a new connection costs before data flow: the handshake, the greetings and equal frontiers.
RECONNECT_BYTES = 1500
FACTOR = 1.2
OUT_OF_THE_WAY = "127.0.0.2:0"


def batch(draw, number):
    """Objects with random, hence incompressible, text: the bytes on the wire are the bytes of the data."""
    return [
        {
            "type": "sample",
            "kind": "",
            "properties": {
                f"p{index}": draw.randbytes(TEXT_BYTES // 2).hex()[:TEXT_BYTES]
                for index in range(PROPERTIES_PER_OBJECT)
            }
            | {"round": number, "object": object_number},
        }
        for object_number in range(OBJECTS_PER_ROUND)
    ]


class Ways:
    """a, and two peers that each reach it through a proxy of their own: one is never cut, the other again and again."""

    def __init__(self, world):
        self.a, self.clean, self.cut = world.paired("a", "clean", "cut")
        # New ports, which nobody has learned, and an address other than the one that connections come from: nothing
        # can go around the proxies, in either direction.
        address = self.a.start(listen=OUT_OF_THE_WAY)
        self.clean_proxy, self.cut_proxy = Proxy(address), Proxy(address)
        world.closers += [self.clean_proxy.close, self.cut_proxy.close]
        self.clean.start(listen=OUT_OF_THE_WAY, peers=[self.clean_proxy.address])
        self.cut.start(listen=OUT_OF_THE_WAY, peers=[self.cut_proxy.address])


def run():
    seed = seed_from_arguments()
    draw = random.Random(seed)
    began = time.monotonic()
    with World("cut") as world:
        ways = Ways(world)
        agreement = Agreement()
        agreement.settle([ways.a, ways.clean, ways.cut])
        clean_total = cut_total = cuts = rounds = 0
        while cuts < CUTS:
            rounds += 1
            clean_bytes, cut_bytes, round_cuts = one_round(world, ways, agreement, draw, rounds, CUTS - cuts)
            clean_total += clean_bytes
            cut_total += cut_bytes
            cuts += round_cuts
            say(f"  round {rounds}: clean {clean_bytes} bytes, cut {round_cuts} times {cut_bytes} bytes")
            check(round_cuts > 0 or rounds < 50, "the link is hardly ever cut")
        allowance = cuts * (RECORD_BYTES + RECONNECT_BYTES)
        say(
            f"clean: {clean_total} bytes; cut {cuts} times in {rounds} rounds: {cut_total} bytes, "
            f"{cut_total / clean_total:.3f} times as many; {(cut_total - clean_total) / cuts:.0f} bytes more a cut; "
            f"{time.monotonic() - began:.0f} s"
        )
        check(
            cut_total <= FACTOR * clean_total + allowance,
            f"more than {FACTOR} x {clean_total} and {allowance} bytes for what was in flight and the new connections",
        )
        for peer in (ways.a, ways.clean, ways.cut):
            peer.stop()


def one_round(world, ways, agreement, draw, number, most_cuts):
    """New data on a: one peer takes them in one go, the other in pieces."""
    path = world.root / "batch.json"
    path.write_text(json.dumps(batch(draw, number)))
    ways.cut_proxy.is_open = False
    ways.cut_proxy.cut_all()
    wait_until(lambda: ways.cut_proxy.live_connections() == 0, 10, "the cut link is down")
    clean_before, cut_before = ways.clean_proxy.total_bytes, ways.cut_proxy.total_bytes
    ways.a.run("import", path)
    agreement.settle([ways.a, ways.clean])
    clean_bytes = ways.clean_proxy.total_bytes - clean_before

    offsets = []
    connections_before = ways.cut_proxy.connections

    def next_cut():
        if len(offsets) >= most_cuts:
            return None
        offsets.append(draw.choice([0, 1, draw.randrange(600), *[draw.randrange(clean_bytes) for _ in range(5)]]))
        return offsets[-1]

    ways.cut_proxy.cut_after = next_cut
    ways.cut_proxy.is_open = True
    while ways.cut.frontier() != ways.a.frontier():
        before = ways.cut_proxy.connections
        # Asks for a connection now, not when the backoff allows.
        asking = ways.cut.begin("sync")
        deadline = time.monotonic() + 5
        while time.monotonic() < deadline:
            is_live = ways.cut_proxy.live_connections() > 0
            if ways.cut_proxy.connections > before and not is_live:
                break
            if is_live and ways.cut.frontier() == ways.a.frontier():
                break
            time.sleep(0.01)
        asking.kill()
        asking.wait()
        agreement.look(ways.cut)
        check(ways.cut_proxy.connections - connections_before < 10 * CUTS, "no end of connections")
    agreement.settle([ways.a, ways.cut])
    made = ways.cut_proxy.connections - connections_before
    still_live = ways.cut_proxy.live_connections()
    return clean_bytes, ways.cut_proxy.total_bytes - cut_before, made - still_live


if __name__ == "__main__":
    main_of_test(run)
