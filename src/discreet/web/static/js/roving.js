// @ts-check
// A toolbar or a list of controls that is one stop of the Tab key: arrows, Home and End move within it. What a menu holds
// is reached by Tab from its open menu.

const STEPS = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, Home: -Infinity, End: Infinity };

/** @param {HTMLElement} group */
export function enhance(group) {
  const all = () => /** @type {HTMLElement[]} */ ([...group.querySelectorAll("a[href], summary, button")])
    .filter((each) => !each.closest(".pop, details > :not(summary)") && each.offsetParent !== null);
  /** @param {HTMLElement | undefined} stop */
  const rest = (stop) => { for (const each of all()) each.tabIndex = each === stop ? 0 : -1; };
  rest(all().find((each) => each === document.activeElement) ?? all()[0]);
  group.addEventListener("focusin", (event) => {
    const stop = all().find((each) => each === event.target);
    if (stop) rest(stop);
  });
  group.addEventListener("keydown", (event) => {
    const step = STEPS[/** @type {keyof typeof STEPS} */ (event.key)];
    const stops = all();
    const place = stops.findIndex((each) => each === event.target);
    if (!step || place < 0 || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const turned = event.key.includes("Left") || event.key.includes("Right") ? getComputedStyle(group).direction === "rtl" : false;
    stops[Math.max(0, Math.min(stops.length - 1, place + (turned ? -step : step)))]?.focus();
  });
}
