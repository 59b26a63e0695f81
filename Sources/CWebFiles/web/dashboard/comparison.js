/** Objects of a branch and of what it is compared with, side by side: a table for each, by property. */

import { chip, fill, foreign, h } from "./dom.js";
import { shownValue } from "./properties.js";
import { notify, objectLink } from "./session.js";
import { propertiesOn } from "./sides.js";
import { count, nameOf } from "./text.js";

/** How many are shown at first, and how many more by a click. */
const PAGE = 30;

export class Comparison {
  #list = h("div.stack");
  #more = h("button", { type: "button", hidden: true, onclick: () => this.#showMore() });
  #limit = PAGE;
  #sides = [];
  #place = null;

  /** @param label what the tables are, for screen readers */
  constructor(label) {
    this.element = h("div.stack.comparison", { role: "group", "aria-label": label }, this.#list, this.#more);
    this.element.hidden = true;
  }

  /**
   * Shows entries of `sidesOf` or `conflictSides`.
   *
   * @param place both sides: `{ branch, target, isTargetMain }`, each side with a function
   *   `name`, which makes a label, and a `source` to read from
   */
  draw(sides, place) {
    [this.#sides, this.#place] = [sides, place];
    this.element.hidden = sides.length === 0;
    this.#more.hidden = sides.length <= this.#limit;
    this.#more.textContent = `Show more of ${count(sides.length, "object")}`;
    fill(this.#list, sides.slice(0, this.#limit).map(entry => this.#table(entry)));
  }

  #showMore() {
    this.#limit += PAGE;
    this.draw(this.#sides, this.#place);
  }

  #table(entry) {
    const { id, where, rows } = entry;
    const { branch, target } = this.#place;
    const cell = (side, row) => h("td", {}, row[side] === null
      ? h("span.muted", {}, where === "both" || where === side ? "not set" : "no such object")
      : "parent" in row[side] ? this.#placeName(side, row[side].parent) : shownValue(row[side].value));
    return h("section.compared", { "data-id": id },
      h("h3", {}, this.#objectName(entry), where === "both" ? null : [" ", chip(this.#whereText(where), "busy")]),
      rows.length === 0 ? null : h("table.sides", {},
        h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Property"),
          h("th", { scope: "col" }, branch.name()), h("th", { scope: "col" }, target.name()))),
        h("tbody", {}, rows.map(row => h("tr", {},
          h("th", { scope: "row" }, row.property === null ? "(its place)" : foreign(row.property, { max: 60 })),
          cell("branch", row), cell("target", row))))));
  }

  #whereText(where) {
    if (where === "branch") return "only on the branch";
    return this.#place.isTargetMain ? "only on the main timeline" : "only on the other branch";
  }

  /** A link where the object is on the main timeline: nothing else can be opened here. */
  #objectName(entry) {
    const { id, where } = entry;
    if (this.#place.isTargetMain && where !== "branch") return objectLink(id, { withID: true });
    const side = where === "target" ? "target" : "branch";
    const known = nameOf({ type: entry.type, properties: propertiesOn(side, entry) });
    const isWhole = where !== "both" && entry.type !== null;
    return [known.isNamed || isWhole ? foreign(known.text, { max: 80 }) : this.#nameOn(side, id), " ",
      h("code", {}, id.slice(0, 8))];
  }

  #placeName(side, parent) {
    if (parent === null) return "the top level";
    return side === "target" && this.#place.isTargetMain ? objectLink(parent) : this.#nameOn(side, parent);
  }

  /** The name that an object has on a side, as soon as it is read. */
  #nameOn(side, id) {
    const element = h("span", {}, h("code", {}, id.slice(0, 8)));
    this.#place[side].source.get(id).then(
      object => fill(element, foreign(nameOf(object).text, { max: 80 })),
      problem => { if (problem.code !== "offline" && problem.code !== "no-such-object") notify(problem); });
    return element;
  }
}
