// Elements and number formats for both views.

// Creates an element with attributes and children.
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children);
  return element;
}

// Splits a text into nodes, with parts between backquotes as code.
export const coded = (text) => text.split("`").map((part, i) => (i % 2 ? make("code", {}, part) : part));

// Sets a text only if it changes, so that screen readers do not announce it twice.
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

const digits = (value) => (value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2));

export function time(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  if (seconds >= 1) return `${digits(seconds)} s`;
  if (seconds >= 1e-3) return `${digits(seconds * 1e3)} ms`;
  return `${digits(seconds * 1e6)} µs`;
}

export function bytes(value) {
  if (value >= 1e6) return `${digits(value / 1e6)} MB`;
  return value >= 1e3 ? `${digits(value / 1e3)} KB` : `${value} B`;
}

export const count = (value) => (value >= 1e6 ? `${digits(value / 1e6)} M` : value >= 1e4 ? `${digits(value / 1e3)} k` : String(Math.round(value * 10) / 10));
// Minimum samples for each percentile: 10 beyond it.
const MIN_SAMPLES = [20, 100, 1000, 10000];

// Returns the percentiles of a row with their intervals, or dashes with a reason.
export const percentiles = (row) =>
  row.completion_s.map((seconds, i) => {
    const ends = row.completion_intervals_s[i];
    if (seconds !== null) return { text: time(seconds), hint: ends && `95 %: ${time(ends[0])} to ${time(ends[1])}` };
    const hint = row.completions < MIN_SAMPLES[i] ? `Needs ${count(MIN_SAMPLES[i])}, has ${count(row.completions)}` : "Too many never finished";
    return { text: "–", hint };
  });

export const percent = (share) => (share === null ? "–" : share === 1 || share === 0 ? `${share * 100} %` : share > 0.995 ? `${Math.min(share * 100, 99.99).toFixed(2)} %` : `${(share * 100).toFixed(1)} %`);

export const rate = (bps) => (bps >= 1e9 ? `${(bps / 1e9).toFixed(2)} Gbps` : `${(bps / 1e6).toFixed(0)} Mbps`);
