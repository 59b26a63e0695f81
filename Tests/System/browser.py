"""Windows of Chromium on the pages that a daemon serves, driven as people drive them: by the mouse and by keys."""

import shutil
from pathlib import Path

try:
    from selenium.webdriver import ActionChains, Keys
except ImportError:  # `needs_chromium` skips the tests
    ActionChains = Keys = None

from peerd_harness import CheckFailed, check, pair, say, skip, wait_until

SCREENSHOTS = Path(__file__).resolve().parent.parent.parent / ".build-system-tests" / "screenshots"
PATIENCE_SECONDS = 30.0
HOSTILE = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"
# The name of a machine, as much of it as is shown in full.
HOSTILE_NAME = HOSTILE[:60]
# What Chromium itself writes to the console while a daemon is away. Everything else there is an error of a page.
# Which of the words for a connection that ended it takes depends on how far the request had come.
AWAY = ("net::ERR_CONNECTION_", "net::ERR_EMPTY_RESPONSE", "net::ERR_SOCKET_NOT_CONNECTED", "WebSocket connection to")
# And once it was started anew, which lets in no page of before.
STARTED_ANEW = (*AWAY, "401 (Unauthorized)")
# Roles of the accessibility tree that mean nothing to a user who cannot see them without a name.
NAMED_ROLES = {
    "alertdialog", "button", "checkbox", "combobox", "dialog", "heading", "image", "link", "listbox",
    "menuitem", "option", "progressbar", "radio", "region", "searchbox", "slider", "spinbutton", "switch", "tab",
    "textbox", "tree", "treeitem",
}

# Texts that stand out too little from what is behind them (WCAG 2, AA): every background up to the text is painted on
# a pixel, one over the other, and then the colour of the text.
FAINT_TEXTS = """
    const context = Object.assign(document.createElement("canvas"), { width: 1, height: 1 })
      .getContext("2d", { willReadFrequently: true });
    const paint = colour => {
      context.fillStyle = colour;
      context.fillRect(0, 0, 1, 1);
      return [...context.getImageData(0, 0, 1, 1).data].slice(0, 3);
    };
    const luminance = rgb => rgb.map(part => part / 255)
      .map(part => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
      .reduce((sum, part, index) => sum + part * [0.2126, 0.7152, 0.0722][index], 0);
    const faint = [];
    for (const element of document.body.querySelectorAll("*")) {
      const text = [...element.childNodes].filter(node => node.nodeType === 3).map(node => node.data.trim()).join("");
      if (!text || element.closest(".hidden, [hidden], .skip, noscript, option, svg")) continue;
      if (!element.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
      paint("white");
      let behind = [255, 255, 255];
      for (let chain = [], next = element; next || chain.length;) {
        if (next) { chain.push(next); next = next.parentElement; if (next) continue; }
        while (chain.length) behind = paint(getComputedStyle(chain.pop()).backgroundColor);
      }
      const style = getComputedStyle(element);
      const [light, dark] = [luminance(paint(style.color)), luminance(behind)].sort((a, b) => b - a);
      const size = parseFloat(style.fontSize);
      const least = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700) ? 3 : 4.5;
      const ratio = (light + 0.05) / (dark + 0.05);
      if (ratio < least) faint.push(`${ratio.toFixed(2)} of ${least}: ${element.outerHTML.slice(0, 120)}`);
    }
    return faint"""

# Elements that no page has by itself: markup in the text of a peer would make them.
ELEMENTS_OF_TEXT = """
    return [...document.querySelectorAll("body img:not(.brand img), main script, #report script, main iframe")]
      .map(element => element.outerHTML)"""

# Answers the next undo in place of the daemon.
ANSWER_UNDO = """
    const [answer, ask] = [arguments[0], window.fetch];
    window.fetch = (url, ...rest) => {
      if (!url.endsWith("/api/undo")) return ask(url, ...rest);
      window.fetch = ask;
      return Promise.resolve(new Response(JSON.stringify(answer)));
    }"""


def needs_chromium():
    """Skips the test where there is no browser."""
    if Keys is None:
        skip("selenium is not installed; make setup installs it")
    if not (shutil.which("chromium") and shutil.which("chromedriver")):
        skip("chromium and chromedriver are not installed; make setup installs them")


def paired_with_hostile(world):
    """Two machines in one workspace, none of them running; the name of the second one is HTML."""
    laptop, phone = world.founder("laptop"), world.peer("phone")
    phone.name = HOSTILE_NAME
    laptop.start()
    pair(laptop, phone)
    laptop.stop()
    return laptop, phone


def start_chromium(*arguments):
    """Starts a Chromium, and returns what drives it."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", *arguments):
        options.add_argument(argument)
    options.binary_location = shutil.which("chromium")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(service=Service(shutil.which("chromedriver")), options=options)


class Chromiums:
    """The Chromiums of one worker. A start costs as much as many a test, so one serves test after test: each has a tab
    of its own, and nothing of the test before is in cookies, cache and console. (What pages keep otherwise is kept by
    host, and each start of a daemon has a host of its own.)"""

    def __init__(self):
        self.idle = []

    def take(self):
        if self.idle:
            return self.idle.pop()
        driver = start_chromium("--window-size=1280,800")
        self.renew(driver)
        return driver

    def give_back(self, driver):
        from selenium.common.exceptions import WebDriverException

        try:
            self.renew(driver)
        except WebDriverException:  # the test has left it in a state of which nobody knows
            driver.quit()
        else:
            self.idle.append(driver)

    def renew(self, driver):
        left = driver.window_handles
        driver.switch_to.new_window("tab")
        tab = driver.current_window_handle
        for handle in left:
            driver.switch_to.window(handle)
            driver.close()
        driver.switch_to.window(tab)
        driver.execute_cdp_cmd("Network.clearBrowserCookies", {})
        driver.execute_cdp_cmd("Network.clearBrowserCache", {})
        driver.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "default"})
        driver.set_script_timeout(PATIENCE_SECONDS)
        driver.get_log("browser")

    def processes(self):
        """The process of each idle one; its others are below it."""
        return {driver.service.process.pid for driver in self.idle}

    def close(self):
        for driver in self.idle:
            driver.quit()


class Browser:
    """A Chromium that has been let in by a daemon, with one window or several."""

    def __init__(self, peer, driver):
        self.peer = peer
        self.driver = driver
        self.open_link()

    def open_link(self):
        """Signs in by a link that works once; that ends on the dashboard."""
        self.driver.get(self.peer.run("open", "--print").strip())
        self.origin = self.run("return location.origin")

    # Windows.

    def new_window(self):
        """Opens a further window, and returns its name; the next steps are for it."""
        self.driver.switch_to.new_window("window")
        return self.driver.current_window_handle

    def to_window(self, handle):
        self.driver.switch_to.window(handle)
        return self

    def go(self, path):
        """Opens a path of the daemon."""
        self.driver.get(self.origin + path)

    def show(self, place):
        """Shows a view of the dashboard."""
        self.driver.execute_script("location.hash = arguments[0]", "#/" + place)

    # Looking.

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def until(self, script, what, *arguments):
        """Waits until a script gives something true, and returns that."""
        return wait_until(lambda: self.run(script, *arguments), PATIENCE_SECONDS, f"{self.peer.name}: {what}")

    def shows(self, what, script, fits, *arguments):
        """Waits until what a script reads of the page is as it should be, and returns that."""
        seen = []

        def is_shown():
            seen[:] = [self.run(script, *arguments)]
            try:
                return fits(seen[0])
            except (KeyError, TypeError):  # a part of it is not there yet
                return False

        try:
            wait_until(is_shown, PATIENCE_SECONDS, f"{self.peer.name}: {what}")
        except CheckFailed:
            say(f"{self.peer.name} shows {seen}")
            raise
        return seen[0]

    def text(self):
        return self.run("return document.body.innerText")

    def sees(self, text):
        wait_until(lambda: text in self.text(), PATIENCE_SECONDS, f"“{text}” in the page of {self.peer.name}")

    def sees_no_more(self, text):
        wait_until(lambda: text not in self.text(), PATIENCE_SECONDS, f"“{text}” is gone from {self.peer.name}")

    def find(self, selector):
        """The first element that fits a selector, once it is there."""
        found = wait_until(
            lambda: self.driver.find_elements("css selector", selector), PATIENCE_SECONDS,
            f"{self.peer.name}: {selector}",
        )
        return found[0]

    def button(self, text, nth=0):
        """A button or link that shows a text, once it is there."""
        script = """
            return [...document.querySelectorAll("main button, main a.button, header button, dialog button")]
                .filter(button => button.offsetParent && button.innerText.trim().startsWith(arguments[0]))"""
        found = wait_until(
            lambda: self.driver.execute_script(script, text)[nth:], PATIENCE_SECONDS, f"the button “{text}”"
        )
        return found[0]

    # Hands.

    def keys(self, *keys):
        """Presses keys one after the other, wherever the focus is."""
        ActionChains(self.driver).send_keys(*keys).perform()

    def chord(self, *keys):
        """Presses the last key while the others are held."""
        *held, last = keys
        chain = ActionChains(self.driver)
        for key in held:
            chain.key_down(key)
        chain.send_keys(last)
        for key in reversed(held):
            chain.key_up(key)
        chain.perform()

    def drag(self, element, right, down, steps=5):
        """Drags an element by the mouse, in steps, as a hand does."""
        chain = ActionChains(self.driver, duration=20)
        chain.move_to_element(element).click_and_hold()
        for step in range(steps):
            chain.move_by_offset(
                (step + 1) * right // steps - step * right // steps, (step + 1) * down // steps - step * down // steps
            )
        chain.release().perform()

    # Pictures, and what must be true of all pages.

    def picture(self, name):
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        self.driver.save_screenshot(str(SCREENSHOTS / f"{name}.png"))

    def scheme(self, name):
        """Has pages believe that the user prefers "light" or "dark"; None ends that."""
        features = [{"name": "prefers-color-scheme", "value": name}] if name else []
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    def check_names(self, what):
        """Everything that a screen reader stops at has a name."""
        nodes = self.driver.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
        nameless, named = [], 0
        for node in nodes:
            role = node.get("role", {}).get("value", "")
            if node.get("ignored") or role not in NAMED_ROLES:
                continue
            if node.get("name", {}).get("value", "").strip():
                named += 1
            else:
                nameless.append(f"{role} {self.source_of(node)}")
        check(not nameless, f"{what}: nothing names {nameless}")
        check(named > 0, f"{what}: nothing in it has a name")

    def check_contrast(self, what):
        """Every text that is shown stands out from what is behind it."""
        faint = self.run(FAINT_TEXTS)
        check(not faint, f"{what}: faint texts: {faint}")

    def size(self, width, height=800):
        """Makes the page as wide as another screen would."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)

    def check_width(self, what):
        """Nothing sticks out at the side."""
        over = self.run("return document.documentElement.scrollWidth - innerWidth")
        check(over <= 0, f"{what} is {over} pixels too wide")

    def look(self, what, widths=(360, 1280)):
        """Names, contrast and width of what is shown, in light and dark, with a picture of each."""
        self.check_names(what)
        name, grounds = what.replace(" ", "-"), set()
        for scheme in ("light", "dark"):
            self.scheme(scheme)
            self.check_contrast(f"{what} in {scheme}")
            grounds.add(self.run("return getComputedStyle(document.body).backgroundColor"))
            for width in widths:
                self.size(width)
                self.until("return innerWidth === arguments[0]", f"a width of {width}", width)
                self.check_width(f"{what} at {width} pixels")
                self.picture(f"view-{name}-{scheme}-{width}")
        check(len(grounds) == 2, f"{what} looks the same in light and dark")
        self.size(1280)
        self.scheme(None)

    def source_of(self, node):
        """The markup of a node of the accessibility tree, for messages."""
        try:
            found = self.driver.execute_cdp_cmd(
                "DOM.getOuterHTML", {"backendNodeId": node["backendDOMNodeId"]}
            )
            return found["outerHTML"][:160]
        except Exception:  # the page has moved on
            return "?"

    def check_console(self, but=()):
        """What the browser complained of, besides a daemon that was away."""
        errors = [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] == "SEVERE"]
        errors = [error for error in errors if not any(word in error for word in but)]
        check(not errors, f"the console of {self.peer.name}: {errors}")
        for handle in self.driver.window_handles:
            self.driver.switch_to.window(handle)
            check(self.driver.title != "owned", "text of a peer was run as a script")

    def check_clean(self, but=()):
        """Texts of others became no elements, the dashboard reports no problem, and the console has no error."""
        found = self.run(ELEMENTS_OF_TEXT)
        check(not found, f"text became an element: {found}")
        told = self.run("return document.querySelector('#notices').innerText")
        check(told == "", f"the page of {self.peer.name} reports {told}")
        self.check_console(but)
