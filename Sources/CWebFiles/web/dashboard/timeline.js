/** The log as a timeline: of one object, or of the whole workspace. */

import { chip, fill, foreign, h, moment } from "./dom.js";
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
  unread: ["unreadable", "warning", "It was written by a newer version of peerd."],
};

/** A timeline that reads older entries on demand and shows new ones by itself. */
export class Timeline {
  #id;
  #entries = [];
  #next = null;
  #list = h("div.timeline");
  #more = h("button", { type: "button", hidden: true, onclick: () => perform(this.#more, () => this.#readOlder()) },
    "Show older changes");
  #stop;

  /** @param id the object, or null for everything */
  constructor(id) {
    this.#id = id;
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
    const path = this.#id === null ? "/api/log" : `/api/objects/${this.#id}/log`;
    const cursor = after === null ? "" : `&after=${encodeURIComponent(after)}`;
    const text = await workspace.fetch(`${path}?limit=${PAGE_SIZE}&order=newest${cursor}`, { as: "text" });
    return exactJSON(text);
  }

  async #readOlder() {
    const page = await this.#read(this.#next);
    const known = new Set(this.#entries.map(entry => entry.id));
    this.#entries.push(...page.entries.filter(entry => !known.has(entry.id)));
    this.#next = page.next;
    this.#draw();
  }

  #draw() {
    this.#more.hidden = this.#next === null;
    if (this.#entries.length === 0) return fill(this.#list, h("p.muted", {}, "There are no entries."));
    const days = [];
    for (const entry of this.#entries) {
      const day = new Date(entry.time_ms).toLocaleDateString("en-GB", { dateStyle: "full" });
      if (days.at(-1)?.day !== day) days.push({ day, entries: [] });
      days.at(-1).entries.push(entry);
    }
    const focused = this.#focusedLink();
    fill(this.#list, days.map(({ day, entries }) => h("section.day", {}, h(this.#id === null ? "h2" : "h3", {}, day),
      h("ol", {}, entries.map(entry => this.#row(entry))))));
    const row = focused && [...this.#list.querySelectorAll("li")].find(({ dataset }) => dataset.id === focused.id);
    row?.querySelectorAll("a")[focused.index]?.focus({ preventScroll: true });
  }

  /** Where the focus is, if it is in the list: rows are made anew with each change of the workspace. */
  #focusedLink() {
    const row = this.#list.contains(document.activeElement) && document.activeElement.closest("li");
    return row && { id: row.dataset.id, index: [...row.querySelectorAll("a")].indexOf(document.activeElement) };
  }

  #row(entry) {
    const [word, kind, meaning] = STATUS[entry.status] ?? [];
    return h(`li.entry${entry.status === "effective" ? "" : ".dim"}`, { "data-id": entry.id },
      h("div.entry-what", {}, this.#id === null && entry.object !== null
        ? [objectLink(entry.object, { withID: true }), " "] : null,
        action(entry.action),
        word ? h("span", { title: meaning }, " ", chip(word, kind)) : null),
      h("div.entry-who", {},
        entry.author.is_this_machine ? "this machine" : foreign(entry.author.name, { max: 60 }), ", ",
        moment(entry.time_ms)));
  }
}

function action({ create, move, set, unset, ...rest }) {
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
        h("p.muted", {}, "Everything that was written, on all machines, newest first.")),
      h("div.card", {}, timeline.element)),
    close: () => timeline.close(),
  };
}
