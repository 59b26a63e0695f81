"""The editor of Examples/Editor in a real browser: two windows on one daemon and one on another. What one draws, moves,
colours, writes, arranges, undoes and redoes is live in the others, and edits made apart or without a daemon meet."""

import os
import signal

import pytest

from browser import ANSWER_UNDO, AWAY, HOSTILE, PATIENCE_SECONDS, ActionChains, Keys
from editor_pages import FOLDER, Window, same_everywhere, value
from peerd_harness import check, free_port, wait_until
from tcp_proxy import Proxy

# Nothing can go around the proxy: machines that meet learn each other's addresses.
OUT_OF_THE_WAY = "127.0.0.2:0"


class Editors:
    """Two windows on the laptop and one on the phone; the two machines reach each other through a proxy alone."""

    def __init__(self, world, open_browser):
        self.laptop, self.phone = world.paired("laptop", "phone")
        self.phone.start(listen=OUT_OF_THE_WAY, words=["--serve", str(FOLDER)])
        self.proxy = Proxy(self.phone.address)
        world.closers.append(self.proxy.close)
        self.http_port = free_port()
        self.start_laptop()
        self.browsers = first, second = open_browser(self.laptop), open_browser(self.phone)
        one = Window(first)
        first.new_window()
        self.windows = [one, Window(first), Window(second)]

    def start_laptop(self):
        # Pages know no other port.
        words = ["--serve", str(FOLDER), "--http-port", str(self.http_port)]
        self.laptop.start(listen=OUT_OF_THE_WAY, words=words, peers=[self.proxy.address])

    def everywhere(self, what, condition=lambda shapes, layers: True):
        return same_everywhere(self.windows, what, condition)

    def create(self, *kinds):
        """Makes shapes in the first window; returns their ids once they are in all windows."""
        ids = [self.windows[0].create(kind) for kind in kinds]
        self.everywhere(f"{kinds} everywhere", lambda shapes, _: [shape["id"] for shape in shapes] == ids)
        return ids

    def check_consoles(self, but=()):
        for browser in self.browsers:
            browser.check_console(but)


@pytest.fixture
def editors(world, open_browser):
    return Editors(world, open_browser)


def test_shapes_are_made_dragged_coloured_and_written_in_all_windows(editors):
    one, two, other = windows = editors.windows
    phone = editors.phone
    [box] = editors.create("rectangle")
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

    other.create("text")
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
    editors.check_consoles()


def test_layers_are_rearranged_by_keys_and_by_the_mouse(editors):
    one, two, other = windows = editors.windows
    box, words, circle = editors.create("rectangle", "text", "ellipse")
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
    one.here.picture("editor")
    editors.check_consoles()


def test_undo_and_redo_by_keys_by_buttons_and_on_the_other_machine(editors):
    one, two, other = windows = editors.windows
    [box] = editors.create("rectangle")
    place = one.shape(box)

    def is_at(x):
        return lambda shapes, _: next(shape["x"] for shape in shapes if shape["id"] == box) == x

    one.focus(box)
    one.here.keys(Keys.ARROW_RIGHT)
    same_everywhere(windows, "the move everywhere", is_at(place["x"] + 10))
    one.here.chord(Keys.CONTROL, "z")
    # A report goes by itself: it is looked for before the other windows are.
    one.here.sees("Undone: the change of Rectangle")
    same_everywhere(windows, "the undo everywhere", is_at(place["x"]))
    one.here.chord(Keys.CONTROL, Keys.SHIFT, "z")
    one.here.sees("Done again: the change of Rectangle")
    same_everywhere(windows, "the redo everywhere", is_at(place["x"] + 10))
    one.here.picture("editor-undo")

    # Nobody has typed in this window, so the browser's own undo of its fields does nothing either.
    two.select(box)
    two.here.find("#inspector [name=width]").click()
    two.here.chord(Keys.CONTROL, "z")
    other.focus(box)
    other.here.keys(Keys.ARROW_RIGHT)
    same_everywhere(windows, "a move on the other machine, and no undo from a text field", is_at(place["x"] + 20))
    other.here.find("[data-reverse=undo]").click()
    same_everywhere(windows, "an undo on the other machine takes back what was done there", is_at(place["x"] + 10))
    other.here.find("[data-reverse=redo]").click()
    same_everywhere(windows, "a redo on the other machine", is_at(place["x"] + 20))
    editors.check_consoles()


@pytest.mark.parametrize("has_effect, said", [(True, "Undone: "), (False, "Could not undo: ")])
def test_an_undo_names_what_stays_and_who_edited_it(editors, has_effect, said):
    [box] = editors.create("rectangle")
    window = editors.windows[1]
    # A workspace has one user so far: the answer of the daemon is made up here, as its API describes it.
    window.here.run(ANSWER_UNDO, {"actions": [{
        "moment": "m", "time_ms": 0, "device_name": "laptop", "has_effect": has_effect,
        "edits": [{"object": box, "action": {"set": {"name": "x", "value": 1}}}],
        "kept": [{"object": box, "part": "property", "property": HOSTILE, "reason": "edited",
                  "author": {"name": HOSTILE, "is_this_machine": False}}],
    }]})
    window.here.find("[data-reverse=undo]").click()
    window.here.sees(f"{said}the change of Rectangle")
    window.here.sees(f"Left as it is: {HOSTILE} of Rectangle")
    window.here.sees(f"was edited since by {HOSTILE}")
    window.here.check_names("the editor after an undo")
    check(not window.here.run("return document.querySelector('#report').children.length"), "a report has elements")
    editors.check_consoles()


def test_a_drag_a_resize_a_burst_of_keys_and_a_typed_name_are_one_step_each(editors):
    one, _, other = windows = editors.windows
    laptop, [box] = editors.laptop, editors.create("rectangle")

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
        one.focus(box)
        one.here.keys(*[Keys.ARROW_RIGHT, Keys.ARROW_DOWN] * 6)

    def type_name():
        one.select(box)
        one.type_into("name", "Typed in one go")

    start = one.shape(box)
    one_step("a drag", drag, lambda a, b: b["x"] > a["x"] + 30 and b["y"] > a["y"] + 20 and b["width"] == a["width"])
    one_step("a resize", resize, lambda a, b: b["width"] > a["width"] + 20 and b["height"] > a["height"] + 15)
    one_step("a burst of keys", press_keys, lambda a, b: (b["x"], b["y"]) == (a["x"] + 60, a["y"] + 60))
    one_step("a typed name", type_name, lambda _, b: b["name"].startswith("Typed in one go,"))
    editors.check_consoles()


def test_a_click_writes_nothing_nor_does_a_drag_that_ends_where_it_began(editors):
    one, two, _ = windows = editors.windows
    laptop, [box] = editors.laptop, editors.create("rectangle")
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
    editors.check_consoles()


def test_edits_made_apart_are_merged_and_what_they_share_is_a_conflict(editors):
    one, _, other = windows = editors.windows
    laptop, phone, proxy, [box] = editors.laptop, editors.phone, editors.proxy, editors.create("rectangle")
    proxy.is_open = False
    proxy.cut_all()
    wait_until(lambda: proxy.live_connections() == 0, PATIENCE_SECONDS, "the machines are apart")
    place = one.shape(box)
    one.select(box)
    one.pick_colour("#00897b")
    one.type_into("name", "Named on the laptop")
    other.select(box)
    other.pick_colour("#f4511e")
    other.here.drag(other.element(box), 60, 40)
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
    # A page that one may come back to is frozen, and its connection ended.
    editors.check_consoles(["Page entered Back-Forward Cache"])


def test_a_page_outlives_its_daemon_and_what_was_drawn_arrives_once(editors):
    one, two, other = windows = editors.windows
    laptop, [box] = editors.laptop, editors.create("rectangle")
    objects = set(laptop.objects())
    place = one.shape(box)
    # The first edit has reached a daemon that does not answer any more: it was sent, and never acknowledged.
    os.kill(laptop.process.pid, signal.SIGSTOP)
    two.here.find("[data-create=text]").click()
    for window in (one, two):
        # Nothing has ended the connection: a page asks now and then whether somebody is there.
        wait_until(lambda window=window: window.state() == "offline", 60, "the page says it is offline")
    # Two buttons in a row, and a shape that is moved by keys and renamed: all of it waits.
    one.here.find("[data-create=rectangle]").click()
    one.here.find("[data-create=ellipse]").click()
    two.focus(box)
    two.here.keys(*[Keys.ARROW_RIGHT] * 5)
    two.type_into("name", "Renamed while it was away")
    check(two.shape(box)["x"] == place["x"] + 50, "an edit does not wait to be seen")
    check("Offline" in two.here.text(), "the page does not say that it is offline")
    one.here.picture("editor-offline")
    os.kill(laptop.process.pid, signal.SIGCONT)
    shapes = same_everywhere(windows, "all that waited", lambda shapes, _: len(shapes) == 4)
    shape = next(shape for shape in shapes if shape["id"] == box)
    check(shape["x"] == place["x"] + 50 and shape["name"].startswith("Renamed while"), f"what waited: {shape}")
    made = set(laptop.objects()) - objects
    check(len(made) == 3, f"three shapes were made while it was away, {len(made)} arrived")
    check(one.state() == two.state() == other.state() == "online", "the pages are online again")
    for id in made:
        kinds = [operation["stored"]["kind"] for operation in laptop.operations("--object", id)]
        check(kinds.count("create") == 1, f"a shape was made once: {kinds}")
    editors.check_consoles(AWAY)


def test_hostile_values_stay_values(editors):
    windows, phone, [box] = editors.windows, editors.phone, editors.create("rectangle")
    root = phone.json("get", box)["parent"]
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
            and len(window.layers()) == 5,
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
    editors.check_consoles()
