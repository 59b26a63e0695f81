"""The dashboard as different people use it, in a real browser: by keys alone, by what a screen reader is told, light
and dark, narrow and wide; its search, its history, and its advice on what is wrong."""

import os

import pytest

from browser import PATIENCE_SECONDS, Keys
from peerd_harness import check, wait_until

# Nobody listens there.
NOWHERE = "127.0.0.1:1"
FOCUS = """
    const focused = document.activeElement;
    const row = document.getElementById(focused.getAttribute("aria-activedescendant"));
    return { tag: focused.tagName.toLowerCase(), role: focused.getAttribute("role"), text: focused.innerText.trim(),
             label: focused.getAttribute("aria-label"), active: row?.getAttribute("aria-label") ?? null }"""
TABS_MAX = 60


class Machine:
    """A machine with a few objects, and an address that leads to no other."""

    def __init__(self, laptop):
        self.laptop = laptop
        laptop.start(peers=[NOWHERE])
        laptop.create("list", "title=Books", "text=Read Dune again")
        self.trip = laptop.create("list", "title=Trip")
        for title in ("Passport", "Tickets", "Umbrella"):
            laptop.create("item", f"title={title}", "--parent", self.trip)


@pytest.fixture
def machine(world):
    return Machine(world.founder("laptop"))


@pytest.fixture
def conflicting(world):
    """A machine whose workspace has two conflicts."""
    laptop, phone = world.paired("laptop", "phone")
    machine = Machine(laptop)
    phone.start(peers=[laptop.address])
    wait_until(lambda: phone.export() == laptop.export(), PATIENCE_SECONDS, "both machines have all objects")
    phone.stop()
    for peer, colour, kind in ((laptop, "Blue", "workday"), (phone, "Red", "holiday")):
        peer.run("set", machine.trip, f"colour={colour}")
        peer.create("day", "--key", "monday", "--kind", kind)
    phone.start(peers=[laptop.address])
    wait_until(lambda: laptop.status()["conflicts"] == 2, PATIENCE_SECONDS, "two conflicts")
    return machine


def focus(browser):
    return browser.run(FOCUS)


def tab_to(browser, what, fits, back=False):
    """Presses Tab until the focus is where it should be; each stop on the way must be visible."""
    stops = []
    for _ in range(TABS_MAX):
        if back:
            browser.chord(Keys.SHIFT, Keys.TAB)
        else:
            browser.keys(Keys.TAB)
        stops.append(focus(browser))
        if fits(stops[-1]):
            return stops[-1]
        is_seen = browser.run(
            """const focused = document.activeElement;
               const { width, height } = focused.getBoundingClientRect();
               return focused === document.body || (width > 0 && height > 0
                 && getComputedStyle(focused).outlineStyle !== "none") || focused.tagName === "MAIN" """
        )
        check(is_seen, f"nobody sees where the focus is: {stops[-1]}")
    raise AssertionError(f"Tab does not lead to {what}: {[stop['label'] or stop['text'] for stop in stops]}")


def wait_for_active(browser, name):
    wait_until(
        lambda: (focus(browser)["active"] or "").startswith(name), PATIENCE_SECONDS, f"the active row is {name}"
    )


# A key goes to what has the focus at that moment, and a browser that waits for a processor may draw in between.
@pytest.mark.alone
def test_keys_alone_reach_the_tree_an_object_and_its_properties(machine, open_browser):
    laptop, trip, browser = machine.laptop, machine.trip, open_browser(machine.laptop)
    browser.show("objects")
    browser.sees("Trip")
    browser.run("document.activeElement.blur(); scrollTo(0, 0)")
    tab_to(browser, "the link past the navigation", lambda stop: stop["text"] == "Skip to the content")
    browser.keys(Keys.ENTER)
    check(focus(browser)["tag"] in ("h1", "div"), f"the link leads past the navigation: {focus(browser)}")
    tab_to(browser, "the tree", lambda stop: stop["role"] == "tree")
    browser.keys(Keys.HOME)
    wait_for_active(browser, "Books")
    browser.keys("t")
    wait_for_active(browser, "Trip, list, 3 below")
    browser.keys(Keys.ARROW_RIGHT)
    # All of them: one that comes later would move the focus that a key has just moved.
    for title in ("Passport", "Tickets", "Umbrella"):
        browser.sees(title)
    browser.keys(Keys.ARROW_RIGHT)
    wait_for_active(browser, "Passport")
    browser.chord(Keys.ALT, Keys.ARROW_DOWN)
    wait_until(
        lambda: browser.run(
            """return [...document.querySelectorAll("[role=treeitem][aria-level='2']")]
                 .sort((a, b) => a.ariaPosInSet - b.ariaPosInSet).map(row => row.innerText.split("\\n")[0])"""
        ) == ["Tickets", "Passport", "Umbrella"],
        PATIENCE_SECONDS, "Alt and an arrow reorder",
    )
    browser.keys(Keys.ARROW_DOWN)
    wait_for_active(browser, "Umbrella")
    browser.keys(Keys.ARROW_LEFT)
    wait_for_active(browser, "Trip")
    browser.keys(Keys.ARROW_LEFT)
    browser.until("return !document.querySelector(\"[role=treeitem][aria-level='2']\")", "the row is collapsed")
    browser.keys(Keys.ENTER)
    browser.until("return document.querySelector('.object h1')?.innerText === 'Trip'", "Enter opens the object")

    tab_to(browser, "the button that edits the title", lambda stop: stop["text"].split() == ["Edit", "title"])
    browser.keys(Keys.ENTER)
    wait_until(lambda: focus(browser)["tag"] == "textarea", PATIENCE_SECONDS, "the focus is in the text")
    browser.chord(Keys.CONTROL, "a")
    browser.keys("Trip to the sea")
    tab_to(browser, "Save", lambda stop: stop["text"] == "Save")
    browser.keys(Keys.ENTER)
    wait_until(
        lambda: laptop.json("get", trip)["properties"]["title"] == "Trip to the sea", PATIENCE_SECONDS, "keys save"
    )
    wait_until(lambda: focus(browser)["text"].startswith("Edit"), PATIENCE_SECONDS, "the focus returns to the button")
    browser.check_clean()


def test_keys_alone_create_and_delete(machine, open_browser):
    browser = open_browser(machine.laptop)
    browser.show(f"object/{machine.trip}")
    browser.until("return document.querySelector('.object h1')?.innerText === 'Trip'", "the object")
    tab_to(browser, "New below", lambda stop: stop["text"] == "New below")
    browser.keys(Keys.ENTER)
    browser.until("return document.querySelector('dialog[open]')", "a dialog")
    browser.keys("Sun cream", Keys.TAB, "item", Keys.ENTER)
    browser.until("return document.querySelector('.object h1')?.innerText === 'Sun cream'", "the new object is shown")
    browser.check_names("an object")
    tab_to(browser, "Delete", lambda stop: stop["text"] == "Delete")
    browser.keys(Keys.ENTER)
    browser.until("return document.querySelector('dialog[open]')", "a question")
    browser.check_names("a dialog")
    browser.keys(Keys.ESCAPE)
    browser.until("return !document.querySelector('dialog')", "Escape cancels")
    wait_until(lambda: focus(browser)["text"] == "Delete", PATIENCE_SECONDS, "the focus returns to where it was")
    browser.keys(Keys.ENTER)
    tab_to(browser, "the button of the question", lambda stop: stop["text"] == "Delete")
    browser.keys(Keys.ENTER)
    browser.until("return document.querySelector('.object h1')?.innerText === 'Trip'", "the parent is shown")
    # The page asks for the conflicts of an object at the moment at which it is deleted, and takes the answer for none;
    # the browser complains of it all the same.
    browser.check_clean(but=("/conflicts - Failed to load resource",))


def test_keys_alone_search(machine, open_browser):
    browser = open_browser(machine.laptop)
    browser.sees("Books")
    tab_to(browser, "the search", lambda stop: stop["label"] == "Search objects")
    browser.keys("dune")
    browser.sees("1 object")
    browser.check_names("results of a search")
    browser.picture("search")
    browser.keys(Keys.ARROW_DOWN, Keys.ENTER)
    browser.until("return document.querySelector('.object h1')?.innerText === 'Books'", "the object that was found")
    browser.run("document.querySelector('.search input').focus()")
    browser.keys(Keys.ESCAPE)
    browser.until("return document.querySelector('[role=tree]').offsetHeight > 0", "Escape ends the search")
    browser.check_clean()


def test_keys_alone_resolve_a_conflict(conflicting, open_browser):
    laptop, trip, browser = conflicting.laptop, conflicting.trip, open_browser(conflicting.laptop)
    browser.show("conflicts")
    browser.sees("Blue")
    browser.check_names("conflicts")
    wanted = "Blue" if laptop.json("get", trip)["properties"]["colour"] == "Red" else "Red"
    stop = tab_to(browser, "the other value", lambda stop: stop["text"].startswith("Use this"))
    check("version 2, by" in stop["text"], f"a screen reader tells which: {stop['text']}")
    browser.keys(Keys.ENTER)
    browser.until(
        "const cards = [...document.querySelectorAll('main .conflict')];"
        " return cards.length === 1 && cards[0].innerText.includes('cannot be changed')",
        "the kind that lost is the only conflict left",
    )
    check(laptop.json("get", trip)["properties"]["colour"] == wanted, "the value that was chosen counts")
    left = browser.run(
        "const card = document.querySelector('main .conflict');"
        " return [card.innerText, card.querySelectorAll('button').length]"
    )
    check("workday" in left[0] and "holiday" in left[0], f"both kinds are shown: {left}")
    check(left[1] == 0, "a kind cannot be chosen, so no button says that it can")
    browser.check_clean()


def test_an_address_that_leads_to_no_machine_says_so(machine, open_browser):
    browser = open_browser(machine.laptop)
    browser.show("peers")
    browser.sees("An address without a machine")
    browser.sees(NOWHERE)
    browser.sees("It does not answer.")
    browser.check_clean()


def test_the_history_names_objects_and_keeps_the_focus(machine, open_browser):
    laptop = machine.laptop
    laptop.run("rm", laptop.create("item", "title=Sun cream", "--parent", machine.trip))
    browser = open_browser(laptop)
    browser.show("history")
    browser.until(
        """return [...document.querySelectorAll("main .timeline a.gone")].some(link =>
             link.innerText.replace("(deleted)", "").replaceAll(/\\s+/g, " ").match(/^Sun cream [0-9a-f]{8}$/))""",
        "the name and the id of what was deleted",
    )
    browser.sees("created as item")
    link = browser.run(
        """const link = document.querySelectorAll("main .timeline li a")[3];
           link.focus();
           return link.closest("li").innerText"""
    )
    laptop.create("note", "title=While somebody reads")
    browser.sees("While somebody reads")
    kept = browser.run("return document.activeElement.closest('li')?.innerText")
    check(kept == link, f"a change takes the focus away from {link!r}, to {kept!r}")
    browser.check_clean()


def test_health_says_what_is_wrong_and_how_to_repair_it(machine, open_browser):
    laptop, browser = machine.laptop, open_browser(machine.laptop)
    browser.show("health")
    # The address that leads to no machine.
    browser.sees("1 finding to look at.")
    browser.sees("127.0.0.1:1")
    keys = next(path for path in laptop.directory.iterdir() if "key" in path.name)
    os.chmod(keys, 0o644)
    browser.button("Check again").click()
    browser.sees("2 findings to look at.")
    browser.sees("To repair:")
    browser.picture("health-problem")
    os.chmod(keys, 0o600)
    browser.button("Check again").click()
    browser.sees("1 finding to look at.")
    browser.check_clean()


@pytest.mark.parametrize("view", ["objects", "object", "peers", "conflicts", "history", "health", "pair"])
def test_a_view_has_names_stands_out_and_fits_its_window(conflicting, open_browser, view):
    browser = open_browser(conflicting.laptop)
    browser.show(f"object/{conflicting.trip}" if view == "object" else view)
    browser.until("return document.querySelector('main h1') && !document.body.innerText.includes('Checking…')", view)
    browser.look(view, widths=(360, 1280, 1900))
    browser.check_clean()
