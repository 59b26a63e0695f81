/** How the dashboard makes steps of a history, and compares then with now. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { isSame, propertyNames, stepsOf } from "../../Sources/CWebFiles/web/dashboard/past.js";
import { exactJSON } from "../../Sources/CWebFiles/web/dashboard/text.js";

const author = { name: "desk", is_this_machine: true };
let time = 0;
const entry = (moment, action, status = "effective") => ({ moment, action, status, time_ms: ++time, author });
/** The daemon sends the latest first. */
const steps = (...entries) => stepsOf(entries.toReversed());

test("edits of one transaction are one step, from the first to the last", () => {
  const found = steps(entry("a", { create: {} }), entry("a", { set: {} }), entry("b", { set: {} }));
  assert.deepEqual(found.map(step => [step.moment, step.entries.length]), [["a", 2], ["b", 1]]);
  assert.ok(found[0].timeMs < found[1].timeMs);
});

test("what does not count here yet is no step", () => {
  const found = steps(entry("a", { create: {} }), entry("b", { set: {} }, "held"), entry("c", { set: {} }, "waiting"),
    entry("d", { set: {} }, "superseded"));
  assert.deepEqual(found.map(step => step.moment), ["a", "d"]);
});

test("a step that deletes has nothing to show, one that creates again has", () => {
  const found = steps(entry("a", { create: {} }), entry("b", { set: {} }), entry("b", { delete: true }),
    entry("c", { create: {} }), entry("c", { set: {} }));
  assert.deepEqual(found.map(step => step.isGone), [false, true, false]);
});

test("names of both sides are listed once, in order", () => {
  const [then, now] = [{ properties: { b: 1, a: 1 } }, { properties: { c: 1, a: 2 } }];
  assert.deepEqual(propertyNames(then, now), ["a", "b", "c"]);
  assert.deepEqual(propertyNames(then, null), ["a", "b"]);
  assert.deepEqual(["a", "b", "constructor"].map(name => isSame(name, then, now)), [false, false, true]);
});

test("integers that JavaScript takes for one differ", { skip: !("rawJSON" in JSON) }, () => {
  const state = n => exactJSON(`{"properties":{"n":${n}}}`);
  const [then, now] = ["9007199254740993", "9007199254740992"].map(state);
  assert.equal(isSame("n", then, now), false);
  assert.equal(isSame("n", then, { properties: {} }), false);
  assert.equal(isSame("n", then, state("9007199254740993")), true);
});
