"""A machine that is stolen, and a user who has lost all of his, with the real program: what was stolen counts no more
and is refused, and the recovery words make a new machine that of the same user."""

import hashlib
import subprocess
import time
from pathlib import Path

import pytest

from peerd_harness import check, invite_line, pair, program, wait_until
from test_sharing import holds, invite_person, titles

USAGE, BUSY = 2, 5


def founder(world, name):
    """A machine with a new workspace, and the words that were shown."""
    peer = world.peer(name)
    return peer, peer.json("init", "--name", name)["recovery_words"]


def recover(peer, *lines, code=0, words=()):
    """What "peerd recover" says when it is given these lines."""
    done = peer.result("recover", *words, stdin="".join(f"{line}\n" for line in lines).encode(), seconds=60.0)
    error = done.stderr.decode()
    check(done.returncode == code, f"recover: exit code {done.returncode}, not {code}: {error}{done.stdout.decode()}")
    return error


def connected(peer):
    return {other["name"] for other in peer.json("peers") if other["connected"]}


@pytest.fixture
def machines(world):
    """A laptop, a phone that joined through it, and a tablet that joined through that, all of them in sync."""
    laptop, words = founder(world, "laptop")
    laptop.start()
    phone, tablet = world.peer("phone"), world.peer("tablet")
    pair(laptop, phone)
    phone.start(peers=[laptop.address])
    pair(phone, tablet)
    tablet.start(peers=[laptop.address, phone.address])
    wait_until(lambda: connected(tablet) == {"laptop", "phone"}, 30.0, "all are connected")
    return laptop, phone, tablet, words


def test_a_stolen_machine_is_refused_and_what_it_writes_counts_nowhere(machines):
    laptop, phone, tablet, _ = machines
    note = laptop.create("note", "title=before")
    phone.run("set", note, "title=by the phone")
    wait_until(lambda: titles(laptop) == titles(tablet) == {"by the phone"}, 30.0, "the edit is everywhere")
    phone.stop()
    phone.run("set", note, "title=by the thief")
    # The list of machines tells which may be removed here, and what has joined through what.
    ids = {peer["name"]: peer["device"] for peer in tablet.json("peers") + laptop.json("peers")}
    seen = {peer["name"]: (peer["removable"], peer["joined_through"]) for peer in laptop.json("peers")}
    through_phone = [ids["phone"], ids["laptop"]]
    check(seen == {"phone": (True, through_phone[1:]), "tablet": (True, through_phone)}, f"{seen}")
    check(not any(peer["removable"] for peer in tablet.json("peers")), f"{tablet.json('peers')}")
    check(len({peer["user"] for peer in tablet.json("peers") + laptop.json("peers")}) == 1, "all are of one person")
    # Nothing is removed by mistake.
    laptop.refused(USAGE, "peers", "remove", "phone", mentions=["“tablet”"])
    laptop.refused(USAGE, "peers", "remove", "laptop", mentions=["cannot remove itself"])
    laptop.refused(USAGE, "peers", "remove", "phone", "--since", "some day", mentions=["2026-03-01"])
    laptop.refused(USAGE, "peers", "remove", "tablet", "--keep", "phone", mentions=["stays in any case"])
    tablet.refused(1, "peers", "remove", "phone", mentions=["recovery words"])
    removal = laptop.json("peers", "remove", "phone", "--keep", "tablet")
    laptop.refused(USAGE, "peers", "remove", "phone", "--with-invited", mentions=["is removed already"])
    check([machine["name"] for machine in removal["removed"]] == ["phone"], f"{removal}")
    check(removal["cut_transactions"] == 0, f"{removal}")
    phone.start(peers=[laptop.address, tablet.address])
    tablet.run("set", note, "title=by the tablet")
    wait_until(lambda: titles(laptop) == {"by the tablet"}, 30.0, "what was kept goes on")
    secret = laptop.create("note", "title=later")
    wait_until(lambda: secret in tablet.objects(), 30.0, "the two go on")
    phone.result("sync", "--timeout", "5")
    check(secret not in phone.objects() and titles(phone) == {"by the thief"}, f"{titles(phone)}")
    for peer in (laptop, tablet):
        check(titles(peer) == {"by the tablet", "later"}, f"{titles(peer)}")
        # An address that the user has named is listed as one at which nobody lets this machine in.
        names = {other["name"] for other in peer.json("peers")} - {None}
        check(names <= {"laptop", "tablet"}, f"{peer.json('peers')}")
        peer.run("doctor")


def test_the_recovery_words_put_another_machine_above_the_first_one(machines):
    laptop, phone, tablet, words = machines
    note = laptop.create("note", "title=before")
    phone.create("note", "title=the phone's own")
    both = {"before", "the phone's own"}
    wait_until(lambda: titles(phone) == titles(laptop) == titles(tablet) == both, 30.0, "the notes are everywhere")
    # The first machine is stolen, and removes the others.
    phone.stop()
    laptop.run("peers", "remove", "phone", "--with-invited")
    laptop.run("rm", note)
    wait_until(lambda: connected(laptop) == set(), 30.0, "the thief has cut the tablet off")
    check(titles(tablet) <= both, f"{titles(tablet)}")

    # Words that are wrong, or another's, change nothing; nobody recovers beside a daemon.
    keys = (phone.directory / "keys").read_bytes()
    first, *rest = words.split()
    error = recover(phone, " ".join(rest), code=USAGE)
    check("13 recovery words, and not 12" in error, error)
    error = recover(phone, " ".join(["peerd", *rest]), code=USAGE)
    check("Word 1" in error, error)
    error = recover(phone, " ".join(["zoo" if first != "zoo" else "zone", *rest]), code=USAGE)
    check("wrong" in error, error)
    other = world_words(phone)
    check("another user" in recover(phone, other, code=1), "somebody else's words are taken")
    check("another user" in recover(phone, other, code=1, words=["--check"]), "somebody else's words are right")
    recover(phone, words, words=["--check"])
    recover(tablet, words, code=BUSY)
    check((phone.directory / "keys").read_bytes() == keys, "the keys have changed")

    recover(phone, words.upper())
    check((phone.directory / "keys").read_bytes() != keys, "the keys have not changed")
    check((phone.directory / "keys").stat().st_mode & 0o777 == 0o600, "others can read the keys")
    removal = phone.json("peers", "remove", "laptop", "--keep", "tablet")
    check([machine["name"] for machine in removal["removed"]] == ["laptop"], f"{removal}")
    phone.start(peers=[tablet.address, laptop.address])
    phone.run("set", note, "title=after")
    own = {"the phone's own"}
    wait_until(lambda: titles(tablet) == {"after"} | own, 60.0, "the tablet goes on with the phone")
    tablet.run("set", note, "title=again")
    wait_until(lambda: titles(phone) == {"again"} | own, 30.0, "and the phone with the tablet")
    check(connected(laptop) == set() and "laptop" not in connected(phone), "the thief is in a session")

    # What the words stand for is nowhere on a disk.
    seed = hashlib.blake2b(bits_of(words), digest_size=32, person=b"peerd/root-key").digest()
    for peer in (laptop, phone, tablet):
        for path in peer.directory.rglob("*"):
            if path.is_file():
                content = path.read_bytes()
                check(seed not in content and bits_of(words) not in content, f"the root key is in {path}")
        check(not holds(peer, words), "the words are on a disk")


def test_words_that_cannot_be_shown_are_not_needed(world):
    """A workspace whose words nobody has seen is not made."""
    peer = world.peer("laptop")
    with open("/dev/full", "wb") as full:
        command = [program(), "init", "--dir", str(peer.directory), "--name", "laptop"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, env=peer.environment, check=False)
    check(done.returncode != 0 and not (peer.directory / "keys").exists(), f"{done.returncode}: {done.stderr}")
    text = peer.run("init", "--name", "laptop")
    words = next(line for line in text.splitlines() if line.startswith("  ")).split()
    check(len(words) == 13 and "\\n" not in text, text)
    # They are read as they were written down: over several lines, with numbers.
    lines = ["", " ".join(words[:7]), "", *(f"{place}. {word}" for place, word in enumerate(words[7:], 8))]
    recover(peer, *lines, words=["--check"])


def test_who_has_lost_all_machines_comes_back_through_somebody_else(world):
    laptop, words = founder(world, "laptop")
    laptop.start()
    ann = world.peer("ann-laptop")
    text = ann.run("join", "--name", ann.name, invite_person(laptop, "ann"), seconds=30.0)
    check("Recovery words" in text, text)
    # Nobody joins with the words of somebody else, and nothing is left behind.
    other = world.peer("other")
    recover(other, world_words(laptop), invite_line(laptop), code=1, words=["--name", "other"])
    check(not other.directory.exists(), "somebody else's words made a machine")
    laptop.refused(USAGE, "invite", "ann", mentions=["ann"])
    ann.start(peers=[laptop.address])
    items = laptop.create("list", "title=list")
    laptop.create("note", "title=own")
    laptop.run("share", items, "ann", "--write")
    wait_until(lambda: titles(ann) == {"list"}, 30.0, "the list is there")
    laptop.stop()

    new = world.peer("new")
    line = next(word for word in ann.run("invite", "--back").split() if word.startswith("peerd:2:"))
    stranger = world_words(laptop)
    recover(new, stranger, line, code=1, words=["--name", "new"])
    check(not (new.directory / "keys").exists(), "a stranger came back")
    line = next(word for word in ann.run("invite", "--back").split() if word.startswith("peerd:2:"))
    recover(new, words, line, words=["--name", "new"])
    check(titles(new) == {"list"}, f"{titles(new)}")
    new.run("peers", "remove", "laptop")
    new.start(peers=[ann.address])
    new.run("set", items, "title=again")
    wait_until(lambda: titles(ann) == {"again"}, 30.0, "the founder's edit counts")
    ann.run("set", items, "title=by ann")
    wait_until(lambda: titles(new) == {"by ann"}, 30.0, "and so does hers")
    # The machine that was lost is refused by everybody.
    laptop.start(peers=[ann.address, new.address])
    laptop.result("sync", "--timeout", "5")
    check(titles(laptop) == {"list", "own"} and connected(laptop) == set(), f"{titles(laptop)}")


def bits_of(words):
    """The 16 bytes that words stand for, by the list that the program has."""
    listed = word_list()
    number = 0
    for word in words.split():
        number = number << 11 | listed.index(word)
    return (number >> 15).to_bytes(16, "big")


def word_list():
    source = Path(__file__).parents[2] / "Sources/PeerCrypto/Keys/RecoveryWordList.swift"
    text = source.read_text().split('"""')[1]
    return text.split()


def world_words(peer):
    """Words of somebody who is in no workspace."""
    bits = bytes(range(16))
    hashed = hashlib.blake2b(bits, digest_size=32, person=b"peerd/word-check").digest()
    number = int.from_bytes(bits, "big") << 15 | int.from_bytes(hashed[:8], "little") & 0x7FFF
    listed = word_list()
    return " ".join(listed[number >> (11 * place) & 0x7FF] for place in reversed(range(13)))


def test_whoever_a_stolen_machine_shared_with_is_told_that_it_is_over(world, machines):
    laptop, phone, _, words = machines
    note = laptop.create("note", "title=before")
    ann = world.peer("ann-laptop")
    ann.run("join", "--name", ann.name, invite_person(laptop, "ann"), seconds=30.0)
    ann.start(peers=[laptop.address, phone.address])
    wait_until(lambda: any(user["name"] == "ann" for user in phone.json("users")), 30.0, "she is known")
    moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 1))
    time.sleep(2)
    laptop.run("share", note, "ann", "--write")
    wait_until(lambda: note in ann.objects() and note in phone.objects(), 30.0, "she has it")
    phone.stop()
    recover(phone, words)
    phone.start(peers=[ann.address])
    wait_until(lambda: "ann-laptop" in connected(phone), 30.0, "they are connected")
    phone.run("peers", "remove", "laptop", "--since", moment, "--keep", "tablet")
    wait_until(lambda: ann.json("access", note)["has_ended"], 30.0, "she is told")
    ann.refused(1, "set", note, "title=hers", mentions=["may not write"])
    check(ann.objects()[note]["properties"] == {"title": "before"}, "what she has stays")
