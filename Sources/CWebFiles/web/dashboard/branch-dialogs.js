/** Questions about branches. */

import { ask, field } from "./dialogs.js";
import { foreign, h } from "./dom.js";
import { MAIN } from "./sides.js";
import { workspace } from "./session.js";
import { count, plain } from "./text.js";

/** A choice of a timeline: the main one, or a branch. */
export function timelineSelect(branches, attributes = {}) {
  return h("select", attributes, h("option", { value: MAIN }, "the main timeline"),
    branches.map(({ id, name }) => h("option", { value: id }, plain(name, 60))));
}

/** Asks for a new branch, and creates it. */
export function askToBranch(branches, created) {
  const name = h("input", { required: true, maxlength: 200, autocomplete: "off", autofocus: true });
  const parent = timelineSelect(branches);
  const time = h("input", { type: "datetime-local", step: "1" });
  ask({
    title: "New branch",
    body: [
      field("Name", name), field("It leaves", parent),
      field("As of", time, "Leave it empty to begin with what is there now."),
    ],
    label: "Create",
    submit: async () => {
      const at = time.value === "" ? undefined : new Date(time.value);
      const leaves = parent.value === MAIN ? undefined : parent.value;
      const { id } = await workspace.createBranch(name.value.trim(), { parent: leaves, at });
      created(id);
    },
  });
}

/** Asks before a branch is deleted. */
export function askToDeleteBranch({ id, name, unmerged, unseen, deleted_by: author }, deleted) {
  ask({
    title: "Delete this branch?",
    body: [
      h("p", {}, foreign(name, { max: 120 }), " will be deleted on all machines. What was merged of it stays."),
      unmerged === 0 ? null : h("p.notice.warning", {},
        `${count(unmerged, "transaction")} of it ${unmerged === 1 ? "is" : "are"} not merged.`),
      author ? h("p", {}, foreign(author.name, { max: 60 }),
        ` has deleted it before, and had not seen ${count(unseen, "transaction")} of it.`) : null,
    ],
    label: "Delete",
    isDangerous: true,
    submit: async () => {
      await workspace.branch(id).delete({ discard: unmerged });
      deleted?.();
    },
  });
}
