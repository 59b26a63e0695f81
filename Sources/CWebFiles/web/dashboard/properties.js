/** The properties of an object: shown by type, edited in place. */

import { chip, fill, foreign, h, icon } from "./dom.js";
import { notify, perform, workspace } from "./session.js";
import { isNumber, isRounded, numberText, pretty, typeOf } from "./text.js";

const SHOWN_LENGTH = 600;

/** A value as people read it: text as text, everything else as JSON. */
export function shownValue(value) {
  if (typeof value === "boolean") return h("span.value", {}, value ? "yes" : "no");
  if (value === null) return h("span.value.muted", {}, "null");
  if (isNumber(value)) return h("span.value", {}, numberText(value));
  if (typeof value !== "string") {
    return h("code.value", {}, foreign(JSON.stringify(value, null, 2), { lines: true, max: SHOWN_LENGTH }));
  }
  if (value === "") return h("span.value.muted", {}, "empty text");
  return h("span.value", {}, foreign(value, { lines: true, max: SHOWN_LENGTH }));
}

const endOnEscape = end => event => { if (event.key === "Escape") end(); };
const propertyPath = (id, name) => `/api/objects/${id}/properties/${encodeURIComponent(name)}`;

/**
 * Saves JSON text as it was typed: an integer above 2^53 would change on its way through JavaScript.
 */
function save(id, name, json) {
  return workspace.fetch(propertyPath(id, name), {
    method: "PUT", body: json, headers: { "Content-Type": "application/json" },
  });
}

/** The ways to edit a value. Each makes a control and reads JSON text from it. */
const EDITORS = {
  text: {
    label: "Text", control: raw => {
      const text = raw === null ? "" : JSON.parse(raw);
      const rows = Math.min(12, 1 + text.split("\n").length);
      return h("textarea", { rows, value: text, dir: "auto", "aria-label": "Text" });
    },
    read: control => JSON.stringify(control.value),
  },
  number: {
    label: "Number", control: raw => h("input", { inputmode: "decimal", value: raw ?? "", "aria-label": "Number" }),
    read: control => {
      const text = control.value.trim();
      if (!/^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/.test(text)) throw new Error("Write a number such as 42 or -1.5.");
      return text;
    },
  },
  "yes/no": {
    label: "Yes or no",
    control: raw => h("select", { "aria-label": "Yes or no" }, ["true", "false"].map(word =>
      h("option", { value: word, selected: word === raw }, word === "true" ? "yes" : "no"))),
    read: control => control.value,
  },
  json: {
    label: "JSON (list, map, null)",
    control: raw => {
      const text = raw === null ? "" : pretty(raw);
      return h("textarea.code", {
        rows: Math.min(14, 1 + text.split("\n").length), value: text, spellcheck: "false", "aria-label": "JSON",
      });
    },
    read: control => {
      try {
        JSON.parse(control.value);
      } catch (error) {
        throw new Error(`This is not JSON: ${error.message}`);
      }
      return control.value;
    },
  },
};

const editorFor = value => ({ text: "text", number: "number", "yes/no": "yes/no" }[typeOf(value)] ?? "json");

/** A type and a control for the value, which a form around it reads by `read()`. */
function valueEditor(kind, raw) {
  const choice = h("select", { "aria-label": "Type", onchange: () => change(choice.value) },
    Object.entries(EDITORS).map(([key, { label }]) => h("option", { value: key, selected: key === kind }, label)));
  const place = h("div.control");
  const failure = h("p.failure", { role: "alert", hidden: true });
  let control = EDITORS[kind].control(raw);
  fill(place, control);
  function change(newKind) {
    const typed = control.value;
    const isText = newKind === "text" || newKind === "json";
    control = EDITORS[newKind].control(null);
    if (isText || newKind === "number") control.value = typed;
    kind = newKind;
    fill(place, control);
  }
  return {
    element: h("div.value-editor", {}, choice, place, failure),
    focus: () => control.focus(),
    read() {
      failure.hidden = true;
      try {
        return EDITORS[kind].read(control);
      } catch (error) {
        failure.textContent = error.message;
        failure.hidden = false;
        control.focus();
        return null;
      }
    },
  };
}

/** How many properties are shown at first: any machine can write objects that have thousands. */
const SHOWN_AT_FIRST = 100;

/** Shows the beginning of a list, and more of it each time it is asked. */
export class Beginning {
  #count = SHOWN_AT_FIRST;
  #button = h("button.quiet", { type: "button", hidden: true });

  /** @param changed called when there is to be more */
  constructor(changed) {
    this.element = this.#button;
    this.#button.onclick = () => {
      this.#count *= 4;
      changed();
    };
  }

  of(names) {
    const rest = names.length - this.#count;
    this.#button.hidden = rest <= 0;
    fill(this.#button, `Show more (${rest.toLocaleString("en")} of ${names.length.toLocaleString("en")} are not shown)`);
    return names.slice(0, this.#count);
  }
}

/** The list of properties; `update(object)` keeps it live without touching what is being edited. */
export class PropertyList {
  #object = null;
  #rows = new Map();
  #list = h("ul.properties", { "aria-label": "Properties" });
  #none = h("p.muted", {}, "No properties yet.");
  #beginning = new Beginning(() => this.update(this.#object));

  constructor() {
    this.element = h("div", {}, this.#list, this.#beginning.element, this.#none, this.#newPropertyForm());
  }

  update(object) {
    this.#object = object;
    const names = this.#beginning.of(Object.keys(object.properties).sort());
    const shown = new Set(names);
    this.#none.hidden = names.length > 0;
    for (const [name, row] of this.#rows) {
      if (shown.has(name) || row.isEditing) continue;
      row.element.remove();
      this.#rows.delete(name);
    }
    for (const name of names) {
      if (!this.#rows.has(name)) this.#rows.set(name, new PropertyRow(name, () => this.#object));
      this.#rows.get(name).update(object.properties[name]);
    }
    const sorted = [...this.#rows.keys()].sort().map(name => this.#rows.get(name).element);
    // Elements that already are where they belong keep the focus.
    sorted.forEach((element, index) => {
      if (this.#list.children[index] !== element) this.#list.insertBefore(element, this.#list.children[index] ?? null);
    });
  }

  #newPropertyForm() {
    const place = h("div");
    const button = h("button.quiet", { type: "button", onclick: open }, icon("plus"), "Add a property");
    fill(place, button);
    const list = this;
    function open() {
      const name = h("input", { required: true, autocomplete: "off", maxlength: "200", "aria-label": "Name" });
      const editor = valueEditor("text", null);
      const submit = h("button.primary", { type: "submit" }, "Add");
      const form = h("form.property-form", { onsubmit: add, onkeydown: endOnEscape(close) },
        h("label.field", {}, h("span.label", {}, "Name"), name),
        h("div.field", {}, h("span.label", {}, "Value"), editor.element),
        h("div.actions", {}, h("button", { type: "button", onclick: close }, "Cancel"), submit));
      async function add(event) {
        event.preventDefault();
        if (name.value in list.#object.properties) {
          return notify(new Error(`There is a property “${name.value}” already. Edit it instead.`));
        }
        const json = editor.read();
        if (json !== null && await perform(submit, () => save(list.#object.id, name.value, json))) close();
      }
      function close() {
        fill(place, button);
        button.focus();
      }
      fill(place, form);
      name.focus();
    }
    return place;
  }
}

class PropertyRow {
  isEditing = false;
  #name;
  #object;
  #value;
  #shown = null;
  #shownValue;
  #changedMeanwhile = null;

  constructor(name, object) {
    this.#name = name;
    this.#object = object;
    this.element = h("li.property");
  }

  update(value) {
    const text = JSON.stringify(value);
    if (text === this.#shown) {
      // Two integers above 2^53 may be one in JavaScript.
      if (!this.isEditing) this.#showExact();
      return;
    }
    const isFirst = this.#shown === null;
    [this.#value, this.#shown] = [value, text];
    if (this.isEditing) return this.#showMeanwhile();
    const focused = [...this.element.querySelectorAll("button")].indexOf(document.activeElement);
    this.#show();
    // The new buttons stand for the old ones: a change, perhaps one's own, must not take the focus away.
    if (focused >= 0) this.element.querySelectorAll("button")[focused].focus({ preventScroll: true });
    // A short tint tells where something has changed; the style sheet drops it for reduced motion.
    if (!isFirst) this.element.classList.add("changed");
    setTimeout(() => this.element.classList.remove("changed"), 1500);
  }

  #show() {
    const name = this.#name;
    const edit = h("button.quiet.small", { type: "button", onclick: () => this.#edit() }, icon("edit"),
      h("span", {}, "Edit"), h("span.hidden", {}, " ", foreign(name)));
    const remove = h("button.quiet.small", { type: "button", onclick: () => this.#remove(remove) }, icon("remove"),
      h("span.hidden", {}, "Remove ", foreign(name)));
    this.#shownValue = shownValue(this.#value);
    fill(this.element,
      h("div.property-name", {}, h("span.label", {}, foreign(name, { max: 80 })), chip(typeOf(this.#value))),
      h("div.property-value", {}, this.#shownValue), h("div.property-actions", {}, edit, remove));
    this.#showExact();
  }

  /** Replaces a number that JavaScript has rounded by what the daemon wrote. */
  #showExact() {
    const place = this.#shownValue;
    if (!isRounded(this.#value)) return;
    this.#readRaw().then(raw => fill(place, foreign(raw.trim(), { max: SHOWN_LENGTH })), () => {});
  }

  #readRaw() { return workspace.fetch(propertyPath(this.#object().id, this.#name), { as: "text" }); }

  async #edit() {
    let raw = JSON.stringify(this.#value);
    // Only text and booleans are certain to be in JavaScript what they are in the store.
    if (typeof this.#value !== "string" && typeof this.#value !== "boolean") {
      try {
        raw = (await this.#readRaw()).trim();
      } catch (problem) {
        return notify(problem);
      }
    }
    this.isEditing = true;
    const editor = valueEditor(editorFor(this.#value), raw);
    const submit = h("button.primary", { type: "submit" }, "Save");
    this.#changedMeanwhile = h("p.hint", { role: "status" });
    const form = h("form.property-form", {
      onsubmit: async event => {
        event.preventDefault();
        const json = editor.read();
        if (json !== null && await perform(submit, () => save(this.#object().id, this.#name, json))) this.#endEditing();
      },
      onkeydown: endOnEscape(() => this.#endEditing()),
    },
    h("span.label", {}, foreign(this.#name, { max: 80 })), editor.element, this.#changedMeanwhile,
    h("div.actions", {}, h("button", { type: "button", onclick: () => this.#endEditing() }, "Cancel"), submit));
    fill(this.element, form);
    editor.focus();
  }

  #showMeanwhile() {
    fill(this.#changedMeanwhile, "It has changed meanwhile, to ", foreign(this.#shown, { max: 80 }),
      ". Saving replaces that.");
  }

  #endEditing() {
    this.isEditing = false;
    this.#show();
    this.element.querySelector("button")?.focus();
  }

  async #remove(button) {
    await perform(button, () => workspace.write(t => t.unset(this.#object().id, this.#name)));
  }
}
