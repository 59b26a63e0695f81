/** Text and values as people read them. No DOM, so that it can be tested anywhere. */

/**
 * Characters that nobody can see, or that reorder what stands beside them: controls, format characters (bidi marks and
 * overrides, zero width, tags), line separators, lone surrogates, fillers. Not the visible signs of Arabic and Syriac
 * that Unicode counts as format characters.
 */
const UNSEEN = /(?![\u0600-\u0605\u06dd\u070f\u08e2])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\u034f\u115f\u1160\u3164\uffa0]/gu;
/** Joiners where they belong: between the parts of an emoji, and between letters of scripts that need them. */
const JOINED = new RegExp(
  "(?<=[\\p{Extended_Pictographic}\\p{Emoji_Modifier}\\ufe0f])\\u200d(?=\\p{Extended_Pictographic})|" +
  "(?<=[\\p{Script=Arabic}\\p{M}])[\\u200c\\u200d](?=[\\p{Script=Arabic}\\p{L}])", "gu");

const NAMES = {
  0x09: "tab", 0x0a: "line break", 0x0d: "carriage return", 0x200b: "zero width space", 0x200c: "zero width non-joiner",
  0x200d: "zero width joiner", 0x200e: "left-to-right mark", 0x200f: "right-to-left mark",
  0x202a: "left-to-right embedding", 0x202b: "right-to-left embedding", 0x202c: "end of direction",
  0x202d: "left-to-right override", 0x202e: "right-to-left override", 0x2066: "left-to-right isolate",
  0x2067: "right-to-left isolate", 0x2068: "isolate", 0x2069: "end of isolate", 0xfeff: "byte order mark",
  0xad: "soft hyphen",
};

/** Splits text into `{ text }` that is harmless and `{ mark, title }` that stands for one unseen character. */
export function parts(text, { lines = false } = {}) {
  const joined = new Set([...text.matchAll(JOINED)].map(match => match.index));
  const found = [];
  let start = 0;
  for (const match of text.matchAll(UNSEEN)) {
    const isKept = joined.has(match.index) || (lines && (match[0] === "\n" || match[0] === "\t"));
    if (isKept) continue;
    if (match.index > start) found.push({ text: text.slice(start, match.index) });
    found.push(markOf(match[0]));
    start = match.index + match[0].length;
  }
  if (start < text.length) found.push({ text: text.slice(start) });
  return found;
}

function markOf(character) {
  const scalar = character.codePointAt(0);
  const code = `U+${scalar.toString(16).toUpperCase().padStart(4, "0")}`;
  const mark = { 0x0a: "↵", 0x09: "⇥" }[scalar] ?? code;
  return { mark, title: NAMES[scalar] ? `${code}, ${NAMES[scalar]}` : `${code}, an invisible character` };
}

/** The same for places that hold only text, such as the title of the page. */
export function plain(text, max = 120) {
  const short = text.length > max ? `${text.slice(0, max)}…` : text;
  return parts(short).map(part => part.text ?? `[${part.mark}]`).join("");
}

/** Properties that name an object to people; the first that is there counts, as in `peerd ls`. */
const NAME_PROPERTIES = ["name", "title"];

/** What an object is called: `{ text, isNamed }`. */
export function nameOf(object) {
  for (const property of NAME_PROPERTIES) {
    const value = object.properties[property];
    if (value === undefined || value === null || value === "") continue;
    return { text: typeof value === "string" ? value : JSON.stringify(value), isNamed: true };
  }
  return { text: `Unnamed ${object.type || "object"}`, isNamed: false };
}

/** A number as the daemon wrote it, where JavaScript would change it: an integer above 2^53, or 1.0. */
class ExactNumber {
  constructor(source) { this.source = source; }
  toJSON() { return JSON.rawJSON(this.source); }
}

/**
 * Reads JSON that is only shown, with every number as it was written.
 *
 * A browser that does not tell how a number was written (before 2023 to 2025) gives what JSON.parse gives.
 */
export function exactJSON(text) {
  return JSON.parse(text, (_, value, context) => {
    if (typeof value !== "number" || !JSON.rawJSON || context?.source === undefined) return value;
    return isRounded(value) || context.source !== String(value) ? new ExactNumber(context.source) : value;
  });
}

/** A number as people read it; one that JavaScript may have rounded says so. */
export function numberText(value) {
  if (value instanceof ExactNumber) return value.source;
  return isRounded(value) ? `about ${value}` : String(value);
}

export const isNumber = value => ["number", "bigint"].includes(typeof value) || value instanceof ExactNumber;

/** The word for the type of a value. */
export function typeOf(value) {
  if (value === null) return "null";
  if (isNumber(value)) return "number";
  if (Array.isArray(value)) return "list";
  if (typeof value === "object") return "$bytes" in value ? "bytes" : "map";
  return { string: "text", boolean: "yes/no" }[typeof value];
}

/** A value in one line. */
export function summary(value, max = 90) {
  if (typeof value === "string") return value.length > max ? `“${value.slice(0, max)}…”` : `“${value}”`;
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (isNumber(value)) return numberText(value);
  const text = JSON.stringify(value);
  return text.length > max ? `${text.slice(0, max)}…` : text;
}

/** Whether a value contains an integer that JavaScript may have rounded already. */
export function isRounded(value) {
  if (typeof value === "number") return Number.isInteger(value) && !Number.isSafeInteger(value);
  return value !== null && typeof value === "object" && Object.values(value).some(isRounded);
}

/** JSON for reading and editing; the text itself if its numbers do not survive JavaScript (integers above 2^53). */
export function pretty(raw) {
  const value = JSON.parse(raw);
  return JSON.stringify(value) === raw.replace(/\s+$/, "") ? JSON.stringify(value, null, 2) : raw;
}

export const count = (number, one, many = `${one}s`) => `${number.toLocaleString("en")} ${number === 1 ? one : many}`;

export function bytes(number) {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let power = 0;
  while (number >= 1000 && power < units.length - 1) {
    number /= 1000;
    power++;
  }
  return `${number.toLocaleString("en", { maximumFractionDigits: number < 10 && power > 0 ? 1 : 0 })} ${units[power]}`;
}

/** How long a time span is, roughly. */
export function span(milliseconds) {
  const seconds = Math.max(0, Math.round(milliseconds / 1000));
  if (seconds < 90) return count(seconds, "second");
  if (seconds < 5400) return count(Math.round(seconds / 60), "minute");
  return seconds < 129_600 ? count(Math.round(seconds / 3600), "hour") : count(Math.round(seconds / 86_400), "day");
}
