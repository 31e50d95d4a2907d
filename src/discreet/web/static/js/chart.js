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

/** The mark to go to from another by a key: on a map the nearest in that direction, else the next.
 * @param {SVGElement[]} marks @param {SVGElement} from @param {string} key @param {boolean} map
 * @returns {SVGElement | undefined} */
function neighbour(marks, from, key, map) {
  if (key === "Home" || key === "End") return marks.at(key === "Home" ? 0 : -1);
  const forward = key === "ArrowRight" || key === "ArrowDown";
  if (!map) return marks[Math.max(marks.indexOf(from) + (forward ? 1 : -1), 0)];
  /** @param {Element} mark */
  const middle = (mark) => { const box = mark.getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2]; };
  const [x = 0, y = 0] = middle(from);
  const across = key === "ArrowRight" || key === "ArrowLeft";
  let [best, least] = [from, Infinity];
  for (const mark of marks) {
    const [to = 0, down = 0] = middle(mark);
    const [ahead, aside] = across ? [to - x, down - y] : [down - y, to - x];
    const way = forward ? ahead : -ahead;
    if (mark !== from && way > Math.abs(aside) && way + Math.abs(aside) < least) [best, least] = [mark, way + Math.abs(aside)];
  }
  return best;
}

/** @param {HTMLElement} figure */
export function enhance(figure) {
  const marks = /** @type {SVGElement[]} */ ([...figure.querySelectorAll("[data-cell]")]);
  const tip = /** @type {HTMLElement} */ (figure.querySelector(".mark-tip"));
  if (marks.length === 0) return;
  figure.querySelector(".pointer-hint")?.toggleAttribute("hidden", false);
  const picture = figure.querySelector("svg[data-chart]");
  picture?.setAttribute("role", "group");
  marks.forEach((mark, place) => mark.setAttribute("tabindex", place === 0 ? "0" : "-1"));
  /** @param {Event} event */
  const markOf = (event) => /** @type {SVGElement | null} */ (/** @type {Element} */ (event.target).closest("[data-cell]"));

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
  for (const [name, shown] of [["pointerover", true], ["focusin", true], ["pointerout", false], ["focusout", false]]) {
    figure.addEventListener(String(name), (event) => {
      const mark = markOf(event);
      if (mark && shown) show(mark);
      else hide();
    });
  }
  figure.addEventListener("click", (event) => {
    const mark = markOf(event);
    if (mark && /** @type {PointerEvent} */ (event).pointerType === "touch") show(mark);
    else if (mark) find(mark);
  });
  figure.addEventListener("keydown", (event) => {
    const mark = markOf(event);
    if (!mark) return;
    if (/^(Arrow|Home|End)/.test(event.key)) {
      const next = neighbour(marks, mark, event.key, picture?.getAttribute("data-chart") === "map") ?? mark;
      mark.setAttribute("tabindex", "-1");
      next.setAttribute("tabindex", "0");
      next.focus();
    } else if (event.key === "Enter" || event.key === " ") find(mark);
    else if (event.key === "Escape") hide();
    else return;
    event.preventDefault();
  });
}
