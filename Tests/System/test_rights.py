"""Who may do what: the program and a model that was written apart from it judge the same circles."""

import json
import subprocess

import pytest

from naive_rights import Rights
from peerd_harness import check, simulator


@pytest.mark.parametrize("first", [1_000, 2_000, 3_000])
def test_another_model_comes_to_the_same_verdicts(first):
    command = [simulator(), "circles", "--first", str(first), "--count", "400", "--json"]
    lines = subprocess.run(command, capture_output=True, check=True, timeout=300).stdout.splitlines()
    check(len(lines) == 400, f"{len(lines)} circles")
    allowed = 0
    for offset, line in enumerate(lines):
        circle = json.loads(line)
        rights = Rights(circle)
        for change, need, verdict in circle["verdicts"]:
            check(rights.may(change, need) == verdict, f"seed {first + offset}, change {change}, {need}: {verdict}")
            allowed += verdict
        readers = [device for device in sorted(circle["devices"]) if rights.reads(device)]
        check(readers == sorted(circle["readers"]), f"seed {first + offset}: readers {readers}")
    check(allowed > 1_000, "hardly anything is allowed")
