// @ts-check
// A page that changes in place. Every state of a page is an address, and the server draws it. A link or form with
// data-live is fetched instead of followed; the parts of the new page (data-part="result") replace the old ones, the address
// bar follows, and back, reload and undo are the browser's own.

/** @type {AbortController | null} */
let waiting = null;
/** @type {(root: ParentNode) => void} */
let enhance = () => {};
/** Whether a button or a finger is down. */
let pressed = false;
/** @param {{ pathname: string, search: string }} address */
const pathOf = ({ pathname, search }) => pathname + search;
/** What the page shows; a step to a place within it shows nothing else. */
let shown = pathOf(location);

/** What is pressed stays until it is let go: the click on an element that was replaced meanwhile would be lost. */
export async function released() {
  if (!pressed) return;
  await new Promise((done) => {
    for (const kind of ["pointerup", "pointercancel"]) addEventListener(kind, () => setTimeout(done), { once: true });
    setTimeout(done, 1000); // a press that no browser ends
  });
}

/** Let a part of the page be replaced; what has the focus hands it to its successor: the same id, or the same words.
 * @param {() => void} replace */
export function keepFocus(replace) {
  const old = /** @type {HTMLElement | null} */ (document.activeElement);
  const part = /** @type {HTMLElement | null | undefined} */ (old?.closest("[data-part]"))?.dataset.part;
  /** @param {Element} element */
  const says = (element) => element.getAttribute("aria-label") ?? element.textContent;
  replace();
  if (!old || old.isConnected) return;
  const alike = [...document.querySelectorAll(`[data-part="${part}"] ${old.localName}`)].find((each) => says(each) === says(old));
  const same = old.id ? document.getElementById(old.id) : alike;
  const next = same?.closest("details.menu:not([open])")?.querySelector("summary") ?? same; // its menu has closed
  if (next instanceof HTMLElement) next.focus({ preventScroll: true });
}

/** @param {ParentNode} page @returns {Map<string, HTMLElement>} */
function parts(page) {
  const found = /** @type {NodeListOf<HTMLElement>} */ (page.querySelectorAll("[data-part]"));
  return new Map([...found].map((part) => [part.dataset.part ?? "", part]));
}

/** What a reader opened and typed in a part stays in its successor.
 * @param {HTMLElement} old @param {HTMLElement} part */
function keepPlace(old, part) {
  for (const details of old.querySelectorAll("details[id]:not(.menu)")) {
    const same = part.querySelector(`#${CSS.escape(details.id)}`);
    if (same instanceof HTMLDetailsElement && details instanceof HTMLDetailsElement) same.open = details.open;
  }
  for (const field of /** @type {NodeListOf<HTMLInputElement>} */ (old.querySelectorAll("input[data-keep]"))) {
    const same = part.querySelector(`#${CSS.escape(field.id)}`);
    if (same instanceof HTMLInputElement) same.value = field.value;
  }
  const top = old.scrollTop;
  queueMicrotask(() => part.scrollTo(0, top));
}

/** A refusal keeps the last table in sight, greyed and out of reach, with the way back to it.
 * @param {Document} next @param {string} address Of the page that is left. */
function keepLast(next, address) {
  const last = next.getElementById("last");
  const [area, title] = [document.querySelector("#last .area, #table.area"), document.querySelector("#last strong, #result-title")];
  if (!last || !area || !title) return;
  const back = /** @type {HTMLAnchorElement | null} */ (document.querySelector("#last a"));
  const copy = /** @type {HTMLElement} */ (area.cloneNode(true));
  for (const element of [copy, ...copy.querySelectorAll("[id], [data-module]")])
    for (const name of ["id", "data-module"]) element.removeAttribute(name);
  last.querySelector(".faded")?.append(copy);
  last.querySelector("strong")?.append(title.textContent ?? "");
  last.querySelector("a")?.setAttribute("href", back?.href ?? address);
  last.hidden = false;
}

/** Put the parts of another page in place; false where it has other parts than this one.
 * @param {Document} next @param {string} address Of the page that is left. */
function replaced(next, address) {
  const here = parts(document);
  const there = parts(next);
  keepLast(next, address);
  if (here.size === 0 || here.size !== there.size || [...here.keys()].some((name) => !there.has(name))) return false;
  keepFocus(() => {
    for (const [name, part] of there) {
      const old = here.get(name);
      if (old) keepPlace(old, part);
      old?.replaceWith(part);
    }
  });
  for (const part of there.values()) enhance(part);
  const languages = next.querySelector(".languages");
  if (languages) document.querySelector(".languages")?.replaceWith(languages);
  document.title = next.title;
  return true;
}

/** Show that an answer is on its way: the table is dimmed, and the control that was pressed turns.
 * @param {boolean} busy @param {Element | null} [control] */
function setBusy(busy, control) {
  document.documentElement.toggleAttribute("data-busy", busy);
  for (const old of document.querySelectorAll("[aria-busy=true]:not(tr)")) old.removeAttribute("aria-busy");
  if (!busy) return;
  const menu = control?.closest(".menu")?.querySelector("summary");
  (menu ?? control)?.setAttribute("aria-busy", "true");
  document.querySelector("table.grid")?.setAttribute("aria-busy", "true");
}

/** Show the page at an address without leaving this one. A newer call ends an older one.
 * @param {string} address
 * @param {{ push?: boolean, control?: Element | null }} [options] push: whether "back" returns to what is shown now. */
export async function show(address, { push = true, control = null } = {}) {
  waiting?.abort();
  const mine = new AbortController();
  waiting = mine;
  setBusy(true, control);
  try {
    const response = await fetch(address, { signal: mine.signal, headers: { accept: "text/html" } });
    const next = new DOMParser().parseFromString(await response.text(), "text/html");
    await released();
    if (mine.signal.aborted) return;
    const left = shown;
    if (push) history.pushState({ step: (history.state?.step ?? 0) + 1 }, "", response.url);
    shown = pathOf(new URL(response.url));
    if (!replaced(next, left)) location.assign(response.url);
    else document.dispatchEvent(new CustomEvent("shown", { detail: { push } }));
  } catch (error) {
    if (!mine.signal.aborted) location.assign(address);
  } finally {
    if (waiting === mine) setBusy(false);
  }
}

/** The address that a form asks for: what it holds, without empty fields.
 * @param {HTMLFormElement} form */
export function addressOf(form) {
  const pairs = [...new FormData(form)].filter(([, value]) => typeof value === "string" && value !== "");
  const query = new URLSearchParams(/** @type {string[][]} */ (pairs)).toString();
  return form.action.split("?")[0] + (query ? `?${query}` : "");
}

/** Hand what was put into the page by a panel to its modules.
 * @param {ParentNode} part */
export function enhancePart(part) {
  enhance(part);
}

/** Say something to those who listen to the page.
 * @param {string} text */
export function announce(text) {
  const place = document.getElementById("said");
  if (place) place.textContent = text;
}

/** @param {(root: ParentNode) => void} enhancePart */
export function start(enhancePart) {
  enhance = enhancePart;
  enhance(document);
  addEventListener("popstate", () => {
    if (shown === pathOf(location)) waiting?.abort();
    else show(location.href, { push: false });
  });
  addEventListener("beforeunload", () => waiting?.abort()); // who leaves is not called back by what was on its way
  addEventListener("pointerdown", (event) => { pressed = !(event.target instanceof Element && event.target.closest("select")); }, true);
  for (const kind of ["pointerup", "pointercancel"]) addEventListener(kind, () => { pressed = false; }, true);
  document.addEventListener("click", (event) => {
    const link = /** @type {HTMLElement} */ (event.target).closest?.("a[data-live]");
    const plain = !event.defaultPrevented && event.button === 0 && !(event.metaKey || event.ctrlKey || event.shiftKey || event.altKey);
    if (plain && link instanceof HTMLAnchorElement) {
      event.preventDefault();
      show(link.href, { control: link });
    } else if (plain && leaves(event.target)) setBusy(true, /** @type {Element} */ (event.target).closest("a"));
  });
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (form instanceof HTMLFormElement && form.matches("[data-live]")) {
      event.preventDefault();
      show(addressOf(form), { control: event.submitter });
    } else if (!event.defaultPrevented) setBusy(true, event.submitter);
  });
  addEventListener("pageshow", (event) => { if (event.persisted) setBusy(false); });
}

/** Whether a press follows a link to another page of this site.
 * @param {EventTarget | null} target */
function leaves(target) {
  const link = target instanceof Element ? target.closest("a[href]:not([target], [data-picker], [download])") : null;
  if (!(link instanceof HTMLAnchorElement) || link.origin !== location.origin) return false;
  return pathOf(link) !== pathOf(location) && !link.search.includes("download=1") && !/\.\w+$/u.test(link.pathname);
}
