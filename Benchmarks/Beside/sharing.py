"""What sharing costs: in the merge, on the wire, on the disk, and in time; see scripts/bench.sh.

The merges are measured by the Workbench, each in a process of its own, and the cases take turns. Everything else is
measured with real daemons over loopback, by `sharing_daemons.py`. Prints Markdown tables.
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

import sharing_daemons
from history import text

HERE = os.path.dirname(os.path.abspath(__file__))
ROUNDS = 7
HOME = "home, nothing said"


def note(words):
    print(f"sharing: {words}", file=sys.stderr, flush=True)


def median_of(samples, name):
    return statistics.median(sample[name] for sample in samples)


class Workbench:
    """The program, and a folder for what it reads and writes."""

    def __init__(self, program, folder):
        self.program, self.folder = program, folder

    def path(self, name):
        return os.path.join(self.folder, name)

    def run(self, *words):
        done = subprocess.run([self.program, *map(str, words)], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"Workbench {words} ended with {done.returncode}: {done.stderr[-1000:]}")
        return json.loads(done.stdout)

    def make(self, name, *words):
        """Writes the files of a case; `words` end where its folder follows."""
        self.run(*words, self.path(name))
        return self.path(name)

    def in_memory(self, case):
        return self.run("memory", case)

    def fill(self, case):
        """Makes a database of the base of a case, which is copied for each measurement."""
        self.run("fill", case, case + ".filled")

    def in_database(self, case):
        copy = case + ".copy"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(case + ".filled", copy)
        # What the copy leaves to be written is no cost of the merge.
        os.sync()
        return self.run("news", case, copy)

    def instructions(self, case):
        """Those of the news alone: what merging only the base takes is subtracted."""
        return self.counted("memory", case) - self.counted("base", case)

    def counted(self, *words):
        command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", self.program, *words]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        return int(re.search(r"Collected : (\d+)", done.stderr).group(1))


def cases_of_merges(count):
    """The cases, each with the words that make it: the author, how many grants, and how many removals."""
    most = min(10_000, count // 10)
    yield HOME, ("make", "writes", count, 100, 4096)
    yield "home, beside a share of one object", ("share", "home", count, 1, 0)
    for grants in (0, 10, most):
        yield f"a share, by its owner, {grants:,} grants", ("share", "founder", count, grants, 0)
    for grants in (1, 10, most):
        yield f"a share, by a writer, {grants:,} grant{'s' * (grants > 1)}", ("share", "other", count, grants, 0)
    yield "a share, by a writer, 101 grants and 100 removals", ("share", "other", count, 101, 100)


def merges(bench, options):
    """The merge of writes in a shared circle beside that of the same in home."""
    count = 10_000 if options.quick else 100_000
    cases = {}
    for number, (words, make) in enumerate(cases_of_merges(count)):
        cases[words] = bench.make(f"merge-{number}", *make)
        bench.fill(cases[words])
    samples = {words: ([], []) for words in cases}
    for turn in range(options.rounds):
        for words, case in cases.items():
            samples[words][0].append(bench.in_memory(case))
            samples[words][1].append(bench.in_database(case))
        note(f"merges: round {turn + 1} of {options.rounds}")
    counts = {}
    if options.instructions:
        for words, case in cases.items():
            counts[words] = bench.instructions(case)
            note(f"{words}: {counts[words]:,} instructions")
    print(f"\nMerge of {count:,} writes, 100 a change; the ratios are to the first row:\n")
    print("| where, by whom, what was said | memory | of the processor time | instructions | SQLite "
          "| of the processor time |")
    print("|---|---|---|---|---|---|")
    for words, (memory, durable) in samples.items():
        instructions = f"{counts[words]:,}, {counts[words] / counts[HOME]:.3f} x" if counts else "not counted"
        cells = [words, text(median_of(memory, "seconds")), ratio(memory, samples[HOME][0]), instructions]
        cells += [text(median_of(durable, "seconds")), ratio(durable, samples[HOME][1])]
        print(f"| {' | '.join(cells)} |", flush=True)


def ratio(samples, base):
    """The median of the ratios of each round, and the range of all."""
    ratios = sorted(
        one["processor_seconds"] / other["processor_seconds"] for one, other in zip(samples, base, strict=True)
    )
    return f"{statistics.median(ratios):.3f} x ({ratios[0]:.2f} to {ratios[-1]:.2f})"


def late_removals(bench, options):
    """What a removal takes that comes late, by what it cuts and by how much there is."""
    counts = (10_000, 100_000) if options.quick else (100_000, 1_000_000)
    cuts = (10, 1_000) if options.quick else (100, 10_000)
    cases = [(count, cut, bench.make(f"cut-{count}-{cut}", "remove", count, cut)) for count in counts for cut in cuts]
    samples = {}
    for _, _, case in cases:
        bench.fill(case)
        samples[case] = ([], [])
        note(f"{os.path.basename(case)} is made")
    for turn in range(options.rounds):
        for count, _, case in cases:
            # Merging the base takes much longer than what is measured.
            if count <= 100_000 or turn < 3:
                samples[case][0].append(bench.in_memory(case))
            samples[case][1].append(bench.in_database(case))
        note(f"late removals: round {turn + 1} of {options.rounds}")
    print("\nA removal that comes late; each write that it cuts is a change of its own, to another object:\n")
    print("| writes in all | writes cut | memory | a write | SQLite, with the commit | a write |")
    print("|---|---|---|---|---|---|")
    for count, cut, case in cases:
        if not all(sample["revised"] for sample in samples[case][0] + samples[case][1]):
            raise RuntimeError(f"{case}: the removal cut nothing")
        cells = [f"{count:,}", f"{cut:,}"]
        for found in samples[case]:
            seconds = median_of(found, "seconds")
            cells += [text(seconds), text(seconds / cut)]
        print(f"| {' | '.join(cells)} |", flush=True)


def parcels(bench, _):
    """What a parcel has beside its content."""
    recipients = (2, 10, 50)
    print("\nA parcel, by the number of machines that it is for; in brackets what each of them adds:\n")
    print("| content | " + " | ".join(f"{count} machines" for count in recipients) + " |")
    print("|---|" + "---|" * len(recipients))
    for writes in (10, 1_000, 30_000):
        case = bench.make(f"parcel-{writes}", "make", "writes", writes, min(writes, 100), 4096)
        found = [bench.run("parcel", count, case) for count in recipients]
        cells = [f"{writes:,} writes, {found[0]['content_bytes']:,} bytes"]
        for count, sizes in zip(recipients, found, strict=True):
            more = (sizes["parcel_bytes"] - found[0]["parcel_bytes"]) / (count - recipients[0] or 1)
            added = f" ({more:.0f})" if count > recipients[0] else ""
            multiple = sizes["parcel_bytes"] / sizes["content_bytes"]
            cells.append(f"{sizes['parcel_bytes']:,} bytes, {multiple:.3f} x{added}")
        print(f"| {' | '.join(cells)} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workbench", required=True)
    parser.add_argument("--peerd", required=True)
    parser.add_argument("--quick", action="store_true", help="a tenth of everything, to see that it works")
    parser.add_argument("--only", help="only the parts whose name contains this", default="")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--no-instructions", dest="instructions", action="store_false")
    options = parser.parse_args()
    options.instructions = options.instructions and shutil.which("valgrind") is not None
    # The system tests look for the program that this names.
    os.environ["PEERD"] = os.path.abspath(options.peerd)
    parts = [("merges", merges), ("removals", late_removals), ("parcels", parcels)]
    with tempfile.TemporaryDirectory(prefix="peerd-sharing-") as folder:
        for name, part in parts:
            if options.only in name:
                part(Workbench(os.path.abspath(options.workbench), folder), options)
                # A million writes take room.
                for entry in os.scandir(folder):
                    shutil.rmtree(entry.path)
    sharing_daemons.run(options)


if __name__ == "__main__":
    main()
