#!/usr/bin/env python3
"""Runs the system tests: every Tests/System/test_*.py as a process of its own.

    Tests/System/run.py [--list] [--time-limit SECONDS] [WORD...]

A test passes with exit code 0, is skipped with exit code 77 (the last line it prints says why), and has failed with
any other. It finds the program under test in the environment variable PEERD. With WORDs, only the tests whose names
contain one of them run.

A test that takes longer than the time limit hangs: it is ended, with everything it started, and has failed. A test
that needs longer says so in a line of its own, `# time limit: 1200 s`.

What each test printed is kept under .build-system-tests/, and its end is shown if it failed.
"""

import argparse
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
LOGS = ROOT / ".build-system-tests"

SKIPPED_EXIT_CODE = 77
TIME_LIMIT_SECONDS = 600.0
GRACE_SECONDS = 5.0
FAILURE_LINES_SHOWN = 60
TIME_LIMIT_LINE = re.compile(r"^# time limit: (\d+) s$", re.MULTILINE)


@dataclass
class Outcome:
    kind: str  # "passed", "failed" or "skipped"
    reason: str
    seconds: float


def main() -> int:
    arguments = parsed_arguments()
    tests = [
        path
        for path in sorted(HERE.glob("test_*.py"))
        if not arguments.words or any(word in path.stem for word in arguments.words)
    ]
    if arguments.list:
        print("\n".join(path.name for path in tests))
        return 0
    if not tests:
        print("run.py: no system test has such a name; --list shows them.", file=sys.stderr)
        return 2
    binary = program_under_test()
    if binary is None:
        return 2

    LOGS.mkdir(exist_ok=True)
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    failures = []
    for path in tests:
        log = LOGS / (path.stem + ".log")
        outcome = run(path, log, binary, arguments.time_limit)
        counts[outcome.kind] += 1
        report(path, log, outcome)
        if outcome.kind == "failed":
            failures.append(f"FAILED {path.stem}: {outcome.reason}: {last_line(log)}")
    # Named once more at the end, where somebody who reads a long log looks first.
    print("\n".join([*failures, summary(counts)]))
    return 1 if counts["failed"] else 0


def parsed_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Run the system tests of peerd.")
    parser.add_argument("words", nargs="*", metavar="WORD", help="run only tests whose name contains a WORD")
    parser.add_argument("--list", action="store_true", help="print the names of the tests and stop")
    parser.add_argument(
        "--time-limit",
        type=float,
        default=float(os.environ.get("PEERD_TEST_TIME_LIMIT", TIME_LIMIT_SECONDS)),
        metavar="SECONDS",
        help="end a test that takes longer and does not say that it needs to (default: %(default)s)",
    )
    return parser.parse_args()


def program_under_test() -> "str | None":
    """The absolute path in PEERD, or None after saying what is wrong with it."""
    binary = os.environ.get("PEERD", "")
    if binary and os.access(binary, os.X_OK) and os.path.isfile(binary):
        return os.path.abspath(binary)
    problem = f"PEERD is {binary}, which is no program" if binary else "PEERD is not set"
    print(f"run.py: {problem}; build peerd and set PEERD to its path, or use `make test-system`.", file=sys.stderr)
    return None


def run(path: Path, log: Path, binary: str, default_limit: float) -> Outcome:
    stated = TIME_LIMIT_LINE.search(path.read_text(encoding="utf-8"))
    limit = max(float(stated.group(1)), default_limit) if stated else default_limit
    environment = {**os.environ, "PEERD": binary, "PYTHONUNBUFFERED": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    started = time.monotonic()
    with open(log, "wb") as output:
        # A session of its own, so that what the test leaves behind can be ended with it.
        process = subprocess.Popen(
            [sys.executable, str(path)],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            code = process.wait(timeout=limit)
            hung = False
        except subprocess.TimeoutExpired:
            code, hung = None, True
        except BaseException:
            end_group(process)
            raise
        if hung:
            end_group(process)
        else:
            signal_group(process.pid, signal.SIGKILL)
    seconds = time.monotonic() - started
    if hung:
        return Outcome("failed", f"ended after {limit:g} s without a result", seconds)
    if code == 0:
        return Outcome("passed", "", seconds)
    if code == SKIPPED_EXIT_CODE:
        return Outcome("skipped", last_line(log) or "no reason given", seconds)
    return Outcome("failed", f"signal {-code}" if code < 0 else f"exit code {code}", seconds)


def end_group(process: "subprocess.Popen[bytes]") -> None:
    """Asks the test and all it started to end, so that it can clean up after itself; then insists."""
    signal_group(process.pid, signal.SIGTERM)
    try:
        process.wait(timeout=GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        pass
    signal_group(process.pid, signal.SIGKILL)
    process.wait()


def signal_group(group: int, number: signal.Signals) -> None:
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        pass


def report(path: Path, log: Path, outcome: Outcome) -> None:
    reason = f"  {outcome.reason}" if outcome.reason else ""
    print(f"{outcome.kind:<8} {path.stem:<40} {outcome.seconds:7.1f} s{reason}", flush=True)
    if outcome.kind == "failed":
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
        hidden = len(lines) - FAILURE_LINES_SHOWN
        if hidden > 0:
            print(f"    ... {hidden} lines before these are in {log.relative_to(ROOT)}")
        for line in lines[-FAILURE_LINES_SHOWN:]:
            print(f"    {line}")
        sys.stdout.flush()


def last_line(log: Path) -> str:
    lines = [line.strip() for line in log.read_text(encoding="utf-8", errors="replace").splitlines()]
    return next((line for line in reversed(lines) if line), "")


def summary(counts: "dict[str, int]") -> str:
    line = f"{counts['passed']} passed, {counts['failed']} failed"
    return line + (f", {counts['skipped']} skipped" if counts["skipped"] else "")


if __name__ == "__main__":
    sys.exit(main())
