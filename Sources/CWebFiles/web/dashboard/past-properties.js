/** The properties of an object at a moment, beside what they are now. */

import { chip, fill, foreign, h, icon } from "./dom.js";
import { isSame, propertyNames } from "./past.js";
import { Beginning, shownValue } from "./properties.js";
import { typeOf } from "./text.js";

export class PastProperties {
  #list = h("ul.properties", { "aria-label": "Properties of then" });
  #none = h("p.muted", {}, "It had no properties.");
  #restore;
  #drawn;
  #beginning = new Beginning(() => this.draw(...this.#drawn));

  /** @param restore called with the name of a property, and the button that asked for it */
  constructor(restore) {
    this.#restore = restore;
    this.element = h("div", {}, this.#list, this.#beginning.element, this.#none);
  }

  /**
   * Shows the properties of then; where they differ from now, those of now as well.
   *
   * @param now null: the object is deleted now, so there is nothing to compare with
   * @returns how many differ
   */
  draw(then, now) {
    this.#drawn = [then, now];
    const names = propertyNames(then, now);
    this.#none.hidden = names.length > 0;
    const differing = new Set(names.filter(name => now !== null && !isSame(name, then, now)));
    // What differs is what somebody looks for.
    const shown = this.#beginning.of([...names.filter(name => differing.has(name)),
      ...names.filter(name => !differing.has(name))]).sort();
    const focused = this.#list.contains(document.activeElement)
      && document.activeElement.closest("li").dataset.property;
    fill(this.#list, shown.map(name => this.#row(name, then, now, differing.has(name))));
    if (focused !== false) this.#focus(focused);
    return differing.size;
  }

  /** The focus stays with a property, also when there is nothing left to restore. */
  #focus(name) {
    const row = [...this.#list.children].find(({ dataset }) => dataset.property === name);
    (row?.querySelector("button") ?? row)?.focus({ preventScroll: true });
  }

  #row(name, then, now, isDifferent) {
    const button = h("button.small", { type: "button", onclick: () => this.#restore(name, button) }, icon("undo"),
      h("span", {}, "Restore"), h("span.hidden", {}, " ", foreign(name)));
    return h(`li.property${isDifferent ? ".differs" : ""}`, { "data-property": name, tabindex: "-1" },
      h("div.property-name", {}, h("span.label", {}, foreign(name, { max: 80 })),
        Object.hasOwn(then.properties, name) ? chip(typeOf(then.properties[name])) : null,
        isDifferent ? chip("differs", "warning") : null),
      h("div.property-value", {}, valueOf(name, then, "not there then"),
        isDifferent ? h("div.now", {}, h("span.muted", {}, "Now: "), valueOf(name, now, "removed")) : null),
      h("div.property-actions", {}, isDifferent ? button : null));
  }
}

function valueOf(name, state, absent) {
  return Object.hasOwn(state.properties, name) ? shownValue(state.properties[name]) : h("span.muted", {}, absent);
}
