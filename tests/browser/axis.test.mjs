// Compares the axes of the report's script with those of crates/figures: `node --test tests/browser/axis.test.mjs`.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

const read = (path) => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
const names = "makeAxis, zoomedAxis, placeOn, valueAt, significant";
const script = read("crates/study/src/report/page/axis.js");
const { makeAxis, zoomedAxis, placeOn, valueAt, significant } = new Function(`${script}; return { ${names} };`)();

const near = (a, b) => Math.abs(a - b) <= 1e-12 * Math.max(Math.abs(a), Math.abs(b));

test("axes have the same ends and ticks as in Rust", () => {
  const cases = JSON.parse(read("crates/figures/src/snapshots/axes.json"));
  assert.ok(cases.length > 200);
  for (const expected of cases) {
    const axis = makeAxis(expected);
    const text = JSON.stringify(expected);
    const ends = [near(axis.from, expected.ends[0]), near(axis.to, expected.ends[1])];
    assert.ok(ends[0] && ends[1], `${axis.from} to ${axis.to}: ${text}`);
    assert.deepEqual(axis.ticks.map((tick) => tick[1]), expected.ticks.map((tick) => tick[1]), text);
    axis.ticks.forEach(([value], i) => assert.ok(near(value, expected.ticks[i][0]), text));
  }
});

test("a zoomed axis has the requested ends, and ticks", () => {
  for (const [log, from, to] of [[false, 0.123, 0.1234], [true, 2.1, 4.7], [true, 3.01, 3.02], [true, 1e-7, 4e5]]) {
    const axis = zoomedAxis(log, from, to);
    assert.deepEqual([axis.from, axis.to], [from, to]);
    assert.ok(axis.ticks.length > 1, JSON.stringify(axis));
    for (const [value, text] of axis.ticks) {
      assert.ok(value >= from * 0.99999 && value <= to * 1.00001, text);
      assert.ok(near(valueAt(axis, placeOn(axis, value)), value));
    }
    assert.equal(new Set(axis.ticks.map((tick) => tick[1])).size, axis.ticks.length, "labels differ");
  }
});

test("values are formatted as in the tooltips of a drawing", () => {
  const written = [0, 20.625, 20.635, 12.3456, 123456.7, 0.000123456, -4.5, 99.99, 1e-9].map(significant);
  assert.deepEqual(written, ["0", "20.62", "20.64", "12.35", "123457", "0.0001235", "-4.5", "99.99", "0.000000001"]);
});
