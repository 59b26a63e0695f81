/** Edits that count nowhere, because their authors had no right to make them. A click makes them one's own. */

import { chip, emptyState, fill, foreign, h, icon, moment } from "./dom.js";
import { coalesced, objectLink, on, perform, workspace } from "./session.js";
import { count, exactJSON, plain } from "./text.js";
import { action } from "./timeline.js";

/** How many edits are shown at first, and how many more by a click. */
const PAGE = 50;
const EDITS_MAX = 1000;
const REASONS = {
  removed: "The right was taken away by somebody who did not have this.",
  machine_removed: "The machine was removed.",
  less_granted: "Who wrote it may do less than this.",
  not_granted: "Nobody has given a right to do this.",
};
/** Transactions that were adopted since this page was opened, and what came of it: they stay what they were. */
const adopted = new Map();

/** A link to the tray, which shows while anything is in it. */
export function rejectedLink() {
  const element = h("div.toolbar", { hidden: true });
  const refresh = coalesced(async () => {
    const { edits, next } = await workspace.rejected({ limit: PAGE });
    const number = new Set(edits.map(edit => edit.change)).size;
    const label = `Rejected edits (${number}${next === null ? "" : "+"})`;
    element.hidden = number === 0;
    if (element.textContent !== label) fill(element, h("a.button", { href: "#/rejected" }, icon("warning"), label));
  });
  const stops = [on("delta", refresh), on("status", refresh)];
  refresh();
  return { element, close: () => { for (const stop of stops) stop(); } };
}

/** The tray: what was rejected, transaction by transaction. */
export function showRejected() {
  const list = h("div.stack");
  const report = h("p.muted", { role: "status" });
  const author = h("select", { "aria-label": "Who wrote it", onchange: () => { limit = PAGE; refresh(); } });
  const chooser = h("label.author-choice", {}, "Written by", author);
  const more = h("button", { type: "button", hidden: true, onclick: () => { limit += PAGE; refresh(); } }, "Show more");
  const known = new Map();
  let limit = PAGE;

  async function read() {
    const users = await workspace.users();
    drawPeople(users);
    const wanted = author.value ? `&user=${encodeURIComponent(author.value)}` : "";
    const path = `/api/rejected?limit=${Math.min(limit, EDITS_MAX)}${wanted}`;
    const { edits, next } = exactJSON(await workspace.fetch(path, { as: "text" }));
    more.hidden = next === null || limit >= EDITS_MAX;
    const changes = new Map();
    for (const edit of edits) changes.set(edit.change, [...changes.get(edit.change) ?? [], edit]);
    // A card that has not changed stays, and with it the focus.
    const cards = [...changes].map(([change, own]) => [JSON.stringify(own), change, own]);
    const keys = new Set(cards.map(([key]) => key));
    for (const key of known.keys()) if (!keys.has(key)) known.delete(key);
    const focused = document.activeElement;
    fill(list, cards.map(([key, change, own]) => {
      if (!known.has(key)) known.set(key, card(change, own, adopt));
      return known.get(key);
    }), cards.length === 0 ? nothing() : null);
    if (list.contains(focused)) focused.focus({ preventScroll: true });
  }

  function drawPeople(users) {
    const chosen = author.value;
    fill(author, h("option", { value: "" }, "everybody"), users.map(user =>
      h("option", { value: user.id }, user.is_you ? "you" : plain(user.name || user.id.slice(0, 8), 60))));
    author.value = users.some(user => user.id === chosen) ? chosen : "";
    chooser.hidden = users.length < 2;
  }

  async function adopt(change, button, done) {
    await perform(button, async () => {
      const { adopted: number } = await workspace.adopt(change);
      adopted.set(change, number);
      report.textContent = number === 0 ? "Nothing of it can be done any more: what is gone stays gone."
        : `${count(number, "edit")} of it ${number === 1 ? "is" : "are"} yours now.`;
      done();
    });
  }

  const refresh = coalesced(read);
  const stops = [on("delta", refresh), on("status", refresh)];
  refresh();
  return {
    title: "Rejected edits",
    element: h("div.page", {},
      h("header.page-head", {}, h("a.back", { href: "#/conflicts" }, icon("back"), "Conflicts"),
        h("h1", { tabindex: "-1" }, "Rejected edits"),
        h("p.muted", {}, "These count on no machine, because their authors had no right to make them. ",
          "What you adopt becomes an edit of your own, where you may write."),
        chooser, report),
      list, more),
    close: () => { for (const stop of stops) stop(); },
  };
}

function nothing() {
  return emptyState("No rejected edits",
    h("p", {}, "What somebody writes after a right was taken away, or apart from that, is listed here."));
}

function card(change, edits, adopt) {
  const [{ user, edit: { author, time_ms: time } }] = edits;
  const name = user.name || user.id.slice(0, 8);
  const foot = h("div.card-foot");
  const button = h("button", { type: "button", onclick: () => adopt(change, button, drawFoot) }, "Adopt",
    h("span.hidden", {}, ` what ${user.is_you ? "you" : plain(name, 60)} wrote`));
  function drawFoot() {
    const hadFocus = foot.contains(document.activeElement);
    const number = adopted.get(change);
    const result = h("span", { tabindex: "-1" }, number === 0 ? chip("Nothing to adopt", "") : chip("Adopted", "ok"));
    fill(foot, number === undefined ? button : result);
    if (hadFocus) result.focus({ preventScroll: true });
  }
  drawFoot();
  return h("section.card.rejected", {},
    h("div.card-head", {},
      h("h2", {}, user.is_you ? "You" : foreign(name, { max: 60 }), h("span.muted", {}, " on ",
        author.is_this_machine ? "this machine" : foreign(author.name, { max: 60 }))),
      moment(time)),
    h("ul.rejected-edits", {}, edits.map(({ edit }) => h("li", {},
      edit.object === null || edit.object === undefined ? null : [objectLink(edit.object, { withID: true }), " "],
      action(edit.action)))),
    [...new Set(edits.map(edit => edit.reason))].map(reason =>
      h("p.notice.warning", {}, icon("warning"), h("span", {}, REASONS[reason] ?? reason))),
    foot);
}
