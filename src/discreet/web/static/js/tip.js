// @ts-check
// What is told of a cell: its interval or why it has no number, beside it, on focus, hover and tap; and two cells chosen
// for a comparison, which the server works out. Texts come from the page: titles of cells, labels of rows and columns.

/** @type {HTMLElement | null} */
let shown = null;
/** The names of the cells that were chosen, oldest first.
 * @type {string[]} */
let chosen = [];

/** @param {string} id */
const element = (id) => document.getElementById(id);

/** The header cells of a cell: of its row, and of its column, outer first. The innermost have their names in `data-cell`.
 * @param {HTMLElement} cell */
function heads(cell) {
  const place = [...(cell.parentElement?.querySelectorAll("td") ?? [])].findIndex((other) => other === cell);
  const over = [...(cell.closest("table")?.tHead?.rows ?? [])].map((line) => {
    let before = 0;
    return [...line.cells].filter((head) => !head.matches(".corner, .axis")).find((head) => (before += head.colSpan) > place);
  });
  return [cell.parentElement?.querySelector("th"), ...over].filter((head) => head instanceof HTMLElement);
}

/** The cell as the address of an interval names it: "sex=1,age=_T".
 * @param {HTMLElement} cell */
export function nameOf(cell) {
  return heads(cell).map((head) => head.dataset.cell).filter(Boolean).join(",");
}

/** Put what is told beside the cell.
 * @param {HTMLElement} cell */
function place(cell) {
  const tip = /** @type {HTMLElement} */ (element("tip"));
  const box = cell.getBoundingClientRect();
  const mine = tip.getBoundingClientRect();
  const below = box.bottom + 6 + mine.height < innerHeight;
  tip.style.top = `${below ? box.bottom + 6 : Math.max(0, box.top - mine.height - 6)}px`;
  tip.style.left = `${Math.max(4, Math.min(box.right - mine.width, innerWidth - mine.width - 4))}px`;
}

/** @param {HTMLElement} cell */
export function tell(cell) {
  const tip = element("tip");
  const text = element("tip-text");
  const where = element("tip-place");
  const told = cell.dataset.told ?? "";
  if (!tip || !text || !where || !cell.matches("td")) return;
  if (!told) return hide();
  shown?.removeAttribute("aria-describedby");
  shown = cell;
  text.textContent = told;
  where.textContent = heads(cell).map((head) => head.textContent?.trim()).join(" \u00b7 ");
  cell.setAttribute("aria-describedby", "tip-text");
  tip.showPopover?.();
  place(cell);
}

export function hide() {
  const tip = element("tip");
  shown?.removeAttribute("aria-describedby");
  shown = null;
  if (tip?.matches(":popover-open")) tip.hidePopover();
}

/** Show which cells are chosen.
 * @param {ParentNode} root */
export function mark(root) {
  const known = chosen.length > 0 ? "td" : "td[aria-selected]";
  for (const cell of /** @type {NodeListOf<HTMLElement>} */ (root.querySelectorAll(known))) {
    cell.setAttribute("aria-selected", String(chosen.includes(nameOf(cell))));
  }
}

/** One answer of the server about the chosen cells, as its page words it.
 * @param {string} word @param {AbortSignal} signal */
async function answer(word, signal) {
  const address = new URL(/** @type {string} */ (element("sure")?.dataset.interval), location.href);
  const [one, other] = chosen;
  address.searchParams.append("cell", one ?? "");
  address.searchParams.append(word, other ?? "");
  const response = await fetch(address, { signal, headers: { accept: "text/html" } });
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  return page.querySelector("[data-answer]");
}

/** @type {AbortController | null} */
let asking = null;

/** Choose a cell, or take it back; two are compared.
 * @param {HTMLElement} cell */
export async function choose(cell) {
  const name = nameOf(cell);
  const panel = element("sure");
  const place = element("compare");
  if (!name || !panel || !place) return;
  chosen = chosen.includes(name) ? chosen.filter((other) => other !== name) : [...chosen.slice(-1), name];
  mark(document);
  asking?.abort();
  asking = new AbortController();
  if (chosen.length < 2) return place.replaceChildren();
  panel.setAttribute("open", "");
  const { signal } = asking;
  try {
    const found = await Promise.all([answer("minus", signal), answer("over", signal)]);
    place.replaceChildren(...found.filter((one) => one !== null));
    hide();
    panel.scrollIntoView({ block: "nearest" });
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

/** Titles become what is told: a browser would show them to a mouse alone.
 * @param {HTMLElement} cell */
export function take(cell) {
  cell.dataset.told = cell.title;
  cell.removeAttribute("title");
}

/** Tell of the cells of a table.
 * @param {HTMLElement} region */
export function watch(region) {
  /** @param {Event} event */
  const cellOf = (event) => /** @type {HTMLElement | null} */ (/** @type {Element} */ (event.target).closest?.("td"));
  let still = 0; // when the table will have stood still for a moment: what passes below a mouse is not looked at
  chosen = [];
  element("compare-how")?.removeAttribute("hidden");
  region.addEventListener("focusin", (event) => { const cell = cellOf(event); if (cell) tell(cell); });
  region.addEventListener("focusout", (event) => {
    const next = /** @type {FocusEvent} */ (event).relatedTarget;
    if (!(next instanceof Element && next.closest("#tip"))) hide();
  });
  region.addEventListener("pointerover", (event) => {
    const cell = cellOf(event);
    if (cell && event.pointerType === "mouse" && event.timeStamp > still) tell(cell);
  });
  region.addEventListener("pointerleave", (event) => {
    const next = event.relatedTarget;
    if (event.pointerType === "mouse" && !(next instanceof Element && next.closest("#tip"))) hide();
  });
  region.addEventListener("scroll", (event) => {
    still = event.timeStamp + 200;
    if (shown?.matches(":focus")) place(shown); else hide();
  }, { passive: true });
  region.addEventListener("keydown", (event) => {
    const cell = cellOf(event);
    if (event.key === "Escape") hide();
    else if (cell && (event.key === "Enter" || event.key === " ")) { event.preventDefault(); choose(cell); }
  });
  const tip = element("tip");
  if (tip && !tip.dataset.ready) {
    tip.dataset.ready = "yes";
    tip.addEventListener("pointerleave", () => { if (!shown?.matches(":focus")) hide(); });
    tip.addEventListener("keydown", (event) => { if (event.key === "Escape") { shown?.focus(); hide(); } });
    element("tip-pick")?.addEventListener("click", () => { if (shown) choose(shown); });
    element("tip-close")?.addEventListener("click", hide);
  }
}
