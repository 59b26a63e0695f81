"""Long runs of the simulator that somebody ends with Ctrl-C: the first time they sum up what they have shown, and the
second time they end at once. No process is left behind."""

import os
import signal
import subprocess
import time
from pathlib import Path

from peerd_harness import check, simulator, wait_until

BUSY_SECONDS = 0.3


def workers(process):
    """The processes that a process has started and that still run."""
    children = [path.read_text() for path in Path(f"/proc/{process.pid}/task").glob("*/children")]
    return [int(number) for number in " ".join(children).split()]


def is_busy(number):
    """Whether a worker has computed for a while, and so has a seed under way."""
    fields = Path(f"/proc/{number}/stat").read_text().rsplit(")", 1)[1].split()
    return int(fields[11]) / os.sysconf("SC_CLK_TCK") > BUSY_SECONDS


def started(*words):
    """A run, and its workers, who are at work."""
    process = subprocess.Popen([simulator(), *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    wait_until(lambda: any(map(is_busy, workers(process))), 60, "a worker works")
    return process, workers(process)


def has_heard(process):
    """Whether the first Ctrl-C has arrived: until then the run ignores the signal, and only listens for it."""
    (mask,) = [line.split()[1] for line in Path(f"/proc/{process.pid}/status").open() if line.startswith("SigIgn")]
    return not int(mask, 16) >> (signal.SIGINT - 1) & 1


def runs(number):
    """Whether there is a process that is more than an exit status that nobody has taken yet."""
    try:
        return Path(f"/proc/{number}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def check_gone(numbers):
    wait_until(lambda: not any(map(runs, numbers)), 60, f"{numbers} have ended")


def test_a_run_sums_up_after_ctrl_c():
    process, found = started("histories", "--seeds", "1000000000", "--jobs", "1")
    process.send_signal(signal.SIGINT)
    output = process.communicate(timeout=120)[0]
    check(process.returncode == 0, f"exit status {process.returncode} after Ctrl-C")
    check("no failures" in output, f"no summary: {output!r}")
    check_gone(found)


def test_the_second_ctrl_c_ends_a_run_at_once():
    # One seed of this takes longer than anyone waits.
    process, found = started("run", "--faults", "none", "--duration", "86400", "--edits", "1", "--jobs", "1")
    process.send_signal(signal.SIGINT)
    wait_until(lambda: has_heard(process), 60, "the run has heard of the first Ctrl-C")
    # Only time shows that it waits.
    time.sleep(0.5)
    check(process.poll() is None, "it has not waited for the seed under way")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=120)
    check(process.returncode == -signal.SIGINT, f"exit status {process.returncode} after the second Ctrl-C")
    check_gone(found)
