// @ts-check
// Variables move between shelves by drag (mouse, pen, touch) and by keys. Each move is another address; the server draws it.
import { announce } from "./live.js";
import { change } from "./choice.js";
import { AXES, moved, readChoice, writeChoice } from "./grammar.js";

/** @typedef {import("./grammar.js").Axis} Axis */
/** @typedef {import("./grammar.js").Choice} Choice */

/** What was asked for and is not shown yet: a second key must not start from the old choice.
 * @type {Choice | null} */
let pending = null;

const builder = () => /** @type {HTMLElement} */ (document.getElementById("builder"));

/** What is chosen now. @returns {Choice} */
function choiceOf() {
  return readChoice([...new URLSearchParams(builder().dataset.query)]);
}

/** @param {Choice} choice */
function addressOf(choice) {
  return `${builder().dataset.address}?${writeChoice(choice)}`;
}

/** A sentence of the server with its values. @param {string} id @param {Record<string, string>} values */
function words(id, values) {
  const text = /** @type {HTMLTemplateElement} */ (document.getElementById(id)).content.textContent ?? "";
  return text.replace(/\{(\w+)\}/gu, (_, name) => values[name] ?? "");
}

/** @param {string} name */
function labelOf(name) {
  return document.querySelector(`.var[data-variable="${CSS.escape(name)}"] .name`)?.textContent ?? name;
}

/** Put a variable on a shelf, or take it out. @param {string} name @param {string} shelf @param {number} [place] */
async function put(name, shelf, place) {
  if (shelf === "only") {
    document.getElementById(`choose-${name}`)?.click();
    return;
  }
  const before = pending ?? choiceOf();
  const next = moved(before, name, /** @type {Axis | ""} */ (shelf), place);
  if (writeChoice(next) === writeChoice(before) || !AXES.some((axis) => next[axis].length)) return;
  pending = next;
  const legend = document.querySelector(`[data-shelf="${shelf}"]`)?.getAttribute("aria-label") ?? "";
  const at = shelf ? String(next[/** @type {Axis} */ (shelf)].indexOf(name) + 1) : "";
  announce(words(shelf ? "moved-words" : "removed-words", { variable: labelOf(name), shelf: legend, place: at }));
  await change(addressOf(next));
  if (pending === next) pending = null;
}

/** A key was pressed on the handle of a chip. @param {Element} handle @param {string} key */
export function press(handle, key) {
  const name = /** @type {HTMLElement | null} */ (handle.closest("[data-variable]"))?.dataset.variable ?? "";
  const choice = pending ?? choiceOf();
  const axis = AXES.find((each) => choice[each].includes(name));
  if (!axis) return;
  const place = choice[axis].indexOf(name);
  const towards = getComputedStyle(document.documentElement).direction === "rtl" ? -1 : 1;
  if (key === "ArrowLeft" || key === "ArrowRight")
    put(name, axis, Math.max(0, place + (key === "ArrowRight" ? towards : -towards)));
  else if (key === "ArrowUp" || key === "ArrowDown")
    put(name, AXES[(AXES.indexOf(axis) + (key === "ArrowDown" ? 1 : 2)) % 3] ?? axis);
  else put(name, "");
}

/** Before which chip of a shelf something is dropped. @param {Element} shelf @param {string} name @param {PointerEvent} at */
function placeAt(shelf, name, at) {
  const chips = /** @type {HTMLElement[]} */ ([...shelf.querySelectorAll(".chip[data-variable]")]);
  const rtl = getComputedStyle(shelf).direction === "rtl";
  return chips.filter((chip) => {
    const box = chip.getBoundingClientRect();
    const middle = (box.left + box.right) / 2;
    const beyond = rtl ? at.clientX < middle : at.clientX > middle;
    return chip.dataset.variable !== name && (at.clientY > box.bottom || (at.clientY > box.top && beyond));
  }).length;
}

/** A pointer was pressed on a variable: it may be the beginning of a drag. @param {PointerEvent} press */
export function drag(press) {
  const target = /** @type {HTMLElement} */ (press.target);
  const item = /** @type {HTMLElement | null} */ (target.closest?.("[data-variable]"));
  const name = item?.dataset.variable;
  const held = target.closest(".chip summary, .var summary");
  if (!item || !name || !held || press.button !== 0) return;
  const stop = new AbortController();
  /** @type {HTMLElement | null} */
  let ghost = null;
  /** @type {Element | null} */
  let over = null;
  const end = () => {
    stop.abort();
    ghost?.remove();
    over?.removeAttribute("data-over");
    document.documentElement.removeAttribute("data-dragging");
  };
  const options = { signal: stop.signal };
  addEventListener("pointermove", (move) => {
    if (move.pointerId !== press.pointerId) return;
    if (!move.buttons) return end();
    if (!ghost && Math.hypot(move.clientX - press.clientX, move.clientY - press.clientY) < 6) return;
    if (!ghost) {
      ghost = document.createElement("div");
      ghost.className = "ghost";
      ghost.textContent = labelOf(name);
      document.body.append(ghost);
      document.documentElement.setAttribute("data-dragging", "");
    }
    ghost.style.translate = `${move.clientX}px ${move.clientY}px`;
    if (move.clientY < 48 || move.clientY > innerHeight - 48) scrollBy(0, move.clientY < 48 ? -24 : 24);
    over?.removeAttribute("data-over");
    over = document.elementFromPoint(move.clientX, move.clientY)?.closest("[data-shelf], .side") ?? null;
    over?.setAttribute("data-over", "");
  }, options);
  addEventListener("pointerup", (up) => {
    if (up.pointerId !== press.pointerId) return;
    const shelf = ghost && over ? over : null;
    if (ghost && up.pointerType === "mouse") // the click that ends the drag opens nothing
      addEventListener("click", (click) => click.preventDefault(), { capture: true, signal: AbortSignal.timeout(0) });
    end();
    if (shelf instanceof HTMLElement && shelf.dataset.shelf) put(name, shelf.dataset.shelf, placeAt(shelf, name, up));
    else if (shelf && item.closest("[data-shelf]")) put(name, "");
  }, options);
  addEventListener("pointercancel", end, options);
  addEventListener("keydown", (key) => { if (key.key === "Escape") end(); }, options);
}
