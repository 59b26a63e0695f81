"""The quick start of the README: pasted as one block into a shell of each machine, and typed as it stands by people who
have just got an account on a machine with the package."""

import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

import service_machine
from peerd_harness import check, free_port, program, wait_until

README = Path(__file__).resolve().parents[2] / "README.md"
PASTE_SECONDS = 60


def blocks():
    """The code of the quick start: for the first machine, for the second one to join and to run, and for either."""
    text = README.read_text().split("\n## Quick start\n")[1].split("\n## ")[0]
    found, block = [], []
    for line in text.splitlines() + [""]:
        if line.startswith("    "):
            block.append(line[4:])
        elif block:
            found.append("\n".join(block))
            block = []
    check(len(found) == 4, f"the quick start has {len(found)} blocks of code, and not 4")
    return found


class Machine:
    """A shell that a person pastes into, and the daemon that it leaves behind."""

    def __init__(self, folder):
        folder.mkdir()
        bin_folder = folder / "bin"
        bin_folder.mkdir()
        (bin_folder / "peerd").symlink_to(program())
        self.environment = {
            "PATH": f"{bin_folder}:{os.environ['PATH']}",
            "HOME": str(folder),
            "XDG_STATE_HOME": str(folder / "state"),
        }
        self.port = free_port()
        self.daemons = []

    def paste(self, text):
        """What the shell printed; the processes that it started go on."""
        text = text.replace("0.0.0.0:7400 &", f"127.0.0.1:{self.port} --no-discovery --no-http >daemon.log 2>&1 &")
        script = f"set -e\n{text}\necho 'daemons' $(jobs -p)\n"
        done = subprocess.run(
            ["bash"], input=script, capture_output=True, text=True, env=self.environment,
            cwd=self.environment["HOME"], timeout=PASTE_SECONDS, check=False,
        )
        self.daemons += [int(word) for word in re.findall(r"^daemons(.*)$", done.stdout, re.M)[-1].split()] if (
            "daemons" in done.stdout
        ) else []
        check(done.returncode == 0, f"the paste failed with {done.returncode}: {done.stdout}{done.stderr}")
        return done.stdout

    def end(self):
        for process in self.daemons:
            os.kill(process, signal.SIGTERM)
        self.daemons = []


@pytest.mark.parametrize("turn", range(3))
def test_the_quick_start_works_as_a_paste(world, turn):
    first_block, join_block, run_block, either_block = blocks()
    check("peerd run" in first_block and "peerd invite" in first_block, "the first block starts and invites")
    laptop, desk = Machine(world.root / "laptop"), Machine(world.root / "desk")
    world.closers += [laptop.end, desk.end]
    line = re.search(r"^peerd:1:\S+$", laptop.paste(first_block), re.M)
    check(line, "the first machine prints an invite")
    # What asks for the line takes the next one that is pasted.
    check(join_block.startswith("peerd join") and "peerd:1" not in join_block, join_block)
    desk.paste(f"{join_block}\n{line.group()}")
    desk.paste(run_block)
    output = desk.paste(either_block)
    check("Buy seeds" in output, f"the tree shows the note: {output}")


def test_the_quick_start_works_in_new_accounts(world):
    first_block, join_block, run_block, either_block = blocks()
    machine = service_machine.booted(world)
    laptop, desk = (service_machine.Account(machine, name) for name in ("laptop", "desk"))
    laptop.connect(desk)
    line = re.search(r"^peerd:1:\S+$", laptop.types(first_block), re.M)
    check(line, "the first machine prints an invite")
    desk.types(f"{join_block}\n{line.group()}")
    desk.types(run_block)
    for writer, reader in ((desk, laptop), (laptop, desk)):
        check("Buy seeds" in writer.types(either_block), f"{writer.name} does not see the note")
        known = writer.types("echo; peerd ls").split("\n\n")[-1]
        wait_until(lambda: known in reader.types("peerd ls"), 30, f"{reader.name} has {known}")
    for person in (laptop, desk):
        check("problem" not in person.types("peerd doctor"), f"{person.name} has problems")
