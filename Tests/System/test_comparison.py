"""Machines with the same edits have the same state, and that is looked at: what another program alters in the database
of one is named on both, and put right from the log of that one, or from the other."""

import sqlite3

import pytest

from peerd_harness import check, wait_until


def alter(peer, statement, *values):
    """Writes to a database behind the daemon's back; returns the number of rows that were changed."""
    connection = sqlite3.connect(peer.directory / "peerd.sqlite", timeout=30)
    with connection:
        count = connection.execute(statement, values).rowcount
    connection.close()
    return count


def register(peer, object_id, name):
    connection = sqlite3.connect(peer.directory / "peerd.sqlite", timeout=30)
    row = connection.execute(
        "SELECT register FROM register JOIN object USING (object) JOIN name USING (name) WHERE id = ? AND text = ?",
        (object_id, name),
    ).fetchone()
    connection.close()
    return row[0]


@pytest.fixture
def both(world):
    """A laptop and a desk in sync, with a note whose title was written twice, beside a hundred others."""
    laptop, desk = world.paired("laptop", "desk")
    laptop.start()
    note = laptop.create("note", "title=one").strip()
    laptop.run("set", note, "title=two")
    for number in range(20):
        laptop.create("note", f"title=other {number}")
    desk.start(peers=[laptop.address])
    desk.run("sync", "--wait", "--timeout", "60")
    check(desk.export() == laptop.export(), "they are in sync")
    return laptop, desk, note


ALTERED = {
    "the write in force": "UPDATE register SET sequence = sequence - 1 WHERE register = ?",
    "a property": "DELETE FROM register WHERE register = ?",
    "the number of writes": "UPDATE register SET write_count = write_count + 1 WHERE register = ?",
    "what was written": """UPDATE operation SET value = 'forged' WHERE operation = (
        SELECT change.operation + register.idx FROM register JOIN change USING (segment, sequence)
        WHERE register = ?)""",
}


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("what", ALTERED)
def test_what_was_altered_is_named_on_both_sides_and_mended(both, what, side):
    laptop, desk, note = both
    truth = laptop.export()
    altered = both[side]
    check(alter(altered, ALTERED[what], register(altered, note, "title")) == 1, f"{what} is altered")
    named = {}

    def all_named():
        for peer in (laptop, desk):
            for entry in peer.json("peers"):
                if note in entry.get("differing", []):
                    named[peer.name] = (entry["name"], entry["differs_since_ms"] is not None, peer.result("doctor"))
        return len(named) == 2

    wait_until(all_named, 60, "both name the note")
    for peer, other in ((laptop, "desk"), (desk, "laptop")):
        check(named[peer.name][:2] == (other, True), f"{named}")
        done = named[peer.name][2]
        check(done.returncode == 1 and note.encode() in done.stdout, f"doctor names the note: {done}")

    def agree():
        return all(not entry.get("differing") for peer in (laptop, desk) for entry in peer.json("peers"))

    wait_until(agree, 60, "both agree again")
    check(laptop.export() == truth and desk.export() == truth, f"{laptop.export()} and {desk.export()}")
    for peer in (laptop, desk):
        peer.run("doctor")
        peer.stop()


def test_what_nobody_can_put_right_is_named_after_a_restart_too(both):
    """An altered name makes the log itself untrue; its changes count as missing, and stay a difference."""
    laptop, desk, _ = both
    check(alter(desk, "UPDATE name SET text = 'titel' WHERE text = 'title'") == 1, "the name is altered")

    def named():
        return all(any(entry.get("differing") for entry in peer.json("peers")) for peer in (laptop, desk))

    wait_until(named, 60, "both name what differs")
    wait_until(lambda: "PROBLEM" in desk.result("doctor").stdout.decode(), 60, "the doctor finds the log at fault")
    laptop.restart()
    desk.restart(peers=[laptop.address])
    wait_until(named, 180, "both name what differs, after a restart")
    check(b"titel" in desk.export() and b"titel" not in laptop.export(), "the other side has not taken it over")
