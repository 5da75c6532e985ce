// Interactive figure: tooltips by pointer and keyboard, zoom, and logarithmic axes. Until the first interaction, it is
// the drawing made by Duetime.

// Margin around a panel that reacts to the pointer, in units of the drawing.
const EDGE = 8;
const element = (name, properties = {}, ...children) => {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
};
const shape = (name, attributes) => {
  const made = document.createElementNS(document.querySelector("figure svg").namespaceURI, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
};
const clamp = (value, low, high) => Math.min(Math.max(value, low), high);

class Chart {
  // `switches`: hidden transports (page.js); `announce`: sends text to screen readers.
  constructor(figure, switches, announce) {
    Object.assign(this, { figure, switches, announce });
    this.svg = figure.querySelector("svg");
    this.title = figure.querySelector("figcaption")?.textContent ?? "";
    const groups = [...this.svg.querySelectorAll("g.panel")];
    this.panels = JSON.parse(this.svg.querySelector("metadata").textContent).map((panel, i) => ({
      ...panel,
      group: groups[i],
      id: groups[i].querySelector("clipPath").id,
      isNamed: panel.x.scale === "names",
      xMarkup: panel.x.scale === "names" ? groups[i].querySelector("g.x").outerHTML : null,
    }));
    this.names = new Set(this.panels.flatMap((panel) => panel.series.map((series) => series.name)).filter(Boolean));
    this.axes = this.findAxes();
    this.prepare();
    this.tools();
    this.panels.forEach((panel) => this.overlay(panel));
    this.marker = this.svg.appendChild(shape("circle", { r: 6, class: "cursor", visibility: "hidden" }));
    this.box = this.svg.appendChild(shape("rect", { class: "zoom", visibility: "hidden" }));
    if (switches.hidden.size) this.draw();
  }

  // Collects the axes with their state. Panels with equal axes share one and move together.
  findAxes() {
    const axes = new Map();
    for (const panel of this.panels) {
      for (const side of ["x", "y"]) {
        const axis = panel[side];
        if (axis.scale === "names") continue;
        const key = [side, axis.label, axis.unit, axis.scale, ...axis.asked].join("|");
        if (!axes.has(key)) axes.set(key, { side, log: axis.scale === "log", isLog: axis.scale === "log", ends: null, panels: [] });
        axes.get(key).panels.push(panel);
        panel[`${side}State`] = axes.get(key);
      }
    }
    return [...axes.values()];
  }

  // Adds a tooltip and removes the drawing's own tooltips, which would cover it.
  prepare() {
    for (const title of this.svg.querySelectorAll("g.panel title")) title.remove();
    this.svg.setAttribute("role", "group");
    this.stage = element("div", { className: "stage" });
    this.svg.replaceWith(this.stage);
    this.tip = element("div", { className: "tip", hidden: true });
    this.stage.append(this.svg, this.tip);
    for (const entry of this.svg.querySelectorAll("g.entry")) this.legend(entry);
  }

  legend(entry) {
    const { name } = entry.dataset;
    const box = entry.getBBox();
    entry.prepend(shape("rect", { x: box.x - 2, y: box.y - 3, width: box.width + 6, height: box.height + 6, fill: "transparent" }));
    entry.setAttribute("role", "button");
    entry.setAttribute("tabindex", "0");
    entry.setAttribute("aria-label", `${entry.querySelector("text").textContent}, shown in every figure`);
    const flip = () => this.switches.flip(name);
    entry.addEventListener("click", flip);
    entry.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      flip();
    });
  }

  tools() {
    const button = (text, label, act) => {
      const made = element("button", { type: "button", textContent: text, title: label, onclick: act });
      made.setAttribute("aria-label", `${label}: ${this.title}`);
      return made;
    };
    const many = this.axes.filter((axis) => axis.side === "y").length > 1;
    let number = 0;
    const logs = this.axes.map((axis) => {
      const { label, unit } = axis.panels[0][axis.side];
      const name = axis.side === "y" && many ? `y${++number}` : axis.side;
      const text = `Logarithmic axis: ${label}${unit ? ` (${unit})` : ""}`;
      axis.button = button(`log ${name}`, text, () => this.setLog(axis, !axis.isLog));
      // A quantity with negative values has no logarithmic axis.
      const [least, most] = this.reach(axis, false);
      axis.button.disabled = most === null || most <= 0 || least < 0;
      return axis.button;
    });
    this.resetButton = button("Reset", "Reset the view", () => this.reset());
    const zooms = [
      button("+", "Zoom in", () => this.zoomAll(0.5)),
      button("−", "Zoom out", () => this.zoomAll(2)),
      this.resetButton,
    ];
    const bar = element("div", { className: "tools" }, ...logs, ...zooms);
    bar.setAttribute("role", "group");
    bar.setAttribute("aria-label", `View of ${this.title}`);
    this.stage.before(bar);
    this.showTools();
  }

  showTools() {
    for (const axis of this.axes) axis.button.setAttribute("aria-pressed", String(axis.isLog));
    this.resetButton.disabled = this.axes.every((axis) => axis.isLog === axis.log && !axis.ends);
    for (const entry of this.svg.querySelectorAll("g.entry")) {
      const isShown = !this.switches.hidden.has(entry.dataset.name);
      entry.setAttribute("aria-pressed", String(isShown));
    }
  }

  // Adds the area over a panel that receives pointer and keyboard events.
  overlay(panel) {
    // The area exceeds the panel, because values at its edges are also pointed at from outside.
    const [x, y, width, height] = [panel.box[0] - EDGE, panel.box[1] - EDGE, panel.box[2] + 2 * EDGE, panel.box[3] + 2 * EDGE];
    const hit = shape("rect", { x, y, width, height, class: "hit", fill: "transparent", tabindex: 0, role: "application" });
    const name = [this.title, panel.title].filter(Boolean).join(", ");
    hit.setAttribute(
      "aria-label",
      `${name}: ${panel.y.label}. Left and right arrows: values. Up and down arrows: series. Plus and minus: zoom. ` +
        "Shift with arrows: pan. Escape: reset.",
    );
    hit.addEventListener("pointermove", (event) => this.onMove(panel, event));
    hit.addEventListener("pointerdown", (event) => this.onDown(panel, event));
    hit.addEventListener("pointerup", (event) => this.onUp(panel, event));
    hit.addEventListener("pointercancel", () => this.endDrag());
    // After a touch, keep the tooltip until the next tap.
    hit.addEventListener("pointerleave", (event) => this.drag || event.pointerType === "touch" || this.point(null));
    hit.addEventListener("dblclick", () => this.reset());
    hit.addEventListener("focus", () => hit.matches(":focus-visible") && !this.drag && this.point(panel, this.spots(panel)[0], true));
    hit.addEventListener("blur", () => this.point(null));
    hit.addEventListener("keydown", (event) => this.onKey(panel, event));
    panel.hit = this.svg.appendChild(hit);
  }

  isHidden = (name) => this.switches.hidden.has(name);

  // Returns the least and the greatest value on an axis over all series, hidden ones included, so that hiding a series
  // does not move others.
  reach(axis, log) {
    const values = axis.panels.flatMap((panel) => {
      const guides = panel.guides.filter(([isVertical]) => isVertical === (axis.side === "x")).map(([, at]) => at);
      const every = (values, parity) => values.filter((_, i) => i % 2 === parity);
      const data = panel.series.flatMap(({ points, intervals }) =>
        axis.side === "x" ? every(points, 0) : [...every(points, 1), ...intervals],
      );
      return [...guides, ...data];
    });
    return reachOf(values, log);
  }

  // Returns the current axis of a panel. `whole`: ignore the zoom.
  axisOf(panel, side, whole = false) {
    const state = panel[`${side}State`];
    const { scale, asked, ends, ticks, zero } = panel[side];
    if (state?.ends && !whole) return zoomedAxis(state.isLog, ...state.ends);
    if (!state || state.isLog === state.log) return { log: scale === "log", from: ends[0], to: ends[1], ticks };
    return makeAxis({ log: state.isLog, asked, reach: this.reach(state, state.isLog), snug: side === "x", zero });
  }

  frameOf(panel) {
    return new Frame(panel, { x: this.axisOf(panel, "x"), y: this.axisOf(panel, "y") }, panel.isNamed);
  }

  draw() {
    for (const panel of this.panels) {
      const frame = this.frameOf(panel);
      panel.group.innerHTML = drawn(frame, this.isHidden, panel.id, panel.xMarkup);
      panel.hit.setAttribute("x", num(frame.left - EDGE));
      panel.hit.setAttribute("width", num(frame.right - frame.left + 2 * EDGE));
    }
    this.point(null);
    this.showTools();
  }

  setLog(axis, isLog) {
    Object.assign(axis, { isLog, ends: null });
    this.draw();
  }

  reset() {
    for (const axis of this.axes) Object.assign(axis, { isLog: axis.log, ends: null });
    this.draw();
  }

  // Zooms an axis to the range between two positions of the current view, limited to the whole axis.
  zoom(panel, side, from, to) {
    const state = panel[`${side}State`];
    if (!state || !(to > from)) return;
    const [now, whole] = [this.axisOf(panel, side), this.axisOf(panel, side, true)];
    const places = [from, to].map((place) => clamp(placeOn(whole, valueAt(now, place)) ?? 0, 0, 1));
    if (places[1] - places[0] < 1e-5) return;
    const isWhole = places[0] < 1e-9 && places[1] > 1 - 1e-9;
    state.ends = isWhole ? null : places.map((place) => valueAt(whole, place));
  }

  // Zooms both axes around the value shown, or around the middle. Shared axes zoom only once.
  zoomAll(by, about = this.current) {
    const done = new Set();
    for (const panel of about ? [about.panel, ...this.panels] : this.panels) {
      const frame = this.frameOf(panel);
      const spot = about?.panel === panel ? about.spot : null;
      for (const side of ["x", "y"]) {
        const state = panel[`${side}State`];
        if (!state || done.has(state)) continue;
        done.add(state);
        const value = spot && placeOn(frame[side], spot[side]);
        const middle = value === null ? 0.5 : clamp(value, 0, 1);
        this.zoom(panel, side, middle - middle * by, middle + (1 - middle) * by);
      }
    }
    this.draw();
    if (about) this.point(about.panel, this.spots(about.panel).find((spot) => spot.key === about.spot.key) ?? null);
  }

  // Pans a zoomed axis by a share of the view, limited to the whole axis.
  shift(panel, side, by) {
    const state = panel[`${side}State`];
    if (!state?.ends) return;
    const whole = this.axisOf(panel, side, true);
    const [from, to] = state.ends.map((end) => placeOn(whole, end));
    const step = clamp(by * (to - from), -from, 1 - to);
    state.ends = [from + step, to + step].map((place) => valueAt(whole, place));
    this.draw();
  }

  spots(panel) {
    return spotsOf(panel, this.frameOf(panel), this.isHidden);
  }

  // Returns the position of an event in units of the drawing.
  placeOf(event) {
    const box = this.svg.getBoundingClientRect();
    const scale = this.svg.viewBox.baseVal.width / box.width;
    return [(event.clientX - box.left) * scale, (event.clientY - box.top) * scale];
  }

  onDown(panel, event) {
    const [x, y] = this.placeOf(event);
    if (event.pointerType === "mouse" && event.button === 0) {
      panel.hit.setPointerCapture(event.pointerId);
      this.drag = { x, y };
    } else {
      this.point(panel, nearestOf(this.spots(panel), x, y));
    }
  }

  onMove(panel, event) {
    const [x, y] = this.placeOf(event);
    const area = this.drag && this.dragged(panel, x, y);
    if (!area) {
      this.point(panel, nearestOf(this.spots(panel), x, y));
      return;
    }
    this.point(null);
    const [left, top, right, bottom] = area;
    const sides = { x: left, y: top, width: right - left, height: bottom - top, visibility: "visible" };
    for (const [key, value] of Object.entries(sides)) this.box.setAttribute(key, value);
  }

  // Returns the dragged area. A side along which the drag is short counts as a whole. Null: no drag yet.
  dragged(panel, x, y) {
    const frame = this.frameOf(panel);
    const range = (from, to, low, high, isMovable) =>
      isMovable && Math.abs(to - from) >= 10 ? [clamp(Math.min(from, to), low, high), clamp(Math.max(from, to), low, high)] : null;
    const across = range(this.drag.x, x, frame.left, frame.right, !panel.isNamed);
    const up = range(this.drag.y, y, frame.top, frame.bottom, true);
    if (!across && !up) return null;
    const [left, right] = across ?? [frame.left, frame.right];
    const [top, bottom] = up ?? [frame.top, frame.bottom];
    return [left, top, right, bottom];
  }

  onUp(panel, event) {
    const area = this.drag && this.dragged(panel, ...this.placeOf(event));
    this.endDrag();
    if (!area) return;
    const [left, top, right, bottom] = area;
    const frame = this.frameOf(panel);
    const across = (x) => (x - frame.left) / (frame.right - frame.left);
    const up = (y) => (frame.bottom - y) / (frame.bottom - frame.top);
    this.zoom(panel, "x", across(left), across(right));
    this.zoom(panel, "y", up(bottom), up(top));
    this.draw();
  }

  endDrag() {
    this.drag = null;
    this.box.setAttribute("visibility", "hidden");
  }

  onKey(panel, event) {
    const { key, shiftKey } = event;
    const arrows = { ArrowLeft: ["x", -1], ArrowRight: ["x", 1], ArrowUp: ["y", 1], ArrowDown: ["y", -1] };
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    if (key === "+" || key === "=") this.zoomAll(0.5);
    else if (key === "-") this.zoomAll(2);
    else if (key === "Escape" || key === "0") this.reset();
    else if (shiftKey && arrows[key]) this.shift(panel, arrows[key][0], arrows[key][1] / 4);
    else if (arrows[key] || key === "Home" || key === "End") this.step(panel, key);
    else return;
    event.preventDefault();
  }

  // Moves to the next value of the series, or to the nearest value of the next series.
  step(panel, key) {
    const spots = this.spots(panel);
    const now = this.current?.panel === panel && spots.find((spot) => spot.key === this.current.spot.key);
    if (!now) return this.point(panel, spots[0] ?? null, true);
    const own = spots.filter((spot) => spot.number === now.number);
    const ends = { Home: own[0], End: own.at(-1) };
    let next = ends[key];
    if (key === "ArrowLeft" || key === "ArrowRight") {
      next = own[own.indexOf(now) + (key === "ArrowRight" ? 1 : -1)];
    } else if (!next) {
      const numbers = [...new Set(spots.map((spot) => spot.number))];
      const number = numbers[(numbers.indexOf(now.number) + (key === "ArrowDown" ? 1 : numbers.length - 1)) % numbers.length];
      const others = spots.filter((spot) => spot.number === number);
      next = others.reduce((best, spot) => (Math.abs(spot.px - now.px) < Math.abs(best.px - now.px) ? spot : best));
    }
    return this.point(panel, next ?? now, true);
  }

  // Shows the tooltip of a value, or hides it without one. `aloud`: announce it to screen readers.
  point(panel, spot = null, aloud = false) {
    this.current = panel && spot ? { panel, spot } : null;
    this.tip.hidden = !spot;
    this.marker.setAttribute("visibility", spot ? "visible" : "hidden");
    if (!spot) return;
    this.marker.setAttribute("cx", num(spot.px));
    this.marker.setAttribute("cy", num(spot.py));
    this.marker.setAttribute("stroke", spot.series.colour);
    const { head, rows } = wordsOf(panel, spot, this.frameOf(panel), this.isHidden);
    const lines = rows.map(({ series, text, isOwn }) => {
      const swatch = element("i");
      swatch.style.background = series.colour;
      const name = element("span", { textContent: nameOf(series) || panel.y.label });
      return element("div", { className: isOwn ? "own" : "" }, swatch, name, element("span", { textContent: text }));
    });
    this.tip.replaceChildren(element("b", { textContent: head }), ...lines);
    this.placeTip(spot);
    const own = rows.find((row) => row.isOwn);
    if (aloud) this.announce([nameOf(own.series), head, own.text].filter(Boolean).join(", "));
  }

  // Places the tooltip next to the value, inside the figure.
  placeTip(spot) {
    const box = this.svg.getBoundingClientRect();
    const scale = box.width / this.svg.viewBox.baseVal.width;
    const offset = box.left - this.stage.getBoundingClientRect().left;
    const [x, y] = [spot.px * scale + offset, spot.py * scale];
    const { offsetWidth: width, offsetHeight: height } = this.tip;
    const left = x + 14 + width <= this.stage.clientWidth ? x + 14 : x - 14 - width;
    this.tip.style.left = `${clamp(left, 0, Math.max(this.stage.clientWidth - width, 0))}px`;
    this.tip.style.top = `${clamp(y - height - 10, -40, Math.max(box.height - height, 0))}px`;
  }
}
