/** How the example editor collects what hands do in steps, each of which is one transaction. */

import assert from "node:assert/strict";
import { beforeEach, mock, test } from "node:test";

import { Drawing } from "../../Examples/Editor/drawing.js";
import { gate, settle } from "./daemon.mjs";

const A = "aaaa", B = "bbbb";
const PAUSE_MS = 1000;
let written, problems, answer, deliver, drawing;

/** A workspace that notes what is written, in the order in which it begins. */
const workspace = {
  changes: (query, callback) => {
    deliver = callback;
    return () => {};
  },
  write: async compose => {
    const edits = [];
    const note = kind => (...parts) => edits.push([kind, ...parts]);
    compose({ set: note("set"), create: note("create"), delete: note("delete"), move: note("move") });
    written.push(edits);
    await answer(edits);
    return { created: ["cccc"] };
  },
};

const shape = (id, properties) => ({ id, type: "shape", kind: "rectangle", parent: "root", position: id, properties });
const arrives = (...states) => deliver({ objects: states.map(state => ({ id: state.id, state })) });
const xOf = id => drawing.get(id).properties.x;

beforeEach(() => {
  mock.timers.reset();
  mock.timers.enable({ apis: ["setTimeout"] });
  [written, problems, answer] = [[], [], async () => {}];
  drawing = new Drawing(workspace, "root", () => {}, problem => problems.push(problem));
  drawing.follow();
  arrives(shape(A, { x: 0, y: 0 }), shape(B, { x: 100 }));
});

test("a drag is seen at once, and is one write when it ends, however long it takes", async () => {
  drawing.hold();
  for (let x = 1; x <= 50; x++) {
    drawing.set(A, { x, y: 2 * x });
    mock.timers.tick(PAUSE_MS);
    assert.equal(xOf(A), x);
  }
  assert.deepEqual([written, drawing.pendingWriteCount], [[], 1]);
  drawing.release();
  await drawing.settled();
  assert.deepEqual(written, [[["set", A, { x: 50, y: 100 }]]]);
  assert.deepEqual([xOf(A), drawing.pendingWriteCount], [50, 0]);
});

test("a click, and a drag that ends where it began, write nothing", async () => {
  drawing.hold();
  drawing.release();
  drawing.hold();
  drawing.set(A, { x: 7, y: 7 });
  drawing.set(A, { x: 0, y: 0 });
  drawing.release();
  await drawing.settled();
  assert.deepEqual([written, drawing.pendingWriteCount], [[], 0]);
});

test("a burst of keys is one write, and a pause ends it", async () => {
  for (const x of [10, 20, 30]) {
    drawing.set(A, { x, y: 0 });
    mock.timers.tick(PAUSE_MS - 1);
  }
  assert.deepEqual(written, []);
  mock.timers.tick(1);
  await settle();
  drawing.set(A, { x: 40, y: 0 });
  mock.timers.tick(PAUSE_MS);
  await settle();
  assert.deepEqual(written, [[["set", A, { x: 30, y: 0 }]], [["set", A, { x: 40, y: 0 }]]]);
});

test("another object, or another property, begins a step of its own", async () => {
  drawing.set(A, { x: 1, y: 0 });
  drawing.set(A, { y: 0, x: 2 });
  drawing.set(A, { colour: "#000000" });
  drawing.set(B, { x: 3 });
  drawing.set(A, { x: 4, y: 0 });
  await drawing.settled();
  assert.deepEqual(written.map(([[, id, properties]]) => [id, properties]), [
    [A, { x: 2, y: 0 }], [A, { colour: "#000000" }], [B, { x: 3 }], [A, { x: 4, y: 0 }],
  ]);
});

test("what is done meanwhile is written in its order, one after the other", async () => {
  const first = gate();
  answer = async ([[kind]]) => { if (kind === "set") await first.promise; };
  drawing.set(A, { x: 5, y: 0 });
  const deletion = drawing.delete(A);
  await settle();
  assert.deepEqual(written.map(([[kind]]) => kind), ["set"]);
  assert.equal(drawing.pendingWriteCount, 2);
  first.open();
  await deletion;
  assert.deepEqual(written.map(([[kind]]) => kind), ["set", "delete"]);
});

test("what was written stays on the screen until the workspace shows it, and what is refused goes", async () => {
  drawing.set(A, { x: 5, y: 0 });
  await drawing.settled();
  assert.equal(xOf(A), 5);
  arrives(shape(A, { x: 6, y: 0 }));
  assert.equal(xOf(A), 6);
  answer = async () => { throw new Error("refused"); };
  drawing.set(A, { x: 9, y: 0 });
  await drawing.settled();
  assert.deepEqual([xOf(A), problems.map(problem => problem.message)], [6, ["refused"]]);
});

test("a step of a layout that is gone is not written elsewhere", async () => {
  drawing.set(A, { x: 5, y: 0 });
  drawing.follow();
  arrives(shape(A, { x: 0, y: 0 }));
  mock.timers.tick(PAUSE_MS);
  await drawing.settled();
  assert.deepEqual([written, xOf(A)], [[], 0]);
});
