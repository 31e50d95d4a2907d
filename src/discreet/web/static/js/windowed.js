// @ts-check
// A large table: a window that moves over it. Only what is in sight stands in the page; the server sends it in blocks of
// one whole table, already worded. Without this the table is read page by page.
import { COLUMNS, ROWS, blocks } from "./blocks.js";
import { moved, step } from "./cells.js";
import { mark, watch } from "./reading.js";

/** @typedef {import("./blocks.js").Line} Line */
/** @typedef {import("./blocks.js").Cell} Cell */

/** Rows and columns that are drawn beyond the edge; columns come and go so many at a time. */
const BEYOND = 4;

/** @template {keyof HTMLElementTagNameMap} T
 * @param {T} name @param {Record<string, string>} attributes @param {string} text */
function made(name, attributes, text = "") {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) if (value) element.setAttribute(key, value);
  if (text) element.textContent = text;
  return element;
}

/** An empty row that stands for those that are not drawn. */
function spaced() {
  const space = made("tbody", { "aria-hidden": "true" });
  space.append(made("tr", {}));
  return space;
}

/** How many letters the longest of some texts has.
 * @param {Iterable<Element>} elements */
const longest = (elements) => Math.max(0, ...[...elements].map((element) => element.textContent?.trim().length ?? 0));

/** @param {HTMLElement} region */
export function enhance(region) {
  const table = /** @type {HTMLTableElement} */ (region.querySelector("table"));
  const head = /** @type {HTMLTableSectionElement} */ (table.tHead);
  const corner = /** @type {HTMLElement} */ (head.querySelector(".corner"));
  const axis = /** @type {HTMLElement | null} */ (head.querySelector(".axis"));
  const levels = head.rows.length - (axis ? 1 : 0);
  const [height, width] = [Number(region.dataset.rows), Number(region.dataset.columns)];
  const rem = Number.parseFloat(getComputedStyle(document.documentElement).fontSize);
  const stub = corner.getBoundingClientRect().width;
  const outer = longest(document.querySelectorAll("h2.part, .grid .heading"));
  const long = outer + longest(table.querySelectorAll("tbody th[scope=row]")) > stub / rem * 1.9;
  const row = Math.round(rem * Math.max(long ? 3.25 : 2, 2 + 1.1 * Number(region.dataset.beside)));
  const column = Math.round(rem * (region.clientWidth < 40 * rem ? 5.5 : 7.5));
  const sorted = region.dataset.sorted ?? "";
  const body = made("tbody", {});
  // The table is as high as all of its rows, so that its head stays in place however far a reader scrolls before the next frame.
  const [above, below] = [spaced(), spaced()];
  const sizer = made("div", { class: "sizer" });
  /** @type {Map<number, HTMLTableRowElement>} */
  const drawn = new Map();
  const sorting = region.dataset.sort !== undefined;
  /** Row -1 is that of the links that sort. */
  let active = { row: 0, column: 0 };
  let lost = false;
  let columns = { from: -1, to: -1, whole: false };
  let waiting = 0;
  let tall = 0;
  const later = () => { waiting ||= requestAnimationFrame(() => { waiting = 0; draw(); }); };
  const block = blocks(/** @type {string} */ (region.dataset.block), later);

  const pressed = [...head.querySelectorAll("th[data-cell] a")].findIndex((link) => link === document.activeElement);
  if (pressed >= 0) active = { row: -1, column: pressed };
  for (const old of [...table.tBodies]) old.remove();
  table.append(above, body, below);
  region.append(sizer);
  sizer.append(table);
  region.classList.add("windowed");
  sizer.style.width = `${stub + width * column}px`;
  region.style.setProperty("--row", `${row}px`);
  region.style.setProperty("--column", `${column}px`);
  for (const [name, value] of Object.entries({ role: "grid", "aria-rowcount": String(height + head.rows.length), "aria-colcount": String(width + 1) })) {
    table.setAttribute(name, value);
  }
  for (const part of document.querySelectorAll(".pager a, .part:not(:first-of-type)")) if (part !== region) part.setAttribute("hidden", "");
  const told = document.getElementById("rows-shown");

  /** A line of columns: its label, and the link that sorts by it.
   * @param {Line} line */
  function heading(line) {
    const cell = made("th", { scope: "col", class: line.look, "data-cell": line.cell });
    if (!sorting) {
      cell.append(made("bdi", {}, line.labels.at(-1) || "…"));
      return cell;
    }
    const name = [line.cell, region.dataset.sort].filter(Boolean).join(",") || "value";
    const address = new URL(location.href);
    const told = sorted === name ? "ascending" : sorted === `-${name}` ? "descending" : "";
    if (told === "ascending") address.searchParams.delete("sort");
    else address.searchParams.set("sort", told ? name : `-${name}`);
    address.searchParams.delete("page");
    const link = made("a", { "data-live": "yes", href: address.href, tabindex: "-1" });
    link.append(made("bdi", {}, line.labels.at(-1) || "…"));
    link.dataset.sort = told;
    if (told) cell.setAttribute("aria-sort", told);
    cell.append(link);
    return cell;
  }

  /** The header rows over the columns in sight; a category spans those of its columns that are drawn. A heading that stays
   * in sight stays the same element: a press that begins on it ends on it.
   * @param {Line[]} lines */
  function drawHead(lines) {
    for (const old of /** @type {NodeListOf<HTMLElement>} */ (head.querySelectorAll("th:not(.corner, .axis)"))) {
      const line = lines[Number(old.getAttribute("aria-colindex") ?? 0) - 2 - columns.from];
      if (!line?.cell || line.cell !== old.dataset.cell) old.remove();
    }
    if (axis) axis.setAttribute("colspan", String(lines.length));
    for (let level = 0; level < levels - 1; level += 1) {
      const line = /** @type {HTMLTableRowElement} */ (head.rows[level + (axis ? 1 : 0)]);
      for (const one of lines) {
        const outer = `${one.labels.slice(0, level + 1).join("\u0000")}.`;
        const last = /** @type {HTMLTableCellElement | null} */ (line.lastElementChild);
        if (last && last.dataset.outer === outer) last.colSpan += 1;
        else {
          const cell = made("th", { scope: "colgroup", class: "g", "data-outer": outer });
          cell.append(made("span", {}, one.labels[level] || "…"));
          line.append(cell);
        }
      }
    }
    const inner = /** @type {HTMLTableRowElement} */ (head.rows[head.rows.length - 1]);
    /** @type {Element | null} */
    let next = null;
    for (let place = lines.length - 1; place >= 0; place -= 1) {
      const at = String(columns.from + place + 2);
      let cell = inner.querySelector(`[aria-colindex="${at}"]`);
      if (!cell) {
        cell = heading(/** @type {Line} */ (lines[place]));
        cell.setAttribute("aria-colindex", at);
        inner.insertBefore(cell, next);
      }
      next = cell;
    }
    [...head.rows].forEach((line, place) => line.setAttribute("aria-rowindex", String(place + 1)));
  }

  /** @param {Cell | undefined} found @param {number} place */
  function drawCell(found, place) {
    const [text, look, notes, told] = found ?? ["", "", [], ""];
    const cell = made("td", { class: look, tabindex: "-1", "aria-colindex": String(place + 2) }, text);
    cell.dataset.told = told;
    for (const note of notes) cell.append(made("small", {}, note));
    return cell;
  }

  /** One row, as far as its blocks are here.
   * @param {number} place */
  function drawRow(place) {
    const line = made("tr", { "aria-rowindex": String(place + head.rows.length + 1) });
    const first = block(place, columns.from);
    const told = first?.rows[place % ROWS];
    const label = made("th", { scope: "row", "data-cell": told?.cell ?? "", class: told?.depth ? `depth-${Math.min(told.depth, 3)}` : "", "aria-colindex": "1" });
    label.append(made("bdi", {}, told?.labels.join(", ") || "…"));
    line.append(label);
    let whole = first !== undefined;
    for (let at = columns.from; at < columns.to; at += 1) {
      const found = block(place, at);
      whole &&= found !== undefined;
      line.append(drawCell(found?.cells[place % ROWS]?.[at % COLUMNS], at));
    }
    line.classList.toggle("total", told?.totals.at(-1) ?? false);
    line.toggleAttribute("aria-busy", !whole);
    return line;
  }

  /** The lines of the columns in sight; those that are not here yet have no label. @param {number} at */
  function lineOf(at) {
    const found = block([...drawn.keys()][0] ?? Math.floor(region.scrollTop / row), at);
    return found?.columns[at % COLUMNS];
  }

  function draw() {
    if (!region.isConnected) return;
    const top = Math.max(0, Math.floor(region.scrollTop / row) - BEYOND);
    const end = Math.min(height, Math.ceil((region.scrollTop + region.clientHeight) / row) + BEYOND);
    const side = Math.abs(region.scrollLeft) / column;
    const left = Math.max(0, BEYOND * (Math.floor(side / BEYOND) - 1));
    const right = Math.min(width, BEYOND * (Math.ceil((side + (region.clientWidth - stub) / column) / BEYOND) + 1));
    const turned = left !== columns.from || right !== columns.to;
    const focused = (columns.to < 0 && pressed >= 0) || table.contains(document.activeElement);
    if (turned) columns = { from: left, to: right, whole: false };
    for (const [place, line] of drawn) {
      if (turned || place < top || place >= end || line.hasAttribute("aria-busy")) {
        line.remove();
        drawn.delete(place);
      }
    }
    for (let place = end - 1; place >= top; place -= 1) {
      if (drawn.has(place)) continue;
      const line = drawRow(place);
      const next = drawn.get(place + 1);
      if (next) next.before(line); else body.append(line);
      drawn.set(place, line);
    }
    above.rows[0]?.style.setProperty("height", `${top * row}px`);
    below.rows[0]?.style.setProperty("height", `${(height - end) * row}px`);
    if (turned || !columns.whole) {
      const lines = Array.from({ length: right - left }, (_, at) => lineOf(left + at));
      columns.whole = lines.every(Boolean);
      drawHead(lines.map((line) => line ?? { labels: Array(levels).fill(""), cell: "", totals: [false], depth: 0, look: "" }));
      tall = head.offsetHeight;
    }
    const last = Math.min(height, Math.floor((region.scrollTop + region.clientHeight - tall) / row));
    const numbers = { first: Math.floor(region.scrollTop / row) + 1, last, rows: height };
    if (told) told.textContent = (told.dataset.words ?? "").replace(/\{(\w+)\}/gu, (_, name) => numbers[/** @type {keyof typeof numbers} */ (name)].toLocaleString(document.documentElement.lang));
    if (turned) {
      table.style.insetInlineStart = `${left * column}px`;
      table.style.width = `${stub + (right - left) * column}px`;
    }
    const cell = cellAt();
    const stop = cellAt(Math.max(0, active.row));
    if (stop) stop.tabIndex = 0;
    mark(body);
    if (focused && !table.contains(document.activeElement)) {
      if (cell) cell.focus({ preventScroll: true });
      else {
        lost = true;
        region.focus({ preventScroll: true });
      }
    }
  }

  /** The cell or the link that takes the focus, if it is drawn. */
  function cellAt(row = active.row) {
    const line = row < 0 ? head : drawn.get(row);
    return /** @type {HTMLElement | null | undefined} */ (line?.querySelector(`td[aria-colindex="${active.column + 2}"], th[aria-colindex="${active.column + 2}"] a`));
  }

  /** Scroll until the active cell is in sight, and give it the focus. */
  function reveal() {
    const [start, side] = [active.row * row, active.column * column];
    const [room, wide] = [region.clientHeight - tall, region.clientWidth - stub];
    const across = Math.abs(region.scrollLeft);
    const sign = getComputedStyle(region).direction === "rtl" ? -1 : 1;
    if (start < region.scrollTop) region.scrollTop = start;
    else if (start + row > region.scrollTop + room) region.scrollTop = start + row - room;
    if (side < across) region.scrollLeft = sign * side;
    else if (side + column > across + wide) region.scrollLeft = sign * (side + column - wide);
    for (const old of /** @type {NodeListOf<HTMLElement>} */ (body.querySelectorAll("td[tabindex='0']"))) old.tabIndex = -1;
    draw();
    lost = false;
    cellAt()?.focus({ preventScroll: true });
  }

  region.addEventListener("scroll", later, { passive: true });
  region.addEventListener("keydown", (event) => {
    const by = step(event, table);
    const target = /** @type {HTMLElement} */ (event.target);
    if (!by || !(target.closest("td, th[aria-colindex] a") || (lost && target === region))) return;
    event.preventDefault();
    const sheet = Math.max(1, Math.floor((region.clientHeight - tall) / row) - 1);
    const down = event.key.startsWith("Page") ? Math.sign(by[0]) * sheet : by[0];
    const first = sorting ? -1 : 0;
    active = { row: moved(active.row - first, down, height - first) + first, column: moved(active.column, by[1], width) };
    reveal();
  });
  table.addEventListener("focusin", (event) => {
    const cell = /** @type {Element} */ (event.target).closest("td, thead th[aria-colindex]");
    if (!cell) return;
    const line = Number(cell.parentElement?.getAttribute("aria-rowindex")) - head.rows.length - 1;
    active = { row: Math.max(-1, line), column: Number(cell.getAttribute("aria-colindex")) - 2 };
  });
  region.ownerDocument.addEventListener("keydown", (event) => { // a window cannot be printed: its page for paper can
    if (event.key !== "p" || !(event.ctrlKey || event.metaKey) || !region.isConnected) return;
    event.preventDefault();
    location.assign(`${region.dataset.print}#now`);
  });
  new ResizeObserver(later).observe(region);
  watch(region);
  draw();
}
