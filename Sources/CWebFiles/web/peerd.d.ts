/** Types of /peerd.js. */

export type ID = string;
/** A position in the history of a scope. Opaque: store it, pass it back as `since`. */
export type Token = string;
/** An integer beyond 2^53 is a bigint, and written as it is. One of more than 64 bits is refused. */
export type Value = null | boolean | number | bigint | string | Value[] | { [name: string]: Value };
export type Properties = { [name: string]: Value };
/** Ends what it belongs to. May be called more than once. */
export type Stop = () => void;

export interface PeerdObject {
  readonly id: ID;
  readonly type: string;
  readonly kind: string;
  readonly parent: ID | null;
  /** Orders siblings: compare as text, then by id. */
  readonly position: string;
  readonly creator: string | null;
  readonly owner: string | null;
  readonly created_at: number | null;
  readonly updated_at: number;
  readonly child_count: number;
  /** Changes with each change of the object; see `WriteOptions.if`. */
  readonly version: string;
  readonly properties: Properties;
  /** Properties whose values have not come to this machine: leave them as they are. */
  readonly missing: readonly string[];
}

export interface Query {
  type?: string;
  kind?: string;
  parent?: ID | "root" | null;
  where?: Properties;
  order?: string;
}

export interface ListQuery extends Query {
  /** Objects any of whose string properties contain this text. */
  search?: string;
  after?: string;
  limit?: number;
}

export type Scope = { object: ID } | { subtree: ID } | { query: Query } | { all: true };

export interface Author {
  readonly name: string;
  readonly is_this_machine: boolean;
}

export interface ObjectChange {
  readonly id: ID;
  readonly changed: readonly string[];
  readonly created: boolean;
  readonly moved: boolean;
  /**
   * With `state` null, why: it was deleted (or moved by somebody to where you do not read), it is in another place than
   * the scope, or it has left your view, since you gave up what somebody shared with you.
   */
  readonly leaving: "deleted" | "moved" | "given_up" | null;
  /** With `state` null: everything below it is gone, too. */
  readonly includes_below: boolean;
  /** Null: it has left the scope. */
  readonly state: PeerdObject | null;
}

export interface Delta {
  readonly token: Token;
  /** Forget all objects that you hold; this delta begins the whole state. */
  readonly reset: boolean;
  /** Further deltas of the same state follow at once. Store the token only when this is false. */
  readonly more: boolean;
  readonly origin: "local" | "peer" | "both" | null;
  readonly authors: readonly Author[];
  readonly objects: readonly ObjectChange[];
}

export interface Traffic {
  readonly sent_bytes: number;
  readonly received_bytes: number;
  readonly pushed_changes: number;
  readonly pushed_operations: number;
  readonly pulled_changes: number;
  readonly pulled_operations: number;
  readonly duplicate_changes: number;
}

export interface Peer {
  readonly device: string | null;
  readonly name: string | null;
  /** The person whose machine it is, by its id; null while that is not known here. */
  readonly user: string | null;
  /** The machines through which it has joined, the nearest first. */
  readonly joined_through: readonly string[];
  /** Whether this machine may remove it. */
  readonly removable: boolean;
  readonly connected: boolean;
  readonly address: string | null;
  readonly last_seen_ms: number | null;
  readonly in_sync: boolean;
  /** Until when it holds changes that are in force here. */
  readonly holds_until_ms: number | null;
  readonly missing_there: number | null;
  readonly missing_here: number | null;
  readonly reason: "not_met" | "offline" | "comparing" | "exchanging" | null;
  readonly advice: string | null;
  readonly clock_ahead_ms: number | null;
  readonly traffic: Traffic;
}

export interface Page {
  readonly objects: PeerdObject[];
  /** Pass it as `after` to get the next page; null after the last. */
  readonly next: string | null;
}

export type Content = { value: Value } | { removed: true } | { parent: ID | null };

/** What ends a conflict: one of its versions, named by its id, or a content of one's own. */
export type Choice = { version: string } | Content;

export interface ConflictVersion {
  readonly id: string;
  readonly author: Author;
  readonly time_ms: number;
  readonly content: Content | { create: { type: string; kind: string } };
}

export interface Conflict {
  readonly object: ID;
  /** A conflict of creations cannot be resolved: types and kinds do not change. */
  readonly about: "property" | "creation" | "place";
  /** Null unless it is about a property. */
  readonly property: string | null;
  readonly winner: ConflictVersion | null;
  readonly losers: readonly ConflictVersion[];
}

export interface LogEntry {
  readonly id: string;
  readonly author: Author;
  readonly time_ms: number;
  readonly object: ID;
  readonly action: { readonly [kind: string]: unknown };
  readonly status: string;
}

/** A time (ISO 8601, or such as "2 days ago"), or the name of a change: a `moment` of the history. */
export type Moment = string;

export interface HistoryEntry extends LogEntry {
  /** The moment right after the edit, as its author saw it. */
  readonly moment: Moment;
  /** The edit that was in force before, as its author saw it. */
  readonly replaced: { readonly [kind: string]: unknown } | null;
}

export interface Difference {
  readonly id: ID;
  readonly change: "created" | "deleted" | "changed";
  readonly type: string;
  readonly kind: string;
  /** The properties that differ; a side without the property lacks its member. */
  readonly properties: { readonly [name: string]: { readonly before?: Value; readonly after?: Value } };
  readonly moved: { readonly before: ID | null; readonly after: ID | null } | null;
}

export interface Restoration {
  readonly object: ID;
  /** The object and what was below it. */
  readonly object_count: number;
  /** Those that were created again, since they were deleted. */
  readonly revived_count: number;
  /** It was not put where it was: its parent of then is gone, or is below it now. */
  readonly stays_in_place: boolean;
}

/** What an undo or redo left as it is. */
export interface Kept {
  readonly object: ID;
  readonly part: "object" | "place" | "property";
  readonly property: string | null;
  readonly reason: "edited" | "deleted" | "has-children" | "parent-gone" | "unknown" | "too-large";
  /** The author of the edit that stands in the way. */
  readonly author: Author | null;
}

/** Whose actions an undo takes back: by default those of this page's program on this machine. */
export interface UndoScope {
  /** An id, a name, or "all". */
  device?: string;
  program?: string;
  allPrograms?: boolean;
}

/** An action that was taken back, or done again. */
export interface ReversedAction {
  readonly moment: Moment;
  readonly time_ms: number;
  readonly device_name: string | null;
  /** The name of the program that did it; empty for one without a name. */
  readonly program: string;
  readonly transaction_count: number;
  /** `edits` has the first 1,000 of them, and `kept` of the parts that stay. */
  readonly edit_count: number;
  readonly kept_count: number;
  /** Whether it was a merge: only `redo` brings back what that had brought. */
  readonly is_merge: boolean;
  /** Its transactions that are left, since something else was done meanwhile. */
  readonly left_count: number;
  readonly edits: readonly {
    readonly object: ID | null;
    readonly action: { readonly [kind: string]: unknown };
    /** Whether it is an undo of the edit, which a merge had brought. */
    readonly is_undo: boolean;
  }[];
  readonly kept: readonly Kept[];
  /** Whether anything changed: all may stay, or be what it should be already. */
  readonly has_effect: boolean;
}

/** A workspace as it was. It reads when it is asked. */
export interface Past {
  readonly moment: Moment;
  get(id: ID): Promise<PeerdObject>;
  list(query?: ListQuery): Promise<Page>;
  count(query?: ListQuery): Promise<number>;
  children(id?: ID | null, page?: { after?: string | null; limit?: number }): Promise<Page>;
  tree(id?: ID | null, page?: { after?: string | null; limit?: number; depth?: number }): Promise<Page>;
  property(id: ID, name: string): Promise<Value>;
}

export interface BranchInfo {
  readonly id: string;
  /** Two machines that were apart may have given the same. */
  readonly name: string;
  /** The id of the branch that it leaves; null for the main timeline. */
  readonly parent: string | null;
  readonly author: Author;
  readonly time_ms: number;
  /** Transactions that the timeline which it leaves has not taken in. */
  readonly unmerged: number;
  /** The machine that deleted it and had not seen all of it, so that it stays. */
  readonly deleted_by: Author | null;
  /** Transactions that no machine had seen that deleted it. */
  readonly unseen: number;
}

/** Something that two timelines changed in different ways since they parted. */
export type MergeConflict =
  /** A side that lacks the property lacks its member. */
  | { readonly object: ID; readonly kind: "property"; readonly property: string;
      readonly branch?: Value; readonly target?: Value }
  | { readonly object: ID; readonly kind: "place"; readonly branch: ID | null; readonly target: ID | null }
  /** One side deleted what the other one edited: it stays, or comes back, with the edits. */
  | { readonly object: ID; readonly kind: "deleted-on-branch" | "deleted-on-target" };

/** A branch: it reads as `Past` does, and is written to. */
export interface Branch extends Past {
  readonly id: string;
  /** One transaction on the branch: all its edits count, or none. While the daemon is away, it waits. */
  write(compose: (transaction: Transaction) => unknown, options?: WriteOptions): Promise<{ readonly created: ID[] }>;
  /** Takes back the last transactions of this machine that count on the branch; the main timeline stays. */
  undo(count?: number, of?: UndoScope): Promise<ReversedAction[]>;
  /** Does actions again that `undo` took back. */
  redo(count?: number, of?: UndoScope): Promise<ReversedAction[]>;
  /** Makes an object and what was below it, or one property, what it was at a moment, by new edits on the branch. */
  restore(id: ID, options: { at: Moment | Date; property?: string }): Promise<Restoration>;
  /** The objects that differ: `before` is on the branch, `after` on the main timeline or on another branch. */
  diff(other?: string | null): Promise<Difference[]>;
  /** What a merge would find changed on both sides. */
  conflicts(options?: { into?: string }): Promise<MergeConflict[]>;
  /** Merges it into the main timeline, or into another branch. */
  merge(options?: { into?: string }): Promise<{ merged: boolean; conflicts: MergeConflict[] }>;
  /** Takes in what is new on the main timeline. */
  update(): Promise<{ merged: boolean; conflicts: MergeConflict[] }>;
  /** Deletes it; edits that nothing else has are deleted with it only if `discard` is true. */
  delete(options?: { discard?: boolean }): Promise<{ readonly remains: BranchInfo | null }>;
}

/** A person in the workspace. */
export interface User {
  readonly id: string;
  readonly name: string;
  readonly is_you: boolean;
  readonly is_founder: boolean;
}

export type Role = "read" | "write" | "manage";

export interface AccessEntry {
  readonly user: User;
  readonly role: Role | "owner";
  /** The only properties that the person may set; null for all. */
  readonly properties: readonly string[] | null;
}

/** Who may do what with an object. */
export interface Access {
  readonly object: ID;
  /** The object that is shared: itself, or one above it; null if only the owner has access. */
  readonly shared: ID | null;
  readonly access: readonly AccessEntry[];
  readonly hidden: readonly { readonly name: string; readonly access: readonly AccessEntry[] }[];
  /** Who has a copy that does not change with it: two machines moved or shared it at once. */
  readonly copies: readonly AccessEntry[];
  /** It is not shared with this user any more: what is here stays, and nothing comes. */
  readonly has_ended: boolean;
}

/** Whether somebody may do something, and what was said that decides. */
export interface AccessDecision {
  readonly allowed: boolean;
  readonly reason: "owner" | "granted" | "removed" | "hidden" | "less_granted" | "not_granted";
  readonly statement: {
    readonly change: string;
    readonly user: User;
    readonly device: string;
    readonly time_ms: number;
  } | null;
}

/** An edit that counts nowhere, because its author had no right to make it. */
export interface RejectedEdit {
  readonly edit: LogEntry;
  /** The transaction that it belongs to: what `adopt` takes. */
  readonly change: string;
  readonly user: User;
  readonly reason: "removed" | "machine_removed" | "less_granted" | "not_granted";
}

export interface SyncReport {
  readonly pushed: number;
  readonly pulled: number;
  readonly in_sync: boolean;
  readonly interrupted: boolean;
  /** What was not done, and what to do; null if everything was. */
  readonly shortcoming: string | null;
  readonly peers: readonly Peer[];
}

/** What went wrong (`detail`), what to do about it (`advice`), and a `code` for programs. */
export class PeerdProblem extends Error {
  constructor(
    members: {
      code: string;
      detail?: string;
      title?: string;
      advice?: string | null;
      status?: number;
      decision?: AccessDecision | null;
    },
    options?: { cause?: unknown },
  );
  readonly code: string;
  readonly title: string;
  readonly detail: string;
  readonly advice: string | null;
  /** The HTTP status; 0 for a problem of this side. */
  readonly status: number;
  /** What decides that something is not permitted; null for other problems. */
  readonly decision: AccessDecision | null;
}

export interface Place {
  before?: ID;
  first?: boolean;
}

export interface Creation extends Place {
  kind?: string;
  parent?: ID | null;
  /** Machines that create the same key apart create one object, not two. */
  key?: string;
  properties?: Properties;
}

export interface Transaction {
  /** Returns a name that stands for the new object in the rest of this transaction. */
  create(type: string, creation?: Creation): ID;
  set(id: ID, properties: Properties): void;
  unset(id: ID, ...names: (string | string[])[]): void;
  move(id: ID, parent: ID | null, place?: Place): void;
  delete(id: ID): void;
}

export interface WriteOptions {
  /** Versions that objects must still have, by id; "version-changed" otherwise. */
  if?: { [id: string]: string };
  /** A name that several writes of the program may have: `undo` takes them back in one. */
  action?: string;
  signal?: AbortSignal;
}

export interface Written {
  /** The ids of created objects, in the order of the calls of `create`. */
  readonly created: ID[];
  readonly token: Token | null;
}

export interface SubscriptionOptions {
  /** Gets the problem that ended the subscription. Without it: the console, and `onerror` of the workspace. */
  onerror?: (problem: PeerdProblem) => void;
}

export type State = "connecting" | "online" | "offline" | "unauthorized" | "closed";

export interface Workspace {
  readonly state: State;
  /** Why the workspace is not online. */
  readonly problem: PeerdProblem | null;
  readonly retryAt: number | null;
  readonly hello: { readonly version: string; readonly workspace: string; readonly device_name: string } | null;
  /** Writes that are not yet durable. They live in this page alone. */
  readonly pendingWriteCount: number;
  onerror: ((error: unknown) => void) | null;
  on(event: "state", callback: (state: State) => void): Stop;
  on(event: "error", callback: (error: unknown) => void): Stop;

  /** The objects of a query, now and after each change. The next page comes after the callback has ended. */
  live(
    query: Query,
    callback: (objects: PeerdObject[], page: { more: boolean }) => unknown,
    options?: SubscriptionOptions & { limit?: number },
  ): Stop;
  /** An object, now and after each change; null once it is deleted. */
  object(
    id: ID,
    callback: (object: PeerdObject | null, delta: Delta) => unknown,
    options?: SubscriptionOptions,
  ): Stop;
  /** Each delta of a scope. `since: "now"` leaves the state out. */
  changes(
    scope: Scope,
    callback: (delta: Delta) => unknown,
    options?: SubscriptionOptions & { since?: Token | "now" | null; credit?: number },
  ): Stop;
  status(
    callback: (status: { readonly [name: string]: any }, peers: Peer[]) => unknown,
    options?: SubscriptionOptions,
  ): Stop;

  /** One transaction: all its edits count, or none. Resolves when it is durable. Offline, it waits. */
  write(compose: (transaction: Transaction) => unknown, options?: WriteOptions): Promise<Written>;

  get(id: ID): Promise<PeerdObject>;
  list(query?: ListQuery): Promise<Page>;
  count(query?: ListQuery): Promise<number>;
  children(id?: ID | null, page?: { after?: string | null; limit?: number }): Promise<Page>;
  tree(id?: ID | null, page?: { after?: string | null; limit?: number; depth?: number }): Promise<Page>;
  log(
    id?: ID | null,
    page?: { after?: string | null; limit?: number; order?: "newest" | "oldest" },
  ): Promise<{ entries: LogEntry[]; next: string | null }>;
  conflicts(
    id?: ID | null,
    page?: { after?: string | null; limit?: number },
  ): Promise<{ conflicts: Conflict[]; moves_without_effect: unknown[]; next: string | null }>;
  resolve(conflict: Conflict, content: Choice): Promise<null>;
  /** The moment that shows exactly what is here now, whatever arrives later. */
  moment(): Promise<Moment>;
  /** The workspace as it was at a moment. */
  at(moment: Moment | Date): Past;
  /** The edits of an object, or of one property of it, the latest first. */
  history(
    id: ID,
    page?: { property?: string; after?: string | null; limit?: number },
  ): Promise<{ entries: HistoryEntry[]; next: string | null }>;
  /** The objects that differ between two moments; without `to`: between a moment and now. */
  diff(from: Moment | Date, to?: Moment | Date | null, options?: { under?: ID }): Promise<Difference[]>;
  /** Makes an object and what was below it, or one property, what it was at a moment, by new edits. */
  restore(id: ID, options: { at: Moment | Date; property?: string }): Promise<Restoration>;
  /** Takes back the last transactions of this machine; resolves with them, the latest first. */
  undo(count?: number, of?: UndoScope): Promise<ReversedAction[]>;
  /** Does actions again that `undo` took back. */
  redo(count?: number, of?: UndoScope): Promise<ReversedAction[]>;
  branches(): Promise<BranchInfo[]>;
  /** Creates a branch with what is here now, or what was at a moment; of the main timeline, or of a branch. */
  createBranch(name: string, options?: { parent?: string; at?: Moment | Date }): Promise<BranchInfo>;
  /** A branch by its id or name. */
  branch(id: string): Branch;
  users(): Promise<User[]>;
  access(id: ID): Promise<Access>;
  /** Of each object that is shared, who may do what. */
  shares(): Promise<Access[]>;
  /**
   * Lets a person, by name or id, do something with an object and all below it; by default read it. `only`: with
   * "write", the only properties to set. `property`: it is about that hidden property, which is read or written.
   */
  share(id: ID, user: string, role?: Role, options?: { only?: string[]; property?: string }): Promise<Access>;
  unshare(id: ID, user: string, options?: { property?: string }): Promise<Access>;
  /** Keeps a property of an object of one's own from all others who read it. */
  hide(id: ID, property: string): Promise<Access>;
  unhide(id: ID, property: string): Promise<Access>;
  rejected(
    page?: { user?: string; after?: string | null; limit?: number },
  ): Promise<{ edits: RejectedEdit[]; next: string | null }>;
  /** Makes edits of one's own of what was rejected of a transaction, as far as it still can be done. */
  adopt(change: string): Promise<{ readonly adopted: number }>;
  sync(options?: { timeoutMs?: number }): Promise<SyncReport>;
  fetch(
    path: string,
    options?: Omit<RequestInit, "headers"> & {
      json?: unknown;
      headers?: { [name: string]: string };
      as?: "json" | "text";
    },
  ): Promise<any>;

  /** Tries to reconnect now. */
  reconnect(): void;
  /** Ends everything; unacknowledged writes reject. */
  close(): void;
}

export interface ConnectOptions {
  /** The daemon's address; by default the origin of the page. */
  url?: string | URL;
  /** Only outside of pages that the daemon serves: those have a cookie. */
  token?: string;
  /** The name under which it writes, in at most 64 bytes; by default the folder of the page. */
  program?: string;
  onerror?: (error: unknown) => void;
  /** For programs without a built-in WebSocket. */
  WebSocket?: new (url: string) => unknown;
  fetch?: typeof fetch;
}

/** Resolves when the daemon has answered or cannot be reached; rejects if it refuses this page. */
export function connect(options?: ConnectOptions): Promise<Workspace>;
