// Drawing of a panel, identical to that of crates/figures (figure.rs, frame.rs, marks.rs, overlap.rs, shapes.rs), from
// the data embedded in each drawing. A browser test redraws every panel and compares.

const TEXT = 13;
const num = (value) => String(Math.round(value * 10) / 10);
const escaped = (text) => text.replace(/[&<>"]/g, (letter) => `&#${letter.charCodeAt(0)};`);

// Estimates the width of a tick's label.
function widthOf(text) {
  const em = [...text].map((letter) => (letter === "." ? 0.36 : letter === "M" ? 0.9 : /\d/.test(letter) ? 0.65 : 0.59));
  return TEXT * em.reduce((sum, wide) => sum + wide, 0);
}

// Panel with its axes: converts values to positions in units of the drawing.
class Frame {
  // `axes`: x and y, from axis.js; `isNamed`: the x axis has names, whose labels are not redrawn.
  constructor(panel, axes, isNamed) {
    const [left, top, width, height] = panel.box;
    Object.assign(this, axes, { panel, top, bottom: top + height, right: left + width, isNamed });
    // New labels may be wider than the original ones.
    const widest = Math.max(0, ...this.y.ticks.map(([, label]) => widthOf(label)));
    this.left = isNamed ? left : Math.max(left, Math.min(widest + 10, 147));
  }

  across(value) {
    const place = placeOn(this.x, value);
    return place === null ? null : this.left + (this.right - this.left) * Math.min(Math.max(place, -9), 10);
  }

  up(value) {
    const place = placeOn(this.y, value);
    return place === null ? null : this.bottom - (this.bottom - this.top) * Math.min(Math.max(place, -9), 10);
  }

  at(x, y) {
    const place = [this.across(x), this.up(y)];
    return place.includes(null) ? null : place;
  }

  // Returns all points of a series with their positions: {i, x, y, low, high, at}. `at` is null without a position.
  points(series, aside = 0) {
    const { points, intervals } = series;
    const all = [];
    for (let i = 0; 2 * i < points.length; i++) {
      const [x, y] = [points[2 * i], points[2 * i + 1]];
      const [low, high] = intervals.length ? [intervals[2 * i], intervals[2 * i + 1]] : [y, y];
      all.push({ i, x, y, low, high, at: this.at(x === null ? null : x + aside, y) });
    }
    return all;
  }

  // Splits the points into runs without gaps.
  runs(points) {
    const runs = [[]];
    for (const point of points) {
      if (point.at) runs.at(-1).push(point);
      else runs.push([]);
    }
    return runs.filter((run) => run.length > 0);
  }
}

const hasInterval = (point) => point.low !== null && point.high !== null && point.low < point.high;
const isOfOthers = (series) => ["published", "at most", "at least"].includes(series.style);
const isLine = (series) => series.style === "line" || series.style === "step";

// Returns the markup of a panel without its title and captions. `id`: ID of its clip paths; `xMarkup`: markup of an x
// axis with names.
function drawn(frame, isHidden, id, xMarkup) {
  const { panel } = frame;
  const shown = panel.series.filter((series) => !isHidden(series.name));
  const bars = shown.filter((series) => series.style === "bars");
  const clip = (clipId, margin) =>
    `<clipPath id="${clipId}"><rect x="${num(frame.left - margin)}" y="${num(frame.top - margin)}" ` +
    `width="${num(frame.right - frame.left + 2 * margin)}" height="${num(frame.bottom - frame.top + 2 * margin)}"/></clipPath>`;
  const lines = `${id}l`;
  let svg = yAxis(frame) + (xMarkup ?? xAxis(frame)) + clip(id, 8) + clip(lines, 1) + `<g clip-path="url(#${id})">`;
  bars.forEach((series, i) => (svg += barsOf(frame, series, i, bars.length)));
  const earlier = [];
  for (const series of shown.filter((series) => series.style !== "bars")) {
    const bar = isOfOthers(series) ? bars.findIndex((other) => other.name === series.name) : -1;
    const points = frame.points(series, bar < 0 ? 0 : ((bar + 0.5 - bars.length / 2) * 0.8) / bars.length);
    const runs = frame.runs(points);
    svg += seriesOf(frame, series, points, runs, lines, earlier);
    if (isLine(series)) earlier.push(...runs.map((run) => cornersOf(run, series.style)));
  }
  svg += "</g>";
  for (const [isVertical, at] of panel.guides) svg += guideOf(frame, isVertical, at);
  return svg + (panel.diagonal ? diagonalOf(frame, lines) : "");
}

const stroke = (path, colour, width, more = "") =>
  path && `<path d="${path}" stroke="${colour}" stroke-width="${width}" fill="none"${more}/>`;
const textAt = (x, y, text, anchor) => `<text x="${num(x)}" y="${num(y)}" text-anchor="${anchor}">${escaped(text)}</text>`;
const dotted = (path) => stroke(path, "currentColor", 1.2, ' stroke-dasharray="2 3"');

function yAxis(frame) {
  let [labels, grid] = ["", ""];
  for (const [value, label] of frame.y.ticks) {
    const y = frame.up(value);
    if (y === null) continue;
    grid += `M${num(frame.left)} ${num(y)}H${num(frame.right)}`;
    labels += textAt(frame.left - 6, y + 4, label, "end");
  }
  return labels + stroke(grid, "currentColor", 1, ' stroke-opacity="0.15"');
}

function xAxis(frame) {
  let [labels, base, free] = ["", `M${num(frame.left)} ${num(frame.bottom)}H${num(frame.right)}`, -Infinity];
  for (const [value, label] of frame.x.ticks) {
    const tick = frame.across(value);
    if (tick === null) continue;
    base += `M${num(tick)} ${num(frame.bottom)}v4`;
    const half = widthOf(label) / 2;
    if (tick - half < free) continue;
    // Move labels near an end inwards instead of clipping them.
    const x = Math.min(Math.max(tick, half), frame.right + 13 - half);
    labels += textAt(x, frame.bottom + 17, label, "middle");
    free = x + half + 6;
  }
  return `<g class="x">${labels}${stroke(base, "currentColor", 1, ' stroke-opacity="0.7"')}</g>`;
}

function seriesOf(frame, series, points, runs, clip, earlier) {
  const { colour, style } = series;
  let svg = "";
  if (isLine(series) && runs.length) {
    svg += `<g clip-path="url(#${clip})">`;
    if (style === "line") for (const run of runs) svg += bandOf(frame, run, colour);
    svg += curveOf(series, runs.map((run) => cornersOf(run, style)), earlier) + "</g>";
  }
  const all = runs.flat();
  if (style === "dots") {
    const path = all.map(({ at }) => `M${num(at[0])} ${num(at[1])}h0`).join("");
    svg += stroke(path, colour, 4, ' stroke-opacity="0.5" stroke-linecap="round"');
  }
  if (style === "at most" || style === "at least") {
    if (all.length > 1) svg += stroke(through(all.map(({ at }) => at)), colour, 1.2);
    for (const { at } of all) svg += arrowOf(at, colour, style === "at most");
  }
  if (style === "published") {
    for (const { at } of all) {
      svg += `<path d="${outline(series.marker, at, 1.7)}" fill="#fff" fill-opacity="0.8" stroke="${colour}" stroke-width="1.8"/>`;
    }
  }
  if (style === "points" || (style === "line" && points.length <= 40)) {
    for (const point of all) {
      if (style === "points") svg += whisker(frame, point.at[0], point, colour);
      // Markers on other lines are smaller, so that the lines stay visible.
      const size = style === "points" ? 1 : [1, 0.65, 0.4][Math.min(linesBelow(point.at, earlier), 2)];
      svg += `<path d="${outline(series.marker, point.at, size)}" fill="${colour}"/>`;
    }
  }
  return svg;
}

function bandOf(frame, run, colour) {
  if (!run.some(hasInterval)) return "";
  const corner = ({ x, y }, end) => {
    // On a logarithmic axis, an interval that includes zero reaches the end of the axis.
    const at = frame.at(x, end) ?? frame.at(x, end < y ? groundOf(frame.y) : y);
    return at && `${num(at[0])} ${num(at[1])}`;
  };
  const there = run.map((point) => corner(point, point.high));
  const back = run.map((point) => corner(point, point.low)).reverse();
  const path = [...there, ...back].filter(Boolean).join("L");
  return `<path d="M${path}Z" fill="${colour}" fill-opacity="0.18"/>`;
}

// Returns the box of bar `i` of `all`: [left, top, width, height, spacing].
function barBox(frame, point, i, all) {
  const wide = ((frame.right - frame.left) / Math.max(frame.x.ticks.length, 1)) * (0.8 / all);
  const ground = frame.up(groundOf(frame.y));
  const [x, y] = point.at;
  return [x + (i - all / 2) * wide, Math.min(y, ground), Math.max(wide - 1.5, 1), Math.abs(y - ground), wide];
}

function barsOf(frame, series, i, all) {
  let svg = "";
  for (const point of frame.points(series).filter((point) => point.at)) {
    const [left, top, width, height, wide] = barBox(frame, point, i, all);
    const inset = series.dash ? 0.7 : 0;
    const look = series.dash
      ? `fill-opacity="0.25" stroke="${series.colour}" stroke-width="1.4" stroke-dasharray="${series.dash}"`
      : 'fill-opacity="0.85"';
    svg += `<rect x="${num(left + inset)}" y="${num(top + inset)}" width="${num(Math.max(width - 2 * inset, 0))}" ` +
      `height="${num(Math.max(height - 2 * inset, 0))}" fill="${series.colour}" ${look}/>`;
    const middle = left + (wide - 1.5) / 2;
    svg += whisker(frame, middle, point, "currentColor");
    if (height < 12) svg += written(middle, Math.min(frame.up(point.high) ?? point.at[1], point.at[1]) - 4, wide, point.y);
  }
  return svg;
}

// Writes the value above a low bar, horizontally if it fits between its neighbours, else vertically.
function written(x, y, wide, value) {
  const text = rounded(value, 2, 4);
  if (widthOf(text) <= wide) return textAt(x, y, text, "middle");
  return wide < TEXT * 0.8 ? "" : `<text y="4.5" transform="translate(${num(x)} ${num(y)}) rotate(-90)">${text}</text>`;
}

function whisker(frame, x, point, colour) {
  if (!hasInterval(point)) return "";
  const low = frame.up(point.low) ?? frame.up(groundOf(frame.y));
  const high = frame.up(point.high);
  if (low === null || high === null) return "";
  return stroke(`M${num(x - 3)} ${num(high)}h6m-3 0V${num(low)}m-3 0h6`, colour, 1.3);
}

function guideOf(frame, isVertical, at) {
  const place = isVertical ? frame.across(at) : frame.up(at);
  const [from, to] = isVertical ? [frame.left, frame.right] : [frame.top, frame.bottom];
  if (place === null || place < from - 0.5 || place > to + 0.5) return "";
  return dotted(
    isVertical
      ? `M${num(place)} ${num(frame.top)}V${num(frame.bottom)}`
      : `M${num(frame.left)} ${num(place)}H${num(frame.right)}`,
  );
}

// Draws the line of equal values on both axes as a polyline, which is curved if one axis is logarithmic.
function diagonalOf(frame, clip) {
  const values = Array.from({ length: 49 }, (_, i) => valueAt(frame.x, i / 48));
  const path = through(values.map((value) => frame.at(value, value)).filter(Boolean));
  return `<g clip-path="url(#${clip})">${dotted(path)}</g>`;
}

function arrowOf([x, y], colour, isDown) {
  const [long, tip] = isDown ? [13, 4] : [-13, -4];
  return stroke(`M${num(x - 8)} ${num(y)}h16M${num(x)} ${num(y)}v${long}m-4 ${-tip}l4 ${tip}l4 ${-tip}`, colour, 2);
}

function outline(marker, [x, y], by) {
  const n = (length) => num(length * by);
  const corner = (dx, dy) => `${num(x + dx * by)} ${num(y + dy * by)}`;
  const [r, d] = [n(3.3), n(6.6)];
  return {
    circle: `M${corner(-3.3, 0)}a${r} ${r} 0 1 0 ${d} 0a${r} ${r} 0 1 0 -${d} 0Z`,
    square: `M${corner(-3, -3)}h${n(6)}v${n(6)}h-${n(6)}Z`,
    diamond: `M${corner(0, -4)}l${n(4)} ${n(4)}l-${n(4)} ${n(4)}l-${n(4)} -${n(4)}Z`,
    triangle: `M${corner(0, -4.5)}l${n(4)} ${n(7)}h-${n(8)}Z`,
  }[marker];
}

// Returns the corners of a line through the points of a run.
function cornersOf(run, style) {
  const corners = [];
  for (const { at } of run) {
    if (style === "step" && corners.length) corners.push([at[0], corners.at(-1)[1]]);
    corners.push(at);
  }
  return corners;
}

function through(corners) {
  let [path, last] = ["", null];
  for (const [x, y] of corners.map((corner) => corner.map(num))) {
    path += last === null ? `M${x} ${y}` : last[1] === y ? `H${x}` : last[0] === x ? `V${y}` : `L${x} ${y}`;
    last = [x, y];
  }
  return path;
}

// Draws lines, dashed where they overlap earlier lines.
function curveOf({ colour, dash }, lines, earlier) {
  const paths = ["", "", "", ""];
  for (const corners of lines) {
    if (dash || corners.length < 2) paths[0] += through(corners);
    else for (const stretch of stretchesOf(corners, earlier)) paths[Math.min(stretch.below, 3)] += through(stretch.corners);
  }
  return paths
    .map((path, below) => {
      const dashes = ["", "8 8", "4 12", "2 14"][below] || dash;
      const more = ` stroke-linejoin="round"${dashes ? ` stroke-dasharray="${dashes}"` : ""}`;
      return stroke(path, colour, 1.8, more);
    })
    .join("");
}

// Splits a line into stretches that overlap the same number of earlier lines. Short overlaps are crossings.
function stretchesOf(line, earlier) {
  const levels = line.map((at) => linesBelow(at, earlier));
  const stretches = [];
  for (let i = 0; i + 1 < line.length; i++) {
    const below = Math.min(levels[i], levels[i + 1]);
    const last = stretches.at(-1);
    if (last && last.below === below) last.corners.push(line[i + 1]);
    else stretches.push({ below, corners: [line[i], line[i + 1]] });
  }
  for (const stretch of stretches) {
    const { corners } = stretch;
    const long = corners.slice(1).reduce((sum, [x, y], i) => sum + Math.hypot(x - corners[i][0], y - corners[i][1]), 0);
    if (long < 16) stretch.below = 0;
  }
  return stretches;
}

const NEAR = 2;
const linesBelow = (at, earlier) => earlier.filter((line) => passes(line, at)).length;

function passes(line, [x, y]) {
  const from = Math.max(firstAfter(line, x - NEAR, false) - 1, 0);
  const to = Math.min(firstAfter(line, x + NEAR, true) + 1, line.length);
  for (let i = from; i + 1 < to; i++) if (distance([x, y], line[i], line[i + 1]) <= NEAR) return true;
  return false;
}

// Returns the number of corners before `x`, or up to and including it.
function firstAfter(line, x, orAt) {
  let [low, high] = [0, line.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (line[middle][0] < x || (orAt && line[middle][0] === x)) low = middle + 1;
    else high = middle;
  }
  return low;
}

function distance([x, y], [ax, ay], [bx, by]) {
  const [dx, dy] = [bx - ax, by - ay];
  const size = dx * dx + dy * dy;
  const along = size > 0 ? Math.min(Math.max(((x - ax) * dx + (y - ay) * dy) / size, 0), 1) : 0;
  return Math.hypot(x - ax - along * dx, y - ay - along * dy);
}
