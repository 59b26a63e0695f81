/** The tree of the dashboard against a workspace in memory. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { compareSiblings, TreeModel } from "../../Sources/CWebFiles/web/dashboard/tree-model.js";

/** Objects, and pages of them as the daemon gives them out. */
class Store {
  objects = new Map();
  requests = 0;

  put(id, parent, position, childCount = 0) {
    const object = { id, parent, position, child_count: childCount, type: "item", properties: {} };
    this.objects.set(id, object);
    return object;
  }

  children(parent) { return [...this.objects.values()].filter(o => o.parent === parent).sort(compareSiblings); }

  model() {
    return new TreeModel({
      page: async (parent, after, limit) => {
        this.requests++;
        const all = this.children(parent);
        const start = Number(after ?? 0);
        const end = start + limit;
        return { objects: all.slice(start, end), next: end < all.length ? String(end) : null };
      },
      rootCount: async () => this.children(null).length,
      object: async id => this.objects.get(id),
    }, () => {});
  }
}

const position = number => String(number).padStart(6, "0");
const shown = model => model.rows.map(row => (row.isGap ? "…" : "  ".repeat(row.depth) + row.node.id));
const change = (state, members = {}) =>
  ({ objects: [{ id: state.id, created: false, moved: false, includes_below: false, ...members, state }] });
const removal = id => ({ objects: [{ id, created: false, moved: false, includes_below: true, state: null }] });

async function smallTree() {
  const store = new Store();
  store.put("a", null, "1", 2);
  store.put("b", null, "2");
  store.put("a1", "a", "1");
  store.put("a2", "a", "2");
  const model = store.model();
  await model.reload();
  model.expand(model.node("a"));
  await model.load(model.node("a"), 0);
  return { store, model };
}

test("shows expanded children below their parent", async () => {
  const { model } = await smallTree();
  assert.deepEqual(shown(model), ["a", "  a1", "  a2", "b"]);
  assert.deepEqual(model.rows.map(row => [row.index, row.size]), [[0, 2], [0, 2], [1, 2], [1, 2]]);
  model.collapse(model.node("a"));
  assert.deepEqual(shown(model), ["a", "b"]);
});

test("reads ten thousand siblings only as far as somebody looks", async () => {
  const store = new Store();
  for (let n = 0; n < 10_000; n++) store.put(`n${n}`, null, position(n));
  const model = store.model();
  await model.reload();
  assert.equal(model.rows.length, 10_000);
  assert.equal(store.requests, 1);
  assert.equal(model.rows[9_999].isGap, true);
  await model.load(model.root, 1_200);
  assert.equal(store.requests, 3);
  assert.equal(model.rows[1_200].node.id, "n1200");
  await model.load(model.root, 9_999);
  assert.equal(model.rows[9_999].node.id, "n9999");
  assert.equal(model.rows.some(row => row.isGap), false);
});

test("a new object appears at its place", async () => {
  const { store, model } = await smallTree();
  model.apply(change(store.put("a15", "a", "15"), { created: true }));
  assert.deepEqual(shown(model), ["a", "  a1", "  a15", "  a2", "b"]);
  assert.equal(model.node("a").childCount, 3);
});

test("the first child of an object that had none makes it expandable", async () => {
  const { store, model } = await smallTree();
  model.apply(change(store.put("b1", "b", "1"), { created: true }));
  assert.equal(model.node("b").childCount, 1);
  model.expand(model.node("b"));
  assert.deepEqual(shown(model), ["a", "  a1", "  a2", "b", "  b1"]);
});

test("a new object behind what is loaded only counts, and comes with its page", async () => {
  const store = new Store();
  for (let n = 0; n < 1_000; n++) store.put(`n${n}`, null, position(n));
  const model = store.model();
  await model.reload();
  model.apply(change(store.put("last", null, position(5_000)), { created: true }));
  assert.equal(model.rows.length, 1_001);
  assert.equal(model.node("last"), undefined);
  await model.load(model.root, 1_000);
  assert.deepEqual(model.rows.at(-1).node.id, "last");
  assert.equal(model.rows.length, 1_001);
});

test("a deleted object disappears with what is below it", async () => {
  const { model } = await smallTree();
  model.apply(removal("a"));
  assert.deepEqual(shown(model), ["b"]);
  assert.equal(model.node("a1"), undefined);
});

test("the last child that goes leaves a leaf", async () => {
  const { model } = await smallTree();
  model.apply({ objects: [...removal("a1").objects, ...removal("a2").objects] });
  assert.deepEqual(shown(model), ["a", "b"]);
  assert.equal(model.node("a").isExpanded, false);
});

test("a moved object goes to its new place, with what is below it", async () => {
  const { store, model } = await smallTree();
  model.apply(change({ ...store.objects.get("b"), position: "0" }, { moved: true }));
  assert.deepEqual(shown(model), ["b", "a", "  a1", "  a2"]);
  model.apply(change({ ...store.objects.get("a2"), parent: null, position: "3" }, { moved: true }));
  assert.deepEqual(shown(model), ["b", "a", "  a1", "a2"]);
  assert.equal(model.node("a").childCount, 1);
});

test("an object that moves below one that nobody has opened leaves the rows", async () => {
  const { store, model } = await smallTree();
  store.put("b1", "b", "1");
  store.put("b2", "b", "2");
  model.apply(change({ ...store.objects.get("b"), child_count: 2 }));
  model.apply(change({ ...store.objects.get("a2"), parent: "b", position: "3" }, { moved: true }));
  assert.deepEqual(shown(model), ["a", "  a1", "b"]);
  assert.equal(model.node("b").childCount, 3);
});

test("a page that was on its way does not bring back what a delta has moved", async () => {
  const store = new Store();
  store.put("a", null, "1", 1);
  store.put("a1", "a", "1");
  const model = store.model();
  await model.reload();
  model.expand(model.node("a"));
  model.apply(change({ ...store.objects.get("a1"), parent: null, position: "2" }, { moved: true }));
  await model.load(model.node("a"), 0);
  assert.equal(shown(model).filter(row => row.trim() === "a1").length, 1);
});

test("finds an object far down among its siblings, and opens what is above it", async () => {
  const store = new Store();
  store.put("top", null, "1", 3_000);
  for (let n = 0; n < 3_000; n++) store.put(`n${n}`, "top", position(n), n === 2_500 ? 1 : 0);
  store.put("deep", "n2500", "1");
  const model = store.model();
  await model.reload();
  assert.equal((await model.reveal("deep")).id, "deep");
  assert.ok(shown(model).includes("    deep"));
  store.objects.delete("deep");
  assert.equal(await model.reveal("deep").then(node => node?.id), "deep", "what is loaded needs no request");
});

test("reads again what is expanded after the position was lost", async () => {
  const { store, model } = await smallTree();
  store.put("a3", "a", "3");
  store.objects.delete("b");
  await model.reload();
  await model.load(model.node("a"), 0);
  assert.deepEqual(shown(model), ["a", "  a1", "  a2", "  a3"]);
});

test("what changes while a page is on its way is shown", async () => {
  const { store, model } = await smallTree();
  const isAsked = store.requests;
  const reloading = model.reload();
  while (store.requests === isAsked) await null;
  // The page was read before these came.
  model.apply(change(store.put("c", null, "3"), { created: true }));
  model.apply(removal("b"));
  store.objects.delete("b");
  await reloading;
  assert.deepEqual(shown(model).filter(row => !row.startsWith(" ")), ["a", "c"]);
});

test("a page that is asked for while everything is read again keeps nothing from the new tree", async () => {
  const store = new Store();
  for (let n = 0; n < 2_000; n++) store.put(`n${n}`, null, position(n));
  const model = store.model();
  await model.reload();
  const [reloading, late] = [model.reload(), model.load(model.root, 1_999)];
  await reloading;
  assert.equal(await late, false);
  await model.load(model.root, 1_999);
  assert.deepEqual(shown(model), Array.from({ length: 2_000 }, (_, n) => `n${n}`));
});

test("a load that everything was read again beside says that it did not come to its end", async () => {
  const store = new Store();
  for (let n = 0; n < 2_000; n++) store.put(`n${n}`, null, position(n));
  const model = store.model();
  await model.reload();
  const cut = model.load(model.root, 1_999);
  await model.reload();
  assert.equal(await cut, false);
  assert.equal(model.rows[1_999].isGap, true);
  assert.equal(await model.load(model.root, 1_999), true);
  assert.equal(model.rows[1_999].node.id, "n1999");
});

test("after a reset, pages of the former tree are dropped, and what was expanded is so again", async () => {
  const { store, model } = await smallTree();
  const late = model.reload();
  model.reset();
  await late;
  assert.equal(model.isLoaded, false, "a page of the former tree came in");
  assert.deepEqual(shown(model), []);
  store.objects.delete("b");
  store.objects.delete("a2");
  await model.reload();
  await model.load(model.node("a"), 0);
  assert.deepEqual(shown(model), ["a", "  a1"]);
});
