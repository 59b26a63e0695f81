"""Branches in the dashboard, in a real browser: they are created, compared with what they leave, merged, brought up to
date and deleted. Numbers stay exact, and names and values that are HTML stay text."""

import pytest

from browser import HOSTILE, HOSTILE_NAME, PATIENCE_SECONDS, Keys, paired_with_hostile
from peerd_harness import DaemonSocket, check, wait_until

LARGE, LARGER = 2**53, 2**53 + 1
OUTER, INNER = "Try & <b>out</b>", HOSTILE_NAME
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



class Machines:
    """Two machines that are connected, with two objects on both."""

    def __init__(self, world):
        self.laptop, self.phone = paired_with_hostile(world)
        self.phone.start()
        self.laptop.start(peers=[self.phone.address])
        self.milk = self.laptop.create("item", "title=Milk")
        self.bread = self.laptop.create("item", "title=Bread")
        wait_until(lambda: self.bread in self.phone.objects(), PATIENCE_SECONDS, "both machines have both objects")

    def edit(self, peer, branch):
        """Edits the objects on a branch, and creates a third one; returns that."""
        with DaemonSocket(peer) as api:
            api.ask("PATCH", f"/api/objects/{self.milk}?branch={branch}", {"properties": {"title": "Oat", "n": LARGER}})
            api.ask("POST", f"/api/objects/{self.bread}/move?branch={branch}", {"parent": self.milk})
            new = {"type": "item", "properties": {"title": HOSTILE}}
            return api.ask("POST", f"/api/objects?branch={branch}", new)["id"]


@pytest.fixture
def machines(world):
    return Machines(world)


def create_branch(peer, name=OUTER, parent=None):
    with DaemonSocket(peer) as api:
        return api.ask("POST", "/api/branches", {"name": name, "parent": parent})["id"]


def test_a_branch_is_created_by_keys_and_seen_on_the_other_machine(machines, open_browser):
    first, second = open_browser(machines.laptop), open_browser(machines.phone)
    for browser in (first, second):
        browser.show("branches")
        browser.sees("No branches")
    first.run("document.querySelector('main .primary').focus()")
    first.keys(Keys.ENTER)
    first.find("dialog[open] input")
    first.picture("branches-new")
    first.check_names("the question for a branch")
    first.keys(OUTER, Keys.ENTER)
    first.until("return document.querySelector('main h1')?.innerText === arguments[0]", "the page of the branch", OUTER)
    first.sees("Both sides are the same.")
    first.sees("Nothing was changed on both sides.")
    check(first.run("return document.activeElement.tagName") == "H1", "a new page begins at its heading")
    seen = second.shows("the branch", CARDS, lambda seen: OUTER in seen)[OUTER]
    check(seen["state"] == "Nothing to merge" and seen["leaves"] == "the main timeline", f"the branch: {seen}")
    for browser in (first, second):
        browser.check_clean()


def test_both_sides_of_a_branch_are_shown_live_and_conflicts_first(machines, open_browser):
    laptop, phone, milk, bread = machines.laptop, machines.phone, machines.milk, machines.bread
    branch = create_branch(laptop)
    first = open_browser(laptop)
    first.show(f"branch/{branch}")
    first.sees("Both sides are the same.")
    wait_until(lambda: OUTER in phone.run("branch", "list"), PATIENCE_SECONDS, "the branch is on the phone")
    new = machines.edit(phone, branch)
    # The name of a place is read behind the rest.
    seen = first.shows(
        "the edits of the branch", SIDES, lambda seen: {milk, bread, new} == set(seen)
        and seen[bread]["rows"] == {"(its place)": ["Oat", "the top level"]}, DIFFERENCES,
    )
    check(seen[milk]["rows"] == {"title": ["Oat", "Milk"], "n": [str(LARGER), "not set"]}, f"by property: {seen}")
    check(seen[milk]["columns"] == ["Property", OUTER, "the main timeline"], f"columns: {seen}")
    check(seen[new]["title"].startswith(HOSTILE[:30]) and "only on the branch" in seen[new]["title"], f"new: {seen}")
    check(seen[new]["rows"] == {"title": [HOSTILE, "no such object"]}, f"new: {seen}")
    check(first.run(SIDES, CONFLICTS) == {}, "there are no conflicts yet")
    check(new not in phone.objects(), "an edit on a branch shows on the main timeline")

    phone.run("set", milk, "title=Soy", f"n={LARGE}")
    seen = first.shows(
        "the conflicts", SIDES, lambda seen: milk in seen and len(seen[milk]["rows"]) == 2, CONFLICTS
    )
    check(seen[milk]["rows"] == {"title": ["Oat", "Soy"], "n": [str(LARGER), str(LARGE)]}, f"conflicts: {seen}")
    check(list(seen) == [milk], f"only what both sides changed is a conflict: {seen}")
    first.sees("2 conflicts")
    above = first.run(
        """const [conflicts, merge] = [document.querySelector(".comparison"), document.querySelector("main .primary")];
           return conflicts.compareDocumentPosition(merge) & Node.DOCUMENT_POSITION_FOLLOWING"""
    )
    check(above, "the button to merge stands before the conflicts")
    first.look("a branch")
    first.check_clean()


def test_a_branch_of_a_branch_goes_back_to_it(machines, open_browser):
    from selenium.webdriver.support.ui import Select

    laptop, milk = machines.laptop, machines.milk
    outer = create_branch(laptop)
    machines.edit(laptop, outer)
    inner = create_branch(laptop, INNER, outer)
    with DaemonSocket(laptop) as api:
        api.ask("PATCH", f"/api/objects/{milk}?branch={inner}", {"properties": {"inner": True}})
    first = open_browser(laptop)
    first.show("branches")
    seen = first.shows("both branches", CARDS, lambda seen: seen[INNER]["state"] == "1 not merged")
    check(seen[INNER]["leaves"] == OUTER, f"what it leaves: {seen}")
    first.look("branches")
    first.show(f"branch/{inner}")
    seen = first.shows("the inner edit", SIDES, lambda seen: list(seen) == [milk], DIFFERENCES)
    check(seen[milk]["rows"] == {"inner": ["yes", "not set"]}, f"against the outer branch: {seen}")
    choice = Select(first.find("main select"))
    check(choice.first_selected_option.text == OUTER, "it goes where it came from")
    choice.select_by_visible_text("the main timeline")
    first.shows("against the main timeline", SIDES, lambda seen: len(seen) == 3, DIFFERENCES)
    Select(first.find("main select")).select_by_visible_text(OUTER)
    first.shows("against the branch again", SIDES, lambda seen: list(seen) == [milk], DIFFERENCES)
    first.button(f"Merge into {OUTER}").click()
    first.sees(f"is merged into {OUTER}.")
    first.sees("Both sides are the same.")
    check("inner" not in laptop.json("get", milk)["properties"], "it went to the main timeline")
    first.show("branches")
    first.shows("nothing is left to merge", CARDS, lambda seen: seen[INNER]["state"] == "Nothing to merge")
    first.check_clean()


def test_a_branch_takes_in_what_is_new_on_the_main_timeline(machines, open_browser):
    branch = create_branch(machines.laptop)
    machines.edit(machines.laptop, branch)
    late = machines.laptop.create("item", "title=Late")
    first = open_browser(machines.laptop)
    first.show(f"branch/{branch}")
    seen = first.shows("what is new there", SIDES, lambda seen: late in seen, DIFFERENCES)
    check("only on the main timeline" in seen[late]["title"], f"new on the main timeline: {seen}")
    first.button("Bring up to date").click()
    first.sees("has what is new on the main timeline.")
    first.shows("it has that", SIDES, lambda seen: late not in seen and len(seen) > 0, DIFFERENCES)
    first.button("Bring up to date").click()
    first.sees("There was nothing new")
    first.check_clean()


def test_a_click_merges_a_branch_with_conflicts(machines, open_browser):
    laptop, milk = machines.laptop, machines.milk
    branch = create_branch(laptop)
    laptop.run("set", milk, "title=Soy", f"n={LARGE}")
    # The later values: they count after the merge.
    new = machines.edit(laptop, branch)
    first = open_browser(laptop)
    first.show(f"branch/{branch}")
    first.shows("the conflicts", SIDES, lambda seen: list(seen) == [milk], CONFLICTS)
    first.button("Merge into the main timeline").click()
    first.sees("is merged into the main timeline.")
    first.sees("Both sides are the same.")
    first.picture("branches-merged")
    check(new in laptop.objects(), "what was new is not on the main timeline")
    first.show("branches")
    seen = first.shows("it is merged", CARDS, lambda seen: seen[OUTER]["state"] == "Nothing to merge")
    check(branch in seen[OUTER]["href"], "a merged branch stays")
    first.check_clean()


def test_a_branch_is_deleted_after_a_question_on_all_machines(machines, open_browser):
    laptop = machines.laptop
    inner = create_branch(laptop, INNER, create_branch(laptop))
    with DaemonSocket(laptop) as api:
        api.ask("POST", f"/api/objects?branch={inner}", {"type": "item", "properties": {}})
    first, second = open_browser(laptop), open_browser(machines.phone)
    first.show("branches")
    first.shows("an edit that is not merged", CARDS, lambda seen: seen[INNER]["state"] == "1 not merged")
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
        browser.shows("the other branch is left", CARDS, lambda seen: list(seen) == [OUTER])
    check(first.run("return location.hash") == "#/branches", "after a deletion the list is shown")
    for browser in (first, second):
        browser.check_clean()
