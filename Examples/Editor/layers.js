/** The tree of layers. What is in front is at the top, as drawing programs have it. */

import { nameOf } from "./drawing.js";

export class LayerTree {
  #drawing;
  #element;
  #actions;
  #rows = [];
  #draggedID = null;

  /** @param actions `select(id)`, `selected()`, `conflicts()` (a set of ids), `perform(promise)` */
  constructor(element, drawing, actions) {
    this.#element = element;
    this.#drawing = drawing;
    this.#actions = actions;
    element.addEventListener("keydown", event => this.#keyPressed(event));
    element.addEventListener("click", event => {
      const id = idAt(event);
      if (id) actions.select(id);
    });
    element.addEventListener("dragstart", event => {
      this.#draggedID = idAt(event);
      event.dataTransfer.effectAllowed = "move";
      event.dataTransfer.setData("text/plain", this.#draggedID);
    });
    element.addEventListener("dragover", event => this.#draggedOver(event));
    element.addEventListener("dragleave", () => this.#mark(null));
    element.addEventListener("dragend", () => this.#mark(null));
    element.addEventListener("drop", event => this.#dropped(event));
  }

  draw() {
    const hadFocus = this.#element.contains(document.activeElement);
    const existing = new Map([...this.#element.children].map(row => [row.dataset.id, row]));
    this.#rows = [];
    this.#collect(this.#drawing.rootID, 1);
    const selected = this.#actions.selected();
    const focusable = this.#rows.some(row => row.object.id === selected) ? selected : this.#rows[0]?.object.id;
    const elements = this.#rows.map(({ object, level, index, size }) => {
      const row = existing.get(object.id) ?? newRow(object.id);
      row.setAttribute("aria-level", level);
      row.setAttribute("aria-posinset", index + 1);
      row.setAttribute("aria-setsize", size);
      row.setAttribute("aria-selected", object.id === selected);
      if (object.type === "layer") row.setAttribute("aria-expanded", "true");
      row.tabIndex = object.id === focusable ? 0 : -1;
      row.style.paddingInlineStart = `${level * 16}px`;
      row.dataset.kind = object.type === "layer" ? "layer" : object.kind;
      const [name, badge] = row.children;
      if (name.textContent !== nameOf(object)) name.textContent = nameOf(object);
      badge.hidden = !this.#actions.conflicts().has(object.id);
      return row;
    });
    // Rows that are already in order stay where they are, so a drag and the focus survive changes from elsewhere.
    elements.forEach((row, index) => {
      if (this.#element.children[index] !== row) this.#element.insertBefore(row, this.#element.children[index] ?? null);
    });
    while (this.#element.children.length > elements.length) this.#element.lastElementChild.remove();
    if (hadFocus && !this.#element.contains(document.activeElement)) this.#focus(focusable);
  }

  #collect(parent, level) {
    const children = this.#drawing.children(parent).reverse();
    children.forEach((object, index) => {
      this.#rows.push({ object, level, index, size: children.length, siblings: children });
      if (object.type === "layer") this.#collect(object.id, level + 1);
    });
  }

  #focus(id) { [...this.#element.children].find(row => row.dataset.id === id)?.focus(); }

  #keyPressed(event) {
    const index = this.#rows.findIndex(row => row.object.id === idAt(event));
    if (index < 0) return;
    const row = this.#rows[index];
    if (event.altKey) this.#arrange(event, row);
    else if (event.key === "Delete") this.#actions.perform(this.#drawing.delete(row.object.id));
    else {
      const parent = this.#rows.findIndex(({ object }) => object.id === row.object.parent);
      const target = {
        ArrowDown: index + 1, ArrowUp: index - 1, Home: 0, End: this.#rows.length - 1,
        ArrowLeft: parent, ArrowRight: row.object.type === "layer" ? index + 1 : -1,
      }[event.key];
      const id = this.#rows[target]?.object.id;
      if (id === undefined) return;
      event.preventDefault();
      this.#actions.select(id);
      this.#focus(id);
    }
  }

  /** Siblings are listed front first, so "before" in the workspace is the row below. */
  #arrange(event, { object, index, siblings }) {
    const move = (parent, before) => {
      event.preventDefault();
      this.#actions.perform(this.#drawing.move(object.id, parent, before));
    };
    switch (event.key) {
    case "ArrowUp":
      if (index > 0) move(object.parent, siblings[index - 2]?.id);
      break;
    case "ArrowDown":
      if (index < siblings.length - 1) move(object.parent, siblings[index + 1].id);
      break;
    case "ArrowRight":
      if (siblings[index - 1]?.type === "layer") move(siblings[index - 1].id);
      break;
    case "ArrowLeft": {
      const layer = this.#drawing.get(object.parent);
      if (object.parent !== this.#drawing.rootID && layer) move(layer.parent, layer.id);
      break;
    }
    default:
    }
  }

  // Dragging

  /** Where a drop would go: in front of a row, behind it, or into it if it is a layer. */
  #target(event) {
    const id = idAt(event);
    const object = id && this.#drawing.get(id);
    if (!object || !this.#draggedID || this.#drawing.isWithin(id, this.#draggedID)) return null;
    const box = event.target.closest("[data-id]").getBoundingClientRect();
    const part = (event.clientY - box.top) / box.height;
    if (object.type === "layer" && part > 0.25) return { id, where: "inside" };
    return { id, where: part < 0.5 ? "front" : "behind" };
  }

  #draggedOver(event) {
    const target = this.#target(event);
    this.#mark(target);
    if (target) event.preventDefault();
  }

  #mark(target) {
    for (const row of this.#element.children) {
      if (row.dataset.id === target?.id) row.dataset.drop = target.where;
      else delete row.dataset.drop;
    }
  }

  #dropped(event) {
    event.preventDefault();
    const target = this.#target(event);
    this.#mark(null);
    if (!target) return;
    const { object, index, siblings } = this.#rows.find(row => row.object.id === target.id);
    const id = this.#draggedID;
    if (target.where === "inside") return this.#actions.perform(this.#drawing.move(id, target.id));
    // In front of a row means before the sibling that is in front of it now; that may be the dragged one itself.
    const inFront = siblings.slice(0, index).filter(sibling => sibling.id !== id).at(-1);
    const before = target.where === "behind" ? target.id : inFront?.id;
    this.#actions.perform(this.#drawing.move(id, object.parent, before));
  }
}

const idAt = event => event.target.closest?.("[data-id]")?.dataset.id ?? null;

function newRow(id) {
  const row = document.createElement("li");
  row.dataset.id = id;
  row.draggable = true;
  row.setAttribute("role", "treeitem");
  const name = document.createElement("bdi");
  name.dir = "auto";
  const badge = document.createElement("span");
  badge.className = "badge";
  badge.textContent = "conflict";
  row.append(name, badge);
  return row;
}
