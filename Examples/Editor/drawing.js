/**
 * The drawing as data: what the workspace holds, with what this window has changed and not yet written.
 *
 * Changes of properties are collected in steps. A step is one transaction, so one undo takes it back: a whole drag, or
 * a burst of keys.
 */

/** Number properties of a shape, with what a missing or wrong value counts as. */
const DEFAULTS = { x: 40, y: 40, width: 120, height: 80 };
const LIMIT = 100_000;
/** A key that is held down begins to repeat after up to a second. */
const STEP_PAUSE_MS = 1000;
const PAGE = 500;

/** The order of siblings, the same on all machines. Later ones are in front. */
function compareSiblings(a, b) {
  if (a.position !== b.position) return a.position < b.position ? -1 : 1;
  return a.id < b.id ? -1 : 1;
}

export class Drawing {
  #workspace;
  #objects = new Map();
  #changed;
  #failed;
  /** What is shown and not acknowledged, in order: `{ id, names, properties }`. Only the last one can be open. */
  #steps = [];
  #open = null;
  #isHeld = false;
  #timer;
  /** Ends when all writes of before have. */
  #lastWrite = Promise.resolve();
  /** What is shown and written to: the workspace, or a branch of it. */
  #target;
  #stop = null;
  /** Ends when the last reading of a branch has. */
  #lastReading = Promise.resolve();
  /** The writes so far: a state that was read before one of them has ended is older than the screen. */
  #writeCount = 0;
  #pendingWriteCount = 0;

  /** @param changed called after each change, local or from elsewhere */
  constructor(workspace, rootID, changed, failed) {
    this.#workspace = workspace;
    this.rootID = rootID;
    this.#changed = changed;
    this.#failed = failed;
    this.#target = workspace;
  }

  /** The root of the drawing. The key makes machines that start apart create the same one. */
  static async rootID(workspace) {
    const { objects: [existing] } = await workspace.list({ type: "drawing", limit: 1 });
    if (existing) return existing.id;
    const { created: [id] } = await workspace.write(t => t.create("drawing", {
      key: "example-editor", properties: { title: "Drawing" },
    }));
    return id;
  }

  /**
   * Shows the drawing of a branch, or of the main timeline (null), from now on, and writes to it.
   *
   * @param gone called if the branch is deleted, on whichever machine
   */
  follow(branch = null, gone = null) {
    this.#stop?.();
    this.#objects.clear();
    // What belongs to a layout that is gone must not be written to the drawing that all see.
    this.#close();
    this.#steps = [];
    this.#target = branch ?? this.#workspace;
    this.#stop = branch ? this.#followBranch(branch, gone) : this.#followWorkspace();
  }

  /** A branch has no subscription: it is read again when something was written, here or elsewhere. */
  #followBranch(branch, gone) {
    let [changes, isReading, isWanted, isEnded] = [null, false, false, false];
    const read = async () => {
      isReading = true;
      while (isWanted && !isEnded) {
        isWanted = false;
        const before = this.#writeCount;
        try {
          const objects = await this.#objectsOf(branch);
          if (isEnded) break;
          if (before !== this.#writeCount) isWanted = true;
          else this.#objects = objects;
        } catch (problem) {
          if (isEnded) break;
          if (problem.code === "no-such-branch") gone();
          // The next status comes when the daemon is back.
          else if (problem.code === "offline") changes = null;
          else this.#failed(problem);
        }
        this.#changed(null);
      }
      isReading = false;
    };
    const stop = this.#workspace.status(status => {
      if (status.changes === changes) return;
      changes = status.changes;
      isWanted = true;
      if (!isReading) this.#lastReading = read();
    });
    return () => {
      isEnded = true;
      stop();
    };
  }

  async #objectsOf(branch) {
    const objects = new Map();
    let after = null;
    do {
      const page = await branch.tree(this.rootID, { after, limit: PAGE });
      for (const object of page.objects) objects.set(object.id, object);
      after = page.next;
    } while (after !== null);
    return objects;
  }

  #followWorkspace() {
    return this.#workspace.changes({ subtree: this.rootID }, delta => {
      if (delta.reset) this.#objects.clear();
      for (const { id, state, includes_below: includesBelow } of delta.objects) {
        if (state) this.#objects.set(id, state);
        else this.#forget(id, includesBelow);
      }
      if (!delta.more) this.#changed(delta);
    });
  }

  #forget(id, includesBelow) {
    this.#objects.delete(id);
    if (!includesBelow) return;
    for (const child of [...this.#objects.values()]) if (child.parent === id) this.#forget(child.id, true);
  }

  has(id) { return this.#objects.has(id); }

  /** An object as this window shows it. */
  get(id) {
    const object = this.#objects.get(id);
    if (!object) return null;
    const properties = { ...object.properties };
    for (const step of this.#steps) if (step.id === id) Object.assign(properties, step.properties);
    return { ...object, properties };
  }

  children(id) {
    const children = [...this.#objects.values()].filter(object => object.parent === id);
    return children.sort(compareSiblings).map(child => this.get(child.id));
  }

  /** All shapes from back to front. */
  shapes(id = this.rootID) {
    return this.children(id).flatMap(child => (child.type === "layer" ? this.shapes(child.id) : [child]));
  }

  /** The box of a shape. Any machine may have written anything, so nothing here is trusted to be a number. */
  box({ properties }) {
    const box = {};
    for (const [name, fallback] of Object.entries(DEFAULTS)) {
      const value = properties[name];
      const number = typeof value === "number" && Number.isFinite(value) ? value : fallback;
      box[name] = Math.max(name === "width" || name === "height" ? 1 : -LIMIT, Math.min(LIMIT, number));
    }
    return box;
  }

  // Writing

  /** Writes that are not yet durable, with the one that is being collected. They live in this page alone. */
  get pendingWriteCount() { return this.#pendingWriteCount + (this.#open ? 1 : 0); }

  /**
   * Changes properties: on the screen at once, in the workspace when the step ends.
   *
   * A step is about one object and the same properties each time. It ends with the drag that made it, after a second
   * without a further change, or when anything else begins. All machines keep each write for ever, and an undo takes
   * one back: so a drag is one write, and others see where it ends.
   */
  set(id, properties) {
    const names = Object.keys(properties).sort().join(" ");
    if (this.#open?.id !== id || this.#open.names !== names) {
      this.endStep();
      this.#open = { id, names, properties: {} };
      this.#steps.push(this.#open);
    }
    Object.assign(this.#open.properties, properties);
    clearTimeout(this.#timer);
    if (!this.#isHeld) this.#timer = setTimeout(() => this.endStep(), STEP_PAUSE_MS);
    this.#changed(null);
  }

  /** Begins a drag: however long it takes, it is one step until `release`. */
  hold() {
    this.endStep();
    this.#isHeld = true;
  }

  release() {
    this.#isHeld = false;
    this.endStep();
  }

  get isHeld() { return this.#isHeld; }

  /** Writes what was collected; what has come back to where it was is no step. */
  endStep() {
    const step = this.#close();
    if (!step) return;
    this.#steps = this.#steps.filter(other => other !== step);
    const before = this.get(step.id)?.properties ?? {};
    const isSame = Object.entries(step.properties).every(([name, value]) => before[name] === value);
    if (isSame) return this.#changed(null);
    this.#steps.push(step);
    this.#writeStep(step);
  }

  #close() {
    clearTimeout(this.#timer);
    const step = this.#open;
    this.#open = null;
    return step;
  }

  async #writeStep(step) {
    try {
      await this.#write(t => t.set(step.id, step.properties));
      if (this.#steps.includes(step)) this.#keepUntilNextDelta(step);
    } catch (problem) {
      this.#failed(problem);
    }
    this.#steps = this.#steps.filter(other => other !== step);
    this.#changed(null);
  }

  /** The workspace, or the branch of it that is shown. */
  get timeline() { return this.#target; }

  /** Resolves when all that was changed here is written: an undo takes back what the workspace knows. */
  async settled() {
    this.endStep();
    for (let last = null; last !== this.#lastWrite;) await (last = this.#lastWrite);
  }

  /** Resolves when nothing more is asked of the branch that was shown before: only then it can go. */
  left() { return this.#lastReading; }

  /** One write after the other, in the order of the hands: requests to a branch may overtake each other. */
  #write(compose) {
    const target = this.#target;
    this.#pendingWriteCount++;
    const written = this.#lastWrite.then(() => target.write(compose)).finally(() => {
      this.#pendingWriteCount--;
      this.#writeCount++;
    });
    this.#lastWrite = written.catch(() => {});
    return written;
  }

  /** The acknowledgement may be here before the delta; without this the shape would jump back for a moment. */
  #keepUntilNextDelta({ id, properties }) {
    const object = this.#objects.get(id);
    if (object) this.#objects.set(id, { ...object, properties: { ...object.properties, ...properties } });
  }

  async create(kind, parent) {
    this.endStep();
    const count = this.#objects.size;
    const name = `${kind[0].toUpperCase()}${kind.slice(1)} ${count}`;
    const offset = (count % 12) * 24;
    const shape = {
      name, x: 60 + offset, y: 60 + offset, width: kind === "text" ? 220 : 140, height: kind === "text" ? 40 : 100,
      colour: ["#1b7f8a", "#c2553d", "#7a5fb5", "#4f7d35"][count % 4], ...(kind === "text" ? { text: "Text" } : {}),
    };
    const { created: [id] } = await this.#write(t => (kind === "layer"
      ? t.create("layer", { parent, properties: { name } })
      : t.create("shape", { kind, parent, properties: shape })));
    return id;
  }

  delete(id) {
    this.endStep();
    return this.#write(t => t.delete(id));
  }

  /** Moves an object into a layer (or the root): in front of all, or behind `before`'s front neighbour. */
  move(id, parent, before) {
    this.endStep();
    return this.#write(t => t.move(id, parent, before ? { before } : {}));
  }

  /** Whether an object is `ancestor` or below it. */
  isWithin(id, ancestor) {
    for (let next = id; next && next !== this.rootID; next = this.#objects.get(next)?.parent) {
      if (next === ancestor) return true;
    }
    return false;
  }
}

/** What an object is called. */
export function nameOf({ type, kind, properties }) {
  if (typeof properties.name === "string" && properties.name !== "") return properties.name;
  return kind || type;
}
