// @ts-check
// The choice is live: what a reader changes in the form is shown at once, by its address. While a large table is made the
// verdict comes first. Undo and redo are steps of the browser's history. What drags, and the pickers, are fetched when they
// are needed.
import { announce, keepFocus, released, show } from "./live.js";

const MOVES = ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Delete", "Backspace"];
let busy = 0;
let started = false;

/** The part of a page that an address answers with.
 * @param {string} address @param {string} selector */
export async function fetched(address, selector) {
  const response = await fetch(address, { headers: { accept: "text/html" } });
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  return { part: page.querySelector(selector), url: response.url };
}

/** Show a choice; where that takes long, its verdict first.
 * @param {string} address */
export async function change(address) {
  const mine = ++busy;
  const early = setTimeout(async () => {
    const { part } = await fetched(address.replace("?", "/verdict?"), "#verdict");
    await released();
    if (part && mine === busy) keepFocus(() => document.getElementById("verdict")?.replaceWith(part));
    steps();
  }, 250);
  await show(address);
  clearTimeout(early);
  if (mine === busy) busy += 1;
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
  for (const item of /** @type {NodeListOf<HTMLElement>} */ (side?.querySelectorAll(".variable") ?? []))
    item.hidden = !textOf(item).includes(wanted);
  for (const topic of /** @type {NodeListOf<HTMLElement>} */ (side?.querySelectorAll(".topic") ?? []))
    topic.hidden = !topic.querySelector(".variable:not([hidden])");
  side?.querySelector(".nothing")?.toggleAttribute("hidden", Boolean(side.querySelector(".variable:not([hidden])")));
}

/** @param {Event} event */
function held(event) {
  event.preventDefault();
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
    announce(document.querySelector("#verdict .says")?.textContent?.replace(/\s+/gu, " ").trim() ?? "");
  });
  document.addEventListener("pointerdown", (event) => {
    if (!(event.target instanceof Element && event.target.closest("[data-variable]"))) return;
    const released = new AbortController(); // perhaps before the module is here: then it was a click
    addEventListener("pointerup", () => released.abort(), { once: true });
    import("./shelves.js").then((shelves) => released.signal.aborted || shelves.drag(event));
  });
  document.addEventListener("keydown", (event) => {
    const handle = event.target instanceof Element && event.target.closest("button.handle");
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
    for (const menu of document.querySelectorAll("details.menu[open]"))
      if (!menu.contains(target)) menu.removeAttribute("open");
    if (step instanceof HTMLElement) history.go(Number(step.dataset.step));
    else if (plain && link instanceof HTMLAnchorElement) {
      event.preventDefault();
      link.closest("details.menu")?.removeAttribute("open");
      import("./picker.js").then((picker) => picker.open(link));
    }
  });
}

/** @param {HTMLElement} form */
export function enhance(form) {
  if (!started) start();
  steps();
  findVariables();
  for (const handle of document.querySelectorAll(".handle")) // a finger on a handle drags: it neither scrolls nor flings
    handle.addEventListener("touchstart", held, { passive: false });
  /** @type {Map<HTMLSelectElement, string>} */
  const before = new Map();
  const selects = /** @type {NodeListOf<HTMLSelectElement>} */ (form.querySelectorAll(".chip select"));
  for (const select of selects) before.set(select, select.querySelector("option[selected]")?.getAttribute("value") ?? "");
  form.addEventListener("change", async (event) => {
    const changed = /** @type {HTMLSelectElement} */ (event.target);
    for (const select of selects) // a variable stands once: the other place gets what stood here
      if (select !== changed && select.value && before.has(changed) && select.value === changed.value)
        select.value = before.get(changed) ?? "";
    const { choiceOf, addressOf } = await import("./shelves.js");
    change(addressOf(choiceOf()));
  });
  // What a reader chose before this module was here.
  for (const [select, drawn] of before) if (select.value !== drawn) select.dispatchEvent(new Event("change", { bubbles: true }));
}
