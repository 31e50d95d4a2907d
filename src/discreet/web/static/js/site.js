// @ts-check
// The list of a static site: narrowed to the tables that have all chosen variables and all words. A variable that leads
// to no table from here cannot be chosen. Without this module the whole list is there.

const choice = document.getElementById("choice");
const words = /** @type {HTMLInputElement | null} */ (document.getElementById("words"));
const way = /** @type {HTMLAnchorElement | null} */ (document.getElementById("open"));
const said = document.getElementById("said");
const entries = [...document.querySelectorAll("#list > li")].map((item) => ({
  item: /** @type {HTMLElement} */ (item),
  link: /** @type {HTMLAnchorElement} */ (item.querySelector("a")),
  names: new Set((/** @type {HTMLElement} */ (item).dataset.variables ?? "").split(" ")),
  text: (item.textContent ?? "").toLocaleLowerCase(),
}));

function narrow() {
  if (!choice || !words || !way || !said) return;
  const boxes = /** @type {HTMLInputElement[]} */ ([...choice.querySelectorAll("input[type=checkbox]")]);
  const chosen = boxes.filter((box) => box.checked).map((box) => box.value);
  const typed = words.value.toLocaleLowerCase().split(/\s+/).filter(Boolean);
  const left = entries.filter((entry) => chosen.every((name) => entry.names.has(name)));
  const shown = left.filter((entry) => typed.every((word) => entry.text.includes(word)));
  for (const entry of entries) entry.item.hidden = !shown.includes(entry);
  for (const box of boxes) box.disabled = !box.checked && !left.some((entry) => entry.names.has(box.value));
  const exact = left.find((entry) => entry.names.size === chosen.length);
  way.hidden = !exact;
  if (exact) way.href = exact.link.href;
  const pattern = (shown.length === 1 ? said.dataset.one : said.dataset.many) ?? "";
  said.textContent = pattern.replace("{count}", String(shown.length));
}

if (choice) {
  choice.hidden = false;
  choice.addEventListener("input", narrow);
  narrow();
}

export {}; // a module
