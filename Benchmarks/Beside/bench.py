"""Runs each measurement beside what it is compared with, and prints the table; see scripts/bench.sh."""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile

import live_latency

HERE = os.path.dirname(os.path.abspath(__file__))
DATABASE = "peerd.sqlite"
STREAMED = 4096
REPEATS = 3
# How long a node waits between two steps of its digest while changes come.
BUSY_INTERVAL_SECONDS = 0.2


def shorter(number):
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.3g}{letter}"
    return f"{number:.3g}"


class Bench:
    def __init__(self, options):
        self.options = options
        self.scratch = tempfile.mkdtemp(prefix="peerd-bench-", dir=options.directory)
        self.made = {}
        self.results = {}
        self.rows = []

    # Running programs

    def json(self, *command):
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(map(str, command))}: {done.stderr.strip()[-2000:]}")
        return json.loads(done.stdout)

    def make(self, workload, count, change_size=100, run_size=STREAMED):
        """The directory of a workload's files, and what is known of them."""
        key = (workload, count, change_size, run_size)
        if key not in self.made:
            directory = os.path.join(self.scratch, "-".join(map(str, key)))
            facts = self.json(self.options.workbench, "make", workload, count, change_size, run_size, directory)
            self.made[key] = (directory, facts)
        return self.made[key]

    def best(self, measure):
        """The fastest of a few runs: what disturbs a run only makes it slower."""
        return min((measure() for _ in range(REPEATS)), key=lambda result: result["seconds"])

    def memory(self, workload, count):
        key = ("memory", workload, count)
        if key not in self.results:
            directory, _ = self.make(workload, count)
            self.results[key] = self.best(lambda: self.json(self.options.workbench, "memory", directory))
        return self.results[key]

    def peer(self, name, workload, count):
        """What Loro or Yrs takes; each program runs its merge three times and says the best."""
        key = (name, workload, count)
        if key not in self.results:
            program = os.path.join(HERE, name.lower() + "_peer.py")
            self.results[key] = self.json(sys.executable, program, workload, count)
        return self.results[key]

    def database(self, label):
        path = os.path.join(self.scratch, "database-" + label)
        shutil.rmtree(path, ignore_errors=True)
        return path

    def store(self, verb, directory):
        """Ours on disk. Returns the result and where the database is."""
        path = self.database(verb)
        return self.json(self.options.workbench, verb, directory, path), os.path.join(path, DATABASE)

    def floor(self, verb, source, *more):
        path = self.database("floor")
        os.mkdir(path)
        return self.json(self.options.floor, verb, source, os.path.join(path, DATABASE), *more)

    # Rows

    def wants(self, work):
        return self.options.only is None or self.options.only in work

    def rate_row(self, work, ours, theirs, target, names):
        self.row(work, shorter(ours) + "/s", ", ".join(names), ours / theirs, target, higher=True)

    def row(self, work, ours, theirs, ratio, target, higher=True, unit="x"):
        self.rows.append((work, ours, theirs, ratio, target, higher, unit))
        reached = self.verdict(ratio, target, higher)
        bound = "" if target is None else f"{'≥' if higher else '≤'} {target:g} {unit}"
        print(f"{work:<58}  {ours:>12}  {theirs:<32}  {ratio:>7.3g} {unit:<2}  {bound:<9} {reached}", flush=True)

    @staticmethod
    def verdict(ratio, target, higher):
        if target is None:
            return ""
        return "reached" if (ratio >= target if higher else ratio <= target) else "not reached"

    def merge_row(self, work, workload, count, target, peers=("Loro", "Yrs")):
        if not self.wants(work):
            return
        ours = self.memory(workload, count)
        theirs = {name: count / self.peer(name, workload, count)["seconds"] for name in peers}
        names = [f"{name} {shorter(rate)}/s" for name, rate in theirs.items()]
        fastest = max(theirs.values())
        rate = ours["operations"] / ours["seconds"]
        self.rate_row(work, rate, fastest, target, names)
        trusted = ours["operations"] / (ours["seconds"] - ours["verify_seconds"])
        self.rate_row("  without checking hashes and signatures", trusted, fastest, None, names)

    def memory_rows(self):
        sizes = [10_000, 100_000] + ([] if self.options.quick else [1_000_000])
        for count in sizes:
            self.merge_row(f"merge {shorter(count)} property writes, memory", "writes", count, 2)
        self.merge_row("merge 50k concurrent writes onto 100k, memory", "concurrent", 50_000, 3)
        self.merge_row("merge 100 peers x 1k writes, memory", "gathering", 100_000, 3)

    def durable_rows(self):
        sizes = [10_000, 100_000] + ([] if self.options.quick else [1_000_000])
        for count in sizes:
            work = f"merge {shorter(count)} property writes, SQLite, one batch"
            if self.wants(work):
                self.durable_row(work, count)
        work = "commit 1000 x 100 operations, SQLite"
        if self.wants(work):
            directory, _ = self.make("writes", 100_000, 100, 1)
            runs = [self.store("transactions", directory) for _ in range(REPEATS)]
            ours, path = min(runs, key=lambda run: run[0]["seconds"])
            theirs = self.best(lambda: self.floor("transactions", path))
            self.floor_rows(work, ours, theirs, 0.7)

    def durable_row(self, work, count):
        directory, _ = self.make("writes", count)
        repeats = REPEATS if count < 1_000_000 else 1
        ours, path = min((self.store("whole", directory) for _ in range(repeats)), key=lambda r: r[0]["seconds"])
        theirs = min((self.floor("fill", path) for _ in range(repeats)), key=lambda r: r["seconds"])
        self.floor_rows(work, ours, theirs, 0.7)
        size = ours["database_bytes"] / ours["operations"]
        self.row("  database bytes an operation, with history", f"{size:.1f} B", "", size, 100, higher=False, unit="B")
        share = ours["digest_seconds"] / ours["seconds"]
        self.row("  digest of the settled state, beside the merge", f"{share:.1%}", "", share * 100, None, higher=False)
        share = ours["digest_step_seconds"] / BUSY_INTERVAL_SECONDS
        self.row("  digest, of a core while changes come", f"{share:.1%}", "", share * 100, 3, higher=False, unit="%")
        peak = ours["peak_memory_bytes"] / (1 << 20)
        self.row("  peak memory of the process", f"{peak:.0f} MiB", "", peak, None, higher=False, unit="MiB")

    def floor_rows(self, work, ours, theirs, target):
        floor = theirs["operations"] / theirs["seconds"]
        names = [f"C {shorter(floor)}/s"]
        self.rate_row(work, ours["operations"] / ours["seconds"], floor, target, names)
        trusted = ours["operations"] / (ours["seconds"] - ours["verify_seconds"])
        self.rate_row("  without checking hashes and signatures", trusted, floor, None, names)

    def wire_rows(self):
        for change_size, target in ((100, 12), (1, 40)):
            work = f"wire bytes an operation, {change_size} a change"
            if not self.wants(work):
                continue
            count = 100_000
            _, facts = self.make("writes", count, change_size)
            ours = facts["wire_bytes"] / facts["operations"]
            theirs = ", ".join(
                f"{name} {self.peer(name, 'writes', count)['wire_bytes'] / count:.1f} B" for name in ("Loro", "Yrs")
            )
            self.row(work, f"{ours:.1f} B", theirs, ours, target, higher=False, unit="B")
        work = "wire bytes of one operation pushed by itself"
        if self.wants(work):
            _, facts = self.make("writes", 10_000, 1, 1)
            size = facts["wire_bytes"] / facts["operations"]
            self.row(work, f"{size:.1f} B", "", size, None, higher=False, unit="B")

    def move_rows(self):
        count = 50_000
        self.merge_row("merge 2 x 25k moves in a 10k tree, memory", "moves", count, None, peers=("Loro",))
        work = "  operations a second"
        if self.wants("moves in a 10k tree, memory"):
            rate = count / self.memory("moves", count)["seconds"]
            self.row(work, shorter(rate) + "/s", "", rate / 1e3, 200, unit="k/s")
        work = "merge 2 x 25k moves in a 10k tree, SQLite"
        if self.wants(work):
            directory, _ = self.make("moves", count)
            ours = self.best(lambda: self.store("durable", directory)[0])
            rate = ours["operations"] / ours["seconds"]
            self.row(work, shorter(rate) + "/s", "", rate / 1e3, 50, unit="k/s")

    def late_rows(self):
        """What is learnt late about ten changes costs what ten changes cost, however large the log is."""
        sizes = [10_000, 100_000] + ([] if self.options.quick else [1_000_000])
        for workload, what in (("fork", "fork of a chain of 10 changes"), ("restamp", "restamp of 10 changes")):
            smallest = None
            for count in sizes:
                work = f"{what}, SQLite, log of {shorter(count)}"
                if self.wants(work):
                    directory, _ = self.make(workload, count)
                    seconds = self.best(lambda: self.store("durable", directory)[0])["seconds"]
                    smallest = smallest or seconds
                    self.row(work, f"{seconds * 1e3:.2f} ms", "log of 10k", seconds / smallest, 2, higher=False)

    def live_row(self):
        work = "write on A until readable on B, p50"
        if not self.wants(work):
            return
        if self.options.peerd is None:
            print(f"{work:<58}  left out: build peerd with `make build`, or name it with PEERD", flush=True)
            return
        directory, _ = self.make("writes", 10_000)
        _, source = self.store("durable", directory)
        floor = self.floor("commits", source, 500)
        p50, p99 = live_latency.measure(os.path.abspath(self.options.peerd), self.scratch, self.options.samples)
        again = self.floor("commits", source, 500)
        commit = (floor["p50_seconds"] + again["p50_seconds"]) / 2
        bound = 2 * commit + 0.001
        theirs = f"C 2 x {commit * 1e3:.2f} ms + 1 ms"
        self.row(work, f"{p50 * 1e3:.2f} ms", theirs, p50 / bound, 1, higher=False)
        self.row("write on A until readable on B, p99", f"{p99 * 1e3:.2f} ms", "p50", p99 / p50, 5, higher=False)

    def simulator_rows(self):
        if self.options.simulator is None:
            print("the rows of the simulator are left out: build it, or name it with SIMULATOR", flush=True)
            return
        for topology in ("mesh", "star"):
            work = f"simulated time : wall time, 5 peers, {topology}, one core"
            if self.wants(work):
                done = self.simulate(5, 900, topology, seeds=4, jobs=1)
                ratio = done["simulated_milliseconds"] / done["wall_milliseconds"]
                self.row(work, f"{ratio:.0f} x", "", ratio, 5000)
        work = "full-stack histories, 3 peers, 60 steps, two cores"
        if self.wants(work):
            done = self.simulate(3, 60, "mesh", seeds=400, jobs=2)
            rate = done["seeds"] / done["wall_milliseconds"] * 1e3
            ceiling = 2 / self.unavoidable_seconds(done["transactions"] / done["seeds"], peers=3)
            self.row(work, f"{rate:.0f}/s", f"libsodium alone {ceiling:.0f}/s", rate, 2000, unit="/s")
        work = "histories of the core alone, 3 peers, 60 steps, two cores"
        if self.wants(work):
            command = ("histories", "--seeds", 40_000, "--jobs", 2, "--json")
            rate = max(self.json(self.options.simulator, *command)["histories_per_second"] for _ in range(REPEATS))
            self.row(work, f"{rate}/s", "", rate, 20_000, unit="/s")

    def simulate(self, peers, seconds, topology, seeds, jobs):
        """One edit a second; the run that took the least time."""
        command = [self.options.simulator, "run", "--peers", peers, "--edits", 1, "--duration", seconds]
        command += ["--faults", "none", "--topology", topology, "--seeds", seeds, "--jobs", jobs]
        runs = (self.json(*command, "--twice", 0, "--json") for _ in range(REPEATS))
        return min(runs, key=lambda done: done["wall_milliseconds"])

    def unavoidable_seconds(self, changes, peers):
        """Signing each change; and for each pair a new key on both sides and three agreements, computed for one."""
        takes = self.json(self.options.primitives)
        pairs = peers * (peers - 1) / 2
        handshake = 2 * takes["make_key_seconds"] + 3 * takes["agree_seconds"]
        return changes * takes["sign_seconds"] + pairs * handshake

    def run(self):
        print(f"{'work':<58}  {'ours':>12}  {'theirs':<32}  {'ratio':>7}     {'to reach':<9}")
        try:
            self.memory_rows()
            self.durable_rows()
            self.wire_rows()
            self.move_rows()
            self.late_rows()
            self.live_row()
            self.simulator_rows()
        finally:
            shutil.rmtree(self.scratch, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--workbench", required=True)
    parser.add_argument("--floor", required=True)
    parser.add_argument("--primitives", required=True)
    parser.add_argument("--peerd")
    parser.add_argument("--simulator")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only")
    parser.add_argument("--samples", type=int, default=300)
    parser.add_argument("--directory", help="where the databases are made; the disk there is what commits wait for")
    Bench(parser.parse_args()).run()


main()
