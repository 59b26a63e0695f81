#!/usr/bin/env python3
"""Three peers edit a real data set apart and come together: real processes, real TCP, real files.

Prints what each side did, how it merged, the conflicts, bytes and time, and that all three ended with the same bytes.
Ends with 1 if anything is not as it should be. Run it with `make demo`.
"""

import json
import random
import sys
import time
import uuid
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "Tests" / "System"))

from peerd_harness import (  # noqa: E402
    Agreement,
    CheckFailed,
    CommandFailed,
    World,
    check,
    digest,
    end_in_order_on_sigterm,
    invite_line,
    say,
    wait_until,
)
from tcp_proxy import Proxy  # noqa: E402

COUNTRIES = Path("/usr/share/iso-codes/json/iso_3166-1.json")
SUBDIVISIONS = Path("/usr/share/iso-codes/json/iso_3166-2.json")
# Names the objects of the import: an object id may be derived from what the object means.
NAMESPACE = uuid.UUID("6ba7b812-9dad-11d1-80b4-00c04fd430c8")
ROUTINE_EDITS = 25
# What the story is about; the random edits leave these alone.
TOLD = ("DE-BY", "JP-13", "GB-SCT", "GB-WLS", "GB-NIR", "IT-32", "FR-20R", "FR-2A", "FR-2B", "AD-08", "US-UM")
SETTLE_SECONDS = 40
# Connections come from 127.0.0.1, and that is where peers look for those they know: nothing goes around the proxies.
LISTEN = "127.0.0.2:0"


def title(text):
    say(f"\n== {text}")


def identity(code):
    return str(uuid.uuid5(NAMESPACE, f"iso_3166:{code}"))


def iso_objects():
    """Countries, their subdivisions and the subdivisions of those, parents first."""
    if not SUBDIVISIONS.exists():
        sys.exit(f"{SUBDIVISIONS} is missing; install the package iso-codes (make setup does).")
    names = {entry["alpha_2"]: entry["name"] for entry in json.loads(COUNTRIES.read_text())["3166-1"]}
    records = {entry["code"]: entry for entry in json.loads(SUBDIVISIONS.read_text())["3166-2"]}
    parents = {}
    for code, record in records.items():
        country = code.split("-")[0]
        # The data name some parents with their country and some without.
        named = record.get("parent")
        parents[code] = next((full for full in (named, f"{country}-{named}") if full in records), country)
    objects = [
        {"id": identity(code), "type": "country", "properties": {"code": code, "name": names.get(code, code)}}
        for code in sorted({code.split("-")[0] for code in records})
    ]

    def depth(code):
        return 0 if parents[code] not in records else 1 + depth(parents[code])

    for code in sorted(records, key=lambda code: (depth(code), code)):
        record = records[code]
        objects.append(
            {
                "id": identity(code),
                "type": "subdivision",
                "kind": record["type"],
                "parent": identity(parents[code]),
                "properties": {"code": code, "name": record["name"]},
            }
        )
    return objects, sum("parent" in record for record in records.values())


class Demo:
    def __init__(self, world):
        self.world = world
        self.agreement = Agreement()
        self.proxies = []
        self.subdivisions = []

    # Peers and links.

    def pair(self):
        title("three peers, paired by invite")
        self.laptop = self.world.founder("laptop")
        self.laptop.start(listen=LISTEN)
        self.desk, self.phone = self.world.peer("desk"), self.world.peer("phone")
        for peer in (self.desk, self.phone):
            line = invite_line(self.laptop)
            say(f"laptop$ peerd invite\n{line}")
            say(f"{peer.name}$ peerd join     # asks for the line")
            say(peer.run("join", "--name", peer.name, line))
        self.laptop.stop()
        self.peers = [self.laptop, self.desk, self.phone]
        self.connect()

    def connect(self):
        """Every two peers have a link, each through a proxy that counts bytes. Ports are new each time."""
        for peer in self.peers:
            if peer.process is not None:
                peer.stop()
        to_laptop = self.proxy(self.laptop.start(listen=LISTEN))
        to_desk = self.proxy(self.desk.start(listen=LISTEN, peers=[to_laptop.address]))
        also_to_laptop = self.proxy(self.laptop.address)
        self.phone.start(listen=LISTEN, peers=[also_to_laptop.address, to_desk.address])

    def proxy(self, target):
        proxy = Proxy(target)
        self.world.closers.append(proxy.close)
        self.proxies.append(proxy)
        return proxy

    def cut(self):
        """The proxies close, and the daemons come up again on ports that nobody has heard of."""
        for proxy in self.proxies:
            proxy.close()
        for peer in self.peers:
            peer.stop()
        for peer in self.peers:
            peer.start(listen=LISTEN)

    def wire_bytes(self):
        return sum(proxy.total_bytes for proxy in self.proxies)

    def settle(self):
        """Waits until all are equal; returns the state, the seconds and the bytes it took."""
        began, before = time.monotonic(), self.wire_bytes()
        state = self.agreement.settle(self.peers, SETTLE_SECONDS)
        return state, time.monotonic() - began, self.wire_bytes() - before

    # The story.

    def import_everything(self):
        title("the laptop imports the subdivisions of all countries (iso-codes, ISO 3166-2)")
        objects, with_parent = iso_objects()
        path = self.world.root / "iso.json"
        path.write_text(json.dumps(objects, ensure_ascii=False))
        self.subdivisions = [item["id"] for item in objects if item["type"] == "subdivision"]
        before = self.wire_bytes()
        began = time.monotonic()
        say(self.laptop.run("import", path) or "imported")
        took = time.monotonic() - began
        operations = len(self.laptop.operations())
        state, waited, _ = self.settle()
        moved = self.wire_bytes() - before
        count = len(json.loads(state))
        check(count == len(objects), f"{count} objects of {len(objects)} are there")
        say(
            f"{count} objects ({with_parent} subdivisions of subdivisions), {operations} operations: import "
            f"{took:.2f} s, on all three {waited:.2f} s later"
        )
        say(f"{moved} bytes over all links, {moved / operations / 2:.1f} an operation and receiving peer")

    def prepare(self):
        """What must be there before the links go down."""
        self.archive = self.desk.create("folder", "name=Archive")
        self.settle()
        title("the links are cut; each side goes on editing")
        self.cut()

    def do(self, peer, what, *verb):
        output = peer.run(*verb)
        say(f"  {peer.name:7} {what}")
        return output.split()[0] if output else ""

    def set(self, peer, code, assignment, why=""):
        return self.do(peer, f"sets {code} {assignment}{why}", "set", identity(code), assignment)

    def move(self, peer, code, parent, why=""):
        return self.do(peer, f"moves {code} under {parent}{why}", "mv", identity(code), self.id_of(parent))

    def id_of(self, name):
        return self.archive if name == "Archive" else identity(name)

    def edit_apart(self):
        laptop, desk, phone = self.peers
        say("one property, edited on all sides:")
        self.set(laptop, "DE-BY", "name=Freistaat Bayern")
        self.set(desk, "DE-BY", "name=Bavaria")
        self.set(phone, "DE-BY", "name=Bayern (DE)")
        say("different properties of one object:")
        self.set(laptop, "JP-13", "population=14000000")
        self.set(desk, "JP-13", "visited=true")
        say("a cycle of moves through all three:")
        self.move(laptop, "GB-SCT", "GB-WLS")
        self.move(desk, "GB-WLS", "GB-NIR")
        self.move(phone, "GB-NIR", "GB-SCT")
        say("one object moved to two places:")
        self.move(laptop, "IT-32", "AT")
        self.move(phone, "IT-32", "CH")
        say("deleted here, edited there:")
        self.do(laptop, "deletes FR-20R with everything below it", "rm", identity("FR-20R"))
        self.set(desk, "FR-2A", "note=the edit that the laptop has not seen")
        say("a folder deleted here, something moved into it there:")
        self.do(phone, "deletes the folder Archive", "rm", self.archive)
        self.move(desk, "AD-08", "Archive")
        say("deleted on two sides:")
        self.do(laptop, "deletes US-UM", "rm", identity("US-UM"))
        self.do(phone, "deletes US-UM", "rm", identity("US-UM"))
        say("the same thing made on all sides, named by its key:")
        self.trips = {
            self.do(peer, f"creates the trip with the key summer-2026, {name}=true",
                    "create", "trip", "--key", "summer-2026", f"{name}=true", f"title=by {name}")
            for peer, name in ((laptop, "laptop"), (desk, "desk"), (phone, "phone"))
        }
        self.routine_edits()

    def routine_edits(self):
        """Edits without design, so that not only the cases thought of are shown. Always the same ones."""
        say("and each side makes some edits at random:")
        draw = random.Random(2026)
        told = {identity(code) for code in TOLD} | {self.archive}
        codes = [item for item in self.subdivisions if item not in told]
        hot = draw.sample(codes, 12)
        for peer in self.peers:
            done = {"set": 0, "mv": 0, "create": 0, "rm": 0}
            for number in range(ROUTINE_EDITS):
                verb = draw.choices(list(done), weights=[6, 3, 2, 1])[0]
                target = draw.choice(hot if draw.random() < 0.6 else codes)
                if verb == "set":
                    words = (target, f"score={draw.randrange(100)}")
                elif verb == "mv":
                    words = (target, draw.choice(hot))
                elif verb == "create":
                    words = ("note", "--parent", target, f"text=note {number} of the {peer.name}")
                else:
                    words = (target,)
                # What was deleted or would go under itself is refused here already.
                done[verb] += peer.result(verb, *words).returncode == 0
            say(f"  {peer.name:7} " + ", ".join(f"{verb} {count}" for verb, count in done.items()))

    def heal(self):
        views = {peer.name: peer.export() for peer in self.peers}
        check(len(set(views.values())) == 3, "three sides edited apart must differ")
        for name, state in views.items():
            say(f"  {name:7} {len(json.loads(state))} objects, sha256 {digest(state)[:16]}...")
        title("the links come back")
        before = self.wire_bytes()
        began = time.monotonic()
        self.connect()
        state, _, _ = self.settle()
        took, spent = time.monotonic() - began, self.wire_bytes() - before
        say(f"equal again after {took:.2f} s (daemons restarted), {spent} bytes")
        return {item["id"]: item for item in json.loads(state)}

    def explain(self, objects):
        title("how it merged")
        bavaria = objects[identity("DE-BY")]["properties"]["name"]
        check(bavaria == "Bayern (DE)", f"the last of three concurrent names should win, not {bavaria!r}")
        say(f"DE-BY is named {bavaria!r}: the latest edit; the other two are listed as conflicts")
        tokyo = objects[identity("JP-13")]["properties"]
        check(tokyo.get("population") == 14000000 and tokyo.get("visited") is True, "an edit of JP-13 is lost")
        say("JP-13 has both edits: they were to different properties")
        self.explain_moves(objects)
        corsica, south = objects.get(identity("FR-20R")), objects.get(identity("FR-2A"))
        check(south is not None and "note" in south["properties"], "the edit of FR-2A is lost")
        check(corsica is not None, "FR-2A has lost what it stands under")
        check(identity("FR-2B") not in objects, "FR-2B was deleted and nobody wrote to it, but it is there")
        say("FR-2A lives, with the edit; FR-20R stays visible above it; FR-2B, which nobody edited, is gone")
        check(self.archive in objects, "the folder Archive is gone, with what was moved into it")
        inside = [item["properties"]["name"] for item in objects.values() if item["parent"] == self.archive]
        check(inside, "what was moved into Archive is lost")
        say(f"Archive stays visible, because {inside[0]!r} was moved into it meanwhile")
        check(identity("US-UM") not in objects, "what two sides deleted is there")
        say("US-UM is gone: both who touched it deleted it")
        check(len(self.trips) == 1, "one key made different objects")
        trip = objects[next(iter(self.trips))]["properties"]
        check(all(trip.get(peer.name) is True for peer in self.peers), "the trip lacks an edit")
        say(f"the trip is one object with the edits of all three, titled {trip['title']!r}")

    def explain_moves(self, objects):
        kingdoms = ("GB-SCT", "GB-WLS", "GB-NIR")
        code_of = {identity(code): code for code in (*kingdoms, "GB")}
        places = {code: code_of.get(objects[identity(code)]["parent"], "?") for code in kingdoms}
        say("of the cycle: " + ", ".join(f"{code} is under {parent}" for code, parent in places.items()))
        held = sum(parent != "GB" for parent in places.values())
        check(0 < held < 3, f"{held} of three moves in a cycle are in force")
        check(
            places["GB-NIR"] == "GB",
            "the latest of the three moves closes the cycle, so it is the one without effect",
        )
        for item in objects.values():
            seen = set()
            while item["parent"] is not None:
                check(item["id"] not in seen, "a cycle of parents")
                seen.add(item["id"])
                check(item["parent"] in objects, "an object stands under one that is not there")
                item = objects[item["parent"]]
        tyrol = objects[identity("IT-32")]["parent"]
        check(tyrol == identity("CH"), "of two moves the later one should win")
        say("IT-32 is in one place, under CH: the later move")

    def show_conflicts(self):
        title("conflicts, as peerd conflicts shows them on each peer")
        texts = [peer.run("conflicts") for peer in self.peers]
        check(len(set(texts)) == 1, "the peers list different conflicts")
        lines = texts[0].splitlines()
        for line in lines[:40]:
            say(f"  {line}")
        if len(lines) > 40:
            say(f"  ... and {len(lines) - 40} lines more")
        listed = json.dumps(self.laptop.json("conflicts"), ensure_ascii=False)
        for lost in ("Freistaat Bayern", "Bavaria", "by laptop", "by desk"):
            check(lost in listed, f"the lost write {lost!r} is not listed")

    def finish(self):
        title("all three exports")
        exports = {peer.name: peer.export() for peer in self.peers}
        for name, state in exports.items():
            say(f"  {name:7} {len(state)} bytes  sha256 {digest(state)}")
        check(len(set(exports.values())) == 1, "the exports differ")
        for peer in self.peers:
            peer.stop()

    def share(self):
        title("a part of it is shared with another person")
        self.laptop.start(listen=LISTEN)
        self.ann = self.world.peer("ann-laptop")
        line = next(word for word in self.laptop.run("invite", "ann").split() if word.startswith("peerd:2:"))
        say(f"laptop$ peerd invite ann\n{line}")
        self.ann.run("join", "--name", self.ann.name, line)
        self.ann.start(listen=LISTEN, peers=[self.laptop.address])
        country = identity("LI")
        objects = self.laptop.objects()
        below = {key for key, item in objects.items() if item["parent"] == country} | {country}
        first, second = identity("LI-01"), identity("LI-02")
        self.laptop.run("set", first, "budget=417")
        say(f"laptop$ peerd set {first} budget=417\nlaptop$ peerd hide {first} budget")
        self.laptop.run("hide", first, "budget")
        say(f"laptop$ peerd share {country} ann --write")
        self.laptop.run("share", country, "ann", "--write")
        wait_until(lambda: set(self.ann.objects()) == below, SETTLE_SECONDS, "ann has what is shared with her")
        say(f"ann has {len(below)} objects of {len(objects)}, and nothing of the others")
        budgets = [peer.json("get", first)["properties"].get("budget") for peer in (self.laptop, self.ann)]
        check(budgets == [417, None], f"what was hidden: {budgets}")
        say("the budget shows on the laptop, and ann has nothing of it")
        self.ann.stop()
        self.ann.run("set", first, "note=by ann, apart")
        self.ann.run("set", second, "note=by ann, apart")
        say("ann is cut off and edits two communes; meanwhile her access is taken back")
        self.laptop.run("unshare", country, "ann")
        self.laptop.run("set", first, "note=by the laptop")
        self.ann.start(listen=LISTEN, peers=[self.laptop.address])
        wait_until(lambda: len(self.laptop.json("rejected")) == 2, SETTLE_SECONDS, "her edits are listed")
        notes = {key: self.laptop.json("get", key)["properties"].get("note") for key in (first, second)}
        check(notes == {first: "by the laptop", second: None}, f"what she wrote counts: {notes}")
        theirs = {key: self.ann.json("get", key)["properties"].get("note") for key in (first, second)}
        check(set(theirs.values()) == {"by ann, apart"}, f"ann sees {theirs}")
        for edit in self.laptop.run("rejected").splitlines():
            say(f"  {edit}")
        change = next(edit["change"] for edit in self.laptop.json("rejected") if edit["edit"]["object"] == second)
        say(f"laptop$ peerd adopt {change}")
        say(f"  {self.laptop.run('adopt', change).strip()}")
        note = self.laptop.json("get", second)["properties"].get("note")
        check(note == "by ann, apart", f"what was adopted is {note!r}")
        say(f"ann still sees what she had and wrote; the laptop sees {notes[first]!r}, and what it has adopted")
        for peer in (self.laptop, self.ann):
            peer.stop()


def run():
    began = time.monotonic()
    with World("demo") as world:
        demo = Demo(world)
        demo.pair()
        demo.import_everything()
        demo.prepare()
        demo.edit_apart()
        objects = demo.heal()
        demo.explain(objects)
        demo.show_conflicts()
        demo.finish()
        demo.share()
        say(f"\nbyte-equal. {demo.wire_bytes()} bytes over all links, {time.monotonic() - began:.1f} s in all.")


if __name__ == "__main__":
    end_in_order_on_sigterm()
    try:
        run()
    except (CheckFailed, CommandFailed) as error:
        say(f"\nFAILED: {error}")
        sys.exit(1)
