"""The cost of writing 100,000 properties beside that of an earlier commit; see scripts/bench.sh.

Runs the programs of both commits in turn, each pair in the other order than the one before it. Prints the median of the
ratios of each pair as a Markdown table: that of the wall time, and that of the processor time, which says more on a
machine that does other things meanwhile. `--instructions` counts instructions instead, under valgrind.
"""

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from history import NAMES, Peerd, text

HERE = os.path.dirname(os.path.abspath(__file__))
WRITES = 100_000
DATABASE = "database"


def note(words):
    print(f"before: {words}", file=sys.stderr, flush=True)


class Cost:
    """What a run took; of a part of a process, the processor time is that of the part."""

    def __init__(self, wall, processor):
        self.wall, self.processor = wall, processor


class Commit:
    """The programs of one commit, and a folder for their files."""

    def __init__(self, programs, folder):
        self.workbench, self.peerd = (os.path.join(programs, name) for name in ("Workbench", "peerd"))
        self.folder = folder
        os.mkdir(folder)

    def path(self, name):
        path = os.path.join(self.folder, name)
        shutil.rmtree(path, ignore_errors=True)
        return path

    def make(self, change_size, run_size):
        """The files of the merges, which each commit writes for itself."""
        self.workload = os.path.join(self.folder, f"writes-{change_size}-{run_size}")
        if not os.path.isdir(self.workload):
            subprocess.run([self.workbench, "make", "writes", str(WRITES), str(change_size), str(run_size),
                            self.workload], check=True, capture_output=True)

    def merge_into_memory(self):
        return [self.workbench, "memory", self.workload]

    def merge_durably(self):
        return [self.workbench, "whole", self.workload, self.path(DATABASE)]

    def commit_durably(self):
        return [self.workbench, "transactions", self.workload, self.path(DATABASE)]

    def import_file(self, file):
        directory = self.path(DATABASE)
        subprocess.run([self.peerd, "--dir", directory, "init", "--name", "bench"], check=True, capture_output=True)
        return [self.peerd, "--dir", directory, "import", file]


def measured(command):
    """The cost of a command. That of a merge is what the Workbench says, without reading its files."""
    with tempfile.TemporaryFile() as output:
        start = time.perf_counter()
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}")
        output.seek(0)
        if command[0].endswith("Workbench"):
            wall = json.load(output)["seconds"]
    return Cost(wall, usage.ru_utime + usage.ru_stime)


def instructions(command):
    """The instructions of a command, in the place of its time."""
    words = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *command]
    done = subprocess.run(words, check=True, capture_output=True, text=True)
    return Cost(float(re.search(r"Collected : (\d+)", done.stderr).group(1)), 0)


def through_a_daemon(commit, per_transaction, count):
    """Writes through the socket of a daemon; the processor time is the daemon's."""
    peerd = Peerd(commit.peerd, commit.path("daemon"))
    try:
        def processor():
            with open(f"/proc/{peerd.process.pid}/stat", encoding="ascii") as file:
                fields = file.read().rsplit(")", 1)[1].split()
            return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

        before, start = processor(), time.perf_counter()
        peerd.fill(count, per_transaction)
        return Cost(time.perf_counter() - start, processor() - before)
    finally:
        peerd.stop()


class Comparison:
    def __init__(self, options, before, after):
        self.options, self.before, self.after = options, before, after

    def row(self, work, cost):
        if self.options.only and self.options.only not in work:
            return
        runs = []
        for pair in range(self.options.pairs):
            order = [self.before, self.after] if pair % 2 == 0 else [self.after, self.before]
            costs = {commit: cost(commit) for commit in order}
            runs.append((costs[self.before], costs[self.after]))
            note(f"{work}: {runs[-1][0].wall:.4g}, {runs[-1][1].wall:.4g}")
        shown = "{:,.0f}".format if self.options.instructions else text
        cells = [work, *(shown(statistics.median(run[side].wall for run in runs)) for side in (0, 1))]
        for name in ("wall",) if self.options.instructions else ("wall", "processor"):
            ratios = sorted(getattr(run[1], name) / getattr(run[0], name) for run in runs)
            cells.append(f"{statistics.median(ratios):.3f} ({ratios[0]:.2f} to {ratios[-1]:.2f})")
        print(f"| {' | '.join(cells)} |", flush=True)

    def run(self, file):
        take = instructions if self.options.instructions else measured
        if self.options.instructions:
            print("| work | instructions before | after | ratio |\n|---|---|---|---|")
        else:
            print("| work | before | after | ratio of the time (of all pairs) | of the processor time |")
            print("|---|---|---|---|---|")
        for change_size, run_size, words in ((100, 4096, "100 a change"), (1, 4096, "1 a change")):
            for commit in (self.before, self.after):
                commit.make(change_size, run_size)
            self.row(f"merge 100k writes, {words}, memory", lambda commit: take(commit.merge_into_memory()))
            self.row(f"merge 100k writes, {words}, SQLite, one batch", lambda commit: take(commit.merge_durably()))
        for commit in (self.before, self.after):
            commit.make(100, 1)
        self.row("merge 1,000 x 100 writes, SQLite, a commit each", lambda commit: take(commit.commit_durably()))
        self.row("`peerd import` of 10,000 objects with ten properties", lambda commit: take(commit.import_file(file)))
        if not self.options.instructions:
            self.row("100k writes through a daemon, 100 a transaction",
                     lambda commit: through_a_daemon(commit, 100, WRITES))
            self.row("10k writes through a daemon, 1 a transaction",
                     lambda commit: through_a_daemon(commit, 1, WRITES // 10))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--before", required=True, help="the folder of the programs of the earlier commit")
    parser.add_argument("--after", required=True, help="the folder of the programs of this commit")
    parser.add_argument("--pairs", type=int)
    parser.add_argument("--instructions", action="store_true")
    parser.add_argument("--only")
    parser.add_argument("--directory", help="where the databases are made; the disk there is what commits wait for")
    options = parser.parse_args()
    options.pairs = options.pairs or (1 if options.instructions else 9)
    with tempfile.TemporaryDirectory(prefix="peerd-before-", dir=options.directory) as scratch:
        tree = os.path.join(scratch, "tree")
        os.mkdir(tree)
        subprocess.run([sys.executable, os.path.join(HERE, "object_tree.py"), "make", "10000", str(len(NAMES)), tree],
                       check=True)
        before = Commit(options.before, os.path.join(scratch, "before"))
        after = Commit(options.after, os.path.join(scratch, "after"))
        Comparison(options, before, after).run(os.path.join(tree, "objects-0.json"))


if __name__ == "__main__":
    main()
