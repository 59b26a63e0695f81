"""The history in the dashboard, in a real browser: objects are scrubbed by keys and restored by clicks, undo and redo
say what they leave as it is, and the tree shows a time. Names and values that are HTML stay text."""

import time

import pytest

from browser import ANSWER_UNDO, HOSTILE, HOSTILE_NAME, PATIENCE_SECONDS, Keys, paired_with_hostile
from peerd_harness import DaemonSocket, check, wait_until

LARGE, LARGER = 2**53, 2**53 + 1
# What the object shows: its heading, its note on the past, where in time the slider stands (once the history is read;
# a slider that is not shown takes no key), and each property as [name, value, value of now].
PANE = """
    const text = element => element?.checkVisibility() ? element.innerText.trim() : null;
    const rows = [...document.querySelectorAll(".object .property")].filter(row => row.checkVisibility());
    return {
      title: text(document.querySelector(".object h1")), note: text(document.querySelector(".past-note")),
      where: text(document.querySelector("#scrubber")) === null ? null
        : document.querySelector("#scrubber").getAttribute("aria-valuetext"),
      path: text(document.querySelector(".object .path")),
      properties: Object.fromEntries(rows.map(row => [row.querySelector(".label bdi").innerText, [
        row.querySelector(".property-value > :not(.now)").innerText,
        row.querySelector(".now")?.innerText.replace("Now: ", "") ?? null]])) }"""
ROWS = """
    return [...document.querySelectorAll("[role=treeitem]")].sort((a, b) => a.ariaPosInSet - b.ariaPosInSet)
      .map(row => row.getAttribute("aria-label"))"""



class Machines:
    """Two machines that are connected, and an object with a history of four steps."""

    def __init__(self, world):
        self.laptop, self.phone = paired_with_hostile(world)
        self.phone.start()
        self.laptop.start(peers=[self.phone.address])
        groceries = self.laptop.create("list", "title=Groceries")
        self.milk = self.laptop.create("item", "title=Milk", f"n={LARGER}", "--parent", groceries)
        self.laptop.run("set", self.milk, "title=Oat")
        self.laptop.run("set", self.milk, "title=Oat milk", f"n={LARGE}")
        self.laptop.run("mv", self.milk, "--root")


@pytest.fixture
def machines(world):
    return Machines(world)


def pane_shows(browser, what, fits):
    """Waits until the object beside the tree is shown as it should be."""
    return browser.shows(what, PANE, fits)


def values(shown):
    return {name: then for name, (then, _) in shown["properties"].items()}


def first_moment(browser, id):
    """Shows the first moment of an object."""
    browser.show(f"object/{id}")
    pane_shows(browser, "the object of now", lambda shown: shown["where"] == "Now" and shown["properties"])
    browser.run("document.querySelector('#scrubber').focus()")
    browser.keys(Keys.HOME)
    return pane_shows(browser, "the first moment", lambda shown: values(shown).get("title") == "Milk")


def arrives(peer, id, properties):
    """Waits until an object has these properties on a machine."""

    def is_there():
        found = peer.objects().get(id)
        return found is not None and found["properties"] == properties

    wait_until(is_there, PATIENCE_SECONDS, f"{properties} at {peer.name}")


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


def test_an_object_is_scrubbed_by_keys(machines, open_browser):
    milk, first = machines.milk, open_browser(machines.laptop)
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
    first.check_clean()


def test_a_value_is_restored_by_a_click_and_the_past_stays_live(machines, open_browser):
    phone, milk = machines.phone, machines.milk
    first, second = open_browser(machines.laptop), open_browser(phone)
    second.show(f"object/{milk}")
    first_moment(first, milk)
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
    for browser in (first, second):
        browser.check_clean()


def test_a_whole_object_is_restored_with_its_place(machines, open_browser):
    laptop, milk, first = machines.laptop, machines.milk, open_browser(machines.laptop)
    first_moment(first, milk)
    first.button("Restore all of it").click()
    arrives(laptop, milk, {"title": "Milk", "n": LARGER})
    check(laptop.json("get", milk)["parent"] is not None, "it is not where it was")
    pane_shows(first, "all of it", lambda shown: values(shown) == {"title": "Milk", "n": str(LARGER)}
               and shown["note"] is None and "Groceries" in shown["path"])
    first.check_clean()


def test_a_deleted_object_is_restored(machines, open_browser):
    laptop, milk, first = machines.laptop, machines.milk, open_browser(machines.laptop)
    first.show(f"object/{milk}")
    pane_shows(first, "the object", lambda shown: shown["title"] == "Oat milk")
    laptop.run("rm", milk)
    pane_shows(first, "it is gone", lambda shown: shown["title"] == "This object does not exist")
    first.run("document.querySelector('#scrubber').focus()")
    first.until("return document.querySelector('.timeline li')?.innerText.includes('deleted')", "the deletion")
    first.keys(Keys.ARROW_LEFT)
    pane_shows(first, "the deletion", lambda shown: shown["title"] == "It was deleted")
    first.keys(Keys.ARROW_LEFT)
    pane_shows(first, "before the deletion", lambda shown: values(shown) == {"title": "Oat milk", "n": str(LARGE)}
               and "deleted now" in shown["note"])
    first.picture("history-deleted")
    first.button("Restore all of it").click()
    first.sees("1 deleted object came back.")
    arrives(laptop, milk, {"title": "Oat milk", "n": LARGE})
    pane_shows(first, "it is back", lambda shown: shown["title"] == "Oat milk" and shown["note"] is None)
    first.check_clean()


def test_undo_and_redo_by_keys_and_buttons_but_not_while_somebody_types(machines, open_browser):
    laptop, milk, first = machines.laptop.used_by("/"), machines.milk, open_browser(machines.laptop)
    laptop.run("set", milk, "title=One")
    laptop.run("set", milk, "title=Two")
    first.show(f"object/{milk}")
    pane_shows(first, "the last edit", lambda shown: shown["title"] == "Two")
    first.run("document.activeElement.blur()")
    first.chord(Keys.CONTROL, "z")
    first.sees("Undone: title = “Two” on")
    arrives(laptop, milk, {"title": "One", "n": LARGE})
    first.button("Undo").click()
    arrives(laptop, milk, {"title": "Oat milk", "n": LARGE})
    first.button("Redo").click()
    arrives(laptop, milk, {"title": "One", "n": LARGE})
    first.run("document.activeElement.blur()")
    first.chord(Keys.CONTROL, Keys.SHIFT, "z")
    first.sees("Done again: title = “Two” on")
    arrives(laptop, milk, {"title": "Two", "n": LARGE})

    first.find(".search input").send_keys("milk")
    first.chord(Keys.CONTROL, "z")
    first.run("document.querySelector('.search input').value = ''")
    first.keys(Keys.ESCAPE)
    # The button says what is next: the same as without the keys in the field.
    first.button("Undo").click()
    arrives(laptop, milk, {"title": "One", "n": LARGE})
    first.check_clean()


def test_undo_takes_back_what_the_dashboard_wrote_on_this_machine(machines, open_browser):
    laptop, phone, milk, first = machines.laptop, machines.phone, machines.milk, open_browser(machines.laptop)
    first.show(f"object/{milk}")
    laptop.used_by("/").run("set", milk, f"title={HOSTILE}")
    arrives(phone, milk, {"title": HOSTILE, "n": LARGE})
    laptop.run("set", milk, "with=the command")
    phone.run("set", milk, "by=phone")
    pane_shows(first, "the edit of the phone", lambda shown: "by" in values(shown))
    first.button("Undo").click()
    first.sees("Undone: title = “<img src=x")
    arrives(laptop, milk, {"title": "Oat milk", "n": LARGE, "by": "phone", "with": "the command"})
    first.check_clean()


@pytest.mark.parametrize("has_effect, said", [(True, "Undone: "), (False, "Could not undo: ")])
def test_an_undo_names_what_stays_and_who_edited_it(machines, open_browser, has_effect, said):
    milk, first = machines.milk, open_browser(machines.laptop)
    first.show(f"object/{milk}")
    pane_shows(first, "the object", lambda shown: shown["title"] == "Oat milk")
    # A workspace has one user so far: the answer of the daemon is made up here, as its API describes it.
    first.run(ANSWER_UNDO, {"actions": [{
        "moment": "m", "time_ms": 0, "device_name": "laptop", "has_effect": has_effect,
        "edits": [{"object": milk, "action": {"set": {"name": HOSTILE, "value": HOSTILE}}}],
        "kept": [
            {"object": milk, "part": "property", "property": HOSTILE, "reason": "edited",
             "author": {"name": HOSTILE_NAME, "is_this_machine": False}},
            {"object": milk, "part": "object", "property": None, "reason": "has-children", "author": None},
        ],
    }]})
    first.button("Undo").click()
    first.sees("Left as it is:")
    first.sees(said)
    for text in (f"was edited since by {HOSTILE_NAME}", "has other objects below it", f"the property {HOSTILE[:40]}"):
        first.sees(text)
    first.picture(f"history-undo-{has_effect}")
    for scheme in ("light", "dark"):
        first.scheme(scheme)
        first.check_contrast(f"the report of an undo in {scheme}")
    first.scheme(None)
    first.find("#report button").click()
    first.sees_no_more("Left as it is:")
    first.check_clean()


class Trip:
    """A list that was renamed, and an item in it that was deleted; with the times before either, and before both."""

    def __init__(self, laptop):
        self.before = whole_second()
        self.id = laptop.create("list", "title=Trip")
        ticket = laptop.create("item", "title=Ticket", "--parent", self.id)
        self.then = whole_second()
        laptop.run("set", self.id, "title=Journey")
        laptop.run("rm", ticket)

    def show_tree_of_then(self, browser):
        browser.show(f"object/{self.id}")
        pane_shows(browser, "the tree of now", lambda shown: shown["title"] == "Journey")
        browser.button("Show the tree as of a time").click()
        show_time(browser, self.then)
        browser.sees("Editing is off.")
        pane_shows(browser, "the object of then", lambda shown: shown["title"] == "Trip" and shown["note"])
        browser.shows("the tree of then", ROWS, lambda rows: "Trip, list, 1 below" in rows)
        browser.run("document.querySelector('[role=tree]').focus()")
        browser.keys(Keys.HOME, "t", Keys.ARROW_RIGHT)
        browser.shows("what was below it", ROWS, lambda rows: "Ticket, item" in rows)


def test_the_tree_shows_a_time_and_is_not_edited_meanwhile(machines, open_browser):
    laptop, first = machines.laptop, open_browser(machines.laptop)
    trip = Trip(laptop)
    trip.show_tree_of_then(first)
    first.picture("history-tree")
    first.look("the tree of then")
    first.keys(Keys.DELETE)
    check(not first.run("return document.querySelector('dialog')"), "the past can be deleted from")
    check(not first.find(".tree-head .primary").is_displayed(), "the past can be added to")
    first.chord(Keys.CONTROL, "z")
    first.sees("Editing is off while the past is shown.")
    check(laptop.json("get", trip.id)["properties"] == {"title": "Journey"}, "undo works on the past")
    machines.phone.run("create", "list", "title=Meanwhile")
    wait_until(lambda: "Meanwhile" in laptop.run("ls"), PATIENCE_SECONDS, "an object of the phone")
    check(not any("Meanwhile" in row for row in first.run(ROWS)), "the tree of then shows what is new")
    first.button("Back to now").click()
    first.shows("the tree of now", ROWS, lambda rows: any(row.startswith("Meanwhile") for row in rows))
    first.check_clean()


def test_what_was_deleted_since_is_found_in_the_tree_of_then(machines, open_browser):
    laptop, first = machines.laptop, open_browser(machines.laptop)
    trip = Trip(laptop)
    trip.show_tree_of_then(first)
    first.find("[role=treeitem][aria-label^=Ticket]").click()
    pane_shows(first, "the deleted object", lambda shown: shown["title"] == "Ticket" and "deleted now" in shown["note"])
    first.button("Restore all of it").click()
    wait_until(lambda: "Ticket" in laptop.run("ls", trip.id), PATIENCE_SECONDS, "the restored object")
    first.sees_no_more("Editing is off.")
    first.show(f"object/{trip.id}")
    pane_shows(first, "the list of now", lambda shown: shown["title"] == "Journey")
    first.button("Show the tree as of a time").click()
    show_time(first, trip.before)
    pane_shows(first, "before it was made", lambda shown: shown["title"] == "It did not exist yet")
    first.button("Back to now").click()
    pane_shows(first, "now again", lambda shown: shown["title"] == "Journey" and shown["note"] is None)
    first.check_clean()


def test_names_and_values_that_are_html_stay_text_in_the_timeline(machines, open_browser):
    first = open_browser(machines.laptop)
    with DaemonSocket(machines.phone) as api:
        evil = api.create(HOSTILE, {"title": HOSTILE, HOSTILE_NAME: HOSTILE})
        changed = {"title": "\u202e" + HOSTILE, HOSTILE_NAME: "\u202eplain"}
        api.ask("PATCH", f"/api/objects/{evil}", {"properties": changed})
    arrives(machines.laptop, evil, changed)
    first.show(f"object/{evil}")
    pane_shows(first, "the object", lambda shown: shown["title"] and HOSTILE in shown["title"])
    first.run("document.querySelector('#scrubber').focus()")
    first.keys(Keys.HOME)
    shown = pane_shows(first, "its past", lambda shown: shown["note"] and HOSTILE_NAME in shown["properties"])
    check(shown["properties"][HOSTILE_NAME] == [HOSTILE, "U+202Eplain"], f"values stay text: {shown}")
    check(f"by {HOSTILE_NAME}" in shown["note"] and HOSTILE_NAME in shown["where"], f"names stay text: {shown}")
    first.until(
        "return [...document.querySelectorAll('.timeline .former')].some(e => e.innerText.includes(arguments[0]))",
        "what was replaced, as text", HOSTILE,
    )
    first.picture("history-hostile")
    first.look("the past of an object")
    first.check_clean()
