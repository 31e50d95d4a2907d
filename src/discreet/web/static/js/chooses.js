// @ts-check
// A form that is sent as soon as something is chosen; its button is for browsers without scripts.

/** @param {HTMLElement} form */
export function enhance(form) {
  form.querySelector("[data-without]")?.remove();
  form.addEventListener("change", () => /** @type {HTMLFormElement} */ (form).requestSubmit());
}
