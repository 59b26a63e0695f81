"""What was taken away, in the dashboard, in a real browser: edits that count nowhere are listed with the reason and
adopted by a click, and a machine that was stolen is removed by the command that a dialog makes."""

import shlex

from browser import HOSTILE, HOSTILE_NAME, PATIENCE_SECONDS
from peerd_harness import check, pair, wait_until
from test_sharing import invite_person, titles

CARDS = """
    return [...document.querySelectorAll(".rejected")].map(card => card.innerText.replaceAll("\\n", " "))"""
MACHINES = "return [...document.querySelectorAll('.cards h2')].map(title => title.innerText)"
COMMAND = "return document.querySelector('dialog .command')?.innerText ?? ''"
REPORT = "return document.querySelector('main [role=status]').innerText"
FOCUSED = "return document.activeElement.innerText?.trim()"


def run_shown(browser, peer):
    """Runs the command that a dialog shows, as its user would in a terminal."""
    words = shlex.split(browser.run(COMMAND))
    check(words[:3] == ["peerd", "peers", "remove"], f"the dialog shows {words}")
    return peer.json(*words[1:])


def remove_button(browser, name):
    script = """
        return [...document.querySelectorAll(".cards li")]
            .find(card => card.querySelector("h2").innerText === arguments[0])?.querySelector(".card-foot button")"""
    return browser.until(script, f"the button that removes {name}", name)


def test_rejected_edits_are_listed_with_the_reason_and_adopted(world, open_browser):
    laptop = world.founder("laptop")
    laptop.start()
    ann = world.peer("ann-laptop")
    ann.run("join", "--name", HOSTILE_NAME, invite_person(laptop, "ann"), seconds=30.0)
    ann.start(peers=[laptop.address])
    items = laptop.create("list", "title=Groceries")
    task = laptop.create("task", "title=Milk", "--parent", items)
    wait_until(lambda: any(user["name"] == "ann" for user in laptop.json("users")), PATIENCE_SECONDS, "ann is known")
    laptop.run("share", items, "ann", "--write")
    wait_until(lambda: titles(ann) == {"Groceries", "Milk"}, PATIENCE_SECONDS, "the list is there")
    browser = open_browser(laptop)
    browser.show("conflicts")
    browser.sees("No conflicts")
    check("Rejected edits" not in browser.text(), "a tray is shown that is empty")

    # She writes apart while the list is taken from her. The tray shows by itself once she is back.
    ann.stop()
    ann.run("set", task, f"title={HOSTILE}")
    ann.run("set", task, "amount=9007199254740993")
    bread = ann.create("task", "title=Bread", "--parent", items)
    laptop.run("unshare", items, "ann")
    ann.start(peers=[laptop.address])
    browser.button("Rejected edits (3)").click()
    rows = browser.shows("her edits", CARDS, lambda rows: len(rows) == 3)
    check(all("ann on " in row and "The right was taken away" in row for row in rows), f"{rows}")
    check(HOSTILE[:20] in rows[0] and "9007199254740993" in rows[1] and "created as task" in rows[2], f"{rows}")
    browser.look("rejected edits")

    # Adopted, the edit is the laptop's own; the others stay what they are.
    browser.button("Adopt", nth=2).click()
    browser.sees("of it are yours now")
    wait_until(lambda: bread in laptop.objects(), PATIENCE_SECONDS, "the task is there")
    rows = browser.shows("what was adopted", CARDS, lambda rows: "Adopted" in rows[2])
    check("Adopt" in rows[0].split() and browser.run(FOCUSED) == "Adopted", f"{rows} {browser.run(FOCUSED)}")
    check(titles(laptop) == {"Groceries", "Milk", "Bread"}, f"{titles(laptop)}")

    # Only one's own: there are none. A further one shows by itself.
    browser.run("""
        const select = document.querySelector("main select");
        select.value = [...select.options].find(option => option.text === "you").value;
        select.dispatchEvent(new Event("change"))""")
    browser.sees("No rejected edits")
    browser.run("""
        const select = document.querySelector("main select");
        select.value = "";
        select.dispatchEvent(new Event("change"))""")
    browser.shows("all of them", CARDS, lambda rows: len(rows) == 3)
    browser.check_clean()

    # Whoever wrote them is told, and sees them, too. What she does not see is gone for her, and when she may read it
    # again she may not adopt what she may not write.
    hers = open_browser(ann)
    hers.show("rejected")
    hers.shows("her own edits", CARDS, lambda rows: len(rows) == 3 and all(row.startswith("You on") for row in rows))
    hers.button("Adopt").click()
    hers.sees("what is gone stays gone")
    laptop.run("share", items, "ann")
    wait_until(lambda: "Groceries" in titles(ann), PATIENCE_SECONDS, "she reads the list again")
    hers.button("Adopt").click()
    hers.sees("may not")
    hers.check_console(but=("403 (",))


def test_a_machine_is_removed_by_the_command_of_a_dialog(world, open_browser):
    laptop = world.founder("laptop")
    laptop.start()
    phone, tablet, watch = world.peer("phone"), world.peer("tablet"), world.peer("watch")
    phone.name = HOSTILE_NAME
    pair(laptop, phone)
    phone.start(peers=[laptop.address])
    pair(phone, tablet)
    tablet.start(peers=[laptop.address, phone.address])
    browser = open_browser(laptop)
    browser.show("peers")
    browser.shows("two machines", MACHINES, lambda names: sorted(names) == sorted([HOSTILE_NAME, "tablet"]))
    browser.check_names("machines")
    remove_button(browser, HOSTILE_NAME).click()
    browser.sees("Joined through it, and stays")
    device = next(peer["device"] for peer in laptop.json("peers") if peer["name"] == HOSTILE_NAME)
    check(browser.run(COMMAND) == f"peerd peers remove {device[:16]} --with-invited", browser.run(COMMAND))
    browser.look("removal of a machine")

    # What joins meanwhile is to choose from, too; what has joined through one that stays, stays.
    pair(tablet, watch)
    watch.start(peers=[laptop.address])
    browser.until("return document.querySelectorAll('dialog input[type=checkbox]').length === 2", "the watch")
    boxes = """
        return Object.fromEntries([...document.querySelectorAll("dialog .keep")]
            .map(row => [row.innerText, [row.firstChild.checked, row.firstChild.disabled]]))"""
    browser.run("[...document.querySelectorAll('dialog .keep')].find(row => row.innerText === 'tablet').click()")
    check(browser.run(boxes) == {"tablet": [True, False], "watch": [True, True]}, f"{browser.run(boxes)}")
    kept = next(peer["device"] for peer in laptop.json("peers") if peer["name"] == "tablet")
    check(browser.run(COMMAND) == f"peerd peers remove {device[:16]} --keep {kept[:16]}", browser.run(COMMAND))
    browser.run("""
        const since = document.querySelector("dialog input[type=datetime-local]");
        since.value = "2036-03-01T14:30:00";
        since.dispatchEvent(new Event("input"))""")
    check("--since 2036-0" in browser.run(COMMAND), browser.run(COMMAND))

    # The page of a machine that joined through another one says what to do first.
    below = open_browser(tablet)
    below.show("peers")
    remove_button(below, "laptop").click()
    below.sees("peerd recover")
    check(below.run(COMMAND) == "", "a command is shown that will be refused")
    below.check_contrast("a machine that cannot be removed")

    removal = run_shown(browser, laptop)
    check([machine["id"] for machine in removal["removed"]] == [device], f"{removal}")
    browser.until("return document.querySelector('dialog') === null", "the dialog ends")
    browser.shows("those that stay", MACHINES, lambda names: sorted(names) == ["tablet", "watch"])
    check("is not on the list any more" in browser.run(REPORT), browser.run(REPORT))
    browser.check_clean()
    below.check_clean()


def test_no_page_removes_a_machine(world, open_browser):
    laptop, phone = world.paired("laptop", "phone")
    laptop.start()
    browser = open_browser(laptop)
    code = browser.driver.execute_async_script("""
        const [done] = arguments;
        fetch("/api/peers/phone/removal", { method: "POST" })
          .then(answer => answer.json()).then(({ code }) => done(code), () => done("failed"))""")
    check(code == "only-over-socket", f"a page may remove a machine: {code}")
    check([peer["name"] for peer in laptop.json("peers")] == ["phone"], f"{laptop.json('peers')}")
    browser.check_console(but=("422 (",))
