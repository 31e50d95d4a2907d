// @ts-check
// The only script that pages load. It puts the reader's theme in place before anything is painted. An element with
// data-module="shelves" is handed to js/shelves.js, which is fetched when a page has such an element: a behaviour is one
// file and one attribute, and every page works without it.
import { start } from "./live.js";

/** @typedef {{ enhance: (element: HTMLElement) => void }} Module */

/** Hand every marked element inside a part of the page to its module; what is folded up waits until it is opened.
 * @param {ParentNode} root */
function enhance(root) {
  for (const element of /** @type {NodeListOf<HTMLElement>} */ (root.querySelectorAll("[data-module]"))) {
    const folded = element.closest("details:not([open])");
    if (folded) folded.addEventListener("toggle", () => hand(element), { once: true });
    else hand(element);
  }
}

let coming = 0;

/** The page is marked as ready while no module is on its way.
 * @param {HTMLElement} element */
function hand(element) {
  for (const name of (element.dataset.module ?? "").split(" ")) {
    coming += 1;
    showReady();
    import(`./${name}.js`)
      .then((/** @type {Module} */ module) => module.enhance(element))
      .finally(() => {
        coming -= 1;
        showReady();
      });
  }
}

function showReady() {
  document.documentElement.toggleAttribute("data-ready", coming === 0);
}

const dark = matchMedia("(prefers-color-scheme: dark)");

/** Show the theme that the reader chose, else that of the system; the switch is pressed where it is dark.
 * @param {string | null} chosen */
function showTheme(chosen) {
  const shown = chosen ?? (dark.matches ? "dark" : "light");
  document.documentElement.dataset.theme = shown;
  const button = document.getElementById("theme");
  button?.setAttribute("aria-pressed", String(shown === "dark"));
  button?.toggleAttribute("hidden", false);
}

/** Light becomes dark and dark becomes light. Who returns to the theme of the system follows it again. */
function switchTheme() {
  const next = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
  showTheme(next);
  if (dark.matches === (next === "dark")) localStorage.removeItem("theme");
  else localStorage.setItem("theme", next);
}

/** @returns {string | null} null where a browser keeps nothing. */
function chosenTheme() {
  try {
    return localStorage.getItem("theme");
  } catch {
    return null;
  }
}

/** Menus close by Escape and by a press elsewhere; one near the edge opens the other way. */
function watchMenus() {
  const open = () => /** @type {NodeListOf<HTMLDetailsElement>} */ (document.querySelectorAll("details.menu[open]"));
  document.addEventListener("click", (event) => {
    const target = /** @type {Element} */ (event.target);
    for (const menu of open()) {
      if (!target.isConnected || (menu.contains(target) && !target.closest(".pop a[href]"))) continue;
      if (menu.contains(document.activeElement)) menu.querySelector("summary")?.focus();
      menu.open = false;
    }
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    for (const menu of open()) {
      menu.open = false;
      menu.querySelector("summary")?.focus();
    }
  });
  document.addEventListener("toggle", (event) => {
    const menu = /** @type {HTMLElement} */ (event.target);
    if (menu.matches(".menu:not(.end)[open]"))
      menu.classList.toggle("flip", (menu.querySelector(".pop")?.getBoundingClientRect().right ?? 0) > innerWidth);
  }, true);
}

showTheme(chosenTheme());
watchMenus();
dark.addEventListener("change", () => showTheme(chosenTheme()));
document.getElementById("theme")?.addEventListener("click", switchTheme);
start(enhance);
showReady();
