"""Network namespaces joined by a bridge, each with one veth, real addresses and no default route.

Everything has the id of this process in its name, and only that is removed again.
"""

import functools
import itertools
import os
import subprocess

_numbers = itertools.count(1)


def command(*words):
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(words)}: {done.stderr.strip()}")
    return done.stdout


@functools.cache
def reason_to_skip():
    """Why namespaces cannot be had here, or None."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    for words in (["ip", "-V"], ["nft", "--version"]):
        try:
            subprocess.run(words, capture_output=True, check=True)
        except (OSError, subprocess.CalledProcessError):
            return f"the program {words[0]} is not here"
    probe = f"pd{os.getpid()}probe"
    try:
        command("ip", "netns", "add", probe)
        command("ip", "netns", "exec", probe, "ip", "link", "add", "br0", "type", "bridge")
        command("ip", "netns", "exec", probe, "ip", "link", "add", "v0", "type", "veth", "peer", "name", "v1")
        command("ip", "netns", "exec", probe, "nft", "add", "table", "inet", "probe")
    except RuntimeError as error:
        return f"no network namespaces here: {error}"
    finally:
        subprocess.run(["ip", "netns", "del", probe], capture_output=True, check=False)
    return None


class Lan:
    """A switch with some machines on it."""

    def __init__(self, count):
        self.number = next(_numbers)
        self.switch = f"pd{os.getpid()}s{self.number}"
        self.machines = []
        self._made = []
        try:
            self._namespace(self.switch)
            self._in(self.switch, "ip", "link", "add", "br0", "type", "bridge")
            self._in(self.switch, "ip", "link", "set", "br0", "up")
            for index in range(1, count + 1):
                self._machine(index)
        except BaseException:
            self.close()
            raise

    def _namespace(self, name):
        command("ip", "netns", "add", name)
        self._made.append(name)

    def _machine(self, index):
        name = f"pd{os.getpid()}m{self.number}x{index}"
        self._namespace(name)
        peer = ("peer", "name", "lan0", "netns", name)
        self._in(self.switch, "ip", "link", "add", f"port{index}", "type", "veth", *peer)
        self._in(self.switch, "ip", "link", "set", f"port{index}", "master", "br0", "up")
        self._in(name, "ip", "address", "add", self.address(index), "dev", "lan0")
        self._in(name, "ip", "link", "set", "lo", "up")
        self._in(name, "ip", "link", "set", "lan0", "up")
        self.machines.append(name)

    def address(self, index):
        return f"10.77.{self.number}.{index}/24"

    def host(self, index):
        return self.address(index).split("/")[0]

    def prefix(self, index):
        """What goes before a command that is to run on a machine."""
        return ["ip", "netns", "exec", self.machines[index - 1]]

    def routes(self, index):
        return self._in(self.machines[index - 1], "ip", "route", "show")

    def cut(self, index):
        """Pulls the plug of a machine: the interface itself loses its carrier and goes down."""
        self._in(self.machines[index - 1], "ip", "link", "set", "lan0", "down")

    def heal(self, index):
        self._in(self.machines[index - 1], "ip", "link", "set", "lan0", "up")

    def lose(self, percent):
        """Each machine drops this share of the packets that arrive."""
        for machine in self.machines:
            rules = f"""table inet loss {{
                chain arriving {{
                    type filter hook input priority 0
                    iifname "lan0" numgen random mod 100 < {percent} counter drop
                }}
            }}"""
            subprocess.run(
                ["ip", "netns", "exec", machine, "nft", "-f", "-"], input=rules, text=True, check=True
            )

    def lost_packets(self):
        lost = 0
        for machine in self.machines:
            words = self._in(machine, "nft", "list", "ruleset").split()
            lost += sum(int(words[i + 1]) for i, word in enumerate(words) if word == "packets")
        return lost

    def _in(self, namespace, *words):
        return command("ip", "netns", "exec", namespace, *words)

    def close(self):
        for name in reversed(self._made):
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)
        self._made = []
