// @ts-check
// The page for paper, printed at once where somebody wanted to print a large table.

export function enhance() {
  if (location.hash === "#now") print();
}
