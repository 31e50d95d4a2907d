// @ts-check
// The blocks of a large table, fetched when they are looked at.

/** @typedef {{ labels: string[], cell: string, totals: boolean[], depth: number, look: string }} Line */
/** @typedef {[string, string, string[], string]} Cell */
/** @typedef {{ rows: Line[], columns: Line[], cells: Cell[][] }} Block */

export const ROWS = 50;
export const COLUMNS = 25;
const KEPT = 200;
const AT_ONCE = 4;
/** A block that did not come, from a busy server or over a bad line, is asked for again after so many milliseconds. */
const AGAIN = 3000;

/** @param {string} address @param {() => void} changed Called when a block is here, or can be asked for again. */
export function blocks(address, changed) {
  /** @type {Map<string, Block>} */
  const kept = new Map();
  /** @type {Set<string>} */
  const asked = new Set();
  /** @param {number} down @param {number} across */
  async function ask(down, across) {
    const name = `${down},${across}`;
    const url = new URL(address, location.href);
    const wanted = { from_row: down * ROWS, rows_wanted: ROWS, from_column: across * COLUMNS, columns_wanted: COLUMNS };
    for (const [key, value] of Object.entries(wanted)) url.searchParams.set(key, String(value));
    asked.add(name);
    try {
      const response = await fetch(url);
      if (!response.ok) throw new Error(response.statusText);
      kept.set(name, await response.json());
      if (kept.size > KEPT) kept.delete(/** @type {string} */ (kept.keys().next().value));
    } catch {
      await new Promise((done) => { setTimeout(done, AGAIN); });
    }
    asked.delete(name);
    changed();
  }
  /** The block of a row and a column, if it is here; what is not will come.
   * @param {number} row @param {number} column @returns {Block | undefined} */
  return (row, column) => {
    const [down, across] = [Math.floor(row / ROWS), Math.floor(column / COLUMNS)];
    const found = kept.get(`${down},${across}`);
    if (!found && asked.size < AT_ONCE && !asked.has(`${down},${across}`)) ask(down, across);
    return found;
  };
}
