"""The dashboard in a real browser, on two daemons: what is typed is live in both, the peers view says what each machine
lacks, conflicts are resolved exactly by clicks, a page outlives its daemon, and a machine joins by what is drawn."""

import json
import re

import pytest

from browser import HOSTILE, HOSTILE_NAME, PATIENCE_SECONDS, STARTED_ANEW, paired_with_hostile
from local_api import Entry
from peerd_harness import check, free_port, wait_until
from tcp_proxy import Proxy

# Nothing can go around the proxy: machines that meet learn each other's addresses.
OUT_OF_THE_WAY = "127.0.0.2:0"
# The first is what a browser makes of both.
LARGE, LARGER = 2**53, 2**53 + 1
MANY = 3000
CARD = """
    const card = [...document.querySelectorAll("main li.card")].find(card => card.innerText.includes(arguments[0]));
    if (!card) return null;
    return { state: card.querySelector(".chip").innerText, facts: Object.fromEntries(
      [...card.querySelectorAll("dl.facts > div")].map(fact => [...fact.children].map(part => part.innerText))) }"""
INVITE = """
    const texts = [...document.querySelectorAll("main input, main textarea")].map(field => field.value);
    return [...texts, document.querySelector("main").innerText].join(" ").match(/peerd:1:[\\w-]+/)?.[0] ?? null"""
# Whatever a bar of progress shows from now on, and what the frame says beside it.
WATCH_PROGRESS = """
    window.progress = [];
    new MutationObserver(() => {
      const bar = document.querySelector("main progress");
      const said = document.querySelector("#sync-state").innerText;
      const lacks = document.querySelectorAll("main dl.facts dd")[1]?.innerText;
      if (bar) progress.push([bar.value, bar.max, bar.getAttribute("aria-label"), lacks, said]);
    }).observe(document.body, { subtree: true, childList: true, attributes: true, characterData: true })"""



class Machines:
    """Two machines that reach each other through a proxy alone, with a list on both."""

    def __init__(self, world):
        self.laptop, self.phone = paired_with_hostile(world)
        self.groceries = self.laptop.create("list", "title=Groceries")
        self.http_port = free_port()
        self.phone.start(listen=OUT_OF_THE_WAY)
        self.proxy = Proxy(self.phone.address)
        world.closers.append(self.proxy.close)
        self.start_laptop()
        wait_until(lambda: self.groceries in self.phone.objects(), PATIENCE_SECONDS, "both machines have the list")

    def start_laptop(self):
        # Pages know no other port.
        words = ["--http-port", str(self.http_port)]
        self.laptop.start(listen=OUT_OF_THE_WAY, words=words, peers=[self.proxy.address])

    def part(self):
        self.proxy.is_open = False
        self.proxy.cut_all()
        wait_until(lambda: self.proxy.live_connections() == 0, PATIENCE_SECONDS, "the machines are apart")

    def meet(self):
        self.proxy.is_open = True
        self.laptop.begin("sync").wait()


@pytest.fixture
def machines(world):
    return Machines(world)


def shows_laptop(browser, state):
    """Waits until the card of the laptop shows a state; returns its facts."""
    seen = browser.shows(f"the laptop: {state}", CARD, lambda seen: seen and seen["state"] == state, "laptop")
    return seen["facts"]


def test_what_is_typed_into_one_page_is_seen_in_the_other(machines, open_browser):
    first, second = open_browser(machines.laptop), open_browser(machines.phone)
    for browser in (first, second):
        browser.sees("Groceries")
        browser.show(f"object/{machines.groceries}")
    first.button("Edit").click()
    field = first.find("main textarea")
    field.clear()
    field.send_keys("Food for the week")
    first.button("Save").click()
    second.sees("Food for the week")
    for browser in (first, second):
        # The log of the object, newest first: the edit replaced the first title.
        browser.until(
            """const rows = [...document.querySelectorAll(".timeline li")].map(row => row.innerText);
               return rows[0]?.includes("“Food for the week”") && rows.some(row => row.includes("replaced"))""",
            "the edit in the timeline",
        )
        browser.check_clean()


def test_the_peers_view_says_what_each_machine_lacks_and_since_when(machines, open_browser):
    second = open_browser(machines.phone)
    second.show("peers")
    second.sees("In sync with 1 machine")
    facts = shows_laptop(second, "In sync")
    check(facts["It still lacks"] == facts["We still lack"] == "nothing", f"machines in sync lack nothing: {facts}")
    for fact in ("Sent", "Received"):
        check(re.fullmatch(r"[\d.,]+ (B|kB|MB)", facts[fact]) and facts[fact] != "0 B", f"{fact}: {facts[fact]}")
    second.show("health")
    second.sees("Everything is in order.")
    second.show("peers")
    machines.part()
    facts = shows_laptop(second, "Offline")
    check(facts["Away since"] and facts["It still lacks"] == "not known while away", f"since when: {facts}")
    machines.phone.create("note", "title=Written apart")
    second.sees("1 machine, none connected")
    second.picture("peers-apart")
    second.check_clean()


def test_the_peers_view_shows_how_far_an_exchange_is(machines, open_browser):
    laptop, second = machines.laptop, open_browser(machines.phone)
    second.show("peers")
    machines.part()
    shows_laptop(second, "Offline")
    texts = [{"text": f"{number} " * 200} for number in range(MANY)]
    objects = [{"type": "note", "parent": machines.groceries, "properties": properties} for properties in texts]
    laptop.result("import", "-", stdin=json.dumps(objects).encode()).check_returncode()
    second.run(WATCH_PROGRESS)
    machines.proxy.delay_seconds = 0.02
    machines.meet()
    shows_laptop(second, "In sync")
    machines.proxy.delay_seconds = 0.0
    steps = second.run("return progress")
    check(steps, "no bar of progress was shown")
    check(all(0 <= value <= most and "left" in label for value, most, label, *_ in steps), f"progress: {steps[:5]}")
    check(any("Syncing" in said for *_, said in steps), f"the frame says nothing of the sync: {steps[:5]}")
    check(any(re.fullmatch(r"[\d,]+ changes?", lacks) for *_, lacks, _ in steps), f"what is missing: {steps[:5]}")
    second.button("Sync now").click()
    second.sees("Nothing to exchange; in sync.")
    second.picture("peers")
    second.check_clean()


def test_a_click_resolves_a_conflict_as_exactly_as_it_was_written(machines, open_browser):
    laptop, groceries = machines.laptop, machines.groceries
    machines.part()
    laptop.run("set", groceries, "title=From the laptop", f"n={LARGE}", 'list=[1.0, 9007199254740993, {"a": null}]')
    machines.phone.run("set", groceries, f"title={HOSTILE}", f"n={LARGER}", "list=[]")
    machines.meet()
    first = open_browser(laptop)
    first.show("conflicts")
    for text in ("From the laptop", HOSTILE, str(LARGE), str(LARGER), "1.0", "9007199254740993"):
        first.sees(text)
    check("about" not in first.text(), "a number is not shown as it was written")
    beside = first.run(
        """return [...document.querySelectorAll("main .conflict")].map(conflict =>
             [...conflict.querySelectorAll(".version")].map(version => version.getBoundingClientRect().top))"""
    )
    is_beside = [len(tops) == 2 and len(set(tops)) == 1 for tops in beside]
    check(is_beside == [True] * 3, f"side by side: {beside}")
    heading = first.run("return document.querySelector('main .conflict h2').innerText")
    check(groceries[:8] in heading and heading != groceries[:8], f"a name, and the id beside it: {heading}")
    first.picture("conflicts")
    wanted = {"title": "From the laptop", "n": LARGER, "list": [1.0, 9007199254740993, {"a": None}]}
    for name, shown in (("title", "From the laptop"), ("n", str(LARGER)), ("list", "9007199254740993")):
        first.until(
            """const card = [...document.querySelectorAll("main .conflict")]
                 .find(card => card.querySelector(".card-head > span").innerText === "property " + arguments[0]);
               const version = [...card.querySelectorAll(".version")].find(v => v.innerText.includes(arguments[1]));
               version.querySelector("button").click();
               return true""",
            f"the version {shown}", name, shown,
        )
        wait_until(
            lambda: json.dumps(laptop.json("get", groceries)["properties"][name]) == json.dumps(wanted[name]),
            PATIENCE_SECONDS, f"{name} is exactly {wanted[name]}",
        )
    first.sees("No conflicts")
    check(laptop.status()["conflicts"] == 0, "the conflict has ended")
    first.show("history")
    first.sees(str(LARGER))
    first.check_clean()


def test_a_page_says_that_its_daemon_is_away_and_that_it_was_started_anew(machines, open_browser):
    laptop, first = machines.laptop, open_browser(machines.laptop)
    first.show(f"object/{machines.groceries}")
    first.sees("Groceries")
    laptop.kill()
    first.until("return !document.querySelector('#banner').hidden", "the page says that the daemon is away")
    first.picture("offline")
    laptop.run("set", machines.groceries, "title=Written while it was away")
    machines.start_laptop()
    # Whoever had the port meanwhile was sent its cookie, and may answer by its name.
    first.sees("This page is not signed in. Run peerd open")
    first.sees("started anew")
    first.open_link()
    first.show(f"object/{machines.groceries}")
    first.sees("Written while it was away")
    first.check_clean(STARTED_ANEW)


def test_browsers_are_listed_and_signed_out(machines, open_browser):
    laptop, first, other = machines.laptop, open_browser(machines.laptop), open_browser(machines.laptop)
    first.show("health")
    first.sees("Browsers that are signed in")
    first.sees("This browser")
    [_, session] = laptop.json("sessions")
    first.find(f"[aria-label='Sign out {session['id']}']").click()
    other.sees("This page is not signed in")
    first.sees_no_more(session["id"])
    check(len(laptop.json("sessions")) == 1, "it is signed in still")
    first.check_clean()


def test_an_object_of_ten_thousand_properties_is_shown_in_parts(machines, open_browser):
    """Any machine can write one."""
    entry = Entry.socket(machines.laptop)
    many = {f"p{number:05}": number for number in range(10_000)}
    id = entry.create("many", None, properties=many)["id"]
    first = open_browser(machines.laptop)
    first.show(f"object/{id}")
    count = "return document.querySelectorAll('main ul.properties:first-of-type > li').length"
    first.shows("the first properties", count, lambda seen: seen == 100)
    first.button("Show more").click()
    first.shows("more of them", count, lambda seen: seen == 400)
    check("9,600 of 10,000 are not shown" in first.text(), "how many are not shown")
    machines.laptop.run("set", id, "p00001=changed")
    first.sees("changed")
    first.check_clean()


def test_a_move_without_effect_says_where_to(machines, open_browser):
    laptop, groceries = machines.laptop, machines.groceries
    other = laptop.create("list", "title=Hardware")
    wait_until(lambda: other in machines.phone.objects(), PATIENCE_SECONDS, "both machines have both")
    machines.part()
    laptop.run("mv", groceries, other)
    machines.phone.run("mv", other, groceries)
    machines.meet()
    wait_until(lambda: laptop.json("conflicts")["moves_without_effect"], PATIENCE_SECONDS, "a move without effect")
    [move] = laptop.json("conflicts")["moves_without_effect"]
    to = "Groceries" if move["object"] == other else "Hardware"
    first = open_browser(laptop)
    first.show("conflicts")
    first.sees(f"It was moved below {to} while another move made that a circle.")
    first.check_clean()


def test_names_and_values_that_are_html_stay_text(machines, open_browser):
    first = open_browser(machines.laptop)
    first.show("peers")
    first.sees(HOSTILE_NAME)
    machines.phone.create("note", f"title={HOSTILE}")
    first.show("objects")
    first.sees(HOSTILE[:40])
    first.check_clean()


def test_a_machine_joins_by_the_invite_that_is_drawn(world, machines, open_browser):
    first = open_browser(machines.laptop)
    first.show("pair")
    first.button("Create an invite").click()
    line = first.until(INVITE, "the line of an invite")
    check(first.run("return document.querySelector('main svg.qr path').getAttribute('d').length") > 1000, "a QR code")
    first.picture("pair")
    first.check_names("pairing")
    world.peer("tablet").run("join", line, "--name", "tablet")
    first.sees("tablet has joined.")
    first.show("peers")
    first.shows("a card of the new machine", CARD, lambda seen: seen and seen["state"], "tablet")
    first.check_clean()
