/** How the dashboard lays a branch beside what it is compared with. */

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  conflictSides, MAIN, propertiesOn, sidesOf, targetOf,
} from "../../Sources/CWebFiles/web/dashboard/sides.js";

const difference = members => ({ id: "77aa", change: "changed", type: "item", properties: {}, moved: null, ...members });

test("a difference has the branch on one side, and its target on the other, place first", () => {
  const [entry] = sidesOf([difference({
    properties: { title: { before: "Oat", after: "Milk" }, done: { after: null }, n: { before: 1 } },
    moved: { before: null, after: "99bb" },
  })]);
  assert.equal(entry.where, "both");
  assert.deepEqual(entry.rows, [
    { property: null, branch: { parent: null }, target: { parent: "99bb" } },
    { property: "done", branch: null, target: { value: null } },
    { property: "n", branch: { value: 1 }, target: null },
    { property: "title", branch: { value: "Oat" }, target: { value: "Milk" } },
  ]);
  assert.deepEqual(propertiesOn("branch", entry), { n: 1, title: "Oat" });
  assert.deepEqual(propertiesOn("target", entry), { done: null, title: "Milk" });
});

test("what the way from the branch deletes is on the branch alone, and has no place to compare", () => {
  const moved = { before: "99bb", after: null };
  const entries = sidesOf([difference({ change: "deleted", moved }), difference({ change: "created", moved })]);
  assert.deepEqual(entries.map(({ where, rows }) => [where, rows]), [["branch", []], ["target", []]]);
});

test("a property with the name of a member of all objects is a property", () => {
  const [entry] = sidesOf([difference({ properties: JSON.parse('{"__proto__": {"before": 1}, "constructor": {}}') })]);
  assert.deepEqual(entry.rows.map(({ property, branch }) => [property, branch]), [
    ["__proto__", { value: 1 }], ["constructor", null],
  ]);
});

test("conflicts of one object are one entry", () => {
  const entries = conflictSides([
    { object: "77aa", kind: "place", branch: null, target: "99bb" },
    { object: "77aa", kind: "property", property: "title", branch: "Oat", target: "Milk" },
    { object: "88cc", kind: "property", property: "n", target: 0 },
    { object: "99dd", kind: "deleted-on-branch" }, { object: "aaee", kind: "deleted-on-target" },
  ]);
  assert.deepEqual(entries.map(({ id, where }) => [id, where]), [
    ["77aa", "both"], ["88cc", "both"], ["99dd", "target"], ["aaee", "branch"],
  ]);
  assert.deepEqual(entries[0].rows, [
    { property: null, branch: { parent: null }, target: { parent: "99bb" } },
    { property: "title", branch: { value: "Oat" }, target: { value: "Milk" } },
  ]);
  assert.deepEqual(entries[1].rows, [{ property: "n", branch: null, target: { value: 0 } }]);
});

test("a branch goes where it came from, and to the main timeline if that is gone", () => {
  const others = [{ id: "b" }];
  assert.equal(targetOf({ id: "a", parent: "b" }, others), "b");
  assert.equal(targetOf({ id: "a", parent: "c" }, others), MAIN);
  assert.equal(targetOf({ id: "a", parent: null }, others), MAIN);
});
