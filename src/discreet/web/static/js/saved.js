// @ts-check
// Tables that the reader saves in this browser: a name and an address each. Nothing is sent.
import { announce } from "./live.js";

const KEY = "discreet-tables";
/** @typedef {{ name: string, address: string }} Saved */

/** What a text holds of saved tables: addresses of this site only.
 * @param {string | null} text @returns {Saved[]} */
function read(text) {
  try {
    const found = JSON.parse(text ?? "[]");
    return Array.isArray(found) ? found.filter(isSaved).map(({ name, address }) => ({ name, address })) : [];
  } catch {
    return [];
  }
}

/** @param {any} item */
function isSaved(item) {
  const sound = typeof item?.name === "string" && typeof item?.address === "string";
  return sound && item.address.startsWith("/") && new URL(item.address, location.origin).origin === location.origin;
}

/** @param {HTMLElement} element */
export function enhance(element) {
  const { list, none, template } = parts(element);
  const dataset = element.dataset.dataset ?? "";
  const all = () => read(localStorage.getItem(KEY));
  /** @param {Saved[]} tables @param {string} said */
  const keep = (tables, said) => {
    localStorage.setItem(KEY, JSON.stringify(tables));
    draw();
    announce(element.querySelector(`[data-said-${said}]`)?.textContent ?? "");
  };
  const draw = () => {
    const shown = all().filter(({ address }) => !dataset || address.includes(`/datasets/${dataset}?`));
    list.replaceChildren(...shown.map((table) => line(template, table, () => keep(without(all(), table), "removed"))));
    none.hidden = shown.length > 0;
    element.hidden = !dataset && shown.length === 0;
  };
  element.querySelector("[data-save]")?.addEventListener("submit", (event) => {
    event.preventDefault();
    const field = /** @type {HTMLInputElement} */ (element.querySelector("#saved-name"));
    const table = { name: field.value.trim(), address: location.pathname + location.search };
    keep([...without(all(), table), table], "saved");
  });
  element.querySelector("[data-export]")?.addEventListener("click", () => download(JSON.stringify(all(), null, 1)));
  element.querySelector("[data-import]")?.addEventListener("change", async (event) => {
    const file = /** @type {HTMLInputElement} */ (event.target).files?.[0];
    const added = read(file ? await file.text() : null);
    keep([...added.reduce(without, all()), ...added], added.length ? "saved" : "bad");
  });
  draw();
}

/** @param {HTMLElement} element */
function parts(element) {
  const list = /** @type {HTMLElement} */ (element.querySelector("[data-list]"));
  const none = /** @type {HTMLElement} */ (element.querySelector("[data-none]"));
  const template = /** @type {HTMLTemplateElement} */ (element.querySelector("template"));
  return { list, none, template };
}

/** @param {Saved[]} tables @param {Saved} table */
function without(tables, table) {
  return tables.filter(({ address }) => address !== table.address);
}

/** @param {HTMLTemplateElement} template @param {Saved} table @param {() => void} remove */
function line(template, table, remove) {
  const copy = /** @type {DocumentFragment} */ (template.content.cloneNode(true));
  const link = /** @type {HTMLAnchorElement} */ (copy.querySelector("a"));
  link.textContent = table.name;
  link.href = table.address;
  copy.querySelector("[data-remove]")?.addEventListener("click", remove);
  return copy;
}

/** @param {string} text */
function download(text) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  link.download = "tables.json";
  link.click();
}
