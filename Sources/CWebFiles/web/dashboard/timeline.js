/** A timeline: the history of one object, or the log of the whole workspace. */

import { chip, fill, foreign, h, icon, moment } from "./dom.js";
import { coalesced, objectLink, on, perform, workspace } from "./session.js";
import { exactJSON, summary } from "./text.js";

const PAGE_SIZE = 50;

/** What the status of an entry means; "effective" needs no words. */
const STATUS = {
  superseded: ["replaced", "", "A later write has replaced this."],
  conflict: ["lost", "warning", "This lost against a concurrent write; see Conflicts."],
  held: ["held", "warning", "It is stamped in the future, and counts when that time has come."],
  waiting: ["waiting", "warning", "It needs changes that are not here yet."],
  without_effect: ["no effect", "warning", "This move would have closed a cycle."],
  unmerged: ["on a branch", "warning", "It is on a branch that has not been merged."],
  rejected: ["rejected", "warning", "Its author had no right to do this; it counts nowhere."],
  unread: ["unreadable", "warning", "It was written by a newer version of peerd."],
};

/** A timeline that reads older entries on demand and shows new ones by itself. */
export class Timeline {
  #id;
  #entriesChanged;
  #chosen;
  /** The moment that is looked at. */
  #marked = null;
  #entries = [];
  #next = null;
  #list = h("div.timeline");
  #more = h("button", { type: "button", hidden: true, onclick: () => perform(this.#more, () => this.readOlder()) },
    "Show older changes");
  #older = null;
  #stop;

  /**
   * @param id the object, or null for everything
   * @param actions of an object: `entriesChanged(entries, hasOlder)`, and `chosen(moment)` by a click
   */
  constructor(id, { entriesChanged, chosen } = {}) {
    this.#id = id;
    this.#entriesChanged = entriesChanged;
    this.#chosen = chosen;
    this.element = h("div", {}, this.#list, this.#more);
    fill(this.#list, h("p.muted", {}, "Reading the log…"));
    const refresh = coalesced(() => this.#readNewest());
    this.#stop = on("delta", delta => {
      if (delta === null || id === null || delta.objects.some(change => change.id === id)) refresh();
    });
    refresh();
  }

  close() { this.#stop(); }

  /** Reads the newest page, and keeps the older ones that are on the screen. */
  async #readNewest() {
    const page = await this.#read().catch(problem => {
      // An object that never was here has no log.
      if (problem.code === "no-such-object") return { entries: [], next: null };
      throw problem;
    });
    const fresh = new Set(page.entries.map(entry => entry.id));
    const known = this.#entries.findIndex(entry => fresh.has(entry.id));
    // Without an overlap there would be a hole between the pages.
    if (known < 0) {
      this.#entries = page.entries;
      this.#next = page.next;
    } else {
      this.#entries = [...page.entries, ...this.#entries.filter(entry => !fresh.has(entry.id))];
    }
    this.#draw();
  }

  async #read(after = null) {
    const path = this.#id === null ? "/api/log?order=newest" : `/api/objects/${this.#id}/history?`;
    const cursor = after === null ? "" : `&after=${encodeURIComponent(after)}`;
    const text = await workspace.fetch(`${path}&limit=${PAGE_SIZE}${cursor}`, { as: "text" });
    return exactJSON(text);
  }

  /** Reads the next page; calls while one is on its way wait for that one. */
  readOlder() {
    this.#older ??= this.#readNextPage().finally(() => { this.#older = null; });
    return this.#older;
  }

  async #readNextPage() {
    if (this.#next === null) return;
    const page = await this.#read(this.#next);
    const known = new Set(this.#entries.map(entry => entry.id));
    this.#entries.push(...page.entries.filter(entry => !known.has(entry.id)));
    this.#next = page.next;
    this.#draw();
  }

  /** Marks the entries of a moment as the one that is looked at; null is now. */
  mark(moment) {
    this.#marked = moment;
    for (const row of this.#list.querySelectorAll("li")) markRow(row, moment);
  }

  #draw() {
    this.#entriesChanged?.(this.#entries, this.#next !== null);
    this.#more.hidden = this.#next === null;
    if (this.#entries.length === 0) return fill(this.#list, h("p.muted", {}, "There are no entries."));
    const days = [];
    for (const entry of this.#entries) {
      const day = new Date(entry.time_ms).toLocaleDateString("en-GB", { dateStyle: "full" });
      if (days.at(-1)?.day !== day) days.push({ day, entries: [] });
      days.at(-1).entries.push(entry);
    }
    const focused = this.#focusedControl();
    fill(this.#list, days.map(({ day, entries }) => h("section.day", {}, h(this.#id === null ? "h2" : "h3", {}, day),
      h("ol", {}, entries.map(entry => this.#row(entry))))));
    if (!focused) return;
    const row = [...this.#list.querySelectorAll("li")].find(({ dataset }) => dataset.id === focused.id);
    row?.querySelectorAll("a, button")[focused.index]?.focus({ preventScroll: true });
  }

  /** Where the focus is, if it is in the list: each change of the workspace makes new rows. */
  #focusedControl() {
    const row = this.#list.contains(document.activeElement) && document.activeElement.closest("li");
    return row && {
      id: row.dataset.id, index: [...row.querySelectorAll("a, button")].indexOf(document.activeElement),
    };
  }

  #row(entry) {
    const [word, kind, meaning] = STATUS[entry.status] ?? this.#inForce(entry);
    const row = h(`li.entry${entry.status === "effective" ? "" : ".dim"}`, { "data-id": entry.id },
      h("div.entry-what", {}, this.#id === null && entry.object !== null
        ? [objectLink(entry.object, { withID: true }), " "] : null,
        action(entry.action), entry.replaced ? [" ", h("span.replaced", {}, former(entry.replaced))] : null,
        word ? h("span", { title: meaning }, " ", chip(word, kind)) : null),
      h("div.entry-who", {},
        entry.author.is_this_machine ? "this machine" : foreign(entry.author.name, { max: 60 }), ", ",
        moment(entry.time_ms), this.#lookButton(entry)));
    row.dataset.moment = entry.moment ?? "";
    markRow(row, this.#marked);
    return row;
  }

  /** In the history of an object, the edits that make it what it is; those of a deleted one no longer do. */
  #inForce({ action: { set, move }, status }) {
    if (!this.#chosen || status !== "effective" || !(set || move) || this.#isDeleted) return [];
    return ["in force", "ok", "This is what counts now."];
  }

  get #isDeleted() {
    const last = this.#entries.find(({ action, status }) => status === "effective" && (action.create || action.delete));
    return last?.action.delete === true;
  }

  #lookButton(entry) {
    if (!this.#chosen || entry.status === "held" || entry.status === "waiting") return null;
    return [" ", h("button.quiet.small.look", { type: "button", onclick: () => this.#chosen(entry.moment) },
      "Look", h("span.hidden", {}, " at the moment after this edit"))];
  }
}

function markRow(row, moment) {
  if (moment !== null && row.dataset.moment === moment) row.setAttribute("aria-current", "step");
  else row.removeAttribute("aria-current");
}

/** What an edit replaced. */
function former({ set, unset, move }) {
  if (set) return ["instead of ", h("span.former", {}, foreign(summary(set.value)))];
  if (unset) return "where it was removed";
  if (move) return ["from ", move.parent === null ? "the top level" : objectLink(move.parent)];
  return null;
}

/** What an edit does. */
export function action({ create, move, set, unset, ...rest }) {
  const property = name => h("strong", {}, foreign(name, { max: 60 }));
  if (create) {
    const type = create.kind ? `${create.type}/${create.kind}` : create.type;
    return ["created as ", h("strong", {}, foreign(type, { max: 60 }))];
  }
  if (move) return ["moved to ", move.parent === null ? "the top level" : objectLink(move.parent)];
  if (set) return ["set ", property(set.name), " to ", h("span.entry-value", {}, foreign(summary(set.value)))];
  if (unset) return ["removed ", property(unset.name)];
  return rest.delete ? "deleted" : "changed in a way that this version does not know";
}

/** The view of the whole log. */
export function showHistory() {
  const timeline = new Timeline(null);
  return {
    title: "History",
    element: h("div.page", {},
      h("header.page-head", {}, h("h1", { tabindex: "-1" }, "History"),
        h("p.muted", {}, "Everything that was written, on all machines, newest first."),
        h("div.toolbar", {}, h("a.button", { href: "#/snapshots" }, icon("snapshot"), "Snapshots"))),
      h("div.card", {}, timeline.element)),
    close: () => timeline.close(),
  };
}
