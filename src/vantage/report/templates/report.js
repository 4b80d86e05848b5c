"use strict";
// Sorting by a click on a column's head, and a box that filters long tables. Without it the page reads the same.
(() => {
  const key = (cell) => (cell.dataset.key === undefined ? null : Number(cell.dataset.key));
  const order = (column, up) => (a, b) => {
    const [x, y] = [a.cells[column], b.cells[column]];
    const [m, n] = [key(x), key(y)];
    if (m !== null && n !== null) return up * (m - n);
    const [s, t] = [x.textContent.trim(), y.textContent.trim()];
    const [p, q] = [s === "–" || s === "", t === "–" || t === ""];
    if (p || q) return p - q;
    return up * s.localeCompare(t, undefined, { numeric: true });
  };
  for (const table of document.querySelectorAll("table.sortable")) {
    const body = table.tBodies[0];
    if (!body || body.rows.length < 2) continue;
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const up = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
        for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", up === 1 ? "ascending" : "descending");
        body.append(...[...body.rows].sort(order(column, up)));
      });
    });
    if (body.rows.length > 20) {
      const box = document.createElement("input");
      box.type = "search";
      box.placeholder = "Filter the rows shown";
      box.setAttribute("aria-label", "Filter the rows shown");
      box.addEventListener("input", () => {
        const wanted = box.value.trim().toLowerCase();
        // What is looked for may be among the folded rows.
        const fold = table.closest(".wide").nextElementSibling;
        if (wanted !== "" && fold && fold.matches("details")) fold.open = true;
        for (const row of body.rows) row.hidden = wanted !== "" && !row.textContent.toLowerCase().includes(wanted);
      });
      table.closest(".wide").before(box);
    }
  }
})();
