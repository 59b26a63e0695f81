"""Requests that schemathesis makes from the description of the API: no answer is a failure of the server, or one that
the description does not have, and none is missing.

Runs with one seed draw the same requests, as far as what the server has made does not change them. PEERD_API_SECONDS
says how long (0: not at all).
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from local_api import DOCUMENT, Entry
from peerd_harness import CheckFailed, check, say

SECONDS = int(os.environ.get("PEERD_API_SECONDS", "20"))
REQUEST_SECONDS = 20
# What a run needs besides its requests; one that takes longer hangs.
OTHER_SECONDS = 240

# What is well-formed and cannot be done as things are is no error of the description: 404, 409, 412, 413, 415, 416 and
# 422. A cursor or a filter is a text of which no schema says that it is good, nor that an object cannot be both first
# and before another.
CONFIGURATION = """
[checks.positive_data_acceptance]
expected-statuses = ["2xx", "3xx", 400, 401, 404, 409, 410, 412, 413, 415, 416, 422, 426]
[checks.negative_data_rejection]
expected-statuses = [400, 401, 404, 405, 409, 412, 413, 415, 422, 426]
"""
# The log of an object outlives it; test_api.py looks for what must be gone.
EXCLUDED_CHECKS = "use_after_free"


@pytest.mark.skipif(SECONDS <= 0, reason="PEERD_API_SECONDS is 0")
@pytest.mark.timeout(SECONDS + OTHER_SECONDS + 60)
def test_the_server_answers_as_its_description_says(world, seed):
    peer = world.founder("first")
    pages = world.root / "pages"
    pages.mkdir()
    (pages / "page.js").write_text("export const answer = 42;\n", encoding="utf-8")
    (pages / "index.html").write_text("<!doctype html><title>Page</title>\n", encoding="utf-8")
    peer.start(words=["--serve", str(pages)])
    entry = Entry.loopback(peer)
    run_schemathesis(world, entry, seed)
    check(peer.process.poll() is None, "the daemon has ended")
    check(entry.expect(200, "POST", "/api/doctor").json["healthy"], "the workspace has suffered")


def run_schemathesis(world, entry, seed):
    configuration = world.root / "schemathesis.toml"
    configuration.write_text(CONFIGURATION)
    command = [
        sys.executable, "-m", "schemathesis.cli", "--config-file", configuration, "run", DOCUMENT,
        "--url", f"http://{entry.host}", "--header", f"Authorization: Bearer {entry.token}",
        "--checks", "all", "--exclude-checks", EXCLUDED_CHECKS, "--max-time", SECONDS, "--seed", seed,
        "--request-timeout", REQUEST_SECONDS, "--max-redirects", 0,
        "--continue-on-failure", "--no-color", "--no-shrink",
    ]
    environment = {**os.environ, "SCHEMATHESIS_HOOKS": "schemathesis_hooks", "PYTHONPATH": str(Path(__file__).parent)}
    try:
        done = subprocess.run(
            [*map(str, command)], cwd=world.root, env=environment, capture_output=True, text=True, check=False,
            timeout=SECONDS + OTHER_SECONDS,
        )
    except subprocess.TimeoutExpired as expired:
        raise CheckFailed(f"the run hangs: {(expired.stdout or b'')[-2_000:]!r}") from None
    say(done.stdout[-20_000:])
    check(done.returncode == 0, f"schemathesis ended with {done.returncode}: {done.stderr[-2_000:]}")
    check(re.search(r"^  [1-9]\d* generated, [1-9]\d* passed", done.stdout, re.MULTILINE), "no request was made")
