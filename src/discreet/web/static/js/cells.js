// @ts-check
// A table whose cells take the focus: one of them by Tab, the others by arrows, Home, End and the page keys.
import { take, watch } from "./reading.js";

/** Where a key leads, in rows and columns; Infinity is the edge.
 * @type {Record<string, [number, number]>} */
export const STEPS = {
  ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1],
  PageUp: [-10, 0], PageDown: [10, 0], Home: [0, -Infinity], End: [0, Infinity],
};

/** The step of a key; from right to left, left is onward. With Control, Home and End go to the corners.
 * @param {KeyboardEvent} event @param {Element} table @returns {[number, number] | null} */
export function step(event, table) {
  const found = STEPS[event.key];
  if (!found || event.altKey || event.metaKey) return null;
  const turned = event.key.startsWith("Arrow") && getComputedStyle(table).direction === "rtl" ? -1 : 1;
  const corner = event.ctrlKey && (event.key === "Home" || event.key === "End");
  return [corner ? found[1] : found[0], found[1] === 0 ? 0 : turned * found[1]];
}

/** @param {number} place @param {number} by @param {number} length */
export const moved = (place, by, length) => Math.max(0, Math.min(length - 1, place + by));

/** @param {HTMLElement} region */
export function enhance(region) {
  const table = /** @type {HTMLTableElement} */ (region.querySelector("table"));
  table.setAttribute("role", "grid");
  const lines = () => [...table.rows].filter((row) => row.querySelector("td, thead th[scope=col]") && row.offsetParent !== null);
  /** What can be reached in a row: its cells, or the links of its headers.
   * @param {HTMLTableRowElement} row */
  const stops = (row) => /** @type {HTMLElement[]} */ ([...row.querySelectorAll("td:not(.plot), thead th[scope=col]:not(.corner) a")]);
  for (const cell of /** @type {NodeListOf<HTMLElement>} */ (table.querySelectorAll("td:not(.plot)"))) {
    take(cell);
    cell.tabIndex = -1;
  }
  for (const link of /** @type {NodeListOf<HTMLElement>} */ (table.querySelectorAll("thead a"))) link.tabIndex = -1;
  const corner = /** @type {HTMLElement | null} */ (table.querySelector(".corner a"));
  if (corner) corner.tabIndex = 0;
  const first = /** @type {HTMLElement | null} */ (table.querySelector("td:not(.plot)"));
  if (first) first.tabIndex = 0;
  table.addEventListener("keydown", (event) => {
    const here = /** @type {HTMLElement} */ (event.target);
    const by = step(event, table);
    const rows = lines().map(stops).filter((row) => row.length > 0);
    const place = rows.findIndex((row) => row.includes(here));
    if (!by || place < 0) return;
    event.preventDefault();
    const there = rows[moved(place, by[0], rows.length)] ?? [];
    const next = there[moved((rows[place] ?? []).indexOf(here), by[1], there.length)] ?? here;
    here.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  });
  table.addEventListener("pointerdown", (event) => {
    const cell = /** @type {Element} */ (event.target).closest("td:not(.plot)");
    if (!(cell instanceof HTMLElement)) return;
    for (const other of /** @type {NodeListOf<HTMLElement>} */ (table.querySelectorAll("td[tabindex='0']"))) other.tabIndex = -1;
    cell.tabIndex = 0;
  });
  watch(region);
}
