/** Questions that need an answer before something happens. */

import { fill, foreign, h } from "./dom.js";
import { notify, perform, sentencesOf, workspace } from "./session.js";
import { count, nameOf } from "./text.js";

const SEARCH_PAUSE_MS = 200;
const CHOICES_MAX = 30;
let dialogCount = 0;

/**
 * Shows a modal dialog.
 *
 * `submit` does what was asked for; the dialog closes when it has succeeded and stays, with all that was typed, when
 * it has failed. It says why itself: nothing behind a modal dialog is read out. A label of null leaves the button away.
 */
export function ask({ title, body, label, isDangerous = false, submit }) {
  const id = `dialog-${++dialogCount}`;
  // A write that still waits for the daemon must not happen after its dialog was cancelled.
  const ended = new AbortController();
  const failure = h("p.failure", { role: "alert", hidden: true });
  const button = label && h(`button.${isDangerous ? "danger" : "primary"}`, { type: "submit" }, label);
  const dialog = h("dialog", { "aria-labelledby": id, onclose: end },
    h("form", {
      method: "dialog",
      onsubmit: async event => {
        event.preventDefault();
        failure.hidden = true;
        if (await perform(button, () => submit(ended.signal), showFailure)) dialog.close();
      },
    },
    h("h2", { id }, title), body, failure,
    h("div.actions", {}, h("button", { type: "button", onclick: () => dialog.close() }, "Cancel"), button)));
  function showFailure(problem) {
    if (problem.code === "aborted") return;
    failure.hidden = false;
    fill(failure, foreign(sentencesOf(problem).filter(Boolean).join(" ")));
  }
  function end() {
    ended.abort();
    dialog.remove();
  }
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

/** A labelled field. */
export function field(label, control, hint) {
  return h("label.field", {}, h("span.label", {}, label), control, hint ? h("span.hint", {}, hint) : null);
}

/** Types that were used before, so that nobody has to remember their spelling. */
let knownTypes = null;

async function typeSuggestions() {
  if (!knownTypes) {
    const { objects } = await workspace.list({ limit: 200 });
    knownTypes = new Set(objects.map(object => object.type));
  }
  return h("datalist", { id: "known-types" }, [...knownTypes].slice(0, 30).map(type => h("option", { value: type })));
}

/** Asks for a new object below `parent` (null: at the root), and creates it. */
export function askToCreate(parent, created) {
  const type = h("input", { required: true, list: "known-types", autocomplete: "off", placeholder: "note" });
  const title = h("input", { autocomplete: "off", autofocus: true });
  const suggestions = h("div");
  typeSuggestions().then(list => fill(suggestions, list), () => {});
  ask({
    title: "New object",
    body: [
      parent && h("p.muted", {}, "Below ", foreign(nameOf(parent).text, { max: 80 })),
      field("Title", title), field("Type", type, "A word of your own: note, task, recipe…"), suggestions,
    ],
    label: "Create",
    submit: async signal => {
      const properties = title.value === "" ? {} : { title: title.value };
      const { created: [id] } = await workspace.write(t =>
        t.create(type.value.trim(), { parent: parent?.id ?? null, properties }), { signal });
      knownTypes?.add(type.value.trim());
      created?.(id);
    },
  });
}

/** Asks before an object and everything below it is deleted. */
export function askToDelete(object, deleted) {
  ask({
    title: "Delete this object?",
    body: [
      h("p", {}, foreign(nameOf(object).text, { max: 120 }), object.child_count > 0
        ? ` and everything below it (${count(object.child_count, "child", "children")} and what is below them)`
        : null, " will be deleted on all machines."),
      h("p.muted", {}, "An edit that another machine makes at the same time keeps its object."),
    ],
    label: "Delete",
    isDangerous: true,
    submit: async signal => {
      await workspace.write(t => t.delete(object.id), { signal });
      deleted?.();
    },
  });
}

/** Asks for a new parent, and moves an object there. */
export function askToMove(object) {
  const results = h("ul.choices", { "aria-label": "Places" });
  const search = h("input", { type: "search", placeholder: "Search by text", autocomplete: "off", oninput: later });
  let timer;
  let generation = 0;
  const dialog = ask({
    title: "Move", label: null, submit: () => {},
    body: [h("p.muted", {}, "Choose what ", foreign(nameOf(object).text, { max: 80 }), " will be below."),
      field("Find an object", search), results],
  });
  function choice(text, target) {
    const isHere = object.parent === (target?.id ?? null);
    const button = h("button.choice", { type: "button", disabled: isHere, onclick: move }, text,
      target ? h("span.type", {}, foreign(target.type, { max: 40 })) : null,
      isHere ? h("span.hint", {}, "here") : null);
    async function move() {
      if (await perform(button, () => workspace.write(t => t.move(object.id, target?.id ?? null)))) dialog.close();
    }
    return h("li", {}, button);
  }
  async function show() {
    const current = ++generation;
    const text = search.value.trim();
    try {
      const { objects } = text ? await workspace.list({ search: text, limit: CHOICES_MAX })
        : await workspace.children(null, { limit: CHOICES_MAX });
      if (current !== generation) return;
      fill(results, choice("The top level", null), objects.filter(other => other.id !== object.id).map(other =>
        choice(foreign(nameOf(other).text, { max: 80 }), other)));
    } catch (problem) {
      notify(problem);
    }
  }
  function later() {
    clearTimeout(timer);
    timer = setTimeout(show, SEARCH_PAUSE_MS);
  }
  show();
}
