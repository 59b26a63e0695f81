/** How the dashboard shows text of other machines. */

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  exactJSON, isRounded, nameOf, parts, plain, pretty, summary, typeOf,
} from "../../Sources/CWebFiles/web/dashboard/text.js";

const marks = text => parts(text).filter(part => part.mark).map(part => part.mark);

test("what cannot be seen is shown", () => {
  assert.deepEqual(marks("invoice\u202egpj.exe"), ["U+202E"]);
  assert.deepEqual(marks("a\u200bb\u0007c\u2066d\ufeff"), ["U+200B", "U+0007", "U+2066", "U+FEFF"]);
  assert.deepEqual(marks("\u{e0041}\ud800"), ["U+E0041", "U+D800"]);
  assert.deepEqual(marks("a\nb\tc"), ["↵", "⇥"]);
  assert.equal(plain("a\u202eb"), "a[U+202E]b");
});

test("text without unseen characters stays as it is", () => {
  for (const text of ["", "Milk", "<b>&amp;</b>", "שלום", "日本語", "é", "👩‍👩‍👧", "❤️‍🔥", "می‌خواهم"]) {
    assert.deepEqual(parts(text).map(part => part.text).join(""), text);
  }
});

test("a joiner where nothing is joined is shown", () => {
  assert.deepEqual(marks("pay\u200dpal \u200c"), ["U+200D", "U+200C"]);
});

test("lines are kept where they are wanted", () => {
  assert.deepEqual(parts("a\nb", { lines: true }), [{ text: "a\nb" }]);
});

test("an object is named by its name or title, else by its type", () => {
  assert.deepEqual(nameOf({ type: "item", properties: { title: "Milk" } }), { text: "Milk", isNamed: true });
  assert.deepEqual(nameOf({ type: "item", properties: { title: "Milk", name: 7 } }), { text: "7", isNamed: true });
  assert.deepEqual(nameOf({ type: "item", properties: { title: "" } }), { text: "Unnamed item", isNamed: false });
});

test("values have a type in words", () => {
  assert.deepEqual([null, true, 1.5, "x", [], {}, { $bytes: "AA==" }].map(typeOf),
    ["null", "yes/no", "number", "text", "list", "map", "bytes"]);
  assert.equal(summary({ a: 1 }), '{"a":1}');
});

test("JSON whose numbers JavaScript would change is left as it is", () => {
  assert.equal(pretty('{"a":[1]}'), '{\n  "a": [\n    1\n  ]\n}');
  assert.equal(pretty("[9007199254740993]"), "[9007199254740993]");
  assert.equal(isRounded({ a: [9007199254740993] }), true);
  assert.equal(isRounded({ a: [1, "9007199254740993", null, 1.5] }), false);
  // Exact where the engine tells how a number was written, honest where it does not.
  const isExact = "rawJSON" in JSON;
  assert.equal(summary(exactJSON("9007199254740993")), isExact ? "9007199254740993" : "about 9007199254740992");
  assert.equal(JSON.stringify(exactJSON("[1.5,[7]]")), "[1.5,[7]]");
  assert.equal(typeOf(exactJSON("9007199254740993")), "number");
});
