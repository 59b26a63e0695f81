/** The other machines: connected or not, what each lacks, since when, and what to do about it. */

import { chip, copyButton, emptyState, fill, foreign, h, icon, moment, qrCode } from "./dom.js";
import { askToRemove } from "./removal.js";
import { on, peers, perform, status, workspace } from "./session.js";
import { bytes, count, span } from "./text.js";

/** Differences below this are what networks and people cause. */
const CLOCK_TOLERANCE_MS = 60_000;
/** Of each peer the most that was missing since it was last in sync: what a progress bar calls 100 %. */
const mostMissing = new Map();

const missing = peer => (peer.missing_there ?? 0) + (peer.missing_here ?? 0);

/** One sentence on all peers, for the navigation; and how good it is. */
export function syncSummary() {
  if (!status) return ["Asking…", ""];
  const known = peers.filter(peer => peer.device);
  const online = known.filter(peer => peer.connected);
  if (known.length === 0) return ["No other machine yet", ""];
  if (online.length === 0) return [`${count(known.length, "machine")}, none connected`, "warning"];
  const awayCount = known.length - online.length;
  const away = awayCount === 0 ? "" : `; ${awayCount} away`;
  const isHeld = status.waiting.length > 0 || online.some(peer => peer.holds_until_ms);
  if (online.every(peer => peer.in_sync) && isHeld) return ["Same changes; some are not in force yet", "warning"];
  if (online.every(peer => peer.in_sync)) return [`In sync with ${count(online.length, "machine")}${away}`, "ok"];
  const changes = online.reduce((sum, peer) => sum + missing(peer), 0);
  return [changes > 0 ? `Syncing, ${count(changes, "change")} left` : "Comparing", "busy"];
}

/** The view of the peers. */
export function showPeers() {
  const list = h("ul.cards", { "aria-label": "Machines" });
  const report = h("p.muted", { role: "status" });
  const button = h("button.primary", { type: "button", onclick: syncNow }, icon("sync"), "Sync now");
  const toolbar = h("div.toolbar", {}, button, h("a.button", { href: "#/pair" }, icon("plus"), "Add a machine"));
  const cards = new Map();

  async function syncNow() {
    report.textContent = "Syncing…";
    const succeeded = await perform(button, async () => {
      const result = await workspace.sync();
      const traffic = result.pushed + result.pulled === 0 ? "Nothing to exchange"
        : `Sent ${count(result.pushed, "operation")}, received ${result.pulled.toLocaleString("en")}`;
      const end = result.interrupted ? "it was interrupted and continues by itself"
        : result.in_sync ? "in sync" : "not yet in sync; see below";
      report.textContent = `${traffic}; ${end}.`;
    });
    if (!succeeded) report.textContent = "";
  }

  function draw() {
    const keyOf = peer => peer.device ?? `address ${peer.address}`;
    const keys = new Set(peers.map(keyOf));
    for (const key of [...cards.keys()]) if (!keys.has(key)) cards.delete(key);
    for (const peer of peers) {
      const key = keyOf(peer);
      if (!cards.has(key)) cards.set(key, { element: h("li.card"), remove: peer.device ? removeButton(peer) : null });
      const { element, remove } = cards.get(key);
      const hadFocus = remove !== null && remove === document.activeElement;
      fill(element, card(peer), remove && h("div.card-foot", {}, remove));
      if (hadFocus) remove.focus({ preventScroll: true });
    }
    const focused = document.activeElement;
    fill(list, [...cards.values()].map(({ element }) => element));
    if (list.contains(focused)) focused.focus({ preventScroll: true });
    empty.hidden = status === null || peers.length > 0;
    toolbar.hidden = peers.length === 0;
  }

  function removeButton({ device, name }) {
    const gone = () => {
      fill(report, foreign(name, { max: 80 }), " is not on the list any more.");
      button.focus();
    };
    return h("button.quiet.small", {
      type: "button", onclick: () => askToRemove(peers.find(peer => peer.device === device), gone),
    }, icon("remove"), "Remove…", h("span.hidden", {}, " ", foreign(name, { max: 60 })));
  }

  const empty = emptyState("No other machine yet",
    h("p", {}, "A machine joins this workspace with a one-time invite. After that both can edit, together or apart."),
    h("a.button.primary", { href: "#/pair" }, icon("plus"), "Add a machine"));
  const stop = on("status", draw);
  draw();
  return {
    title: "Peers",
    element: h("div.page", {},
      h("header.page-head", {}, h("h1", { tabindex: "-1" }, "Peers"), toolbar, report),
      empty, list),
    close: stop,
  };
}

function card(peer) {
  const total = missing(peer);
  if (peer.in_sync) mostMissing.delete(peer.device);
  else mostMissing.set(peer.device, Math.max(total, mostMissing.get(peer.device) ?? 0));
  const most = mostMissing.get(peer.device) ?? 0;
  const name = peer.name ? foreign(peer.name, { max: 80 }) : "An address without a machine";
  const ahead = peer.clock_ahead_ms ?? 0;
  return [
    h("div.card-head", {}, h("h2", {}, name), state(peer)),
    peer.connected && !peer.in_sync && most > 0 ? h("progress", {
      max: most, value: most - total, "aria-label": `Sync with ${peer.name}: ${count(total, "change")} left`,
    }) : null,
    h("dl.facts", {},
      peer.device ? fact("It still lacks", lack(peer.missing_there, peer)) : null,
      peer.device ? fact("We still lack", lack(peer.missing_here, peer)) : null,
      !peer.device ? null : fact(peer.connected ? "Last heard" : "Away since", peer.last_seen_ms === null || peer.last_seen_ms === undefined
        ? "never met" : moment(peer.last_seen_ms)),
      // The daemon counts for each connection, and forgets with it what the other side lacked.
      peer.connected ? fact("Sent", bytes(peer.traffic.sent_bytes)) : null,
      peer.connected ? fact("Received", bytes(peer.traffic.received_bytes)) : null,
      peer.address ? h("div.wide", {}, h("dt", {}, "Address"), h("dd", {}, h("code", {}, peer.address))) : null),
    Math.abs(ahead) > CLOCK_TOLERANCE_MS ? h("p.notice.warning", {}, icon("warning"),
      `Its clock is ${span(Math.abs(ahead))} ${ahead > 0 ? "ahead of" : "behind"} the one of this machine. ` +
      "Compare them, and correct the wrong one.") : null,
    peer.differs_since_ms ? h("p.notice.warning", {}, icon("warning"),
      "It has the same changes and, since ", moment(peer.differs_since_ms), ", another state of ",
      `${count(peer.differing.length, "object")}. Each machine`,
      " puts right what does not follow from its log; peerd doctor says more.") : null,
    peer.advice || peer.failure ? h("p.notice", {}, icon(peer.connected ? "warning" : "offline"),
      h("span", {}, foreign(peer.failure ? `It ${peer.failure}.` : peer.advice))) : null,
  ];
}

const fact = (label, value) => h("div", {}, h("dt", {}, label), h("dd", {}, value));

function lack(number, peer) {
  if (number === null || number === undefined) return peer.connected ? "comparing" : "not known while away";
  return number === 0 ? "nothing" : count(number, "change");
}

function state(peer) {
  if (peer.in_sync && peer.holds_until_ms) return chip("Holds some changes", "warning");
  if (peer.in_sync) return chip("In sync", "ok");
  switch (peer.reason) {
  case "exchanging": return chip("Exchanging", "busy");
  case "comparing": return chip("Comparing", "busy");
  case "not_met": return chip("Not met yet", "");
  default: return peer.connected ? chip("Connected", "busy") : chip("Offline", "warning");
  }
}

/** The view that lets another machine join. */
export function showPair() {
  const place = h("div");
  const report = h("p", { role: "status" });
  const devices = new Set(peers.map(peer => peer.device));
  let expires = null;
  const create = h("button.primary", { type: "button", onclick: invite }, "Create an invite");
  const countdown = h("span", {});

  async function invite() {
    await perform(create, async () => {
      const made = await workspace.fetch("/api/invites", { method: "POST", json: {} });
      for (const peer of peers) devices.add(peer.device);
      expires = Date.now() + made.lifetime_ms;
      report.textContent = "Waiting for a machine to join…";
      fill(create, "Create another one");
      fill(place, drawing(made));
      tick();
    });
  }

  function drawing({ invite: line, addresses, port, qr }) {
    return h("div.invite", {},
      qrCode(qr, "QR code of the invite; the same text stands beside it"),
      h("div", {},
        h("ol.steps", {},
          h("li", {}, h("strong", {}, "On the other machine, "), "scan the code, or run ", h("code", {}, "peerd join"),
            " and paste this line when it asks (not into the command: all users of a machine can read those):",
            h("code.command", {}, line), copyButton(line, "Copy the line")),
          h("li", {}, h("strong", {}, "Start its daemon: "), h("code.command", {}, "peerd run --listen 0.0.0.0:41187")),
          h("li", {}, h("strong", {}, "Wait here. "), "This page says when it has joined.")),
        h("p.muted", {}, "Good for one machine and for ", countdown, ". It reaches this machine at ",
          addresses.map((address, index) => [index > 0 ? ", " : null, h("code", {}, address)]), `, port ${port}.`)));
  }

  function tick() {
    if (expires === null) return;
    const left = expires - Date.now();
    countdown.textContent = span(left);
    if (left > 0) return;
    expires = null;
    report.textContent = "";
    fill(place, h("p.notice", {}, icon("warning"), "The invite has expired. Create another one."));
  }

  const timer = setInterval(tick, 1000);
  const stop = on("status", () => {
    const joined = expires !== null && peers.find(peer => peer.device && !devices.has(peer.device));
    if (!joined) return;
    expires = null;
    devices.add(joined.device);
    fill(report, icon("check"), foreign(joined.name), " has joined.");
    fill(place, h("a.button", { href: "#/peers" }, "Show all machines"));
  });
  return {
    title: "Add a machine",
    element: h("div.page.narrow", {},
      h("header.page-head", {}, h("a.back", { href: "#/peers" }, icon("back"), "Peers"),
        h("h1", { tabindex: "-1" }, "Add a machine"),
        h("p.muted", {}, "An invite is a secret: whoever has it can join and read everything. ",
          "Show it to nobody else.")),
      h("div.card", {}, create, report, place)),
    close: () => {
      clearInterval(timer);
      stop();
    },
  };
}
