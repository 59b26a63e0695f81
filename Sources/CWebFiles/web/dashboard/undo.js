/** Undo and redo of this user's transactions: two buttons, their keys, and a report of what was done. */

import { fill, foreign, h, icon } from "./dom.js";
import { objectLink, perform, workspace } from "./session.js";
import { count, summary } from "./text.js";

/** Edits of one transaction that are named; the others are counted. */
const NAMED_MAX = 3;
const KEPT_MAX = 5;
const REPORT_MS = 20_000;

const WAYS = {
  undo: {
    label: "Undo", keys: "Control+Z", done: "Undone: ", failed: "Could not undo: ", none: "There is nothing to undo.",
  },
  redo: {
    label: "Redo", keys: "Control+Shift+Z", done: "Done again: ", failed: "Could not do again: ",
    none: "There is nothing to redo.",
  },
};

/** Why something stays as it is, after "by NAME". */
const REASONS = {
  edited: "was edited since", deleted: "was deleted since", "has-children": "has other objects below it",
  "parent-gone": "cannot go back to where it was", unknown: "had a value that the log does not have any more",
  "too-large": "has no room in one change beside the rest; restore it from its history",
};

/** The two buttons. `isOff` tells whether editing is off. */
export function undoButtons(isOff) {
  const buttons = Object.fromEntries(Object.entries(WAYS).map(([way, { label, keys }]) => [way,
    h("button.quiet.small", {
      type: "button", title: `${label} (${keys.replace("Control", "Ctrl")})`, "aria-keyshortcuts": keys,
      onclick: () => reverse(way),
    }, icon(way), h("span", {}, label))]));
  let isRunning = false;

  /** One at a time: keys that are held down must not take back more than somebody sees. */
  async function reverse(way) {
    if (isRunning) return;
    if (isOff()) return report(h("p", {}, "Editing is off while the past is shown."));
    isRunning = true;
    await perform(buttons[way], async () => showReversed(way, await workspace[way](1)));
    isRunning = false;
  }

  addEventListener("keydown", event => {
    const way = wayOf(event);
    if (!way || isTyping(event.target) || document.querySelector("dialog[open]")) return;
    event.preventDefault();
    reverse(way);
  });
  return h("div.undo", { role: "group", "aria-label": "Undo and redo" }, Object.values(buttons));
}

function wayOf({ key, ctrlKey, metaKey, altKey, shiftKey }) {
  if (!(ctrlKey || metaKey) || altKey) return null;
  if (key.toLowerCase() === "z") return shiftKey ? "redo" : "undo";
  return key.toLowerCase() === "y" && !shiftKey ? "redo" : null;
}

/** Text fields have an undo of their own. */
function isTyping(target) {
  return target.closest?.("textarea, select, [contenteditable], input:not([type=range])") !== null;
}

function showReversed(way, transactions) {
  const { done, failed, none } = WAYS[way];
  if (transactions.length === 0) return report(h("p", {}, none));
  report(transactions.map(({ edits, kept, has_effect }) => [
    h("p", {}, h("strong", {}, has_effect || kept.length === 0 ? done : failed), h("span", {}, described(edits))),
    kept.length === 0 ? null : h("div.kept", {},
      h("p", {}, "Left as it is:"),
      h("ul", {}, kept.slice(0, KEPT_MAX).map(part => h("li", {}, keptText(part)))),
      kept.length > KEPT_MAX ? h("p.muted", {}, `and ${count(kept.length - KEPT_MAX, "more part")}`) : null),
  ]));
}

/** What a transaction did, in a line. */
function described(edits) {
  const shown = edits.filter(({ object }) => object !== null);
  const named = shown.slice(0, NAMED_MAX).flatMap(({ object, action }, index) =>
    [index > 0 ? ", " : null, editText(action), objectLink(object)]);
  return shown.length > NAMED_MAX ? [named, `, and ${count(shown.length - NAMED_MAX, "further edit")}`] : named;
}

function editText({ create, move, set, unset, ...rest }) {
  if (create) return "the creation of ";
  if (move) return "the move of ";
  if (set) return [foreign(set.name, { max: 40 }), " = ", foreign(summary(set.value, 40)), " on "];
  if (unset) return ["the removal of ", foreign(unset.name, { max: 40 }), " from "];
  return rest.delete ? "the deletion of " : "an edit of ";
}

function keptText({ object, part, property, reason, author }) {
  const what = part === "property" ? ["the property ", h("strong", {}, foreign(property, { max: 40 })), " of "]
    : part === "place" ? "the place of " : "";
  const by = author === null ? null
    : [" by ", author.is_this_machine ? "this machine" : foreign(author.name, { max: 60 })];
  return [what, objectLink(object), " ", REASONS[reason] ?? "has changed", by];
}

let timer;

/** Shows a report until it has been read, or the next one comes. */
export function report(...content) {
  const place = document.querySelector("#report");
  clearTimeout(timer);
  const close = () => fill(place);
  fill(place, h("div.notice", {}, h("div.stack-small", {}, content),
    h("button.quiet.small", { type: "button", onclick: close }, "Dismiss")));
  timer = setTimeout(close, REPORT_MS);
}
