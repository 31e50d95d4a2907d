// @ts-check
// The line below a table that reads the selected number aloud: its name, its range or why it has no number, and what a
// comparison with another number says. Texts come from the page: titles of cells, labels of rows and columns.

/** The selected cell. @type {HTMLElement | null} */
let selected = null;
/** The names of the cells that were chosen for a comparison, oldest first. @type {string[]} */
let chosen = [];

/** @param {string} id */
const element = (id) => document.getElementById(id);
const line = () => element("reading");

/** The header cells of a cell: of its row, and of its column, outer first. The innermost have their names in `data-cell`.
 * @param {HTMLElement} cell */
function heads(cell) {
  const place = [...(cell.parentElement?.querySelectorAll("td") ?? [])].findIndex((other) => other === cell);
  const over = [...(cell.closest("table")?.tHead?.rows ?? [])].map((row) => {
    let before = 0;
    return [...row.cells].filter((head) => !head.matches(".corner, .axis, .plot")).find((head) => (before += head.colSpan) > place);
  });
  return [cell.parentElement?.querySelector("th"), ...over].filter((head) => head instanceof HTMLElement);
}

/** The cell as the address of an interval names it: "sex=1,age=_T".
 * @param {HTMLElement} cell */
export function nameOf(cell) {
  return heads(cell).map((head) => head.dataset.cell).filter(Boolean).join(",");
}

/** Put a text, or what was answered, on the line.
 * @param {string} what @param {string} number @param {(string | Node)[]} range */
function write(what, number, ...range) {
  const [name, told] = /** @type {[HTMLElement, HTMLElement]} */ ([line()?.querySelector("[data-what]"), line()?.querySelector("[data-range]")]);
  const strong = document.createElement("strong");
  strong.textContent = number;
  name.replaceChildren(what, ...(number ? [strong] : []));
  told.replaceChildren(...range);
}

/** @param {boolean} compare @param {boolean} end */
function offer(compare, end) {
  element("compare-with")?.toggleAttribute("hidden", !compare);
  element("compare-end")?.toggleAttribute("hidden", !end);
}

/** Read a cell. @param {HTMLElement} cell */
export function read(cell) {
  if (!line() || !cell.matches("td")) return;
  selected = cell;
  for (const old of document.querySelectorAll("td.on")) old.classList.remove("on");
  cell.classList.add("on");
  if (chosen.length === 1) return;
  if (chosen.length > 1) end();
  const names = heads(cell).map((head) => head.textContent?.trim()).join(", ");
  write(`${names}: `, cell.firstChild?.textContent ?? "", cell.dataset.told ?? "");
  offer(nameOf(cell) !== "" && !cell.matches(".s"), false);
}

/** Show which cells are chosen. @param {ParentNode} root */
export function mark(root) {
  const known = chosen.length > 0 ? "td:not(.plot)" : "td[aria-selected]";
  for (const cell of /** @type {NodeListOf<HTMLElement>} */ (root.querySelectorAll(known)))
    cell.setAttribute("aria-selected", String(chosen.includes(nameOf(cell))));
}

/** One answer of the server about the chosen cells, as its page words it.
 * @param {string} word @param {AbortSignal} signal */
async function answer(word, signal) {
  const address = new URL(/** @type {string} */ (line()?.dataset.interval), location.href);
  const [one, other] = chosen;
  address.searchParams.append("cell", one ?? "");
  address.searchParams.append(word, other ?? "");
  const response = await fetch(address, { signal, headers: { accept: "text/html" } });
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  return page.querySelector("[data-answer]");
}

/** @type {AbortController | null} */
let asking = null;

function end() {
  asking?.abort();
  chosen = [];
  mark(document);
}

/** Choose a cell, or take it back; two are compared. @param {HTMLElement} cell */
export async function choose(cell) {
  const name = nameOf(cell);
  if (!name || !line()) return;
  const before = chosen.length > 1 ? [] : chosen;
  chosen = before.includes(name) ? [] : [...before, name];
  mark(document);
  asking?.abort();
  if (chosen.length === 0) return read(cell);
  const words = /** @type {HTMLTemplateElement} */ (element("second-words")).content.textContent ?? "";
  offer(false, true);
  if (chosen.length === 1) return write(words.replace("{name}", heads(cell).map((head) => head.textContent?.trim()).join(", ")), "");
  asking = new AbortController();
  const { signal } = asking;
  line()?.classList.add("busy");
  try {
    const found = await Promise.all([answer("minus", signal), answer("over", signal)]);
    write("", "", ...found.filter((one) => one !== null));
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    line()?.classList.remove("busy");
  }
}

/** Titles become what the line says: a browser would show them to a mouse alone.
 * @param {HTMLElement} cell */
export function take(cell) {
  cell.dataset.told = cell.title;
  cell.removeAttribute("title");
}

/** Read the cells of a table that are selected. @param {HTMLElement} region */
export function watch(region) {
  /** @param {Event} event */
  const cellOf = (event) => /** @type {HTMLElement | null} */ (/** @type {Element} */ (event.target).closest?.("td:not(.plot)"));
  [chosen, selected] = [[], null];
  line()?.removeAttribute("hidden");
  region.addEventListener("focusin", (event) => { const cell = cellOf(event); if (cell) read(cell); });
  region.addEventListener("click", (event) => {
    const cell = cellOf(event);
    if (!cell) return;
    if (document.activeElement !== cell) cell.focus({ preventScroll: true });
    if (chosen.length === 1) choose(cell);
  });
  region.addEventListener("keydown", (event) => {
    const cell = cellOf(event);
    if (event.key === "Escape" && chosen.length) { end(); if (selected) read(selected); }
    if (!cell || (event.key !== "Enter" && event.key !== " ")) return;
    event.preventDefault();
    choose(cell);
  });
  const button = element("compare-with");
  if (button) button.onclick = () => { if (selected) choose(selected); };
  const close = element("compare-end");
  if (close) close.onclick = () => { end(); if (selected) read(selected); selected?.focus({ preventScroll: true }); };
}
