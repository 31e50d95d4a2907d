// @ts-check
// Groups of one's own are kept in this browser, variable by variable. To share them send the address: they are in it.
import { readChoice, readGroup, split, unescape, writeChoice, writeGroup } from "./grammar.js";

const PLACE = "discreet-groups";
/** Lines of a file that are read. */
const MOST = 50;

/** @returns {Record<string, string[]>} */
function kept() {
  try {
    return JSON.parse(localStorage.getItem(PLACE) ?? "{}");
  } catch {
    return {};
  }
}

/** @param {string} key @param {string[]} lines */
function keep(key, lines) {
  localStorage.setItem(PLACE, JSON.stringify({ ...kept(), [key]: lines }));
}

/** What groups are called: those with a name, or all that they hold. @param {string} line */
function named(line) {
  const parts = readGroup(line)[1].map((group) => ({ name: split(group[0] ?? "", ":", 1), group }));
  const own = parts.filter(({ name, group }) => name.length > 1 || group.length > 1);
  return own.map(({ name, group }) => (name.length > 1 ? unescape(name[0] ?? "") : group.join(" + "))).join(", ");
}

/** The address of the table by these groups. @param {string} name @param {string} line */
function addressWith(name, line) {
  const choice = readChoice(new URLSearchParams(location.search));
  const others = choice.groups.filter(([other]) => other !== name);
  const levels = choice.levels.filter(([other]) => other !== name);
  const groups = /** @type {[string, string[][]][]} */ ([...others, readGroup(line)]);
  return `${location.pathname}?${writeChoice({ ...choice, groups, levels })}`;
}

/** @param {HTMLElement} place */
export function enhance(place) {
  const key = place.dataset.key ?? "";
  const name = place.dataset.name ?? "";
  const list = place.querySelector(".kept ul");
  const draw = () => {
    const lines = kept()[key] ?? [];
    place.querySelector(".kept")?.toggleAttribute("hidden", !lines.length);
    list?.replaceChildren(...lines.map((line) => entry(line)));
  };
  /** @param {string} line */
  const entry = (line) => {
    const template = /** @type {HTMLTemplateElement} */ (place.querySelector("template"));
    const item = /** @type {HTMLElement} */ (template.content.firstElementChild?.cloneNode(true));
    const link = /** @type {HTMLAnchorElement} */ (item.querySelector(".use"));
    link.textContent = named(line);
    link.href = addressWith(name, line);
    item.querySelector(".forget")?.addEventListener("click", () => {
      keep(key, (kept()[key] ?? []).filter((other) => other !== line));
      draw();
    });
    return item;
  };
  place.querySelector(".keep")?.addEventListener("click", () => {
    keep(key, [line, ...(kept()[key] ?? []).filter((other) => other !== line)]);
    draw();
  });
  const line = place.dataset.line ? writeGroup(...readGroup(place.dataset.line)) : "";
  const file = /** @type {HTMLAnchorElement | null} */ (place.querySelector(".file"));
  if (file) file.href = URL.createObjectURL(new Blob([`${line}\n`], { type: "text/plain" }));
  place.querySelector("[type=file]")?.addEventListener("change", async (event) => {
    const lines = (await /** @type {HTMLInputElement} */ (event.target).files?.[0]?.text() ?? "").split("\n").slice(0, MOST);
    const own = lines.map((each) => each.trim()).filter((each) => each.startsWith(`${name}=`));
    keep(key, [...own, ...(kept()[key] ?? []).filter((other) => !own.includes(other))]);
    draw();
  });
  draw();
}
