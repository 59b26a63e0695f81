"""The modules of /peerd.js and of the dashboard that need no browser: their own tests, run by Node.js."""

import shutil
import subprocess
from pathlib import Path

from peerd_harness import check, say, skip

ROOT = Path(__file__).resolve().parent.parent.parent
OLDEST_NODE = 20


def test_the_web_modules_pass_their_own_tests():
    node = shutil.which("node")
    if node is None:
        skip("node is not installed; test_dashboard.py and test_editor.py use the same modules in Chromium")
    version = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    if int(version.removeprefix("v").split(".")[0]) < OLDEST_NODE:
        skip(f"node is {version}; its clock for tests needs {OLDEST_NODE}")
    files = sorted(str(path) for path in (ROOT / "Tests" / "Web").glob("*.test.mjs"))
    check(files, "there are no tests in Tests/Web")
    done = subprocess.run([node, "--test", *files], capture_output=True, text=True, check=False)
    say(done.stdout[-10_000:])
    check(done.returncode == 0, f"node --test ended with {done.returncode}: {done.stderr[-2_000:]}")
