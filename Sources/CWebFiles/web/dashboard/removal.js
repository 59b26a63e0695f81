/** What it means to remove a machine that is lost or stolen, and how that is done. */

import { ask, field } from "./dialogs.js";
import { copyButton, fill, foreign, h, icon } from "./dom.js";
import { notify, on, peers, workspace } from "./session.js";

/** As much of an id as lists of machines show. */
const ID_LENGTH = 16;

const joinedThrough = device => peers.filter(peer => peer.joined_through?.includes(device));

/**
 * Asks what is to become of a machine, and shows the command that does it; `gone` is called once it is not on the list.
 *
 * No page may remove a machine, so that none can shut its user out: the daemon does that for commands alone.
 */
export function askToRemove(peer, gone) {
  const body = h("div.stack.removal");
  const dialog = ask({ title: "Remove a machine", body, label: null, submit: () => {} });
  let shown = null;
  let owner = null;

  function draw() {
    if (!peers.some(({ device }) => device === peer.device)) {
      dialog.close();
      gone();
      return;
    }
    // What was ticked stays as long as the same machines are to choose from.
    const below = joinedThrough(peer.device);
    const key = below.map(({ device }) => device).join();
    if (key === shown) return;
    shown = key;
    fill(body, meaning(peer, owner), peer.removable ? choices(peer, below) : obstacle(owner));
  }

  const stop = on("status", draw);
  dialog.addEventListener("close", stop);
  draw();
  workspace.users().then(users => {
    owner = users.find(user => user.id === peer.user && !user.is_you) ?? null;
    if (owner === null) return;
    shown = null;
    draw();
  }).catch(notify);
}

function meaning(peer, owner) {
  return [
    h("p", {}, "If ", foreign(peer.name, { max: 80 }),
      owner === null ? null : [", a machine of ", foreign(owner.name, { max: 60 }), ","],
      " is lost or stolen, remove it. Machines that hear of it end their sessions with it, send it nothing, and count ",
      "nothing that it writes from then on. This cannot be taken back."),
    h("p.muted", {}, "It keeps what it holds. What it has written stays, as far as it is here."),
  ];
}

function obstacle(owner) {
  return h("p.notice.warning", {}, icon("warning"), h("span", {}, owner !== null
    ? "It belongs to somebody else; who created the workspace removes it."
    : ["It did not join through this machine, which therefore cannot remove it. Stop the daemon here and run ",
      h("code", {}, "peerd recover"), " with your recovery words: then this machine stands above all others."]));
}

/** Which machines stay, since when nothing counts, and the command that says so. */
function choices(peer, below) {
  const since = h("input", { type: "datetime-local", step: "1", oninput: draw });
  const line = h("code.command");
  const copy = h("div");
  const boxes = below.map(machine => ({ machine, box: h("input", { type: "checkbox", onchange: draw }) }));

  function draw() {
    const isChosen = ({ box }) => box.checked && !box.disabled;
    let kept = boxes.filter(isChosen).map(({ machine }) => machine.device);
    for (const { machine, box } of boxes) {
      // What has joined through one that stays, stays.
      const isImplied = machine.joined_through.some(device => kept.includes(device));
      if (isImplied || box.disabled) box.checked = isImplied;
      box.disabled = isImplied;
    }
    kept = boxes.filter(isChosen).map(({ machine }) => machine.device);
    const goesAlone = boxes.every(({ box }) => box.checked);
    const time = since.value === "" ? null : new Date(since.value).toISOString().replace(/\.\d+Z$/, "Z");
    const text = ["peerd peers remove", peer.device.slice(0, ID_LENGTH),
      ...kept.map(device => `--keep ${device.slice(0, ID_LENGTH)}`), goesAlone ? null : "--with-invited",
      time && `--since ${time}`].filter(Boolean).join(" ");
    fill(line, text);
    fill(copy, copyButton(text, "Copy the command"));
  }

  draw();
  return [
    below.length === 0 ? null : h("fieldset.keeps", {},
      h("legend", {}, "Joined through it, and stays:"),
      boxes.map(({ machine, box }) => h("label.keep", {}, box, h("span", {}, foreign(machine.name, { max: 80 })))),
      h("p.hint", {}, "What is not ticked goes with it.")),
    field("Count nothing that it wrote after", since, "Leave it empty to keep what it has written."),
    h("p", {}, "No page can remove a machine. Run this on this machine:"), line, copy,
  ];
}
