/**
 * The drawing as data: what the workspace holds, with what this window has changed and not yet written.
 */

/** Number properties of a shape, with what a missing or wrong value counts as. */
const DEFAULTS = { x: 40, y: 40, width: 120, height: 80 };
const LIMIT = 100_000;
const PAUSE_MS = 100;

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
  /** Properties by object id: those of the write under way, and those of the next one. */
  #sent = new Map();
  #waiting = new Map();
  #isWriting = false;
  #settlers = [];

  /** @param changed called after each change, local or from elsewhere */
  constructor(workspace, rootID, changed, failed) {
    this.#workspace = workspace;
    this.rootID = rootID;
    this.#changed = changed;
    this.#failed = failed;
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

  follow() {
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
    return { ...object, properties: { ...object.properties, ...this.#sent.get(id), ...this.#waiting.get(id) } };
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

  /**
   * Changes properties: on the screen at once, in the workspace soon.
   *
   * One write is under way at a time; what is changed meanwhile, however often, is one further write. Each write is a
   * change that all machines keep for ever, so a drag pauses between them: others see it move, and the log stays short.
   */
  set(id, properties) {
    this.#waiting.set(id, { ...this.#waiting.get(id), ...properties });
    this.#changed(null);
    this.#writeWaiting();
  }

  /** Resolves when all that was changed here is written: an undo takes back what the workspace knows. */
  async settled() {
    while (this.#isWriting) await new Promise(resolve => this.#settlers.push(resolve));
  }

  async #writeWaiting() {
    if (this.#isWriting) return;
    this.#isWriting = true;
    while (this.#waiting.size > 0) {
      this.#sent = this.#waiting;
      this.#waiting = new Map();
      try {
        await this.#workspace.write(t => { for (const [id, properties] of this.#sent) t.set(id, properties); });
        this.#keepUntilNextDelta(this.#sent);
      } catch (problem) {
        this.#failed(problem);
      }
      this.#sent = new Map();
      this.#changed(null);
      await new Promise(resolve => setTimeout(resolve, PAUSE_MS));
    }
    this.#isWriting = false;
    for (const resolve of this.#settlers.splice(0)) resolve();
  }

  /** The acknowledgement may be here before the delta; without this the shape would jump back for a moment. */
  #keepUntilNextDelta(written) {
    for (const [id, properties] of written) {
      const object = this.#objects.get(id);
      if (object) this.#objects.set(id, { ...object, properties: { ...object.properties, ...properties } });
    }
  }

  async create(kind, parent) {
    const count = this.#objects.size;
    const name = `${kind[0].toUpperCase()}${kind.slice(1)} ${count}`;
    const offset = (count % 12) * 24;
    const shape = {
      name, x: 60 + offset, y: 60 + offset, width: kind === "text" ? 220 : 140, height: kind === "text" ? 40 : 100,
      colour: ["#1b7f8a", "#c2553d", "#7a5fb5", "#4f7d35"][count % 4], ...(kind === "text" ? { text: "Text" } : {}),
    };
    const { created: [id] } = await this.#workspace.write(t => (kind === "layer"
      ? t.create("layer", { parent, properties: { name } })
      : t.create("shape", { kind, parent, properties: shape })));
    return id;
  }

  delete(id) { return this.#workspace.write(t => t.delete(id)); }

  /** Moves an object into a layer (or the root): in front of all, or behind `before`'s front neighbour. */
  move(id, parent, before) { return this.#workspace.write(t => t.move(id, parent, before ? { before } : {})); }

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
