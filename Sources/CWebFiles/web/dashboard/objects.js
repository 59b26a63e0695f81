/** The tree with its search on one side, an object on the other. Narrow windows show one of the two. */

import { emptyPage, emptyState, exactTime, fill, foreign, h, icon } from "./dom.js";
import { askToCreate, askToDelete } from "./dialogs.js";
import { ObjectPane } from "./object.js";
import { isPastShown, momentOf, onShownTime, showTime, shownTime } from "./past.js";
import { coalesced, notify, on, readObject, workspace } from "./session.js";
import { TreeModel } from "./tree-model.js";
import { TreeView } from "./tree-view.js";
import { count, nameOf } from "./text.js";

const SEARCH_PAUSE_MS = 200;
const RESULTS_MAX = 100;

const KEYS = [
  ["↑ ↓", "move"], ["→ ←", "expand, collapse"], ["Home End", "first, last"], ["a–z", "find by name"], ["Enter", "open"],
  ["Alt ↑ ↓", "reorder"], ["Delete", "delete"], ["Ctrl Z", "undo"],
];

/** The view of `#/objects` and `#/object/ID`; `update` switches between them and keeps the tree as it is. */
export function showObjects(parameters, titleChanged) {
  const view = new ObjectsView(titleChanged);
  view.update(parameters);
  return view;
}

class ObjectsView {
  title = "Objects";
  #titleChanged;
  #pane = null;
  #stops = [];
  #search = h("input", {
    type: "search", placeholder: "Search all text", "aria-label": "Search objects", autocomplete: "off",
    oninput: () => this.#searchLater(), onkeydown: event => this.#searchKey(event),
  });
  #searchTimer;
  #results = h("div.results", { hidden: true });
  #resultState = h("p.muted.pad", { role: "status" });
  #place = h("div.tree-place");
  /** The heading of the page while no other one is in sight. */
  #heading = h("h1.hidden", { tabindex: "-1" }, "Objects");
  #side = h("div.object-side");
  #create = h("button.primary", { type: "button", onclick: () => this.#askToCreate() }, icon("plus"), "New");
  #time = h("input", {
    type: "datetime-local", step: "1", "aria-label": "Show the tree as of", onchange: () => this.#timeChosen(),
  });
  #timeRow = h("div.tree-time", { id: "tree-time", hidden: true },
    h("span.label", {}, "As of"), this.#time,
    h("button.small", { type: "button", onclick: () => this.#closeTime() }, "Now"));
  #timeButton = h("button.quiet", {
    type: "button", "aria-expanded": "false", "aria-controls": "tree-time", onclick: () => this.#toggleTime(),
  }, icon("history"), h("span.hidden", {}, "Show the tree as of a time"));
  #pastBanner = h("div.past-banner", { role: "status" });
  #refreshResults = coalesced(() => this.#readResults());
  #selected = null;

  constructor(titleChanged) {
    this.#titleChanged = titleChanged;
    this.model = new TreeModel({
      page: (parent, after, limit) => this.#source.children(parent, { after, limit }),
      rootCount: () => this.#source.count({ parent: null }),
      object: readObject,
    }, () => this.#rowsChanged());
    this.tree = new TreeView(this.model, {
      open: id => { location.hash = `#/object/${id}`; },
      remove: node => { if (!isPastShown()) askToDelete(node.object); },
      reorder: (node, direction) => { if (!isPastShown()) this.#reorder(node, direction); },
      failed: problem => { if (problem.code !== "offline") notify(problem); },
    });
    this.element = h("div.objects", {},
      h("section.tree-side", { "aria-label": "All objects" },
        this.#heading,
        h("div.tree-head", {},
          h("div.search", { role: "search" }, icon("search"), this.#search),
          this.#timeButton, this.#create),
        this.#timeRow, this.#pastBanner, this.#results, this.#place,
        h("p.hidden", { id: "tree-keys" }, "Arrow keys move and expand, Enter opens, Alt with arrows reorders.")),
      this.#side);
    const reload = coalesced(() => this.model.reload().then(() => this.#reveal()));
    this.#stops.push(
      on("delta", delta => {
        // What arrives now may have been written before the time that is shown.
        if (delta && !isPastShown() && this.model.isLoaded) this.model.apply(delta);
        else reload();
        if (!this.#results.hidden) this.#refreshResults();
      }),
      on("state", state => { if (state === "online" && !this.model.isLoaded) reload(); }),
      onShownTime(() => {
        this.#drawTime();
        this.model.reset();
        reload();
        if (!this.#results.hidden) this.#refreshResults();
      }));
    reload();
  }

  update({ id = null }) {
    const isFirst = this.#selected === null;
    this.#selected = id;
    this.element.classList.toggle("shows-object", id !== null);
    this.#heading.hidden = id !== null;
    if (this.#pane?.id === id && id !== null) return;
    this.#pane?.pane.close();
    this.#pane = null;
    if (id === null) {
      this.#titleChanged("Objects");
      this.#showNothing();
    } else {
      this.#pane = { id, pane: new ObjectPane(id, this.#titleChanged) };
      fill(this.#side, this.#pane.pane.element);
      this.#side.scrollTop = 0;
    }
    this.tree.select(id);
    if (id !== null && (isFirst || !this.model.node(id))) this.#reveal();
  }

  close() {
    clearTimeout(this.#searchTimer);
    this.#pane?.pane.close();
    this.tree.close();
    for (const stop of this.#stops) stop();
    showTime(null);
  }

  /** The workspace, or what it was. */
  get #source() { return isPastShown() ? workspace.at(momentOf(shownTime())) : workspace; }

  // The past

  #toggleTime() {
    if (!this.#timeRow.hidden) return this.#closeTime();
    this.#timeRow.hidden = false;
    this.#timeButton.setAttribute("aria-expanded", "true");
    this.#time.max = localTime(Date.now());
    this.#time.value = localTime(Date.now());
    this.#time.focus();
  }

  #closeTime() {
    showTime(null);
    this.#timeRow.hidden = true;
    this.#timeButton.setAttribute("aria-expanded", "false");
    this.#timeButton.focus();
  }

  #timeChosen() {
    const milliseconds = new Date(this.#time.value).getTime();
    // The field is empty while somebody types a part of it.
    if (!Number.isNaN(milliseconds)) showTime(Math.max(0, milliseconds));
  }

  #drawTime() {
    this.#create.hidden = isPastShown();
    if (!isPastShown()) {
      this.#timeRow.hidden = true;
      this.#timeButton.setAttribute("aria-expanded", "false");
      return fill(this.#pastBanner);
    }
    fill(this.#pastBanner, icon("history"),
      h("span", {}, h("strong", {}, "The past: "), `the tree as of ${exactTime(shownTime())}. Editing is off.`),
      h("button.small", { type: "button", onclick: () => this.#closeTime() }, "Back to now"));
  }

  async #reveal() {
    const id = this.#selected;
    if (id === null || !this.model.isLoaded || isPastShown()) return;
    try {
      const node = await this.model.reveal(id);
      if (node && id === this.#selected) this.tree.select(id, { reveals: true });
    } catch {
      // The pane beside it says what is wrong with the object.
    }
  }

  #rowsChanged() {
    if (!this.model.isLoaded) return;
    const isEmpty = this.model.rows.length === 0;
    const wanted = isEmpty ? "empty" : "tree";
    if (this.#place.dataset.shows !== wanted) {
      this.#place.dataset.shows = wanted;
      fill(this.#place, isEmpty ? h("p.muted.pad", {}, isPastShown() ? "There were no objects." : "No objects yet.")
        : this.tree.element);
      if (this.#selected === null) this.#showNothing();
    }
    this.tree.schedule();
  }

  /** What stands beside the tree while nothing is selected. */
  #showNothing() {
    const command = text => h("code.command", {}, text);
    const isEmpty = this.#place.dataset.shows === "empty" && !isPastShown();
    this.element.classList.toggle("is-empty", isEmpty);
    this.#heading.hidden = isEmpty;
    fill(this.#side, isEmpty
      ? emptyPage("Your workspace is empty",
        h("p", {}, "Everything that you write here is on all your machines, also after a time offline."),
        h("ol.steps", {},
          h("li", {}, h("strong", {}, "Write something. "), "Create an object here, or on the command line: ",
            command("peerd create note title='Buy seeds'")),
          h("li", {}, h("strong", {}, "Add a machine. "), "It joins with a one-time invite, shown as a ",
            h("a", { href: "#/pair" }, "QR code"), "."),
          h("li", {}, h("strong", {}, "Build on it. "), "A page needs ten lines with ",
            h("a", { href: "/peerd.js" }, "peerd.js"), ".")),
        h("button.primary", { type: "button", onclick: () => this.#askToCreate() }, icon("plus"),
          "Create the first object"))
      : emptyState("Nothing selected", h("p", {}, "Select an object to see its properties and its history."),
        h("dl.keys", {}, KEYS.map(([keys, what]) => h("div", {},
          h("dt", {}, keys.split(" ").map(key => h("kbd", {}, key))), h("dd", {}, what))))));
  }

  #askToCreate() {
    askToCreate(this.model.node(this.#selected)?.object ?? null, id => { location.hash = `#/object/${id}`; });
  }

  /** Moves an object one place up or down among its siblings. */
  async #reorder(node, direction) {
    const { parent } = node;
    const siblings = parent.children;
    const index = siblings.indexOf(node);
    const target = index + direction;
    // The place behind the next sibling is the one before the sibling after it.
    const before = direction < 0 ? siblings[target] : siblings[target + 1];
    if (target < 0 || target >= siblings.length || (!before && parent.next !== null)) return;
    try {
      await workspace.write(t => t.move(node.id, parent.id, before ? { before: before.id } : {}));
      this.tree.select(this.#selected);
    } catch (problem) {
      notify(problem);
    }
  }

  // Search

  #searchLater() {
    clearTimeout(this.#searchTimer);
    this.#searchTimer = setTimeout(() => this.#refreshResults(), SEARCH_PAUSE_MS);
  }

  #searchKey(event) {
    if (event.key === "Escape") {
      this.#search.value = "";
      this.#searchLater();
    } else if (event.key === "ArrowDown") {
      (this.#results.hidden ? this.tree.element : this.#results.querySelector("a"))?.focus();
      event.preventDefault();
    }
  }

  async #readResults() {
    const text = this.#search.value.trim();
    this.#results.hidden = text === "";
    this.#place.hidden = text !== "";
    if (text === "") return this.tree.schedule();
    const { objects, next } = await this.#source.list({ search: text, limit: RESULTS_MAX });
    if (text !== this.#search.value.trim()) return;
    this.#resultState.textContent = objects.length === 0 ? "Nothing contains this text."
      : next === null ? count(objects.length, "object") : `The first ${objects.length}; a longer text finds fewer.`;
    const hasFocus = this.#results.contains(document.activeElement);
    const focused = hasFocus ? document.activeElement.getAttribute("href") : null;
    fill(this.#results, this.#resultState, h("ul", {}, objects.map(object => this.#result(object, text))));
    if (focused) this.#results.querySelector(`a[href="${focused}"]`)?.focus();
  }

  #result(object, text) {
    const name = nameOf(object);
    // The property that matched, if it is not the one that is the name.
    const match = Object.entries(object.properties).find(([, value]) =>
      typeof value === "string" && value !== name.text && value.toLowerCase().includes(text.toLowerCase()));
    return h("li", {}, h("a.result", { href: `#/object/${object.id}` },
      h(`span.name${name.isNamed ? "" : ".muted"}`, {}, foreign(name.text, { max: 120 })),
      h("span.type", {}, foreign(object.type, { max: 40 })),
      match ? h("span.match", {}, foreign(match[0], { max: 40 }), ": ", foreign(excerpt(match[1], text))) : null));
  }
}

/** A time as a date-time field has it: in this place's time, without its zone. */
function localTime(milliseconds) {
  const offset = new Date(milliseconds).getTimezoneOffset() * 60_000;
  return new Date(milliseconds - offset).toISOString().slice(0, 19);
}

/** The surroundings of what was found. */
function excerpt(value, text) {
  const at = value.toLowerCase().indexOf(text.toLowerCase());
  const start = Math.max(0, at - 24);
  return `${start > 0 ? "…" : ""}${value.slice(start, at + text.length + 60)}`;
}
