/**
 * What differs between a branch and what it is compared with, as rows with two sides. No DOM.
 *
 * A side is `{ value }`, `{ parent }`, or null where there is nothing.
 */

/** The name that the main timeline has among branches. */
export const MAIN = "main";

/** The differences of a diff from a branch to its target: `{ id, type, where, rows }`, in the order of the diff. */
export function sidesOf(differences) {
  return differences.map(({ id, change, type, properties, moved }) => ({
    id, type,
    // The diff leads away from the branch: what it creates is missing there.
    where: { created: "target", deleted: "branch" }[change] ?? "both",
    rows: [
      ...(moved && change === "changed"
        ? [{ property: null, branch: { parent: moved.before }, target: { parent: moved.after } }] : []),
      ...Object.keys(properties).sort().map(property => ({
        property,
        branch: valueSide(properties[property], "before"), target: valueSide(properties[property], "after"),
      })),
    ],
  }));
}

/** The conflicts of a merge in the same form: one entry for each object. */
export function conflictSides(conflicts) {
  const objects = new Map();
  for (const { object, kind, property = null, ...sides } of conflicts) {
    if (!objects.has(object)) objects.set(object, { id: object, type: null, where: "both", rows: [] });
    const entry = objects.get(object);
    if (kind === "deleted-on-branch") entry.where = "target";
    else if (kind === "deleted-on-target") entry.where = "branch";
    else if (kind === "place") {
      entry.rows.push({ property, branch: { parent: sides.branch }, target: { parent: sides.target } });
    } else {
      entry.rows.push({ property, branch: valueSide(sides, "branch"), target: valueSide(sides, "target") });
    }
  }
  return [...objects.values()];
}

function valueSide(sides, name) { return Object.hasOwn(sides, name) ? { value: sides[name] } : null; }

/** The properties that a side has of those that differ; these are all if the object is on this side alone. */
export function propertiesOn(side, { rows }) {
  const entries = rows.filter(row => row.property !== null && row[side] !== null);
  return Object.fromEntries(entries.map(row => [row.property, row[side].value]));
}

/** Where a branch goes unless somebody chooses: the timeline that it leaves, if that is still there. */
export function targetOf(branch, branches) {
  return branches.some(({ id }) => id === branch.parent) ? branch.parent : MAIN;
}
