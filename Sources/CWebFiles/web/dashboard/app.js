/** The frame around the views: navigation, routes, and what is said while the daemon is away. */

import { fill, foreign, h, icon, refreshTimes } from "./dom.js";
import { showBranch } from "./branch.js";
import { showBranches } from "./branches.js";
import { showConflicts } from "./conflicts.js";
import { showHealth } from "./health.js";
import { showObjects } from "./objects.js";
import { isPastShown, onShownTime } from "./past.js";
import { showPair, showPeers, syncSummary } from "./peers.js";
import { showRejected } from "./rejected.js";
import { notify, on, start, status, workspace } from "./session.js";
import { showSnapshots } from "./snapshots.js";
import { showHistory } from "./timeline.js";
import { undoButtons } from "./undo.js";

const TIMES_REFRESH_MS = 20_000;

const ROUTES = [
  [/^#\/objects$/, "objects", showObjects],
  [/^#\/object\/([0-9a-fA-F-]{4,36})$/, "objects", showObjects],
  [/^#\/peers$/, "peers", showPeers],
  [/^#\/pair$/, "peers", showPair],
  [/^#\/conflicts$/, "conflicts", showConflicts],
  [/^#\/conflicts\/([0-9a-fA-F-]{4,36})$/, "conflicts", showConflicts],
  [/^#\/rejected$/, "conflicts", showRejected],
  [/^#\/history$/, "history", showHistory],
  [/^#\/snapshots$/, "history", showSnapshots],
  [/^#\/branches$/, "branches", showBranches],
  [/^#\/branch\/([0-9a-f]{32})$/, "branches", showBranch],
  [/^#\/health$/, "health", showHealth],
];

const SECTIONS = [
  ["objects", "Objects", "tree"], ["peers", "Peers", "peers"], ["conflicts", "Conflicts", "conflict"],
  ["history", "History", "history"], ["branches", "Branches", "branch"], ["health", "Health", "health"],
];

const main = document.querySelector("main");
const banner = document.querySelector("#banner");
const links = new Map();
const badge = h("span.badge", { hidden: true });
let view = null;
let shownBy = null;

function buildNavigation() {
  fill(document.querySelector("#sections"), SECTIONS.map(([section, label, iconName]) => {
    const link = h("a", { href: `#/${section}` }, icon(iconName), h("span", {}, label),
      section === "conflicts" ? badge : null);
    links.set(section, link);
    return h("li", {}, link);
  }));
}

function buildUndo() {
  const buttons = undoButtons(isPastShown);
  document.querySelector("#undo").append(buttons);
  onShownTime(() => {
    for (const button of buttons.children) button.setAttribute("aria-disabled", String(isPastShown()));
  });
}

function titleChanged(title) { document.title = `${title} – peerd`; }

/** Shows what the address says. A view that also serves the new address only gets its parameters. */
function route() {
  const found = ROUTES.map(([pattern, section, show]) => [location.hash.match(pattern), section, show])
    .find(([match]) => match);
  if (!found) return location.replace("#/objects");
  const [match, section, show] = found;
  const parameters = { id: match[1] };
  document.body.dataset.section = section;
  for (const [name, link] of links) {
    if (name === section) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  if (show === shownBy && view.update) return view.update(parameters);
  const isFirst = view === null;
  view?.close();
  shownBy = show;
  view = show(parameters, titleChanged);
  if (show !== showObjects && show !== showBranch) titleChanged(view.title);
  fill(main, view.element);
  // After a change of the view a screen reader begins at its heading; a fresh page begins at its top.
  if (!isFirst) (main.querySelector("h1") ?? main).focus({ preventScroll: true });
  scrollTo(0, 0);
}

function drawStatus() {
  const [text, kind] = syncSummary();
  const state = document.querySelector("#sync-state");
  const isOnline = workspace.state === "online";
  const shown = isOnline ? text : workspace.state === "unauthorized" ? "Not signed in" : "Offline";
  if (state.textContent !== shown) fill(state, h("span", {}, shown));
  state.dataset.kind = isOnline ? kind : "problem";
  const device = document.querySelector("#device");
  const name = status?.device_name ?? "";
  if (device.textContent !== name) fill(device, foreign(name, { max: 40 }));
  badge.hidden = !status?.conflicts;
  badge.textContent = status?.conflicts ?? "";
  links.get("conflicts").setAttribute("aria-label", status?.conflicts ? `Conflicts, ${status.conflicts}` : "Conflicts");
}

/** One banner for all that keeps this page from being live. It goes by itself. */
function drawBanner() {
  const { state, problem } = workspace;
  const isShown = state !== "online";
  document.body.classList.toggle("is-offline", isShown);
  if (!isShown) {
    banner.hidden = true;
    fill(banner);
    return;
  }
  const pending = workspace.pendingWriteCount;
  banner.hidden = false;
  if (state === "unauthorized") return fill(banner, icon("offline"), h("span", {}, signInText(problem)));
  fill(banner, icon("offline"),
    h("span", {}, h("strong", {}, "Offline. "), "The daemon does not answer; what you see may be old. ",
      pending > 0 ? "What you wrote is sent when it is back. " : null,
      "If it does not come back, run ", h("code", {}, "peerd run"), "."),
    h("button.small", { type: "button", onclick: () => workspace.reconnect() }, "Try now"));
}

function signInText(problem) {
  return [h("strong", {}, "This page is not signed in. "), "Run ", h("code", {}, "peerd open"),
    " on this machine. ", foreign(problem?.detail ?? ""), workspace.pendingWriteCount > 0
      ? h("strong", {}, ` What this page has not sent (${workspace.pendingWriteCount}) is nowhere else: copy it before ` +
        "you close it.") : null];
}

/** A page without a right to be here: says how to get it, and goes on by itself once it has it. */
function showSignIn(problem) {
  fill(document.querySelector("#sync-state"), "Not signed in");
  fill(main, h("div.page.narrow", {}, h("div.card.sign-in", {}, h("h1", { tabindex: "-1" }, "Sign in"),
    h("p", {}, "Only you may see this workspace. On this machine, run:"), h("code.command", {}, "peerd open"),
    h("p", {}, "It opens the dashboard, signed in."),
    h("p.muted", {}, foreign(problem.detail)))));
}

buildNavigation();
buildUndo();
on("refused", showSignIn);
on("state", () => {
  drawBanner();
  drawStatus();
});
on("status", drawStatus);
document.querySelector("#skip").addEventListener("click", event => {
  // The hash belongs to the routes.
  event.preventDefault();
  (main.querySelector("h1, [role=tree]") ?? main).focus();
});
addEventListener("beforeunload", event => { if (workspace?.pendingWriteCount > 0) event.preventDefault(); });
addEventListener("error", event => notify(event.error ?? new Error(event.message)));
setInterval(refreshTimes, TIMES_REFRESH_MS);
await start();
addEventListener("hashchange", route);
route();
