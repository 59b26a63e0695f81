"""Who has access, in the dashboard, in a real browser: an object is shared with a person by a click, and taken away."""

from browser import HOSTILE_NAME, PATIENCE_SECONDS
from peerd_harness import check, wait_until
from test_sharing import invite_person, titles

PEOPLE = """
    return [...document.querySelectorAll(".access li")].map(row => row.innerText.replaceAll("\\n", " "))"""


def test_an_object_is_shared_by_a_click_and_taken_away(world, open_browser):
    laptop = world.founder("laptop")
    items = laptop.create("list", "title=Groceries")
    laptop.start()
    browser = open_browser(laptop)
    browser.show(f"object/{items}")
    browser.sees("Groceries")
    # With nobody else in the workspace there is nothing to say.
    check("Who has access" not in browser.text(), "access is shown to somebody who is alone")

    ann = world.peer("ann-laptop")
    ann.run("join", "--name", ann.name, invite_person(laptop, HOSTILE_NAME), seconds=30.0)
    ann.start(peers=[laptop.address])
    browser.show("objects")
    browser.show(f"object/{items}")
    browser.sees("Who has access")
    browser.shows("the owner", PEOPLE, lambda rows: len(rows) == 1 and "(you) owns it" in rows[0])
    browser.look("access")
    browser.check_names("who has access")
    browser.run("document.querySelector('.access-form select:nth-of-type(2)').value = 'write'")
    browser.button("Share").click()
    rows = browser.shows("the reader", PEOPLE, lambda rows: len(rows) == 2)
    check("writes it" in rows[1] and HOSTILE_NAME[:10] in rows[1], f"{rows}")
    wait_until(lambda: titles(ann) == {"Groceries"}, PATIENCE_SECONDS, "it is shared")
    browser.button("Take away")
    # The list is drawn anew as her machine answers, so it is found and clicked in one go.
    script = "[...document.querySelectorAll('main button')].find(one => one.innerText.startsWith('Take away')).click()"
    browser.run(script)
    browser.shows("nobody else", PEOPLE, lambda rows: len(rows) == 1)
    wait_until(lambda: ann.json("access", items)["has_ended"], PATIENCE_SECONDS, "she is told")
    browser.check_clean()
