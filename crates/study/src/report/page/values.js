// Values of a panel that can be pointed at, and their tooltips.

const withUnit = (value, unit) => (unit ? `${value} ${unit}` : value);
const nameOf = (series) => series.label || series.name;

// Returns all values within the axes: {x, y, low, high, series, number, key, px, py, ground}. `ground` is the lower end
// of a bar.
function spotsOf(panel, frame, isHidden) {
  const bars = panel.series.filter((series) => series.style === "bars" && !isHidden(series.name));
  const isWithin = ({ px, py, ground }) =>
    px >= frame.left - 1 && px <= frame.right + 1 && py <= frame.bottom + 1 && Math.max(py, ground) >= frame.top - 1;
  const spots = [];
  panel.series.forEach((series, number) => {
    if (isHidden(series.name)) return;
    const bar = bars.findIndex((other) => other.name === series.name);
    const isBeside = bar >= 0 && isOfOthers(series);
    const aside = isBeside ? ((bar + 0.5 - bars.length / 2) * 0.8) / bars.length : 0;
    for (const point of frame.points(series, aside)) {
      if (!point.at) continue;
      let [px, py] = point.at;
      let ground = py;
      if (series.style === "bars") {
        const [left, top, width, height] = barBox(frame, point, bar, bars.length);
        [px, py, ground] = [left + width / 2, top, top + height];
      }
      const spot = { ...point, series, number, key: `${number}.${point.i}`, px, py, ground };
      if (isWithin(spot)) spots.push(spot);
    }
  });
  return spots;
}

// Returns the value nearest to a position. Any position on a bar belongs to its value.
function nearestOf(spots, x, y) {
  let [best, least] = [null, Infinity];
  for (const spot of spots) {
    const away = Math.hypot(x - spot.px, y > spot.py && y <= spot.ground ? 0 : y - spot.py);
    if (away < least) [best, least] = [spot, away];
  }
  return best;
}

// Returns the heading of a tooltip, and a row for the value and for each other series with a value at the same
// position.
function wordsOf(panel, spot, frame, isHidden) {
  const { x, y } = panel;
  const at = panel.isNamed ? (x.ticks[Math.round(spot.x)]?.[1] ?? "") : withUnit(significant(spot.x), x.unit);
  const valueOf = (point) =>
    withUnit(significant(point.y), y.unit) +
    (hasInterval(point) ? ` (${significant(point.low)} to ${significant(point.high)})` : "");
  const { style } = spot.series;
  const isAlone = style === "points" || style === "dots";
  const isThere = (point) => point.at && (style === "step" ? point.x <= spot.x : point.x === spot.x);
  const rows = [];
  panel.series.forEach((series, number) => {
    const isOwn = number === spot.number;
    if (isHidden(series.name) || (!isOwn && (isAlone || (style === "step") !== (series.style === "step")))) return;
    const point = isOwn ? spot : frame.points(series).findLast(isThere);
    const bound = series.style === "published" ? "" : `, ${series.style}`;
    if (point) rows.push({ series, isOwn, text: (isOfOthers(series) ? `published${bound}: ` : "") + valueOf(point) });
  });
  return { head: panel.isNamed ? at : [x.label, at].filter(Boolean).join(": "), rows };
}
