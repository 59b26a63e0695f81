#!/usr/bin/env python3
"""The dashboard as different people use it, in a real browser: by keys alone, by what a screen reader is told, light
and dark, narrow and wide; its search, its history, and its advice on what is wrong. Each view has a picture in each
scheme."""

import os

from browser import PATIENCE_SECONDS, Browser, needs_chromium, tell_where_pictures_are
from peerd_harness import World, check, free_port, main_of_test, say, wait_until
from tcp_proxy import Proxy

OUT_OF_THE_WAY = "127.0.0.2:0"
# Nobody listens there.
NOWHERE = "127.0.0.1:1"
FOCUS = """
    const focused = document.activeElement;
    const row = document.getElementById(focused.getAttribute("aria-activedescendant"));
    return { tag: focused.tagName.toLowerCase(), role: focused.getAttribute("role"), text: focused.innerText.trim(),
             label: focused.getAttribute("aria-label"), active: row?.getAttribute("aria-label") ?? null }"""
TABS_MAX = 60


def focus(browser):
    return browser.run(FOCUS)


def tab_to(browser, what, fits, back=False):
    """Presses Tab until the focus is where it should be; each stop on the way must be visible."""
    from selenium.webdriver import Keys

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


def use_keys(browser, laptop, trip):
    from selenium.webdriver import Keys

    say("keys alone reach the tree, an object and its properties")
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

    say("keys alone create and delete")
    tab_to(browser, "New below", lambda stop: stop["text"] == "New below", back=True)
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
    browser.until("return document.querySelector('.object h1')?.innerText === 'Trip to the sea'", "the parent is shown")


def use_search(browser):
    from selenium.webdriver import Keys

    say("keys alone search")
    browser.show("objects")
    tab_to(browser, "the search", lambda stop: stop["label"] == "Search objects", back=True)
    browser.keys("dune")
    browser.sees("1 object")
    browser.check_names("results of a search")
    browser.picture("search")
    browser.keys(Keys.ARROW_DOWN, Keys.ENTER)
    browser.until("return document.querySelector('.object h1')?.innerText === 'Books'", "the object that was found")
    browser.run("document.querySelector('.search input').focus()")
    browser.keys(Keys.ESCAPE)
    browser.until("return document.querySelector('[role=tree]').offsetHeight > 0", "Escape ends the search")


def use_conflicts(browser, laptop, trip):
    from selenium.webdriver import Keys

    say("keys alone resolve a conflict")
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


def use_peers(browser):
    say("an address that leads to no machine says so")
    browser.show("peers")
    browser.sees("An address without a machine")
    browser.sees(NOWHERE)
    browser.sees("It does not answer.")


def use_history(browser, laptop):
    say("the history names objects beside their ids, also deleted ones")
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


def use_health(browser, laptop):
    say("health says what is wrong, and how to repair it")
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


def look_at_views(browser, trip):
    say("every view has names, stands out in both schemes, and fits narrow and wide windows")
    views = {
        "objects": "objects", "object": f"object/{trip}", "peers": "peers", "conflicts": "conflicts",
        "history": "history", "health": "health", "pair": "pair",
    }
    for name, place in views.items():
        browser.show(place)
        browser.until(
            "return document.querySelector('main h1') && !document.body.innerText.includes('Checking…')", name
        )
        browser.check_names(name)
        grounds = set()
        for scheme in ("light", "dark"):
            browser.scheme(scheme)
            browser.check_contrast(f"{name} in {scheme}")
            grounds.add(browser.run("return getComputedStyle(document.body).backgroundColor"))
            for width in (360, 1280, 1900):
                browser.size(width)
                browser.until("return innerWidth === arguments[0]", f"a width of {width}", width)
                browser.check_width(f"{name} at {width} pixels")
                if width != 1900 or scheme == "light":
                    browser.picture(f"view-{name}-{scheme}-{width}")
        check(len(grounds) == 2, f"{name} looks the same in light and dark")
    browser.size(1280)
    browser.scheme(None)


def conflicting(world):
    """A machine whose workspace has a conflict, with another one that is away by now."""
    laptop, phone = world.paired("laptop", "phone")
    words = ["--http-port", str(free_port())]
    phone.start(listen=OUT_OF_THE_WAY)
    proxy = Proxy(phone.address)
    world.closers.append(proxy.close)
    laptop.start(listen=OUT_OF_THE_WAY, words=words, peers=[proxy.address, NOWHERE])
    laptop.create("list", "title=Books", "text=Read Dune again")
    trip = laptop.create("list", "title=Trip")
    for title in ("Passport", "Tickets", "Umbrella"):
        laptop.create("item", f"title={title}", "--parent", trip)
    laptop.run("sync")
    proxy.is_open = False
    proxy.cut_all()
    wait_until(lambda: proxy.live_connections() == 0, PATIENCE_SECONDS, "the machines are apart")
    laptop.run("set", trip, "colour=Blue")
    phone.run("set", trip, "colour=Red")
    laptop.create("day", "--key", "monday", "--kind", "workday")
    phone.create("day", "--key", "monday", "--kind", "holiday")
    proxy.is_open = True
    laptop.run("sync")
    wait_until(lambda: laptop.status()["conflicts"] == 2, PATIENCE_SECONDS, "two conflicts")
    return laptop, trip


def run():
    needs_chromium()
    with World("dashboard-use") as world:
        laptop, trip = conflicting(world)
        browser = Browser(laptop)
        world.closers.append(browser.driver.quit)
        use_keys(browser, laptop, trip)
        use_search(browser)
        look_at_views(browser, trip)
        use_conflicts(browser, laptop, trip)
        use_peers(browser)
        use_history(browser, laptop)
        use_health(browser, laptop)
        # A page asks for the conflicts of an object at the moment at which it is deleted, and takes the answer for
        # none; the browser complains of it all the same.
        browser.check_console(but=("/conflicts - Failed to load resource",))
        tell_where_pictures_are()


if __name__ == "__main__":
    main_of_test(run)
