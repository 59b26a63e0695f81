/** A slider over the history of an object: its steps from the first edit to the last, and now at its end. */

import { exactTime, fill, foreign, h } from "./dom.js";
import { plain } from "./text.js";

export class Scrubber {
  #steps = [];
  #hasOlder = false;
  #moment = null;
  #chosen;
  #older;
  #range = h("input", {
    type: "range", id: "scrubber", min: "0", max: "0", step: "1", value: "0", oninput: () => this.#moved(),
  });
  #where = h("output", { for: "scrubber", class: "scrub-where" });

  /** @param actions `chosen(step)`: null is now; `older()`: steps before the first one are wanted */
  constructor({ chosen, older }) {
    this.#chosen = chosen;
    this.#older = older;
    this.element = h("div.scrubber", {},
      h("div.scrub-head", {}, h("label.label", { for: "scrubber" }, "Moment"), this.#where), this.#range,
      h("p.hint", {}, "Drag, or use the arrow keys: Home is the first edit, End is now."));
  }

  /** Takes new steps in, and stays at the moment that is shown. */
  update(steps, hasOlder) {
    [this.#steps, this.#hasOlder] = [steps, hasOlder];
    this.#draw();
  }

  /** Stands at a moment; null is now. */
  stand(moment) {
    this.#moment = moment;
    this.#draw();
  }

  get #index() {
    const index = this.#moment === null ? -1 : this.#steps.findIndex(step => step.moment === this.#moment);
    return index < 0 ? this.#steps.length : index;
  }

  #moved() {
    const index = Number(this.#range.value);
    if (index === 0 && this.#hasOlder) this.#older();
    this.#moment = this.#steps[index]?.moment ?? null;
    this.#draw();
    this.#chosen(this.#steps[index] ?? null);
  }

  #draw() {
    const index = this.#index;
    this.#range.max = this.#steps.length;
    this.#range.value = index;
    const step = this.#steps[index];
    const place = `Step ${index + 1} of ${this.#steps.length}${this.#hasOlder ? " that are loaded" : ""}`;
    const who = step?.author.is_this_machine ? "this machine" : step && plain(step.author.name, 60);
    this.#range.setAttribute("aria-valuetext",
      step ? `${exactTime(step.timeMs)}, by ${who}${step.isGone ? ", deleted" : ""}. ${place}` : "Now");
    if (!step) return fill(this.#where, "Now");
    fill(this.#where, `${place}: ${exactTime(step.timeMs)}, by `,
      step.author.is_this_machine ? "this machine" : foreign(step.author.name, { max: 60 }));
  }
}
