/** What is done with snapshots: they are taken, restored, deleted, and go to files and come from them. */

import { PeerdProblem } from "/peerd.js";
import { ask, field } from "./dialogs.js";
import { exactTime, fill, foreign, h, icon } from "./dom.js";
import { nameByID, objectLink, perform, workspace } from "./session.js";
import { FILE_BYTES_MAX, doneText, fileName, planText, sizeText } from "./snapshot-text.js";
import { report } from "./undo.js";

/** A download has begun by then, and holds what it needs. */
const DOWNLOAD_BEGINS_MS = 60_000;

/** The snapshots of this machine, the oldest first: all, or those of an object, which may be deleted. */
export async function readSnapshots(object = null) {
  const query = object === null ? "" : `?object=${encodeURIComponent(object)}`;
  return (await workspace.fetch(`/api/snapshots${query}`)).snapshots;
}

const path = ({ id }) => `/api/snapshots/${encodeURIComponent(id)}`;

/** What a snapshot is called where one is meant. */
export function snapshotName({ name, time_ms: time }) {
  return name ? foreign(name, { max: 120 }) : h("span", {}, `the snapshot of ${exactTime(time)}`);
}

/** The name of an object as text: a link would lead away from under a question. */
function objectName(id) {
  const element = h("span", {}, h("code", {}, id.slice(0, 8)));
  nameByID(id).then(({ text, isKnown }) => { if (isKnown) fill(element, foreign(text, { max: 80 })); }, () => {});
  return element;
}

/** Asks for a name, which may be left out, and takes a snapshot. */
export function askToTake(object, taken) {
  const name = h("input", { maxlength: "200", autocomplete: "off", autofocus: true });
  ask({
    title: "Take a snapshot",
    body: [
      h("p.muted", {}, "It keeps ", objectName(object), " and everything below it as they are now, on this machine ",
        "alone."),
      field("Name", name, "If you like: what makes this moment worth keeping."),
    ],
    label: "Take it",
    submit: async signal => {
      const json = { object, ...(name.value.trim() && { name: name.value.trim() }) };
      const snapshot = await workspace.fetch("/api/snapshots", { method: "POST", json, signal });
      report(h("p", {}, h("strong", {}, "Kept: "), snapshotName(snapshot), `, ${sizeText(snapshot)}.`));
      taken();
    },
  });
}

/** Says what a restore does, and does it. */
export function askToRestore(snapshot, restored) {
  const [first, ...others] = planText(snapshot.objects);
  ask({
    title: "Restore this snapshot?",
    body: [
      h("p", {}, snapshot.name ? h("strong", {}, foreign(snapshot.name, { max: 120 })) : "The snapshot", " of ",
        objectName(snapshot.object), ", taken ", exactTime(snapshot.time_ms), "."),
      h("p", {}, first), others.map(sentence => h("p.muted", {}, sentence)),
    ],
    label: "Restore",
    submit: async signal => {
      const result = await workspace.fetch(`${path(snapshot)}/restore`, { method: "POST", json: {}, signal });
      report(h("p", {}, h("strong", {}, "Restored: "), snapshotName(snapshot), " of ", objectLink(snapshot.object)),
        doneText(result).map(sentence => h("p", {}, sentence)));
      restored();
    },
  });
}

/** Asks before a snapshot is deleted. */
export function askToDeleteSnapshot(snapshot, deleted) {
  ask({
    title: "Delete this snapshot?",
    body: [
      h("p", {}, snapshotName(snapshot), " of ", objectName(snapshot.object), " will be deleted from this machine. ",
        "The objects stay as they are."),
      h("p.muted", {}, "Undo does not bring a snapshot back; a file of it can be imported again."),
    ],
    label: "Delete",
    isDangerous: true,
    submit: async signal => {
      await workspace.fetch(path(snapshot), { method: "DELETE", signal });
      deleted();
    },
  });
}

/** Saves a snapshot as a file, byte by byte as the daemon wrote it. */
export async function download(snapshot) {
  const content = await workspace.fetch(path(snapshot), { as: "text" });
  const address = URL.createObjectURL(new Blob([content], { type: "application/json" }));
  h("a", { href: address, download: fileName(snapshot) }).click();
  setTimeout(() => URL.revokeObjectURL(address), DOWNLOAD_BEGINS_MS);
}

/** A button that keeps a snapshot from a file. */
export function importButton(imported) {
  const input = h("input", { type: "file", accept: ".json,application/json", hidden: true, onchange: chosen });
  const button = h("button", { type: "button", onclick: () => input.click() }, icon("upload"), "Import a file");
  async function chosen() {
    const [file] = input.files;
    if (!file) return;
    await perform(button, () => importFile(file));
    // The same file can be chosen again.
    input.value = "";
    imported();
  }
  return [button, input];
}

async function importFile(file) {
  const refuse = detail => { throw new PeerdProblem({ code: "import-invalid", detail }); };
  // The daemon would break off the connection, which looks as if it were gone.
  if (file.size > FILE_BYTES_MAX) refuse("This file has more than 32 MiB, so it is no snapshot.");
  const content = await file.arrayBuffer().catch(() => refuse("This file cannot be read."));
  const known = await readSnapshots();
  const snapshot = await workspace.fetch("/api/snapshots/import", {
    method: "POST", body: content, headers: { "Content-Type": "application/json" },
  });
  const isNew = !known.some(({ id }) => id === snapshot.id);
  report(h("p", {}, h("strong", {}, isNew ? "Imported: " : "It is here already: "), snapshotName(snapshot), " of ",
    objectLink(snapshot.object), `, ${sizeText(snapshot)}.`),
  h("p", {}, isNew ? "Nothing changes until it is restored. " : null,
    h("a", { href: "#/snapshots" }, "All snapshots")));
}
