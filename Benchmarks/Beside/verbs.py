"""Time and peak memory of each verb of the command line in workspaces of several sizes; see scripts/bench.sh.

Each verb is a process of its own, without a daemon. Prints a Markdown table: rows are verbs, columns are sizes.
"""

import argparse
import json
import os
import re
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import time

from live_latency import Control

HERE = os.path.dirname(os.path.abspath(__file__))
REPEATS = 3
# What takes longer is measured once.
REPEATED_SECONDS_MAX = 10
IMPORTED = 10_000
START_SECONDS_MAX = 600


def note(text):
    print(f"verbs: {text}", file=sys.stderr, flush=True)


def run(*command):
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


class Sample:
    """Wall time, and the most memory that a process had resident."""

    def __init__(self, seconds, memory_bytes):
        self.seconds = seconds
        self.memory_bytes = memory_bytes

    def __str__(self):
        if self.seconds < 1:
            time_text = f"{self.seconds * 1e3:.0f} ms"
        else:
            time_text = f"{self.seconds:.3g} s" if self.seconds < 100 else f"{self.seconds:.0f} s"
        # A child begins with the memory of this script, before it becomes another program.
        own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
        bound = "≤ " if self.memory_bytes <= own else ""
        return f"{time_text}, {bound}{self.memory_bytes / 1e6:.0f} MB"


def measure(command):
    """Runs a command to its end; its output is thrown away."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    # What is said on standard error fits into the pipe.
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    error = process.stderr.read().decode(errors="replace")
    process.stderr.close()
    if process.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}: {error.strip()[-1000:]}")
    return Sample(seconds, usage.ru_maxrss << 10)


class Workspaces:
    """Data directories by size: made once, and kept in a folder."""

    def __init__(self, options):
        self.options = options

    def peerd(self, directory, *arguments):
        return [self.options.peerd, *arguments, "--dir", directory]

    def kept(self, count):
        """Where the workspace of so many objects is; makes it if need be."""
        directory = os.path.join(self.options.cache, f"{count}x{self.options.properties}")
        if os.path.exists(os.path.join(directory, "made.json")):
            return directory
        shutil.rmtree(directory, ignore_errors=True)
        os.makedirs(directory)
        note(f"making a workspace of {count} objects in {directory}")
        generator = os.path.join(HERE, "object_tree.py")
        run(sys.executable, generator, "make", str(count), str(self.options.properties), directory)
        facts = self.facts(directory)
        workspace = os.path.join(directory, "workspace")
        measure(self.peerd(workspace, "init", "--name", "bench"))
        samples = []
        for number, path in enumerate(facts["files"], 1):
            samples.append(measure(self.peerd(workspace, "import", path)))
            note(f"file {number} of {len(facts['files'])} imported: {samples[-1]}")
            os.remove(path)
        made = {
            "files": len(samples),
            "seconds": sum(sample.seconds for sample in samples),
            "memory_bytes": max(sample.memory_bytes for sample in samples),
        }
        with open(os.path.join(directory, "made.json"), "w", encoding="utf-8") as file:
            json.dump(made, file)
        return directory

    @staticmethod
    def facts(directory):
        with open(os.path.join(directory, "facts.json"), encoding="utf-8") as file:
            return json.load(file)


class Daemon:
    """`peerd run`, from its start until it answers."""

    def __init__(self, command, directory):
        self.started = time.perf_counter()
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.directory = directory

    def wait(self):
        """The time and memory until it has answered `status`."""
        while not self.answers():
            if self.process.poll() is not None or time.perf_counter() - self.started > START_SECONDS_MAX:
                raise RuntimeError("the daemon does not answer")
            time.sleep(0.002)
        seconds = time.perf_counter() - self.started
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as file:
            peak = re.search(r"VmHWM:\s*(\d+) kB", file.read())
        return Sample(seconds, int(peak.group(1)) << 10)

    def answers(self):
        for name in os.listdir(self.directory):
            if name.endswith(("sock", "socket")):
                try:
                    Control(os.path.join(self.directory, name)).request("GET", "/api/status")
                    return True
                except (OSError, RuntimeError):
                    pass
        return False

    def end(self, number):
        self.process.send_signal(number)
        self.process.wait(timeout=120)


class Column:
    """The verbs on one workspace, in the order in which they are measured."""

    def __init__(self, workspaces, count):
        self.options = workspaces.options
        self.workspaces = workspaces
        self.count = count
        kept = workspaces.kept(count)
        self.facts = Workspaces.facts(kept)
        with open(os.path.join(kept, "made.json"), encoding="utf-8") as file:
            self.made = json.load(file)
        # Verbs write; what is kept stays as it was made.
        self.work = os.path.join(self.options.cache, "work")
        shutil.rmtree(self.work, ignore_errors=True)
        shutil.copytree(os.path.join(kept, "workspace"), os.path.join(self.work, "workspace"))
        self.directory = os.path.join(self.work, "workspace")
        self.cells = {}

    def verb(self, *arguments):
        return self.workspaces.peerd(self.directory, *arguments)

    def repeat(self, name, sample, most=REPEATS):
        """The median of a few samples; `sample` is called with the number of each."""
        if self.options.only is not None and self.options.only not in name:
            return
        samples = [sample(0)]
        while len(samples) < most and samples[0].seconds < REPEATED_SECONDS_MAX:
            samples.append(sample(len(samples)))
        self.cells[name] = Sample(
            statistics.median(sample.seconds for sample in samples),
            statistics.median(sample.memory_bytes for sample in samples),
        )
        note(f"{self.count} objects, {name}: {self.cells[name]}")

    def row(self, name, *arguments):
        """A verb; an argument that is a list has one element for each sample."""
        most = min([REPEATS] + [len(argument) for argument in arguments if isinstance(argument, list)])

        def sample(number):
            chosen = [argument[number] if isinstance(argument, list) else argument for argument in arguments]
            return measure(self.verb(*chosen))

        self.repeat(name, sample, most)

    def measure_all(self):
        try:
            self.reads()
            self.writes()
            self.repeat("`run` until it answers", lambda _: self.start(signal.SIGTERM))
            self.repeat("`run` after `kill -9` until it answers", lambda _: self.start(signal.SIGKILL))
            self.row("`rm` of the large folder", "rm", [self.facts["large_folder"]])
        finally:
            shutil.rmtree(self.work, ignore_errors=True)
        return self.cells

    def reads(self):
        item, large, folder = self.facts["items"][0], self.facts["large_folder"], self.facts["folders"][-1]
        self.row("`get ID`", "get", item)
        self.row("`get ID NAME`", "get", item, "name")
        self.row("`get` by twelve digits", "get", item[:13])
        self.row("`ls`", "ls")
        self.row("`ls` of the large folder", "ls", large)
        self.row("`tree`", "tree")
        self.row("`tree` of a small folder", "tree", folder)
        self.row("`export`", "export")
        self.row("`export` of a small folder", "export", folder)
        self.row("`log --json`", "log", "--json")
        self.row("`log --json --object ID`", "log", "--json", "--object", item)
        self.row("`conflicts`", "conflicts")
        self.row("`status`", "status")
        self.row("`doctor`", "doctor")

    def writes(self):
        facts = self.facts
        there, items = facts["in_large_folder"], facts["items"]
        self.repeat("`init`", self.init)
        self.row("`create`", "create", "item", "name=new", "rank=7")
        self.row("`create --parent` in the large folder", "create", "item", "name=x", "--parent", facts["large_folder"])
        self.row("`mv --before` in the large folder", "mv", items[:3], facts["large_folder"], "--before", there[9:12])
        self.row("`set`", "set", items[3:6], "name=changed")
        self.row("`unset`", "unset", items[3:6], "note")
        self.row("`rm` of one object", "rm", there[:3])
        self.repeat(f"`import` of {IMPORTED} objects", self.import_more)

    def init(self, number):
        directory = os.path.join(self.work, f"init-{number}")
        return measure(self.workspaces.peerd(directory, "init", "--name", "bench"))

    def import_more(self, _):
        path = os.path.join(self.work, "more.json")
        facts = os.path.join(self.work, "facts.json")
        with open(facts, "w", encoding="utf-8") as file:
            json.dump(self.facts, file)
        generator = os.path.join(HERE, "object_tree.py")
        run(sys.executable, generator, "more", str(IMPORTED), str(self.options.properties), facts, path)
        return measure(self.verb("import", path))

    def start(self, end):
        """Starts the daemon after one before it was ended by a signal."""
        command = self.verb("run", "--listen", "127.0.0.1:0", "--no-discovery")
        for number in (end, signal.SIGTERM):
            daemon = Daemon(command, self.directory)
            try:
                sample = daemon.wait()
            finally:
                daemon.end(number)
        return sample


def print_table(columns):
    print("| verb | " + " | ".join(f"{column.count:,} objects" for column in columns) + " |")
    print("|---" * (len(columns) + 1) + "|")
    names = [name for name in columns[0].cells if any(name in column.cells for column in columns)]
    for name in names:
        print(f"| {name} | " + " | ".join(str(column.cells.get(name, "")) for column in columns) + " |")
    print()
    for column in columns:
        made = Sample(column.made["seconds"], column.made["memory_bytes"])
        files = "one file" if column.made["files"] == 1 else f"{column.made['files']} files"
        properties = f"{column.options.properties} properties each"
        print(f"{column.count:,} objects with {properties} were imported from {files}: {made}.")


def size(text):
    number = float(text[:-1]) * {"k": 1e3, "M": 1e6}[text[-1]] if text[-1] in "kM" else float(text)
    if number < 1000:
        raise argparse.ArgumentTypeError("a workspace has 1k objects or more")
    return int(number)


def main():
    parser = argparse.ArgumentParser(prog="scripts/bench.sh verbs", description=__doc__)
    parser.add_argument("--peerd", required=True)
    parser.add_argument("--cache", required=True, help="a folder that keeps the workspaces for the next time")
    parser.add_argument(
        "--sizes",
        type=size,
        nargs="+",
        default=[10_000, 100_000, 1_000_000],
        metavar="COUNT",
        help="numbers of objects, such as 10k 100k 1M",
    )
    parser.add_argument(
        "--properties",
        type=int,
        choices=range(1, 11),
        default=10,
        metavar="1…10",
        help="properties of each object",
    )
    parser.add_argument("--only", metavar="TEXT", help="only the rows whose name contains TEXT")
    options = parser.parse_args()
    options.peerd = os.path.abspath(options.peerd)
    os.makedirs(options.cache, exist_ok=True)
    workspaces = Workspaces(options)
    columns = []
    for count in options.sizes:
        columns.append(Column(workspaces, count))
        columns[-1].measure_all()
    print_table(columns)


if __name__ == "__main__":
    main()
