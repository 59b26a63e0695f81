/** Snapshots as people read them, and their files. No DOM, so that it can be tested anywhere. */

import { bytes, count } from "./text.js";

/** The daemon keeps nothing larger. */
export const FILE_BYTES_MAX = 32 * 1024 * 1024;
const FILE_NAME_MAX = 60;

/** Snapshots by object, `{ object, snapshots }`: the latest first, and first the object that has the latest. */
export function groupsOf(snapshots) {
  const groups = new Map();
  for (const snapshot of latestFirst(snapshots)) {
    if (!groups.has(snapshot.object)) groups.set(snapshot.object, []);
    groups.get(snapshot.object).push(snapshot);
  }
  return [...groups].map(([object, snapshots]) => ({ object, snapshots }));
}

/** The daemon lists the oldest first; of two of one millisecond, the one that it lists later is the later one. */
export const latestFirst = snapshots => snapshots.toReversed().sort((a, b) => b.time_ms - a.time_ms);

/** How much a snapshot holds. */
export const sizeText = snapshot => `${count(snapshot.objects, "object")}, ${bytes(snapshot.bytes)}`;

/**
 * The name of a file for a snapshot. It has only letters, digits and dashes of the snapshot's name, which anybody may
 * have chosen: nothing in it is a path, an ending, or invisible. The id tells snapshots with one name apart.
 */
export function fileName({ id, name }) {
  const words = (name ?? "").normalize("NFC").match(/[\p{L}\p{M}\p{N}_]+/gu) ?? [];
  const text = [...words.join("-")].slice(0, FILE_NAME_MAX).join("").replace(/-$/, "");
  return `${text || "snapshot"}-${id.slice(0, 8)}.json`;
}

/** What a restore will do, in sentences; for a snapshot of so many objects. */
export function planText(objects) {
  const what = objects === 1 ? "The object becomes what it was"
    : `The object and the ${count(objects - 1, "object")} below it become what they were`;
  return [
    `${what}: properties and places are set back, and what was deleted comes back.`,
    "Objects that were put below it since then stay.",
    "This is an ordinary edit: all machines get it, the history keeps what is there now, and Undo takes it back.",
  ];
}

/** What a restore has done, in sentences. */
export function doneText(
  { created, changed, moved, transactions, missing_parent: missingParent, missing_properties: missing },
) {
  const parts = [[created, "created"], [changed, "changed"], [moved, "moved"]].filter(([number]) => number > 0)
    .map(([number, what], index) => `${index === 0 ? count(number, "object") : number.toLocaleString("en")} ${what}`);
  return [
    transactions === 0 ? "Nothing differed from it, and nothing was written."
      : parts.length > 0 ? `${parts.join(", ")}.` : null,
    transactions > 1 ? `It took ${count(transactions, "transaction")}, and each undo takes one back.` : null,
    missingParent === null ? null : "Its former place is gone: it stays where it was, or is at the top level.",
    missing === 0 ? null
      : `${count(missing, "property", "properties")} stayed as before: their values were not here when it was taken.`,
  ].filter(sentence => sentence !== null);
}
