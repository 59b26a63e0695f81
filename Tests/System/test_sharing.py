"""Two people in one workspace, with the real program: each has what is shared with him, and nothing of the rest; what
is taken from somebody is not sent any more, and what he writes apart does not count."""

import secrets

import pytest

from peerd_harness import check, pair, wait_until


def marker():
    """What must be nowhere: 24 random bytes as text, which no compression makes shorter."""
    return secrets.token_hex(24)


def holds(peer, text):
    """The files of a data directory in which a text is."""
    sought = text.encode()
    return [str(path) for path in peer.directory.rglob("*") if path.is_file() and sought in path.read_bytes()]


def invite_person(inviting, name):
    for word in inviting.run("invite", name).split():
        if word.startswith("peerd:2:"):
            return word
    raise AssertionError("invite printed no line that begins with peerd:2:")


def titles(peer):
    return {item["properties"].get("title") for item in peer.objects().values()}


@pytest.fixture
def people(world):
    """The laptops of two people, both running; ann has nothing yet."""
    laptop = world.founder("laptop")
    laptop.start()
    ann = world.peer("ann-laptop")
    ann.run("join", "--name", ann.name, invite_person(laptop, "ann"), seconds=30.0)
    ann.start(peers=[laptop.address])
    wait_until(lambda: any(user["name"] == "ann" for user in ann.json("users")), 30.0, "ann knows what she is called")
    return laptop, ann


def test_two_people_share_a_list_and_nothing_else(people):
    laptop, ann = people
    secret, shared = marker(), marker()
    folder = laptop.create("folder", f"title={secret}")
    items = laptop.create("list", "title=list", "--parent", folder)
    task = laptop.create("task", f"title={shared}", "--parent", items)
    before = {item: (value["parent"], value["properties"]) for item, value in laptop.objects().items()}
    access = laptop.json("share", items, "ann", "--write")
    check([(entry["user"]["name"], entry["role"]) for entry in access["access"]][1:] == [("ann", "write")], f"{access}")
    after = {item: (value["parent"], value["properties"]) for item, value in laptop.objects().items()}
    check(after == before, f"sharing moves nothing: {before} {after}")
    wait_until(lambda: titles(ann) == {"list", shared}, 30.0, "the list is there")

    # Both write, and see what the other wrote.
    step = ann.create("task", "title=step", "--parent", items)
    ann.run("set", task, "done=true")
    own, mine = ann.create("note", f"title={marker()}"), laptop.create("note", f"title={secret}2")
    wait_until(lambda: step in laptop.objects(), 30.0, "her task is there")
    wait_until(lambda: laptop.json("get", task)["properties"].get("done") is True, 30.0, "her edit is there")
    check(own not in laptop.objects() and mine not in ann.objects(), "what was not shared is shared")

    # Who has access is known after a restart, too, and on the other side.
    laptop.restart()
    for peer in people:
        check({user["name"] for user in peer.json("users")} == {"laptop", "ann"}, f"{peer.json('users')}")
        roles = [(entry["user"]["name"], entry["role"]) for entry in peer.json("access", items)["access"]]
        check(roles == [("laptop", "owner"), ("ann", "write")], f"{roles}")

        shares = peer.json("access")
        check([share["object"] for share in shares] == [items], f"{shares}")
        check(items[:8] in peer.run("access") and "ann" in peer.run("access"), "what is shared is listed")

    # What makes no sense is refused, and changes nothing.
    laptop.refused(2, "share", items, "laptop", mentions=["owns"])
    laptop.refused(2, "unshare", items, "laptop", mentions=["owns"])
    laptop.refused(2, "unshare", task, "ann", mentions=["below one that is shared"])
    laptop.refused(2, "unshare", folder, "ann", mentions=["nothing to take"])

    # Nothing of the rest is on her disk, and nothing of hers on his.
    check(holds(laptop, secret) and holds(ann, shared), "the control finds the texts where they are")
    for peer in people:
        peer.stop()
    check(not holds(ann, secret), f"a secret is in {holds(ann, secret)}")
    for text in (folder, mine):
        check(not holds(ann, text) and not holds(ann, bytes.fromhex(text.replace("-", "")).hex()), "an id is there")


def test_what_is_taken_back_is_not_sent_and_what_is_written_apart_does_not_count(people):
    laptop, ann = people
    items = laptop.create("list", "title=list")
    task = laptop.create("task", "title=open", "--parent", items)
    laptop.run("share", items, "ann", "--write")
    wait_until(lambda: task in ann.objects(), 30.0, "the list is there")
    ann.stop()
    ann.run("set", task, "title=in vain")
    lost = ann.create("task", "title=lost", "--parent", items)
    secret = marker()
    access = laptop.json("unshare", items, "ann")
    check(len(access["access"]) == 1, f"{access}")
    laptop.run("set", task, f"title={secret}")
    ann.start(peers=[laptop.address])
    ann.run("sync")
    check(lost not in laptop.objects() and laptop.json("get", task)["properties"]["title"] == secret, "her edits count")
    check(not holds(ann, secret), "what was written after she was removed was sent to her")

    # She is told, and writes in vain no more.
    wait_until(lambda: ann.json("access", items)["has_ended"], 30.0, "she is told")
    check("not shared with you any more" in ann.run("access", items), "she is not told")
    ann.refused(1, "set", task, "title=x", mentions=["may not"])
    check(not laptop.json("access", items)["has_ended"], "the owner has access")

    # It is in the log, with the reason, and may be adopted.
    rejected = laptop.json("rejected", "--by", "ann")
    check({edit["reason"] for edit in rejected} == {"removed"}, f"{rejected}")
    changes = list(dict.fromkeys(edit["change"] for edit in rejected))
    check(len(changes) == 2 and rejected[0]["edit"]["action"]["set"]["value"] == "in vain", f"{rejected}")
    laptop.refused(2, "adopt", "0000:1", mentions=["0000:1"])
    text = laptop.run("rejected")
    check(changes[1][:8] in text and "the right was taken away" in text, text)
    replica, number = changes[1].split(":")
    check(laptop.json("adopt", f"{replica[:8]}:{number}")["adopted"] > 0, "nothing was adopted")
    check(laptop.objects()[lost]["parent"] == items, "what was adopted is not there")
    check(laptop.json("get", task)["properties"]["title"] == secret, "what was not adopted counts")
    laptop.run("rm", lost)

    # A reader does not write, and says so.
    laptop.run("share", items, "ann")
    wait_until(lambda: ann.objects().get(task, {}).get("properties", {}).get("title") == secret, 30.0, "it is back")
    error = ann.refused(1, "set", task, "title=x")
    check("may not" in error, f"{error}")
    check(lost not in ann.objects(), "what did not count came back")
    wait_until(lambda: not ann.json("access", items)["has_ended"], 30.0, "she reads it again")


def test_what_is_written_while_something_is_shared_is_carried_over(world, people):
    laptop, ann = people
    folder = laptop.create("folder", "title=folder")
    items = laptop.create("list", "title=list", "--parent", folder)
    task = laptop.create("task", "title=open", "--parent", items)
    phone = world.peer("phone")
    pair(laptop, phone)
    phone.start(peers=[laptop.address])
    wait_until(lambda: task in phone.objects(), 30.0, "the phone has the list")
    phone.stop()
    phone.run("set", task, "title=by phone")
    step = phone.create("task", "title=step", "--parent", items)
    laptop.run("share", items, "ann", "--write")
    phone.start(peers=[laptop.address])
    wait_until(lambda: titles(ann) == {"list", "by phone", "step"}, 30.0, "what the phone wrote is shared")
    wait_until(lambda: len(phone.objects()) == len(laptop.objects()) == 4, 30.0, "each thing is there once")
    check(phone.objects() == laptop.objects(), "both machines show the same")

    # What she writes where it was competes where it is now, until somebody writes that again.
    ann.stop()
    ann.run("set", task, "title=hers")
    laptop.run("mv", task, folder)
    ann.start(peers=[laptop.address])

    def lost(peer):
        found = [conflict for conflict in peer.json("conflicts")["properties"] if conflict["object"] == task]
        return [loser["value"] for conflict in found for loser in conflict["losers"]]

    wait_until(lambda: lost(laptop) == ["hers"], 30.0, "her edit competes")
    check(laptop.objects()[task]["properties"]["title"] == "by phone", "it is where she does not read it any more")
    check(ann.objects()[task]["properties"]["title"] == "hers", "she goes on where it was")
    laptop.run("set", task, "title=done")
    check(lost(laptop) == [] and "No conflicts" in laptop.run("conflicts"), "it competes no more")

    # She places what is shared with her among her own things, and nobody else sees that.
    own = ann.create("folder", "title=hers")
    ann.run("mv", items, own)
    check(ann.objects()[items]["parent"] == own, "it is where she has put it")
    check(laptop.objects()[items]["parent"] == folder, "it is where it was for others")
    check(not holds(laptop, own) and not holds(laptop, bytes.fromhex(own.replace("-", "")).hex()), "her id is there")


def test_somebody_who_is_removed_is_refused(people):
    laptop, ann = people
    items = laptop.create("list", "title=list")
    laptop.run("share", items, "ann", "--write")
    wait_until(lambda: items in ann.objects(), 30.0, "the list is there")
    laptop.run("users", "remove", "ann")
    wait_until(lambda: not any(peer["connected"] for peer in laptop.json("peers")), 5.0, "her session ends")
    secret = marker()
    laptop.run("set", items, f"title={secret}")
    ann.restart(peers=[laptop.address])
    ann.result("sync", "--timeout", "3")
    check(not holds(ann, secret), "what was written after she was removed was sent to her")
    laptop.refused(3, "share", items, "bob", mentions=["bob"])


def test_a_hidden_property_reaches_nobody_but_those_it_is_shared_with(people, world):
    laptop, ann = people
    bob = world.peer("bob-laptop")
    bob.run("join", "--name", bob.name, invite_person(laptop, "bob"), seconds=30.0)
    bob.start(peers=[laptop.address])
    wait_until(lambda: any(user["name"] == "bob" for user in bob.json("users")), 30.0, "bob knows what he is called")
    first, second = marker(), marker()
    items = laptop.create("list", "title=list")
    person = laptop.create("person", "title=eve", f"salary={first}", "--parent", items)
    access = laptop.json("hide", person, "salary")
    check([property["name"] for property in access["hidden"]] == ["salary"], f"{access}")
    for name in ("ann", "bob"):
        laptop.run("share", items, name, "--write")
    for peer in (ann, bob):
        wait_until(lambda peer=peer: person in peer.objects(), 30.0, "the list is there")
    check(laptop.json("get", person)["properties"]["salary"] == first, "it shows to its owner")
    check(set(ann.json("get", person)["properties"]) == {"title"}, "it shows to others")

    # One of them may read it, and write it; what makes no sense is refused.
    laptop.refused(2, "share", person, "ann", "--property", "title", mentions=["do not hide"])
    ann.refused(1, "hide", person, "title", mentions=["may not"])
    laptop.run("share", person, "ann", "--property", "salary", "--write")
    wait_until(lambda: ann.json("get", person)["properties"].get("salary") == first, 30.0, "it is shared with ann")
    ann.run("set", person, f"salary={second}")
    wait_until(lambda: laptop.json("get", person)["properties"]["salary"] == second, 30.0, "her edit counts")
    text = laptop.run("access", person)
    check("salary is hidden by laptop (you); ann (write) may read it" in text, text)
    history = laptop.run("history", person, "salary")
    check(first in history and second in history, history)
    bob.run("set", person, "title=by bob")
    wait_until(lambda: laptop.json("get", person)["properties"]["title"] == "by bob", 30.0, "the rest is his to write")
    check(laptop.json("doctor") is not None and holds(ann, second), "the control finds the text where it is")
    for peer in (laptop, ann, bob):
        peer.stop()
    for text in (first, second):
        check(not holds(bob, text), f"a hidden property is in {holds(bob, text)}")

    # Shown again, and hidden from the past of those who had it.
    laptop.run("unhide", person, "salary")
    laptop.start()
    bob.start(peers=[laptop.address])
    wait_until(lambda: bob.json("get", person)["properties"].get("salary") == second, 30.0, "it is shown again")
    laptop.run("hide", person, "salary", "--from-past")
    wait_until(lambda: "salary" not in bob.json("get", person)["properties"], 30.0, "it is hidden again")
    check(laptop.json("get", person)["properties"]["salary"] == second, "it is lost")
    wait_until(lambda: second not in bob.run("history", person, "salary"), 30.0, "it is erased from the past of others")
