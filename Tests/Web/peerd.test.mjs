/** The client against a daemon in memory. Run: node --test Tests/Web/ (node 20 or later). */

import assert from "node:assert/strict";
import { afterEach, beforeEach, mock, test } from "node:test";

import { connect, PeerdProblem } from "../../Sources/CWebFiles/web/peerd.js";
import { Daemon, gate, settle } from "./daemon.mjs";

let daemon;
let workspaces;

beforeEach(() => {
  daemon = new Daemon();
  workspaces = [];
  mock.timers.enable({ apis: ["setTimeout", "Date"] });
  mock.method(Math, "random", () => 1);
  mock.method(console, "error", () => {});
});

afterEach(() => {
  for (const workspace of workspaces) workspace.close();
  mock.timers.reset();
  mock.restoreAll();
});

async function online(options = {}) {
  const connecting = connect({
    url: "http://127.0.0.1:8080", WebSocket: daemon.WebSocket, fetch: daemon.fetch, ...options,
  });
  daemon.socket.accept();
  const workspace = await connecting;
  workspaces.push(workspace);
  return workspace;
}

/** Lets the wait for the next attempt pass, and accepts that attempt. */
async function reconnected(workspaceID) {
  await settle();
  mock.timers.tick(20_000);
  daemon.socket.accept(workspaceID);
  await settle();
}

const delta = (id, token, objects = [], more = false, reset = false) =>
  ({ type: "delta", id, token, reset, more, origin: "peer", authors: [], objects });

test("connects to the WebSocket of the page's origin, and is online after the hello", async () => {
  const workspace = await online();
  assert.equal(daemon.socket.url, "ws://127.0.0.1:8080/ws/sync");
  assert.equal(workspace.state, "online");
  assert.equal(workspace.hello.device_name, "desk");
  assert.deepEqual(daemon.socket.sent, []);
});

test("a token goes into the first message, never into the address", async () => {
  await online({ token: "secret" });
  assert.deepEqual(daemon.socket.sent, [{ type: "auth", bearer: "secret" }]);
  assert.ok(!daemon.socket.url.includes("secret"));
});

test("is offline, and says so, if nothing answers; and recovers", async () => {
  const connecting = connect({ url: "http://127.0.0.1:8080", WebSocket: daemon.WebSocket, fetch: daemon.fetch });
  daemon.socket.drop();
  const workspace = await connecting;
  workspaces.push(workspace);
  assert.equal(workspace.state, "offline");
  assert.match(workspace.problem.advice, /peerd run/);
  const states = [];
  workspace.on("state", state => states.push(state));
  await reconnected();
  assert.deepEqual(states, ["online"]);
});

test("rejects with the daemon's problem if the daemon refuses this page", async () => {
  daemon.answer = () => [401, { code: "unauthorized", status: 401, detail: "No token.", advice: "Run peerd open." }];
  const connecting = connect({ url: "http://127.0.0.1:8080", WebSocket: daemon.WebSocket, fetch: daemon.fetch });
  daemon.socket.drop();
  await assert.rejects(connecting, problem => {
    assert.ok(problem instanceof PeerdProblem);
    assert.deepEqual([problem.code, problem.status, problem.advice], ["unauthorized", 401, "Run peerd open."]);
    return true;
  });
  mock.timers.tick(60_000);
  assert.equal(daemon.sockets.length, 1, "nobody holds this workspace, so it must not go on trying");
});

test("a daemon that comes back with other tokens makes the state unauthorized, not offline", async () => {
  const workspace = await online();
  daemon.answer = () => [401, { code: "unauthorized", detail: "No token." }];
  daemon.socket.drop();
  assert.equal(workspace.state, "offline");
  mock.timers.tick(20_000);
  daemon.socket.drop();
  await settle();
  assert.equal(workspace.state, "unauthorized");
});

test("waits longer after each failure, up to a limit, and starts over after a stable connection", async () => {
  const workspace = await online();
  const waits = [];
  for (let attempt = 0; attempt < 9; attempt++) {
    daemon.socket.drop();
    await settle();
    waits.push(workspace.retryAt - Date.now());
    mock.timers.tick(waits.at(-1));
  }
  assert.deepEqual(waits, [250, 500, 1000, 2000, 4000, 8000, 15000, 15000, 15000]);
  daemon.socket.accept();
  mock.timers.tick(10_000);
  daemon.socket.drop();
  assert.equal(workspace.retryAt - Date.now(), 250);
});

test("the wait has jitter", async () => {
  const workspace = await online();
  Math.random.mock.mockImplementation(() => 0);
  daemon.socket.drop();
  assert.equal(workspace.retryAt - Date.now(), 125);
});

test("resumes at the token of the last delta that the callback has handled", async () => {
  const workspace = await online();
  const tokens = [];
  workspace.changes({ subtree: "9f2c" }, received => { tokens.push(received.token); });
  assert.deepEqual(daemon.socket.sent,
    [{ type: "subscribe", scope: { subtree: "9f2c" }, since: null, id: 1, credit: 16 }]);
  daemon.socket.deliver(delta(1, "w1", [], false, true));
  daemon.socket.deliver(delta(1, "w2"));
  await settle();
  daemon.socket.drop();
  await reconnected();
  assert.deepEqual(tokens, ["w1", "w2"]);
  assert.equal(daemon.socket.of("subscribe")[0].since, "w2");
});

test("a state that was cut off is asked for again from its beginning", async () => {
  const workspace = await online();
  workspace.changes({ all: true }, () => {}, { since: "w0" });
  daemon.socket.deliver(delta(1, "w1", [], true, true));
  await settle();
  daemon.socket.drop();
  await reconnected();
  assert.equal(daemon.socket.of("subscribe")[0].since, "w0");
});

test("gives credit only after the callback has ended, and handles one message at a time", async () => {
  const workspace = await online();
  const gates = [gate(), gate()];
  const begun = [];
  workspace.changes({ all: true }, received => {
    begun.push(received.token);
    return gates[begun.length - 1].promise;
  });
  daemon.socket.deliver(delta(1, "w1"));
  daemon.socket.deliver(delta(1, "w2"));
  await settle();
  assert.deepEqual(begun, ["w1"]);
  assert.deepEqual(daemon.socket.of("credit"), []);
  gates[0].open();
  await settle();
  assert.deepEqual(begun, ["w1", "w2"]);
  assert.deepEqual(daemon.socket.of("credit"), [{ type: "credit", id: 1, add: 1 }]);
  gates[1].open();
  await settle();
  assert.equal(daemon.socket.of("credit").length, 2);
});

test("a callback that outlives its connection decides where the next one resumes", async () => {
  const workspace = await online();
  const slow = gate();
  workspace.changes({ all: true }, () => slow.promise);
  daemon.socket.deliver(delta(1, "w1"));
  daemon.socket.deliver(delta(1, "w2"));
  await settle();
  daemon.socket.drop();
  await reconnected();
  assert.deepEqual(daemon.socket.sent, [], "asking now would bring w1 a second time");
  slow.open();
  await settle();
  assert.deepEqual(daemon.socket.sent, [{ type: "subscribe", scope: { all: true }, since: "w1", id: 1, credit: 16 }],
    "no credit for a message of the former connection");
});

test("a callback that throws is reported twice, and the next message still comes", async () => {
  const workspace = await online();
  const errors = [];
  workspace.onerror = error => errors.push(error.message);
  let calls = 0;
  workspace.live({ type: "item" }, () => { if (++calls === 1) throw new Error("drawing failed"); });
  daemon.socket.deliver({ type: "page", id: 1, objects: [], more: false });
  await settle();
  daemon.socket.deliver({ type: "page", id: 1, objects: [], more: false });
  await settle();
  assert.deepEqual(errors, ["drawing failed"]);
  assert.equal(console.error.mock.callCount(), 1);
  assert.equal(calls, 2);
  assert.equal(daemon.socket.of("credit").length, 2);
});

test("an object is called back with its state, and with null when it is gone", async () => {
  const workspace = await online();
  const states = [];
  workspace.object("77aa", object => { states.push(object?.properties.title ?? null); });
  daemon.socket.deliver(delta(1, "w1", [{ id: "77aa", state: { id: "77aa", properties: { title: "Milk" } } }]));
  daemon.socket.deliver(delta(1, "w2", [{ id: "77aa", state: null }]));
  await settle();
  assert.deepEqual(states, ["Milk", null]);
});

test("a stopped subscription is not called again, nor asked for again", async () => {
  const workspace = await online();
  let calls = 0;
  const stop = workspace.live({ type: "item" }, () => { calls++; });
  stop();
  stop();
  daemon.socket.deliver({ type: "page", id: 1, objects: [], more: false });
  await settle();
  assert.equal(calls, 0);
  assert.deepEqual(daemon.socket.of("unsubscribe"), [{ type: "unsubscribe", id: 1 }]);
  daemon.socket.drop();
  await reconnected();
  assert.deepEqual(daemon.socket.sent, []);
});

test("an error ends the subscription with that id, and tells its onerror", async () => {
  const workspace = await online();
  const problems = [];
  workspace.object("beef", () => {}, { onerror: problem => problems.push(problem.code) });
  daemon.socket.deliver({ type: "error", id: 1, problem: { code: "no-such-object", status: 404, detail: "No." } });
  await settle();
  assert.deepEqual(problems, ["no-such-object"]);
  assert.equal(console.error.mock.callCount(), 0);
  daemon.socket.drop();
  await reconnected();
  assert.deepEqual(daemon.socket.sent, []);
});

test("a subscription that the daemon cannot serve now is asked for again", async () => {
  const workspace = await online();
  workspace.live({ type: "item" }, () => {});
  daemon.socket.deliver({ type: "error", id: 1, problem: { code: "unavailable", status: 503, detail: "Busy." } });
  await settle();
  assert.equal(console.error.mock.callCount(), 1);
  mock.timers.tick(1000);
  assert.equal(daemon.socket.of("live").length, 2);
});

test("a write resolves when it is acknowledged", async () => {
  const workspace = await online();
  const writing = workspace.write(t => {
    const list = t.create("list", { key: "groceries" });
    t.create("item", { parent: list, properties: { title: "Milk" } });
    t.set("77aa", { done: true });
    t.unset("77aa", "due", "note");
    t.move("77aa", null, { first: true });
    t.delete("88bb");
  }, { if: { "77aa": "v1" } });
  const [message] = daemon.socket.of("write");
  assert.match(message.id, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  assert.deepEqual(message.if, { "77aa": "v1" });
  assert.deepEqual(message.edits, [
    { create: "list", key: "groceries", properties: {}, as: "$1" },
    { create: "item", parent: "$1", properties: { title: "Milk" }, as: "$2" },
    { set: "77aa", properties: { done: true } },
    { unset: "77aa", names: ["due", "note"] },
    { move: "77aa", parent: null, first: true },
    { delete: "88bb" },
  ]);
  daemon.socket.deliver({ type: "ack", id: message.id, durable: true, created: ["1", "2"], token: "w9" });
  assert.deepEqual(await writing, { created: ["1", "2"], token: "w9" });
});

test("a write rejects with the daemon's problem", async () => {
  const workspace = await online();
  const writing = workspace.write(t => t.move("a", "b"));
  daemon.socket.deliver({
    type: "error", id: daemon.socket.of("write")[0].id,
    problem: { code: "would-close-cycle", status: 422, detail: "b is below a.", advice: "Move b first." },
  });
  await assert.rejects(writing, { code: "would-close-cycle", detail: "b is below a.", advice: "Move b first." });
});

test("unacknowledged writes are sent again, in order and under the same ids", async () => {
  const workspace = await online();
  const done = [1, 2, 3].map(n => workspace.write(t => t.set("77aa", { n })));
  const ids = daemon.socket.of("write").map(message => message.id);
  daemon.socket.deliver({ type: "ack", id: ids[0], durable: true, created: [], token: "w1" });
  await done[0];
  daemon.socket.drop();
  done.push(workspace.write(t => t.set("77aa", { n: 4 })));
  await reconnected();
  const again = daemon.socket.of("write");
  assert.deepEqual(again.map(message => message.edits[0].properties.n), [2, 3, 4]);
  assert.deepEqual(again.slice(0, 2).map(message => message.id), ids.slice(1));
  for (const { id } of again) daemon.socket.deliver({ type: "ack", id, durable: true, created: [], token: "w2" });
  await Promise.all(done);
  assert.equal(workspace.pendingWriteCount, 0);
});

test("a long time offline does not end in one burst, and order is kept", async () => {
  const workspace = await online();
  daemon.socket.drop();
  for (let n = 0; n < 40; n++) workspace.write(t => t.set("77aa", { n })).catch(() => {});
  await reconnected();
  assert.equal(daemon.socket.of("write").length, 32);
  const first = daemon.socket.of("write")[0].id;
  daemon.socket.deliver({ type: "ack", id: first, durable: true, created: [], token: "w" });
  assert.deepEqual(daemon.socket.of("write").map(message => message.edits[0].properties.n),
    Array.from({ length: 33 }, (_, n) => n));
});

test("a write that the daemon cannot read is given up after some connections", async () => {
  const workspace = await online();
  const writing = workspace.write(t => t.set("77aa", { n: 1 }));
  daemon.socket.drop(1009, "too big");
  await reconnected();
  daemon.socket.drop(1009, "too big");
  await reconnected();
  daemon.socket.drop(1009, "too big");
  await assert.rejects(writing, { code: "outcome-unknown" });
});

test("an integer that the daemon cannot hold is refused here, since it would close the connection", async () => {
  const workspace = await online();
  for (const value of [2n ** 64n, 2n ** 63n, -(2n ** 63n) - 1n]) {
    const problem = { code: "invalid", message: /has more than 64 bits/ };
    await assert.rejects(workspace.write(t => t.set("a", { number: value })), problem);
    await assert.rejects(workspace.fetch("/api/transactions", { method: "POST", json: { value } }), problem);
    await assert.rejects(workspace.list({ where: { number: value } }), problem);
    assert.throws(() => workspace.live({ where: { number: value } }, () => {}), problem);
  }
  assert.deepEqual(daemon.socket.sent, []);
  const writing = workspace.write(t => t.set("a", { number: 1 }));
  assert.equal(daemon.socket.sent.length, 1);
  daemon.socket.deliver({ type: "ack", id: daemon.socket.sent[0].id, durable: true, created: [], token: "w1" });
  assert.deepEqual(await writing, { created: [], token: "w1" });
});

test("a write that is too large is refused here, since it would close the connection", async () => {
  const workspace = await online();
  await assert.rejects(workspace.write(t => t.set("77aa", { text: "é".repeat(3 * 1024 * 1024) })),
    { code: "too-large" });
  assert.deepEqual(daemon.socket.sent, []);
});

test("an async closure is refused: its edits would come too late", async () => {
  const workspace = await online();
  await assert.rejects(workspace.write(async t => t.set("77aa", { n: 1 })), TypeError);
  assert.deepEqual(daemon.socket.sent, []);
});

test("writes and positions never reach another workspace at the same address", async () => {
  const workspace = await online();
  workspace.changes({ all: true }, () => {});
  daemon.socket.deliver(delta(1, "w1"));
  await settle();
  const sent = workspace.write(t => t.set("77aa", { n: 1 }));
  daemon.socket.drop();
  const unsent = workspace.write(t => t.set("77aa", { n: 2 }));
  const outcomes = Promise.allSettled([sent, unsent]);
  await reconnected("another");
  assert.deepEqual((await outcomes).map(outcome => outcome.reason.code), ["outcome-unknown", "other-workspace"]);
  assert.equal(daemon.socket.of("write").length, 0);
  assert.equal(daemon.socket.of("subscribe")[0].since, null);
});

test("pings, and gives up a connection that does not answer", async () => {
  const workspace = await online();
  mock.timers.tick(15_000);
  assert.equal(daemon.socket.of("ping").length, 1);
  daemon.socket.deliver({ type: "pong" });
  mock.timers.tick(15_000);
  assert.equal(daemon.socket.of("ping").length, 2);
  assert.equal(workspace.state, "online");
  const silent = daemon.socket;
  mock.timers.tick(10_000);
  assert.equal(workspace.state, "offline");
  assert.equal(silent.readyState, 3);
  silent.deliver({ type: "hello", workspace: "w" });
  assert.equal(workspace.state, "offline", "a socket that was given up must not count any more");
});

test("messages and members of a newer daemon are ignored", async () => {
  const workspace = await online();
  daemon.socket.deliver({ type: "weather", id: 1 });
  daemon.socket.deliver({ ...delta(99, "w1"), extra: true });
  await settle();
  assert.equal(workspace.state, "online");
  assert.equal(console.error.mock.callCount(), 0);
});

test("close ends writes: closed if they were never sent, else of unknown outcome", async () => {
  const workspace = await online();
  const sent = workspace.write(t => t.set("77aa", { n: 1 }));
  daemon.socket.drop();
  const unsent = workspace.write(t => t.set("77aa", { n: 2 }));
  const outcomes = Promise.allSettled([sent, unsent]);
  workspace.close();
  assert.deepEqual((await outcomes).map(outcome => outcome.reason.code), ["outcome-unknown", "closed"]);
  mock.timers.tick(60_000);
  assert.equal(daemon.sockets.length, 1);
  await assert.rejects(workspace.write(t => t.delete("77aa")), { code: "closed" });
});

test("aborts a write that was not sent", async () => {
  const workspace = await online();
  daemon.socket.drop();
  const controller = new AbortController();
  const writing = workspace.write(t => t.delete("77aa"), { signal: controller.signal });
  controller.abort();
  await assert.rejects(writing, { code: "aborted" });
});

test("asks by HTTP, and turns problem documents into problems", async () => {
  const workspace = await online();
  const asked = [];
  daemon.answer = url => {
    asked.push(url.pathname + url.search);
    return url.pathname.endsWith("/count") ? [200, { count: 3 }] : [404, { code: "no-such-object", detail: "No." }];
  };
  assert.equal(await workspace.count({ type: "item", parent: null, where: { done: false } }), 3);
  await assert.rejects(workspace.get("a/b"), { code: "no-such-object", status: 404 });
  assert.equal(await workspace.count({ where: { done: false, title: "a&b", missing: undefined } }), 3);
  assert.deepEqual(asked, [
    "/api/objects/count?type=item&parent=root&property=done&value=false", "/api/objects/a%2Fb",
    "/api/objects/count?property=done&value=false&property=title&value=%22a%26b%22",
  ]);
  daemon.answer = () => { throw new TypeError("fetch failed"); };
  await assert.rejects(workspace.conflicts(), { code: "offline" });
});

/** Has the daemon answer everything with `body`, and collects what it was asked: [method, path, JSON of the body]. */
function recorded(body) {
  const asked = [];
  daemon.answer = (url, request) => {
    asked.push([request.method, decodeURIComponent(url.pathname + url.search), request.body && JSON.parse(request.body)]);
    return [200, body];
  };
  return asked;
}

test("reads the past by a moment of the history, by a date, and by a time in words", async () => {
  const workspace = await online();
  const asked = recorded({ objects: [], next: null, count: 4 });
  const past = workspace.at("r-5-1");
  await past.get("77aa");
  await past.children();
  await past.children("77aa", { limit: 2, after: null });
  await past.tree("77aa", { depth: 1 });
  await past.property("77aa", "a/b");
  await past.list({ type: "item", parent: null, where: { done: true } });
  assert.equal(await workspace.at(new Date(0)).count({ type: "item" }), 4);
  assert.equal(workspace.at("2 days ago").moment, "2 days ago");
  assert.deepEqual(asked.map(([, path]) => path), [
    "/api/objects/77aa?at=r-5-1", "/api/children?at=r-5-1", "/api/objects/77aa/children?limit=2&at=r-5-1",
    "/api/objects/77aa/tree?depth=1&at=r-5-1", "/api/objects/77aa/properties/a/b?at=r-5-1",
    "/api/objects?type=item&parent=root&property=done&value=true&at=r-5-1",
    "/api/objects/count?type=item&at=1970-01-01T00:00:00.000Z",
  ]);
  assert.ok(asked.every(([method]) => method === "GET"));
});

test("reads the history of an object or a property, and what differs between two moments", async () => {
  const workspace = await online();
  const asked = recorded({ objects: [{ id: "77aa" }], entries: [], next: null });
  await workspace.history("77aa");
  await workspace.history("77aa", { property: "a&b", limit: 2, after: "c-1" });
  assert.deepEqual(await workspace.diff("r-5-1"), [{ id: "77aa" }]);
  await workspace.diff(new Date(0), "r-5-1", { under: "77aa" });
  assert.deepEqual(asked.map(([, path]) => path), [
    "/api/objects/77aa/history", "/api/objects/77aa/history?property=a&b&limit=2&after=c-1",
    "/api/diff?from=r-5-1", "/api/diff?from=1970-01-01T00:00:00.000Z&to=r-5-1&under=77aa",
  ]);
});

test("restores, takes back and does again by requests with JSON", async () => {
  const workspace = await online();
  const asked = recorded({ actions: [{ kept: [] }], object: "77aa" });
  assert.equal((await workspace.restore("77aa", { at: new Date(0) })).object, "77aa");
  await workspace.restore("77aa", { at: "r-5-1", property: "title" });
  assert.deepEqual(await workspace.undo(), [{ kept: [] }]);
  await workspace.undo(3);
  await workspace.redo();
  await workspace.undo(1, { device: "all", program: "notes" });
  await workspace.branch("b1").redo(2, { allPrograms: true });
  assert.deepEqual(asked, [
    ["POST", "/api/objects/77aa/restore", { at: "1970-01-01T00:00:00.000Z" }],
    ["POST", "/api/objects/77aa/restore", { at: "r-5-1", property: "title" }],
    ["POST", "/api/undo", { count: 1 }], ["POST", "/api/undo", { count: 3 }], ["POST", "/api/redo", { count: 1 }],
    ["POST", "/api/undo", { count: 1, device: "all", program: "notes" }],
    ["POST", "/api/redo?branch=b1", { count: 2, all_programs: true }],
  ]);
});

test("lists, makes, compares, merges and deletes branches by requests with JSON", async () => {
  const workspace = await online();
  const asked = recorded({ branches: [{ id: "b1" }], objects: [], conflicts: [{ object: "77aa" }], merged: true });
  assert.deepEqual(await workspace.branches(), [{ id: "b1" }]);
  await workspace.createBranch("a & b");
  await workspace.createBranch("c", { parent: "b1", at: new Date(0) });
  const branch = workspace.branch("b1");
  assert.equal(branch.moment, "branch:b1");
  await branch.get("77aa");
  await branch.diff();
  await branch.diff("b2");
  assert.deepEqual(await branch.conflicts(), [{ object: "77aa" }]);
  await branch.conflicts({ into: "b2" });
  assert.equal((await branch.merge()).merged, true);
  await branch.merge({ into: "b2" });
  await branch.update();
  await branch.delete();
  await branch.delete({ discard: 3 });
  assert.deepEqual(asked, [
    ["GET", "/api/branches", undefined],
    ["POST", "/api/branches", { name: "a & b" }],
    ["POST", "/api/branches", { name: "c", parent: "b1", at: "1970-01-01T00:00:00.000Z" }],
    ["GET", "/api/objects/77aa?at=branch:b1", undefined],
    ["GET", "/api/diff?from=branch:b1", undefined],
    ["GET", "/api/diff?from=branch:b1&to=branch:b2", undefined],
    ["GET", "/api/branches/b1/conflicts", undefined],
    ["GET", "/api/branches/b1/conflicts?into=b2", undefined],
    ["POST", "/api/branches/b1/merge", {}], ["POST", "/api/branches/b1/merge", { into: "b2" }],
    ["POST", "/api/branches/main/merge", { into: "b1" }],
    ["DELETE", "/api/branches/b1?discard=0", undefined], ["DELETE", "/api/branches/b1?discard=3", undefined],
  ]);
});

test("shares, hides and adopts by requests with JSON", async () => {
  const workspace = await online();
  const asked = recorded({ users: [{ id: "ab" }], shares: [{ object: "77aa" }], edits: [], adopted: 2 });
  assert.deepEqual(await workspace.users(), [{ id: "ab" }]);
  assert.deepEqual(await workspace.shares(), [{ object: "77aa" }]);
  await workspace.access("77aa");
  await workspace.share("77aa", "ann & bob");
  await workspace.share("77aa", "ann", "write", { only: ["done"] });
  await workspace.share("77aa", "ann", "read", { property: "a/b" });
  await workspace.unshare("77aa", "ann");
  await workspace.unshare("77aa", "ann", { property: "a/b" });
  await workspace.hide("77aa", "salary");
  await workspace.unhide("77aa", "salary");
  await workspace.rejected();
  await workspace.rejected({ user: "ann", limit: 2, after: "0-1" });
  assert.equal((await workspace.adopt("5b1f:17")).adopted, 2);
  assert.deepEqual(asked, [
    ["GET", "/api/users", undefined], ["GET", "/api/access", undefined], ["GET", "/api/objects/77aa/access", undefined],
    ["PUT", "/api/objects/77aa/access/ann & bob", { role: "read" }],
    ["PUT", "/api/objects/77aa/access/ann", { role: "write", properties: ["done"] }],
    ["PUT", "/api/objects/77aa/hidden/a/b/access/ann", { role: "read" }],
    ["DELETE", "/api/objects/77aa/access/ann", undefined],
    ["DELETE", "/api/objects/77aa/hidden/a/b/access/ann", undefined],
    ["PUT", "/api/objects/77aa/hidden/salary", undefined], ["DELETE", "/api/objects/77aa/hidden/salary", undefined],
    ["GET", "/api/rejected", undefined], ["GET", "/api/rejected?user=ann&limit=2&after=0-1", undefined],
    ["POST", "/api/adopt", { change: "5b1f:17" }],
  ]);
});

test("a write on a branch is sent again under its id while the daemon is away", async () => {
  const workspace = await online();
  const sent = [];
  daemon.answer = (url, request) => {
    sent.push([url.pathname + url.search, request.body]);
    if (sent.length < 3) throw new TypeError("fetch failed");
    return [200, { created: ["77aa"] }];
  };
  const written = workspace.branch("b1").write(t => t.create("item", { properties: { n: 1 } }), { if: { "88": "v" } });
  for (let step = 0; step < 4; step++) {
    await settle();
    mock.timers.tick(1000);
  }
  assert.deepEqual(await written, { created: ["77aa"] });
  assert.equal(sent.length, 3);
  assert.equal(new Set(sent.map(String)).size, 1);
  assert.equal(sent[0][0], "/api/transactions?branch=b1");
  const { id, ...body } = JSON.parse(sent[0][1]);
  assert.match(id, /^[0-9a-f-]{36}$/);
  assert.deepEqual(body, { edits: [{ create: "item", properties: { n: 1 }, as: "$1" }], if: { "88": "v" } });
});

test("a write on a branch that the daemon refuses, that is aborted, or whose page closes is not sent again", async () => {
  const workspace = await online();
  const branch = workspace.branch("b1");
  let count = 0;
  daemon.answer = () => [404, { code: "no-such-branch", detail: "x", ...(count++, {}) }];
  await assert.rejects(branch.write(t => t.delete("77aa")), { code: "no-such-branch" });
  assert.equal(count, 1);
  await assert.rejects(branch.write(async () => {}), TypeError);
  daemon.answer = () => {
    count++;
    throw new TypeError("fetch failed");
  };
  await assert.rejects(branch.write(t => t.delete("77aa"), { signal: AbortSignal.abort() }), { code: "aborted" });
  workspace.close();
  await assert.rejects(branch.write(t => t.delete("77aa")), { code: "closed" });
  assert.equal(count, 2);
});
