/** The one connection of this page, and what all views share of it. */

import { connect, PeerdProblem } from "/peerd.js";
import { fill, foreign, h, icon } from "./dom.js";
import { nameOf } from "./text.js";

/** The workspace; set before any view is shown. */
export let workspace = null;
/** The newest status, null before the first message; and the peers, with addresses that lead to none. */
export let status = null;
export let peers = [];

const listeners = { status: new Set(), delta: new Set(), state: new Set(), refused: new Set() };
const REFUSED_RETRY_MS = 5000;

/** Calls back on "status", "delta" (null: everything may have changed), "state" or "refused"; returns the end of it. */
export function on(event, callback) {
  listeners[event].add(callback);
  return () => listeners[event].delete(callback);
}

function tell(event, value) {
  for (const listener of [...listeners[event]]) listener(value);
}

/** Connects, however long it takes: while this page has no right to be here, it says so and asks again. */
export async function start() {
  while (workspace === null) {
    try {
      workspace = await connect({ onerror: notify });
    } catch (problem) {
      tell("refused", problem);
      await new Promise(resolve => setTimeout(resolve, REFUSED_RETRY_MS));
    }
  }
  workspace.on("state", state => tell("state", state));
  workspace.status((newStatus, newPeers) => {
    [status, peers] = [newStatus, [...newPeers, ...newStatus.addresses]];
    tell("status", status);
  });
  watchChanges("now");
  tell("state", workspace.state);
}

/**
 * Follows all changes of the workspace, but not its whole state: views read by pages what they show.
 *
 * When the daemon no longer knows the position, it sends everything (`reset`). The objects of that are ignored; the
 * views read their pages again when it has ended.
 */
function watchChanges(since) {
  let isResetting = false;
  workspace.changes({ all: true }, delta => {
    if (delta.reset) isResetting = true;
    if (!isResetting) {
      for (const { id } of delta.objects) names.delete(id);
      return tell("delta", delta);
    }
    if (delta.more) return;
    isResetting = false;
    names.clear();
    tell("delta", null);
  }, {
    since,
    // A daemon that does not know "now" is asked for everything, once.
    onerror: problem => (since === "now" ? watchChanges(null) : notify(problem)),
  });
}

let readingCount = 0;
const waitingReaders = [];

/**
 * An object by its id, or null if there is none.
 *
 * It is read over the connection that is open anyway: a browser writes each answer of 404 to its console, as an error.
 */
export async function readObject(id) {
  if (readingCount >= READINGS_MAX) await new Promise(resolve => waitingReaders.push(resolve));
  readingCount++;
  let stop;
  try {
    return await new Promise((resolve, reject) => {
      stop = workspace.object(id, resolve, {
        onerror: problem => (problem.code === "no-such-object" ? resolve(null) : reject(problem)),
      });
    });
  } finally {
    stop();
    readingCount--;
    waitingReaders.shift()?.();
  }
}

/** Names of objects that are mentioned by id. */
const names = new Map();
const NAMES_MAX = 2000;
const FORMER_ENTRIES_MAX = 200;
/** A connection has at most 256 subscriptions. */
const READINGS_MAX = 32;

/**
 * A link to an object, with its name as soon as that is known.
 *
 * `withID` shows the beginning of the id as well: objects may have the same name, and lose it.
 */
export function objectLink(id, { text, withID = false } = {}) {
  const shortID = h("code", {}, id.slice(0, 8));
  const link = h("a", { href: `#/object/${id}` }, text ? foreign(text, { max: 80 }) : shortID);
  if (text) return link;
  nameByID(id).then(({ text: name, isGone, isKnown }) => {
    if (!isKnown) return;
    fill(link, foreign(name, { max: 80 }), isGone ? h("span.hidden", {}, " (deleted)") : null,
      withID ? [" ", shortID] : null);
    link.classList.toggle("gone", isGone);
  }, () => link.classList.add("gone"));
  return link;
}

/**
 * The name of an object, `{ text, isGone, isKnown }`; that of a deleted one is the last that its log has, and of one
 * that never was here nothing is known.
 */
export function nameByID(id) {
  if (!names.has(id)) {
    if (names.size >= NAMES_MAX) names.clear();
    names.set(id, readObject(id).then(async object => (object
      ? { text: nameOf(object).text, isGone: false, isKnown: true } : { ...await formerName(id), isGone: true })));
    names.get(id).catch(() => names.delete(id));
  }
  return names.get(id);
}

async function formerName(id) {
  const { entries } = await workspace.log(id, { limit: FORMER_ENTRIES_MAX, order: "newest" });
  const properties = {};
  for (const { action: { set } } of entries) if (set && !(set.name in properties)) properties[set.name] = set.value;
  const type = entries.find(({ action }) => action.create)?.action.create.type;
  return { text: nameOf({ type, properties }).text, isKnown: entries.length > 0 };
}

/**
 * Calls an async function again and again, never twice at once: calls during a run make one further run.
 *
 * Views that list things use it, so that a thousand changes do not become a thousand requests.
 */
export function coalesced(action, pauseMs = 250) {
  let isRunning = false;
  let isWanted = false;
  return async function run() {
    isWanted = true;
    if (isRunning) return;
    isRunning = true;
    while (isWanted) {
      isWanted = false;
      try {
        await action();
      } catch (problem) {
        // The banner already says that the daemon does not answer.
        if (problem.code !== "offline") notify(problem);
      }
      await new Promise(resolve => setTimeout(resolve, pauseMs));
    }
    isRunning = false;
  };
}

/** What went wrong, and what to do (or null). The daemon ends the detail of some problems with the advice. */
export function sentencesOf(problem) {
  if (!(problem instanceof PeerdProblem)) return [`The dashboard failed: ${problem.message}`, null];
  const { detail, advice } = problem;
  return [advice && detail.endsWith(advice) ? detail.slice(0, -advice.length).trim() || detail : detail, advice];
}

/** Shows what went wrong and what to do, until the user has seen it. */
export function notify(problem) {
  // The user knows: it was a click on Cancel.
  if (problem.code === "aborted") return;
  const place = document.querySelector("#notices");
  const [detail, advice] = sentencesOf(problem);
  const known = [...place.children].find(notice => notice.dataset.detail === detail);
  if (known) known.remove();
  while (place.children.length >= 3) place.firstElementChild.remove();
  const notice = h("div.notice.problem", {},
    icon("warning"),
    h("div", {}, h("p", {}, foreign(detail)), advice ? h("p.muted", {}, foreign(advice)) : null),
    h("button.quiet.small", { type: "button", onclick: () => notice.remove() }, "Dismiss"));
  notice.dataset.detail = detail;
  place.append(notice);
}

/** Runs what a user asked for; the button waits meanwhile, and failures are shown. Resolves with true on success. */
export async function perform(button, action, failed = notify) {
  if (button?.getAttribute("aria-disabled") === "true") return false;
  // Not `disabled`: that would take the focus away.
  button?.setAttribute("aria-disabled", "true");
  button?.classList.add("busy");
  try {
    await action();
    return true;
  } catch (problem) {
    failed(problem);
    return false;
  } finally {
    button?.removeAttribute("aria-disabled");
    button?.classList.remove("busy");
  }
}
