// Axes: positions of values, and ticks. The rules match crates/figures/src/axis.rs; tests/browser/axis.test.mjs
// compares this file with results of that module.

const LARGEST = 1e300;
const isNumber = (value) => typeof value === "number" && Number.isFinite(value);

// Multiples of a step. Its digit and exponent are separate, so that labels are exact.
const times = (step, i) => {
  const count = i * step.digit;
  return step.exponent >= 0 ? count * 10 ** step.exponent : count / 10 ** -step.exponent;
};

const decade = (value) => Math.floor(Math.log10(value));

// Returns the smallest 1, 2 or 5 times a power of ten that is at least `rough`.
function niceStep(rough) {
  const exponent = decade(Math.max(rough, 1e-300));
  const steps = [1, 2, 5].map((digit) => ({ digit, exponent }));
  return steps.find((step) => times(step, 1) >= rough * 0.999999) ?? { digit: 1, exponent: exponent + 1 };
}

function label(step, i) {
  const count = i * step.digit;
  if (count === 0) return "0";
  if (step.exponent < -6 || step.exponent >= 15) return `${count}e${step.exponent}`;
  if (step.exponent < 0) return times(step, i).toFixed(-step.exponent).replace(/\.?0+$/, "");
  return thousands(count * 10 ** step.exponent);
}

// Abbreviates 12000 to 12k, but not 9000.
function thousands(value) {
  for (const [unit, name] of [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]]) {
    if (Math.abs(value) >= Math.max(1e4, unit) && value % (unit / 10) === 0) {
      const [whole, part] = [Math.trunc(value / unit), Math.abs(value % unit) / (unit / 10)];
      return part === 0 ? `${whole}${name}` : `${whole}.${part}${name}`;
    }
  }
  return String(value);
}

// Creates an axis. `log`: logarithmic. `asked`: fixed ends, null to follow the data. `reach`: least and greatest value.
// `snug`: ends at the data and not at a tick. `zero`: must include zero.
function makeAxis(of) {
  return of.log ? logAxis(of) : linearAxis(of);
}

function linearAxis({ asked, reach, snug, zero }) {
  const within = (value) => Math.min(Math.max(value, -LARGEST), LARGEST);
  let [low, high] = isNumber(reach[0]) ? reach : [0, 1];
  if (zero || (low > 0 && low < high * (snug ? 0.1 : 0.5))) [low, high] = [Math.min(low, 0), Math.max(high, 0)];
  [low, high] = [within(asked[0] ?? low), within(asked[1] ?? high)];
  if (high - low <= Number.EPSILON * Math.max(Math.abs(low), Math.abs(high))) {
    const by = low === 0 ? 1 : Math.abs(low) * 0.1;
    [low, high] = [low === 0 ? 0 : low - by, low + by];
  }
  const step = niceStep((high - low) / 5);
  const size = times(step, 1);
  if (!snug) {
    low = Math.min(asked[0] ?? Math.floor(low / size + 1e-9) * size, low);
    high = Math.max(asked[1] ?? Math.ceil(high / size - 1e-9) * size, high);
  } else if (asked[1] === null) {
    const next = Math.ceil(high / size - 1e-9) * size;
    if (next - high <= (high - low) * 0.04) high = next;
  }
  const slack = (high - low) * 1e-9;
  const [first, last] = [Math.ceil((low - slack) / size), Math.floor((high + slack) / size)];
  const ticks = [];
  for (let i = first; i <= last && ticks.length < 20; i++) ticks.push([times(step, i), label(step, i)]);
  return { log: false, from: low, to: high, ticks };
}

function logAxis({ asked, reach }) {
  const positive = (value) => (isNumber(value) && value > 0 ? value : null);
  const data = isNumber(reach[0]) ? reach : [1, 10];
  const low = positive(asked[0]) ?? data[0];
  const high = Math.max(positive(asked[1]) ?? data[1], low);
  const all = [];
  for (let exponent = Math.max(decade(low), -300); exponent <= Math.min(decade(high), 300) + 1; exponent++) {
    all.push(...[1, 2, 5].map((digit) => ({ digit, exponent })));
  }
  const sizes = all.map((step) => times(step, 1));
  const from = positive(asked[0]) ?? sizes.filter((size) => size <= low * 1.000001).at(-1) ?? low;
  const wanted = positive(asked[1]);
  const to = wanted > from ? wanted : sizes.find((size) => size >= high * 0.999999 && size > from * 1.5) ?? high * 10;
  const decades = Math.log10(to / from);
  const every = Math.max(Math.ceil(decades / 8), 1);
  const isShown = ({ digit, exponent }) => (digit === 1 ? decades <= 8 || exponent % every === 0 : decades <= 2.1);
  const ticks = all.filter(isShown).map((step) => [times(step, 1), label(step, 1)]);
  const inside = ([value]) => value >= from * 0.999999 && value <= to * 1.000001;
  return { log: true, from, to, ticks: ticks.filter(inside) };
}

// Creates an axis from exactly `from` to `to`. A short logarithmic axis gets the ticks of a linear one.
function zoomedAxis(log, from, to) {
  const ends = { asked: [from, to], reach: [from, to], snug: true, zero: false };
  const axis = makeAxis({ log, ...ends });
  return axis.ticks.length > 1 ? axis : { ...axis, ticks: makeAxis({ log: false, ...ends }).ticks };
}

// Returns the position of a value, 0 at the start and 1 at the end of the axis, or null if it has none.
function placeOn(axis, value) {
  if (value === null || (axis.log && value <= 0)) return null;
  const place = axis.log
    ? Math.log(value / axis.from) / Math.log(axis.to / axis.from)
    : (value - axis.from) / (axis.to - axis.from);
  return Number.isFinite(place) ? place : null;
}

// Returns the value at a position.
function valueAt(axis, place) {
  return axis.log ? axis.from * (axis.to / axis.from) ** place : axis.from + (axis.to - axis.from) * place;
}

// Returns the base of bars: zero, or the end of the axis nearest to it.
const groundOf = (axis) => (axis.log ? axis.from : Math.min(Math.max(0, axis.from), axis.to));

// Returns the least and the greatest value that an axis can show.
function reachOf(values, log) {
  let [low, high] = [null, null];
  for (const value of values) {
    if (value === null || (log && value <= 0)) continue;
    if (low === null || value < low) low = value;
    if (high === null || value > high) high = value;
  }
  return [low, high];
}

// Formats a number with four significant digits; large numbers are rounded to integers.
const significant = (value) => rounded(value, 3, 12);

// Formats a number with `digits` digits after its first digit, of which at most `decimals` are decimals.
function rounded(value, digits, decimals) {
  if (value === 0) return "0";
  const places = Math.min(Math.max(digits - decade(Math.abs(value)), 0), decimals);
  // Round half to even, as Rust does.
  const size = Math.abs(value) * 10 ** places;
  const isTie = size % 1 === 0.5 && Math.floor(size) % 2 === 0;
  const text = (isTie ? (Math.sign(value) * Math.floor(size)) / 10 ** places : value).toFixed(places);
  return places === 0 ? text : text.replace(/\.?0+$/, "");
}
