/** Whether the tree shows a time of the past, and which. While it does, editing is off. */

/** The time in milliseconds since 1970, or null: the present. */
let shownMs = null;
const listeners = new Set();

export const isPastShown = () => shownMs !== null;
export const shownTime = () => shownMs;

/** Shows the tree as of a time; null ends that. */
export function showTime(milliseconds) {
  if (milliseconds === shownMs) return;
  shownMs = milliseconds;
  document.body.classList.toggle("shows-past", shownMs !== null);
  for (const listener of [...listeners]) listener(shownMs);
}

/** Calls back when another time is shown; returns the end of it. */
export function onShownTime(callback) {
  listeners.add(callback);
  return () => listeners.delete(callback);
}

/** The moment of a time, as the daemon reads it. */
export const momentOf = milliseconds => new Date(milliseconds).toISOString();

/**
 * The steps of a history, from the first edit to the last: `{ moment, timeMs, author, isGone, entries }`.
 *
 * Edits of one transaction are one step. What does not count here yet has no state to show. `entries` are the latest
 * first, as the daemon sends them.
 */
export function stepsOf(entries) {
  const steps = new Map();
  for (const entry of entries.toReversed()) {
    if (entry.status === "held" || entry.status === "waiting") continue;
    if (!steps.has(entry.moment)) {
      steps.set(entry.moment, {
        moment: entry.moment, timeMs: entry.time_ms, author: entry.author, isGone: false, entries: [],
      });
    }
    const step = steps.get(entry.moment);
    step.entries.push(entry);
    step.isGone = entry.action.delete ? true : entry.action.create ? false : step.isGone;
  }
  return [...steps.values()];
}

/** The names of all properties of two states, sorted; a state may be null. */
export function propertyNames(then, now) {
  return [...new Set([...Object.keys(then?.properties ?? {}), ...Object.keys(now?.properties ?? {})])].sort();
}

/** Whether a property is the same in two states, which were read with exact numbers. */
export function isSame(name, then, now) {
  const [a, b] = [then, now].map(state =>
    (state && Object.hasOwn(state.properties, name) ? JSON.stringify(state.properties[name]) : null));
  return a === b;
}
