/** Values, kinds and moves that lost against concurrent ones, side by side; one click ends a conflict. */

import { chip, emptyState, fill, foreign, h, icon, moment } from "./dom.js";
import { shownValue } from "./properties.js";
import { rejectedLink } from "./rejected.js";
import { coalesced, notify, objectLink, on, workspace } from "./session.js";
import { exactJSON } from "./text.js";

/** How many are shown at first, and how many more by a click. */
const PAGE = 50;

/** The view of all conflicts, or of those of one object. */
export function showConflicts({ id = null }) {
  const list = h("div.stack");
  const report = h("p.hidden", { role: "status" });
  const known = new Map();
  const more = h("button", { type: "button", hidden: true, onclick: () => { limit += PAGE; refresh(); } }, "Show more");
  let limit = PAGE;

  async function read() {
    const path = `${id === null ? "/api/conflicts" : `/api/objects/${id}/conflicts`}?limit=${Math.min(limit, 1000)}`;
    const text = await workspace.fetch(path, { as: "text" });
    const { conflicts, moves_without_effect: moves, next } = exactJSON(text);
    more.hidden = next === null || limit >= 1000;
    const cards = conflicts.map(conflict => {
      // A card that has not changed stays, and with it the focus.
      const key = JSON.stringify(conflict);
      if (!known.has(key)) known.set(key, card(conflict, resolve));
      return [key, known.get(key)];
    });
    const keys = new Set(cards.map(([key]) => key));
    for (const key of known.keys()) if (!keys.has(key)) known.delete(key);
    const focused = document.activeElement;
    fill(list, cards.map(([, element]) => element), moves.map(withoutEffect),
      cards.length + moves.length === 0 ? nothing(id) : null);
    if (list.contains(focused)) focused.focus();
  }

  async function resolve(conflict, version, buttons) {
    for (const button of buttons) button.setAttribute("aria-disabled", "true");
    try {
      await workspace.resolve(conflict, { version: version.id });
      report.textContent = "The conflict is resolved.";
    } catch (problem) {
      notify(problem);
      for (const button of buttons) button.removeAttribute("aria-disabled");
    }
    refresh();
  }

  const refresh = coalesced(read);
  const rejected = rejectedLink();
  const stops = [on("delta", refresh), on("status", refresh), rejected.close];
  refresh();
  return {
    title: "Conflicts",
    element: h("div.page", {},
      h("header.page-head", {},
        id ? h("a.back", { href: "#/conflicts" }, icon("back"), "All conflicts") : null,
        h("h1", { tabindex: "-1" }, "Conflicts"),
        h("p.muted", {}, "Machines wrote these at the same time. The latest counts everywhere; nothing is lost. ",
          "Choose what shall count, or edit the object."),
        rejected.element),
      report, list, more),
    close: () => { for (const stop of stops) stop(); },
  };
}

function nothing(id) {
  return emptyState(id ? "This object has no conflicts" : "No conflicts",
    h("p", {}, "When two machines write the same property while they are apart, both values are shown here."));
}

function card(conflict, resolve) {
  const isCreation = conflict.about === "creation";
  const buttons = [];
  const versions = [conflict.winner, ...conflict.losers].filter(Boolean);
  const columns = versions.map((version, index) => {
    const isWinner = version === conflict.winner;
    const button = isCreation ? null : h(isWinner ? "button" : "button.primary", {
      type: "button",
      onclick: () => button.getAttribute("aria-disabled") || resolve(conflict, version, buttons),
    }, isWinner ? "Keep this" : "Use this",
    h("span.hidden", {}, ` (version ${index + 1}, by `, foreign(version.author.name), ")"));
    if (button) buttons.push(button);
    return h(`li.version${isWinner ? ".winner" : ""}`, {},
      h("div.version-head", {},
        h("span", {}, version.author.is_this_machine ? "This machine" : foreign(version.author.name, { max: 60 })),
        moment(version.time_ms), isWinner ? chip("Counts now", "ok") : null),
      h("div.version-value", {}, content(version.content)), button);
  });
  return h("section.card.conflict", {},
    h("div.card-head", {},
      h("h2", {}, objectLink(conflict.object, { withID: true })), about(conflict)),
    h("ol.versions", {}, columns),
    isCreation ? h("p.muted", {}, "Machines created it apart, differently. A type and a kind cannot be changed: keep it ",
      "as it is, or delete it and create another one.") : null);
}

function about(conflict) {
  if (conflict.about === "creation") return h("span.muted", {}, "its type and kind");
  if (conflict.about === "place") return h("span.muted", {}, "its place");
  return h("span.muted", {}, "property ", h("strong", {}, foreign(conflict.property, { max: 60 })));
}

function content(version) {
  if (version.removed) return h("span.muted", {}, "removed");
  if ("parent" in version) {
    return h("span", {}, "below ", version.parent === null ? "the top level" : objectLink(version.parent));
  }
  if (version.create) {
    const { type, kind } = version.create;
    return h("span", {}, "type ", h("strong", {}, foreign(type, { max: 60 })), ", kind ",
      kind === "" ? "none" : h("strong", {}, foreign(kind, { max: 60 })));
  }
  return shownValue(version.value);
}

function withoutEffect(move) {
  const { parent } = move.move.content;
  return h("section.card", {},
    h("div.card-head", {},
      h("h2", {}, objectLink(move.object, { withID: true })), chip("move without effect", "warning")),
    h("p", {}, "It was moved ", parent === null ? "to the top level" : ["below ", objectLink(parent)], " while another move made that a ",
      "circle. It stays where it is; move it again if it belongs there."));
}
