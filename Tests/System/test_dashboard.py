#!/usr/bin/env python3
"""The dashboard in a real browser, on two daemons: what is typed into one is seen in the other, a conflict made apart
is resolved by a click, a page outlives its daemon, names and values that are HTML stay text, and a machine joins by the
invite that is drawn. No page reports an error. Screenshots of the views stay in .build-system-tests/screenshots."""

import os
import shutil
from pathlib import Path

from peerd_harness import World, check, free_port, main_of_test, say, skip, wait_until

SCREENSHOTS = Path(__file__).resolve().parent.parent.parent / ".build-system-tests" / "screenshots"
PATIENCE_SECONDS = 30.0
HOSTILE = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"


class Browser:
    """A window of Chromium that has been let in to the dashboard of a peer."""

    def __init__(self, peer, width=1280, height=800):
        from selenium import webdriver
        from selenium.webdriver.chrome.service import Service

        self.peer = peer
        options = webdriver.ChromeOptions()
        size = f"--window-size={width},{height}"
        for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", size):
            options.add_argument(argument)
        options.binary_location = shutil.which("chromium")
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(service=Service(shutil.which("chromedriver")), options=options)
        self.open_link()

    def open_link(self):
        self.driver.get(self.peer.run("open", "--print").strip())

    def show(self, place):
        self.driver.execute_script("location.hash = arguments[0]", "#/" + place)

    def text(self):
        return self.driver.execute_script("return document.body.innerText")

    def sees(self, text):
        wait_until(lambda: text in self.text(), PATIENCE_SECONDS, f"“{text}” in the page of {self.peer.name}")

    def sees_no_more(self, text):
        wait_until(lambda: text not in self.text(), PATIENCE_SECONDS, f"“{text}” is gone from {self.peer.name}")

    def button(self, text, nth=0):
        """A button that shows a text, once it is there."""
        script = """
            return [...document.querySelectorAll("main button, main a.button")]
                .filter(button => button.offsetParent && button.innerText.trim().startsWith(arguments[0]))"""
        found = wait_until(
            lambda: self.driver.execute_script(script, text)[nth:], PATIENCE_SECONDS, f"the button “{text}”"
        )
        return found[0]

    def picture(self, name):
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        self.driver.save_screenshot(str(SCREENSHOTS / f"{name}.png"))

    def check_console(self, but=()):
        """What the browser complained of, besides a daemon that was away."""
        errors = [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] == "SEVERE"]
        errors = [error for error in errors if not any(word in error for word in but)]
        check(not errors, f"the console of {self.peer.name}: {errors}")
        check(self.driver.title != "owned", "text of a peer was run as a script")


def start(peer, port, peers=()):
    peer.start(words=["--http-port", str(port)], peers=peers)


def main():
    try:
        import selenium  # noqa: F401
    except ImportError:
        skip("selenium is not installed; make setup installs it")
    if not (shutil.which("chromium") and shutil.which("chromedriver")):
        skip("chromium and chromedriver are not installed; make setup installs them")
    with World("dashboard") as world:
        laptop, phone = world.paired("laptop", HOSTILE[:60])
        ports = [free_port(), free_port()]
        start(laptop, ports[0])
        start(phone, ports[1], peers=[f"127.0.0.1:{laptop.port}"])
        groceries = laptop.create("list", "title=Groceries")
        for number in range(40):
            laptop.create("item", f"title=Thing {number}", "done=false", "--parent", groceries)
        first, second = Browser(laptop), Browser(phone)
        world.closers += [first.driver.quit, second.driver.quit]

        say("what is typed into one is seen in the other")
        first.sees("Groceries")
        second.sees("Groceries")
        for browser in (first, second):
            browser.show(f"object/{groceries}")
        first.button("Edit").click()
        field = first.driver.find_element("css selector", "main textarea")
        field.clear()
        field.send_keys("Food for the week")
        first.button("Save").click()
        second.sees("Food for the week")
        check(phone.json("get", groceries)["properties"]["title"] == "Food for the week", "it is stored there, too")
        first.picture("object")

        say("a conflict that was made apart is resolved by a click")
        phone.stop()
        laptop.run("set", groceries, "title=From the laptop")
        phone.run("set", groceries, f"title={HOSTILE}")
        start(phone, ports[1], peers=[f"127.0.0.1:{laptop.port}"])
        first.show("conflicts")
        first.sees("From the laptop")
        first.sees(HOSTILE)
        first.picture("conflicts")
        first.button("Use this").click()
        first.sees_no_more(HOSTILE)
        wait_until(
            lambda: phone.json("get", groceries)["properties"]["title"] == "From the laptop",
            PATIENCE_SECONDS, "the resolution on the other machine",
        )
        check(laptop.status()["conflicts"] == 0, "the conflict has ended")

        say("a page outlives its daemon")
        first.show(f"object/{groceries}")
        first.sees("From the laptop")
        laptop.kill()
        wait_until(
            lambda: first.driver.execute_script("return !document.querySelector('#banner').hidden"),
            PATIENCE_SECONDS, "the page says that the daemon is away",
        )
        first.picture("offline")
        laptop.run("set", groceries, "title=Written while it was away")
        start(laptop, ports[0])
        first.sees("Written while it was away")

        say("views, and text that is HTML")
        for name in ("objects", "peers", "health", "log"):
            first.show(name)
            wait_until(lambda: first.driver.find_elements("css selector", "main h1"), PATIENCE_SECONDS, name)
            first.picture(name)
        first.show("peers")
        first.sees(HOSTILE[:60])
        laptop.create("note", f"title={HOSTILE}")
        first.show("objects")
        first.sees(HOSTILE[:40])

        say("a machine joins by the invite that is drawn")
        first.show("pair")
        first.button("Create an invite").click()
        line = wait_until(lambda: invite_in(first), PATIENCE_SECONDS, "the line of an invite")
        first.picture("pair")
        third = world.peer("tablet")
        third.run("join", line, "--name", "tablet")
        first.show("peers")
        first.sees("tablet")

        narrow = Browser(laptop, 390, 800)
        world.closers.append(narrow.driver.quit)
        narrow.sees(HOSTILE[:20])
        width = narrow.driver.execute_script("return document.documentElement.scrollWidth - innerWidth")
        check(width <= 0, f"the narrow page is {width} pixels too wide")
        narrow.picture("narrow")
        away = ("ERR_CONNECTION_REFUSED", "ERR_EMPTY_RESPONSE", "ERR_CONNECTION_RESET", "WebSocket connection to")
        first.check_console(away)
        second.check_console(away)
        narrow.check_console()
        say(f"screenshots: {os.path.relpath(SCREENSHOTS)}")


def invite_in(browser):
    script = """
        const texts = [...document.querySelectorAll("main input, main textarea")].map(field => field.value);
        return [...texts, document.querySelector("main").innerText].join(" ").match(/peerd:1:[\\w-]+/)?.[0] ?? null"""
    return browser.driver.execute_script(script)


if __name__ == "__main__":
    main_of_test(main)
