/** The page: shapes on a canvas, their layers, and the properties of the selected one. */

import { connect } from "/peerd.js";
import { Drawing, nameOf } from "./drawing.js";
import { LayerTree } from "./layers.js";
import { Trial } from "./trial.js";
import { Undo, wayOf } from "./undo.js";

const SVG = "http://www.w3.org/2000/svg";
const TAGS = { rectangle: "rect", ellipse: "ellipse", text: "text" };
const STEP = 10;
const find = selector => document.querySelector(selector);

const canvas = find("#drawing");
const form = find("#inspector");
let selectedID = null;
/** Whether the selected object has been here: one that was just created may be acknowledged before it arrives. */
let hasSelectionArrived = false;
let conflicts = new Set();
let isDrawScheduled = false;

const workspace = await connect();
workspace.on("error", showProblem);
const drawing = new Drawing(workspace, await Drawing.rootID(workspace), draw, showProblem);
workspace.on("state", showState);
const layers = new LayerTree(find("#layers"), drawing, {
  select, perform, selected: () => selectedID, conflicts: () => conflicts,
});
const undo = new Undo(drawing);
const trial = new Trial(workspace, drawing, text => {
  if (text) showReport(text);
  showTrial();
  draw();
});
await trial.resume();
showTrial();
workspace.status(status => { if (status.conflicts !== conflicts.count) readConflicts(status.conflicts); });
showState();

// What is said

function showState() {
  const waiting = drawing.pendingWriteCount;
  find("#state").textContent = workspace.state === "online" ? "Online"
    : workspace.state === "unauthorized" ? "Not signed in: run peerd open"
      : `Offline${waiting > 0 ? "; what you changed is written when the daemon is back" : ""}`;
  find("#state").dataset.state = workspace.state;
}

function showProblem(problem) {
  const place = find("#problem");
  place.textContent = [problem.detail ?? problem.message, problem.advice].filter(Boolean).join(" ");
  place.hidden = false;
  setTimeout(() => { place.hidden = true; }, 8000);
}

let reportTimer;

/** Names of other machines and shapes are in it, so it is text and nothing else. */
function showReport(text) {
  const place = find("#report");
  place.textContent = text;
  place.hidden = false;
  clearTimeout(reportTimer);
  reportTimer = setTimeout(() => { place.hidden = true; }, 12_000);
}

async function perform(promise) {
  try {
    return await promise;
  } catch (problem) {
    showProblem(problem);
  }
}

async function readConflicts(count) {
  const listed = await perform(workspace.conflicts());
  if (!listed) return;
  conflicts = new Set(listed.conflicts.map(conflict => conflict.object));
  conflicts.count = count;
  draw();
}

// Drawing

/** Draws before the next frame, however often something changes until then. */
function draw() {
  if (isDrawScheduled) return;
  isDrawScheduled = true;
  requestAnimationFrame(() => {
    isDrawScheduled = false;
    if (drawing.has(selectedID)) hasSelectionArrived = true;
    else if (hasSelectionArrived) selectedID = null;
    drawShapes();
    layers.draw();
    drawInspector();
    showState();
  });
}

function drawShapes() {
  const existing = new Map([...canvas.children].map(element => [element.dataset.id, element]));
  const elements = drawing.shapes().filter(shape => shape.kind in TAGS).map(shape => {
    const element = existing.get(shape.id) ?? newElement(shape);
    place(element, shape);
    return element;
  });
  const shape = selectedID && drawing.get(selectedID);
  if (shape?.type === "shape") elements.push(place(existing.get("handle") ?? newHandle(), shape));
  elements.forEach((element, index) => {
    if (canvas.children[index] !== element) canvas.insertBefore(element, canvas.children[index] ?? null);
  });
  while (canvas.children.length > elements.length) canvas.lastElementChild.remove();
}

function newElement({ id, kind }) {
  const element = document.createElementNS(SVG, TAGS[kind]);
  element.dataset.id = id;
  element.setAttribute("tabindex", "0");
  element.setAttribute("role", "img");
  return element;
}

function newHandle() {
  const handle = document.createElementNS(SVG, "rect");
  handle.dataset.id = "handle";
  return handle;
}

/** Puts an element where its shape is. Values of other machines only ever become numbers, colours and text. */
function place(element, shape) {
  const { x, y, width, height } = drawing.box(shape);
  const set = attributes => {
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  };
  if (element.dataset.id === "handle") {
    set({ x: x + width - 7, y: y + height - 7, width: 14, height: 14, rx: 3 });
    return element;
  }
  const where = `${Math.round(x)}, ${Math.round(y)}`;
  set({ fill: colourOf(shape), "aria-label": `${nameOf(shape)}, ${shape.kind}, at ${where}` });
  element.classList.toggle("selected", shape.id === selectedID);
  if (shape.kind === "ellipse") set({ cx: x + width / 2, cy: y + height / 2, rx: width / 2, ry: height / 2 });
  else if (shape.kind === "rectangle") set({ x, y, width, height });
  else {
    set({ x, y: y + height * 0.8, "font-size": height * 0.8 });
    const text = String(shape.properties.text ?? "");
    if (element.textContent !== text) element.textContent = text;
  }
  return element;
}

function colourOf({ properties: { colour } }) { return /^#[0-9a-f]{6}$/i.test(colour) ? colour : "#6b7880"; }

// Pointer and keys

function select(id) {
  selectedID = id;
  hasSelectionArrived = false;
  draw();
}

function pointOf(event) {
  return new DOMPoint(event.clientX, event.clientY).matrixTransform(canvas.getScreenCTM().inverse());
}

canvas.addEventListener("pointerdown", event => {
  if (drawing.isHeld) return;
  const isHandle = event.target.dataset.id === "handle";
  const id = isHandle ? selectedID : event.target.dataset.id;
  const shape = id && drawing.get(id);
  select(shape ? id : null);
  if (!shape) return;
  if (!isHandle) event.target.focus();
  event.preventDefault();
  const start = pointOf(event);
  const box = drawing.box(shape);
  canvas.setPointerCapture(event.pointerId);
  drawing.hold();
  const moved = move => {
    if (move.pointerId !== event.pointerId) return;
    // The button may have been let go where nobody saw it; the shape may be deleted elsewhere.
    if (move.buttons === 0 || !drawing.has(id)) return ended();
    const { x, y } = pointOf(move);
    const [right, down] = [x - start.x, y - start.y];
    drawing.set(id, isHandle
      ? { width: Math.round(Math.max(1, box.width + right)), height: Math.round(Math.max(1, box.height + down)) }
      : { x: Math.round(box.x + right), y: Math.round(box.y + down) });
  };
  const up = end => { if (end.pointerId === event.pointerId) ended(); };
  const ended = () => {
    removeEventListener("pointermove", moved);
    removeEventListener("pointerup", up);
    removeEventListener("pointercancel", up);
    drawing.release();
  };
  // On the window: a browser may end the capture before the button is up.
  addEventListener("pointermove", moved);
  addEventListener("pointerup", up);
  addEventListener("pointercancel", up);
});

// A step ends where the hands go elsewhere.
for (const place of [canvas, form]) {
  place.addEventListener("focusout", () => { if (!drawing.isHeld) drawing.endStep(); });
}

canvas.addEventListener("focusin", event => {
  if (drawing.has(event.target.dataset.id)) select(event.target.dataset.id);
});

canvas.addEventListener("keydown", event => {
  const shape = selectedID && drawing.get(selectedID);
  if (!shape) return;
  const step = event.shiftKey ? 1 : STEP;
  const [right, down] = {
    ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, -step], ArrowDown: [0, step],
  }[event.key] ?? [0, 0];
  if (right || down) {
    const { x, y } = drawing.box(shape);
    drawing.set(selectedID, { x: x + right, y: y + down });
  } else if (event.key === "Delete") {
    perform(drawing.delete(selectedID));
  } else {
    return;
  }
  event.preventDefault();
});

for (const button of document.querySelectorAll("[data-create]")) {
  button.addEventListener("click", async () => {
    if (trial.isSwitching) return;
    const selected = selectedID && drawing.get(selectedID);
    const parent = selected?.type === "layer" ? selected.id : selected?.parent ?? drawing.rootID;
    const id = await perform(drawing.create(button.dataset.create, parent));
    if (id) select(id);
  });
}

// A layout that is tried

function showTrial() {
  find("#trial").hidden = !trial.isOn;
  find("#try").hidden = trial.isOn;
  find("#trial-name").textContent = trial.name;
  find("main").inert = trial.isSwitching;
  for (const button of document.querySelectorAll("[data-reverse]")) {
    button.setAttribute("aria-disabled", String(trial.isSwitching));
  }
}

/** The button that was pressed goes, so the focus goes to the one that comes. */
async function switchTrial(action, next) {
  await perform(action);
  const focused = document.activeElement;
  if (focused === document.body || !focused.checkVisibility()) find(next).focus();
}

find("#try").addEventListener("click", () => switchTrial(trial.start(), "#keep"));
find("#keep").addEventListener("click", () => switchTrial(trial.keep(), "#try"));
find("#discard").addEventListener("click", () => switchTrial(trial.discard(), "#try"));

// Undo

async function reverse(way) {
  if (drawing.isHeld || trial.isSwitching) return;
  const text = await perform(undo.reverse(way));
  if (text) showReport(text);
}

addEventListener("keydown", event => {
  const way = wayOf(event);
  if (!way) return;
  event.preventDefault();
  reverse(way);
});
for (const button of document.querySelectorAll("[data-reverse]")) {
  button.addEventListener("click", () => reverse(button.dataset.reverse));
}

// Inspector

function drawInspector() {
  const object = selectedID && drawing.get(selectedID);
  form.hidden = !object;
  find("#inspector-title").textContent = object ? nameOf(object) : "Nothing selected";
  const conflict = find("#conflict");
  conflict.hidden = !object || !conflicts.has(object.id);
  if (!object) return;
  conflict.href = `/#/conflicts/${object.id}`;
  conflict.textContent = "Machines changed this at the same time. Compare";
  const values = object.type === "layer" ? {} : { ...drawing.box(object), colour: colourOf(object) };
  if (object.kind === "text") values.text = String(object.properties.text ?? "");
  values.name = nameOf(object);
  for (const label of form.querySelectorAll("[data-for]")) {
    const name = label.dataset.for;
    label.hidden = !(name in values);
    const input = form.elements[name];
    // What somebody is typing is not overwritten by a change from elsewhere.
    if (name in values && input !== document.activeElement) input.value = values[name];
  }
}

form.addEventListener("input", event => {
  const { name, value, type, validity } = event.target;
  if (!validity.valid || (type === "number" && value === "")) return;
  drawing.set(selectedID, { [name]: type === "number" ? Number(value) : value });
});
form.addEventListener("submit", event => event.preventDefault());
find("#delete").addEventListener("click", () => perform(drawing.delete(selectedID)));
addEventListener("visibilitychange", () => { if (document.hidden) drawing.endStep(); });
addEventListener("beforeunload", event => {
  drawing.endStep();
  if (drawing.pendingWriteCount > 0) event.preventDefault();
});
