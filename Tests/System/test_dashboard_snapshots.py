"""Snapshots in the dashboard, in a real browser: they are taken, restored, saved as files, imported and deleted. What
the daemon refuses is said where it was asked for, and names that are HTML stay text."""

import re

import pytest

from browser import HOSTILE, PATIENCE_SECONDS, Keys
from peerd_harness import check, pair, wait_until

NAME = "Before & <b>after</b>"
# Chromium writes each answer that refuses something to the console, as an error.
REFUSED = ("413 (", "422 (", "400 (")
MEBIBYTE = 1 << 20
# The snapshots that are shown, by object on the page of all: each as its name and its facts.
ROWS = """
    return [...document.querySelectorAll("li.snapshot")].filter(row => row.checkVisibility()).map(row => ({
      id: row.dataset.id, name: row.querySelector(".snapshot-what").firstElementChild.innerText,
      facts: row.querySelector(".snapshot-facts").innerText,
      object: row.closest("[data-object]")?.dataset.object ?? null }))"""
FOCUSED = "return document.activeElement.innerText.trim()"


class Shelf:
    """A machine, and objects to take snapshots of."""

    def __init__(self, world):
        self.laptop = world.founder("laptop")
        self.laptop.start()
        self.id = self.laptop.create("shelf", "title=Shelf")
        self.album = self.laptop.create("album", "title=Album", "--parent", self.id)
        self.pages = [self.laptop.create("page", f"title=Page {n}", "--parent", self.album) for n in range(3)]

    def take(self, *names):
        """Takes snapshots of the album; returns their ids."""
        return [self.laptop.run("snapshot", "create", self.album, "--name", name).strip() for name in names]


@pytest.fixture
def shelf(world):
    return Shelf(world)


def rows(browser, what, fits):
    """Waits until the snapshots that a page shows are as they should be, and returns them."""
    return browser.shows(what, ROWS, fits)


def names(shown):
    return [row["name"] for row in shown]


def press(browser, id, text):
    """Presses a button of a snapshot's row."""
    script = """
        return [...document.querySelectorAll(`li.snapshot[data-id="${arguments[0]}"] button`)]
          .find(button => button.innerText.trim().startsWith(arguments[1]))"""
    browser.until(script, f"{text} of {id}", id, text).click()


def confirm(browser, title):
    """Checks the question that is asked, and agrees; returns what it said."""
    browser.until("return document.querySelector('dialog[open] h2')?.innerText === arguments[0]", title, title)
    said = browser.run("return document.querySelector('dialog').innerText")
    browser.check_names(title)
    browser.find("dialog button[type=submit]").click()
    browser.until("return !document.querySelector('dialog')", f"the end of “{title}”")
    return said


def below(peer, top):
    """An object and what is below it, without times and places among siblings."""
    export = {item["id"]: item for item in peer.json("export", top)}
    return {id: (item["parent"], item["properties"]) for id, item in export.items()}


def refuses(browser, sentence):
    """Waits until a sentence is said among the problems, and dismisses it."""
    browser.until("return document.querySelector('#notices').innerText.includes(arguments[0])", sentence, sentence)
    browser.find("#notices button").click()


def import_file(browser, path):
    browser.find("main input[type=file]").send_keys(str(path))


def test_a_snapshot_is_taken_by_keys(shelf, open_browser):
    laptop, album, first = shelf.laptop, shelf.album, open_browser(shelf.laptop)
    first.show(f"object/{album}")
    first.sees("None yet.")
    take = first.button("Take a snapshot")
    first.run("arguments[0].focus()", take)
    first.keys(Keys.ENTER)
    first.find("dialog[open] input")
    first.sees("everything below it as they are now")
    first.picture("snapshots-take")
    first.check_names("the question for a snapshot")
    first.keys(NAME, Keys.ENTER)
    [row] = rows(first, "the snapshot", lambda seen: names(seen) == [NAME])
    check(re.fullmatch(r"just now, 4 objects, \S+ k?B", row["facts"]), f"its facts: {row}")
    first.sees(f"Kept: {NAME}, 4 objects")
    check(first.run(FOCUSED) == "Take a snapshot", "the focus is lost")
    [listed] = laptop.json("snapshot", "list", album)
    check((listed["id"], listed["name"]) == (row["id"], NAME), f"on the command line: {listed}")
    first.check_clean()


def test_a_name_that_is_refused_is_said_in_the_question_and_stays(shelf, open_browser):
    shelf.take(NAME)
    first = open_browser(shelf.laptop)
    first.show(f"object/{shelf.album}")
    rows(first, "the first one", lambda seen: names(seen) == [NAME])
    first.run("arguments[0].focus()", first.button("Take a snapshot"))
    first.keys(Keys.ENTER)
    first.find("dialog[open] input")
    too_long = "€" * 200
    first.run("document.querySelector('dialog input').value = arguments[0]", too_long)
    first.keys(Keys.ENTER)
    first.until(
        "return document.querySelector('dialog [role=alert]').innerText === arguments[0]", "the refusal",
        "The name of a snapshot has at most 512 bytes. Choose a shorter one.",
    )
    check(first.run("return document.querySelector('dialog input').value") == too_long, "what was typed is gone")
    for scheme in ("light", "dark"):
        first.scheme(scheme)
        first.check_contrast(f"a refusal in {scheme}")
        first.picture(f"snapshots-refused-{scheme}")
    first.scheme(None)
    first.run("document.querySelector('dialog input').value = ''")
    first.find("dialog .primary").click()
    rows(first, "a second one, above the first", lambda seen: names(seen) == ["Without a name", NAME])
    first.check_clean(REFUSED)


def test_a_snapshot_of_the_command_line_is_there_when_the_window_is_looked_at(shelf, open_browser):
    shelf.take(NAME)
    first = open_browser(shelf.laptop)
    first.show(f"object/{shelf.album}")
    rows(first, "the first", lambda seen: names(seen) == [NAME])
    shelf.take("By hand")
    first.run("dispatchEvent(new Event('focus'))")
    rows(first, "the second", lambda seen: names(seen) == ["By hand", NAME])
    first.look("snapshots of an object")
    first.check_clean()


def test_a_restore_says_what_it_does_and_is_one_step_to_undo(shelf, open_browser):
    laptop, album, pages, first = shelf.laptop, shelf.album, shelf.pages, open_browser(shelf.laptop)
    [snapshot] = shelf.take(NAME)
    first.show(f"object/{album}")
    first.until("return document.querySelector('.object h1')?.innerText === 'Album'", "the album")
    before = below(laptop, album)
    laptop.run("rm", pages[0])
    laptop.run("set", album, "title=Changed", "extra=1")
    new = laptop.create("page", "title=New", "--parent", album)
    changed = below(laptop, album)
    first.until("return document.querySelector('.object h1')?.innerText === 'Changed'", "the change")
    press(first, snapshot, "Restore")
    first.sees("Restore this snapshot?")
    first.look("the question before a restore")
    said = confirm(first, "Restore this snapshot?")
    for text in (f"{NAME} of Changed, taken ", "the 3 objects below it", "below it since then stay", "Undo takes it"):
        check(text in said, f"“{text}” is not in {said}")
    first.sees(f"Restored: {NAME} of")
    first.sees("1 object created, 1 changed.")
    first.until("return document.querySelector('.object h1')?.innerText === 'Album'", "the name of before")
    restored = {**before, new: changed[new]}
    check(below(laptop, album) == restored, "something else was restored")
    first.button("Undo").click()
    first.sees("Undone: ")
    wait_until(lambda: below(laptop, album) == changed, PATIENCE_SECONDS, "one undo takes all of it back")
    first.button("Redo").click()
    wait_until(lambda: below(laptop, album) == restored, PATIENCE_SECONDS, "one redo does all of it again")
    press(first, snapshot, "Restore")
    confirm(first, "Restore this snapshot?")
    first.sees("Nothing differed from it, and nothing was written.")
    first.picture("snapshots-restored")
    first.check_clean()


def test_a_snapshot_is_saved_as_the_file_that_the_command_line_exports(world, shelf, open_browser):
    laptop, first = shelf.laptop, open_browser(shelf.laptop)
    [snapshot] = shelf.take(NAME)
    folder = world.root / "files"
    folder.mkdir()
    first.show(f"object/{shelf.album}")
    first.driver.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(folder)})
    press(first, snapshot, "Download")
    file = folder / f"Before-b-after-b-{snapshot[:8]}.json"
    exported = laptop.raw("snapshot", "export", snapshot)
    # A browser makes an empty file of the name first.
    wait_until(lambda: file.exists() and file.stat().st_size >= len(exported), PATIENCE_SECONDS, "the file")
    check(file.read_bytes() == exported, "the file is another one")
    check([path.name for path in folder.iterdir()] == [file.name], "the browser saved more")
    first.check_clean()


def test_snapshots_are_not_shown_with_the_past(shelf, open_browser):
    shelf.take(NAME)
    first = open_browser(shelf.laptop)
    first.show(f"object/{shelf.album}")
    rows(first, "it is shown now", lambda seen: len(seen) == 1)
    first.run("document.querySelector('#scrubber').focus()")
    first.keys(Keys.HOME)
    rows(first, "none in the past", lambda seen: seen == [])
    first.keys(Keys.END)
    rows(first, "all of them now", lambda seen: len(seen) == 1)
    first.check_clean()


def test_a_file_is_imported_on_another_machine_and_a_wrong_one_is_refused(world, shelf, open_browser):
    laptop, album, phone = shelf.laptop, shelf.album, world.peer("phone")
    [snapshot] = shelf.take(NAME)
    folder = world.root / "files"
    folder.mkdir()
    file = folder / "snapshot.json"
    laptop.run("snapshot", "export", snapshot, file)
    pair(laptop, phone)
    phone.start(peers=[laptop.address])
    wait_until(lambda: album in phone.objects(), PATIENCE_SECONDS, "the album is on the phone")
    second = open_browser(phone)
    second.show("history")
    second.button("Snapshots").click()
    second.until("return document.querySelector('main h1')?.innerText === 'Snapshots'", "the page of all")
    check(second.run("return document.activeElement.tagName") == "H1", "a new page begins at its heading")
    second.sees("No snapshots")
    second.check_names("a page without snapshots")
    second.picture("snapshots-none")
    import_file(second, file)
    [row] = rows(second, "the imported one", lambda seen: names(seen) == [NAME])
    check((row["id"], row["object"]) == (snapshot, album), f"the imported one: {row}")
    second.sees(f"Imported: {NAME} of Album")
    second.sees("Nothing changes until it is restored.")
    import_file(second, file)
    second.sees(f"It is here already: {NAME} of Album")
    (folder / "words.json").write_text("[1]")
    import_file(second, folder / "words.json")
    refuses(second, "Choose a file that was made by exporting a snapshot.")
    with open(folder / "large.json", "wb") as large:
        large.truncate(33 * MEBIBYTE)
    import_file(second, folder / "large.json")
    refuses(second, "This file has more than 32 MiB, so it is no snapshot.")
    check(len(phone.json("snapshot", "list")) == 1, "something else was imported")
    second.check_clean(REFUSED)


def test_a_deleted_object_is_brought_back_by_a_snapshot(shelf, open_browser):
    laptop, album, pages, first = shelf.laptop, shelf.album, shelf.pages, open_browser(shelf.laptop)
    shelf.take(NAME, "By hand")
    first.show(f"object/{album}")
    first.until("return document.querySelector('.object h1')?.innerText === 'Album'", "the album")
    before = below(laptop, album)
    laptop.run("rm", shelf.id)
    first.until("return document.querySelector('.object h1')?.innerText === 'This object does not exist'", "it is gone")
    seen = rows(first, "its snapshots", lambda seen: len(seen) == 2)
    shown = first.run("return [...document.querySelectorAll('button')].filter(e => e.checkVisibility())"
                      ".map(e => e.innerText.trim())")
    check("Take a snapshot" not in shown, "there is nothing to take a snapshot of")
    first.picture("snapshots-deleted")
    first.find(".snapshot-card .hint a").click()
    first.until("return document.querySelector('main .chip')?.innerText === 'deleted'", "that it is deleted")
    check([row["id"] for row in rows(first, "all", len)] == [row["id"] for row in seen], "they are other ones")
    first.look("all snapshots")
    press(first, seen[0]["id"], "Restore")
    said = confirm(first, "Restore this snapshot?")
    check("By hand of Album, taken " in said, f"the name of a deleted object: {said}")
    first.sees("Its former place is gone: it stays where it was, or is at the top level.")
    first.until("return !document.querySelector('main .chip')", "that it is not deleted any more")
    first.find(".card-head h2 a").click()
    first.until("return document.querySelector('.object h1')?.innerText === 'Album'", "the object is back")
    after = below(laptop, album)
    check(after[album][0] is None and pages[0] in after, f"it is not at the top level: {after}")
    check({id: part[1] for id, part in after.items()}.items() <= {id: part[1] for id, part in before.items()}.items(),
          "other values")
    # The page may have asked for what is below the object as it was deleted.
    first.check_clean(but=(f"/api/objects/{album}/children",))


def test_a_snapshot_of_strangers_is_text_and_becomes_objects(world, shelf, open_browser):
    laptop, first, stranger = shelf.laptop, open_browser(shelf.laptop), world.founder("stranger")
    first.show("snapshots")
    evil = stranger.create("item", f"title={HOSTILE}")
    file = world.root / "evil.json"
    stranger.run("snapshot", "export", stranger.run("snapshot", "create", evil, "--name", HOSTILE).strip(), file)
    import_file(first, file)
    first.sees(f"Imported: {HOSTILE[:60]}")
    first.until(
        "return [...document.querySelectorAll('main .chip')].map(e => e.innerText).includes('not in this workspace')",
        "that it is from elsewhere",
    )
    seen = rows(first, "it is the latest", lambda seen: seen and seen[0]["name"] == HOSTILE)
    check(seen[0]["object"] == evil, f"of what it is: {seen}")
    first.look("snapshots of strangers")
    press(first, seen[0]["id"], "Restore")
    confirm(first, "Restore this snapshot?")
    first.sees("1 object created.")
    first.until("return !document.querySelector('main .chip')", "that it is here now")
    check(laptop.json("get", evil)["properties"] == {"title": HOSTILE}, "the object is another one")
    first.check_clean()


def test_a_snapshot_is_deleted_after_a_question_and_the_focus_goes_on(shelf, open_browser):
    laptop, album, first = shelf.laptop, shelf.album, open_browser(shelf.laptop)
    shelf.take(NAME, "Second", "Third")
    first.show(f"object/{album}")
    count = laptop.status()["changes"]
    for left in (2, 1, 0):
        id = rows(first, "those that are left", lambda seen: len(seen) == left + 1)[0]["id"]
        button = first.find(f"li.snapshot[data-id='{id}'] .quiet")
        first.run("arguments[0].focus()", button)
        button.click()
        said = confirm(first, "Delete this snapshot?")
        check("The objects stay as they are." in said, f"what is said: {said}")
        next = rows(first, "one less", lambda seen: len(seen) == left)
        if left > 0:
            where = first.run("return document.activeElement.closest('li')?.dataset.id")
            check(where == next[0]["id"], f"the focus is at {where}")
        else:
            check(first.run(FOCUSED) == "Snapshots", "the focus is lost")
    first.sees("None yet.")
    check(laptop.json("snapshot", "list", album) == [], "the command line has some left")
    check(laptop.status()["changes"] == count, "the objects have changed")
    check(NAME not in first.text(), "it is still named")
    first.check_clean()
