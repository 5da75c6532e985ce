// What both views make elements and write numbers with.

// An element with attributes, classes as `class`, and children.
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children);
  return element;
}

// A text with what is between backquotes as code.
export const coded = (text) => text.split("`").map((part, i) => (i % 2 ? make("code", {}, part) : part));

// Sets a text only where it changes, so that nothing is announced twice.
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
// The samples that each percentile needs: 10 beyond it.
const NEEDED = [20, 100, 1000, 10000];

// The percentiles of a row with their intervals, or dashes that say why there is none.
export const percentiles = (of) =>
  of.completion_s.map((seconds, i) => {
    const ends = of.completion_intervals_s[i];
    if (seconds !== null) return { text: time(seconds), hint: ends && `95 %: ${time(ends[0])} to ${time(ends[1])}` };
    const hint = of.completions < NEEDED[i] ? `Needs ${count(NEEDED[i])}, has ${count(of.completions)}` : "So many never finished";
    return { text: "–", hint };
  });

export const percent = (share) => (share === null ? "–" : share === 1 || share === 0 ? `${share * 100} %` : share > 0.995 ? `${Math.min(share * 100, 99.99).toFixed(2)} %` : `${(share * 100).toFixed(1)} %`);

export const rate = (bps) => (bps >= 1e9 ? `${(bps / 1e9).toFixed(2)} Gbps` : `${(bps / 1e6).toFixed(0)} Mbps`);
