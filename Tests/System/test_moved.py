"""Machines whose addresses change meet again by themselves: while their daemons run, right after they have met, after a
cut, while both are off; and where there are link-local IPv6 addresses alone."""

import pytest

from peerd_harness import check, pair, say, wait_until

# Far below the time after which a silent connection is given up.
SECONDS = 25


def move(lan, machine, number):
    """Gives a machine another address."""
    name = lan.machines[machine - 1]
    lan._in(name, "ip", "-4", "address", "flush", "dev", "lan0")
    if number:
        lan._in(name, "ip", "address", "add", f"10.77.{lan.number}.{number}/24", "dev", "lan0")


def move_link_local(lan, machine, number):
    """Gives a machine another link-local address; it has no other."""
    name = lan.machines[machine - 1]
    lan._in(name, "ip", "-6", "address", "flush", "dev", "lan0")
    lan._in(name, "ip", "address", "add", f"fe80::77:{number}/64", "dev", "lan0", "nodad")


def meet(laptop, desk, what):
    """What one writes reaches the other."""
    for writer, reader in ((laptop, desk), (desk, laptop)):
        note = writer.create("note")
        wait_until(lambda: note in reader.objects(), SECONDS, f"{what}: {reader.name} gets what {writer.name} writes")
    say(what)


def move_at_once(lan, port, peers, mover):
    """Either machine moves right after a session has begun, whichever of the two has dialled it."""
    for number, machine in enumerate((1, 2, 2, 1)):
        for peer in peers:
            peer.stop()
        start(port + number, *(peers if number % 2 else reversed(peers)))
        meet(*peers, "they have met")
        mover(lan, machine, 60 + number)
        meet(*peers, f"{peers[machine - 1].name} moved right after that")


def start(port, *peers):
    for peer in peers:
        peer.start(listen=f"*:{port}", discovery=True, words=["--no-http"])


@pytest.fixture
def moving(lan, world):
    """A switch, and two machines on it in one workspace, neither of them running."""
    switch = lan(2)
    laptop, desk = (world.peer(name, prefix=switch.prefix(index)) for index, name in ((1, "laptop"), (2, "desk")))
    laptop.run("init", "--name", "laptop")
    start(7400, laptop)
    pair(laptop, desk)
    laptop.stop()
    return switch, laptop, desk


def test_a_new_address_while_the_daemon_runs(moving):
    switch, laptop, desk = moving
    start(7400, laptop, desk)
    meet(laptop, desk, "paired")
    move(switch, 2, 77)
    meet(laptop, desk, "a machine got another address while its daemon ran")
    move_at_once(switch, 7410, [laptop, desk], move)


def test_a_new_address_after_a_cut(moving):
    switch, laptop, desk = moving
    start(7400, laptop, desk)
    meet(laptop, desk, "paired")
    switch.cut(2)
    move(switch, 2, 88)
    switch.heal(2)
    meet(laptop, desk, "a machine was cut off, and came back with another address")


def test_new_addresses_and_ports_while_both_are_off(moving):
    switch, laptop, desk = moving
    for machine in (1, 2):
        move(switch, machine, 90 + machine)
    start(7500, laptop, desk)
    meet(laptop, desk, "both came back with other addresses and ports")


def test_link_local_addresses_alone(moving):
    switch, laptop, desk = moving
    for machine in (1, 2):
        move(switch, machine, None)
    check("fe80" in switch._in(switch.machines[0], "ip", "address"), "there is no link-local address")
    start(7600, laptop, desk)
    meet(laptop, desk, "link-local IPv6 addresses alone")
    move_at_once(switch, 7610, [laptop, desk], move_link_local)


def test_an_invite_names_the_addresses_of_the_moment(moving):
    switch, laptop, _ = moving
    start(7700, laptop)
    before = laptop.json("invite")["addresses"]
    check(switch.host(1) in before, f"the invite names {before}")
    move(switch, 1, 99)
    after = laptop.json("invite")["addresses"]
    check(f"10.77.{switch.number}.99" in after and switch.host(1) not in after, f"the invite names {after}")
