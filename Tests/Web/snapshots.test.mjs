/** What the dashboard says of snapshots, and how it names their files. */

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  doneText, fileName, groupsOf, latestFirst, planText, sizeText,
} from "../../Sources/CWebFiles/web/dashboard/snapshot-text.js";

const snapshot = (id, object, time_ms) => ({ id, object, time_ms, name: null, objects: 1, bytes: 631 });
const nothing = { created: 0, changed: 0, moved: 0, transactions: 1, missing_parent: null, missing_properties: 0 };
const done = members => doneText({ ...nothing, ...members });

test("the latest comes first, and so does the object that has it", () => {
  const listed = [snapshot("1", "a", 10), snapshot("2", "b", 20), snapshot("3", "a", 30), snapshot("4", "b", 20)];
  assert.deepEqual(latestFirst(listed).map(({ id }) => id), ["3", "4", "2", "1"]);
  assert.deepEqual(groupsOf(listed).map(({ object, snapshots }) => [object, snapshots.map(({ id }) => id)]), [
    ["a", ["3", "1"]], ["b", ["4", "2"]],
  ]);
  assert.deepEqual(listed.map(({ id }) => id), ["1", "2", "3", "4"]);
  assert.deepEqual(groupsOf([]), []);
});

test("a size is in objects and bytes", () => {
  assert.equal(sizeText(snapshot("1", "a", 0)), "1 object, 631 B");
  assert.equal(sizeText({ objects: 12_345, bytes: 4_200_000 }), "12,345 objects, 4.2 MB");
});

test("the name of a file has nothing but letters, digits and dashes, and tells snapshots apart", () => {
  const id = "0dc287c9-284a-8d28-8db6-aaba09d0c4fc";
  const named = name => fileName({ id, name });
  assert.equal(named("before the sale"), "before-the-sale-0dc287c9.json");
  assert.equal(named("Größe 2×3 日本語 नमस्ते"), "Größe-2-3-日本語-नमस्ते-0dc287c9.json");
  assert.equal(named("../../etc/passwd"), "etc-passwd-0dc287c9.json");
  assert.equal(named("C:\\CON.exe"), "C-CON-exe-0dc287c9.json");
  assert.equal(named("\u202egnp.exe\u0000\n"), "gnp-exe-0dc287c9.json");
  for (const other of [null, "", "  ", "…/…", "😀"]) assert.equal(named(other), "snapshot-0dc287c9.json");
  assert.equal(named("𝔞".repeat(500)), `${"𝔞".repeat(60)}-0dc287c9.json`);
});

test("a restore says before what it does", () => {
  assert.ok(planText(1)[0].startsWith("The object becomes what it was:"));
  assert.ok(planText(2)[0].startsWith("The object and the 1 object below it become what they were:"));
  assert.ok(planText(1001)[0].includes("the 1,000 objects below it"));
});

test("a restore says after what it did, and no more", () => {
  assert.deepEqual(done({ transactions: 0 }), ["Nothing differed from it, and nothing was written."]);
  assert.deepEqual(done({ created: 1 }), ["1 object created."]);
  assert.deepEqual(done({ changed: 2, moved: 1 }), ["2 objects changed, 1 moved."]);
  assert.deepEqual(done({ created: 70_000, changed: 1, transactions: 2 }), [
    "70,000 objects created, 1 changed.", "It took 2 transactions, and each undo takes one back.",
  ]);
  assert.deepEqual(done({ created: 1, missing_parent: "77aa" }), [
    "1 object created.", "Its former place is gone: it stays where it was, or is at the top level.",
  ]);
  assert.deepEqual(done({ changed: 1, missing_properties: 2 }), [
    "1 object changed.", "2 properties stayed as before: their values were not here when it was taken.",
  ]);
});
