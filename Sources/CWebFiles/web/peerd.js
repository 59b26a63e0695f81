/**
 * peerd.js: a workspace of peerd in a web page, live. No dependencies, no build step, no DOM.
 *
 *     import { connect } from "/peerd.js";
 *     const workspace = await connect();
 *     workspace.live({ type: "item" }, items => draw(items));
 *     workspace.write(t => t.set(id, { done: true }));
 *
 * All changes travel over one WebSocket. After a lost connection the client reconnects by itself, resumes each
 * subscription at the last token that its callback has handled, and sends unacknowledged writes again under the same
 * id: the daemon applies none twice, even if it was killed between applying a write and acknowledging it.
 */

/** The largest message that the daemon reads. A longer one would close the connection each time it is sent again. */
const PROGRAM_BYTES_MAX = 64;
const MESSAGE_BYTES_MAX = 4 * 1024 * 1024;
/** Writes on their way at once. Further ones wait in order, so a long time offline does not end in one burst. */
const WRITES_IN_FLIGHT_MAX = 32;
const RETRY_FIRST_MS = 250;
const RETRY_MAX_MS = 15_000;
/** A connection that lived this long ends the backoff; one that breaks at once must not be retried at once. */
const STABLE_MS = 3_000;
const PING_EVERY_MS = 15_000;
/** Silence after a ping for this long means that the connection is dead, whatever the network stack believes. */
const PONG_WITHIN_MS = 10_000;
const HELLO_WITHIN_MS = 10_000;
/** Close codes by which the daemon refuses a message itself. Sending it for ever would never help. */
const REFUSAL_CLOSE_CODES = new Set([1002, 1003, 1007, 1009]);
const REFUSALS_MAX = 3;

/**
 * What went wrong, what to do about it, and a code for programs.
 *
 * Codes of the daemon are those of its HTTP API ("no-such-object", "version-changed", …). Codes of this module:
 * "offline", "closed", "aborted", "outcome-unknown", "other-workspace", "too-large".
 */
export class PeerdProblem extends Error {
  /**
   * @param {{code: string, detail?: string, title?: string, advice?: string|null, status?: number,
   *   decision?: object|null}} members
   */
  constructor(members, options) {
    const detail = members.detail || members.title || members.code;
    super(members.advice ? `${detail} ${members.advice}` : detail, options);
    this.name = "PeerdProblem";
    this.code = members.code;
    this.title = members.title ?? detail;
    this.detail = detail;
    this.advice = members.advice ?? null;
    this.status = members.status ?? 0;
    this.decision = members.decision ?? null;
  }
}

/**
 * Connects to the daemon that served this page, or to `url`.
 *
 * Resolves when the daemon has answered, and also when it cannot be reached: the workspace is then offline and goes on
 * trying. Rejects if the daemon refuses this page (unauthorized, forbidden, misdirected).
 *
 * `program`: the name under which it writes, in at most 64 bytes; its `undo` takes back what was written under it. By
 * default that is the folder of the page.
 */
export async function connect(options = {}) {
  const workspace = new Workspace(options);
  try {
    await workspace.firstAttempt;
  } catch (problem) {
    workspace.close();
    throw problem;
  }
  return workspace;
}

/** The edits of one transaction, in the order of the calls. */
class Transaction {
  edits = [];
  #names = 0;

  /**
   * Creates an object.
   *
   * Returns a name that stands for the new object in the rest of this transaction, as in
   * `t.create("item", { parent: t.create("list") })`. The real ids are in `created` of the finished write.
   */
  create(type, { kind, parent, key, before, first, properties } = {}) {
    const as = `$${++this.#names}`;
    this.edits.push(compact({ create: type, kind, parent, key, before, first, properties: properties ?? {}, as }));
    return as;
  }

  /** Writes properties; others stay. A value is any JSON value; null is a value, too. */
  set(id, properties) {
    this.edits.push({ set: id, properties });
  }

  /** Removes properties. */
  unset(id, ...names) {
    this.edits.push({ unset: id, names: names.flat() });
  }

  /** Moves an object below another, or to the root (null): last, first, or before a sibling. */
  move(id, parent, { before, first } = {}) {
    this.edits.push(compact({ move: id, parent: parent ?? null, before, first }));
  }

  /** Deletes an object and everything below it. */
  delete(id) {
    this.edits.push({ delete: id });
  }
}

/** One subscription: what to ask for after each connect, and the messages that wait for the callback. */
class Subscription {
  #queue = [];
  #isHandling = false;
  #startsAfterHandling = false;
  #problem = null;

  /** `request` returns the first message; it is called after each connect, since the token changes. */
  constructor(id, { request, credit, handle, forget, fail, send, report }) {
    Object.assign(this, { id, request, credit, handle, forget, fail, send, report, isStopped: false, retries: 0 });
  }

  /**
   * Asks the daemon.
   *
   * While a callback of the former connection runs, this waits for it: its token decides where to resume.
   */
  start() {
    this.#startsAfterHandling = this.#isHandling;
    if (!this.#isHandling) this.send({ ...this.request(), id: this.id, credit: this.credit });
  }

  /** What came over a connection that is gone comes again after the resume. */
  disconnected() {
    this.#queue = [];
    this.#problem = null;
    this.#startsAfterHandling = false;
  }

  received(message) {
    this.#queue.push(message);
    this.#drain();
  }

  /** The daemon has ended this subscription. What it sent before is handled first. */
  failed(problem) {
    this.#problem = problem;
    this.#drain();
  }

  async #drain() {
    if (this.#isHandling) return;
    this.#isHandling = true;
    while (this.#queue.length > 0 && !this.isStopped) {
      const message = this.#queue.shift();
      try {
        await this.handle(message);
      } catch (error) {
        this.report(error);
      }
      // Credit only now: a slow callback slows the daemon down, which then sends one net change instead of many.
      if (!this.isStopped && !this.#startsAfterHandling) this.send({ type: "credit", id: this.id, add: 1 });
      this.retries = 0;
    }
    this.#isHandling = false;
    if (this.isStopped) return;
    if (this.#startsAfterHandling) {
      this.#startsAfterHandling = false;
      this.start();
    } else if (this.#problem) {
      const problem = this.#problem;
      this.#problem = null;
      this.fail(problem, this);
    }
  }
}

/** A connected workspace; `connect` makes one. */
class Workspace {
  #options;
  #url;
  #program;
  #socket = null;
  #state = "connecting";
  #problem = null;
  #hello = null;
  #attempts = 0;
  #retryAt = null;
  #timers = new Map();
  #subscriptions = new Map();
  #nextSubscription = 1;
  /** Unacknowledged writes by id, in the order in which they were made. */
  #writes = new Map();
  #listeners = { state: new Set(), error: new Set() };
  #rejections = new WeakSet();
  #settleFirstAttempt = null;
  #globalEvents = [];

  constructor(options) {
    this.#options = options;
    this.#url = new URL(options.url ?? globalThis.location?.origin ?? "http://127.0.0.1:8080");
    this.#program = options.program ?? programOfPage();
    /** Called with each error that nobody else handles; `on("error", …)` adds further listeners. */
    this.onerror = options.onerror ?? null;
    this.firstAttempt = new Promise((resolve, reject) => { this.#settleFirstAttempt = { resolve, reject }; });
    // Nobody awaits it after `connect` has returned.
    this.firstAttempt.catch(() => {});
    this.#observeGlobal("online", () => this.reconnect());
    this.#observeGlobal("focus", () => this.reconnect());
    this.#observeGlobal("unhandledrejection", event => {
      // The browser itself writes it to the console.
      if (this.#rejections.has(event.reason)) this.#tell("error", event.reason);
    });
    this.#open();
  }

  /** "connecting" (first attempt), "online", "offline", "unauthorized" or "closed". */
  get state() { return this.#state; }
  /** Why the workspace is not online, as a PeerdProblem, or null. */
  get problem() { return this.#problem; }
  /** When the next attempt to reconnect begins, in milliseconds since 1970, or null. */
  get retryAt() { return this.#retryAt; }
  /** What the daemon said of itself: version, workspace, device_name; null before the first answer. */
  get hello() { return this.#hello; }
  /** Writes that are not yet durable. They live in this page alone: warn before it is closed. */
  get pendingWriteCount() { return this.#writes.size; }

  /** Calls back at each change of "state", or with each "error"; returns a function that ends that. */
  on(event, callback) {
    const listeners = this.#listeners[event];
    if (!listeners) throw new TypeError(`There is no event "${event}"; there are "state" and "error".`);
    listeners.add(callback);
    return () => listeners.delete(callback);
  }

  /**
   * Calls back with the objects of a query, now and after each change: `callback(objects, { more })`.
   *
   * @returns a function that ends it
   */
  live(query, callback, { limit = 1000, onerror } = {}) {
    // One page in flight: by the time a slow callback has ended, only the newest page is worth having.
    return this.#subscribe({
      request: () => ({ type: "live", query, limit }),
      credit: 1,
      onerror,
      handle: page => callback(page.objects, { more: page.more === true }),
    });
  }

  /** Calls back with an object, now and after each change; with null once it is deleted. */
  object(id, callback, { onerror } = {}) {
    return this.changes({ object: id }, delta => {
      const last = delta.objects.at(-1);
      if (last || (delta.reset && !delta.more)) return callback(last?.state ?? null, delta);
    }, { onerror });
  }

  /**
   * Calls back with each delta of a scope: `{ object }`, `{ subtree }`, `{ query }` or `{ all: true }`.
   *
   * Without `since` the first deltas are the whole state (`reset`). `since: token` resumes: store `delta.token` when
   * `delta.more` is false. `since: "now"` leaves the state out.
   */
  changes(scope, callback, { since = null, credit = 16, onerror } = {}) {
    const position = { token: since };
    return this.#subscribe({
      request: () => ({ type: "subscribe", scope, since: position.token }),
      credit,
      onerror,
      forget: () => { position.token = null; },
      handle: async delta => {
        try {
          await callback(delta);
        } finally {
          // A state of several deltas counts when it is complete; the token before it begins it again.
          if (!delta.more) position.token = delta.token;
        }
      },
    });
  }

  /** Calls back with the daemon's status and its peers, now and when they change: `callback(status, peers)`. */
  status(callback, { onerror } = {}) {
    return this.#subscribe({
      request: () => ({ type: "watch", what: "status" }),
      credit: 1,
      onerror,
      handle: message => callback(message.status, message.status.peers),
    });
  }

  /**
   * Writes one transaction; resolves with `{ created, token }` when it is durable.
   *
   * `compose` gets a transaction and must not be async. All its edits count, or none. Offline, the write waits for the
   * connection. Rejects with a PeerdProblem; nothing was written then, unless its code is "outcome-unknown".
   *
   * Writes with the same `action`, a name that the page makes up, are one action: `undo` takes them back in one, as what
   * was written while something was dragged.
   *
   * @param {{if?: object, action?: string, signal?: AbortSignal}} options `if`: versions that objects must still have,
   *   by id
   */
  write(compose, options = {}) {
    return new Promise((resolve, reject) => {
      const refuse = problem => {
        if (problem instanceof PeerdProblem) this.#rejections.add(problem);
        reject(problem);
      };
      const transaction = new Transaction();
      try {
        if (compose(transaction) instanceof Promise) {
          throw new TypeError("The closure of write() must not be async: collect what it needs before.");
        }
        if (this.#state === "closed") throw closedProblem();
        options.signal?.throwIfAborted();
      } catch (error) {
        return refuse(error);
      }
      const id = uuid();
      const { action, if: conditions } = options;
      const message = compact({
        type: "write", id, edits: transaction.edits, if: conditions, program: this.#program, action,
      });
      let text;
      try {
        text = JSON.stringify(message);
      } catch (error) {
        return refuse(error);
      }
      if (new TextEncoder().encode(text).length > MESSAGE_BYTES_MAX) {
        return refuse(new PeerdProblem({
          code: "too-large", status: 413, detail: "This write is larger than 4 MiB. Nothing was written.",
          advice: "Split it into several writes, or store large data as a file (PUT /api/file/PATH).",
        }));
      }
      this.#writes.set(id, { id, text, resolve, reject: refuse, isSent: false, refusals: 0 });
      options.signal?.addEventListener("abort", () => this.#abort(id), { once: true });
      this.#sendWrites();
    });
  }

  /** An object by its id. */
  get(id) { return this.fetch(objectPath(id)); }

  /** A page of objects: `{ objects, next }`; pass `next` as `after`. */
  async list(query = {}) { return this.fetch(`/api/objects${search(listParameters(query))}`); }

  /** The number of objects of a query. */
  async count(query = {}) { return (await this.fetch(`/api/objects/count${search(listParameters(query))}`)).count; }

  /** A page of the children of an object, or of the root (null). */
  children(id = null, page = {}) {
    return this.fetch(`${id === null ? "/api/children" : `${objectPath(id)}/children`}${search(page)}`);
  }

  /** A page of everything below an object, or of the whole tree (null), depth first. */
  tree(id = null, page = {}) {
    return this.fetch(`${id === null ? "/api/tree" : `${objectPath(id)}/tree`}${search(page)}`);
  }

  /** A page of the log of an object, or of the workspace (null). */
  log(id = null, page = {}) {
    return this.fetch(`${id === null ? "/api/log" : `${objectPath(id)}/log`}${search(page)}`);
  }

  /** A page of values and moves that lost against concurrent ones: of an object, or of the workspace (null). */
  conflicts(id = null, page = {}) {
    return this.fetch(`${id === null ? "/api/conflicts" : `${objectPath(id)}/conflicts`}${search(page)}`);
  }

  /**
   * Ends a conflict: `content` becomes the latest word. It is `{ version }`, the id of a version of the conflict, or a
   * content of the caller's own: `{ value }`, `{ removed: true }` or `{ parent }`.
   *
   * The id is exact where JavaScript is not: integers above 2^53 are rounded when they are read.
   */
  resolve(conflict, content) {
    return this.fetch("/api/conflicts/resolve", {
      method: "POST",
      json: {
        object: conflict.object, property: conflict.property,
        winner: conflict.winner?.id ?? null, losers: conflict.losers.map(version => version.id), content,
      },
    });
  }

  /** The moment that shows exactly what is here now, whatever arrives later. */
  async moment() { return (await this.fetch("/api/moment")).moment; }

  /**
   * The workspace as it was at a moment: a time (a Date, ISO 8601, "2 days ago"), or a `moment` of the history.
   *
   * The result has `get`, `list`, `count`, `children`, `tree` and `property`. It reads when it is asked, and changes
   * nothing.
   */
  at(moment) { return new Past(this, moment); }

  /**
   * A page of the history of an object, the latest edit first: `{ entries, next }`; pass `next` as `after`.
   *
   * Each entry says who edited what, and when; what that `replaced`; and the `moment` right after it. With a `property`
   * these are the edits of that property alone.
   */
  history(id, { property, limit, after } = {}) {
    return this.fetch(`${objectPath(id)}/history${search({ property, limit, after })}`);
  }

  /** The objects that differ between two moments (`to`: now), all of them, or those below one. */
  async diff(from, to, { under } = {}) {
    const parameters = { from: momentText(from), to: to && momentText(to), under };
    return (await this.fetch(`/api/diff${search(parameters)}`)).objects;
  }

  /**
   * Makes an object, with all that was below it, what it was at a moment; or one property of it alone.
   *
   * These are new edits: nothing of the history is lost, and `undo` takes them back.
   */
  restore(id, { at, property } = {}) { return restore(this, id, at, property); }

  /**
   * Takes back the last actions that the program of this page has done on this machine.
   *
   * Resolves with these actions, the latest first: none if nothing is left. What somebody has edited since stays as it
   * is; `kept` of an action names it. `of`: whose actions instead, with `device` (an id, a name, or "all"), `program` (a
   * name) or `allPrograms`.
   */
  undo(count = 1, of = {}) { return reverse(this, "undo", count, of); }

  /** Does actions again that `undo` took back, the last of them first. */
  redo(count = 1, of = {}) { return reverse(this, "redo", count, of); }

  /** The branches that are not deleted, in the order of their names. */
  async branches() { return (await this.fetch("/api/branches")).branches; }

  /**
   * Creates a branch: with what is here now, or what was at a moment; of the main timeline, or of the branch `parent`.
   *
   * Edits on a branch show nowhere else until it is merged.
   */
  createBranch(name, { parent, at } = {}) {
    const json = compact({ name, parent, at: at && momentText(at) });
    return this.fetch("/api/branches", { method: "POST", json });
  }

  /**
   * A branch by its id or name: it reads as `at` does, and has `write`, `undo`, `redo`, `restore`, `diff`, `conflicts`,
   * `merge`, `update` and `delete`. A name may come to mean two branches, an id never does.
   */
  branch(id) { return new Branch(this, id); }

  /** The people of the workspace: `{ id, name, is_you, is_founder }`. */
  async users() { return (await this.fetch("/api/users")).users; }

  /** Who may do what with an object, and what is hidden of it: `{ object, shared, access, hidden, copies, has_ended }`. */
  access(id) { return this.fetch(`${objectPath(id)}/access`); }

  /** The same of each object that is shared. */
  async shares() { return (await this.fetch("/api/access")).shares; }

  /**
   * Lets a person, by name or id, "read", "write" or "manage" an object with all that is below it; resolves with who
   * has access then.
   *
   * `only`: with "write", the properties that the person may set, and nothing else. `property`: it is about that hidden
   * property of the object, which the person reads already.
   */
  share(id, user, role = "read", { only, property } = {}) {
    return this.fetch(accessPath(id, user, property), { method: "PUT", json: compact({ role, properties: only }) });
  }

  /** Takes from a person what he may do with an object, or with a hidden `property` of it. He keeps what he was sent. */
  unshare(id, user, { property } = {}) { return this.fetch(accessPath(id, user, property), { method: "DELETE" }); }

  /** Keeps a property of an object of one's own from all others who read the object. What was sent before they keep. */
  hide(id, property) { return this.fetch(hiddenPath(id, property), { method: "PUT" }); }

  /** Shows a property again to all who read its object. */
  unhide(id, property) { return this.fetch(hiddenPath(id, property), { method: "DELETE" }); }

  /**
   * A page of edits that count nowhere, because their authors had no right to make them: `{ edits, next }`; pass `next`
   * as `after`. `user`: only what this person wrote.
   */
  rejected({ user, limit, after } = {}) { return this.fetch(`/api/rejected${search({ user, limit, after })}`); }

  /** Makes edits of one's own of what was rejected of a transaction (`change` of any of its edits): `{ adopted }`. */
  adopt(change) { return this.fetch("/api/adopt", { method: "POST", json: { change } }); }

  /** Syncs with the peers now, and reports when that has ended. */
  sync({ timeoutMs = 30_000 } = {}) {
    return this.fetch("/api/sync", { method: "POST", json: { timeout_ms: timeoutMs } });
  }

  /** Asks the daemon by HTTP; resolves with the JSON of the answer (null if it is empty), or with its text. */
  async fetch(path, { method = "GET", json, headers = {}, as = "json", ...rest } = {}) {
    const own = { Accept: "application/json", "Peerd-Program": encodeURIComponent(this.#program) };
    const request = { method, headers: { ...own, ...headers }, ...rest };
    if (json !== undefined) {
      request.body = JSON.stringify(json);
      request.headers["Content-Type"] = "application/json";
    }
    const token = this.#options.token;
    if (token) request.headers.Authorization = `Bearer ${token}`;
    let response;
    let text;
    try {
      response = await (this.#options.fetch ?? globalThis.fetch)(new URL(path, this.#url).href, request);
      text = await response.text();
    } catch (cause) {
      throw this.#owned(rest.signal?.aborted ? abortedProblem() : offlineProblem(cause));
    }
    if (!response.ok) throw this.#owned(problemOf(response, text));
    if (as === "text") return text;
    return text === "" ? null : parseJSON(text);
  }

  /** Tries to reconnect now instead of at `retryAt`. */
  reconnect() { if (this.#timers.has("retry")) this.#open(); }

  /** Ends everything. Writes that are not acknowledged reject: "closed", or "outcome-unknown" if they were sent. */
  close() {
    if (this.#state === "closed") return;
    const socket = this.#socket;
    this.#socket = null;
    for (const name of [...this.#timers.keys()]) this.#clearTimer(name);
    for (const [name, listener] of this.#globalEvents) globalThis.removeEventListener?.(name, listener);
    for (const subscription of this.#subscriptions.values()) subscription.isStopped = true;
    this.#subscriptions.clear();
    socket?.close(1000);
    this.#setState("closed", closedProblem());
    for (const write of this.#writes.values()) write.reject(write.isSent ? unknownOutcome() : closedProblem());
    this.#writes.clear();
    this.#settleFirstAttempt.reject(closedProblem());
  }

  #open() {
    this.#clearTimer("retry");
    this.#retryAt = null;
    const address = new URL("/ws/sync", this.#url);
    address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
    const socket = new (this.#options.WebSocket ?? globalThis.WebSocket)(address.href);
    this.#socket = socket;
    // A socket that was given up may still speak; it must not be taken for its successor.
    const ifCurrent = handler => event => { if (socket === this.#socket) handler(event); };
    socket.onopen = ifCurrent(() => {
      if (this.#options.token) socket.send(JSON.stringify({ type: "auth", bearer: this.#options.token }));
    });
    socket.onmessage = ifCurrent(event => this.#received(event.data));
    socket.onclose = ifCurrent(event => this.#lost(event));
    // A close event follows and says the same.
    socket.onerror = () => {};
    this.#setTimer("silence", HELLO_WITHIN_MS, () => this.#giveUp());
  }

  /** Treats a connection as lost without waiting for its close handshake, which a dead peer never ends. */
  #giveUp() {
    const socket = this.#socket;
    this.#lost({ code: 1006, reason: "" });
    socket?.close();
  }

  #received(data) {
    this.#clearTimer("silence");
    let message;
    try {
      message = parseJSON(data);
    } catch (cause) {
      return this.#report(new PeerdProblem({ code: "bad-message", detail: "The daemon sent no JSON." }, { cause }));
    }
    switch (message.type) {
    case "hello": return this.#greeted(message);
    case "delta": case "page": case "status": return this.#subscriptions.get(message.id)?.received(message);
    case "ack": return this.#acknowledged(message);
    case "error": return this.#refused(message);
    default: // "pong", and whatever a newer daemon says to newer clients
    }
  }

  #greeted(hello) {
    const former = this.#hello;
    this.#hello = hello;
    if (former && former.workspace !== hello.workspace) this.#workspaceChanged();
    this.#setTimer("stable", STABLE_MS, () => { this.#attempts = 0; });
    this.#schedulePing();
    this.#setState("online", null);
    for (const subscription of [...this.#subscriptions.values()]) subscription.start();
    this.#sendWrites();
    this.#settleFirstAttempt.resolve();
  }

  /** Another workspace answers at the same address: what was meant for the former must not reach it. */
  #workspaceChanged() {
    for (const subscription of this.#subscriptions.values()) subscription.forget?.();
    const writes = [...this.#writes.values()];
    this.#writes.clear();
    for (const write of writes) {
      write.reject(write.isSent ? unknownOutcome() : new PeerdProblem({
        code: "other-workspace", detail: "Another workspace is served at this address now. Nothing was written.",
        advice: "Reload the page.",
      }));
    }
  }

  #schedulePing() {
    this.#setTimer("ping", PING_EVERY_MS, () => {
      this.#send({ type: "ping" });
      if (!this.#timers.has("silence")) this.#setTimer("silence", PONG_WITHIN_MS, () => this.#giveUp());
      this.#schedulePing();
    });
  }

  async #lost({ code, reason }) {
    const wasOnline = this.#state === "online";
    this.#socket = null;
    for (const name of ["silence", "ping", "stable"]) this.#clearTimer(name);
    for (const subscription of this.#subscriptions.values()) subscription.disconnected();
    for (const write of this.#writes.values()) write.isInFlight = false;
    if (REFUSAL_CLOSE_CODES.has(code)) this.#dropRefusedWrites(code, reason);
    if (wasOnline) this.#setState("offline", offlineProblem());
    const delay = Math.min(RETRY_MAX_MS, RETRY_FIRST_MS * 2 ** this.#attempts++) * (0.5 + Math.random() / 2);
    this.#retryAt = Date.now() + delay;
    this.#setTimer("retry", delay, () => this.#open());
    const problem = code === 4401 ? unauthorizedProblem(reason) : wasOnline ? offlineProblem() : await this.#probe();
    // The next attempt may have begun, or succeeded, while the probe was under way.
    if (this.#state === "closed" || this.#state === "online") return;
    const isRefused = [401, 403, 421].includes(problem.status);
    this.#setState(isRefused ? "unauthorized" : "offline", problem);
    if (isRefused) this.#settleFirstAttempt.reject(this.#owned(problem));
    else this.#settleFirstAttempt.resolve();
  }

  /** A browser does not say why a WebSocket was refused; the same server says it by HTTP. */
  async #probe() {
    try {
      await this.fetch("/api/server-info", { signal: AbortSignal.timeout(HELLO_WITHIN_MS) });
      return offlineProblem();
    } catch (problem) {
      return problem.code === "aborted" ? offlineProblem() : problem;
    }
  }

  /** A write whose message the daemon refuses to read would close each new connection, too. */
  #dropRefusedWrites(code, reason) {
    for (const write of [...this.#writes.values()]) {
      if (!write.isSent || ++write.refusals < REFUSALS_MAX) continue;
      this.#writes.delete(write.id);
      write.reject(unknownOutcome(`The daemon closed the connection ${REFUSALS_MAX} times (${code} ${reason}).`));
    }
  }

  #send(message) {
    // Before its hello the daemon knows no subscription, so credit for one would be an error.
    if (this.#state === "online" && this.#socket?.readyState === 1) this.#socket.send(JSON.stringify(message));
  }

  #sendWrites() {
    if (this.#state !== "online") return;
    let inFlight = 0;
    for (const write of this.#writes.values()) {
      if (++inFlight > WRITES_IN_FLIGHT_MAX) return;
      if (write.isInFlight) continue;
      write.isInFlight = true;
      write.isSent = true;
      this.#socket.send(write.text);
    }
  }

  #acknowledged(message) {
    const write = this.#writes.get(message.id);
    if (!write) return;
    this.#writes.delete(message.id);
    write.resolve({ created: message.created ?? [], token: message.token ?? null });
    this.#sendWrites();
  }

  #refused(message) {
    const problem = new PeerdProblem(message.problem ?? { code: "failed", detail: "The daemon reports an error." });
    const write = this.#writes.get(message.id);
    if (write) return this.#rejectWrite(write, problem);
    const subscription = this.#subscriptions.get(message.id);
    if (subscription) return subscription.failed(problem);
    if (message.id === null || message.id === undefined) this.#report(problem);
  }

  #abort(id) {
    const write = this.#writes.get(id);
    if (write) this.#rejectWrite(write, write.isSent ? unknownOutcome() : abortedProblem());
  }

  #rejectWrite(write, problem) {
    this.#writes.delete(write.id);
    write.reject(problem);
    this.#sendWrites();
  }

  #subscribe({ request, credit, handle, onerror, forget }) {
    if (this.#state === "closed") throw closedProblem();
    // What cannot be written throws here, and not after some later connect.
    JSON.stringify(request());
    const subscription = new Subscription(this.#nextSubscription++, {
      request, credit, handle, forget,
      send: message => this.#send(message),
      report: error => this.#report(error),
      fail: problem => this.#subscriptionFailed(subscription, problem, onerror),
    });
    this.#subscriptions.set(subscription.id, subscription);
    if (this.#state === "online") subscription.start();
    return () => {
      if (subscription.isStopped) return;
      subscription.isStopped = true;
      this.#clearTimer(`subscription ${subscription.id}`);
      if (this.#subscriptions.delete(subscription.id)) this.#send({ type: "unsubscribe", id: subscription.id });
    };
  }

  #subscriptionFailed(subscription, problem, onerror) {
    try { onerror ? onerror(problem) : this.#report(problem); } catch (error) { this.#report(error); }
    if (problem.status === 429 || problem.status >= 500) {
      // The daemon is overloaded or ends: asking again later helps, while a wrong query stays wrong.
      const delay = Math.min(RETRY_MAX_MS, 1000 * 2 ** subscription.retries++);
      this.#setTimer(`subscription ${subscription.id}`, delay, () => {
        if (this.#state === "online" && !subscription.isStopped) subscription.start();
      });
    } else {
      subscription.isStopped = true;
      this.#subscriptions.delete(subscription.id);
    }
  }

  #setState(state, problem) {
    const isNews = state !== this.#state || problem?.code !== this.#problem?.code;
    this.#problem = problem;
    this.#state = state;
    if (!isNews) return;
    this.#tell("state", state);
  }

  /** The last resort for errors that nobody awaits: a callback that throws, an error without an id. */
  #report(error) {
    console.error("peerd:", error);
    this.#tell("error", error);
  }

  #tell(event, value) {
    const listeners = [...this.#listeners[event]];
    if (event === "error" && this.onerror) listeners.unshift(this.onerror);
    for (const listener of listeners) {
      try { listener(value); } catch (error) { console.error("peerd: a listener failed:", error); }
    }
  }

  #owned(problem) {
    this.#rejections.add(problem);
    return problem;
  }

  #observeGlobal(name, listener) {
    this.#globalEvents.push([name, listener]);
    globalThis.addEventListener?.(name, listener);
  }

  #setTimer(name, delay, action) {
    this.#clearTimer(name);
    this.#timers.set(name, setTimeout(() => {
      this.#timers.delete(name);
      action();
    }, delay));
  }

  #clearTimer(name) {
    clearTimeout(this.#timers.get(name));
    this.#timers.delete(name);
  }
}

/** What can be read of a workspace at a moment; `workspace.at` makes one. */
class Past {
  #workspace;

  constructor(workspace, moment) {
    this.#workspace = workspace;
    /** The moment, as text. */
    this.moment = momentText(moment);
  }

  /** An object as it was. Rejects with "no-such-object" if it was not there. */
  get(id) { return this.#read(objectPath(id)); }

  /** A page of the objects that a query would have found. */
  async list(query = {}) { return this.#read("/api/objects", listParameters(query)); }

  /** The number of objects that a query would have found. */
  async count(query = {}) { return (await this.#read("/api/objects/count", listParameters(query))).count; }

  /** A page of the children that an object, or the root (null), had. */
  children(id = null, page = {}) {
    return this.#read(id === null ? "/api/children" : `${objectPath(id)}/children`, page);
  }

  /** A page of everything that was below an object, or of the whole tree (null), depth first. */
  tree(id = null, page = {}) { return this.#read(id === null ? "/api/tree" : `${objectPath(id)}/tree`, page); }

  /** The value that a property had. */
  property(id, name) { return this.#read(`${objectPath(id)}/properties/${encodeURIComponent(name)}`); }

  #read(path, parameters = {}) {
    const pairs = Array.isArray(parameters) ? parameters : Object.entries(parameters);
    return this.#workspace.fetch(`${path}${search([...pairs, ["at", this.moment]])}`);
  }
}

/** What can be read, written and done on a branch; `workspace.branch` makes one. */
/** Takes transactions back, or does them again, on a branch or on the main timeline. */
/** The name of the program that a page is: its folder on the server, which all its pages share. */
function programOfPage() {
  const folder = globalThis.location?.pathname?.replace(/[^/]*$/, "") ?? "";
  return new TextEncoder().encode(folder).length <= PROGRAM_BYTES_MAX ? folder : "";
}

async function reverse(workspace, way, count, { device, program, allPrograms }, branch) {
  const path = `/api/${way}${search({ branch })}`;
  const json = compact({ count, device, program, all_programs: allPrograms });
  return (await workspace.fetch(path, { method: "POST", json })).actions;
}

function restore(workspace, id, at, property, branch) {
  return workspace.fetch(`${objectPath(id)}/restore${search({ branch })}`, {
    method: "POST", json: compact({ at: momentText(at), property }),
  });
}

class Branch extends Past {
  #workspace;
  #path;

  constructor(workspace, id) {
    super(workspace, `branch:${id}`);
    this.#workspace = workspace;
    this.id = id;
    this.#path = `/api/branches/${encodeURIComponent(id)}`;
  }

  /**
   * Writes one transaction on the branch; resolves with `{ created }` when it is durable.
   *
   * As `write` of the workspace, it waits while the daemon is away, and the daemon writes it once.
   */
  async write(compose, { if: conditions, signal } = {}) {
    const transaction = new Transaction();
    if (compose(transaction) instanceof Promise) {
      throw new TypeError("The closure of write() must not be async: collect what it needs before.");
    }
    const json = compact({ id: uuid(), edits: transaction.edits, if: conditions });
    const path = `/api/transactions${search({ branch: this.id })}`;
    for (let delay = RETRY_FIRST_MS; ; delay = Math.min(2 * delay, RETRY_MAX_MS)) {
      if (this.#workspace.state === "closed") throw closedProblem();
      try {
        return await this.#workspace.fetch(path, { method: "POST", json, signal });
      } catch (problem) {
        if (problem.code !== "offline") throw problem;
        await new Promise(resolve => setTimeout(resolve, delay));
      }
    }
  }

  /** Takes back the last actions of this page that count on the branch; main stays. As `undo` of the workspace. */
  undo(count = 1, of = {}) { return reverse(this.#workspace, "undo", count, of, this.id); }

  /** Does actions again on the branch that `undo` took back there. */
  redo(count = 1, of = {}) { return reverse(this.#workspace, "redo", count, of, this.id); }

  /** Makes an object, with all that was below it, or one property, what it was at a moment; on the branch. */
  restore(id, { at, property } = {}) { return restore(this.#workspace, id, at, property, this.id); }

  /** The objects that differ; `before` is on the branch, `after` on the main timeline or the branch `other`. */
  diff(other = null) { return this.#workspace.diff(this.moment, other && `branch:${other}`); }

  /** What a merge into the main timeline, or into the branch `into`, would find changed on both sides. */
  async conflicts({ into } = {}) {
    return (await this.#workspace.fetch(`${this.#path}/conflicts${search({ into })}`)).conflicts;
  }

  /**
   * Merges the branch into the main timeline, or into another branch; it stays, and can be merged again.
   *
   * The later of two edits of the same counts. Resolves with `{ merged, conflicts }`; `merged` is false if there was
   * nothing new.
   */
  merge({ into } = {}) {
    return this.#workspace.fetch(`${this.#path}/merge`, { method: "POST", json: compact({ into }) });
  }

  /** Takes in what is new on the main timeline. */
  update() {
    return this.#workspace.fetch("/api/branches/main/merge", { method: "POST", json: { into: this.id } });
  }

  /**
   * Deletes the branch. What was merged of it stays; transactions that nothing else has are deleted with it only if
   * they are no more than `discard`, which may be `Infinity`. What other machines wrote there and is not here yet brings
   * the branch back.
   */
  delete({ discard = 0 } = {}) {
    const count = Math.min(discard, 2 ** 31 - 1);
    return this.#workspace.fetch(`${this.#path}?discard=${count}`, { method: "DELETE" });
  }
}

const offlineProblem = cause => new PeerdProblem({
  code: "offline", detail: "The daemon does not answer.",
  advice: "Start \"peerd run\" on this machine; the page reconnects by itself.",
}, { cause });
const closedProblem = () => new PeerdProblem({ code: "closed", detail: "This workspace was closed by the page." });
const abortedProblem = () => new PeerdProblem({ code: "aborted", detail: "This was aborted by the page." });
const unknownOutcome = (what = "The connection ended before the daemon answered.") => new PeerdProblem({
  code: "outcome-unknown", detail: `${what} It may have been written or not.`,
  advice: "Read the objects again before you repeat the write.",
});
const unauthorizedProblem = reason => new PeerdProblem({
  code: "unauthorized", status: 401, detail: reason || "The daemon does not know this page.",
  advice: "Run \"peerd open\" on this machine.",
});

/**
 * Reads JSON with every integer as it is: one that a number cannot hold becomes a BigInt, and is written as it was.
 *
 * A browser that does not tell how a number was written (before 2023 to 2025) rounds it.
 */
function parseJSON(text) {
  // Almost no text has one, and to look at each number costs more than to read them.
  if (!/\d{16}/.test(text)) return JSON.parse(text);
  return JSON.parse(text, (_, value, context) => {
    if (typeof value !== "number" || Number.isSafeInteger(value)) return value;
    const source = context?.source ?? "";
    return /^-?\d+$/.test(source) && BigInt.asIntN(64, BigInt(source)) === BigInt(source) ? BigInt(source) : value;
  });
}

// Without it JSON.stringify throws. What the daemon cannot hold it cannot read, and would close the connection.
BigInt.prototype.toJSON ??= function toJSON() {
  const isStorable = BigInt.asIntN(64, this) === BigInt(this);
  if (isStorable && JSON.rawJSON) return JSON.rawJSON(String(this));
  throw new PeerdProblem({
    code: "invalid", status: 422,
    detail: `The integer ${this} ${isStorable ? "cannot be written by this browser" : "has more than 64 bits"}.`,
    advice: "Write it as a number, or as text.",
  });
};

function problemOf(response, text) {
  try {
    const members = JSON.parse(text);
    if (typeof members.code === "string") return new PeerdProblem({ status: response.status, ...members });
  } catch { /* Not from peerd: a proxy, or another program at this port. */ }
  const code = { 401: "unauthorized", 403: "forbidden", 404: "not-found" }[response.status] ?? "failed";
  return new PeerdProblem({ code, status: response.status, detail: `The answer is HTTP ${response.status}.` });
}

const compact = members => Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
const momentText = moment => (moment instanceof Date ? moment.toISOString() : String(moment));
const objectPath = id => `/api/objects/${encodeURIComponent(id)}`;
const hiddenPath = (id, property) => `${objectPath(id)}/hidden/${encodeURIComponent(property)}`;
const accessPath = (id, user, property) =>
  `${property === undefined ? objectPath(id) : hiddenPath(id, property)}/access/${encodeURIComponent(user)}`;

/** `parameters`: an object, or pairs if a name comes more than once. */
function search(parameters) {
  const pairs = Array.isArray(parameters) ? parameters : Object.entries(parameters);
  const given = pairs.filter(([, value]) => value !== undefined && value !== null);
  return given.length > 0 ? `?${new URLSearchParams(given)}` : "";
}

/** Each condition is a parameter `property`, and a parameter `value` at the same place among the values. */
function listParameters({ where, parent, ...rest }) {
  const conditions = Object.entries(where ?? {}).filter(([, value]) => value !== undefined);
  return [
    ...Object.entries({ ...rest, parent: parent === null ? "root" : parent }),
    ...conditions.flatMap(([property, value]) => [["property", property], ["value", JSON.stringify(value)]]),
  ];
}

/** A random UUID. `crypto.randomUUID` is missing where the page was not served from this machine. */
function uuid() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const digits = [...bytes].map(byte => byte.toString(16).padStart(2, "0")).join("");
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}
