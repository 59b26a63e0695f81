"""Windows with the editor of Examples/Editor in them, and what they show."""

import json
from pathlib import Path

from browser import PATIENCE_SECONDS, Keys
from peerd_harness import CheckFailed, say, wait_until

FOLDER = Path(__file__).resolve().parent.parent.parent / "Examples" / "Editor"

# What a window shows of its shapes, from back to front.
SHAPES = """
    return [...document.querySelectorAll("#drawing [data-id]:not([data-id=handle])")].map(shape => {
      const box = shape.getBBox();
      return { id: shape.dataset.id, tag: shape.tagName, fill: shape.getAttribute("fill"), text: shape.textContent,
               name: shape.getAttribute("aria-label"), x: Math.round(box.x), y: Math.round(box.y),
               width: Math.round(box.width), height: Math.round(box.height) };
    })"""
# What it shows of its layers, from top to bottom.
LAYERS = """
    return [...document.querySelectorAll("#layers li")].map(row =>
      [row.dataset.id, Number(row.getAttribute("aria-level")), row.querySelector("bdi").textContent])"""


class Window:
    """One window of a browser, with the editor in it."""

    def __init__(self, browser):
        self.browser = browser
        self.handle = browser.driver.current_window_handle
        browser.go("/app/")
        wait_until(lambda: self.state() == "online", PATIENCE_SECONDS, "the editor is online")

    @property
    def here(self):
        if self.browser.driver.current_window_handle != self.handle:
            self.browser.to_window(self.handle)
        return self.browser

    def shapes(self):
        return self.here.run(SHAPES)

    def shape(self, id):
        return next((shape for shape in self.shapes() if shape["id"] == id), None)

    def layers(self):
        return self.here.run(LAYERS)

    def state(self):
        return self.here.run("return document.querySelector('#state')?.dataset.state")

    def element(self, id):
        return self.here.find(f"#drawing [data-id='{id}']")

    def row(self, id):
        return self.here.find(f"#layers [data-id='{id}']")

    def select(self, id):
        self.row(id).click()

    def create(self, kind):
        """Presses the button of a kind of shape; returns the id of what appears and is selected."""
        before = {id for id, _, _ in self.layers()}
        self.here.find(f"[data-create={kind}]").click()
        return wait_until(
            lambda: self.here.run(
                """const row = document.querySelector("#layers [aria-selected=true]");
                   return row && !arguments[0].includes(row.dataset.id) ? row.dataset.id : null""",
                list(before),
            ),
            PATIENCE_SECONDS, f"a new {kind} is selected",
        )

    def focus(self, id):
        """Puts the focus on a shape, as Tab does."""
        self.here.run("document.querySelector('#drawing [data-id=\"' + arguments[0] + '\"]').focus()", id)

    def type_into(self, field, text):
        control = self.here.find(f"#inspector [name={field}]")
        wait_until(control.is_displayed, PATIENCE_SECONDS, f"the field {field}")
        control.click()
        self.here.chord(Keys.CONTROL, "a")
        self.here.keys(text)

    def pick_colour(self, colour):
        # A colour has no keys: this is what its dialog does when it ends.
        self.here.run(
            """const control = document.querySelector("#inspector [name=colour]");
               control.value = arguments[0];
               control.dispatchEvent(new Event("input", { bubbles: true }))""",
            colour,
        )


def same_everywhere(windows, what, condition=lambda shapes, layers: True):
    """Waits until all windows show the same, and that it is what it should be; returns the shapes."""
    seen = []

    def agrees():
        seen[:] = [(window.shapes(), window.layers()) for window in windows]
        return all(view == seen[0] for view in seen) and condition(*seen[0])

    try:
        wait_until(agrees, PATIENCE_SECONDS, what)
    except CheckFailed:
        for window, view in zip(windows, seen):
            say(f"{window.browser.peer.name}: {json.dumps(view)}")
        raise
    return seen[0][0]


def value(peer, id, name):
    return peer.json("get", id)["properties"][name]
