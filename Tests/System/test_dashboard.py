#!/usr/bin/env python3
"""The dashboard in a real browser, on two daemons: what is typed into one is seen in the other, the peers view says
what each machine lacks, a conflict made apart is resolved exactly by a click, a page outlives its daemon, names and
values that are HTML stay text, and a machine joins by the invite that is drawn. No page reports an error."""

import json
import re

from browser import AWAY, HOSTILE, PATIENCE_SECONDS, Browser, needs_chromium, tell_where_pictures_are
from peerd_harness import World, check, free_port, main_of_test, say, wait_until
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
    """Two machines that reach each other through a proxy alone."""

    def __init__(self, world):
        self.laptop, self.phone = world.paired("laptop", HOSTILE[:60])
        self.ports = {self.laptop: free_port(), self.phone: free_port()}
        self.start(self.phone)
        self.proxy = Proxy(self.phone.address)
        world.closers.append(self.proxy.close)
        self.start(self.laptop)

    def start(self, peer):
        peers = [self.proxy.address] if peer is self.laptop else []
        peer.start(listen=OUT_OF_THE_WAY, words=["--http-port", str(self.ports[peer])], peers=peers)

    def part(self):
        self.proxy.is_open = False
        self.proxy.cut_all()
        wait_until(lambda: self.proxy.live_connections() == 0, PATIENCE_SECONDS, "the machines are apart")

    def meet(self):
        self.proxy.is_open = True
        self.laptop.begin("sync").wait()


def card(browser, name):
    return browser.run(CARD, name) or {"state": "", "facts": {}}


def type_in_one_and_see_in_the_other(machines, first, second, groceries):
    say("what is typed into one is seen in the other")
    for browser in (first, second):
        browser.sees("Groceries")
        browser.show(f"object/{groceries}")
    first.button("Edit").click()
    field = first.find("main textarea")
    field.clear()
    field.send_keys("Food for the week")
    first.button("Save").click()
    second.sees("Food for the week")
    stored = machines.phone.json("get", groceries)["properties"]
    check(stored["title"] == "Food for the week", f"it is stored there, too: {stored}")
    for browser in (first, second):
        # The log of the object, newest first: the edit replaced the first title.
        browser.until(
            """const rows = [...document.querySelectorAll(".timeline li")].map(row => row.innerText);
               return rows[0]?.includes("“Food for the week”") && rows.some(row => row.includes("replaced"))""",
            "the edit in the timeline",
        )


def see_what_peers_lack(machines, second, groceries):
    say("the peers view says what each machine lacks, since when, and how far the exchange is")
    laptop, phone = machines.laptop, machines.phone
    second.show("peers")
    second.sees("In sync with 1 machine")
    seen = wait_until(
        lambda: card(second, "laptop")["state"] == "In sync" and card(second, "laptop"), PATIENCE_SECONDS, "in sync"
    )
    facts = seen["facts"]
    check(facts["It still lacks"] == facts["We still lack"] == "nothing", f"machines in sync lack nothing: {facts}")
    for fact in ("Sent", "Received"):
        check(re.fullmatch(r"[\d.,]+ (B|kB|MB)", facts[fact]) and facts[fact] != "0 B", f"{fact}: {facts[fact]}")
    second.show("health")
    second.sees("Everything is in order.")
    second.show("peers")
    machines.part()
    wait_until(lambda: card(second, "laptop")["state"] == "Offline", PATIENCE_SECONDS, "the laptop is away")
    facts = card(second, "laptop")["facts"]
    check(facts["Away since"] and facts["It still lacks"] == "not known while away", f"since when: {facts}")
    phone.create("note", "title=Written apart")
    second.sees("1 machine, none connected")
    second.picture("peers-apart")

    texts = [{"text": f"{number} " * 200} for number in range(MANY)]
    objects = [{"type": "note", "parent": groceries, "properties": properties} for properties in texts]
    laptop.result("import", "-", stdin=json.dumps(objects).encode()).check_returncode()
    second.run(WATCH_PROGRESS)
    machines.proxy.delay_seconds = 0.02
    machines.meet()
    wait_until(lambda: card(second, "laptop")["state"] == "In sync", PATIENCE_SECONDS, "in sync again")
    machines.proxy.delay_seconds = 0.0
    steps = second.run("return progress")
    check(steps, "no bar of progress was shown")
    check(all(0 <= value <= most and "left" in label for value, most, label, *_ in steps), f"progress: {steps[:5]}")
    check(any("Syncing" in said for *_, said in steps), f"the frame says nothing of the sync: {steps[:5]}")
    check(any(re.fullmatch(r"[\d,]+ changes?", lacks) for *_, lacks, _ in steps), f"what is missing: {steps[:5]}")
    say(f"  {len({value for value, *_ in steps})} steps of progress to {max(value for value, *_ in steps)} changes")
    second.button("Sync now").click()
    second.sees("Nothing to exchange; in sync.")
    second.picture("peers")


def resolve_conflicts(machines, first, groceries):
    say("a conflict that was made apart is resolved by a click, as exactly as it was written")
    laptop, phone = machines.laptop, machines.phone
    machines.part()
    laptop.run("set", groceries, "title=From the laptop", f"n={LARGE}", 'list=[1.0, 9007199254740993, {"a": null}]')
    phone.run("set", groceries, f"title={HOSTILE}", f"n={LARGER}", "list=[]")
    machines.meet()
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
            lambda name=name: all(
                json.dumps(peer.json("get", groceries)["properties"][name]) == json.dumps(wanted[name])
                for peer in (laptop, phone)
            ),
            PATIENCE_SECONDS, f"{name} is exactly {wanted[name]} on both machines",
        )
    first.sees("No conflicts")
    check(laptop.status()["conflicts"] == 0, "the conflict has ended")
    first.show("history")
    first.sees(str(LARGER))


def outlive_the_daemon(machines, first, groceries):
    say("a page outlives its daemon")
    first.show(f"object/{groceries}")
    first.sees("From the laptop")
    machines.laptop.kill()
    first.until("return !document.querySelector('#banner').hidden", "the page says that the daemon is away")
    first.picture("offline")
    machines.laptop.run("set", groceries, "title=Written while it was away")
    machines.start(machines.laptop)
    first.sees("Written while it was away")
    first.until("return document.querySelector('#banner').hidden", "the banner goes by itself")


def join_by_invite(world, first):
    say("a machine joins by the invite that is drawn")
    first.show("pair")
    first.button("Create an invite").click()
    line = first.until(INVITE, "the line of an invite")
    check(first.run("return document.querySelector('main svg.qr path').getAttribute('d').length") > 1000, "a QR code")
    first.picture("pair")
    first.check_names("pairing")
    tablet = world.peer("tablet")
    tablet.run("join", line, "--name", "tablet")
    first.sees("tablet has joined.")
    first.show("peers")
    wait_until(lambda: card(first, "tablet")["state"], PATIENCE_SECONDS, "a card of the new machine")


def main():
    needs_chromium()
    with World("dashboard") as world:
        machines = Machines(world)
        groceries = machines.laptop.create("list", "title=Groceries")
        for number in range(3):
            machines.laptop.create("item", f"title=Thing {number}", "done=false", "--parent", groceries)
        first, second = Browser(machines.laptop), Browser(machines.phone)
        world.closers += [first.driver.quit, second.driver.quit]
        type_in_one_and_see_in_the_other(machines, first, second, groceries)
        see_what_peers_lack(machines, second, groceries)
        resolve_conflicts(machines, first, groceries)
        first.check_console()
        second.check_console()
        outlive_the_daemon(machines, first, groceries)
        first.check_console(AWAY)

        say("names and values that are HTML stay text")
        first.show("peers")
        first.sees(HOSTILE[:60])
        machines.phone.create("note", f"title={HOSTILE}")
        first.show("objects")
        first.sees(HOSTILE[:40])
        join_by_invite(world, first)
        first.check_console()
        second.check_console()
        tell_where_pictures_are()


if __name__ == "__main__":
    main_of_test(main)
