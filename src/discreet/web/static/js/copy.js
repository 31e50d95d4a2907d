// @ts-check
// Buttons that copy the code beside them. They are shown here, since they do nothing without scripts.
import { announce } from "./live.js";

/** @param {HTMLElement} element An element with buttons in it. */
export function enhance(element) {
  for (const button of /** @type {NodeListOf<HTMLButtonElement>} */ (element.querySelectorAll("[data-copy]"))) {
    button.hidden = false;
    button.addEventListener("click", () => copy(button));
  }
}

/** @param {HTMLButtonElement} button */
async function copy(button) {
  const code = button.parentElement?.querySelector("code");
  if (!code) return;
  const said = button.textContent ?? "";
  if (!(await written(code))) return;
  button.textContent = button.dataset.done ?? said;
  announce(button.dataset.done ?? "");
  setTimeout(() => (button.textContent = said), 2000);
}

/** A page without https may not write to the clipboard: then the code is selected and copied as by hand.
 * @param {HTMLElement} code */
async function written(code) {
  if (navigator.clipboard) {
    await navigator.clipboard.writeText(code.textContent ?? "");
    return true;
  }
  getSelection()?.selectAllChildren(code);
  return document.execCommand("copy");
}
