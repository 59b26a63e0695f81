#!/usr/bin/env python3
"""The history in the dashboard, in a real browser on two daemons: an object is scrubbed by keys, a value of then and
the whole object are restored by a click and seen on the other machine, also after it was deleted; undo and redo by
keys and by buttons say what they leave as it is; the tree shows a time. Names and values that are HTML stay text,
and no page reports an error."""

import time

from browser import ANSWER_UNDO, HOSTILE, PATIENCE_SECONDS, Browser, needs_chromium, tell_where_pictures_are
from peerd_harness import DaemonSocket, World, check, main_of_test, say, wait_until

# The name of a machine, and of a property: as much of it as is shown in full.
PHONE = HOSTILE[:60]
LARGE, LARGER = 2**53, 2**53 + 1
# What the object shows: its heading, its note on the past, and each property as [name, value, value of now].
PANE = """
    const text = element => element?.checkVisibility() ? element.innerText.trim() : null;
    const rows = [...document.querySelectorAll(".object .property")].filter(row => row.checkVisibility());
    return {
      title: text(document.querySelector(".object h1")), note: text(document.querySelector(".past-note")),
      where: document.querySelector("#scrubber")?.getAttribute("aria-valuetext"),
      path: text(document.querySelector(".object .path")),
      properties: Object.fromEntries(rows.map(row => [row.querySelector(".label bdi").innerText, [
        row.querySelector(".property-value > :not(.now)").innerText,
        row.querySelector(".now")?.innerText.replace("Now: ", "") ?? null]])) }"""
ROWS = """
    return [...document.querySelectorAll("[role=treeitem]")].sort((a, b) => a.ariaPosInSet - b.ariaPosInSet)
      .map(row => row.getAttribute("aria-label"))"""


def pane_shows(browser, what, fits):
    """Waits until the object beside the tree is shown as it should be."""
    seen = {}

    def is_shown():
        seen.update(browser.run(PANE))
        return fits(seen)

    try:
        wait_until(is_shown, PATIENCE_SECONDS, what)
    except AssertionError:
        say(f"  {browser.peer.name} shows {seen}")
        raise
    return dict(seen)


def values(shown):
    return {name: then for name, (then, _) in shown["properties"].items()}


def stored(peer, id):
    return peer.json("get", id)["properties"]


def arrives(peer, id, properties):
    """Waits until an object has these properties on a machine."""

    def is_there():
        found = peer.objects().get(id)
        return found is not None and found["properties"] == properties

    wait_until(is_there, PATIENCE_SECONDS, f"{properties} at {peer.name}")


def scrub_by_keys(first, milk):
    from selenium.webdriver import Keys

    say("an object is scrubbed by keys, and says that the past is shown, when and by whom")
    first.show(f"object/{milk}")
    shown = pane_shows(first, "the object of now", lambda shown: shown["where"] == "Now" and shown["properties"])
    check(shown["note"] is None, f"now is not the past: {shown}")
    first.run("document.querySelector('#scrubber').focus()")
    first.keys(Keys.HOME)
    # The names of what is above it are read behind the object itself.
    shown = pane_shows(
        first,
        "the first moment",
        lambda shown: values(shown).get("title") == "Milk" and "Groceries" in shown["path"],
    )
    check(shown["note"].startswith("You look at the past: ") and "by this machine" in shown["note"], f"note: {shown}")
    check("2 properties differ from now, and its place" in shown["note"], f"what differs: {shown['note']}")
    check(shown["properties"]["title"] == ["Milk", "Oat milk"], f"then and now: {shown}")
    check(shown["properties"]["n"] == [str(LARGER), str(LARGE)], f"exact numbers: {shown}")
    check(shown["title"] == "Milk", f"the name of then: {shown}")
    check("by this machine" in shown["where"] and "Step 1 of 4" in shown["where"], f"for a screen reader: {shown}")
    check(not first.run("return [...document.querySelectorAll('.object-head button')].some(b => b.checkVisibility()"
                        " && /Delete|Move|New/.test(b.innerText))"), "the past can be edited")
    first.keys(Keys.ARROW_RIGHT)
    shown = pane_shows(first, "the second moment", lambda shown: values(shown).get("title") == "Oat")
    check("done" not in shown["properties"], f"equal on both sides: {shown}")
    marked = first.run("return [...document.querySelectorAll('.timeline [aria-current]')].map(row => row.innerText)")
    check(len(marked) == 1 and "“Oat”" in marked[0] and "instead of “Milk”" in marked[0], f"the marked edit: {marked}")
    first.picture("history-scrubbed")
    first.keys(Keys.END)
    shown = pane_shows(first, "now again", lambda shown: shown["note"] is None and shown["where"] == "Now")
    check(values(shown)["title"] == "Oat milk" and "Groceries" not in shown["path"], f"now: {shown}")
    in_force = first.run(
        """return [...document.querySelectorAll(".timeline li")].filter(row => row.innerText.includes("in force"))
             .map(row => row.querySelector(".entry-what").innerText)"""
    )
    check(any("title to “Oat milk”" in row for row in in_force), f"what is in force: {in_force}")
    check(not any("title to “Milk”" in row for row in in_force), f"what is in force: {in_force}")


def restore_one_value(first, second, laptop, phone, milk):
    from selenium.webdriver import Keys

    say("one value is restored by a click, and the page stays live while it looks at the past")
    second.show(f"object/{milk}")
    first.run("document.querySelector('#scrubber').focus()")
    first.keys(Keys.HOME)
    pane_shows(first, "the first moment", lambda shown: values(shown).get("title") == "Milk")
    first.find("[data-property=title] button").click()
    arrives(phone, milk, {"title": "Milk", "n": LARGE})
    pane_shows(second, "the restored value", lambda shown: shown["title"] == "Milk")
    pane_shows(first, "no difference is left", lambda shown: shown["properties"]["title"] == ["Milk", None])
    phone.run("set", milk, "title=From the phone")
    shown = pane_shows(
        first, "what another machine writes meanwhile",
        lambda shown: shown["properties"]["title"] == ["Milk", "From the phone"],
    )
    check("You look at the past" in shown["note"], f"a change ends the look at the past: {shown}")


def restore_all(first, second, phone, milk):
    from selenium.webdriver import Keys

    say("the whole object is restored by a click, with its place; also when it was deleted")
    first.button("Restore all of it").click()
    arrives(phone, milk, {"title": "Milk", "n": LARGER})
    check(phone.json("get", milk)["parent"] is not None, "it is not where it was")
    for browser in (first, second):
        pane_shows(browser, "all of it", lambda shown: values(shown) == {"title": "Milk", "n": str(LARGER)}
                   and shown["note"] is None and "Groceries" in shown["path"])
    phone.run("rm", milk)
    pane_shows(first, "it is gone", lambda shown: shown["title"] == "This object does not exist")
    first.run("document.querySelector('#scrubber').focus()")
    first.until("return document.querySelector('.timeline li').innerText.includes('deleted')", "the deletion")
    first.keys(Keys.ARROW_LEFT)
    pane_shows(first, "the deletion", lambda shown: shown["title"] == "It was deleted")
    first.keys(Keys.ARROW_LEFT)
    pane_shows(first, "before the deletion", lambda shown: values(shown) == {"title": "Milk", "n": str(LARGER)}
               and "deleted now" in shown["note"])
    first.picture("history-deleted")
    first.button("Restore all of it").click()
    first.sees("1 deleted object came back.")
    arrives(phone, milk, {"title": "Milk", "n": LARGER})
    for browser in (first, second):
        pane_shows(browser, "it is back", lambda shown: shown["title"] == "Milk" and shown["note"] is None)


def undo_and_redo(first, laptop, phone, milk):
    from selenium.webdriver import Keys

    say("undo and redo, by keys and by buttons, but not while somebody types")
    laptop.run("set", milk, "title=One")
    laptop.run("set", milk, "title=Two")
    pane_shows(first, "the last edit", lambda shown: shown["title"] == "Two")
    first.run("document.activeElement.blur()")
    first.chord(Keys.CONTROL, "z")
    arrives(phone, milk, {"title": "One", "n": LARGER})
    first.sees("Undone: title = “Two” on")
    first.button("Undo").click()
    arrives(phone, milk, {"title": "Milk", "n": LARGER})
    first.button("Redo").click()
    arrives(phone, milk, {"title": "One", "n": LARGER})
    first.run("document.activeElement.blur()")
    redo_by_keys(first)
    arrives(phone, milk, {"title": "Two", "n": LARGER})
    first.sees("Done again: title = “Two” on")

    first.find(".search input").send_keys("milk")
    first.chord(Keys.CONTROL, "z")
    first.run("document.querySelector('.search input').value = ''")
    first.keys(Keys.ESCAPE)
    # The button says what is next: the same as without the keys in the field.
    first.button("Undo").click()
    arrives(phone, milk, {"title": "One", "n": LARGER})

    say("undo takes back what this user wrote on another machine")
    laptop.run("set", milk, "title=By the laptop", "done=true")
    arrives(phone, milk, {"title": "By the laptop", "n": LARGER, "done": True})
    phone.run("set", milk, f"title={HOSTILE}")
    pane_shows(first, "the edit of the phone", lambda shown: shown["title"] == HOSTILE)
    first.button("Undo").click()
    arrives(phone, milk, {"title": "By the laptop", "n": LARGER, "done": True})
    first.sees("Undone: title = “<img src=x")
    first.button("Undo").click()
    arrives(phone, milk, {"title": "One", "n": LARGER})


def name_what_stays(first, milk):
    say("what somebody else has edited since is named, by whom")
    # A workspace has one user so far: the answer of the daemon is made up here, as its API describes it.
    first.run(ANSWER_UNDO, {"transactions": [{
        "moment": "m", "time_ms": 0, "device_name": "laptop",
        "edits": [{"object": milk, "action": {"set": {"name": HOSTILE, "value": HOSTILE}}}],
        "kept": [
            {"object": milk, "part": "property", "property": HOSTILE, "reason": "edited",
             "author": {"name": PHONE, "is_this_machine": False}},
            {"object": milk, "part": "object", "property": None, "reason": "has-children", "author": None},
        ],
    }]})
    first.button("Undo").click()
    first.sees("Left as it is:")
    for text in (f"was edited since by {PHONE}", "has other objects below it", f"the property {HOSTILE[:40]}"):
        first.sees(text)
    first.picture("history-undo")
    for scheme in ("light", "dark"):
        first.scheme(scheme)
        first.check_contrast(f"the report of an undo in {scheme}")
    first.scheme(None)
    first.find("#report button").click()
    first.sees_no_more("Left as it is:")


def redo_by_keys(browser):
    from selenium.webdriver import ActionChains, Keys

    keys = ActionChains(browser.driver).key_down(Keys.CONTROL).key_down(Keys.SHIFT).send_keys("z")
    keys.key_up(Keys.SHIFT).key_up(Keys.CONTROL).perform()


def whole_second():
    """A whole second that has passed, with nothing written in it; a date-time field knows no smaller part."""
    begin = int(time.time()) + 1
    wait_until(lambda: time.time() > begin + 1, PATIENCE_SECONDS, "the next second")
    return begin


def show_time(browser, seconds):
    # The keys of a date-time field depend on the language: this is what it does when somebody has typed a time.
    browser.run(
        """const field = document.querySelector(".tree-time input");
           const date = new Date(arguments[0] * 1000);
           field.value = new Date(date - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
           field.dispatchEvent(new Event("change", { bubbles: true }))""",
        seconds,
    )


def tree_of_then(first, laptop, phone):
    from selenium.webdriver import Keys

    say("the tree shows a time, says so, and is not edited meanwhile")
    before = whole_second()
    trip = laptop.create("list", "title=Trip")
    ticket = laptop.create("item", "title=Ticket", "--parent", trip)
    then = whole_second()
    laptop.run("set", trip, "title=Journey")
    laptop.run("rm", ticket)
    first.show(f"object/{trip}")
    pane_shows(first, "the tree of now", lambda shown: shown["title"] == "Journey")
    first.button("Show the tree as of a time").click()
    show_time(first, then)
    first.sees("Editing is off.")
    pane_shows(first, "the object of then", lambda shown: shown["title"] == "Trip" and shown["note"])
    wait_until(lambda: "Trip, list, 1 below" in first.run(ROWS), PATIENCE_SECONDS, "the tree of then")
    first.run("document.querySelector('[role=tree]').focus()")
    first.keys(Keys.HOME, "t", Keys.ARROW_RIGHT)
    wait_until(lambda: "Ticket, item" in first.run(ROWS), PATIENCE_SECONDS, "what was below it")
    first.picture("history-tree")
    look(first, "the tree of then")
    first.keys(Keys.DELETE)
    check(not first.run("return document.querySelector('dialog')"), "the past can be deleted from")
    check(not first.find(".tree-head .primary").is_displayed(), "the past can be added to")
    first.chord(Keys.CONTROL, "z")
    first.sees("Editing is off while the past is shown.")
    check(stored(laptop, trip) == {"title": "Journey"}, "undo works on the past")
    phone.run("create", "list", "title=Meanwhile")
    wait_until(lambda: "Meanwhile" in laptop.run("ls"), PATIENCE_SECONDS, "an object of the phone")
    check(not any("Meanwhile" in row for row in first.run(ROWS)), "the tree of then shows what is new")

    say("what was deleted since is found there, and restored")
    first.find("[role=treeitem][aria-label^=Ticket]").click()
    pane_shows(first, "the deleted object", lambda shown: shown["title"] == "Ticket" and "deleted now" in shown["note"])
    first.button("Restore all of it").click()
    wait_until(lambda: "Ticket" in phone.run("ls", trip), PATIENCE_SECONDS, "the restored object on the other machine")
    first.sees_no_more("Editing is off.")
    wait_until(
        lambda: any(row.startswith("Meanwhile") for row in first.run(ROWS)), PATIENCE_SECONDS, "the tree of now"
    )
    first.show(f"object/{trip}")
    pane_shows(first, "the list of now", lambda shown: shown["title"] == "Journey")
    first.button("Show the tree as of a time").click()
    show_time(first, before)
    pane_shows(first, "before it was made", lambda shown: shown["title"] == "It did not exist yet")
    first.button("Back to now").click()
    pane_shows(first, "now again", lambda shown: shown["title"] == "Journey" and shown["note"] is None)


def hostile_history(first, laptop, phone):
    from selenium.webdriver import Keys

    say("names and values that are HTML stay text in the timeline")
    with DaemonSocket(phone) as api:
        evil = api.create(HOSTILE, {"title": HOSTILE, PHONE: HOSTILE})
        api.ask("PATCH", f"/api/objects/{evil}", {"properties": {"title": "\u202e" + HOSTILE, PHONE: "\u202eplain"}})
    arrives(laptop, evil, {"title": "\u202e" + HOSTILE, PHONE: "\u202eplain"})
    first.show(f"object/{evil}")
    pane_shows(first, "the object", lambda shown: shown["title"] and HOSTILE in shown["title"])
    first.run("document.querySelector('#scrubber').focus()")
    first.keys(Keys.HOME)
    shown = pane_shows(first, "its past", lambda shown: shown["note"] and PHONE in shown["properties"])
    check(shown["properties"][PHONE] == [HOSTILE, "U+202Eplain"], f"values stay text: {shown}")
    check(f"by {PHONE}" in shown["note"] and PHONE in shown["where"], f"names stay text: {shown}")
    first.until(
        "return [...document.querySelectorAll('.timeline .former')].some(e => e.innerText.includes(arguments[0]))",
        "what was replaced, as text", HOSTILE,
    )
    found = first.run(
        """return [...document.querySelectorAll("body img:not(.brand img), main script, #report script, main iframe")]
             .map(element => element.outerHTML)"""
    )
    check(not found, f"text became an element: {found}")
    first.picture("history-hostile")
    look(first, "the past of an object")


def look(browser, what):
    """Names, contrast and width of what is shown, light and dark, narrow and wide."""
    name = what.replace(" ", "-")
    browser.check_names(what)
    for scheme in ("light", "dark"):
        browser.scheme(scheme)
        browser.check_contrast(f"{what} in {scheme}")
        for width in (360, 1280):
            browser.size(width)
            browser.until("return innerWidth === arguments[0]", f"a width of {width}", width)
            browser.check_width(f"{what} at {width} pixels")
            browser.picture(f"view-{name}-{scheme}-{width}")
    browser.scheme(None)


def run():
    needs_chromium()
    with World("dashboard-history") as world:
        laptop, phone = world.paired("laptop", PHONE)
        phone.start()
        laptop.start(peers=[phone.address])
        groceries = laptop.create("list", "title=Groceries")
        milk = laptop.create("item", "title=Milk", f"n={LARGER}", "--parent", groceries)
        laptop.run("set", milk, "title=Oat")
        laptop.run("set", milk, "title=Oat milk", f"n={LARGE}")
        laptop.run("mv", milk, "--root")
        first, second = Browser(laptop), Browser(phone)
        world.closers += [first.driver.quit, second.driver.quit]
        scrub_by_keys(first, milk)
        restore_one_value(first, second, laptop, phone, milk)
        restore_all(first, second, phone, milk)
        undo_and_redo(first, laptop, phone, milk)
        name_what_stays(first, milk)
        tree_of_then(first, laptop, phone)
        hostile_history(first, laptop, phone)
        for browser in (first, second):
            told = browser.run("return document.querySelector('#notices').innerText")
            check(told == "", f"the page of {browser.peer.name} reports {told}")
        first.check_console()
        second.check_console()
        tell_where_pictures_are()
        for peer in (laptop, phone):
            peer.stop()


if __name__ == "__main__":
    main_of_test(run)
