// @ts-check
// The choice is live: what a reader changes is shown at once, by its address. Undo and redo are steps of the browser's
// history. What drags, and the pickers, are fetched when they are needed.
import { announce, show } from "./live.js";

const MOVES = ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Delete", "Backspace"];
let started = false;

/** The part of a page that an address answers with.
 * @param {string} address @param {string} selector */
export async function fetched(address, selector) {
  const response = await fetch(address, { headers: { accept: "text/html" } });
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  return { part: page.querySelector(selector), url: response.url };
}

/** Show a choice.
 * @param {string} address */
export async function change(address) {
  await show(address);
}

function furthestStep() {
  return Number(sessionStorage.getItem("furthest") ?? 0);
}

/** Undo and redo can be pressed where there is a choice to go to. */
function steps() {
  const step = history.state?.step ?? 0;
  const furthest = furthestStep();
  for (const button of /** @type {NodeListOf<HTMLButtonElement>} */ (document.querySelectorAll("[data-step]")))
    button.disabled = button.dataset.step === "-1" ? step < 1 : step >= furthest;
}

/** What a variable is found by: its label, its definition, its name. @param {HTMLElement} item */
function textOf(item) {
  const told = [...item.querySelectorAll(".name, .definition")].map((each) => each.textContent);
  return [...told, item.dataset.variable].join(" ").toLowerCase();
}

/** Show only the variables that are looked for. */
function findVariables() {
  const field = document.getElementById("find-variable");
  const wanted = field instanceof HTMLInputElement ? field.value.trim().toLowerCase() : "";
  const side = document.querySelector(".side");
  for (const item of /** @type {NodeListOf<HTMLElement>} */ (side?.querySelectorAll(".var") ?? []))
    item.hidden = !textOf(item).includes(wanted);
  for (const topic of /** @type {NodeListOf<HTMLElement>} */ (side?.querySelectorAll(".topic") ?? []))
    topic.hidden = !topic.querySelector(".var:not([hidden])");
  side?.querySelector(".nothing")?.toggleAttribute("hidden", Boolean(side.querySelector(".var:not([hidden])")));
}

/** @param {Event} event */
function held(event) {
  if (document.documentElement.hasAttribute("data-dragging")) event.preventDefault();
}

function start() {
  started = true;
  if (!history.state) {
    history.replaceState({ step: 0 }, "");
    sessionStorage.setItem("furthest", "0");
  }
  document.addEventListener("shown", (event) => {
    const step = history.state?.step ?? 0;
    const pushed = /** @type {CustomEvent} */ (event).detail.push;
    sessionStorage.setItem("furthest", String(pushed ? step : Math.max(step, furthestStep())));
    steps();
    findVariables();
    announce(document.querySelector(".ask [role=alert], .tools .count")?.textContent?.replace(/\s+/gu, " ").trim() ?? "");
  });
  document.addEventListener("pointerdown", (event) => {
    if (!(event.target instanceof Element && event.target.closest("[data-variable]"))) return;
    const released = new AbortController(); // perhaps before the module is here: then it was a click
    addEventListener("pointerup", () => released.abort(), { once: true });
    import("./shelves.js").then((shelves) => released.signal.aborted || shelves.drag(event));
  });
  document.addEventListener("keydown", (event) => {
    const handle = event.target instanceof Element && event.target.closest(".chip summary");
    if (!handle || !MOVES.includes(event.key) || event.metaKey || event.ctrlKey || event.altKey) return;
    event.preventDefault();
    import("./shelves.js").then((shelves) => shelves.press(handle, event.key));
  });
  document.addEventListener("input", (event) => {
    if (event.target instanceof HTMLElement && event.target.id === "find-variable") findVariables();
  });
  document.addEventListener("click", (event) => {
    const target = /** @type {HTMLElement} */ (event.target);
    const step = target.closest?.("[data-step]");
    const link = target.closest?.("a[data-picker]");
    const plain = event.button === 0 && !(event.metaKey || event.ctrlKey || event.shiftKey || event.altKey);
    if (step instanceof HTMLElement) history.go(Number(step.dataset.step));
    else if (plain && link instanceof HTMLAnchorElement) {
      event.preventDefault();
      import("./picker.js").then((picker) => picker.open(link));
    }
  });
}

export function enhance() {
  if (!started) start();
  steps();
  findVariables();
  // A finger on a variable drags it: it neither scrolls nor flings. The little x needs no stop of its own: Delete removes.
  for (const handle of document.querySelectorAll(".chip summary, .var summary"))
    handle.addEventListener("touchmove", held, { passive: false });
  for (const cross of document.querySelectorAll(".chip .x")) cross.setAttribute("tabindex", "-1");
}
