#!/usr/bin/env python3
"""Branches in the dashboard, in a real browser on two daemons: one is created by keys, seen on the other machine, shown
side by side with what it leaves, merged after its conflicts were listed, brought up to date, and deleted; a branch of a
branch goes back to it. Numbers stay exact, names and values that are HTML stay text, and no page reports an error."""

from browser import HOSTILE, PATIENCE_SECONDS, Browser, needs_chromium, tell_where_pictures_are
from peerd_harness import DaemonSocket, World, check, main_of_test, say, wait_until

LARGE, LARGER = 2**53, 2**53 + 1
# The name of a branch, as much as a card shows of it.
INNER = HOSTILE[:60]
CARDS = """
    return Object.fromEntries([...document.querySelectorAll("main li.card")].map(card => [
      card.querySelector("h2").innerText, { state: card.querySelector(".chip").innerText,
        leaves: card.querySelector("dd").innerText, href: card.querySelector("h2 a").getAttribute("href") }]))"""
# What one part of a branch's page shows: by object, its heading, and each property as [branch, target].
SIDES = """
    const group = document.querySelector(`.comparison[aria-label="${arguments[0]}"]`);
    if (!group?.checkVisibility()) return {};
    return Object.fromEntries([...group.querySelectorAll(".compared")].map(part => [part.dataset.id, {
      title: part.querySelector("h3").innerText,
      columns: [...part.querySelectorAll("thead th")].map(cell => cell.innerText),
      rows: Object.fromEntries([...part.querySelectorAll("tbody tr")].map(row => [
        row.querySelector("th").innerText, [...row.querySelectorAll("td")].map(cell => cell.innerText)])) }]))"""
DIFFERENCES, CONFLICTS = "Differences", "Changed on both sides"


def shows(browser, what, read, fits):
    """Waits until what a script reads is as it should be, and returns it."""
    seen = []

    def is_shown():
        seen[:] = [read()]
        return fits(seen[0])

    try:
        wait_until(is_shown, PATIENCE_SECONDS, f"{browser.peer.name}: {what}")
    except AssertionError:
        say(f"  {browser.peer.name} shows {seen}")
        raise
    return seen[0]


def cards(browser, what, fits):
    return shows(browser, what, lambda: browser.run(CARDS), fits)


def sides(browser, part, what, fits):
    return shows(browser, what, lambda: browser.run(SIDES, part), fits)


def create_by_keys(first, second):
    from selenium.webdriver import Keys

    say("a branch is created by keys, and is on the other machine")
    for browser in (first, second):
        browser.show("branches")
        browser.sees("No branches")
    first.run("document.querySelector('main .primary').focus()")
    first.keys(Keys.ENTER)
    first.find("dialog[open] input")
    first.picture("branches-new")
    first.check_names("the question for a branch")
    first.keys("Try & <b>out</b>", Keys.ENTER)
    first.until("return document.querySelector('main h1')?.innerText === 'Try & <b>out</b>'", "the page of the branch")
    first.sees("Both sides are the same.")
    first.sees("Nothing was changed on both sides.")
    check(first.run("return document.activeElement.tagName") == "H1", "a new page begins at its heading")
    seen = cards(second, "the branch", lambda seen: "Try & <b>out</b>" in seen)["Try & <b>out</b>"]
    check(seen["state"] == "Nothing to merge" and seen["leaves"] == "the main timeline", f"the branch: {seen}")
    return seen["href"].removeprefix("#/branch/")


def compare(first, laptop, phone, branch, milk, bread):
    say("both sides are shown beside each other, live, and conflicts are listed first")
    with DaemonSocket(phone) as api:
        api.ask("PATCH", f"/api/objects/{milk}?branch={branch}", {"properties": {"title": "Oat", "n": LARGER}})
        api.ask("POST", f"/api/objects/{bread}/move?branch={branch}", {"parent": milk})
        new = api.ask("POST", f"/api/objects?branch={branch}", {"type": "item", "properties": {"title": HOSTILE}})["id"]
    # The name of a place is read behind the rest.
    seen = sides(
        first, DIFFERENCES, "the edits of the branch", lambda seen: {milk, bread, new} == set(seen)
        and seen[bread]["rows"] == {"(its place)": ["Oat", "the top level"]},
    )
    check(seen[milk]["rows"] == {"title": ["Oat", "Milk"], "n": [str(LARGER), "not set"]}, f"by property: {seen}")
    check(seen[milk]["columns"] == ["Property", "Try & <b>out</b>", "the main timeline"], f"columns: {seen}")
    check(seen[new]["title"].startswith(HOSTILE[:30]) and "only on the branch" in seen[new]["title"], f"new: {seen}")
    check(seen[new]["rows"] == {"title": [HOSTILE, "no such object"]}, f"new: {seen}")
    check(first.run(SIDES, CONFLICTS) == {}, "there are no conflicts yet")
    check(new not in phone.objects(), "an edit on a branch shows on the main timeline")

    phone.run("set", milk, "title=Soy", f"n={LARGE}")
    seen = sides(first, CONFLICTS, "the conflicts", lambda seen: milk in seen and len(seen[milk]["rows"]) == 2)
    check(seen[milk]["rows"] == {"title": ["Oat", "Soy"], "n": [str(LARGER), str(LARGE)]}, f"conflicts: {seen}")
    check(list(seen) == [milk], f"only what both sides changed is a conflict: {seen}")
    first.sees("2 conflicts")
    above = first.run(
        """const [conflicts, merge] = [document.querySelector(".comparison"), document.querySelector("main .primary")];
           return conflicts.compareDocumentPosition(merge) & Node.DOCUMENT_POSITION_FOLLOWING"""
    )
    check(above, "the button to merge stands before the conflicts")
    look(first, "a branch")
    return new


def use_a_branch_of_a_branch(first, second, laptop, phone, branch, milk):
    from selenium.webdriver.support.ui import Select

    say("a branch of a branch is compared with, and merged into, the one that it leaves")
    with DaemonSocket(laptop) as api:
        inner = api.ask("POST", "/api/branches", {"name": INNER, "parent": branch})["id"]
        api.ask("PATCH", f"/api/objects/{milk}?branch={inner}", {"properties": {"inner": True}})
    second.show("branches")
    seen = cards(second, "both branches", lambda seen: seen.get(INNER, {}).get("state") == "1 not merged")
    check(seen[INNER]["leaves"] == "Try & <b>out</b>", f"what it leaves: {seen}")
    look(second, "branches")
    first.show(f"branch/{inner}")
    seen = sides(first, DIFFERENCES, "the inner edit", lambda seen: list(seen) == [milk])
    check(seen[milk]["rows"] == {"inner": ["yes", "not set"]}, f"against the outer branch: {seen}")
    choice = Select(first.find("main select"))
    check(choice.first_selected_option.text == "Try & <b>out</b>", "it goes where it came from")
    choice.select_by_visible_text("the main timeline")
    sides(first, DIFFERENCES, "against the main timeline", lambda seen: len(seen) == 3)
    Select(first.find("main select")).select_by_visible_text("Try & <b>out</b>")
    sides(first, DIFFERENCES, "against the branch again", lambda seen: list(seen) == [milk])
    first.button("Merge into Try & <b>out</b>").click()
    first.sees("is merged into Try & <b>out</b>.")
    first.sees("Both sides are the same.")
    check("inner" not in laptop.json("get", milk)["properties"], "it went to the main timeline")
    cards(second, "nothing is left to merge", lambda seen: seen[INNER]["state"] == "Nothing to merge")
    return inner


def bring_up_to_date(first, laptop, branch):
    say("a branch takes in what is new on the main timeline")
    late = laptop.create("item", "title=Late")
    first.show(f"branch/{branch}")
    seen = sides(first, DIFFERENCES, "what is new there", lambda seen: late in seen)
    check("only on the main timeline" in seen[late]["title"], f"new on the main timeline: {seen}")
    first.button("Bring up to date").click()
    first.sees("has what is new on the main timeline.")
    sides(first, DIFFERENCES, "it has that", lambda seen: late not in seen and len(seen) > 0)
    first.button("Bring up to date").click()
    first.sees("There was nothing new")


def merge(first, second, laptop, phone, branch, new):
    say("a click merges, everywhere")
    first.button("Merge into the main timeline").click()
    first.sees("is merged into the main timeline.")
    first.sees("Both sides are the same.")
    first.picture("branches-merged")
    wait_until(lambda: new in phone.objects(), PATIENCE_SECONDS, "what was new is on the other machine")
    wait_until(lambda: laptop.export() == phone.export(), PATIENCE_SECONDS, "both export the same")
    seen = cards(second, "it is merged", lambda seen: seen["Try & <b>out</b>"]["state"] == "Nothing to merge")
    check(branch in seen["Try & <b>out</b>"]["href"], "a merged branch stays")


def delete(first, second, laptop, branch, inner):
    say("a branch is deleted after a question, on all machines")
    with DaemonSocket(laptop) as api:
        api.ask("POST", f"/api/objects?branch={inner}", {"type": "item", "properties": {}})
    first.show("branches")
    cards(first, "an edit that is not merged", lambda seen: seen[INNER]["state"] == "1 not merged")
    first.find(f"a[href='#/branch/{inner}']")
    first.run(
        "[...document.querySelectorAll('main li.card')].find(card => card.querySelector(arguments[0]))"
        ".querySelector('button').click()", f"a[href='#/branch/{inner}']",
    )
    first.sees("1 transaction of it is not merged.")
    first.check_names("the question before a branch is deleted")
    first.button("Cancel").click()
    first.show(f"branch/{inner}")
    first.sees("1 not merged")
    second.show(f"branch/{inner}")
    second.sees("1 not merged")
    first.button("Delete").click()
    first.find("dialog button.danger").click()
    second.sees("There is no such branch")
    second.show("branches")
    for browser in (first, second):
        cards(browser, "the other branch is left", lambda seen: list(seen) == ["Try & <b>out</b>"])
    check(first.run("return location.hash") == "#/branches", "after a deletion the list is shown")


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
    with World("dashboard-branches") as world:
        laptop, phone = world.paired("laptop", HOSTILE[:60])
        phone.start()
        laptop.start(peers=[phone.address])
        milk = laptop.create("item", "title=Milk")
        bread = laptop.create("item", "title=Bread")
        wait_until(lambda: bread in phone.objects(), PATIENCE_SECONDS, "both machines have both objects")
        first, second = Browser(laptop), Browser(phone)
        world.closers += [first.driver.quit, second.driver.quit]
        branch = create_by_keys(first, second)
        new = compare(first, laptop, phone, branch, milk, bread)
        inner = use_a_branch_of_a_branch(first, second, laptop, phone, branch, milk)
        bring_up_to_date(first, laptop, branch)
        second.show("branches")
        merge(first, second, laptop, phone, branch, new)
        delete(first, second, laptop, branch, inner)
        for browser in (first, second):
            found = browser.run(
                """return [...document.querySelectorAll("body img:not(.brand img), main script, #report script")]
                     .map(element => element.outerHTML)"""
            )
            check(not found, f"text became an element: {found}")
            told = browser.run("return document.querySelector('#notices').innerText")
            check(told == "", f"the page of {browser.peer.name} reports {told}")
            browser.check_console()
        tell_where_pictures_are()
        for peer in (laptop, phone):
            peer.stop()


if __name__ == "__main__":
    main_of_test(run)
