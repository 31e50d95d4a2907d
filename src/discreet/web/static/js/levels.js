// @ts-check
// Rows that hold others open and close: groups under a heading, and the levels of a hierarchy. Without this all are open.

/** @param {HTMLElement} row */
const depthOf = (row) => Number(row.querySelector("th")?.dataset.depth ?? 0);

/** The rows that a row holds: those of its group, or the deeper ones right below it.
 * @param {HTMLElement} row */
function held(row) {
  const rows = [];
  const heading = row.classList.contains("heading");
  for (let next = row.nextElementSibling; next instanceof HTMLElement; next = next.nextElementSibling) {
    if (!heading && depthOf(next) <= depthOf(row)) break;
    rows.push(next);
  }
  return rows;
}

/** Show or hide every row by the buttons above it.
 * @param {HTMLTableElement} table */
function redraw(table) {
  const hidden = new Set();
  for (const button of table.querySelectorAll(".fold[aria-expanded='false']")) {
    for (const row of held(/** @type {HTMLElement} */ (button.closest("tr")))) hidden.add(row);
  }
  for (const row of table.tBodies) for (const line of row.rows) line.classList.toggle("folded", hidden.has(line));
}

/** @param {HTMLElement} region */
export function enhance(region) {
  const table = /** @type {HTMLTableElement} */ (region.querySelector("table"));
  for (const row of /** @type {NodeListOf<HTMLElement>} */ (table.querySelectorAll("tbody tr"))) {
    if (held(row).length === 0 || row.classList.contains("total")) continue;
    const label = /** @type {HTMLElement} */ (row.querySelector("th span") ?? row.querySelector("th"));
    const button = document.createElement("button");
    button.type = "button";
    button.className = "fold";
    button.setAttribute("aria-expanded", "true");
    button.append(...label.childNodes);
    label.append(button);
    button.addEventListener("click", () => {
      button.setAttribute("aria-expanded", String(button.getAttribute("aria-expanded") !== "true"));
      redraw(table);
    });
  }
  for (const [id, open] of /** @type {[string, boolean][]} */ ([["fold-all", false], ["unfold-all", true]])) {
    const all = document.getElementById(id);
    all?.parentElement?.removeAttribute("hidden");
    all?.addEventListener("click", () => {
      for (const button of table.querySelectorAll(".fold")) button.setAttribute("aria-expanded", String(open));
      redraw(table);
    });
  }
}
