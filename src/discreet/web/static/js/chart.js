// @ts-check
// A picture of the server that speaks: a mark tells its number when it is pointed at or has the focus, and leads to its cell in
// the table. The words are the marks' own labels; nothing is drawn here.
import { announce } from "./live.js";

/** The cell of the table that a mark shows: layer, row and column.
 * @param {Element} mark @returns {HTMLElement | undefined} */
function cellOf(mark) {
  const [layer = 0, row = 0, column = 0] = (mark.getAttribute("data-cell") ?? "").split(",").map(Number);
  const table = document.querySelectorAll("table.grid")[layer];
  if (table?.closest(".windowed")) return undefined; // it holds only the rows in sight
  const line = table?.querySelectorAll("tbody tr:not(.heading)")[row];
  return /** @type {HTMLElement | undefined} */ (line?.querySelectorAll("td")[column]);
}

/** @param {Element} mark */
function find(mark) {
  const cell = cellOf(mark);
  if (!cell) return announce(mark.getAttribute("aria-label") ?? "");
  cell.closest("details")?.toggleAttribute("open", true);
  document.querySelector("td.found")?.classList.remove("found");
  cell.classList.add("found");
  cell.tabIndex = -1;
  cell.focus({ preventScroll: true });
  cell.scrollIntoView({ block: "center", inline: "center" });
}

/** @param {HTMLElement} figure */
export function enhance(figure) {
  const marks = /** @type {SVGElement[]} */ ([...figure.querySelectorAll("[data-cell]")]);
  const tip = /** @type {HTMLElement} */ (figure.querySelector(".mark-tip"));
  if (marks.length === 0) return;
  figure.querySelector(".pointer-hint")?.toggleAttribute("hidden", false);
  figure.querySelector("svg")?.setAttribute("role", "group");
  marks.forEach((mark, place) => mark.setAttribute("tabindex", place === 0 ? "0" : "-1"));

  /** @param {SVGElement} mark */
  const show = (mark) => {
    tip.textContent = mark.getAttribute("aria-label");
    tip.hidden = false;
    const [inside, around] = [mark.getBoundingClientRect(), figure.getBoundingClientRect()];
    const most = Math.max(around.width - tip.offsetWidth, 0);
    tip.style.left = `${Math.min(Math.max(inside.left + inside.width / 2 - around.left - tip.offsetWidth / 2, 0), most)}px`;
    tip.style.top = `${inside.top - around.top - tip.offsetHeight - 8}px`;
  };
  const hide = () => { tip.hidden = true; };
  /** @param {number} place */
  const go = (place) => {
    const next = marks[Math.min(Math.max(place, 0), marks.length - 1)];
    for (const mark of marks) mark.setAttribute("tabindex", mark === next ? "0" : "-1");
    next?.focus();
  };
  /** @type {Record<string, (place: number) => number>} */
  const moves = {
    ArrowRight: (place) => place + 1, ArrowDown: (place) => place + 1, ArrowLeft: (place) => place - 1,
    ArrowUp: (place) => place - 1, Home: () => 0, End: () => marks.length - 1,
  };
  marks.forEach((mark, place) => {
    mark.addEventListener("pointerenter", () => show(mark));
    mark.addEventListener("pointerleave", hide);
    mark.addEventListener("focus", () => show(mark));
    mark.addEventListener("blur", hide);
    mark.addEventListener("click", (event) => {
      if (/** @type {PointerEvent} */ (event).pointerType === "touch") show(mark);
      else find(mark);
    });
    mark.addEventListener("keydown", (event) => {
      const move = moves[event.key];
      if (move) go(move(place));
      else if (event.key === "Enter" || event.key === " ") find(mark);
      else if (event.key === "Escape") hide();
      else return;
      event.preventDefault();
    });
  });
}
