"""Two people in one workspace, with the real program: each has what is shared with him, and nothing of the rest; what
is taken from somebody is not sent any more, and what he writes apart does not count."""

import secrets
import sqlite3
import subprocess

import pytest

from peerd_harness import DaemonSocket, check, pair, program, wait_until


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


def sql(peer, text):
    with sqlite3.connect(f"file:{peer.directory / 'peerd.sqlite'}?mode=ro", uri=True) as database:
        return database.execute(text).fetchall()


def check_sql(peer):
    """Any SQLite client sees what the program shows."""
    shown = peer.objects()
    seen = sql(peer, "SELECT id, type, parent FROM objects ORDER BY id")
    expected = sorted((item, value["type"], value["parent"]) for item, value in shown.items())
    check(seen == expected, f"the view objects has {seen}, and not {expected}")
    rows = sql(peer, "SELECT object_id, name, value FROM properties ORDER BY object_id, name")
    pairs = [(item, name, value) for item, found in shown.items() for name, value in found["properties"].items()]
    check(rows == sorted(pairs), f"the view properties has {rows}, and not {sorted(pairs)}")


def permissions(peer):
    """Object, property, the name of the person, and whether it may be written."""
    names = {user["id"]: user["name"] for user in peer.json("users")}
    rows = sql(peer, "SELECT object_id, property_name, user_id, can_read, can_write FROM permissions")
    check(all(row[3] == 1 for row in rows), f"{rows}")
    return {(row[0], row[1], names[row[2]], row[4]) for row in rows}


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

    # In SQL, too.
    everybody = {(items, None, "laptop", 1), (items, None, "ann", 1)}
    check(permissions(laptop) == everybody | {(None, None, "laptop", 1)}, f"{permissions(laptop)}")
    check(permissions(ann) == everybody | {(None, None, "ann", 1)}, f"{permissions(ann)}")

    # What makes no sense is refused, and changes nothing.
    laptop.refused(2, "share", items, "laptop", mentions=["owns"])
    laptop.refused(2, "unshare", items, "laptop", mentions=["owns"])
    ann.refused(2, "unshare", items, "ann", mentions=["leave"])
    for verb in (["hide", items, ""], ["unshare", items, ""], ["share", items, "ann", "--property", ""]):
        laptop.refused(2, *verb, mentions=["is empty"])
    laptop.refused(2, "unshare", task, "ann", mentions=["below one that is shared"])
    laptop.refused(2, "unshare", folder, "ann", mentions=["nothing to take"])

    # Nothing of the rest is on her disk, and nothing of hers on his.
    check(holds(laptop, secret) and holds(ann, shared), "the control finds the texts where they are")
    for peer in people:
        peer.stop()
    directories = [str(peer.directory) for peer in people]
    done = subprocess.run([program(), "preview", *directories], capture_output=True, text=True, check=False)
    check(done.returncode == 2 and "different people" in done.stderr, f"{done}")
    check(not holds(ann, secret), f"a secret is in {holds(ann, secret)}")
    for text in (folder, mine):
        check(not holds(ann, text) and not holds(ann, bytes.fromhex(text.replace("-", "")).hex()), "an id is there")


def test_two_people_make_sure_of_each_other_by_four_words(world):
    laptop = world.founder("laptop")
    laptop.start()
    ann = world.peer("ann-laptop")
    told = ann.run("join", "--name", ann.name, invite_person(laptop, "ann"), seconds=30.0)
    ann.start(peers=[laptop.address])
    wait_until(lambda: any(user["name"] == "ann" for user in ann.json("users")), 30.0, "ann knows what she is called")

    def person(peer, name):
        return next(user for user in peer.json("users") if user["name"] == name)

    words = person(laptop, "ann")["words"]
    check(len(words.split()) == 4 and words in told and person(ann, "ann")["words"] == words, f"{words}, {told}")
    check(f"unverified: {words}" in laptop.run("users") and person(laptop, "laptop")["words"] is None, "who is known")

    # Until they are compared she manages nothing; other words are not hers, and she cannot verify herself.
    items = laptop.create("list", "title=list")
    laptop.refused(2, "share", items, "ann", "--manage", mentions=["four words"])
    laptop.run("share", items, "ann", "--write")
    laptop.refused(2, "users", "verify", "ann", *words.split()[::-1], mentions=["not the words"])
    ann.refused(1, "users", "verify", "ann", *words.split(), mentions=["may not"])
    laptop.run("users", "verify", "ann", *words.upper().split())
    check(person(laptop, "ann")["is_verified"] and "verified" in laptop.run("users"), "she is verified")
    wait_until(lambda: person(ann, "ann")["is_verified"], 30.0, "she hears of it")
    laptop.run("share", items, "ann", "--manage")

    # Everybody calls her by her new name, and she is who she was.
    laptop.refused(2, "users", "rename", "ann", "laptop", mentions=["already"])
    laptop.refused(2, "users", "rename", "ann", "a\nb", mentions=["cannot be the name"])
    ann.refused(1, "users", "rename", "ann", "anna", mentions=["may not"])
    laptop.run("users", "rename", "ann", "anna")
    wait_until(lambda: any(user["name"] == "anna" for user in ann.json("users")), 30.0, "she hears of it")
    for peer in (laptop, ann):
        anna = person(peer, "anna")
        check(anna["is_verified"] and anna["words"] == words, f"{anna}")
    laptop.refused(3, "users", "rename", "ann", "x", mentions=["ann"])
    laptop.refused(2, "users", "rename", "anna", person(laptop, "laptop")["id"][:6], mentions=["somebody's id"])
    laptop.run("users", "rename", "anna", "ann")
    check(person(laptop, "ann")["is_verified"], "she is called what she was called before")


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
    own = ann.json("rejected")
    check({(edit["reason"], edit["user"]["name"]) for edit in own} == {("removed", "ann")}, f"{own}")
    check((items, None, "ann", 1) not in permissions(ann), "in SQL she may write it")
    check("in vain" in [edit["edit"]["action"].get("set", {}).get("value") for edit in own], f"{own}")
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
    with DaemonSocket(ann) as socket:
        status, problem = socket.request("PATCH", f"/api/objects/{task}", {"properties": {"title": "x"}})
        decision = problem["decision"]
        check((status, decision["reason"]) == (403, "less_granted"), f"{status} {problem}")
        check(decision["statement"]["user"]["name"] == "laptop", f"{problem}")
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
    check_sql(laptop)
    check(sql(ann, f"SELECT parent FROM objects WHERE id = '{items}'") == [(own,)], "in SQL it is elsewhere")

    # She leaves: it shows no more, and she is told nothing more.
    laptop.refused(2, "leave", items, mentions=["is yours"])
    ann.refused(2, "leave", own, mentions=["not shared"])
    check("may write it: it was given by laptop" in ann.run("why", items, "title", "ann"), "who gave it is known")
    with DaemonSocket(ann) as socket:
        token = socket.ask("GET", "/api/changes")["token"]
    ann.run("leave", items)
    with DaemonSocket(ann) as socket:
        told = {item["id"]: item for item in socket.ask("GET", f"/api/changes?since={token}")["objects"]}
    check(told[items]["leaving"] == "given_up" and told[items]["state"] is None, f"what she is told: {told}")
    check(ann.json("doctor")["healthy"], f"{ann.json('doctor')}")
    check(own in ann.objects() and items not in ann.objects(), "it shows, or more is gone")
    check_sql(ann)
    wait_until(lambda: len(laptop.json("access", items)["access"]) == 1, 30.0, "the owner hears of it")
    why = laptop.json("why", items, "ann")
    check(why["read"]["reason"] == "removed" and why["read"]["statement"]["user"]["name"] == "ann", f"{why}")
    secret = marker()
    laptop.run("set", items, f"title={secret}")
    ann.run("sync")
    check(not holds(ann, secret), "what was written after she left was sent to her")
    laptop.run("share", items, "ann")
    wait_until(lambda: ann.objects().get(items, {}).get("parent") == own, 30.0, "it is back where it was")
    check(ann.objects()[items]["properties"]["title"] == secret, "it is as it was")


def test_somebody_carries_what_he_cannot_read(people, world):
    laptop, ann = people
    bob = world.peer("bob-laptop")
    bob.run("join", "--name", bob.name, invite_person(laptop, "bob"), seconds=30.0)
    bob.start(peers=[laptop.address])
    items = laptop.create("list", "title=list")
    laptop.run("share", items, "ann", "--write")
    wait_until(lambda: items in ann.objects(), 30.0, "the list is there")
    for peer in (laptop, ann):
        wait_until(lambda peer=peer: any(user["name"] == "bob" for user in peer.json("users")), 30.0, "bob is known")

    # The laptop and ann's are never up at once; bob's is.
    ann.stop()
    secret = marker()
    task = laptop.create("task", f"title={secret}", "--parent", items)
    carried = "SELECT count(*) FROM parcel"
    wait_until(lambda: sql(bob, carried) == [(1,)], 60.0, "bob carries it")
    laptop.stop()
    bob.restart()
    check(holds(laptop, secret) and not holds(bob, secret), f"it is in {holds(bob, secret)}")
    check(not holds(bob, task) and not holds(bob, bytes.fromhex(task.replace("-", "")).hex()), "an id is there")
    ann.start(peers=[bob.address])
    wait_until(lambda: ann.objects().get(task, {}).get("properties", {}).get("title") == secret, 60.0, "it has come")
    wait_until(lambda: sql(bob, carried) == [(0,)], 30.0, "bob carries it no more")

    # And back.
    answer = marker()
    ann.run("set", task, f"title={answer}")
    wait_until(lambda: sql(bob, carried) == [(1,)], 90.0, "bob carries the answer")
    ann.stop()
    laptop.start(peers=[bob.address])
    wait_until(lambda: laptop.json("get", task)["properties"]["title"] == answer, 60.0, "the answer has come")
    check(not holds(bob, answer), f"the answer is in {holds(bob, answer)}")


def test_somebody_who_is_removed_is_refused(people):
    laptop, ann = people
    # Only the founder takes machines and people of others out, and nobody takes himself out that way.
    ann.refused(1, "peers", "remove", "laptop", mentions=["may not"])
    ann.refused(1, "users", "remove", "ann", mentions=["may not"])
    own = ann.create("note")
    ann.refused(1, "hide", own, "n" * 513, mentions=["512"])
    check(ann.json("doctor")["healthy"], "something of that was done")
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
    # She comes back with the machine that she had, and what was hers is there.
    wait_until(lambda: ann.json("status").get("removed"), 30.0, "she is told")
    laptop.refused(3, "share", items, "ann", mentions=["removed", "readmit"])
    laptop.refused(3, "users", "rename", "ann", "anna", mentions=["removed", "readmit"])
    ann.refused(2, "users", "readmit", "ann", mentions=["in the workspace"])
    laptop.refused(2, "users", "readmit", "laptop", mentions=["is in the workspace"])
    laptop.run("users", "readmit", "ann")
    laptop.run("share", items, "ann", "--write")
    wait_until(lambda: holds(ann, secret), 60.0, "she reads it again")
    wait_until(lambda: not ann.json("status").get("removed"), 30.0, "she is told that, too")
    ann.run("set", items, "title=again")
    wait_until(lambda: laptop.json("get", items)["properties"]["title"] == "again", 60.0, "what she writes counts")
    check(ann.json("get", own)["type"] == "note", "what is hers is there")


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
    hidden = {(person, "salary", "laptop", 1), (person, "salary", "ann", 1)}
    listed = {row for row in permissions(laptop) if row[1]}
    check(listed == hidden, f"{listed}")
    for peer in (laptop, ann, bob):
        check_sql(peer)
    check(laptop.json("why", person, "salary", "bob")["read"]["reason"] == "hidden", "it is hidden from him")
    check(laptop.json("why", person, "salary", "ann")["write"]["allowed"], "she may write it")
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
    check_sql(laptop)
    wait_until(lambda: second not in bob.run("history", person, "salary"), 30.0, "it is erased from the past of others")
