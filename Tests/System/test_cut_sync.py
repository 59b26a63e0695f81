"""A sync that is cut at random byte offsets, again and again: it ends equal, and costs little more than a clean one."""

import base64
import random
import time

from peerd_harness import Agreement, DaemonSocket, check, digest, run_together, say, wait_until
from tcp_proxy import Proxy

CUTS = 60
CHANGES = 1800
TEXT_BYTES = 3000
WRITERS = 4
FACTOR = 1.2
CONNECT_SECONDS = 5
CLEAN_SECONDS = 120
OUT_OF_THE_WAY = "127.0.0.2:0"


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

    def part(self):
        for proxy in (self.clean_proxy, self.cut_proxy):
            proxy.is_open = False
            proxy.cut_all()
            wait_until(lambda: proxy.live_connections() == 0, 10, "the links are down")


def write_much(peer, seed):
    """Many changes of random, hence incompressible, text: the bytes on the wire are the bytes of the data.

    Over the daemon's socket, as `peerd create` does, but without starting a process for each."""

    def work(number):
        draw = random.Random(seed + number)
        with DaemonSocket(peer) as daemon:
            for _ in range(CHANGES // WRITERS):
                daemon.create("sample", {"text": base64.b64encode(draw.randbytes(TEXT_BYTES)).decode()})

    run_together([lambda number=number: work(number) for number in range(WRITERS)])


def sync_clean(ways, agreement):
    proxy = ways.clean_proxy
    before, cuts = proxy.total_bytes, proxy.cuts
    proxy.is_open = True
    asking = ways.clean.begin("sync")
    agreement.settle([ways.a, ways.clean], CLEAN_SECONDS)
    asking.wait()
    repeated = sum(peer["traffic"]["duplicate_changes"] for peer in ways.clean.json("peers"))
    check(proxy.cuts == cuts and repeated == 0, f"{repeated} changes came twice in the sync that was not cut")
    return proxy.total_bytes - before


def sync_with_cuts(ways, agreement, draw, clean_bytes):
    """Cuts the link until it has been cut often enough, then lets the rest through."""
    proxy = ways.cut_proxy
    before, cuts_before, connections_before = proxy.total_bytes, proxy.cuts, proxy.connections
    mean = clean_bytes // CUTS

    def next_cut():
        proxy.resets = draw.random() < 0.5
        if proxy.cuts - cuts_before >= CUTS:
            return None
        # At once, after one byte, within the handshake, or anywhere: so that the cuts are spread over the whole sync.
        return draw.choice([0, 1, draw.randrange(600), *[draw.randrange(2 * mean) for _ in range(17)]])

    proxy.cut_after = next_cut
    proxy.is_open = True
    goal, looked = ways.a.frontier(), 0
    while ways.cut.frontier() != goal:
        check(proxy.connections - connections_before < 3 * CUTS, "no end of connections")
        tried = proxy.connections
        # Asks for a connection now, not when the backoff allows.
        asking = ways.cut.begin("sync")
        deadline = time.monotonic() + CONNECT_SECONDS
        while proxy.connections == tried and time.monotonic() < deadline:
            time.sleep(0.005)
        while proxy.live_connections() and time.monotonic() < deadline:
            time.sleep(0.005)
        asking.kill()
        asking.wait()
        if proxy.cuts - cuts_before >= looked + 15:
            looked = proxy.cuts - cuts_before
            say(f"{looked} cuts: {proxy.total_bytes - before} bytes, {ways.cut.status()['changes']} changes arrived")
            agreement.look(ways.cut)
    agreement.settle([ways.a, ways.cut])
    return proxy.total_bytes - before, proxy.cuts - cuts_before


def test_a_sync_that_is_cut_60_times_ends_equal_and_repeats_little(world, seed, draw):
    ways = Ways(world)
    agreement = Agreement()
    ways.a.create("first")
    agreement.settle([ways.a, ways.clean, ways.cut])
    ways.part()
    write_much(ways.a, seed)
    clean_bytes = sync_clean(ways, agreement)
    cut_bytes, cuts = sync_with_cuts(ways, agreement, draw, clean_bytes)
    say(
        f"clean: {clean_bytes} bytes. Cut {cuts} times: {cut_bytes} bytes, {cut_bytes / clean_bytes:.3f} times as "
        f"many, {(cut_bytes - clean_bytes) / cuts:.0f} bytes more a cut"
    )
    check(cuts >= CUTS, f"only {cuts} cuts: the data were there before")
    check(cut_bytes <= FACTOR * clean_bytes, f"more than {FACTOR} times the bytes of a clean sync")
    say(f"all equal: sha256 {digest(agreement.settle([ways.a, ways.clean, ways.cut]))}")
    for peer in (ways.a, ways.clean, ways.cut):
        peer.stop()
