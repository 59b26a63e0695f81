#!/usr/bin/env python3
"""A layout that is tried in the editor of Examples/Editor, on a branch, in a real browser on two machines: others see
nothing of it until it is kept, a reload and another machine continue it, Keep merges it with what others drew
meanwhile, and Discard leaves nothing of it."""

from browser import PATIENCE_SECONDS, Browser, needs_chromium, tell_where_pictures_are
from peerd_harness import DaemonSocket, World, check, main_of_test, say, wait_until
from test_editor import FOLDER, Window, same_everywhere, value


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


def try_it(mine, theirs, phone, box):
    from selenium.webdriver import Keys

    say("what is tried is seen here alone")
    before = theirs.shape(box)
    press(mine, "try")
    shows(mine, "the drawing of before", lambda shapes: list(shapes) == [box])
    mine.select(box)
    mine.pick_colour("#d81b60")
    mine.here.run("document.querySelector('#drawing [data-id=\"' + arguments[0] + '\"]').focus()", box)
    mine.here.keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
    circle = mine.create("ellipse")
    shows(mine, "the layout", lambda shapes: set(shapes) == {box, circle} and shapes[box]["x"] == before["x"] + 20
          and shapes[box]["fill"] == "#d81b60")
    # The colour, two keys in a row, and the ellipse.
    check(list(branches(mine.browser.peer).values()) == [3], f"transactions: {branches(mine.browser.peer)}")
    mine.here.check_names("the editor while a layout is tried")
    for scheme in ("light", "dark"):
        mine.here.scheme(scheme)
        mine.here.check_contrast(f"the editor while a layout is tried, in {scheme}")
        mine.here.picture(f"editor-layout-{scheme}")
    mine.here.scheme(None)
    check(theirs.shape(box) == before and theirs.shape(circle) is None, "others see what is tried")
    say("undo and redo act on what is tried")
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
    check(circle not in phone.objects(), "it is on the main timeline")
    return circle


def continue_it(mine, theirs, phone, box, circle):
    say("a reload continues it, and so does a page of another machine")
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


def keep_it(mine, theirs, laptop, phone, box, circle):
    say("what is kept is merged with what others drew meanwhile")
    theirs.select(box)
    theirs.type_into("name", "Named meanwhile")
    wait_until(lambda: value(laptop, box, "name") == "Named meanwhile", PATIENCE_SECONDS, "the name is here")
    tried = mine.shape(box)
    press(mine, "keep")
    shapes = same_everywhere(
        [mine, theirs], "the layout everywhere",
        lambda shapes, _: {shape["id"] for shape in shapes} == {box, circle}
        and all(shape["name"].startswith("Named meanwhile") for shape in shapes if shape["id"] == box),
    )
    shape = next(shape for shape in shapes if shape["id"] == box)
    check((shape["x"], shape["fill"]) == (tried["x"], tried["fill"]), f"what was kept: {shape}, tried: {tried}")
    mine.here.sees("The layout is kept")
    check(mine.here.run("return location.hash") == "", "the address still names the layout")
    check(mine.here.run("return document.activeElement.id") == "try", "the focus is lost")


def discard_it(mine, theirs, phone, box, circle):
    say("nothing is left of what is discarded")
    press(mine, "try")
    shows(mine, "the drawing", lambda shapes: set(shapes) == {box, circle})
    mine.select(circle)
    mine.here.find("#delete").click()
    shows(mine, "one shape less", lambda shapes: list(shapes) == [box])
    press(mine, "discard")
    same_everywhere(
        [mine, theirs], "the drawing of before", lambda shapes, _: {shape["id"] for shape in shapes} == {box, circle}
    )
    mine.here.sees("The layout is discarded.")
    check(branches(mine.browser.peer) == {}, "a branch is left")
    wait_until(lambda: branches(phone) == {}, PATIENCE_SECONDS, "no branch is left on the other machine")


def run():
    needs_chromium()
    with World("editor-layout") as world:
        laptop, phone = world.paired("laptop", "phone")
        words = ["--serve", str(FOLDER)]
        phone.start(words=words)
        laptop.start(words=words, peers=[phone.address])
        windows = []
        for peer in (laptop, phone):
            browser = Browser(peer)
            world.closers.append(browser.driver.quit)
            browser.go("/app/")
            windows.append(Window(browser, browser.driver.current_window_handle))
            wait_until(lambda: windows[-1].state() == "online", PATIENCE_SECONDS, "the editor is online")
        mine, theirs = windows
        box = mine.create("rectangle")
        same_everywhere(windows, "a rectangle everywhere", lambda shapes, _: [shape["id"] for shape in shapes] == [box])
        circle = try_it(mine, theirs, phone, box)
        continue_it(mine, theirs, phone, box, circle)
        keep_it(mine, theirs, laptop, phone, box, circle)
        discard_it(mine, theirs, phone, box, circle)
        for window in windows:
            window.here.check_console()
        tell_where_pictures_are()
        for peer in (laptop, phone):
            peer.stop()


if __name__ == "__main__":
    main_of_test(run)
