"""Random walks of a person who edits, merges branches, and takes steps back and does them again: each undo leads to the
state before the step, each redo to the one after it, across kills and beside what another machine does. The states that
were seen are all that the test knows."""

import random

import pytest

from peerd_harness import CheckFailed, DaemonSocket, check, wait_until

STEPS = 120
EDITS = ("create", "create", "set", "set", "set", "unset", "move", "move", "delete")
KEPT = ("type", "kind", "parent", "position", "properties")


class Timeline:
    """The states before the steps that can be taken back, and after those that can be done again."""

    def __init__(self, id):
        self.id = id
        self.path, self.at = (f"?branch={id}", f"?at=branch:{id}") if id != "main" else ("", "")
        self.done, self.undone = [], []
        # The steps that have certainly written something, of those that count here.
        self.has = set()


class Walker:
    """One person at one machine, who edits what is hers: her objects, and a property of everybody's."""

    def __init__(self, peer, shared=()):
        self.peer, self.shared = peer, list(shared)
        self.mine, self.told, self.socket = [], [], None
        self.timelines = [Timeline("main")]

    def ask(self, method, path, body=None):
        if self.socket is None:
            self.socket = DaemonSocket(self.peer)
        return self.socket.ask(method, path, body)

    def branch(self, parent=None):
        name = f"{self.peer.name} {len(self.timelines)}"
        self.timelines.append(Timeline(self.ask("POST", "/api/branches", {"name": name, "parent": parent})["id"]))
        return self.timelines[-1].id

    def state(self, timeline):
        """What is hers there."""
        found = {}
        for item in self.ask("GET", f"/api/export{timeline.at}"):
            if item["id"] in self.mine:
                found[item["id"]] = {name: item[name] for name in KEPT}
            elif item["id"] in self.shared:
                found[item["id"]] = item["properties"].get(self.peer.name)
        return found

    def edit(self, timeline, here, number, verb, first, second):
        """Does something by numbers that were drawn; returns false if it cannot be done now."""
        path = timeline.path
        if verb == "create":
            parent = self.parent(second)
            if parent and parent not in here:
                return False
            body = {"type": "note", "parent": parent, "properties": {"p": number}}
            self.mine.append(self.ask("POST", f"/api/objects{path}", body)["id"])
            return True
        own = [*self.mine, *self.shared] if verb == "set" else self.mine
        if not own or (id := own[first % len(own)]) not in here:
            return False
        name = self.peer.name if id in self.shared else "pq"[second % 2]
        if verb == "set":
            self.ask("PUT", f"/api/objects/{id}/properties/{name}{path}", number)
        elif verb == "unset":
            if name not in here[id]["properties"]:
                return False
            self.ask("DELETE", f"/api/objects/{id}/properties/{name}{path}")
        elif verb == "delete":
            self.ask("DELETE", f"/api/objects/{id}{path}")
        else:
            above = parent = self.parent(second)
            while above is not None:
                if above == id or above not in here:
                    return False
                above = here[above]["parent"]
            self.ask("POST", f"/api/objects/{id}/move{path}", {"parent": parent, "first": first % 2 == 0})
        return True

    def parent(self, number):
        return [None, *self.mine][number % (len(self.mine) + 1)]

    def merge(self, timeline, first):
        """Brings what another timeline has; returns false if that is nothing."""
        # A branch that takes in what is another person's, and takes that back, may bring it back to main.
        if self.shared and timeline.id != "main":
            return False
        others = [other for other in self.timelines if other is not timeline]
        source = others[first % len(others)]
        # A merge that brings no edits is no step.
        if source.has <= timeline.has:
            return False
        timeline.has |= source.has
        return self.ask("POST", f"/api/branches/{source.id}/merge", {"into": timeline.id})["merged"]

    def reverse(self, timeline, number, verb, before):
        source, target = timeline.done, timeline.undone
        if verb == "redo":
            source, target = target, source
        actions = self.ask("POST", f"/api/{verb}{timeline.path}")["actions"]
        check(len(actions) == (1 if source else 0), f"{verb}: {actions}")
        if source:
            expected = source.pop()
            target.append(before)
            found = self.state(timeline)
            if found != before:
                timeline.has.add(number)
            differences = {id: (found.get(id), expected.get(id)) for id in {*found, *expected}
                           if found.get(id) != expected.get(id)}
            check(not differences, f"{verb}: {differences}; {actions}")

    def step(self, number, place, verb, first, second):
        """Does one thing, and compares what shows with what it should be."""
        if verb == "kill":
            self.peer.kill()
            self.peer.start(words=["--no-http"])
            self.socket = None
            return
        timeline = self.timelines[place % len(self.timelines)]
        before = self.state(timeline)
        if verb in ("undo", "redo"):
            self.reverse(timeline, number, verb, before)
        elif self.merge(timeline, first) if verb == "merge" else self.edit(
            timeline, before, number, verb, first, second
        ):
            timeline.done.append(before)
            timeline.undone.clear()
            if verb != "merge":
                timeline.has.add(number)


def plan(seed, verbs):
    """What is done: a place, a verb, and two numbers."""
    draw = random.Random(seed)
    return [(draw.randrange(6), draw.choice(verbs), draw.randrange(1000), draw.randrange(1000)) for _ in range(STEPS)]


def walk(walker, steps):
    walker.peer.start(words=["--no-http"])
    walker.branch(parent=walker.branch())
    for number, step in enumerate(steps):
        try:
            walker.step(number, *step)
        except CheckFailed as failure:
            raise CheckFailed(f"step {number} of {steps[:number + 1]}: {failure}") from None
    walker.peer.run("doctor")


@pytest.mark.parametrize("seed", range(6))
def test_a_walk_on_three_timelines_across_kills(world, seed):
    verbs = [*EDITS, *EDITS, *["merge"] * 5, *["undo"] * 10, *["redo"] * 7, "kill"]
    walk(Walker(world.founder("desk")), plan(seed, verbs))


@pytest.mark.parametrize("seed", range(4))
def test_two_machines_that_are_apart_take_back_what_is_theirs(world, seed):
    desk, phone = world.paired("desk", "phone")
    shared = [desk.used_by("another").create("note", f"title={n}") for n in range(3)]
    walkers = [Walker(peer, shared) for peer in (desk, phone)]
    meet(walkers)
    for walker in walkers:
        walker.branch()
    verbs = [*EDITS, *["merge"] * 2, *["undo"] * 5, *["redo"] * 3, "meet"]
    for number, (place, verb, first, second) in enumerate(plan(seed, verbs)):
        if verb == "meet":
            meet(walkers)
        else:
            walkers[place % 2].step(number, place // 2, verb, first, second)
    meet(walkers)
    exports = [peer.export() for peer in (desk, phone)]
    check(exports[0] == exports[1], "they have ended with different states")
    for peer in (desk, phone):
        peer.run("doctor")


def meet(walkers):
    """Lets two machines that were apart exchange what they have, and takes them apart again."""
    desk, phone = (walker.peer for walker in walkers)
    for peer in (desk, phone):
        peer.stop()
    desk.start(words=["--no-http"])
    phone.start(peers=[desk.address], words=["--no-http"])
    wait_until(lambda: desk.frontier() == phone.frontier(), 30, "they have everything of each other")
    for peer in (desk, phone):
        peer.restart(words=["--no-http"])
    for walker in walkers:
        walker.socket = None
