// @ts-check
// The picker of a variable's categories, in a dialog. It is the same page that opens without scripts: each button leads
// to an address, and the answer replaces what the dialog holds. Ticks are foreseen: the verdict on the choice is told.
import { addressOf, enhancePart, released, show } from "./live.js";
import { change, fetched } from "./choice.js";

const dialog = /** @type {HTMLDialogElement} */ (document.getElementById("picker"));
let opener = "";
let asked = 0;
let answered = 0;
let typing = 0;
let foreseen = 0;

const held = () => /** @type {HTMLFormElement} */ (dialog.querySelector("form"));

/** Where a button of the picker leads. @param {HTMLElement | null} button */
function addressBy(button) {
  const data = new FormData(held(), button);
  const pairs = /** @type {string[][]} */ ([...data].filter(([, text]) => text !== ""));
  return `${button?.getAttribute("formaction")}?${new URLSearchParams(pairs)}`;
}

/** Put a picker into the dialog; the field in which somebody types stays the same field.
 * @param {string} address @param {HTMLElement | null} [button] */
async function fill(address, button) {
  const mine = ++asked;
  const { part, url } = await fetched(address, "#picking");
  await released();
  if (mine !== asked) return;
  answered = mine;
  if (!part) {
    dialog.close();
    show(url);
    return;
  }
  const search = dialog.querySelector("#search-categories");
  const typed = document.activeElement === search;
  const scrolled = dialog.querySelector(".matches")?.scrollTop ?? 0;
  if (search && typed) part.querySelector("#search-categories")?.replaceWith(search);
  dialog.replaceChildren(part);
  enhancePart(dialog);
  if (!typed && !button?.matches("[name=within]")) dialog.querySelector(".matches")?.scrollTo(0, scrolled);
  const same = button?.id || !button ? null : dialog.querySelector(`[name="${button.getAttribute("name")}"][value="${CSS.escape(button.getAttribute("value") ?? "")}"]`);
  const next = typed ? search : same ?? dialog.querySelector("#search-categories");
  if (next instanceof HTMLElement) next.focus();
  if (search) foresee();
}

/** Tell what would become of the table, and how many categories are chosen. */
async function foresee() {
  const query = addressOf(held()).split("?")[1] ?? "";
  const [round, mine] = [asked, ++foreseen];
  const [{ part }, { part: found }] = await Promise.all([
    fetched(`${held().dataset.verdict}?${query}`, "#verdict .says"),
    fetched(addressBy(dialog.querySelector(".find-button")), ".found"),
  ]);
  const place = dialog.querySelector(".foreseen");
  if (!place || round !== asked || mine !== foreseen) return;
  place.textContent = part?.querySelector(".why, .counts")?.textContent ?? "";
  dialog.querySelector(".found")?.replaceChildren(...(found?.childNodes ?? []));
}

/** Open the picker to which a link leads. @param {HTMLAnchorElement} link */
export async function open(link) {
  opener = link.id;
  dialog.replaceChildren();
  await fill(link.href);
  if (held()) dialog.showModal();
  dialog.querySelector("input")?.focus();
  const search = dialog.querySelector("#search-categories");
  if (search instanceof HTMLElement) search.focus();
}

dialog.addEventListener("submit", (event) => {
  event.preventDefault();
  clearTimeout(typing);
  const button = /** @type {HTMLElement | null} */ (event.submitter);
  if (button?.hasAttribute("formaction")) {
    fill(addressBy(button), button);
    return;
  }
  const address = addressOf(held());
  dialog.close();
  change(address);
});
dialog.addEventListener("input", (event) => {
  const field = /** @type {HTMLInputElement} */ (event.target);
  const find = () => fill(addressBy(dialog.querySelector(".find-button")));
  if (field.type === "search") {
    clearTimeout(typing);
    typing = setTimeout(find, 120);
  } else if (field.type === "checkbox" && asked > answered) find(); // what is on its way does not know of this tick
  else if (field.type === "checkbox") foresee();
});
dialog.addEventListener("click", (event) => {
  const target = /** @type {HTMLElement} */ (event.target);
  const within = /** @type {HTMLAnchorElement | null} */ (target.closest("a.within"));
  if (within) {
    event.preventDefault();
    fill(within.href, within);
  } else if (target === dialog || target.closest(".close, a[data-live]")) dialog.close();
});
dialog.addEventListener("keydown", (event) => {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const target = /** @type {HTMLElement} */ (event.target);
  const boxes = /** @type {HTMLElement[]} */ ([...dialog.querySelectorAll(".matches input")]);
  const here = boxes.indexOf(target);
  if (!step || (here < 0 && target.id !== "search-categories")) return;
  event.preventDefault();
  const next = here + step < 0 ? dialog.querySelector("#search-categories") : boxes[here + step];
  if (next instanceof HTMLElement) next.focus();
});
dialog.addEventListener("close", () => document.getElementById(opener)?.focus({ preventScroll: true }));
