#!/usr/bin/env python3
"""The editor of Examples/Editor in a real browser: two windows on one daemon and one on another. What one draws, moves,
colours, writes and arranges is live in the others; undo and redo go through the daemon, and what a hand did in one go
is one step of them; edits made apart meet as a conflict; a page outlives the daemon that is killed under it; text of
others stays text."""

import json
import os
import signal
from pathlib import Path

from browser import ANSWER_UNDO, AWAY, HOSTILE, PATIENCE_SECONDS, Browser, needs_chromium, tell_where_pictures_are
from peerd_harness import World, check, free_port, main_of_test, say, wait_until
from tcp_proxy import Proxy

FOLDER = Path(__file__).resolve().parent.parent.parent / "Examples" / "Editor"
# Nothing can go around the proxy: machines that meet learn each other's addresses.
OUT_OF_THE_WAY = "127.0.0.2:0"

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

    def __init__(self, browser, handle):
        self.browser = browser
        self.handle = handle

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
        return self.here.run("return document.querySelector('#state').dataset.state")

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

    def type_into(self, field, text):
        from selenium.webdriver import Keys

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
    except AssertionError:
        for window, view in zip(windows, seen):
            say(f"{window.browser.peer.name}: {json.dumps(view)}")
        raise
    return seen[0][0]


def value(peer, id, name):
    return peer.json("get", id)["properties"][name]


def draw_together(windows, laptop, phone):
    one, two, other = windows
    say("shapes are made, dragged, coloured and written, each seen in the other windows")
    box = one.create("rectangle")
    same_everywhere(windows, "a rectangle everywhere", lambda shapes, _: [shape["id"] for shape in shapes] == [box])
    before = one.shape(box)
    one.here.drag(one.element(box), 120, 60)
    same_everywhere(
        windows, "the drag everywhere",
        lambda shapes, _: shapes[0]["x"] > before["x"] + 60 and shapes[0]["y"] > before["y"] + 30,
    )
    after = one.shape(box)
    wait_until(
        lambda: (value(phone, box, "x"), value(phone, box, "y")) == (after["x"], after["y"]),
        PATIENCE_SECONDS, "the place of the rectangle on the other machine",
    )
    two.select(box)
    two.pick_colour("#d81b60")
    same_everywhere(windows, "the colour everywhere", lambda shapes, _: shapes[0]["fill"] == "#d81b60")

    words = other.create("text")
    other.type_into("text", "Grüße & <b>words</b>")
    same_everywhere(
        windows, "the text everywhere",
        lambda shapes, _: [shape["text"] for shape in shapes] == ["", "Grüße & <b>words</b>"],
    )
    circle = two.create("ellipse")
    handle = two.here.find("#drawing [data-id=handle]")
    small = two.shape(circle)
    two.here.drag(handle, 50, 30)
    same_everywhere(
        windows, "the size everywhere",
        lambda shapes, _: len(shapes) == 3 and shapes[2]["width"] > small["width"] + 20
        and (shapes[2]["x"], shapes[2]["y"]) == (small["x"], small["y"]),
    )
    return box, words, circle


def arrange(windows, box, words, circle):
    from selenium.webdriver import ActionChains, Keys

    say("layers are rearranged by keys and by the mouse")
    one, two, other = windows
    one.select(box)
    layer = one.create("layer")
    one.type_into("name", "Behind")
    # In front is at the top: the new layer, then the circle, the words, the box.
    same_everywhere(
        windows, "the layer everywhere",
        lambda _, rows: [(id, name) for id, _, name in rows][0] == (layer, "Behind") and len(rows) == 4,
    )
    one.row(circle).click()
    one.here.chord(Keys.ALT, Keys.ARROW_RIGHT)
    same_everywhere(
        windows, "the ellipse within the layer",
        lambda _, rows: [(id, level) for id, level, _ in rows]
        == [(layer, 1), (circle, 2), (words, 1), (box, 1)],
    )
    other.row(box).click()
    other.here.chord(Keys.ALT, Keys.ARROW_UP)
    same_everywhere(
        windows, "the box in front of the words",
        lambda shapes, _: [shape["id"] for shape in shapes] == [words, box, circle],
    )
    # A drop on the middle of a layer nests; one on the lower part of a row goes behind it.
    ActionChains(two.here.driver).click_and_hold(two.row(words)).move_to_element(two.row(layer)).release().perform()
    same_everywhere(
        windows, "the words within the layer",
        lambda _, rows: {id: level for id, level, _ in rows} == {layer: 1, circle: 2, words: 2, box: 1},
    )
    one.select(box)
    one.here.keys(Keys.ARROW_UP)
    check(
        one.here.run("return document.activeElement.getAttribute('role')") == "treeitem", "arrows keep to the tree"
    )
    return layer


def undo_and_redo(windows, laptop, phone, box):
    from selenium.webdriver import ActionChains, Keys

    say("undo and redo go through the daemon: by keys, by buttons, and on the other machine")
    one, two, other = windows
    place = one.shape(box)

    def is_at(x):
        return lambda shapes, _: next(shape["x"] for shape in shapes if shape["id"] == box) == x

    one.here.run("document.querySelector('#drawing [data-id=\"' + arguments[0] + '\"]').focus()", box)
    one.here.keys(Keys.ARROW_RIGHT)
    same_everywhere(windows, "the move everywhere", is_at(place["x"] + 10))
    one.here.chord(Keys.CONTROL, "z")
    same_everywhere(windows, "the undo everywhere", is_at(place["x"]))
    wait_until(lambda: value(phone, box, "x") == place["x"], PATIENCE_SECONDS, "the undo at the phone")
    one.here.sees("Undone: the change of Rectangle")
    ActionChains(one.here.driver).key_down(Keys.CONTROL).key_down(Keys.SHIFT).send_keys("z").key_up(Keys.SHIFT).key_up(
        Keys.CONTROL
    ).perform()
    same_everywhere(windows, "the redo everywhere", is_at(place["x"] + 10))
    one.here.sees("Done again: the change of Rectangle")
    one.here.picture("editor-undo")

    # Nobody has typed in this window, so the browser's own undo of its fields does nothing either.
    two.select(box)
    two.here.find("#inspector [name=width]").click()
    two.here.chord(Keys.CONTROL, "z")
    other.here.find("[data-reverse=undo]").click()
    same_everywhere(windows, "an undo on the other machine, and none from a text field", is_at(place["x"]))
    other.here.find("[data-reverse=redo]").click()
    same_everywhere(windows, "a redo on the other machine", is_at(place["x"] + 10))

    # A workspace has one user so far: the answer of the daemon is made up here, as its API describes it.
    two.here.run(ANSWER_UNDO, {"transactions": [{
        "moment": "m", "time_ms": 0, "device_name": "laptop",
        "edits": [{"object": box, "action": {"set": {"name": "x", "value": 1}}}],
        "kept": [{"object": box, "part": "property", "property": HOSTILE, "reason": "edited",
                  "author": {"name": HOSTILE, "is_this_machine": False}}],
    }]})
    two.here.find("[data-reverse=undo]").click()
    two.here.sees(f"Left as it is: {HOSTILE} of Rectangle")
    two.here.sees(f"was edited since by {HOSTILE}")
    two.here.check_names("the editor after an undo")
    check(not two.here.run("return document.querySelector('#report').children.length"), "a report has elements")


def undo_in_steps(windows, laptop, phone, box):
    from selenium.webdriver import ActionChains, Keys

    say("a drag, a resize, a burst of keys and a typed name are one change each, and one undo takes all of it back")
    one, two, other = windows

    def one_step(what, hands, moved):
        before = other.shape(box)
        changes = laptop.status()["changes"]
        hands()
        after = next(
            shape for shape in same_everywhere(
                windows, f"{what} everywhere",
                lambda shapes, _: any(shape["id"] == box and moved(before, shape) for shape in shapes),
            ) if shape["id"] == box
        )
        check(laptop.status()["changes"] == changes + 1, f"{what} is more than one change")
        # By the buttons: in a text field, the keys belong to the browser.
        for way, then in (("undo", before), ("redo", after), ("undo", before)):
            one.here.find(f"[data-reverse={way}]").click()
            same_everywhere(windows, f"{way} of {what}", lambda shapes, _, then=then: then in shapes)

    def drag():
        ActionChains(one.here.driver).move_to_element_with_offset(one.element(box), 52, -30).click_and_hold().perform()
        for _ in range(12):
            ActionChains(one.here.driver, duration=40).move_by_offset(6, 4).perform()
        wait_until(lambda: one.shape(box)["x"] > start["x"] + 30, PATIENCE_SECONDS, "the movement under the hand")
        # Not in the other window of this browser: to look there would take the mouse away.
        check(other.shape(box) == start and value(laptop, box, "x") == start["x"], "a drag is written before its end")
        one.here.chord(Keys.CONTROL, "z")
        ActionChains(one.here.driver).release().perform()

    def resize():
        one.select(box)
        one.here.drag(one.here.find("#drawing [data-id=handle]"), 40, 30, steps=12)

    def press_keys():
        one.here.run("document.querySelector('#drawing [data-id=\"' + arguments[0] + '\"]').focus()", box)
        one.here.keys(*[Keys.ARROW_RIGHT, Keys.ARROW_DOWN] * 6)

    def type_name():
        one.select(box)
        one.type_into("name", "Typed in one go")

    start = one.shape(box)
    one_step("a drag", drag, lambda a, b: b["x"] > a["x"] + 30 and b["y"] > a["y"] + 20 and b["width"] == a["width"])
    one_step("a resize", resize, lambda a, b: b["width"] > a["width"] + 20 and b["height"] > a["height"] + 15)
    one_step("a burst of keys", press_keys, lambda a, b: (b["x"], b["y"]) == (a["x"] + 60, a["y"] + 60))
    one_step("a typed name", type_name, lambda _, b: b["name"].startswith("Typed in one go,"))

    say("a click writes nothing, nor does a drag that ends where it began")
    changes = laptop.status()["changes"]
    ActionChains(one.here.driver).move_to_element_with_offset(one.element(box), 52, -30).click().perform()
    ActionChains(one.here.driver, duration=40).click_and_hold().move_by_offset(20, 20).move_by_offset(-20, -20).release(
    ).perform()
    two.select(box)
    two.pick_colour("#3949ab")
    same_everywhere(
        windows, "a colour after it",
        lambda shapes, _: any(shape["id"] == box and shape["fill"] == "#3949ab" for shape in shapes),
    )
    check(laptop.status()["changes"] == changes + 1, "a click has written something")


def edit_apart(windows, laptop, phone, proxy, box):
    say("edits made apart: what they share is a conflict, the rest is merged")
    one, two, other = windows
    proxy.is_open = False
    proxy.cut_all()
    wait_until(lambda: proxy.live_connections() == 0, PATIENCE_SECONDS, "the machines are apart")
    place = one.shape(box)
    one.select(box)
    one.pick_colour("#00897b")
    one.type_into("name", "Named on the laptop")
    other.select(box)
    other.pick_colour("#f4511e")
    # By its corner: the ellipse lies over most of it.
    other.here.drag(other.element(box), 60, 40, grab=(52, -30))
    wait_until(lambda: other.shape(box)["x"] > place["x"] + 30, PATIENCE_SECONDS, "the drag on the phone")
    for window, peer, colour in ((one, laptop, "#00897b"), (other, phone, "#f4511e")):
        wait_until(
            lambda window=window, peer=peer, colour=colour: window.shape(box)["fill"] == colour
            and value(peer, box, "colour") == colour,
            PATIENCE_SECONDS, f"{colour} at {peer.name}",
        )
    wait_until(lambda: value(laptop, box, "name") == "Named on the laptop", PATIENCE_SECONDS, "the name is written")
    wait_until(lambda: value(phone, box, "x") == other.shape(box)["x"], PATIENCE_SECONDS, "the drag is written")
    check(value(laptop, box, "x") == place["x"], "the drag went around the cut")
    proxy.is_open = True
    phone.begin("sync").wait()
    merged = same_everywhere(
        windows, "both edits, merged",
        lambda shapes, _: any(shape["id"] == box and shape["name"].startswith("Named on the laptop")
                              and shape["x"] > place["x"] for shape in shapes),
    )
    colour = next(shape["fill"] for shape in merged if shape["id"] == box)
    check(colour in ("#00897b", "#f4511e"), f"the colour is {colour}")
    lost = "#00897b" if colour == "#f4511e" else "#f4511e"
    for window in windows:
        window.select(box)
        window.here.until(
            "const link = document.querySelector('#conflict'); return !link.hidden && link.offsetHeight > 0",
            "the conflict of the box",
        )
        window.here.until(
            "return !document.querySelector('#layers [data-id=\"' + arguments[0] + '\"] .badge').hidden",
            "the badge of the box", box,
        )
    one.here.picture("editor-conflict")
    one.here.find("#conflict").click()
    one.here.sees(lost)
    one.here.picture("editor-conflict-in-dashboard")
    one.here.button("Use this").click()
    one.here.sees("This object has no conflicts")
    one.here.driver.back()
    same_everywhere(
        windows, "the colour that was chosen",
        lambda shapes, _: any(shape["id"] == box and shape["fill"] == lost for shape in shapes),
    )
    for window in windows:
        window.here.until(
            "return document.querySelectorAll('#layers .badge:not([hidden])').length === 0", "no conflict is left"
        )
    check(laptop.status()["conflicts"] == 0, "the conflict has ended")


def outlive_the_daemon(windows, laptop, start_laptop, box):
    from selenium.webdriver import Keys

    say("a page outlives its daemon, and what was drawn meanwhile arrives once")
    one, two, other = windows
    objects = set(laptop.objects())
    place = one.shape(box)
    # The first edit has reached a daemon that does not answer any more: it was sent, and never acknowledged.
    os.kill(laptop.process.pid, signal.SIGSTOP)
    two.here.find("[data-create=text]").click()
    laptop.kill()
    for window in (one, two):
        wait_until(lambda window=window: window.state() == "offline", PATIENCE_SECONDS, "the page says it is offline")
    # Two buttons in a row, and a shape that is moved by keys and renamed: all of it waits.
    one.here.find("[data-create=rectangle]").click()
    one.here.find("[data-create=ellipse]").click()
    two.here.run("document.querySelector('#drawing [data-id=\"' + arguments[0] + '\"]').focus()", box)
    two.here.keys(*[Keys.ARROW_RIGHT] * 5)
    two.type_into("name", "Renamed while it was away")
    check(two.shape(box)["x"] == place["x"] + 50, "an edit does not wait to be seen")
    check("Offline" in two.here.text(), "the page does not say that it is offline")
    one.here.picture("editor-offline")
    start_laptop()
    shapes = same_everywhere(windows, "all that waited", lambda shapes, _: len(shapes) == 6)
    shape = next(shape for shape in shapes if shape["id"] == box)
    check(shape["x"] == place["x"] + 50 and shape["name"].startswith("Renamed while"), f"what waited: {shape}")
    made = set(laptop.objects()) - objects
    check(len(made) == 3, f"three shapes were made while it was away, {len(made)} arrived")
    check(one.state() == two.state() == other.state() == "online", "the pages are online again")
    for id in made:
        kinds = [operation["kind"] for operation in laptop.operations("--object", id)]
        check(kinds.count("create") == 1, f"a shape was made once: {kinds}")


def stay_text(windows, laptop, phone, box, root):
    say("hostile values stay values")
    below = ("--parent", root, f"name={HOSTILE}")
    phone.create(
        "shape", "--kind", "rectangle", *below, "x=\"><script>1</script>", "y=1e999x", "width=-5",
        f"colour=url(javascript:{HOSTILE})", f"text={HOSTILE}",
    )
    phone.create("shape", "--kind", "text", *below, f"text={HOSTILE}", "x=100", "y=300", "width=300", "height=30")
    phone.create("layer", *below)
    phone.create("shape", "--kind", "script", "--parent", root, f"text={HOSTILE}")
    for window in windows:
        wait_until(
            lambda window=window: [shape["text"] for shape in window.shapes()].count(HOSTILE) == 1
            and len(window.layers()) == 11,
            PATIENCE_SECONDS, f"hostile shapes at {window.browser.peer.name}",
        )
        found = window.here.run(
            """return [...document.querySelectorAll("main img, main script, svg script, svg image, svg foreignObject")]
                 .map(element => element.outerHTML)"""
        )
        check(not found, f"a value became an element: {found}")
        colours = {shape["fill"] for shape in window.shapes()}
        check(all(len(colour) == 7 and colour[0] == "#" for colour in colours), f"the colours are {colours}")
    windows[0].here.picture("editor-hostile")
    windows[0].here.check_names("the editor")
    windows[0].here.scheme("dark")
    windows[0].here.picture("editor-dark")
    windows[0].here.scheme(None)


def run():
    needs_chromium()
    with World("editor") as world:
        laptop, phone = world.paired("laptop", "phone")
        port = free_port()

        def start(peer, *words, **options):
            peer.start(listen=OUT_OF_THE_WAY, words=["--serve", str(FOLDER), *words], **options)

        start(phone)
        # The phone is dialled; the laptop has one port in all its lives, as pages know no other.
        proxy = Proxy(phone.address)
        world.closers.append(proxy.close)

        def start_laptop():
            start(laptop, "--http-port", str(port), peers=[proxy.address])

        start_laptop()
        first, second = Browser(laptop), Browser(phone)
        world.closers += [first.driver.quit, second.driver.quit]
        windows = [Window(first, first.driver.current_window_handle)]
        first.go("/app/")
        origin = first.run("return location.origin")
        windows.append(Window(first, first.new_window()))
        first.driver.get(origin + "/app/")
        second.go("/app/")
        windows.append(Window(second, second.driver.current_window_handle))
        for window in windows:
            wait_until(lambda window=window: window.state() == "online", PATIENCE_SECONDS, "the editor is online")

        box, words, circle = draw_together(windows, laptop, phone)
        layer = arrange(windows, box, words, circle)
        first.picture("editor")
        undo_and_redo(windows, laptop, phone, box)
        undo_in_steps(windows, laptop, phone, box)
        edit_apart(windows, laptop, phone, proxy, box)
        # A page that one may come back to is frozen, and its connection ended.
        first.check_console(["Page entered Back-Forward Cache"])
        outlive_the_daemon(windows, laptop, start_laptop, box)
        first.check_console(AWAY)
        root = laptop.json("get", layer)["parent"]
        stay_text(windows, laptop, phone, box, root)
        first.check_console()
        second.check_console()
        tell_where_pictures_are()
        for peer in (laptop, phone):
            peer.stop()


if __name__ == "__main__":
    main_of_test(run)
