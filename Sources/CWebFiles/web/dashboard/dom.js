/**
 * Elements without markup: text only ever becomes text nodes, so no name or value of a peer can become an element.
 */

import { parts } from "./text.js";

const SVG = "http://www.w3.org/2000/svg";

/** Outlines of 24 by 24 units. */
const ICONS = {
  tree: "M4 5h6M4 5v14h6M4 12h6M14 5h6M14 12h6M14 19h6",
  peers: "M4 5h11v8H4zM2 16h13M17 9h4v10h-6v-3",
  conflict: "M6 3v7a4 4 0 0 0 4 4h4a4 4 0 0 1 4 4v3M18 3v7M6 21v-5M15 6l3-3 3 3",
  history: "M4 12a8 8 0 1 0 2.6-5.9L4 8.5M4 4v4.5h4.5M12 8v4.5l3 1.8",
  branch: "M6 4v16M6 15c0-6 12-3 12-9V4",
  health: "M3 12h4l2.5-6 4.5 12 2.5-6H21",
  undo: "M8 5L3.5 9.5 8 14M3.5 9.5H14a6 6 0 0 1 0 12h-3",
  redo: "M16 5l4.5 4.5L16 14M20.5 9.5H10a6 6 0 0 0 0 12h3",
  plus: "M12 5v14M5 12h14",
  sync: "M4 11a8 8 0 0 1 14-4.5L20 9M20 4v5h-5M20 13a8 8 0 0 1-14 4.5L4 15M4 20v-5h5",
  back: "M15 5l-7 7 7 7",
  chevron: "M9 6l6 6-6 6",
  edit: "M4 20l1-4L16 5l3 3L8 19zM14 7l3 3",
  remove: "M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13M10 11v5M14 11v5",
  move: "M12 3v18M3 12h18M9 6l3-3 3 3M9 18l3 3 3-3M6 9l-3 3 3 3M18 9l3 3-3 3",
  copy: "M9 9h11v11H9zM5 15H4V4h11v1",
  check: "M5 12.5l4.5 4.5L19 7",
  warning: "M12 4l9 16H3zM12 10v4.5M12 17.2v.3",
  problem: "M12 3a9 9 0 1 0 .01 0M12 7.5v5.5M12 16.2v.3",
  offline: "M3 3l18 18M5 12a10 10 0 0 1 4-2.4M8.5 15.5a5 5 0 0 1 6.5-.3M12 19v.2M13 8.6A10 10 0 0 1 19 12",
  snapshot: "M4 8h4l1.5-3h5L16 8h4v11H4zM12 10a3.2 3.2 0 1 0 .01 0",
  download: "M12 4v11M7 10.5l5 5 5-5M4 20h16",
  upload: "M12 16V4.5M7 9l5-5 5 5M4 20h16",
  search: "M11 4a7 7 0 1 0 .01 0M16 16l5 5",
};

/**
 * Makes an element: `h("button.primary", { onclick, "aria-label": "…" }, "Save")`.
 *
 * Members that begin with "on" are listeners; true and false set and omit an attribute. There is no `style`: the
 * content security policy forbids it, and style sheets are the place for it.
 */
export function h(tag, attributes = {}, ...children) {
  const [name, ...classes] = tag.split(".");
  const element = document.createElement(name);
  if (classes.length > 0) element.className = classes.join(" ");
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "value") element.value = value;
    else element.setAttribute(key, value === true ? "" : String(value));
  }
  element.append(...nodes(children));
  return element;
}

function nodes(children) {
  return children.flat(Infinity).filter(child => child !== null && child !== undefined && child !== false);
}

/** Replaces what an element contains, without an element that stays losing the focus for no reason. */
export function fill(element, ...children) {
  element.replaceChildren(...nodes(children));
  return element;
}

/** An icon. It only repeats what the text beside it says, so it is hidden from screen readers. */
export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  for (const [key, value] of Object.entries({ viewBox: "0 0 24 24", class: "icon", "aria-hidden": "true" })) {
    svg.setAttribute(key, value);
  }
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", ICONS[name]);
  svg.append(path);
  return svg;
}

/** A QR code from rows of "0" and "1": one path, black on white in dark mode too, as scanners expect. */
export function qrCode({ size, rows }, label) {
  const quiet = 4;
  const svg = document.createElementNS(SVG, "svg");
  const span = size + 2 * quiet;
  const attributes = { viewBox: `0 0 ${span} ${span}`, class: "qr", role: "img", "aria-label": label };
  for (const [key, value] of Object.entries(attributes)) svg.setAttribute(key, value);
  const path = document.createElementNS(SVG, "path");
  const runs = rows.flatMap((row, y) => [...row.matchAll(/1+/g)].map(run =>
    `M${run.index + quiet} ${y + quiet}h${run[0].length}v1h-${run[0].length}z`));
  path.setAttribute("d", runs.join(""));
  svg.append(path);
  return svg;
}

/**
 * Text of a peer: isolated from the direction of its surroundings, and with what is invisible made visible.
 *
 * @param {{lines?: boolean, max?: number}} options `lines` keeps line breaks; `max` cuts the text off
 */
export function foreign(text, { lines = false, max = 400 } = {}) {
  const element = h("bdi", { dir: "auto" });
  for (const part of parts(text.length > max ? `${text.slice(0, max)}…` : text, { lines })) {
    element.append(part.mark ? h("span.mark", { title: part.title }, part.mark) : part.text);
  }
  return element;
}

/** A moment: relative for reading, exact on hovering. `refreshTimes` keeps it true. */
export function moment(milliseconds) {
  const date = new Date(milliseconds);
  if (Number.isNaN(date.getTime())) return h("span", {}, "an impossible time");
  const element = h("time", { datetime: date.toISOString(), title: exactTime(milliseconds) });
  element.dataset.ms = milliseconds;
  element.textContent = relativeTime(milliseconds);
  return element;
}

/** A date and time in the user's language. */
export function exactTime(milliseconds) {
  return new Date(milliseconds).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "medium" });
}

const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const UNITS = [["year", 31_536_000], ["month", 2_592_000], ["day", 86_400], ["hour", 3600], ["minute", 60]];

function relativeTime(milliseconds) {
  const seconds = (milliseconds - Date.now()) / 1000;
  if (Math.abs(seconds) < 45) return seconds > 5 ? "in a moment" : "just now";
  const [unit, length] = UNITS.find(([, size]) => Math.abs(seconds) >= size * 0.75) ?? UNITS.at(-1);
  return relative.format(Math.round(seconds / length), unit);
}

/** Times grow old while a page is open. */
export function refreshTimes() {
  for (const element of document.querySelectorAll("time[data-ms]")) {
    const text = relativeTime(Number(element.dataset.ms));
    if (element.textContent !== text) element.textContent = text;
  }
}

/** A small label. */
export function chip(text, kind = "") {
  return h(`span.chip${kind && `.${kind}`}`, {}, text);
}

/** What an empty place says: what it is for, and what to do next. */
export function emptyState(title, ...children) { return h("div.empty", {}, h("h2", {}, title), ...children); }

/** The same where it is all that the page shows, with the heading of the page. */
export function emptyPage(title, ...children) {
  return h("div.empty", {}, h("h1", { tabindex: "-1" }, title), ...children);
}

/** A button that copies text and says so. */
export function copyButton(text, label) {
  const button = h("button.quiet.small", { type: "button", "aria-label": label, onclick: copy }, icon("copy"), "Copy");
  async function copy() {
    try {
      await navigator.clipboard.writeText(text);
      fill(button, icon("check"), "Copied");
    } catch {
      fill(button, icon("warning"), "Select the text and copy it");
    }
    setTimeout(() => fill(button, icon("copy"), "Copy"), 2500);
  }
  return button;
}
