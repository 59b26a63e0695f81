"""The page of ten lines in docs/guide/pages.md, served from a folder of its own: it is live, it writes, and it
keeps every digit."""

import json
import re
from pathlib import Path

import pytest

from browser import HOSTILE, STARTED_ANEW, PATIENCE_SECONDS
from local_api import Entry
from peerd_harness import check, free_port, pair, wait_until

GUIDE = Path(__file__).resolve().parent.parent.parent / "docs" / "guide" / "pages.md"
ROWS = "return [...document.querySelectorAll('#tasks li')].map(row => row.textContent)"


def block(language):
    """The one block of a language that the guide has."""
    found = re.findall(rf"^```{language}\n(.*?)^```$", GUIDE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    check(len(found) == 1, f"the guide has {len(found)} blocks of {language}")
    return found[0]


class Pages:
    """A folder with the page, and the machine that serves it."""

    def __init__(self, world):
        self.folder = world.root / "pages"
        self.folder.mkdir()
        (self.folder / "page.js").write_text(block("js"), encoding="utf-8")
        (self.folder / "index.html").write_text(block("html"), encoding="utf-8")
        self.words = ["--http-port", str(free_port()), "--serve", str(self.folder)]
        self.laptop = world.founder("laptop")
        self.laptop.start(words=self.words)
        self.task = self.laptop.create("task", "title=Sow", "done=false")

    def open(self, open_browser):
        browser = open_browser(self.laptop)
        browser.go("/app/")
        shows(browser, "Sow")
        return browser


@pytest.fixture
def pages(world):
    return Pages(world)


def shows(browser, *rows):
    browser.shows(f"the rows {rows}", ROWS, lambda seen: seen == list(rows))


def test_a_page_needs_ten_lines():
    lines = block("js").splitlines()
    check(len(lines) <= 10, f"a page needs ten lines, this one has {len(lines)}")


def test_a_page_of_ten_lines_is_live(world, pages, open_browser):
    browser, phone = pages.open(open_browser), world.peer("phone")
    pair(pages.laptop, phone)
    phone.start(peers=[pages.laptop.address])
    second = phone.create("task", "title=Water", "done=false")
    phone.create("task", f"title={HOSTILE}", "done=false")
    shows(browser, HOSTILE, "Sow", "Water")
    phone.run("set", second, "title=Water the seeds")
    shows(browser, HOSTILE, "Sow", "Water the seeds")
    browser.check_console()


def test_a_folder_of_pages_has_a_slash_at_its_end_so_that_addresses_in_it_are_right(pages):
    (pages.folder / "ä b").mkdir()
    (pages.folder / "ä b" / "index.html").write_text("<!doctype html><title>inner</title>", encoding="utf-8")
    entry = Entry.loopback(pages.laptop)
    answer = entry.expect(308, "GET", "/app/%C3%A4%20b")
    check(answer.field("Location") == "/app/%C3%A4%20b/", f"redirected to {answer.field('Location')}")
    check(b"inner" in entry.expect(200, "GET", answer.field("Location")).body, "the page of a folder")


def test_a_click_in_a_page_of_ten_lines_writes(pages, open_browser):
    laptop, browser = pages.laptop, pages.open(open_browser)
    laptop.create("task", "title=Water", "done=false")
    shows(browser, "Sow", "Water")
    browser.find("#tasks li").click()
    shows(browser, "Water")
    wait_until(lambda: laptop.json("get", pages.task)["properties"]["done"] is True, PATIENCE_SECONDS, "it is done")
    browser.check_console()


def test_a_page_of_ten_lines_is_signed_in_again_after_a_start(pages, open_browser):
    laptop, browser = pages.laptop, pages.open(open_browser)
    laptop.kill()
    laptop.create("task", "title=Harvest", "done=false")
    laptop.start(words=pages.words)
    browser.open_link()
    browser.go("/app/")
    shows(browser, "Harvest", "Sow")
    browser.picture("page-of-ten-lines")
    browser.check_console(STARTED_ANEW)


def test_a_page_writes_back_an_integer_that_a_number_cannot_hold(pages, open_browser):
    laptop, browser = pages.laptop, pages.open(open_browser)
    big = [76561198045763615, -(2**63), 2**63 - 1, 2**53 + 1, 7, 1e300, 0.1]
    laptop.run("set", pages.task, f"n={big[0]}", f"list={json.dumps(big)}")
    read = browser.driver.execute_async_script(
        """const [id, done] = arguments;
        const { connect } = await import("/peerd.js");
        const workspace = await connect();
        const { properties } = await workspace.get(id);
        await workspace.write(t => t.set(id, { copy: properties.n, copies: properties.list }));
        const found = await workspace.list({ where: { copy: properties.n } });
        workspace.close();
        done([String(properties.n), JSON.stringify(properties.list), found.objects.length]);""",
        pages.task,
    )
    check(read[0] == str(big[0]) and json.loads(read[1]) == big and read[2] == 1, f"a page reads {read}")
    written = laptop.json("get", pages.task)["properties"]
    check(written["copy"] == big[0] and written["copies"] == big, f"a page wrote {written}")
    browser.check_console()
