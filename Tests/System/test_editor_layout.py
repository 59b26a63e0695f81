"""A layout that is tried in the editor of Examples/Editor, on a branch, in a real browser on two machines: others see
nothing of it until it is kept, and nothing is left of it if it is not."""

import pytest

from browser import PATIENCE_SECONDS, Keys
from editor_pages import FOLDER, Window, same_everywhere, value
from peerd_harness import DaemonSocket, check, wait_until


class Editors:
    """A window on each of two machines, with a rectangle in both."""

    def __init__(self, world, open_browser):
        self.laptop, self.phone = world.paired("laptop", "phone")
        words = ["--serve", str(FOLDER)]
        self.phone.start(words=words)
        self.laptop.start(words=words, peers=[self.phone.address])
        self.windows = self.mine, self.theirs = [Window(open_browser(peer)) for peer in (self.laptop, self.phone)]
        self.box = self.mine.create("rectangle")
        self.everywhere("a rectangle everywhere", {self.box})

    def everywhere(self, what, ids):
        same_everywhere(self.windows, what, lambda shapes, _: {shape["id"] for shape in shapes} == ids)

    def lay_out(self):
        """Tries a layout: the rectangle has another colour and place, and there is an ellipse; returns that."""
        mine, box = self.mine, self.box
        before = mine.shape(box)
        press(mine, "try")
        shows(mine, "the drawing of before", lambda shapes: list(shapes) == [box])
        mine.select(box)
        mine.pick_colour("#d81b60")
        mine.focus(box)
        mine.here.keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
        circle = mine.create("ellipse")
        shows(mine, "the layout", lambda shapes: set(shapes) == {box, circle} and shapes[box]["x"] == before["x"] + 20
              and shapes[box]["fill"] == "#d81b60")
        return circle

    def check_consoles(self):
        for window in self.windows:
            window.here.check_console()


@pytest.fixture
def editors(world, open_browser):
    return Editors(world, open_browser)


def is_on(window):
    return window.here.run("return !document.querySelector('#trial').hidden")


def shows(window, what, fits):
    """Waits until the shapes of a window, by id, are as they should be."""
    wait_until(
        lambda: fits({shape["id"]: shape for shape in window.shapes()}), PATIENCE_SECONDS,
        f"{window.browser.peer.name}: {what}",
    )


def branches(peer):
    """What is not merged yet, by branch."""
    with DaemonSocket(peer) as api:
        return {branch["id"]: branch["unmerged"] for branch in api.ask("GET", "/api/branches")["branches"]}


def press(window, button):
    window.here.find(f"#{button}").click()
    wait_until(lambda: is_on(window) == (button == "try"), PATIENCE_SECONDS, f"the button {button} has its effect")
    wait_until(lambda: not window.here.run("return document.querySelector('main').inert"), PATIENCE_SECONDS, "it ends")


def test_what_is_tried_is_seen_here_alone(editors):
    mine, theirs, box = editors.mine, editors.theirs, editors.box
    before = theirs.shape(box)
    circle = editors.lay_out()
    # The colour, two keys in a row, and the ellipse.
    check(list(branches(mine.browser.peer).values()) == [3], f"transactions: {branches(mine.browser.peer)}")
    mine.here.check_names("the editor while a layout is tried")
    for scheme in ("light", "dark"):
        mine.here.scheme(scheme)
        mine.here.check_contrast(f"the editor while a layout is tried, in {scheme}")
        mine.here.picture(f"editor-layout-{scheme}")
    mine.here.scheme(None)
    check(theirs.shape(box) == before and theirs.shape(circle) is None, "others see what is tried")
    check(circle not in editors.phone.objects(), "it is on the main timeline")
    editors.check_consoles()


def test_undo_and_redo_act_on_what_is_tried(editors):
    mine, theirs, box = editors.mine, editors.theirs, editors.box
    before = theirs.shape(box)
    circle = editors.lay_out()
    mine.here.chord(Keys.CONTROL, "z")
    mine.here.sees("Undone: the change of Ellipse")
    shows(mine, "the layout without the ellipse", lambda shapes: set(shapes) == {box})
    mine.here.chord(Keys.CONTROL, "z")
    shows(mine, "the shape where it was", lambda shapes: shapes[box]["x"] == before["x"]
          and shapes[box]["fill"] == "#d81b60")
    mine.here.find("[data-reverse=redo]").click()
    mine.here.sees("Done again: the change of")
    shows(mine, "the shape moved again", lambda shapes: shapes[box]["x"] == before["x"] + 20)
    mine.here.find("[data-reverse=redo]").click()
    shows(mine, "the whole layout again", lambda shapes: set(shapes) == {box, circle})
    check(theirs.shape(box) == before, "others see what is taken back")
    check(circle not in editors.phone.objects(), "it is on the main timeline")
    editors.check_consoles()


def test_a_reload_and_a_page_of_another_machine_continue_a_layout(editors):
    mine, theirs, phone, box = editors.mine, editors.theirs, editors.phone, editors.box
    circle = editors.lay_out()
    mine.here.driver.refresh()
    shows(mine, "the layout after a reload", lambda shapes: set(shapes) == {box, circle})
    check(is_on(mine), "a reload ends the trial")
    # The machine whose page opens it has to have it.
    address = mine.here.run("return location.hash")
    wait_until(
        lambda: address.removeprefix("#layout=") in branches(phone), PATIENCE_SECONDS,
        "the branch is on the other machine",
    )
    theirs.here.run("location.hash = arguments[0]; location.reload()", address)
    shows(theirs, "the layout on the other machine", lambda shapes: set(shapes) == {box, circle})
    theirs.select(circle)
    theirs.pick_colour("#00897b")
    shows(mine, "a colour of the other machine", lambda shapes: shapes[circle]["fill"] == "#00897b")
    theirs.here.run("location.hash = ''; location.reload()")
    shows(theirs, "the drawing that all see", lambda shapes: list(shapes) == [box])
    editors.check_consoles()


def test_what_is_kept_is_merged_with_what_others_drew_meanwhile(editors):
    mine, theirs, laptop, box = editors.mine, editors.theirs, editors.laptop, editors.box
    circle = editors.lay_out()
    theirs.select(box)
    theirs.type_into("name", "Named meanwhile")
    wait_until(lambda: value(laptop, box, "name") == "Named meanwhile", PATIENCE_SECONDS, "the name is here")
    tried = mine.shape(box)
    press(mine, "keep")
    mine.here.sees("The layout is kept")
    shapes = same_everywhere(
        [mine, theirs], "the layout everywhere",
        lambda shapes, _: {shape["id"] for shape in shapes} == {box, circle}
        and all(shape["name"].startswith("Named meanwhile") for shape in shapes if shape["id"] == box),
    )
    shape = next(shape for shape in shapes if shape["id"] == box)
    check((shape["x"], shape["fill"]) == (tried["x"], tried["fill"]), f"what was kept: {shape}, tried: {tried}")
    check(mine.here.run("return location.hash") == "", "the address still names the layout")
    check(mine.here.run("return document.activeElement.id") == "try", "the focus is lost")
    editors.check_consoles()


def test_nothing_is_left_of_what_is_discarded(editors):
    mine, phone, box = editors.mine, editors.phone, editors.box
    circle = mine.create("ellipse")
    editors.everywhere("both shapes everywhere", {box, circle})
    press(mine, "try")
    shows(mine, "the drawing", lambda shapes: set(shapes) == {box, circle})
    mine.select(circle)
    mine.here.find("#delete").click()
    shows(mine, "one shape less", lambda shapes: list(shapes) == [box])
    press(mine, "discard")
    mine.here.sees("The layout is discarded.")
    editors.everywhere("the drawing of before", {box, circle})
    check(branches(mine.browser.peer) == {}, "a branch is left")
    wait_until(lambda: branches(phone) == {}, PATIENCE_SECONDS, "no branch is left on the other machine")
    editors.check_consoles()
