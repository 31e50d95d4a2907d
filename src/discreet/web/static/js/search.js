// @ts-check
// Datasets are found while the reader types: the form is asked as if it had been sent, without a step in the history.
import { addressOf, announce, show } from "./live.js";

/** @param {HTMLElement} element */
export function enhance(element) {
  const form = /** @type {HTMLFormElement} */ (element);
  let timer = 0;
  form.addEventListener("input", () => {
    clearTimeout(timer);
    timer = window.setTimeout(async () => {
      await show(addressOf(form), { push: false });
      history.replaceState(null, "", addressOf(form));
      announce(document.getElementById("found")?.textContent ?? "");
    }, 200);
  });
}
