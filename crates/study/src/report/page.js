// Interactive parts of the page: switches for transports in all figures and tables, sortable tables, and copying of
// commands. The page can be read and printed without this script.

// Hidden transports, in all figures and tables and in the fragment of the page's URL.
class Switches {
  constructor(names) {
    this.names = names;
    this.hidden = new Set();
    this.listeners = [];
    this.read();
    addEventListener("hashchange", () => {
      this.read();
      this.notify();
    });
  }

  read() {
    // A link to a section does not change the hidden transports.
    if (location.hash && !location.hash.startsWith("#off=")) return;
    const off = new URLSearchParams(location.hash.slice(1)).get("off") ?? "";
    this.hidden = new Set(off.split(",").filter((name) => this.names.includes(name)));
  }

  set(hidden) {
    this.hidden = new Set(hidden);
    const off = this.names.filter((name) => this.hidden.has(name)).map(encodeURIComponent).join(",");
    history.replaceState(null, "", off ? `#off=${off}` : location.pathname + location.search);
    this.notify();
  }

  flip(name) {
    const hidden = new Set(this.hidden);
    if (!hidden.delete(name)) hidden.add(name);
    this.set(hidden);
  }

  notify() {
    for (const listener of this.listeners) listener();
  }
}

// Adds a button for each name, and a button that shows all.
function addSwitches(place, switches, colourOf) {
  const buttons = switches.names.map((name) => {
    const swatch = element("i");
    swatch.style.background = colourOf(name);
    return element("button", { type: "button", onclick: () => switches.flip(name) }, swatch, name);
  });
  const all = element("button", { type: "button", textContent: "Show all", onclick: () => switches.set([]) });
  place.append(element("span", { textContent: "Shown:" }), ...buttons, all);
  place.hidden = false;
  const show = () => {
    buttons.forEach((button, i) => button.setAttribute("aria-pressed", String(!switches.hidden.has(switches.names[i]))));
    all.disabled = switches.hidden.size === 0;
  };
  switches.listeners.push(show);
  show();
}

const UNITS = {
  ns: 1e-9, us: 1e-6, ms: 1e-3, kbps: 1e3, Mbps: 1e6, Gbps: 1e9, Tbps: 1e12, KB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12, k: 1e3, M: 1e6, G: 1e9, T: 1e12,
};

// Returns the sort key of a cell: its number in the base unit, infinity for a dash, or its text.
function sortKeyOf(cell) {
  const text = cell.firstChild?.textContent.trim() ?? "";
  if (text === "–") return Infinity;
  const found = /^([-+]?[\d.]+)\s*(\S*)/.exec(text);
  return found ? Number(found[1]) * (UNITS[found[2]] ?? 1) : text;
}

function compare(a, b) {
  if (a === b) return 0;
  if (typeof a === "number" && typeof b === "number") return a - b;
  // Numbers sort before words, and words before empty cells.
  if (typeof a === "number") return -1;
  if (typeof b === "number") return 1;
  return a === "" ? 1 : b === "" ? -1 : a.localeCompare(b, "en", { numeric: true });
}

// Makes the heads of a table cycle between ascending, descending and original order.
function makeSortable(table) {
  const body = table.tBodies[0];
  const original = [...body.rows];
  const heads = [...table.tHead.rows[0].cells];
  if (original.length < 2) return;
  heads.forEach((head, column) => {
    if (!head.textContent.trim()) head.append("name");
    const button = element("button", { type: "button", className: "sort" }, ...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const next = { none: "ascending", ascending: "descending", descending: "none" };
      const order = next[head.getAttribute("aria-sort") ?? "none"];
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      if (order !== "none") head.setAttribute("aria-sort", order);
      const sign = order === "descending" ? -1 : 1;
      const keys = new Map(original.map((row) => [row, sortKeyOf(row.cells[column])]));
      const sorted = order === "none" ? original : [...original].sort((a, b) => sign * compare(keys.get(a), keys.get(b)));
      body.append(...sorted);
    });
  });
}

function addCopy(code, announce) {
  const button = element("button", { type: "button", className: "copy", textContent: "Copy" });
  button.setAttribute("aria-label", "Copy the command");
  button.addEventListener("click", async () => {
    let text = "Copied";
    try {
      await navigator.clipboard.writeText(code.textContent.trim());
    } catch {
      // The browser denies access to the clipboard, so select the command for copying by hand.
      getSelection().selectAllChildren(code);
      text = "Selected";
    }
    button.textContent = text;
    announce(`${text}.`);
    setTimeout(() => (button.textContent = "Copy"), 2000);
  });
  code.closest("pre").before(button);
}

function start() {
  const status = element("div", { className: "unseen" });
  status.setAttribute("role", "status");
  document.body.append(status);
  const announce = (text) => (status.textContent = text);
  const figures = [...document.querySelectorAll("figure")].filter((figure) => figure.querySelector("svg metadata"));
  const colours = new Map();
  for (const figure of figures) {
    for (const panel of JSON.parse(figure.querySelector("metadata").textContent)) {
      for (const series of panel.series) {
        if (series.name && !colours.has(series.name)) colours.set(series.name, series.colour);
      }
    }
  }
  const switches = new Switches([...colours.keys()]);
  const place = document.querySelector(".switches");
  if (place && colours.size > 1) addSwitches(place, switches, (name) => colours.get(name));
  const charts = figures.map((figure) => new Chart(figure, switches, announce));
  const named = document.querySelectorAll("table [data-name]");
  const show = () => named.forEach((cell) => (cell.hidden = switches.hidden.has(cell.dataset.name)));
  switches.listeners.push(show, () => charts.forEach((chart) => chart.draw()));
  show();
  document.querySelectorAll("table.sortable").forEach(makeSortable);
  document.querySelectorAll("pre.command code").forEach((code) => addCopy(code, announce));
}

start();
