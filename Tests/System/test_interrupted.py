#!/usr/bin/env python3
"""Long runs of the simulator that somebody ends with Ctrl-C: the first time they sum up what they have shown, and the
second time they end at once. No process is left behind."""

import os
import signal
import subprocess
import time
from pathlib import Path

from peerd_harness import check, main_of_test, say, simulator


def workers(process):
    """The processes that a process has started and that still run."""
    children = [path.read_text() for path in Path(f"/proc/{process.pid}/task").glob("*/children")]
    return [int(number) for number in " ".join(children).split()]


def started(*words):
    """A run, and its workers: it has begun when it has some."""
    process = subprocess.Popen([simulator(), *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    for _ in range(600):
        if workers(process):
            break
        time.sleep(0.1)
    time.sleep(2)
    found = workers(process)
    check(found, "no worker was started")
    return process, found


def check_gone(numbers):
    for _ in range(600):
        if not any(os.path.exists(f"/proc/{number}") for number in numbers):
            return
        time.sleep(0.1)
    check(False, f"of {numbers} a worker is left behind")


def test():
    process, found = started("histories", "--seeds", "1000000000", "--jobs", "1")
    process.send_signal(signal.SIGINT)
    output = process.communicate(timeout=120)[0]
    check(process.returncode == 0, f"exit status {process.returncode} after Ctrl-C")
    check("no failures" in output, f"no summary: {output!r}")
    check_gone(found)
    say("histories: summed up after Ctrl-C")

    # One seed of this takes longer than anyone waits.
    process, found = started("run", "--faults", "none", "--duration", "86400", "--edits", "1", "--jobs", "1")
    process.send_signal(signal.SIGINT)
    time.sleep(2)
    check(process.poll() is None, "it has not waited for the seed under way")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=120)
    check(process.returncode == -signal.SIGINT, f"exit status {process.returncode} after the second Ctrl-C")
    check_gone(found)
    say("run: ended by the second Ctrl-C")


main_of_test(test)
