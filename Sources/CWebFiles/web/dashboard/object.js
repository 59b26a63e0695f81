/** One object: what it is, or was at a moment; its properties, and its history. */

import { AccessCard } from "./access.js";
import { chip, copyButton, exactTime, fill, foreign, h, icon, moment } from "./dom.js";
import { askToCreate, askToDelete, askToMove } from "./dialogs.js";
import { PastProperties } from "./past-properties.js";
import { momentOf, onShownTime, showTime, shownTime, stepsOf } from "./past.js";
import { PropertyList } from "./properties.js";
import { Scrubber } from "./scrubber.js";
import { coalesced, notify, objectLink, on, perform, readObject, workspace } from "./session.js";
import { SnapshotCard } from "./snapshots.js";
import { Timeline } from "./timeline.js";
import { count, exactJSON, nameOf, plain } from "./text.js";
import { report } from "./undo.js";

const PATH_LENGTH_MAX = 12;
/** States of former moments that are kept: scrubbing back and forth reads each once. */
const STATES_MAX = 200;

export class ObjectPane {
  #id;
  /** The object now: null if it is gone, undefined before the daemon has said it. */
  #object;
  #titleChanged;
  #stops = [];
  #stopObject = null;
  #steps = [];
  /** Where the pane stands: `{ at, timeMs, step }`; null is now. `step` is null before the first edit. */
  #place = null;
  /** What has been read: `{ place, state, now }`; null if the object was not there, or that is not known yet. */
  #then = null;
  #states = new Map();
  #reading = 0;
  /** The name that was shown last. */
  #name = null;

  #path = h("nav.path", { "aria-label": "Place" });
  #shownPath;
  #heading = h("h1", { tabindex: "-1" });
  #facts = h("dl.facts");
  #toolbar = h("div.toolbar", {},
    h("button", { type: "button", onclick: () => this.#create() }, icon("plus"), "New below"),
    h("button", { type: "button", onclick: () => askToMove(this.#object) }, icon("move"), "Move"),
    h("button", { type: "button", onclick: () => this.#delete() }, icon("remove"), "Delete"));
  #note = h("section.past-note", { "aria-label": "The past", hidden: true });
  #conflicts = h("div");
  #absence = h("div", { hidden: true });
  #properties = new PropertyList();
  #pastProperties = new PastProperties((name, button) => this.#restore(button, name));
  #propertiesCard = h("section.card", { "aria-labelledby": "properties-title" },
    h("h2", { id: "properties-title" }, "Properties"), this.#properties.element, this.#pastProperties.element);
  #scrubber = new Scrubber({
    chosen: step => this.#stand(step && { at: step.moment, timeMs: step.timeMs, step }),
    older: () => this.#timeline?.readOlder().catch(notify),
  });
  #access = new AccessCard();
  #snapshots = new SnapshotCard();
  #timeline = null;
  #history = h("div");
  #scrubberCard = h("section.card", { "aria-labelledby": "scrubber-title", hidden: true },
    h("h2", { id: "scrubber-title" }, "Through time"), this.#scrubber.element);
  #refreshConflicts = coalesced(() => this.#readConflicts());

  /** @param titleChanged called with the name of the object, for the title of the page */
  constructor(id, titleChanged) {
    this.#id = id;
    this.#titleChanged = titleChanged;
    this.element = h("article.object", {}, h("p.muted.pad", {}, "Loading…"));
    this.#follow();
    this.#stops.push(on("delta", delta => this.#heard(delta)), onShownTime(() => this.#standAtShownTime()));
  }

  close() {
    for (const stop of this.#stops) stop();
    this.#stopObject?.();
    this.#snapshots.close();
    this.#timeline?.close();
  }

  focus() { this.#heading.focus({ preventScroll: true }); }

  #follow() {
    this.#stopObject = workspace.object(this.#id, object => this.#arrived(object), {
      onerror: problem => {
        this.#stopObject = null;
        if (problem.code === "no-such-object") this.#arrived(null);
        else this.#showProblem(problem);
      },
    });
  }

  #heard(delta) {
    const change = delta?.objects.find(({ id }) => id === (this.#object?.id ?? this.#id));
    if (delta !== null && !change) return;
    // The browser writes each answer of 404 to its console; what follows a deletion, `#arrived` does.
    if (change?.state === null) return fill(this.#conflicts);
    this.#refreshConflicts();
    // The subscription to an object that was not there has ended.
    if (this.#stopObject === null) this.#follow();
    // The state at a time may have changed, too: an edit of before can arrive now.
    if (this.#place && this.#place.at !== this.#place.step?.moment) this.#read();
  }

  #arrived(object) {
    const isFirst = this.#object === undefined;
    this.#object = object;
    if (object) this.#id = object.id;
    if (isFirst) {
      this.#build();
      this.#refreshConflicts();
      this.#standAtShownTime();
    }
    this.#draw();
    // What differs from now has changed.
    if (this.#place) this.#read();
  }

  #build() {
    this.#timeline = new Timeline(this.#id, {
      entriesChanged: (entries, hasOlder) => this.#stepsChanged(stepsOf(entries), hasOlder),
      chosen: chosen => this.#choose(chosen),
    });
    fill(this.#history, this.#timeline.element);
    fill(this.element,
      h("header.object-head", {},
        h("a.back", { href: "#/objects" }, icon("back"), "All objects"), this.#path, this.#heading, this.#facts,
        this.#toolbar),
      this.#note, this.#conflicts, this.#absence, this.#scrubberCard, this.#propertiesCard, this.#access.element,
      this.#snapshots.element,
      h("section.card", { "aria-labelledby": "history-title" }, h("h2", { id: "history-title" }, "History"),
        this.#history));
  }

  // Where in time

  #stepsChanged(steps, hasOlder) {
    this.#steps = steps;
    this.#scrubberCard.hidden = steps.length === 0;
    this.#scrubber.update(steps, hasOlder);
    if (shownTime() === null || this.#place?.at !== momentOf(shownTime())) return;
    // The step that a time belongs to is known by now.
    this.#standAtShownTime();
    if (this.#place.step === null && hasOlder) this.#timeline.readOlder().catch(notify);
  }

  /** Follows the tree to a time, and back to now. */
  #standAtShownTime() {
    const timeMs = shownTime();
    if (timeMs === null) return this.#stand(null);
    const step = this.#steps.findLast(step => step.timeMs <= timeMs) ?? null;
    this.#stand({ at: momentOf(timeMs), timeMs, step });
  }

  #choose(chosen) {
    const step = this.#steps.find(step => step.moment === chosen);
    if (!step) return;
    this.#stand({ at: step.moment, timeMs: step.timeMs, step });
    this.#scrubberCard.scrollIntoView({ block: "nearest" });
  }

  #stand(place) {
    // Now is now everywhere.
    if (place === null && shownTime() !== null) return showTime(null);
    this.#place = place;
    this.#scrubber.stand(place?.step?.moment ?? null);
    this.#timeline?.mark(place?.step?.moment ?? null);
    this.#read();
  }

  /** Reads what the object was, and what it is, with exact numbers. */
  async #read() {
    const reading = ++this.#reading;
    const place = this.#place;
    if (place === null || place.step === null || place.step.isGone) {
      this.#then = null;
      return this.#draw();
    }
    try {
      const then = await this.#stateAt(place);
      const now = this.#object ? await this.#exactState(null) : null;
      if (reading !== this.#reading) return;
      this.#then = { place, state: then, now };
    } catch (problem) {
      if (reading !== this.#reading) return;
      // It was deleted while it was on its way; the subscription says so.
      this.#then = null;
      if (problem.code !== "no-such-object") notify(problem);
    }
    this.#draw();
  }

  /** What a change shows never changes, so it is read once; what a time shows may. */
  async #stateAt({ at, step }) {
    if (at !== step.moment) return this.#exactState(at);
    if (!this.#states.has(at)) {
      if (this.#states.size >= STATES_MAX) this.#states.clear();
      this.#states.set(at, await this.#exactState(at));
    }
    return this.#states.get(at);
  }

  async #exactState(at) {
    const path = `/api/objects/${this.#id}${at === null ? "" : `?at=${encodeURIComponent(at)}`}`;
    return exactJSON(await workspace.fetch(path, { as: "text" }));
  }

  async #restore(button, property) {
    const { at, timeMs } = this.#then.place;
    const isDone = await perform(button, async () => {
      const restored = await workspace.restore(this.#id, { at, property });
      report(h("p", {}, h("strong", {}, "Restored: "),
        property === undefined ? count(restored.object_count, "object") : ["the property ", foreign(property)],
        ` as of ${exactTime(timeMs)}.`),
      restored.revived_count > 0 ? h("p", {}, `${count(restored.revived_count, "deleted object")} came back.`) : null,
      restored.stays_in_place ? h("p", {}, "It stays where it is: its place of then is gone.") : null);
    });
    if (!isDone || property !== undefined) return;
    this.#stand(null);
    this.focus();
  }

  // Drawing

  #draw() {
    const isPast = this.#place !== null;
    const shown = isPast ? this.#then?.state ?? null : this.#object;
    this.element.classList.toggle("is-past", isPast);
    this.#note.hidden = !isPast;
    this.#toolbar.hidden = isPast || !shown;
    this.#conflicts.hidden = isPast;
    this.#facts.hidden = this.#path.hidden = !shown;
    this.#propertiesCard.hidden = !shown;
    this.#properties.element.hidden = isPast;
    this.#pastProperties.element.hidden = !isPast;
    this.#absence.hidden = shown !== null;
    this.#access.update(isPast || !this.#object ? null : this.#id);
    this.#snapshots.update(this.#id, this.#object, isPast);
    if (!shown) this.#drawAbsence(isPast);
    else if (isPast) this.#drawPast();
    else this.#properties.update(shown);
    if (isPast) this.#drawNote();
    if (shown) this.#drawHead(shown, isPast ? this.#then.place.at : null);
  }

  /** @param at the moment that the object is shown at; null is now */
  #drawHead(object, at) {
    const name = nameOf(object);
    this.#name = name.text;
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
    this.#showPath(object.parent, at).catch(problem => { if (problem.code !== "offline") notify(problem); });
  }

  #drawPast() {
    const { state, now } = this.#then;
    this.#then.differing = this.#pastProperties.draw(state, now);
    this.#then.isElsewhere = now !== null && (state.parent !== now.parent || state.position !== now.position);
  }

  #drawNote() {
    const { timeMs, step, at } = this.#place;
    const isExact = step !== null && at === step.moment;
    const by = step && [isExact ? ", after an edit by " : "; the last edit was by ",
      step.author.is_this_machine ? "this machine" : foreign(step.author.name, { max: 60 })];
    const restore = h("button.primary", { type: "button", onclick: () => this.#restore(restore) }, icon("undo"),
      "Restore all of it");
    const focused = [...this.#note.querySelectorAll("button")].indexOf(document.activeElement);
    fill(this.#note, icon("history"),
      h("div", {}, h("p", {}, h("strong", {}, "You look at the past: "), `${exactTime(timeMs)}`, by, "."),
        this.#then ? h("p", {}, this.#differenceText()) : null),
      h("div.actions", {}, this.#then ? restore : null,
        h("button", { type: "button", onclick: () => this.#stand(null) }, "Back to now")));
    if (focused >= 0) this.#note.querySelectorAll("button")[focused]?.focus({ preventScroll: true });
  }

  #differenceText() {
    const { now, differing, isElsewhere } = this.#then;
    if (now === null) return "The object is deleted now. Restoring creates it again, with what was below it.";
    if (differing === 0) return isElsewhere ? "Its place differs from now." : "It is the same now.";
    const differs = differing === 1 ? "1 property differs" : `${differing} properties differ`;
    return `${differs} from now${isElsewhere ? ", and its place" : ""}.`;
  }

  /** What is said where there is no object. */
  #drawAbsence(isPast) {
    const [title, text] = isPast ? this.#absenceThen()
      : ["This object does not exist", [
        this.#name ? ["“", foreign(this.#name, { max: 80 }), "” "] : "It ",
        "has been deleted, or has not arrived here yet. If it arrives, it is shown here."]];
    this.#titleChanged(isPast ? title : "Deleted object");
    fill(this.#heading, title);
    fill(this.#absence, h("p.muted", {}, text));
  }

  #absenceThen() {
    const { step } = this.#place;
    if (step === null) return ["It did not exist yet", "Nobody had made it at that time."];
    if (step.isGone) return ["It was deleted", "Earlier moments show what it was."];
    return ["This moment cannot be shown", "Go to another one, or back to now."];
  }

  async #showPath(parent, at) {
    const path = `${at} ${parent}`;
    if (path === this.#shownPath && parent !== null) return;
    this.#shownPath = path;
    const links = [];
    const past = at && workspace.at(at);
    for (let id = parent; id !== null && links.length < PATH_LENGTH_MAX;) {
      const ancestor = await (past ? past.get(id) : readObject(id));
      if (ancestor === null) break;
      links.unshift(h("li", {}, objectLink(id, { text: nameOf(ancestor).text })));
      id = ancestor.parent;
    }
    if (path === this.#shownPath) {
      fill(this.#path, h("ol", {}, h("li", {}, h("a", { href: "#/objects" }, "Top level")), links));
    }
  }

  async #readConflicts() {
    if (!this.#object) return fill(this.#conflicts);
    const { conflicts } = await workspace.conflicts(this.#id).catch(problem => {
      if (problem.code === "no-such-object") return { conflicts: [] };
      throw problem;
    });
    const text = `${count(conflicts.length, "conflict")}: machines have written differently at the same time. `;
    fill(this.#conflicts, conflicts.length === 0 ? null : h("a.notice.warning", { href: `#/conflicts/${this.#id}` },
      icon("conflict"), h("span", {}, text, h("u", {}, "Compare them"))));
  }

  #create() { askToCreate(this.#object, id => { location.hash = `#/object/${id}`; }); }

  #delete() {
    const { parent } = this.#object;
    askToDelete(this.#object, () => { location.hash = parent ? `#/object/${parent}` : "#/objects"; });
  }

  #showProblem(problem) {
    fill(this.element, h("div.empty", {}, h("h1", { tabindex: "-1" }, "This object cannot be shown"),
      h("p", {}, foreign(problem.detail)), problem.advice ? h("p.muted", {}, foreign(problem.advice)) : null));
  }
}

const fact = (label, value) => h("div", {}, h("dt", {}, label), h("dd", {}, value));
