/** The branches: what each has that the timeline which it leaves has not. */

import { askToBranch, askToDeleteBranch } from "./branch-dialogs.js";
import { chip, emptyState, fill, foreign, h, icon, moment } from "./dom.js";
import { coalesced, on, status, workspace } from "./session.js";
import { count } from "./text.js";

/** Calls back when anything was written, also on a branch, of which no delta tells; returns the end of it. */
export function onAnyWrite(callback) {
  let changes = status?.changes;
  const stops = [on("delta", callback), on("status", () => {
    if (status.changes === changes) return;
    changes = status.changes;
    callback();
  })];
  return () => { for (const stop of stops) stop(); };
}

/** What a timeline is called; `id` is null for the main one. */
export function timelineName(id, branches) {
  if (id === null) return "the main timeline";
  const branch = branches.find(branch => branch.id === id);
  return branch ? foreign(branch.name, { max: 60 }) : "a branch that was deleted";
}

/** What is not merged, in a label. */
export function unmergedChip({ unmerged }) {
  return unmerged > 0 ? chip(`${unmerged.toLocaleString("en")} not merged`, "warning") : chip("Nothing to merge", "ok");
}

/** The view of all branches. */
export function showBranches() {
  const list = h("ul.cards", { "aria-label": "Branches" });
  const create = h("button.primary", { type: "button", onclick: () => askToBranch(branches, open) }, icon("plus"),
    "New branch");
  const known = new Map();
  let branches = [];

  function open(id) { location.hash = `#/branch/${id}`; }

  async function read() {
    branches = await workspace.branches();
    const cards = branches.map(branch => {
      // A card that has not changed stays, and with it the focus.
      const key = JSON.stringify([branch, branches.find(({ id }) => id === branch.parent)?.name]);
      if (!known.has(key)) known.set(key, card(branch, branches, refresh));
      return [key, known.get(key)];
    });
    const keys = new Set(cards.map(([key]) => key));
    for (const key of known.keys()) if (!keys.has(key)) known.delete(key);
    const focused = document.activeElement;
    fill(list, cards.map(([, element]) => element));
    if (list.contains(focused)) focused.focus();
    empty.hidden = branches.length > 0;
  }

  const empty = emptyState("No branches",
    h("p", {}, "On a branch you try something out: others see it when you merge it, or never."));
  empty.hidden = true;
  const refresh = coalesced(read);
  const stop = onAnyWrite(refresh);
  refresh();
  return {
    title: "Branches",
    element: h("div.page", {},
      h("header.page-head", {}, h("h1", { tabindex: "-1" }, "Branches"),
        h("p.muted", {}, "A branch leaves the main timeline and goes its own way until it is merged. ",
          "It is on all machines."),
        h("div.toolbar", {}, create)),
      empty, list),
    close: stop,
  };
}

function card(branch, branches, refresh) {
  const { id, name, parent, author } = branch;
  const hint = h("span.hidden", {}, " ", foreign(name, { max: 60 }));
  return h("li.card", {},
    h("div.card-head", {}, h("h2", {}, h("a", { href: `#/branch/${id}` }, foreign(name, { max: 80 }))),
      unmergedChip(branch)),
    h("dl.facts", {},
      fact("It leaves", timelineName(parent, branches)),
      fact("Created", h("span", {}, moment(branch.time_ms), " by ",
        author.is_this_machine ? "this machine" : foreign(author.name, { max: 60 })))),
    h("div.toolbar", {},
      h("a.button", { href: `#/branch/${id}` }, "Compare and merge", hint.cloneNode(true)),
      h("button", { type: "button", onclick: () => askToDeleteBranch(branch, refresh) }, icon("remove"), "Delete",
        hint)));
}

const fact = (label, value) => h("div", {}, h("dt", {}, label), h("dd", {}, value));
