"""What a person may not read is nowhere with him: not on his disk, not in the memory of his daemon, and not in anything
that he was sent. Not as it is, not in pieces, not as a hash that somebody could compare with a guess; and no id and no
name of it either. Four machines run, each in a network of its own: two of alice's, one of bob's, who reads one of her
lists, and one of carol's, who reads another one. The same search finds each of these things with those who read it.

Bob has a second machine with a program of his own, which asks alice's laptop for all there is, and by name for what he
cannot know. It gets no more."""

import contextlib
import ctypes
import sqlite3
import sys
import threading
from pathlib import Path

import pytest

from peerd_harness import check, invite_line, say, wait_until
from taints import (
    Needles, build, files_of, forms_of_bytes, forms_of_id, forms_of_text, hashes_of_text, memory_of, random_text
)
from test_sharing import invite_person, titles

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "Interop"))
greedy_peer = pytest.importorskip("greedy_peer", reason="a package is not installed; make setup installs it")

LAPTOP, BOB, CAROL, DESK = 1, 2, 3, 4
PORT = 7400
CLONE_NEWNET = 0x40000000


class Secrets:
    """Random texts that bob may not read, and what each stands for."""

    def __init__(self, draw):
        self.draw, self.texts = draw, {}
        # Those that carol has written, and not alice.
        self.of_carol = set()

    def __call__(self, what):
        text = random_text(self.draw)
        check(what not in self.texts, f"two secrets are called {what}")
        self.texts[what] = text
        return text


class Run:
    """Four machines, and what happens on them."""

    def __init__(self, world, switch, draw):
        self.secret = Secrets(draw)
        self.library = build("record_received.c", world.root / "record_received.so", "-ldl")
        self.received = {}
        self.memory = {}
        # The changes that are not for bob: chain, number and hash, and how many operations each has.
        self.changes = {}
        # The objects that bob may know of.
        self.readable = set()
        self.laptop, self.bob, self.carol, self.desk = (
            self.machine(world, switch, *machine)
            for machine in ((LAPTOP, "laptop"), (BOB, "bob-laptop"), (CAROL, "carol-laptop"), (DESK, "desk"))
        )
        self.switch = switch
        self.hosts = {machine: f"{switch.host(machine)}:{PORT}" for machine in (LAPTOP, BOB, CAROL, DESK)}

    def machine(self, world, switch, number, name):
        self.received[name] = world.root / f"{name}.received"
        environment = {"LD_PRELOAD": str(self.library), "RECORD_RECEIVED": str(self.received[name])}
        return world.peer(name, prefix=switch.prefix(number), environment=environment)

    def start(self, peer):
        peer.start(listen=f"0.0.0.0:{PORT}", peers=list(self.hosts.values()), discovery=True)

    def stop(self, peer):
        """Keeps what is in the memory of a daemon before it ends."""
        self.memory.setdefault(peer.name, []).append(memory_of(peer))
        peer.stop()

    def shared(self, kind, *words):
        """An object that bob may read."""
        made = self.laptop.create(kind, *words)
        self.readable.add(made)
        return made

    # What happens.

    def before_anybody_comes(self):
        laptop, secret = self.laptop, self.secret
        laptop.run("init", "--name", "laptop")
        self.folder = laptop.create(
            secret("type"), "--kind", secret("kind"), f"title={secret('title of a folder')}",
            f"{secret('name of a property')}={secret('value beside a name')}",
        )
        self.list = self.shared("list", "title=list", "--parent", self.folder)
        self.task = self.shared("task", "title=open", "--parent", self.list)
        self.leaving = self.shared("task", "title=leaves", "--parent", self.list)
        self.crossing = self.shared("task", "title=crosses", "--parent", self.list)
        self.ending = self.shared("list", "title=ending", "--parent", self.folder)
        self.of_carol = laptop.create("list", f"title={secret('title of what carol reads')}", "--parent", self.folder)
        # Branches: one that is merged, and one that is not, which has an edit of what is shared.
        merged, open_branch = secret("name of a merged branch"), secret("name of an open branch")
        for branch, state in ((merged, "merged"), (open_branch, "open")):
            laptop.run("branch", "create", branch)
            words = ("--branch", branch, f"title={secret(f'title on a branch, {state}')}")
            laptop.run("create", *words[:2], "note", words[2])
        laptop.run("set", "--branch", open_branch, self.task, f"title={secret('edit of what is shared on a branch')}")
        laptop.run("branch", "merge", merged)
        # The past is not shared.
        laptop.run("set", self.task, f"title={secret('a past title')}", f"{secret('a past name')}=1")
        laptop.run("set", self.task, "title=open")
        laptop.run("unset", self.task, secret.texts["a past name"])
        self.hidden = secret("name of a hidden property")
        laptop.run("set", self.task, f"{self.hidden}={secret('a hidden value')}")
        laptop.run("hide", self.task, self.hidden)
        self.later_hidden = secret("name of a property that is hidden before it has a value")
        laptop.run("hide", self.task, self.later_hidden)
        laptop.run("create", "day", "--key", secret("key"), f"note={secret('value of an object with a key')}")
        doomed = laptop.create("note", "--parent", self.folder, f"title={secret('title of what is deleted')}")
        laptop.run("create", "note", "--parent", doomed, f"title={secret('title of what is below that')}")
        laptop.run("rm", doomed)
        # Long, and easy to compress.
        laptop.run("create", "text", f"body={'word ' * 2000}{secret('in a long text')}{' word' * 2000}")
        # A map and a list.
        nested = '{"%s": ["%s"]}' % (secret("key of a map"), secret("item of a list"))
        laptop.run("create", "note", f"map={nested}")

    def people_come(self):
        laptop, secret = self.laptop, self.secret
        self.start(laptop)
        self.desk.run("join", "--name", "desk", invite_line(laptop), seconds=60.0)
        for peer, name in ((self.bob, "bob"), (self.carol, "carol")):
            peer.run("join", "--name", peer.name, invite_person(laptop, name), seconds=60.0)
        for peer in (self.desk, self.bob, self.carol):
            self.start(peer)
        for name in ("bob", "carol"):
            wait_until(lambda name=name: name in self.names_of_people(), 30.0, f"{name} is known")
        laptop.run("share", self.list, "bob", "--write")
        laptop.run("share", self.ending, "bob", "--write")
        laptop.run("share", self.of_carol, "carol", "--write")
        his = {"list", "open", "leaves", "crosses", "ending"}
        wait_until(lambda: titles(self.bob) == his, 60.0, "bob has his lists")
        carols = secret.texts["title of what carol reads"]
        wait_until(lambda: titles(self.carol) == {carols}, 60.0, "carol has hers")
        wait_until(lambda: self.desk.objects() == laptop.objects(), 60.0, "the desk has all")

    def names_of_people(self):
        return {user["name"] for user in self.laptop.json("users")}

    def all_write(self):
        laptop, secret, desk, carol = self.laptop, self.secret, self.desk, self.carol
        # Hidden, from both machines; the second one has had no value before.
        laptop.run("set", self.task, f"{self.hidden}={secret('a hidden value of later')}")
        desk.run("set", self.task, f"{self.later_hidden}={secret('a first hidden value')}")
        # What is shared gets a past that bob may read, and a place that he may not.
        inner = laptop.create("folder", f"title={secret('title of the place of a share')}")
        laptop.run("mv", self.list, inner)
        laptop.run("set", self.task, "done=true")
        # Out of the share.
        laptop.run("mv", self.leaving, self.folder)
        laptop.run("set", self.leaving, f"title={secret('title after it has left')}")
        laptop.run("set", self.leaving, f"{secret('name after it has left')}=1")
        laptop.run("create", "step", "--parent", self.leaving, f"title={secret('title below what has left')}")
        # In a list that carol reads, by both; and what is hers alone.
        laptop.run("create", secret("type for carol"), "--parent", self.of_carol, f"{secret('name for carol')}=1")
        for what, parent in (("by carol, for alice", self.of_carol), ("by carol, for herself", None)):
            name, value = secret(f"name {what}"), secret(f"value {what}")
            carol.run("create", "note", *(["--parent", parent] if parent else []), f"{name}={value}")
        secret.of_carol = {f"{part} by carol, for herself" for part in ("name", "value")}
        # Programs have names.
        program = secret("name of a program")
        user = laptop.used_by(program)
        user.run("create", "note", f"title={secret('title that is undone')}")
        user.run("undo")
        user.run("redo")
        user.run("undo")
        # One transaction that is about both, as an undo of it is.
        mixed = laptop.used_by("mover")
        passing = self.shared("task", "title=passes", "--parent", self.list)
        mixed.run("mv", passing, self.of_carol)
        wait_until(lambda: passing not in self.bob.objects(), 60.0, "it has left")
        mixed.run("set", passing, f"note={secret('note while it is with carol')}")
        mixed.run("unset", passing, "note")
        for _ in range(3):
            mixed.run("undo")
        wait_until(lambda: passing in self.bob.objects(), 60.0, "it is back")
        # Bob writes what is his to write, and something of his own.
        self.step = self.bob.create("task", "title=by bob", "--parent", self.list)
        self.readable |= {self.step, self.bob.create("note", "title=his")}
        self.bob.run("set", self.task, "title=by bob")
        wait_until(lambda: self.step in laptop.objects(), 60.0, "his task is there")

    def bob_is_away(self):
        laptop, secret = self.laptop, self.secret
        wait_until(lambda: self.desk.objects() == laptop.objects(), 60.0, "the desk has all")
        self.stop(self.bob)
        # What he would have read, had he been there.
        erased = secret("value that is erased before bob sees it")
        laptop.run("set", self.task, f"note={erased}")
        of_task = lambda peer: peer.json("get", self.task)["properties"]
        wait_until(lambda: of_task(self.desk).get("note") == erased, 60.0, "the desk has it")
        laptop.run("set", self.task, "note=harmless")
        laptop.run("erase", self.task, "note")
        laptop.run("erase", self.folder, "title")
        # What he writes apart in something that goes to where he does not read it.
        self.bob.run("set", self.crossing, "title=by bob, apart")
        laptop.run("mv", self.crossing, self.of_carol)
        wait_until(lambda: self.crossing in self.carol.objects(), 60.0, "carol has it")
        self.carol.run("set", self.crossing, f"title={secret('title by carol, of what bob had')}")
        # A list is taken from him, and goes on.
        laptop.run("unshare", self.ending, "bob")
        laptop.run("set", self.ending, f"title={secret('title after the removal')}")
        laptop.run("create", secret("type after the removal"), "--parent", self.ending)
        laptop.run("hide", self.task, "salary")
        laptop.run("set", self.task, f"salary={secret('salary')}")
        laptop.run("compact", "--keep", "0")
        self.start(self.bob)
        wait_until(lambda: of_task(self.bob).get("note") == "harmless", 60.0, "he is back")
        wait_until(lambda: self.bob.json("access", self.ending)["has_ended"], 60.0, "he is told")

    def bob_looks_around(self):
        """All that he may ask his daemon for."""
        bob = self.bob
        self.laptop.run("set", self.task, "title=end")
        title = lambda: bob.json("get", self.task)["properties"]["title"]
        wait_until(lambda: title() == "end", 60.0, "he has the last edit")
        wait_until(lambda: self.desk.objects() == self.laptop.objects(), 60.0, "the desk has all")
        bob.run("sync")
        verbs = ("export", "tree", "conflicts", "status", "peers", "users", "access", "rejected", "doctor")
        answers = [(verb, bob.raw(verb)) for verb in verbs]
        answers += [(f"{verb} --json", bob.raw(verb, "--json")) for verb in ("log", *verbs[2:])]
        answers += [("history", bob.raw("history", self.task)), ("branches", bob.raw("branch", "list"))]
        return answers


    def greedy(self, inviting, number, changes):
        """What a program gets that talks to alice's laptop from another machine, as one of whoever owns that."""
        line, made = invite_line(inviting), []

        def talk():
            # A thread goes to another network by itself.
            with open(f"/var/run/netns/{self.switch.machines[number - 1]}", "rb") as network:
                if ctypes.CDLL(None, use_errno=True).setns(network.fileno(), CLONE_NEWNET) != 0:
                    raise OSError(ctypes.get_errno(), "setns")
            peer = greedy_peer.GreedyPeer(line, self.hosts[LAPTOP])
            peer.take_all()
            peer.compare()
            peer.want(changes)
            # The answers to what was asked in the end come behind whatever else there is.
            held = [peer.holds(*change[:3]) for change in changes]
            peer.close()
            made.append((bytes(peer.received), held, set(peer.kinds)))

        thread = threading.Thread(target=talk, daemon=True)
        thread.start()
        thread.join(60)
        check(made, "the program did not end")
        return made[0]


def ids_that_are_not_for_bob(run):
    """Ids of objects, chains and circles, and hashes of changes, by the log of alice's laptop and of carol's."""
    secrets, found = set(run.secret.texts.values()), {}
    # The last of them is what she alone has.
    for peer in (run.laptop, run.carol):
        before = set(found)
        operations = peer.operations()
        circles = circles_of(peer)
        # Those in which his lists are, apart from home, which they come from.
        his = {
            circles[entry["stored"]["replica"]] for entry in operations
            if "create" in entry["action"] and entry.get("object") in (run.list, run.ending)
        } - {b""}
        for entry in operations:
            stored, text = entry["stored"], str(entry)
            if (item := entry.get("object")) and item not in run.readable:
                found[f"object {item}"] = set(forms_of_id(item))
            circle = circles[stored["replica"]]
            if circle is not None and circle not in his:
                found[f"chain {stored['replica']}"] = set(forms_of_bytes(bytes.fromhex(stored["replica"])))
                # Everybody has one of his own, whose nonce is zero.
                if any(nonce := circle[32:]):
                    found[f"circle {nonce.hex()}"] = set(forms_of_bytes(nonce))
            if circle is not None and circle not in his or any(word in text for word in secrets):
                found[f"change {stored['hash']}"] = set(forms_of_bytes(bytes.fromhex(stored["hash"])))
                chain = bytes.fromhex(stored["replica"])
                name = (chain, stored["sequence"], bytes.fromhex(stored["hash"]))
                run.changes[name] = max(run.changes.get(name, 0), stored["index"] + 1)
    run.ids_of_carol = set(found) - before
    return found


def circles_of(peer):
    """Of each chain its circle: the owner and a nonce; nothing for home, and None for the roster, which all read."""
    uri, circles = f"file:{peer.directory}/peerd.sqlite?mode=ro", {}
    with contextlib.closing(sqlite3.connect(uri, uri=True)) as database:
        for replica, introduction in database.execute("SELECT replica, introduction FROM segment"):
            if introduction is not None:
                circles[replica.hex()] = circle_in(introduction)
    return circles


def circle_in(introduction):
    """The user, the name of the device, the nonce of the chain, its branch, its circle, and more (docs/FORMATS.md)."""
    rest = introduction[32:]
    rest = rest[1 + rest[0] + 16 :]
    rest = rest[17:] if rest[0] else rest[1:]
    return {0: b"", 1: None}.get(rest[0], rest[1:49])


def needles_of(run, library):
    """What is looked for, and which of it a reader has: nobody has a hash that tells of a guess."""
    needles = Needles(library)
    for what, text in run.secret.texts.items():
        needles.add(what, forms_of_text(text))
    ids = ids_that_are_not_for_bob(run)
    for what, forms in ids.items():
        needles.add(what, forms)
    things = set(needles.things)
    for what, text in run.secret.texts.items():
        needles.add(f"hash of {what}", hashes_of_text(text))
    everything = needles.found_in(b"-".join(needles.needles))
    check(everything == set(needles.things), "the search finds what is there")
    say(f"{len(things)} things, {len(ids)} of them ids and hashes, in {len(needles.needles)} forms")
    return needles, things


def check_control(run, needles, things, places):
    """All that bob may not read is with its readers, where he must not have it."""
    carols = needles.found_in(b"".join(data for _, data in places[run.carol.name]))
    own = {thing for thing in things if thing in run.secret.of_carol}
    check(own <= carols, f"carol does not have {own - carols}")
    desk = {name: needles.found_in(data) for name, data in places[run.desk.name]}
    # A key is nowhere once an id is made of it, and what is erased is on no disk; a machine has no id of what is
    # another person's alone.
    gone = {"key", "value that is erased before bob sees it"}
    others = own | run.ids_of_carol
    say(f"with carol there are {len(carols)}, on the desk {({name: len(found) for name, found in desk.items()})}")
    check(len(carols & others) == len(others), f"carol lacks {others - carols}")
    for place in ("peerd.sqlite", "memory 1"):
        lacking = things - gone - others - desk[place]
        check(not lacking, f"in {place} of the desk there is not {lacking}")
    # It has written one of them itself.
    texts = set(run.secret.texts) - own - {"key", "a first hidden value"}
    check(texts <= desk["what it was sent"], f"the desk was not sent {texts - desk['what it was sent']}")


def check_greedy(run, needles, things):
    """Who asks for more gets no more; who may read it gets it by the same questions."""
    changes = sorted((*name, count) for name, count in run.changes.items())
    sent, held, kinds = run.greedy(run.bob, BOB, changes)
    check(not (found := needles.found_in(sent)), f"a program of bob's was sent {found}")
    check(not any(held), f"it was told of {sum(held)} of {len(held)} changes that they are there")
    compared = {greedy_peer.STATE, greedy_peer.SUMS, greedy_peer.OBJECTS}
    check(not kinds & compared, f"it was told what alice's state comes to: {kinds}")
    say(f"bob's program got {len(sent)} bytes, asked for {len(changes)} changes")
    sent, held, kinds = run.greedy(run.desk, DESK, changes)
    of_alice = set(run.secret.texts) - run.secret.of_carol - {"key", "value that is erased before bob sees it"}
    lacking = of_alice - needles.found_in(sent)
    say(f"alice's got {len(sent)} bytes, {sum(held)} of {len(held)} changes are said to be there")
    check(not lacking, f"a program of alice's was not sent {lacking}")


@pytest.fixture
def run(world, lan, draw):
    return Run(world, lan(4), draw)


def test_what_bob_may_not_read_is_nowhere_with_him(world, run):
    run.before_anybody_comes()
    run.people_come()
    run.all_write()
    run.bob_is_away()
    answers = run.bob_looks_around()
    needles, things = needles_of(run, build("find_needles.c", world.root / "find_needles.so"))
    check_greedy(run, needles, things)
    places = {}
    for peer in (run.bob, run.desk, run.carol):
        run.stop(peer)
        memories = [(f"memory {number}", memory) for number, memory in enumerate(run.memory[peer.name], 1)]
        sent = ("what it was sent", run.received[peer.name].read_bytes())
        places[peer.name] = [*files_of(peer), *memories, sent]
        say(f"{peer.name}: {({name: len(data) for name, data in places[peer.name] if data})}")
    check_control(run, needles, things, places)
    leaks = needles.found_among(places[run.bob.name] + answers)
    check(not leaks, f"with bob there is: {leaks}")
