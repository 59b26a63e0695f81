/** One object: what it is, its properties, and its log. */

import { chip, copyButton, emptyPage, fill, foreign, h, icon, moment } from "./dom.js";
import { askToCreate, askToDelete, askToMove } from "./dialogs.js";
import { PropertyList } from "./properties.js";
import { coalesced, notify, objectLink, on, readObject, workspace } from "./session.js";
import { Timeline } from "./timeline.js";
import { count, nameOf, plain } from "./text.js";

const PATH_LENGTH_MAX = 12;

export class ObjectPane {
  #id;
  #object = null;
  #properties = new PropertyList();
  #timeline = null;
  #stops = [];
  #path = h("nav.path", { "aria-label": "Place" });
  #shownParent;
  #heading = h("h1", { tabindex: "-1" });
  #facts = h("dl.facts");
  #conflicts = h("div");
  #refreshConflicts;
  #body;
  #titleChanged;

  /** @param titleChanged called with the name of the object, for the title of the page */
  constructor(id, titleChanged) {
    this.#id = id;
    this.#titleChanged = titleChanged;
    this.element = h("article.object", {}, h("p.muted.pad", {}, "Loading…"));
    this.#stops.push(workspace.object(id, object => (object ? this.#show(object) : this.#showGone()), {
      onerror: problem => (problem.code === "no-such-object" ? this.#showGone() : this.#showProblem(problem)),
    }));
    const refresh = this.#refreshConflicts = coalesced(() => this.#readConflicts());
    this.#stops.push(on("delta", delta => {
      if (delta === null || delta.objects.some(change => change.id === this.#object?.id)) refresh();
    }));
  }

  close() {
    for (const stop of this.#stops) stop();
    this.#timeline?.close();
  }

  focus() { this.#heading.focus({ preventScroll: true }); }

  #build() {
    this.#timeline = new Timeline(this.#object.id);
    const create = () => askToCreate(this.#object, id => { location.hash = `#/object/${id}`; });
    this.#body = [
      h("header.object-head", {},
        h("a.back", { href: "#/objects" }, icon("back"), "All objects"), this.#path, this.#heading, this.#facts,
        h("div.toolbar", {},
          h("button", { type: "button", onclick: create }, icon("plus"), "New below"),
          h("button", { type: "button", onclick: () => askToMove(this.#object) }, icon("move"), "Move"),
          h("button", { type: "button", onclick: () => this.#delete() }, icon("remove"), "Delete"))),
      this.#conflicts,
      h("section.card", { "aria-labelledby": "properties-title" }, h("h2", { id: "properties-title" }, "Properties"),
        this.#properties.element),
      h("section.card", { "aria-labelledby": "log-title" }, h("h2", { id: "log-title" }, "Log"),
        this.#timeline.element),
    ];
    fill(this.element, this.#body);
  }

  #delete() {
    const { parent } = this.#object;
    askToDelete(this.#object, () => { location.hash = parent ? `#/object/${parent}` : "#/objects"; });
  }

  #show(object) {
    this.#object = object;
    if (!this.#body) {
      this.#build();
      this.#refreshConflicts();
    }
    const name = nameOf(object);
    fill(this.#heading, foreign(name.text, { max: 200 }));
    this.#heading.classList.toggle("muted", !name.isNamed);
    this.#titleChanged(plain(name.text, 60));
    fill(this.#facts,
      fact("Type", h("span", {}, foreign(object.type, { max: 60 }), " ",
        object.kind ? chip(plain(object.kind, 40)) : null)),
      fact("Children", h("span", {}, object.child_count === 0 ? "none" : count(object.child_count, "object"))),
      fact("Changed", moment(object.updated_at)),
      object.created_at === null ? null : fact("Created", moment(object.created_at)),
      fact("Id", h("span.id", {}, h("code", {}, object.id), copyButton(object.id, "Copy the id"))));
    this.#properties.update(object);
    this.#showPath(object.parent).catch(problem => { if (problem.code !== "offline") notify(problem); });
  }

  async #showPath(parent) {
    if (parent === this.#shownParent && parent !== null) return;
    this.#shownParent = parent;
    const links = [];
    for (let id = parent; id !== null && links.length < PATH_LENGTH_MAX;) {
      const ancestor = await readObject(id);
      if (ancestor === null) break;
      links.unshift(h("li", {}, objectLink(id, { text: nameOf(ancestor).text })));
      id = ancestor.parent;
    }
    if (parent === this.#shownParent) {
      fill(this.#path, h("ol", {}, h("li", {}, h("a", { href: "#/objects" }, "Top level")), links));
    }
  }

  async #readConflicts() {
    if (!this.#body) return;
    const { conflicts } = await workspace.conflicts(this.#id).catch(problem => {
      if (problem.code === "no-such-object") return { conflicts: [] };
      throw problem;
    });
    const text = `${count(conflicts.length, "conflict")}: machines have written different values at the same time. `;
    fill(this.#conflicts, conflicts.length === 0 ? null : h("a.notice.warning", { href: `#/conflicts/${this.#id}` },
      icon("conflict"), h("span", {}, text, h("u", {}, "Compare them"))));
  }

  #showGone() {
    const name = this.#object && nameOf(this.#object).text;
    this.#titleChanged("Deleted object");
    this.#timeline?.close();
    const timeline = this.#timeline = new Timeline(this.#id);
    fill(this.element, h("header.object-head", {}, h("a.back", { href: "#/objects" }, icon("back"), "All objects")),
      emptyPage("This object does not exist",
        h("p", {}, name ? ["“", foreign(name, { max: 80 }), "” "] : "It ",
          "has been deleted, or has not arrived here yet. If it arrives, it is shown here.")),
      h("section.card", {}, h("h2", {}, "Log"), timeline.element));
    this.#body = null;
  }

  #showProblem(problem) {
    fill(this.element, emptyPage("This object cannot be shown", h("p", {}, foreign(problem.detail)),
      problem.advice ? h("p.muted", {}, foreign(problem.advice)) : null));
  }
}

const fact = (label, value) => h("div", {}, h("dt", {}, label), h("dd", {}, value));

