/** Snapshots: those of one object, on its page; and all of this machine, also of objects that are deleted. */

import { chip, emptyState, fill, foreign, h, icon, moment } from "./dom.js";
import { coalesced, nameByID, notify, objectLink, on, perform } from "./session.js";
import {
  askToDeleteSnapshot, askToRestore, askToTake, download, importButton, readSnapshots, snapshotName,
} from "./snapshot-dialogs.js";
import { groupsOf, latestFirst, sizeText } from "./snapshot-text.js";
import { count } from "./text.js";

/** How many snapshots of an object are shown at first, and how many more by a click. */
const PAGE = 20;

/** Rows of snapshots. */
class SnapshotList {
  #list;
  #more = h("button.small", { type: "button", hidden: true, onclick: () => this.#showMore() });
  #limit = PAGE;
  #snapshots = [];
  /** A snapshot never changes, so its row stays, and with it the focus. */
  #rows = new Map();
  #changed;

  /** @param changed called after a snapshot was restored or deleted */
  constructor(changed) {
    this.#changed = changed;
    this.#list = h("ul.snapshots", { "aria-label": "Snapshots" });
    this.element = h("div.stack", {}, this.#list, this.#more);
  }

  draw(snapshots) {
    this.#snapshots = snapshots;
    this.element.hidden = snapshots.length === 0;
    this.#more.hidden = snapshots.length <= this.#limit;
    this.#more.textContent = `Show more of ${count(snapshots.length, "snapshot")}`;
    const shown = snapshots.slice(0, this.#limit);
    const focusedRow = [...this.#list.children].findIndex(row => row.contains(document.activeElement));
    for (const [id, row] of this.#rows) {
      if (shown.some(snapshot => snapshot.id === id)) continue;
      row.remove();
      this.#rows.delete(id);
    }
    shown.forEach((snapshot, index) => {
      if (!this.#rows.has(snapshot.id)) this.#rows.set(snapshot.id, this.#row(snapshot));
      const row = this.#rows.get(snapshot.id);
      if (this.#list.children[index] !== row) this.#list.insertBefore(row, this.#list.children[index] ?? null);
    });
    // The focus goes on to the row that took the place of the deleted one.
    if (focusedRow < 0 || this.#list.contains(document.activeElement)) return;
    const { children } = this.#list;
    children[Math.min(focusedRow, children.length - 1)]?.querySelector("button").focus();
  }

  #showMore() {
    const next = this.#limit;
    this.#limit += PAGE;
    this.draw(this.#snapshots);
    this.#list.children[next]?.querySelector("button").focus();
  }

  #row(snapshot) {
    const which = () => h("span.hidden", {}, " ", snapshotName(snapshot));
    const save = h("button.small", { type: "button", onclick: () => perform(save, () => download(snapshot)) },
      icon("download"), h("span", {}, "Download"), which());
    return h("li.snapshot", { "data-id": snapshot.id },
      h("div.snapshot-what", {},
        snapshot.name ? h("div.label", {}, foreign(snapshot.name, { max: 200 })) : h("div.muted", {}, "Without a name"),
        h("div.snapshot-facts", {}, moment(snapshot.time_ms), `, ${sizeText(snapshot)}`)),
      h("div.snapshot-actions", {},
        h("button.small", { type: "button", onclick: () => askToRestore(snapshot, this.#changed) }, icon("undo"),
          h("span", {}, "Restore"), which()),
        save,
        h("button.quiet.small", { type: "button", onclick: () => askToDeleteSnapshot(snapshot, this.#changed) },
          icon("remove"), h("span.hidden", {}, "Delete ", snapshotName(snapshot)))));
  }
}

/** Calls back when snapshots may have changed that were not changed here; returns the end of it. */
function onOthers(callback) {
  // No message tells of snapshots. Whoever comes back from the command line or another window looks at this one now.
  addEventListener("focus", callback);
  const stop = on("state", state => { if (state === "online") callback(); });
  return () => {
    removeEventListener("focus", callback);
    stop();
  };
}

/** The snapshots of an object, on its page; also of one that is deleted. */
export class SnapshotCard {
  #id = null;
  #isThere = false;
  #isPast = false;
  #count = 0;
  #refresh = coalesced(() => this.#read());
  #stop = onOthers(() => this.#refresh());
  #list = new SnapshotList(() => this.#refresh());
  #none = h("p.muted", { hidden: true }, "None yet. A snapshot keeps the object, with what is below it, as it is now.");
  #take = h("button", { type: "button", onclick: () => askToTake(this.#id, this.#refresh) }, icon("snapshot"),
    "Take a snapshot");

  constructor() {
    this.element = h("section.card.snapshot-card", { "aria-labelledby": "snapshots-title", hidden: true },
      h("div.card-head", {}, h("h2", { id: "snapshots-title", tabindex: "-1" }, "Snapshots"),
        h("div.toolbar", {}, this.#take, importButton(this.#refresh))),
      this.#none, this.#list.element,
      h("p.hint", {}, "They are on this machine alone. ", h("a", { href: "#/snapshots" }, "All snapshots")));
  }

  close() { this.#stop(); }

  /** @param object null if it is not there */
  update(id, object, isPast) {
    [this.#isThere, this.#isPast] = [Boolean(object), isPast];
    if (id !== this.#id) {
      this.#id = id;
      this.#refresh();
    }
    this.#draw();
  }

  async #read() {
    const id = this.#id;
    if (id === null) return;
    const snapshots = await readSnapshots(id).catch(problem => {
      // The beginning of an id says nothing of an object that is not there.
      if (problem.code === "no-such-object") return [];
      throw problem;
    });
    if (id !== this.#id) return;
    const hadFocus = this.#list.element.contains(document.activeElement);
    this.#count = snapshots.length;
    this.#list.draw(latestFirst(snapshots));
    this.#none.hidden = snapshots.length > 0;
    this.#draw();
    if (hadFocus && document.activeElement === document.body) this.element.querySelector("h2").focus();
  }

  #draw() {
    this.#take.hidden = !this.#isThere;
    this.element.hidden = this.#isPast || (!this.#isThere && this.#count === 0);
  }
}

/** The view of all snapshots of this machine. */
export function showSnapshots() {
  const groups = new Map();
  const heading = h("h1", { tabindex: "-1" }, "Snapshots");
  const list = h("div.stack");
  const empty = emptyState("No snapshots",
    h("p", {}, "A snapshot keeps an object, with everything below it, as it was. Take one on the page of an object."));
  empty.hidden = true;

  async function read() {
    const found = groupsOf(await readSnapshots());
    const hadFocus = list.contains(document.activeElement);
    for (const [object, group] of groups) {
      if (found.some(other => other.object === object)) continue;
      group.element.remove();
      groups.delete(object);
    }
    found.forEach(({ object, snapshots }, index) => {
      if (!groups.has(object)) groups.set(object, new Group(object, refresh));
      const group = groups.get(object);
      group.list.draw(snapshots);
      if (list.children[index] !== group.element) list.insertBefore(group.element, list.children[index] ?? null);
    });
    empty.hidden = found.length > 0;
    if (hadFocus && document.activeElement === document.body) heading.focus();
  }

  const refresh = coalesced(read);
  const stops = [onOthers(refresh), on("delta", delta => {
    // An object may have gone, come back, or have another name now.
    for (const [id, group] of groups) if (!delta || delta.objects.some(change => change.id === id)) group.drawHead();
  })];
  refresh();
  return {
    title: "Snapshots",
    element: h("div.page.narrow", {},
      h("header.page-head", {}, h("a.back", { href: "#/history" }, icon("back"), "History"), heading,
        h("p.muted", {}, "Objects with everything below them, as they were; also objects that are deleted. They are ",
          "on this machine alone: a file carries one to another machine."),
        h("div.toolbar", {}, importButton(refresh))),
      empty, list),
    close: () => { for (const stop of stops) stop(); },
  };
}

/** The snapshots of one object among all. */
class Group {
  #id;
  #head = h("div.card-head");

  constructor(id, changed) {
    this.#id = id;
    this.list = new SnapshotList(changed);
    this.element = h("section.card.snapshot-card", { "data-object": id }, this.#head, this.list.element);
    this.drawHead();
  }

  drawHead() {
    const state = h("span");
    const hadFocus = this.#head.contains(document.activeElement);
    fill(this.#head, h("h2", {}, objectLink(this.#id, { withID: true })), state);
    if (hadFocus) this.#head.querySelector("a").focus();
    nameByID(this.#id).then(({ isGone, isKnown }) => {
      if (isGone) fill(state, chip(isKnown ? "deleted" : "not in this workspace"));
    }, problem => { if (problem.code !== "offline") notify(problem); });
  }
}
