/**
 * Undo and redo through the daemon: of everything that this user wrote, in whichever window or machine. While a layout
 * is tried, they act on its branch.
 *
 * Text fields keep the undo that the browser gives them.
 */

import { nameOf } from "./drawing.js";

const WAYS = {
  undo: ["Undone", "There is nothing to undo.", "Could not undo"],
  redo: ["Done again", "There is nothing to redo.", "Could not do again"],
};
const REASONS = {
  edited: "was edited since", deleted: "was deleted since", "has-children": "has other objects in it",
  "parent-gone": "cannot go back to where it was", unknown: "had a value that is not known any more",
};
const NAMED_MAX = 5;

/** The way that keys ask for, or null. */
export function wayOf({ key, ctrlKey, metaKey, altKey, shiftKey, target }) {
  if (!(ctrlKey || metaKey) || altKey || target.closest?.("textarea, input:not([type=color])")) return null;
  if (key.toLowerCase() === "z") return shiftKey ? "redo" : "undo";
  return key.toLowerCase() === "y" && !shiftKey ? "redo" : null;
}

export class Undo {
  #drawing;
  #isRunning = false;

  constructor(drawing) { this.#drawing = drawing; }

  /**
   * Takes the last transaction back, or does it again; one at a time, however fast the keys are.
   *
   * @returns a text that says what was done and what stays as it is; null while another one is under way
   */
  async reverse(way) {
    if (this.#isRunning) return null;
    this.#isRunning = true;
    try {
      await this.#drawing.settled();
      const timeline = this.#drawing.timeline;
      const [transaction] = await timeline[way]();
      if (!transaction) return WAYS[way][1];
      if (way === "undo" && this.#isBeginning(transaction)) {
        await timeline.redo();
        return WAYS.undo[1];
      }
      return this.#text(way, transaction);
    } finally {
      this.#isRunning = false;
    }
  }

  /** Without its root there would be nothing to draw on. */
  #isBeginning({ edits }) {
    return edits.some(({ object, action }) => action.create && object === this.#drawing.rootID);
  }

  #text(way, { edits, kept, has_effect }) {
    const names = [...new Set(edits.map(({ object }) => object).filter(Boolean))].map(id => this.#name(id));
    const stays = kept.slice(0, NAMED_MAX).map(part => this.#keptText(part));
    const more = kept.length > NAMED_MAX ? ` And ${kept.length - NAMED_MAX} more.` : "";
    const word = WAYS[way][has_effect || kept.length === 0 ? 0 : 2];
    const done = `${word}: the change of ${listed(names)}.`;
    return stays.length > 0 ? `${done} Left as it is: ${stays.join("; ")}.${more}` : done;
  }

  #name(id) {
    const object = this.#drawing.get(id);
    return object ? nameOf(object) : "something that is not in this drawing";
  }

  #keptText({ object, part, property, reason, author }) {
    const what = part === "property" ? `${property} of ` : part === "place" ? "the place of " : "";
    const by = author === null ? "" : ` by ${author.is_this_machine ? "this machine" : author.name}`;
    return `${what}${this.#name(object)} ${REASONS[reason] ?? "has changed"}${by}`;
  }
}

function listed(names) {
  return names.length > NAMED_MAX ? `${names.slice(0, NAMED_MAX).join(", ")} and others` : names.join(", ");
}
