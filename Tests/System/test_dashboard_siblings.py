"""Ten thousand siblings in the tree of the dashboard, in a real browser: every step of a scroll through all of them
shows what belongs there, and only the rows around it are in the document."""

import json

import pytest

from browser import PATIENCE_SECONDS, Keys
from peerd_harness import check, say, wait_until

SIBLINGS = 10_000
# Rows in sight at 800 pixels, as many again beside them, and the active one.
ROWS_MAX = 60
# Scrolls through the list by nearly what is in sight, and looks at each step twice: after two frames, which is what a
# user sees while he scrolls, and when all rows are there.
SCROLL = """
    const done = arguments[arguments.length - 1];
    (async () => {
      const tree = document.querySelector("[role=tree]");
      const frame = () => new Promise(requestAnimationFrame);
      const longTasks = [];
      new PerformanceObserver(list => longTasks.push(...list.getEntries().map(entry => Math.round(entry.duration))))
        .observe({ type: "longtask" });
      const seen = { steps: 0, late: 0, wrong: [], rowsMax: 0, first: null, last: null };
      const rowsInSight = () => {
        const { top, bottom } = tree.getBoundingClientRect();
        return [...tree.querySelectorAll(".tree-row")].map(row => [row, row.getBoundingClientRect()])
          .filter(([, box]) => box.bottom > top + 8 && box.top < bottom - 8)
          .sort(([, a], [, b]) => a.top - b.top).map(([row]) => row);
      };
      const expected = () => Math.ceil((tree.clientHeight - 16) / 32) - 1;
      for (tree.scrollTop = 0; ; tree.scrollTop += tree.clientHeight - 64) {
        await frame();
        await frame();
        seen.steps++;
        seen.rowsMax = Math.max(seen.rowsMax, tree.querySelectorAll(".tree-row").length);
        let rows = rowsInSight();
        if (rows.some(row => row.classList.contains("gap"))) seen.late++;
        for (let waits = 0; rows.some(row => row.classList.contains("gap")) && waits < 600; waits++) {
          await frame();
          rows = rowsInSight();
        }
        const names = rows.map(row => row.querySelector(".name")?.innerText ?? "nothing");
        const numbers = names.filter(name => name.startsWith("Sibling ")).map(name => Number(name.slice(8)));
        const inOrder = numbers.every((number, index) => index === 0 || number === numbers[index - 1] + 1);
        const follows = numbers.length === 0 || seen.last === null || numbers[0] <= seen.last + 1;
        if (rows.length < expected() || names.includes("nothing") || !inOrder || !follows) seen.wrong.push(names);
        seen.first ??= numbers[0];
        seen.last = numbers.at(-1) ?? seen.last;
        if (tree.scrollTop + tree.clientHeight >= tree.scrollHeight - 1) break;
      }
      await frame();
      return { ...seen, longTasks };
    })().then(done, error => done({ error: String(error) }))"""



@pytest.fixture
def laptop(world):
    """A machine with one list and ten thousand items in it."""
    laptop = world.founder("laptop")
    laptop.list = laptop.create("list", "title=All of them")
    objects = [
        {"type": "item", "parent": laptop.list, "properties": {"title": f"Sibling {number}"}}
        for number in range(1, SIBLINGS + 1)
    ]
    laptop.result("import", "-", stdin=json.dumps(objects).encode()).check_returncode()
    laptop.start()
    return laptop


@pytest.fixture
def browser(laptop, open_browser):
    """The tree, with the list expanded and the focus in it."""
    browser = open_browser(laptop)
    browser.driver.set_script_timeout(300)
    browser.sees("10,000")
    browser.run("arguments[0].focus()", browser.find("[role=tree]"))
    browser.keys(Keys.HOME, Keys.ARROW_RIGHT)
    browser.sees("Sibling 5")
    return browser


def test_every_step_of_a_scroll_through_ten_thousand_siblings_shows_what_belongs_there(browser):
    seen = browser.driver.execute_async_script(SCROLL)
    check("error" not in seen, f"the scroll failed: {seen}")
    check(seen["first"] == 1 and seen["last"] == SIBLINGS, f"from {seen['first']} to {seen['last']}")
    check(not seen["wrong"], f"{len(seen['wrong'])} steps show something else: {seen['wrong'][:2]}")
    check(seen["rowsMax"] <= ROWS_MAX, f"{seen['rowsMax']} rows are in the document")
    longest = f", the longest of {max(seen['longTasks'])} ms" if seen["longTasks"] else ""
    say(
        f"  {seen['steps']} steps, {seen['late']} of which waited for a page; at most {seen['rowsMax']} rows in "
        f"the document; {len(seen['longTasks'])} tasks of more than 50 ms{longest}"
    )
    browser.picture("siblings")
    browser.check_names("a tree of ten thousand")
    browser.check_clean()


def test_keys_reach_both_ends_of_ten_thousand_siblings_and_changes_are_live(laptop, browser):
    for key, name in ((Keys.HOME, "All of them"), (Keys.END, f"Sibling {SIBLINGS}")):
        browser.keys(key)
        browser.until(
            """const row = document.getElementById(document.activeElement.getAttribute("aria-activedescendant"));
               return row?.getAttribute("aria-label").startsWith(arguments[0] + ",")""",
            f"the active row is {name}", name,
        )
    last = next(item["id"] for item in laptop.objects().values()
                if item["properties"].get("title") == f"Sibling {SIBLINGS}")
    laptop.run("set", last, "title=The last one")
    browser.sees("The last one")
    added = laptop.create("item", "title=One more", "--parent", laptop.list)
    browser.sees("One more")
    laptop.run("rm", added)
    browser.sees_no_more("One more")
    wait_until(
        lambda: browser.run("return document.querySelectorAll('.tree-row').length") <= ROWS_MAX,
        PATIENCE_SECONDS, "still a window of rows",
    )
    browser.check_clean()
