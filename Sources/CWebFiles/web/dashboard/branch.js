/** One branch: what a merge would find changed on both sides, the merge, and both sides side by side. */

import { askToDeleteBranch, timelineSelect } from "./branch-dialogs.js";
import { onAnyWrite, timelineName, unmergedChip } from "./branches.js";
import { Comparison } from "./comparison.js";
import { field } from "./dialogs.js";
import { chip, fill, foreign, h, icon, moment } from "./dom.js";
import { coalesced, perform, workspace } from "./session.js";
import { MAIN, conflictSides, sidesOf, targetOf } from "./sides.js";
import { count, exactJSON, plain } from "./text.js";
import { report } from "./undo.js";

/** The view of a branch. */
export function showBranch({ id }, titleChanged) {
  const view = new BranchView(titleChanged);
  view.update({ id });
  return view;
}

class BranchView {
  title = "Branch";
  #titleChanged;
  #id = null;
  /** What the branch is compared with and merged into: MAIN, or the id of another branch. */
  #target = MAIN;
  #isTargetChosen = false;
  #branches = [];
  #branch = null;
  /** What is shown of each part, as text: a part that is the same stays, and with it the focus. */
  #shown = new Map();

  #heading = h("h1", { tabindex: "-1" }, "Branch");
  #facts = h("p.muted");
  #update = h("button", { type: "button", onclick: () => this.#bringUpToDate() }, icon("sync"), "Bring up to date");
  #delete = h("button", { type: "button", onclick: () => this.#askToDelete() }, icon("remove"), "Delete");
  #toolbar = h("div.toolbar", {}, this.#update, this.#delete);
  #targetPlace = h("div");
  #state = h("p", { role: "status" });
  #conflicts = new Comparison("Changed on both sides");
  #merge = h("button.primary", { type: "button", onclick: () => this.#mergeNow() }, "Merge");
  #differences = new Comparison("Differences");
  #same = h("p.muted", { hidden: true }, "Both sides are the same.");
  #cards = h("div.stack", {},
    h("section.card.stack", { "aria-labelledby": "merge-title" }, h("h2", { id: "merge-title" }, "Merge"),
      this.#targetPlace, this.#state, this.#conflicts.element, h("div", {}, this.#merge)),
    h("section.card.stack", { "aria-labelledby": "sides-title" }, h("h2", { id: "sides-title" }, "Side by side"),
      this.#same, this.#differences.element));
  #gone = h("div.empty", { hidden: true }, h("h2", {}, "There is no such branch"),
    h("p", {}, "It was deleted, or has not arrived here yet. If it arrives, it is shown here."));
  #refresh = coalesced(() => this.#read());
  #stop = onAnyWrite(this.#refresh);

  constructor(titleChanged) {
    this.#titleChanged = titleChanged;
    titleChanged(this.title);
    this.element = h("div.page", {},
      h("header.page-head", {}, h("a.back", { href: "#/branches" }, icon("back"), "Branches"),
        this.#heading, this.#facts, this.#toolbar),
      this.#gone, this.#cards);
  }

  update({ id }) {
    if (id === this.#id) return;
    this.#id = id;
    this.#isTargetChosen = false;
    this.#shown.clear();
    this.#cards.hidden = this.#toolbar.hidden = this.#facts.hidden = true;
    this.#refresh();
  }

  close() { this.#stop(); }

  get #into() { return this.#target === MAIN ? undefined : this.#target; }

  async #read() {
    const id = this.#id;
    this.#branches = await workspace.branches();
    const branch = this.#branches.find(branch => branch.id === id) ?? null;
    this.#branch = branch;
    this.#gone.hidden = branch !== null;
    this.#cards.hidden = this.#toolbar.hidden = this.#facts.hidden = branch === null;
    if (!branch) return fill(this.#heading, "Branch");
    this.#drawHead();
    const target = this.#target;
    const query = new URLSearchParams({ from: `branch:${id}`, ...(this.#into && { to: `branch:${target}` }) });
    const into = this.#into ? `?into=${target}` : "";
    const [conflicts, differences] = await Promise.all([
      workspace.fetch(`/api/branches/${id}/conflicts${into}`, { as: "text" }),
      workspace.fetch(`/api/diff?${query}`, { as: "text" }),
    ]);
    // Somebody may have chosen another target meanwhile; that is read next.
    if (id === this.#id && target === this.#target) this.#draw(conflicts, differences);
  }

  #drawHead() {
    const { name, parent, author, time_ms: created } = this.#branch;
    const others = this.#branches.filter(({ id }) => id !== this.#id);
    const isThere = this.#target === MAIN || others.some(({ id }) => id === this.#target);
    if (!this.#isTargetChosen || !isThere) this.#target = targetOf(this.#branch, others);
    this.#titleChanged(plain(name, 60));
    this.#ifNew("head", JSON.stringify([this.#branch, others]), () => {
      fill(this.#heading, foreign(name, { max: 200 }));
      fill(this.#facts, unmergedChip(this.#branch), " It leaves ", timelineName(parent, this.#branches), ". Created ",
        moment(created), " by ", author.is_this_machine ? "this machine" : foreign(author.name, { max: 60 }), ".");
    });
    this.#ifNew("targets", JSON.stringify([this.#id, others.map(({ id, name }) => [id, name])]), () => {
      const hadFocus = this.#targetPlace.contains(document.activeElement);
      const select = timelineSelect(others, { onchange: () => this.#chooseTarget(select.value) });
      fill(this.#targetPlace, field("Compare with, and merge into", select));
      if (hadFocus) select.focus();
    });
    this.#targetPlace.querySelector("select").value = this.#target;
  }

  #chooseTarget(target) {
    this.#target = target;
    this.#isTargetChosen = true;
    this.#refresh();
  }

  #draw(conflictsText, differencesText) {
    const { name } = this.#branch;
    const [into, branches] = [this.#into ?? null, this.#branches];
    const place = {
      branch: { name: () => foreign(name, { max: 60 }), source: workspace.branch(this.#id) },
      target: { name: () => timelineName(into, branches), source: into ? workspace.branch(into) : workspace },
      isTargetMain: this.#target === MAIN,
    };
    const names = JSON.stringify([name, this.#target, branches.map(branch => branch.name)]);
    this.#ifNew("differences", names + differencesText, () => {
      const sides = sidesOf(exactJSON(differencesText).objects);
      this.#same.hidden = sides.length > 0;
      this.#differences.draw(sides, place);
    });
    this.#ifNew("conflicts", names + conflictsText + this.#branch.unmerged, () => {
      const sides = conflictSides(exactJSON(conflictsText).conflicts);
      this.#conflicts.draw(sides, place);
      const found = sides.reduce((sum, { rows }) => sum + Math.max(1, rows.length), 0);
      fill(this.#state, found === 0 ? "Nothing was changed on both sides."
        : [chip(count(found, "conflict"), "warning"),
          " Both sides changed the same. A merge lets the later edit count, and lists the other under Conflicts."]);
      fill(this.#merge, h("span", {}, "Merge into ", timelineName(into, branches)));
    });
  }

  #ifNew(part, text, draw) {
    if (this.#shown.get(part) === text) return;
    this.#shown.set(part, text);
    draw();
  }

  // What is done

  #mergeNow() {
    const [name, into] = [this.#branch.name, this.#into];
    return perform(this.#merge, async () => {
      const { merged, conflicts } = await workspace.branch(this.#id).merge({ into });
      this.#tell(merged, conflicts, [foreign(name, { max: 60 }), " is merged into ",
        timelineName(into ?? null, this.#branches)]);
    });
  }

  #bringUpToDate() {
    const name = this.#branch.name;
    return perform(this.#update, async () => {
      const { merged, conflicts } = await workspace.branch(this.#id).update();
      this.#tell(merged, conflicts, [foreign(name, { max: 60 }), " has what is new on the main timeline"]);
    });
  }

  #tell(isNew, conflicts, done) {
    report(h("p", {}, isNew ? [done, "."] : "There was nothing new; nothing was written."),
      isNew && conflicts.length > 0 ? h("p", {}, `${count(conflicts.length, "conflict")}: the later edit counts. `,
        h("a", { href: "#/conflicts" }, "Show conflicts")) : null);
    this.#refresh();
  }

  #askToDelete() { askToDeleteBranch(this.#branch, () => { location.hash = "#/branches"; }); }
}
