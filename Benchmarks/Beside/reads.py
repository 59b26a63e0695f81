"""Point reads beside a bulk sync, each alone and both together, beside a C program that does both with SQLite.

A sender in a process of its own has all objects; the measured process joins, takes them in over loopback, and reads
meanwhile. Prints a Markdown table; see scripts/bench.sh.
"""

import argparse
import json
import os
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import threading
import time

DATABASE = "peerd.sqlite"
PERIOD_SECONDS = 0.02
FIGURES = ("seconds", "reads_per_second", "p50_seconds", "p99_seconds")


def note(text):
    print(f"reads: {text}", file=sys.stderr, flush=True)


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Throttle:
    """Lets a process run on one core, and there for only a share of each period."""

    def __init__(self, pid, percent):
        self.pid = pid
        self.percent = percent
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.run)

    def __enter__(self):
        if self.percent is not None:
            for task in os.listdir(f"/proc/{self.pid}/task"):
                os.sched_setaffinity(int(task), {max(os.sched_getaffinity(0))})
            self.thread.start()

    def __exit__(self, *_):
        if self.percent is not None:
            self.ended.set()
            self.thread.join()

    def run(self):
        running = PERIOD_SECONDS * self.percent / 100
        while not self.ended.wait(running):
            os.kill(self.pid, signal.SIGSTOP)
            time.sleep(PERIOD_SECONDS - running)
            os.kill(self.pid, signal.SIGCONT)


class Bench:
    def __init__(self, options):
        self.options = options
        self.work = os.path.join(options.cache, "reads-work")
        self.receiver = os.path.join(self.work, "receiver")

    def json(self, *command, **settings):
        command = [str(part) for part in command]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(command, capture_output=True, text=True, **settings)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()[-2000:]}")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
        return {**json.loads(done.stdout), "cpu_seconds": cpu}

    def sender(self):
        """The directory of the workspace with all objects, which no peer has met."""
        kept = os.path.join(self.options.cache, f"sender-{self.options.objects}")
        if not os.path.exists(kept):
            note(f"making a workspace of {self.options.objects} objects in {kept}")
            made = os.path.join(self.work, "made")
            subprocess.run([self.options.reader, "make", made, str(self.options.objects)], check=True)
            os.rename(made, kept)
        return kept

    def bulk(self, verb, percent):
        """Has a new receiver take everything in from a new copy of the sender."""
        sender = os.path.join(self.work, "sender")
        for path in (sender, self.receiver):
            shutil.rmtree(path, ignore_errors=True)
        shutil.copytree(self.sender(), sender)
        # The copy is not written to the disk meanwhile.
        os.sync()
        command = [self.options.reader, "serve", sender]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            invite = process.stdout.readline()
            before = cpu_seconds(process.pid)
            receive = (self.options.reader, verb, self.receiver, self.options.objects, self.options.rate, 0)
            with Throttle(process.pid, percent):
                result = self.json(*receive, input=invite)
            result["sender_cpu_seconds"] = cpu_seconds(process.pid) - before
            process.stdin.close()
            process.wait(timeout=60)
        return result

    def read(self):
        receiver = (self.receiver, self.options.objects, self.options.rate, self.options.seconds)
        return self.json(self.options.reader, "read", *receiver)

    def sqlite(self, verb):
        target = os.path.join(self.work, "sqlite.db")
        if verb != "read":
            for suffix in ("", "-wal", "-shm"):
                if os.path.exists(target + suffix):
                    os.remove(target + suffix)
            os.sync()
        source = os.path.join(self.receiver, DATABASE)
        return self.json(self.options.reads, source, target, verb, self.options.rate, self.options.seconds)

    def median(self, name, sample):
        samples = []
        for number in range(self.options.repeats):
            samples.append(sample())
            note(f"{name}, {number + 1}: {json.dumps(samples[-1])}")
        return {key: statistics.median(sample[key] for sample in samples) for key in samples[0]}

    def compare(self, name, bulk, read):
        """Three series; what is left of `bulk` and `read` is what the other one costs them."""
        alone = self.median(f"{name}, bulk alone", lambda: bulk("sync"))
        together = self.median(f"{name}, both", lambda: bulk("both"))
        reads = self.median(f"{name}, reads alone", read)
        alone.update({key: value for key, value in reads.items() if key in FIGURES})
        return name, alone, together

    def run(self):
        shutil.rmtree(self.work, ignore_errors=True)
        os.makedirs(self.work)
        try:
            rows = [self.compare("peerd", lambda verb: self.bulk(verb, None), self.read)]
            share = self.options.sender_share
            name = f"peerd, the sender has {share} % of one core"
            rows.append(self.compare(name, lambda verb: self.bulk(verb, share), self.read))
            rows.append(self.compare("C with SQLite", self.sqlite, lambda: self.sqlite("read")))
            self.print(rows)
        finally:
            shutil.rmtree(self.work, ignore_errors=True)

    def print(self, rows):
        print(f"{self.options.objects:,} objects with ten properties; {self.options.rate:,} reads a second are due.\n")
        print("| | alone | together | slower by |")
        print("|---|---|---|---|")
        for name, alone, together in rows:
            def line(what, key, text, more_is_better=False):
                ratio = alone[key] / together[key] if more_is_better else together[key] / alone[key]
                slower = f"{round((ratio - 1) * 100)} %"
                print(f"| {name}: {what} | {text(alone[key])} | {text(together[key])} | {slower} |")

            line("bulk", "seconds", lambda value: f"{value:.2f} s")
            line("reads a second", "reads_per_second", lambda value: f"{value:,.0f}", more_is_better=True)
            line("latency of a read, p50", "p50_seconds", lambda value: f"{value * 1e6:.0f} µs")
            line("latency of a read, p99", "p99_seconds", lambda value: f"{value * 1e6:.0f} µs")
        print()
        for name, alone, together in rows[:2]:
            for who, key in (("receiver", "cpu_seconds"), ("sender", "sender_cpu_seconds")):
                cpu = f"{alone[key]:.2f} s of a processor for the sync alone, {together[key]:.2f} s for both"
                print(f"{name}: the {who} used {cpu}.")
        print(f"This machine has {os.cpu_count()} cores.")


def main():
    parser = argparse.ArgumentParser(prog="scripts/bench.sh reads", description=__doc__)
    parser.add_argument("--reader", required=True)
    parser.add_argument("--reads", required=True)
    parser.add_argument("--cache", required=True, help="a folder that keeps the sender's workspace for the next time")
    parser.add_argument("--objects", type=int, default=200_000, help="objects that are synced")
    parser.add_argument("--rate", type=int, default=10_000, help="reads a second that are due")
    parser.add_argument("--seconds", type=int, default=10, help="length of the reads alone")
    parser.add_argument("--repeats", type=int, default=3, help="runs of which the median counts")
    parser.add_argument("--sender-share", type=int, default=10, help="percent of a core for the limited sender")
    options = parser.parse_args()
    os.makedirs(options.cache, exist_ok=True)
    Bench(options).run()


if __name__ == "__main__":
    main()
