"""The package, on a machine that systemd boots: the quick start, invites, discovery, backups, a restart, a sleep, a new
network, and an upgrade of the package under a daemon that runs. And what the sandbox of a service can forbid.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import service_machine
from peerd_harness import check, skip, wait_until
from service_machine import SystemService, UserService

FAILURE, USAGE = 1, 2


@pytest.fixture
def machine(world):
    return service_machine.booted(world)


def invite(service):
    """The addresses and the line of a new invite."""
    answer = service.json("invite")
    return answer["addresses"], answer["invite"]


def meet(one, two, what):
    """What either writes reaches the other."""
    for writer, reader in ((one, two), (two, one)):
        note = writer.run("create", "note", f"title={what}")
        wait_until(lambda: reader.has(note), 30, f"{what}: {reader.name} has what {writer.name} writes")


def all_is_well(service):
    findings = json.loads(service.result("doctor", "--json").stdout)["findings"]
    wrong = [finding for finding in findings if finding["level"] == "problem"]
    check(not wrong, f"{service.name}: {wrong}")


def put_another_program(machine, service):
    """Something else than the package manager puts another file in the place of the program that runs."""
    before = service.pid()
    machine.run("cp", "/usr/bin/peerd", "/usr/bin/another")
    machine.run("mv", "/usr/bin/another", "/usr/bin/peerd")
    check(service.run("status") and service.pid() == before, "the daemon that runs no longer answers")


def upgrade(machine, service, version_suffix):
    """The package manager installs another version: a daemon that runs is that one afterwards."""
    before, known = service.pid(), service.run("ls")
    said = machine.install(version_suffix)
    check("Unpacking" in said and version_suffix in said, f"nothing was upgraded: {said}")
    wait_until(lambda: service.result("status").stdout.count("listening on"), 30, "it runs again")
    check(service.pid() not in (before, "0"), "it was not started again")
    runs = machine.run("readlink", f"/proc/{service.pid()}/exe")
    check(runs == "/usr/bin/peerd", f"it runs {runs}")
    check(service.run("ls") == known, "it has something else than before")
    all_is_well(service)


def sleep(machine, service):
    """All of a suspend that a process notices: its time stands still."""
    machine.run("kill", "-STOP", service.pid())
    machine.run("kill", "-CONT", service.pid())


def test_two_services_of_the_system_meet(machine):
    one, two = SystemService(machine, "one"), SystemService(machine, "two")
    one.run("init", "--name", "one")
    one.start()
    addresses, line = invite(one)
    check("127.0.0.1" in addresses, f"the invite names {addresses}")
    two.run("join", "--name", "two", stdin=line + "\n")
    two.start()
    meet(one, two, "joined")
    all_is_well(one)

    # The network that there was not when the daemon started.
    machine.run("ip", "link", "add", "lan0", "type", "veth", "peer", "name", "lan1")
    machine.run("ip", "address", "add", "10.77.0.1/24", "dev", "lan0")
    for name in ("lan0", "lan1"):
        machine.run("ip", "link", "set", name, "up")
    check("10.77.0.1" in invite(one)[0], "an invite does not name the address that came later")
    sleep(machine, one)
    meet(one, two, "after a sleep")

    # Where one listens, two can only hear from it.
    one.systemctl("stop")
    machine.run("rm", "/var/lib/peerd/one/config")
    former = two.json("peers")[0]["address"]
    one.start()
    check(one.json("status")["listen"].rsplit(":")[-1] != former.rsplit(":")[-1], "it listens where it did")
    meet(one, two, "found")
    put_another_program(machine, one)
    one.systemctl("enable")
    two.systemctl("stop")
    upgrade(machine, one, "+1")
    check(machine.run("systemctl", "is-enabled", one.unit) == "enabled", "it does not start with the machine any more")
    check(two.pid() == "0", "the upgrade has started what did not run")
    two.start()
    meet(one, two, "upgraded")
    machine.run("dpkg", "--remove", "peerd")
    check((one.pid(), two.pid()) == ("0", "0"), "they run without a program")


def test_backups_of_a_service_of_the_system_are_where_they_are_said_to_be(machine):
    service = SystemService(machine, "one")
    service.run("init", "--name", "one")
    service.start()
    for words in (["backup", "/tmp/one"], ["backup", "--every", "1h", "--to", "/tmp"]):
        done = service.result(*words)
        check(done.returncode == USAGE and "sees another folder" in done.stderr, f"{done.returncode} {done.stderr}")
        check("/var/lib/peerd-backups/" in done.stderr, f"it names no other folder: {done.stderr}")
    check(not list((machine.root / "tmp").rglob("one*")), "there is a file all the same")
    folder = "/var/lib/peerd-backups/one"
    service.run("backup", f"{folder}/by-hand")
    service.run("backup", "--every", "1h", "--keep", "2", "--to", folder)
    wait_until(lambda: service.json("status")["backup"]["last"]["path"].endswith(".peerd-backup"), 30, "the plan")
    service.systemctl("stop")
    kept = {path.name.rsplit(".")[-1] for path in (machine.root / "var/lib/private/peerd-backups/one").iterdir()}
    check(kept == {"by-hand", "peerd-backup"}, f"these are there: {kept}")


def test_the_service_of_a_user(machine):
    user = UserService(machine)
    machine.run("systemctl", "start", f"user@{service_machine.USER[1]}")
    user.run("init", "--name", "laptop")
    user.start()
    addresses, line = invite(user)
    check("127.0.0.1" in addresses, f"the invite names {addresses}")
    desk = SystemService(machine, "desk")
    desk.run("join", "--name", "desk", stdin=line + "\n")
    desk.start()
    meet(user, desk, "joined")
    user.run("backup", "/tmp/one")
    check((machine.root / "tmp/one").exists() or machine.run("ls", "/tmp/one"), "the backup is elsewhere")
    sleep(machine, user)
    upgrade(machine, user, "+1")
    meet(user, desk, "upgraded")


def test_that_the_system_tells_no_addresses_is_told(world):
    prefix = [sys.executable, str(Path(__file__).with_name("without_netlink.py"))]
    probe = subprocess.run([*prefix, "true"], capture_output=True, text=True, check=False)
    if probe.returncode != 0:
        skip(f"no system call can be forbidden here: {probe.stderr}")
    peer = world.peer("a", prefix=prefix)
    peer.run("init", "--name", "a")
    peer.start(listen="*:0", words=["--no-http"])
    peer.refused(FAILURE, "invite", mentions=["AF_NETLINK", "not supported by protocol"])
    wait_until(lambda: "AF_NETLINK" in peer.log_path.read_text(), 30, "the log tells it")
    report = peer.result("doctor", "--json").stdout.decode()
    findings = [finding for finding in report.split("{") if "addresses" in finding]
    check(any("AF_NETLINK" in finding for finding in findings), f"doctor says {findings}")
    peer.restart(listen="127.0.0.1:0")
    check(peer.json("invite")["addresses"] == ["127.0.0.1"], "an address that was named needs nobody to tell it")


def test_a_backup_to_a_folder_that_the_daemon_sees_otherwise_is_refused(world):
    folder = world.root / "folder"
    folder.mkdir()
    mount = f"mount -t tmpfs none '{folder}' && exec \"$@\""
    prefix = ["unshare", "--mount", "sh", "-c", mount, "sh"]
    if subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode != 0:
        skip("no file system can be mounted here")
    peer = world.founder("a")
    peer.prefix = prefix
    peer.start()
    peer.prefix = []
    peer.refused(USAGE, "backup", folder / "one", mentions=["sees another folder", str(folder)])
    peer.refused(USAGE, "backup", "--every", "1h", "--to", folder, mentions=["sees another folder"])
    inside = subprocess.run(
        ["nsenter", "--target", str(peer.process.pid), "--mount", "ls", folder], capture_output=True, check=True
    )
    check(not inside.stdout, "a file with secret keys was written where nobody looks for it")
    peer.run("backup", world.root / "one")
