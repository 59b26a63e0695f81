/**
 * A layout that is tried on a branch: nobody else sees it until it is kept, and nothing is left of it if it is not.
 *
 * The address of the page names the branch, so the trial is still there after a reload.
 */

const PREFIX = "#layout=";

export class Trial {
  #workspace;
  #drawing;
  #changed;
  /** The branch while a layout is tried, else null; and its name. */
  #branch = null;
  #isSwitching = false;
  name = "";

  /** @param changed called with a text that says what happened, or null */
  constructor(workspace, drawing, changed) {
    this.#workspace = workspace;
    this.#drawing = drawing;
    this.#changed = changed;
  }

  get isOn() { return this.#branch !== null; }

  /** Goes on with the trial that the address names, if there is one; else shows the main timeline. */
  async resume() {
    const id = location.hash.startsWith(PREFIX) ? location.hash.slice(PREFIX.length) : null;
    if (!id) return this.#show(null);
    const unnamed = [{ id, name: "" }];
    const branches = await this.#workspace.branches().catch(() => unnamed);
    const found = branches.find(branch => branch.id === id) ?? null;
    this.#show(found);
    if (!found) this.#changed("This layout was kept or discarded.");
  }

  /** Begins with what the drawing is now. */
  start() {
    return this.#switch(async () => {
      const time = new Date().toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "medium" });
      this.#show(await this.#workspace.createBranch(`Layout of ${time}`));
      return "The layout begins with what the drawing is now.";
    });
  }

  /** Merges the layout into the drawing that all see. */
  keep() {
    return this.#switch(async () => {
      const branch = this.#branch;
      const { conflicts } = await branch.merge();
      this.#show(null);
      await this.#drawing.left();
      // What was merged stays.
      await branch.delete();
      return conflicts.length === 0 ? "The layout is kept: others see it now."
        : `The layout is kept. Others had changed ${conflicts.length} of the same: the later change counts.`;
    });
  }

  discard() {
    return this.#switch(async () => {
      const [branch, name] = [this.#branch, this.name];
      // It is left before it goes, so that nobody here takes it for one that was discarded elsewhere.
      this.#show(null);
      await this.#drawing.left();
      await branch.delete({ discard: Infinity }).catch(problem => {
        this.#show({ id: branch.id, name });
        throw problem;
      });
      return "The layout is discarded.";
    });
  }

  /** One at a time, and after all that was drawn is written where it belongs. */
  async #switch(action) {
    if (this.#isSwitching) return;
    this.#isSwitching = true;
    this.#changed(null);
    try {
      await this.#drawing.settled();
      this.#changed(await action());
    } finally {
      this.#isSwitching = false;
      this.#changed(null);
    }
  }

  /** Whether the page is between two timelines: what is drawn meanwhile would go to either. */
  get isSwitching() { return this.#isSwitching; }

  #show(branch) {
    this.#branch = branch && this.#workspace.branch(branch.id);
    this.name = branch?.name ?? "";
    history.replaceState(null, "", branch ? PREFIX + branch.id : location.pathname + location.search);
    this.#drawing.follow(this.#branch, () => {
      this.#show(null);
      this.#changed("This layout was kept or discarded elsewhere.");
    });
  }
}
