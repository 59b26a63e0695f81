/**
 * A daemon in memory, for the tests of peerd.js: it speaks as much of `/ws/sync` as they need, and nothing happens in
 * it unless a test says so.
 */

/** Sockets that a client has opened, in order. A test plays the other end. */
export class Daemon {
  sockets = [];
  /** What HTTP requests are answered with: a function of the URL and the request, returning [status, body]. */
  answer = () => { throw new TypeError("fetch failed"); };

  constructor() {
    const daemon = this;
    /** Given to `connect` in place of the browser's. */
    this.WebSocket = class extends ClientSocket {
      constructor(url) {
        super(url);
        daemon.sockets.push(this);
      }
    };
    this.fetch = async (url, request) => {
      const [status, body] = this.answer(new URL(url), request);
      return new Response(JSON.stringify(body), { status });
    };
  }

  get socket() { return this.sockets.at(-1); }
}

class ClientSocket {
  readyState = 0;
  sent = [];
  closedWith = null;

  constructor(url) { this.url = url; }

  // The client's side

  send(text) {
    if (this.readyState !== 1) throw new Error("A socket that is not open was written to.");
    this.sent.push(JSON.parse(text));
  }

  close(code) {
    this.closedWith = code ?? 1005;
    this.readyState = 3;
  }

  // The daemon's side

  /** Accepts the connection and says hello. */
  accept(workspace = "w") {
    this.readyState = 1;
    this.onopen({});
    this.deliver({ type: "hello", version: "1", workspace, device_name: "desk" });
  }

  deliver(message) { this.onmessage({ data: JSON.stringify(message) }); }

  drop(code = 1006, reason = "") {
    this.readyState = 3;
    this.onclose({ code, reason });
  }

  /** The messages of a type that the client has sent. */
  of(type) { return this.sent.filter(message => message.type === type); }
}

/** Lets promises that are already settled run their continuations. */
export const settle = () => new Promise(resolve => setImmediate(resolve));

/** Something that a test lets happen when it wants. */
export function gate() {
  let open;
  const promise = new Promise(resolve => { open = resolve; });
  return { promise, open };
}
