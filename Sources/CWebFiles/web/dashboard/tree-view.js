/**
 * An ARIA tree that draws only the rows in sight.
 *
 * The focus stays on the tree itself and `aria-activedescendant` names the active row. Rows come and go while one
 * scrolls; a focus on a row would go with it.
 */

import { chip, fill, foreign, h, icon } from "./dom.js";
import { nameOf, plain } from "./text.js";

/** The height of a row, as in the style sheet. */
const ROW_HEIGHT = 32;
const OVERSCAN = 12;
/** Rows below the window that are read before somebody scrolls there. */
const READ_AHEAD = 200;
const INDENT = 18;
const TYPEAHEAD_PAUSE_MS = 700;

export class TreeView {
  #model;
  #actions;
  #canvas;
  #elements = new Map();
  #activeID = null;
  /** Where the active row was, for when it is gone. */
  #activeIndex = 0;
  #selectedID = null;
  #isScheduled = false;
  #typed = "";
  #typedAt = 0;
  #observer;

  /** @param actions `open(id)`, `remove(node)`, `reorder(node, direction)`, `failed(problem)` */
  constructor(model, actions) {
    this.#model = model;
    this.#actions = actions;
    this.#canvas = h("div.tree-canvas", { role: "none" });
    this.element = h("div.tree", {
      role: "tree", tabindex: "0", "aria-label": "Objects", "aria-describedby": "tree-keys",
      onkeydown: event => this.#keyPressed(event), onclick: event => this.#clicked(event),
      onscroll: () => this.schedule(), onfocus: () => this.schedule(),
    }, this.#canvas);
    this.#observer = new ResizeObserver(() => this.schedule());
    this.#observer.observe(this.element);
  }

  close() { this.#observer.disconnect(); }

  /** Draws before the next frame, however often it is called. */
  schedule() {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    requestAnimationFrame(() => {
      this.#isScheduled = false;
      this.#draw();
    });
  }

  /** Marks the object that is shown beside the tree; scrolls to it if asked. */
  select(id, { reveals = false } = {}) {
    this.#selectedID = id;
    if (id !== null) {
      const index = this.#indexOf(id);
      if (index >= 0) {
        this.#activeID = id;
        // In the middle, so that one sees where it is.
        if (reveals) this.element.scrollTop = index * ROW_HEIGHT - this.element.clientHeight / 2;
      }
    }
    this.schedule();
  }

  #indexOf(id) { return this.#model.rows.findIndex(row => !row.isGap && row.node.id === id); }

  #scrollTo(index) {
    const { scrollTop, clientHeight } = this.element;
    const top = index * ROW_HEIGHT;
    if (top < scrollTop) this.element.scrollTop = top;
    else if (top + ROW_HEIGHT > scrollTop + clientHeight) this.element.scrollTop = top + ROW_HEIGHT - clientHeight;
  }

  #draw() {
    const { rows } = this.#model;
    this.#canvas.style.height = `${rows.length * ROW_HEIGHT}px`;
    const first = Math.max(0, Math.floor(this.element.scrollTop / ROW_HEIGHT) - OVERSCAN);
    const end = Math.min(rows.length,
      Math.ceil((this.element.scrollTop + this.element.clientHeight) / ROW_HEIGHT) + OVERSCAN);
    const shown = new Set();
    for (let index = first; index < end; index++) shown.add(this.#drawRow(rows, index));
    // A screen reader must find the active row even when it is out of sight.
    const active = this.#activePosition(rows);
    if (active >= 0 && (active < first || active >= end)) shown.add(this.#drawRow(rows, active));
    for (const [key, element] of this.#elements) {
      if (shown.has(key)) continue;
      element.remove();
      this.#elements.delete(key);
    }
    if (active >= 0) this.element.setAttribute("aria-activedescendant", `row-${rows[active].node.id}`);
    else this.element.removeAttribute("aria-activedescendant");
    this.#loadGaps(rows.slice(first, end + READ_AHEAD));
  }

  /** The index of the active row; the nearest one if it is gone. */
  #activePosition(rows) {
    let index = rows[this.#activeIndex]?.node.id === this.#activeID ? this.#activeIndex : this.#indexOf(this.#activeID);
    if (index < 0) {
      index = Math.min(this.#activeIndex, rows.length - 1);
      while (index >= 0 && rows[index].isGap) index--;
      this.#activeID = rows[index]?.node.id ?? null;
    }
    this.#activeIndex = Math.max(0, index);
    return index;
  }

  #loadGaps(rows) {
    const last = rows.findLast(row => row.isGap);
    if (last) this.#model.load(last.node, last.index).catch(problem => this.#actions.failed(problem));
  }

  #drawRow(rows, index) {
    const row = rows[index];
    const key = row.isGap ? `gap ${row.node.id} ${row.index}` : row.node.id;
    let element = this.#elements.get(key);
    if (!element) {
      element = row.isGap ? h("div.tree-row.gap", { role: "none" }, h("span.skeleton"))
        : h("div.tree-row", { role: "treeitem", id: `row-${row.node.id}` });
      this.#elements.set(key, element);
      this.#canvas.append(element);
    }
    element.style.transform = `translateY(${index * ROW_HEIGHT}px)`;
    element.style.paddingInlineStart = `${8 + Math.min(row.depth, 12) * INDENT}px`;
    if (!row.isGap) this.#updateRow(element, row);
    return key;
  }

  #updateRow(element, { node, depth, index, size }) {
    const { object } = node;
    const set = (name, value) => {
      if (value === null) element.removeAttribute(name);
      else if (element.getAttribute(name) !== String(value)) element.setAttribute(name, value);
    };
    set("aria-level", depth + 1);
    set("aria-posinset", index + 1);
    set("aria-setsize", size);
    set("aria-expanded", node.childCount > 0 ? node.isExpanded : null);
    set("aria-selected", node.id === this.#selectedID);
    element.classList.toggle("active", node.id === this.#activeID);
    const content = `${object.version} ${node.childCount}`;
    if (element.dataset.content === content) return;
    element.dataset.content = content;
    element.dataset.id = node.id;
    const name = nameOf(object);
    const type = object.kind ? `${object.type}/${object.kind}` : object.type;
    element.setAttribute("aria-label", `${plain(name.text)}, ${plain(type)}` +
      (node.childCount > 0 ? `, ${node.childCount} below` : ""));
    fill(element,
      h("span.twisty", { "aria-hidden": "true" }, node.childCount > 0 ? icon("chevron") : null),
      h(`span.name${name.isNamed ? "" : ".muted"}`, {}, foreign(name.text, { max: 120 })),
      h("span.type", {}, foreign(type, { max: 40 })),
      node.childCount > 0 ? chip(node.childCount.toLocaleString("en")) : null);
  }

  #clicked(event) {
    const element = event.target.closest(".tree-row");
    const node = element && this.#model.node(element.dataset.id);
    if (!node) return;
    this.#activeID = node.id;
    if (event.target.closest(".twisty") && node.childCount > 0) this.#toggle(node);
    else this.#actions.open(node.id);
    this.schedule();
  }

  #toggle(node) {
    if (node.isExpanded) this.#model.collapse(node);
    else this.#model.expand(node);
  }

  #keyPressed(event) {
    const { rows } = this.#model;
    const index = this.#activePosition(rows);
    if (index < 0 || event.ctrlKey || event.metaKey) return;
    const { node } = rows[index];
    if (event.altKey) {
      const direction = { ArrowUp: -1, ArrowDown: 1 }[event.key];
      if (!direction) return;
      this.#actions.reorder(node, direction);
      return event.preventDefault();
    }
    if (!this.#moved(event.key, rows, index) && !this.#acted(event.key, node)) {
      if (event.key.length !== 1 || event.key === " ") return;
      this.#typeahead(event.key, rows, index);
    }
    event.preventDefault();
  }

  #moved(key, rows, index) {
    const { node } = rows[index];
    const page = Math.max(1, Math.floor(this.element.clientHeight / ROW_HEIGHT) - 1);
    switch (key) {
    case "ArrowDown": this.#activate(index + 1); break;
    case "ArrowUp": this.#activate(index - 1); break;
    case "PageDown": this.#activate(index + page); break;
    case "PageUp": this.#activate(index - page); break;
    case "Home": this.#activate(0); break;
    case "End": this.#activate(rows.length - 1); break;
    case "ArrowRight":
      if (node.childCount > 0) node.isExpanded ? this.#activate(index + 1) : this.#model.expand(node);
      break;
    case "ArrowLeft":
      if (node.isExpanded) this.#model.collapse(node);
      else if (node.parent.id !== null) this.#activate(this.#indexOf(node.parent.id));
      break;
    default: return false;
    }
    return true;
  }

  #acted(key, node) {
    switch (key) {
    case "Enter": case " ": this.#actions.open(node.id); return true;
    case "Delete": this.#actions.remove(node); return true;
    default: return false;
    }
  }

  /** Makes a row the active one, and reads it first where it is not loaded yet. */
  async #activate(index) {
    const wanted = Math.max(0, Math.min(index, this.#model.rows.length - 1));
    if (!this.#model.rows[wanted]) return;
    this.#scrollTo(wanted);
    try {
      let isLoaded = false;
      while (!isLoaded && this.#model.rows[wanted]?.isGap) {
        const { node, index } = this.#model.rows[wanted];
        isLoaded = await this.#model.load(node, index);
      }
    } catch (problem) {
      return this.#actions.failed(problem);
    }
    const reached = this.#model.rows[Math.min(wanted, this.#model.rows.length - 1)];
    if (!reached || reached.isGap) return;
    this.#activeID = reached.node.id;
    this.#activeIndex = wanted;
    this.#scrollTo(wanted);
    this.schedule();
  }

  /** Letters typed in quick succession find the next name that begins with them. */
  #typeahead(character, rows, index) {
    const now = performance.now();
    this.#typed = now - this.#typedAt < TYPEAHEAD_PAUSE_MS ? this.#typed + character : character;
    this.#typedAt = now;
    const typed = this.#typed.toLowerCase();
    // A first letter looks further; more letters may confirm the row that is active.
    const start = typed.length > 1 ? index : index + 1;
    for (let step = 0; step < rows.length; step++) {
      const row = rows[(start + step) % rows.length];
      if (row.isGap || !nameOf(row.node.object).text.toLowerCase().startsWith(typed)) continue;
      return this.#activate((start + step) % rows.length);
    }
  }
}
