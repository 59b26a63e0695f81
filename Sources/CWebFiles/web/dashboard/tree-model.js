/**
 * The part of the tree that is shown: which objects are expanded, which pages of children are loaded.
 *
 * Children are read by pages as somebody scrolls there, so ten thousand siblings cost only those that were looked at.
 * Deltas keep what is loaded true. No DOM here.
 */

const PAGE_SIZE = 500;
/** How many requests `reveal` may make to find an object among many siblings. */
const REVEAL_PAGES_MAX = 40;

/** The order of siblings, the same on all machines. */
export function compareSiblings(a, b) {
  if (a.position !== b.position) return a.position < b.position ? -1 : 1;
  return a.id < b.id ? -1 : a.id > b.id ? 1 : 0;
}

export class TreeModel {
  #readPage;
  #readCount;
  #readObject;
  #changed;
  #nodes = new Map();
  #rows = null;
  #expanded = new Set();
  #generation = 0;
  /** Pages that are on their way, and the deltas that came meanwhile. */
  #readingCount = 0;
  #recent = [];

  /**
   * @param reading `page(parentID|null, after, limit)`, `rootCount()`, `object(id)` (null if there is none): promises of
   *   what the daemon says
   * @param changed called after each change of the rows
   */
  constructor({ page, rootCount, object }, changed) {
    this.#readPage = page;
    this.#readCount = rootCount;
    this.#readObject = object;
    this.#changed = changed;
    this.root = newNode(null, null);
    this.root.isExpanded = true;
  }

  /** Whether the first page of the root has arrived. */
  get isLoaded() { return this.root.isStarted && !(this.root.loading && this.root.children.length === 0); }

  node(id) { return this.#nodes.get(id); }

  /** All rows from top to bottom: `{ node, depth, index, size }`; `isGap` marks children that are not loaded yet. */
  get rows() {
    if (this.#rows === null) {
      this.#rows = [];
      appendRows(this.root, 0, this.#rows);
    }
    return this.#rows;
  }

  /**
   * Forgets everything but what is expanded: what is read from now on is another tree, such as one of the past.
   *
   * Pages that are on their way belong to the former one, and so would reads for its objects.
   */
  reset() {
    this.#generation++;
    this.#nodes.clear();
    this.root = newNode(null, null);
    this.root.isExpanded = true;
    this.#update();
  }

  /** Reads everything again that is loaded, keeping what is expanded. */
  async reload() {
    const generation = ++this.#generation;
    await this.#reading(async missed => {
      const total = await this.#readCount();
      const first = await this.#readPage(null, null, PAGE_SIZE);
      if (generation !== this.#generation) return;
      // Pages that were asked for meanwhile belong to the former tree.
      this.#generation++;
      this.#nodes.clear();
      this.root = newNode(null, null);
      this.root.isExpanded = true;
      this.root.childCount = total;
      this.#addPage(this.root, first);
      for (const delta of missed()) this.#applyOne(delta);
      this.#update();
    });
  }

  /** Runs what reads a page; `missed()` are the deltas that came since it began, and that the page may not have. */
  async #reading(body) {
    const first = this.#recent.length;
    this.#readingCount++;
    try {
      await body(() => this.#recent.slice(first));
    } finally {
      if (--this.#readingCount === 0) this.#recent = [];
    }
  }

  expand(node) {
    if (node.isExpanded || node.childCount === 0) return;
    node.isExpanded = true;
    this.#expanded.add(node.id);
    this.#update();
    this.load(node, 0);
  }

  collapse(node) {
    node.isExpanded = false;
    this.#expanded.delete(node.id);
    this.#update();
  }

  /**
   * Reads pages until the child at `index` is there, or there are no more; failures end it until the next call.
   *
   * @returns whether it came to its end: not if everything is read again meanwhile, with another node in its place
   */
  async load(node, index) {
    node.wanted = Math.max(node.wanted, index);
    if (node.loading) return node.loading;
    node.loading = this.#loadPages(node);
    try {
      return await node.loading;
    } finally {
      node.loading = null;
      node.wanted = 0;
    }
  }

  async #loadPages(node) {
    const generation = this.#generation;
    while (node.next !== null && node.children.length <= node.wanted) {
      let isCurrent = true;
      await this.#reading(async missed => {
        const page = await this.#readPage(node.id, node.next ?? null, PAGE_SIZE);
        isCurrent = generation === this.#generation;
        if (!isCurrent) return;
        this.#addPage(node, page);
        for (const delta of missed()) this.#applyOne(delta);
        this.#update();
      });
      if (!isCurrent) return false;
    }
    return true;
  }

  #addPage(node, { objects, next }) {
    node.isStarted = true;
    for (const object of objects) {
      // A delta may have brought it, or moved it away, while the page was on its way.
      if (!this.#nodes.has(object.id)) this.#insert(node, object);
    }
    node.next = next;
    if (next === null) node.childCount = node.children.length;
  }

  #insert(parent, object) {
    const node = newNode(object, parent);
    this.#nodes.set(object.id, node);
    place(node);
    if (this.#expanded.has(object.id) && object.child_count > 0) {
      node.isExpanded = true;
      // A failure leaves gaps; looking at them reads again.
      this.load(node, 0).catch(() => {});
    }
    return node;
  }

  /** Takes a delta of the whole workspace in. */
  apply(delta) {
    if (this.#readingCount > 0) this.#recent.push(delta);
    this.#applyOne(delta);
    this.#update();
  }

  #applyOne(delta) {
    for (const change of delta.objects) {
      if (change.state === null) this.#removed(change.id);
      else this.#changedTo(change.state, change.created || change.moved);
    }
    // The daemon's counts are right; the ones above are for parents that the delta does not name.
    for (const { id, state } of delta.objects) {
      const node = this.#nodes.get(id);
      if (node && state && node.next !== null) node.childCount = Math.max(state.child_count, node.children.length);
      if (node && node.childCount === 0) this.#close(node);
    }
  }

  #close(node) {
    node.isExpanded = false;
    this.#expanded.delete(node.id);
  }

  #removed(id) {
    const node = this.#nodes.get(id);
    if (!node) return;
    this.#detach(node);
    this.#forget(node);
  }

  #changedTo(state, isNewHere) {
    const node = this.#nodes.get(state.id);
    const parent = state.parent === null ? this.root : this.#nodes.get(state.parent);
    if (node && node.parent === parent) {
      const hasMoved = node.object.position !== state.position;
      if (hasMoved) parent.children.splice(parent.children.indexOf(node), 1);
      node.object = state;
      if (hasMoved) place(node);
      return;
    }
    if (node) this.#detach(node);
    if (!parent) {
      if (node) this.#forget(node);
      return;
    }
    if (isNewHere || node) parent.childCount++;
    if (!this.#isLoadedAt(parent, state)) {
      if (node) this.#forget(node);
    } else if (node) {
      node.object = state;
      node.parent = parent;
      place(node);
    } else {
      this.#insert(parent, state);
    }
  }

  /** A child that sorts behind what is loaded comes with its page. */
  #isLoadedAt(parent, state) {
    if (!parent.isStarted) {
      // Nobody has looked: if there were no children, this is all of them.
      if (parent.childCount > 1) return false;
      [parent.isStarted, parent.next] = [true, null];
      return true;
    }
    if (parent.next === null) return true;
    const last = parent.children.at(-1);
    return last !== undefined && compareSiblings(state, last.object) < 0;
  }

  #detach(node) {
    const siblings = node.parent.children;
    siblings.splice(siblings.indexOf(node), 1);
    node.parent.childCount = Math.max(node.parent.childCount - 1, siblings.length);
    if (node.parent.childCount === 0 && node.parent !== this.root) this.#close(node.parent);
  }

  #forget(node) {
    this.#nodes.delete(node.id);
    for (const child of node.children) this.#forget(child);
  }

  /**
   * Expands and loads what is needed to show an object.
   *
   * @returns its node, or null if it is gone or too far down among its siblings
   */
  async reveal(id) {
    const path = [];
    for (let next = id; next !== null && !this.#nodes.has(next);) {
      const object = await this.#readObject(next);
      if (object === null) return null;
      path.unshift(object.id);
      next = object.parent;
      if (next !== null && this.#nodes.has(next)) path.unshift(next);
    }
    if (path.length === 0) path.push(id);
    for (const ancestor of path) {
      const node = await this.#find(ancestor, path);
      if (!node) return null;
      if (ancestor !== path.at(-1)) this.expand(node);
    }
    const node = this.#nodes.get(id);
    for (let parent = node?.parent; parent && parent !== this.root; parent = parent.parent) this.expand(parent);
    return node ?? null;
  }

  async #find(id, path) {
    const parentID = path[path.indexOf(id) - 1];
    for (let requests = 0; requests < REVEAL_PAGES_MAX; requests++) {
      if (this.#nodes.has(id)) return this.#nodes.get(id);
      const parent = parentID === undefined ? this.root : this.#nodes.get(parentID);
      if (!parent || (parent.isStarted && parent.next === null)) return null;
      await this.load(parent, parent.children.length);
    }
    return null;
  }

  #update() {
    this.#rows = null;
    this.#changed();
  }
}

function newNode(object, parent) {
  return {
    id: object?.id ?? null, object, parent, children: [], childCount: object?.child_count ?? 0,
    /** The cursor of the next page: undefined before the first, null after the last. */
    next: undefined,
    isStarted: false, isExpanded: false, loading: null, wanted: 0,
  };
}

/** Puts a node among its siblings, which are sorted. Pages arrive in order, so the end is tried first. */
function place(node) {
  const siblings = node.parent.children;
  let low = 0;
  let high = siblings.length;
  if (high > 0 && compareSiblings(siblings[high - 1].object, node.object) < 0) low = high;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (compareSiblings(siblings[middle].object, node.object) < 0) low = middle + 1;
    else high = middle;
  }
  siblings.splice(low, 0, node);
}

function appendRows(parent, depth, rows) {
  const size = Math.max(parent.childCount, parent.children.length);
  for (let index = 0; index < parent.children.length; index++) {
    const node = parent.children[index];
    rows.push({ node, depth, index, size, isGap: false });
    if (node.isExpanded) appendRows(node, depth + 1, rows);
  }
  for (let index = parent.children.length; index < size; index++) {
    rows.push({ node: parent, depth, index, size, isGap: true });
  }
}
