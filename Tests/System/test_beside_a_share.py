"""What one person, or one machine, writes while another shares, moves or hides it, with the real program: it is carried
over or competes, everybody is told, and an undo takes back what was carried over too."""

import json
import time

import pytest

from peerd_harness import check, pair, wait_until
from test_sharing import people  # noqa: F401


@pytest.fixture
def machines(world, people):  # noqa: F811
    """A laptop and a phone of one person, and a laptop of another, all running."""
    laptop, ann = people
    phone = world.peer("phone")
    pair(laptop, phone)
    phone.start(peers=[laptop.address])
    return laptop, phone, ann


def properties(peer, item):
    return peer.objects().get(item, {}).get("properties")


def competing(peer, item):
    """The properties of an object with competing writes, each with what is in force and what has lost."""
    found = [conflict for conflict in peer.json("conflicts")["properties"] if conflict["object"] == item]
    return {
        one["name"]: (one["winner"]["value"], [loser["value"] for loser in one["losers"]]) for one in found
    }


def away(peer, *words):
    """Runs a command while nobody is met."""
    peer.stop()
    peer.run(*words)


def test_an_edit_beside_the_end_of_a_share_comes_back_with_it(people):  # noqa: F811
    laptop, ann = people
    for again in (["redo"], None):
        folder = laptop.create("folder")
        item = laptop.create("item", "size=0")
        laptop.run("share", folder, "ann", "--write")
        laptop.run("mv", item, folder)
        wait_until(lambda: properties(ann, item) == {"size": 0}, 30.0, "ann has it")
        away(ann, "set", item, "size=20")
        laptop.run(*(["undo"] if again else ["mv", item, "--root"]))
        ann.start(peers=[laptop.address])
        wait_until(lambda: competing(laptop, item) == {"size": (0, [20])}, 30.0, "her edit competes")
        check(properties(laptop, item) == {"size": 0}, "it is where she does not read it")
        laptop.run(*(again or ["mv", item, folder]))
        for peer in (laptop, ann):
            wait_until(lambda: properties(peer, item) == {"size": 20}, 30.0, "her edit is there again")
        check(competing(laptop, item) == {}, "nothing competes")
    # In a new share it competes on, and whoever reads both sees what was written in the first.
    item = laptop.create("item", "size=0")
    laptop.run("share", item, "ann", "--write")
    wait_until(lambda: properties(ann, item) == {"size": 0}, 30.0, "ann has it")
    away(ann, "set", item, "size=20")
    laptop.run("undo")
    ann.start(peers=[laptop.address])
    wait_until(lambda: competing(laptop, item) == {"size": (0, [20])}, 30.0, "her edit competes")
    laptop.run("share", item, "ann", "--write")
    wait_until(lambda: properties(ann, item) == {"size": 0}, 30.0, "it is shared anew")
    check(competing(laptop, item) == {"size": (0, [20])}, "her edit is forgotten")
    for peer in (laptop, ann):
        check("set size = 20" in peer.run("history", item), "her edit is in no history")


def test_both_take_something_out_of_a_share_at_once(people):  # noqa: F811
    laptop, ann = people
    folder, other = laptop.create("folder"), laptop.create("folder")
    item = laptop.create("item", "--parent", folder)
    laptop.run("share", folder, "ann", "--write")
    wait_until(lambda: item in ann.objects(), 30.0, "ann has it")
    away(ann, "mv", item, "--root")
    laptop.run("mv", item, other)
    ann.start(peers=[laptop.address])
    laptop.run("share", other, "ann")
    wait_until(lambda: other in ann.objects(), 30.0, "the other folder is shared")
    check(ann.objects()[item]["parent"] is None and laptop.objects()[item]["parent"] == other, "each has his own")
    copies = [(copy["user"]["name"], copy["role"]) for copy in ann.json("access", item)["copies"]]
    check(copies == [("laptop", "owner")], f"she is told of the other one: {copies}")
    ann.run("rm", item)
    check(ann.objects()[item]["parent"] == other, "once she deletes hers, she sees that one")


def test_what_was_carried_over_is_taken_back(machines):
    laptop, phone, ann = machines
    # A branch that is merged after the share.
    item = laptop.create("item", "size=0")
    laptop.run("branch", "create", "draft")
    laptop.run("set", "--branch", "draft", item, "size=1")
    laptop.run("share", item, "ann", "--write")
    wait_until(lambda: properties(ann, item) == {"size": 0}, 30.0, "ann has it")
    laptop.run("branch", "merge", "draft")
    for words, size in ((None, 1), ("undo", 0), ("redo", 1)):
        if words:
            laptop.run(words)
        wait_until(lambda: properties(ann, item) == {"size": size}, 30.0, f"{words}: ann has {size}")
        check(properties(laptop, item) == {"size": size}, "both show the same")
    # What a machine apart had written and made.
    item = laptop.create("item", "size=0")
    wait_until(lambda: item in phone.objects(), 30.0, "the phone has it")
    away(phone, "set", item, "size=5")
    child = phone.create("step", "--parent", item)
    laptop.run("share", item, "ann", "--write")
    phone.start(peers=[laptop.address])
    states = [
        (None, {"size": 5}, True),
        ("undo", {"size": 5}, False),
        ("undo", {"size": 0}, False),
        ("redo", {"size": 5}, False),
        ("redo", {"size": 5}, True),
    ]
    for words, state, is_there in states:
        if words:
            check("left as it is" not in phone.run(words), f"{words} leaves something")
        for peer in (laptop, phone, ann):
            wait_until(
                lambda: properties(peer, item) == state and (child in peer.objects()) == is_there,
                30.0,
                f"{words}: {peer.name} has {state}, and the step is {'there' if is_there else 'gone'}",
            )


def test_what_is_written_while_it_is_hidden(machines):
    laptop, phone, ann = machines
    item = laptop.create("item", "pay=1")
    laptop.run("share", item, "ann", "--write")
    for peer in (phone, ann):
        wait_until(lambda: properties(peer, item) == {"pay": 1}, 30.0, "it is there")
    # By another machine of his: it is hidden too.
    away(phone, "set", item, "pay=5")
    laptop.run("hide", item, "pay")
    phone.start(peers=[laptop.address])
    for words, pay in ((None, 5), ("undo", 1), ("redo", 5)):
        if words:
            check("left as it is" not in phone.run(words), f"{words} leaves something")
        for peer in (laptop, phone):
            wait_until(lambda: properties(peer, item) == {"pay": pay}, 30.0, f"{words}: {peer.name} has {pay}")
        wait_until(lambda: properties(ann, item) == {}, 30.0, "ann has nothing of it")
    # Its undo takes back all of it or nothing.
    done = laptop.result("undo")
    check(done.returncode == 1 and b"edited since by phone" in done.stdout, f"the edit of the phone stands: {done}")
    check(properties(laptop, item) == {"pay": 5} and properties(ann, item) == {}, "it is hidden still")
    # By somebody who does not know of it: it competes until it is written again.
    away(ann, "set", item, "pay=9")
    ann.start(peers=[laptop.address])
    for peer in (laptop, phone):
        wait_until(lambda: competing(peer, item) == {"pay": (5, [9])}, 30.0, "what she writes competes")
    laptop.run("set", item, "pay=10")
    check(competing(laptop, item) == {}, "it competes no more")
    # On a machine that does not know that it shows again: nobody else reads that.
    wait_until(lambda: properties(phone, item) == {"pay": 10}, 30.0, "the phone has it")
    away(phone, "set", item, "pay=11")
    laptop.run("unhide", item, "pay")
    phone.start(peers=[laptop.address])
    wait_until(lambda: competing(laptop, item) == {"pay": (10, [11])}, 30.0, "what the phone has hidden competes")
    wait_until(lambda: properties(ann, item) == {"pay": 10}, 30.0, "ann reads it again")
    check(competing(ann, item) == {}, "she is not told of what is hidden")


def test_a_branch_that_writes_what_is_hidden_meanwhile(world):
    laptop = world.founder("laptop")
    laptop.start()
    item = laptop.create("item", "pay=1")
    laptop.run("branch", "create", "draft")
    laptop.run("hide", item, "pay")
    laptop.run("set", "--branch", "draft", item, "pay=2")
    check(laptop.run("branch", "diff", "draft").count("pay: 1 -> 2") == 1, "the difference is named once")
    laptop.run("branch", "merge", "draft")
    for words, pay in ((None, 2), ("undo", 1), ("redo", 2)):
        if words:
            check("left as it is" not in laptop.run(words), f"{words} leaves something")
        wait_until(lambda: properties(laptop, item) == {"pay": pay}, 30.0, f"{words}: it is {pay}")
    check("hidden" in laptop.run("access", item), "it is hidden still")


def test_an_undo_of_a_hide_beside_what_others_write_gives_each_his_own(people):  # noqa: F811
    laptop, ann = people
    for words in ("hide", "unhide"):
        item = laptop.create("item", "name=x")
        laptop.run("hide", item, "pay")
        laptop.run("share", item, "ann", "--write")
        laptop.run("set", item, "pay=mine")
        wait_until(lambda: item in ann.objects(), 30.0, "ann has it")
        ann.run("set", item, "pay=hers")
        wait_until(lambda: competing(laptop, item) == {"pay": ("mine", ["hers"])}, 30.0, "it competes")
        laptop.run(words, item, "pay")
        shown = {"name": "x"} if words == "hide" else {"name": "x", "pay": "mine"}
        wait_until(lambda: properties(ann, item) == shown, 30.0, f"{words}: ann has {shown}")
        laptop.run("undo")
        wait_until(lambda: properties(ann, item) == {"name": "x", "pay": "hers"}, 30.0, "ann has hers again")
        time.sleep(3)
        check(properties(laptop, item) == {"name": "x", "pay": "mine"}, "he has his own again")


def test_a_hide_and_what_is_hidden_outlast_a_move_by_another_machine(machines):
    laptop, phone, ann = machines
    folder = laptop.create("folder")
    laptop.run("share", folder, "ann", "--write")
    for ways, value in (([["--root"]], 7), ([["--root"], [folder]], 7), ([["--root"], [folder]], 1)):
        item = laptop.create("item", "pay=1", "--parent", folder)
        for peer in (phone, ann):
            wait_until(lambda: item in peer.objects(), 30.0, "it is there")
        laptop.stop()
        phone.stop()
        laptop.run("hide", item, "pay")
        if value != 1:
            laptop.run("set", item, f"pay={value}")
        for way in ways:
            phone.run("mv", item, *way)
        laptop.start()
        phone.start(peers=[laptop.address])
        ann.stop()
        ann.start(peers=[laptop.address])
        for peer in (laptop, phone):
            wait_until(lambda: properties(peer, item) == {"pay": value}, 30.0, f"{ways}: {peer.name} has {value}")
        gone = None if len(ways) == 1 else {}
        wait_until(lambda: properties(ann, item) == gone, 30.0, f"{ways}: ann has nothing of it")
    # What is written beside a move there and back is later than that.
    item = laptop.create("item", "size=1", "--parent", folder)
    wait_until(lambda: item in phone.objects(), 30.0, "it is there")
    laptop.stop()
    phone.stop()
    laptop.run("set", item, "size=2")
    phone.run("mv", item, "--root")
    phone.run("mv", item, folder)
    laptop.start()
    phone.start(peers=[laptop.address])
    for peer in (laptop, phone):
        wait_until(lambda: properties(peer, item) == {"size": 2}, 30.0, f"{peer.name} has what was written")


def test_an_undo_of_a_move_beside_others_leaves_no_husk(people):  # noqa: F811
    laptop, ann = people
    folder = laptop.create("folder")
    laptop.run("share", folder, "ann", "--write")
    item = laptop.create("item", "size=1", "--parent", folder)
    step = laptop.create("step", "--parent", item)
    wait_until(lambda: step in ann.objects(), 30.0, "ann has it")
    away(ann, "rm", step)
    laptop.run("mv", item, "--root")
    ann.start(peers=[laptop.address])
    laptop.run("sync")
    laptop.result("undo")
    laptop.run("sync")
    check(properties(laptop, item) == {"size": 1}, f"he has {properties(laptop, item)}")
    # What he wrote where it was moved to is there after the undo of its way back.
    item = laptop.create("item", "size=1", "--parent", folder)
    wait_until(lambda: item in ann.objects(), 30.0, "ann has it")
    away(ann, "set", item, "size=9")
    laptop.run("mv", item, "--root")
    laptop.run("set", item, "name=mine")
    ann.start(peers=[laptop.address])
    wait_until(lambda: competing(laptop, item) == {"size": (1, [9])}, 30.0, "what she writes competes")
    laptop.run("mv", item, folder)
    check(properties(laptop, item) == {"size": 9, "name": "mine"}, "it takes up what she wrote")
    laptop.run("undo")
    check(properties(laptop, item).get("name") == "mine", f"what he wrote is gone: {properties(laptop, item)}")


def test_a_copy_of_an_id_by_somebody_else_takes_nothing_away(people):  # noqa: F811
    laptop, ann = people
    folder = laptop.create("folder")
    item = laptop.create("item", "size=1", "--parent", folder)
    laptop.run("share", folder, "ann", "--write")
    wait_until(lambda: item in ann.objects(), 30.0, "ann has it")
    laptop.run("mv", item, "--root")
    wait_until(lambda: item not in ann.objects(), 30.0, "it is his alone")
    file = ann.directory.parent / "copy.json"
    file.write_text(json.dumps([{"id": item, "type": "item", "properties": {"size": 666}}]))
    ann.run("import", file)
    ann.run("share", item, "laptop", "--write")
    wait_until(lambda: laptop.json("access", item)["copies"], 30.0, "he is told that she has one")
    check(properties(laptop, item) == {"size": 1}, "his own shows")
    laptop.run("rm", item)
    laptop.run("undo")
    check(properties(laptop, item) == {"size": 1}, f"his own is back: {properties(laptop, item)}")


def test_a_hidden_property_that_was_shared_is_hidden_alone_by_an_undo(people):  # noqa: F811
    laptop, ann = people
    item = laptop.create("item", "name=x")
    laptop.run("share", item, "ann")
    laptop.run("hide", item, "pay")
    laptop.run("set", item, "pay=5")
    laptop.run("share", item, "ann", "--property", "pay")
    wait_until(lambda: properties(ann, item) == {"name": "x", "pay": 5}, 30.0, "ann reads it")
    for words, pay in (("undo", {}), ("redo", {"pay": 5})):
        check("left as it is" not in laptop.run(words), f"{words} leaves something")
        check(properties(laptop, item) == {"name": "x", "pay": 5}, f"{words}: he has {properties(laptop, item)}")
        wait_until(lambda: properties(ann, item) == {"name": "x"} | pay, 30.0, f"{words}: ann has {pay}")


def test_an_older_edit_beside_a_share_and_a_hide_is_hidden_too(machines):
    laptop, phone, ann = machines
    folder = laptop.create("folder")
    laptop.run("share", folder, "ann", "--write")
    orders = [("share", "hide"), ("hide", "share"), ("hide", "mv"), ("mv", "hide"), ("share", "hide", "undo")]
    items = {order: laptop.create("item", "pay=1", f"number={n}") for n, order in enumerate(orders)}
    wait_until(lambda: all(item in phone.objects() for item in items.values()), 30.0, "all are there")
    laptop.stop()
    phone.stop()
    for item in items.values():
        phone.run("set", item, "pay=2")
    time.sleep(0.01)
    for order, item in items.items():
        for verb in order:
            words = {"share": (item, "ann", "--write"), "hide": (item, "pay"), "mv": (item, folder), "undo": ()}[verb]
            laptop.run(verb, *words)
    laptop.start()
    phone.start(peers=[laptop.address])
    for order, item in items.items():
        for peer in (laptop, phone):
            wait_until(lambda: properties(peer, item)["pay"] == 2, 30.0, f"{peer.name} has it after {order}")
        wait_until(lambda: item in ann.objects(), 30.0, "ann has it")
        check(("pay" in properties(ann, item)) == ("undo" in order), f"after {order} ann has {properties(ann, item)}")


def test_an_undo_of_a_move_that_cannot_be_leaves_all_of_it(machines):
    laptop, phone, ann = machines
    folders = [laptop.create("folder", f"n={n}") for n in range(2)]
    for folder in folders:
        laptop.run("share", folder, "ann", "--write")
    item = laptop.create("item", "a=1", "b=1", "c=1", "--parent", folders[0])
    wait_until(lambda: item in ann.objects() and item in phone.objects(), 30.0, "all have it")
    away(ann, "set", item, "b=2")
    laptop.run("mv", item, "--root")
    wait_until(lambda: phone.objects()[item]["parent"] is None, 30.0, "the phone knows of the move")
    phone.create("step", "--parent", item)
    ann.start(peers=[laptop.address])
    wait_until(lambda: competing(laptop, item) == {"b": (1, [2])}, 30.0, "what she wrote competes")
    check(laptop.result("undo").returncode == 1, "an undo of what it leaves as it is")
    check(properties(laptop, item) == {"a": 1, "b": 1, "c": 1}, f"a husk: {properties(laptop, item)}")
    # What went on to another place does not come back in the place before, either.
    other = laptop.create("item", "a=1")
    for place in ([folders[0]], [folders[1]], ["--root"]):
        laptop.run("mv", other, *place)
    wait_until(lambda: other in phone.objects() and other not in ann.objects(), 30.0, "it is his alone")
    phone.run("set", other, "b=1")
    wait_until(lambda: properties(laptop, other) == {"a": 1, "b": 1}, 30.0, "the laptop has it")
    for _ in range(2):
        laptop.result("undo")
    laptop.run("sync")
    time.sleep(1)
    check(properties(laptop, other) == {"a": 1, "b": 1} and other not in ann.objects(), "a ghost")


def test_an_erasure_after_a_move_spares_what_it_had_not_seen(people):  # noqa: F811
    laptop, ann = people
    folder = laptop.create("folder")
    laptop.run("share", folder, "ann", "--write")
    item = laptop.create("item", "size=1", "--parent", folder)
    wait_until(lambda: item in ann.objects(), 30.0, "ann has it")
    away(ann, "set", item, "size=2")
    laptop.run("mv", item, "--root")
    laptop.run("erase", item, "size")
    ann.start(peers=[laptop.address])
    wait_until(lambda: competing(laptop, item) == {"size": (1, [2])}, 30.0, "what she wrote competes")
