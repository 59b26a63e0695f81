#!/usr/bin/env python3
"""Snapshots in the dashboard, in a real browser on two daemons: one is taken by keys, restored after a question,
undone, saved as a file, imported on the other machine and deleted. Those of a deleted object, and of an object of
another workspace, are reached and restored. What the daemon refuses is said in a sentence, where it was asked for.
Names that are HTML stay text, and no page reports an error of its own."""

import re

from browser import HOSTILE, PATIENCE_SECONDS, Browser, needs_chromium, tell_where_pictures_are
from peerd_harness import World, check, main_of_test, say, wait_until

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


def rows(browser, what, fits):
    """Waits until the snapshots that a page shows are as they should be, and returns them."""
    seen = []

    def is_shown():
        seen[:] = browser.run(ROWS)
        return fits(seen)

    try:
        wait_until(is_shown, PATIENCE_SECONDS, f"{browser.peer.name}: {what}")
    except AssertionError:
        say(f"  {browser.peer.name} shows {seen}")
        raise
    return list(seen)


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


def take_by_keys(first, laptop, album):
    from selenium.webdriver import Keys

    say("a snapshot is taken by keys, and is in the list")
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

    say("what is refused is said in the question, and what was typed stays")
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
    seen = rows(first, "a second one, above the first", lambda seen: names(seen) == ["Without a name", NAME])
    return seen[1]["id"], seen[0]["id"]


def see_others(first, laptop, album):
    say("a snapshot of the command line is there when somebody looks at the window again")
    id = laptop.run("snapshot", "create", album, "--name", "By hand").strip()
    first.run("dispatchEvent(new Event('focus'))")
    rows(first, "the third", lambda seen: names(seen) == ["By hand", "Without a name", NAME])
    return id


def restore(first, laptop, phone, album, pages, snapshot):
    say("a restore says what it does, reaches the other machine, and is one step to undo")
    before = below(laptop, album)
    laptop.run("rm", pages[0])
    laptop.run("set", album, "title=Changed", "extra=1")
    new = laptop.create("page", "title=New", "--parent", album)
    changed = below(laptop, album)
    first.until("return document.querySelector('.object h1').innerText === 'Changed'", "the change")
    press(first, snapshot, "Restore")
    first.sees("Restore this snapshot?")
    look_at_dialog(first, "the question before a restore")
    said = confirm(first, "Restore this snapshot?")
    for text in (f"{NAME} of Changed, taken ", "the 3 objects below it", "below it since then stay", "Undo takes it"):
        check(text in said, f"“{text}” is not in {said}")
    first.sees(f"Restored: {NAME} of")
    first.sees("1 object created, 1 changed.")
    first.until("return document.querySelector('.object h1').innerText === 'Album'", "the name of before")
    restored = {**before, new: changed[new]}
    check(below(laptop, album) == restored, "something else was restored")
    wait_until(lambda: phone.export() == laptop.export(), PATIENCE_SECONDS, "the restore at the phone")
    first.button("Undo").click()
    first.sees("Undone: ")
    wait_until(lambda: below(laptop, album) == changed, PATIENCE_SECONDS, "one undo takes all of it back")
    first.button("Redo").click()
    wait_until(lambda: below(laptop, album) == restored, PATIENCE_SECONDS, "one redo does all of it again")
    press(first, snapshot, "Restore")
    confirm(first, "Restore this snapshot?")
    first.sees("Nothing differed from it, and nothing was written.")
    first.picture("snapshots-restored")


def download(first, laptop, folder, snapshot):
    say("a snapshot is saved as a file, the same as that of the command line")
    first.driver.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(folder)})
    press(first, snapshot, "Download")
    file = folder / f"Before-b-after-b-{snapshot[:8]}.json"
    wait_until(file.exists, PATIENCE_SECONDS, f"the file; there are {[path.name for path in folder.iterdir()]}")
    check(file.read_bytes() == laptop.raw("snapshot", "export", snapshot), "the file is another one")
    check([path.name for path in folder.iterdir()] == [file.name], "the browser saved more")
    return file


def look_away(first):
    from selenium.webdriver import Keys

    say("while the past is shown, snapshots are not: they are restored now")
    first.run("document.querySelector('#scrubber').focus()")
    first.keys(Keys.HOME)
    rows(first, "none in the past", lambda seen: seen == [])
    first.keys(Keys.END)
    rows(first, "all of them now", lambda seen: len(seen) == 3)


def import_file(browser, path):
    browser.find("main input[type=file]").send_keys(str(path))


def carry(second, phone, folder, file, album, snapshot):
    say("a file is imported on the other machine, and a wrong one is refused in a sentence")
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


def revive(first, laptop, phone, shelf, album, pages):
    say("the snapshots of a deleted object are on its page, and on that of all; a restore brings it back")
    before = below(laptop, album)
    phone.run("rm", shelf)
    first.until("return document.querySelector('.object h1').innerText === 'This object does not exist'", "it is gone")
    seen = rows(first, "its snapshots", lambda seen: len(seen) == 3)
    shown = first.run("return [...document.querySelectorAll('button')].filter(e => e.checkVisibility())"
                      ".map(e => e.innerText.trim())")
    check("Take a snapshot" not in shown, "there is nothing to take a snapshot of")
    first.picture("snapshots-deleted")
    first.find(".snapshot-card .hint a").click()
    first.until("return document.querySelector('main .chip')?.innerText === 'deleted'", "that it is deleted")
    check([row["id"] for row in rows(first, "all", len)] == [row["id"] for row in seen], "they are other ones")
    look(first, "all snapshots")
    press(first, seen[0]["id"], "Restore")
    said = confirm(first, "Restore this snapshot?")
    check("By hand of Album, taken " in said, f"the name of a deleted object: {said}")
    first.sees("Its former place is gone: it stays where it was, or is at the top level.")
    first.until("return !document.querySelector('main .chip')", "that it is not deleted any more")
    first.find(".card-head h2 a").click()
    first.until("return document.querySelector('.object h1').innerText === 'Album'", "the object is back")
    after = below(laptop, album)
    check(after[album][0] is None and pages[0] in after, f"it is not at the top level: {after}")
    check({id: part[1] for id, part in after.items()}.items() <= {id: part[1] for id, part in before.items()}.items(),
          "other values")


def import_of_strangers(first, laptop, folder, stranger):
    say("a snapshot of another workspace, with names that are HTML, is text, and becomes objects when it is restored")
    evil = stranger.create("item", f"title={HOSTILE}")
    file = folder / "evil.json"
    stranger.run("snapshot", "export", stranger.run("snapshot", "create", evil, "--name", HOSTILE).strip(), file)
    import_file(first, file)
    first.sees(f"Imported: {HOSTILE[:60]}")
    first.show("snapshots")
    first.until(
        "return [...document.querySelectorAll('main .chip')].map(e => e.innerText).includes('not in this workspace')",
        "that it is from elsewhere",
    )
    seen = rows(first, "it is the latest", lambda seen: seen and seen[0]["name"] == HOSTILE)
    check(seen[0]["object"] == evil, f"of what it is: {seen}")
    look(first, "snapshots of strangers")
    press(first, seen[0]["id"], "Restore")
    confirm(first, "Restore this snapshot?")
    first.sees("1 object created.")
    first.until("return !document.querySelector('main .chip')", "that it is here now")
    check(laptop.json("get", evil)["properties"] == {"title": HOSTILE}, "the object is another one")


def delete(first, laptop, album, kept):
    say("a snapshot is deleted after a question; the focus goes to the next one, and then to the heading")
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
    check(kept not in first.text(), "it is still named")


def look_at_dialog(browser, what):
    name = what.replace(" ", "-")
    for scheme in ("light", "dark"):
        browser.scheme(scheme)
        browser.check_contrast(f"{what} in {scheme}")
        for width in (360, 1280):
            browser.size(width)
            browser.until("return innerWidth === arguments[0]", f"a width of {width}", width)
            browser.check_width(f"{what} at {width} pixels")
            browser.picture(f"view-{name}-{scheme}-{width}")
    browser.scheme(None)


def look(browser, what):
    """Names, contrast and width of what is shown, light and dark, narrow and wide."""
    browser.check_names(what)
    look_at_dialog(browser, what)


def run():
    needs_chromium()
    with World("dashboard-snapshots") as world:
        laptop, phone = world.paired("laptop", "phone")
        stranger = world.founder("stranger")
        phone.start()
        laptop.start(peers=[phone.address])
        shelf = laptop.create("shelf", "title=Shelf")
        album = laptop.create("album", "title=Album", "--parent", shelf)
        pages = [laptop.create("page", f"title=Page {number}", "--parent", album) for number in range(3)]
        wait_until(lambda: pages[2] in phone.objects(), PATIENCE_SECONDS, "both machines have all objects")
        first, second = Browser(laptop), Browser(phone)
        world.closers += [first.driver.quit, second.driver.quit]
        folder = world.root / "files"
        folder.mkdir()
        snapshot, _ = take_by_keys(first, laptop, album)
        see_others(first, laptop, album)
        look(first, "snapshots of an object")
        restore(first, laptop, phone, album, pages, snapshot)
        look_away(first)
        file = download(first, laptop, folder, snapshot)
        carry(second, phone, folder, file, album, snapshot)
        revive(first, laptop, phone, shelf, album, pages)
        import_of_strangers(first, laptop, folder, stranger)
        delete(first, laptop, album, NAME)
        for browser in (first, second):
            found = browser.run(
                """return [...document.querySelectorAll("body img:not(.brand img), main script, #report script")]
                     .map(element => element.outerHTML)"""
            )
            check(not found, f"text became an element: {found}")
            told = browser.run("return document.querySelector('#notices').innerText")
            check(told == "", f"the page of {browser.peer.name} reports {told}")
            browser.check_console(REFUSED)
        tell_where_pictures_are()
        for peer in (laptop, phone):
            peer.stop()


if __name__ == "__main__":
    main_of_test(run)
