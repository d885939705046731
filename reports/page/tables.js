// SPDX-License-Identifier: Apache-2.0
// Tables that sort by a click on a heading; the table of records also filters, and shows a page of rows at a time, which
// keeps tens of thousands of them quick.

const ROWS = 100;

const element = (name, properties = {}, ...children) => {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
};

/** Absent values come last, whatever the direction. */
function compared(a, b, direction) {
  if (a === b) return 0;
  if (a === null || a === "") return 1;
  if (b === null || b === "") return -1;
  return (typeof a === "number" ? a - b : a.localeCompare(b, "en", { numeric: true })) * direction;
}

/** Turns headings into buttons that call `sort(column, direction)`. */
function sortable(headings, sort) {
  headings.forEach((heading, column) => {
    const button = element("button", { type: "button" }, heading.textContent);
    heading.replaceChildren(button);
    button.addEventListener("click", () => {
      const direction = heading.getAttribute("aria-sort") === "ascending" ? -1 : 1;
      for (const other of headings) other.removeAttribute("aria-sort");
      heading.setAttribute("aria-sort", direction > 0 ? "ascending" : "descending");
      sort(column, direction);
    });
  });
}

/** The number that a cell begins with, or its text. */
function valueOf(text) {
  const number = /^[+-]?[\d.]+(e[+-]?\d+)?(?=$|[ %x])/.test(text) ? Number.parseFloat(text) : Number.NaN;
  return Number.isNaN(number) ? text : number;
}

export function sortStaticTables() {
  for (const table of document.querySelectorAll("table.sortable")) {
    const body = table.tBodies[0];
    sortable([...table.tHead.rows[0].cells], (column, direction) => {
      const rows = [...body.rows];
      rows.sort((a, b) => {
        const left = valueOf(a.cells[column].textContent);
        const right = valueOf(b.cells[column].textContent);
        const same = typeof left === typeof right || left === "" || right === "";
        return same ? compared(left, right, direction) : compared(String(left), String(right), direction);
      });
      body.replaceChildren(...rows);
    });
  }
}

function shownNumber(value, kind) {
  if (value === null) return "";
  if (kind === "percent") return `${(value * 100).toFixed(1)} %`;
  return Number.isInteger(value) && Math.abs(value) < 1e9 ? String(value) : String(Number(value.toPrecision(4)));
}

/** The table of records: {show(number)} leads to a record. */
export function recordTable() {
  const place = document.getElementById("record-table");
  const { columns, names, rows, numbers, timelines } = JSON.parse(document.getElementById("record-data").textContent);
  const value = (row, column) => (columns[column].kind === "name" ? names[row[column]] : row[column]);
  const [workloadColumn, machineColumn] = ["workload", "machine"].map((title) => columns.findIndex((one) => one.title === title));
  const timeline = new Map(timelines.map(([workload, machine, number]) => [`${workload}\n${machine}`, number]));
  // Columns without a value are left out.
  const shown = columns.map((_, column) => column).filter((column) => rows.some((row) => value(row, column) !== null && value(row, column) !== ""));
  const texts = rows.map((row) => columns.map((one, column) => (one.kind === "name" ? names[row[column]] : "")).join(" ").toLowerCase());
  let order = rows.map((_, index) => index);
  let kept = order;
  let first = 0;
  let marked = -1;

  const count = element("span", { role: "status" });
  const filter = element("input", { type: "search", placeholder: "Filter: lean h200 ...", ariaLabel: "Filter the records" });
  const back = element("button", { type: "button" }, "Previous");
  const next = element("button", { type: "button" }, "Next");
  const headings = shown.map((column) =>
    element("th", { scope: "col", className: columns[column].kind === "name" ? "" : "number" }, columns[column].title));
  const body = element("tbody");
  const table = element("table", {}, element("thead", {}, element("tr", {}, ...headings)), body);

  /** A record's workload, which leads to its timeline where there is one. */
  function workloadCell(row) {
    const name = value(row, workloadColumn);
    const number = timeline.get(`${name}\n${value(row, machineColumn)}`);
    if (number === undefined) return element("td", {}, name);
    const link = element("a", { href: `#timeline-${number}`, title: "its timeline" }, name);
    link.addEventListener("click", (event) => {
      event.preventDefault();
      const picture = document.getElementById(`timeline-${number}`);
      picture.closest("details").open = true;
      picture.scrollIntoView();
      picture.focus({ preventScroll: true });
    });
    return element("td", {}, link);
  }

  function showRows() {
    body.replaceChildren(
      ...kept.slice(first, first + ROWS).map((index) =>
        element("tr", { className: index === marked ? "found" : "", id: `record-${numbers[index]}` },
          ...shown.map((column) => {
            const { kind } = columns[column];
            if (column === workloadColumn) return workloadCell(rows[index]);
            return kind === "name"
              ? element("td", {}, value(rows[index], column))
              : element("td", { className: "number" }, shownNumber(rows[index][column], kind));
          }))));
    const last = Math.min(first + ROWS, kept.length);
    count.textContent = kept.length === 0 ? "no record" : `${first + 1} to ${last} of ${kept.length}`;
    back.disabled = first === 0;
    next.disabled = last >= kept.length;
  }

  function choose() {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    kept = order.filter((index) => words.every((word) => texts[index].includes(word)));
    first = 0;
    showRows();
  }

  sortable(headings, (place_, direction) => {
    const column = shown[place_];
    order = [...order].sort((a, b) => compared(value(rows[a], column), value(rows[b], column), direction) || a - b);
    choose();
  });
  filter.addEventListener("input", choose);
  back.addEventListener("click", () => {
    first = Math.max(0, first - ROWS);
    showRows();
  });
  next.addEventListener("click", () => {
    first += ROWS;
    showRows();
  });
  place.replaceChildren(
    element("div", { className: "controls" }, filter, count, back, next),
    element("div", { className: "wide", tabIndex: 0, role: "region", ariaLabel: "Records" }, table));
  showRows();

  return {
    show(number) {
      const index = numbers.indexOf(number);
      if (index < 0) return;
      marked = index;
      filter.value = "";
      kept = order;
      first = Math.floor(kept.indexOf(index) / ROWS) * ROWS;
      showRows();
      const row = document.getElementById(`record-${number}`);
      row.tabIndex = -1;
      row.scrollIntoView({ block: "center" });
      row.focus({ preventScroll: true });
    },
  };
}
