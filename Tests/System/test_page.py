#!/usr/bin/env python3
"""The page of ten lines in README.md, served from a folder of its own: it is live, it writes, and it outlives the
daemon."""

import re
from pathlib import Path

from browser import AWAY, HOSTILE, PATIENCE_SECONDS, Browser, needs_chromium
from local_api import Entry
from peerd_harness import World, check, free_port, main_of_test, say, wait_until

README = Path(__file__).resolve().parent.parent.parent / "README.md"
ROWS = "return [...document.querySelectorAll('#tasks li')].map(row => row.textContent)"


def block(language):
    """The one block of a language that README.md has."""
    found = re.findall(rf"^```{language}\n(.*?)^```$", README.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    check(len(found) == 1, f"README.md has {len(found)} blocks of {language}")
    return found[0]


def run():
    needs_chromium()
    with World("page") as world:
        laptop, phone = world.paired("laptop", "phone")
        folder = world.root / "pages"
        folder.mkdir()
        page = block("js")
        check(len(page.splitlines()) <= 10, f"a page needs ten lines, this one has {len(page.splitlines())}")
        (folder / "page.js").write_text(page, encoding="utf-8")
        (folder / "index.html").write_text(block("html"), encoding="utf-8")
        words = ["--http-port", str(free_port()), "--serve", str(folder)]
        laptop.start(words=words)
        phone.start(peers=[f"127.0.0.1:{laptop.port}"])
        laptop.create("task", "title=Sow", "done=false")
        browser = Browser(laptop)
        world.closers.append(browser.driver.quit)
        browser.go("/app/")

        def rows(*expected):
            wait_until(lambda: browser.run(ROWS) == list(expected), PATIENCE_SECONDS, f"the rows {expected}")

        say("a page of ten lines is live")
        rows("Sow")
        second = phone.create("task", "title=Water", "done=false")
        phone.create("task", f"title={HOSTILE}", "done=false")
        rows(HOSTILE, "Sow", "Water")
        phone.run("set", second, "title=Water the seeds")
        rows(HOSTILE, "Sow", "Water the seeds")

        say("a folder of pages has a slash at its end, so that addresses in it are right")
        (folder / "ä b").mkdir()
        (folder / "ä b" / "index.html").write_text("<!doctype html><title>inner</title>", encoding="utf-8")
        entry = Entry.loopback(laptop)
        answer = entry.expect(308, "GET", "/app/%C3%A4%20b")
        check(answer.field("Location") == "/app/%C3%A4%20b/", f"redirected to {answer.field('Location')}")
        check(b"inner" in entry.expect(200, "GET", answer.field("Location")).body, "the page of a folder")

        say("a click writes")
        browser.driver.find_elements("css selector", "#tasks li")[2].click()
        rows(HOSTILE, "Sow")
        wait_until(
            lambda: phone.json("get", second)["properties"]["done"] is True, PATIENCE_SECONDS, "done on the phone"
        )
        browser.check_console()

        say("the page outlives the daemon")
        laptop.kill()
        laptop.create("task", "title=Harvest", "done=false")
        laptop.start(words=words)
        rows(HOSTILE, "Harvest", "Sow")
        browser.picture("page-of-ten-lines")
        browser.check_console(AWAY)


if __name__ == "__main__":
    main_of_test(run)
