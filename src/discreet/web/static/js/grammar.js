// @ts-check
// The address of a table, read and written as model/request.py and model/grammar.py do: tests/vectors/url_grammar.json
// says for both what an address means. A comma separates items, a plus joins the items of a group, and a backslash
// takes the next character literally.

/** @typedef {{ rows: string[], columns: string[], layers: string[], filters: [string, string[]][],
 *   groups: [string, string[][]][], levels: [string, string[]][], rest: [string, string][] }} Choice */
/** @typedef {"rows" | "columns" | "layers"} Axis */

/** @type {Axis[]} */
export const AXES = ["rows", "columns", "layers"];
const BLANK = "[\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]";
const EDGES = new RegExp(`^${BLANK}+|${BLANK}+$`, "gu");

/** What Python calls blank, taken from both ends. @param {string} text */
const strip = (text) => text.replace(EDGES, "");

/** @param {string} code */
export const escape = (code) => code.replace(/[\\,+=]/gu, "\\$&");

/** Split at a separator that no backslash protects.
 * @param {string} text @param {string} separator @param {number} [limit] */
export function split(text, separator, limit = Infinity) {
  const parts = [];
  let start = 0;
  for (let place = 0; place < text.length; ) {
    if (text[place] === "\\") place += 2;
    else if (parts.length < limit && text.startsWith(separator, place)) {
      parts.push(text.slice(start, place));
      start = place += separator.length;
    } else place += 1;
  }
  return [...parts, text.slice(start)];
}

/** @param {string} text */
export function unescape(text) {
  const whole = strip(text);
  if (/^(?:[^\\]|\\[^])*\\$/u.test(whole)) throw new Error("lone backslash");
  return whole.replace(/\\([^])/gu, "$1");
}

/** One item: commas, pluses, equals signs and backslashes are plain again; what else is protected stays so.
 * @param {string} text */
function readItem(text) {
  const item = strip(text);
  if ((/\\*$/u.exec(item)?.[0].length ?? 0) % 2) throw new Error("lone backslash");
  return item.replace(/\\([\\,+=])/gu, "$1");
}

/** @param {string} text @returns {[string, string]} */
function assignment(text) {
  const [left = "", right = ""] = split(text, "=", 1);
  const name = unescape(left);
  if (!name.replace(/!+$/u, "") || !strip(right)) throw new Error("no assignment");
  return [name.endsWith("!") ? `${strip(`.${name.slice(0, -1)}`).slice(1)}!` : name, right];
}

/** @param {string} text @returns {[string, string[]]} */
export function readFilter(text) {
  const [name, items] = assignment(text);
  return [name, split(items, ",").map(readItem)];
}

/** @param {string} text @returns {[string, string[]]} */
export function readLevels(text) {
  const [name, items] = assignment(text);
  return [name, split(items, ",").map(unescape)];
}

/** @param {string} text @returns {[string, string[][]]} */
export function readGroup(text) {
  const [name, groups] = assignment(text);
  return [name, split(groups, ",").map((group) => split(group, "+").map(readItem))];
}

/** @param {string} name @param {string[]} items */
export const writeFilter = (name, items) => `${name}=${items.map(escape).join(",")}`;

/** @param {string} name @param {string[][]} groups */
export const writeGroup = (name, groups) => `${name}=${groups.map((g) => g.map(escape).join("+")).join(",")}`;

/** What the parameters of an address choose; empty ones say nothing.
 * @param {Iterable<[string, string]>} pairs @returns {Choice} */
export function readChoice(pairs) {
  /** @type {Choice} */
  const choice = { rows: [], columns: [], layers: [], filters: [], groups: [], levels: [], rest: [] };
  for (const [name, text] of pairs) {
    if (!strip(text)) continue;
    if (name === "rows" || name === "columns" || name === "layers")
      choice[name].push(...split(text, ",").map(unescape).filter(Boolean));
    else if (name === "filter") choice.filters.push(readFilter(text));
    else if (name === "group") choice.groups.push(readGroup(text));
    else if (name === "levels") choice.levels.push(readLevels(text));
    else choice.rest.push([name, text]);
  }
  return choice;
}

/** A text in a query, as Python's urlencode writes it. @param {string} text */
const quote = (text) =>
  encodeURIComponent(text)
    .replace(/[!*'()]/gu, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`)
    .replace(/%20/gu, "+").replace(/%2C/gu, ",").replace(/%3D/gu, "=");

/** The query of an address. @param {Choice} choice */
export function writeChoice(choice) {
  /** @type {[string, string][]} */
  const pairs = [];
  for (const axis of AXES) if (choice[axis].length) pairs.push([axis, choice[axis].map(escape).join(",")]);
  for (const [name, items] of choice.filters) pairs.push(["filter", writeFilter(name, items)]);
  const groups = [...choice.groups].sort(([a], [b]) => (a < b ? -1 : 1));
  for (const [name, parts] of groups) pairs.push(["group", writeGroup(name, parts)]);
  for (const [name, items] of choice.levels) pairs.push(["levels", writeFilter(name, items)]);
  return [...pairs, ...choice.rest].map(([name, text]) => `${quote(name)}=${quote(text)}`).join("&");
}

/** A variable on another place; without an axis it leaves the table, with its groups and levels.
 * @param {Choice} choice @param {string} name @param {Axis | ""} axis @param {number} [place] @returns {Choice} */
export function moved(choice, name, axis, place = Infinity) {
  const next = { ...choice };
  for (const each of AXES) next[each] = choice[each].filter((other) => other !== name);
  if (axis) next[axis].splice(place, 0, name);
  else {
    next.groups = choice.groups.filter(([other]) => other !== name);
    next.levels = choice.levels.filter(([other]) => other !== name);
  }
  return next;
}
