#!/usr/bin/env python3
"""Requests that schemathesis makes from the description of the API: no answer is a failure of the server, or one that
the description does not have, and none is missing.

It runs for as many seconds as PEERD_API_SECONDS says, and is skipped without: its requests differ from run to run.
"""

# time limit: 1200 s

import json
import os
import subprocess
import sys
from pathlib import Path

from openapi_spec_validator import OpenAPIV31SpecValidator

from local_api import Entry
from peerd_harness import World, check, main_of_test, say, skip

HERE = Path(__file__).resolve().parent
DOCUMENT = HERE.parent.parent / "Sources" / "CWebFiles" / "web" / "api" / "openapi.json"
SECONDS = int(os.environ.get("PEERD_API_SECONDS", "0"))
REQUEST_SECONDS = 20

# What is well-formed and cannot be done as things are is no error of the description: 404, 409, 412, 413, 415, 416
# and 422. A cursor or a filter is a text of which no schema says that it is good, nor that an object cannot be both
# first and before another.
CONFIGURATION = """
[checks.positive_data_acceptance]
expected-statuses = ["2xx", "3xx", 400, 401, 404, 409, 412, 413, 415, 416, 422, 426]
[checks.negative_data_rejection]
expected-statuses = [400, 401, 404, 405, 409, 412, 413, 415, 422, 426]
# The log of an object outlives it; test_api.py looks for what must be gone.
[checks.use_after_free]
enabled = false
"""


def check_document():
    """The document is OpenAPI 3.1, says how stable each route is, and has an example for each body."""
    document = json.loads(DOCUMENT.read_text())
    errors = [error.message for error in OpenAPIV31SpecValidator(document).iter_errors()]
    check(not errors, f"{DOCUMENT.name}: {errors[:5]}")
    names = set()
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            what = f"{method.upper()} {path}"
            check(operation.get("x-stability") in ("stable", "experimental"), f"{what} does not say how stable it is")
            check(
                operation.get("summary") and operation["operationId"] not in names, f"{what} has no name of its own"
            )
            names.add(operation["operationId"])
            for status, answer in operation["responses"].items():
                check("$ref" in answer or answer["description"], f"{what}: {status} is not described")
    return document


def is_served(entry, path):
    """Whether a route is there at all; one that is only described is for a later version of the program."""
    answer = entry.ask("GET", path.replace("{path}", "x"))
    return answer.status != 404 or answer.json.get("detail") != "There is nothing at this path."


def run_schemathesis(world, entry, document):
    fields = dict(entry.fields)
    configuration = world.root / "schemathesis.toml"
    configuration.write_text(CONFIGURATION)
    # Routes whose answers depend on a code or an upgrade that only a browser has.
    unserved = [
        path
        for path in document["paths"]
        if "{id}" not in path
        and "{name}" not in path
        and "get" in document["paths"][path]
        and not is_served(entry, path)
    ]
    excluded = [word for path in unserved for word in ("--exclude-path", path)]
    if unserved:
        say(f"described and not served: {', '.join(unserved)}")
    command = [
        sys.executable,
        "-m",
        "schemathesis.cli",
        "--config-file",
        str(configuration),
        "run",
        str(DOCUMENT),
        "--url",
        f"http://{fields['Host']}",
        "--header",
        f"Authorization: {fields['Authorization']}",
        "--checks",
        "all",
        "--max-time",
        str(SECONDS),
        "--request-timeout",
        str(REQUEST_SECONDS),
        "--max-redirects",
        "0",
        "--continue-on-failure",
        "--no-color",
        "--no-shrink",
        *excluded,
    ]
    environment = {**os.environ, "SCHEMATHESIS_HOOKS": "schemathesis_hooks", "PYTHONPATH": str(HERE)}
    done = subprocess.run(command, cwd=world.root, env=environment, capture_output=True, text=True, check=False)
    say(done.stdout[-20_000:])
    check(done.returncode == 0, f"schemathesis ended with {done.returncode}: {done.stderr[-2_000:]}")


def run():
    document = check_document()
    say(f"{DOCUMENT.name}: {len(document['paths'])} paths")
    if SECONDS <= 0:
        skip("the document is valid; PEERD_API_SECONDS says for how long to make requests from it")
    with World("schemathesis") as world:
        peer = world.founder("first")
        peer.start()
        entry = Entry.loopback(peer)
        run_schemathesis(world, entry, document)
        check(peer.process.poll() is None, "the daemon has ended")
        check(entry.expect(200, "POST", "/api/doctor").json["healthy"], "the workspace has suffered")


if __name__ == "__main__":
    main_of_test(run)
