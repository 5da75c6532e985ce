// Drawings of a port: its packets at an instant, and the whole run.

import { Canvas } from "./canvas.js";
import { bytes, rate } from "./page.js";

// Margins of the whole run's axes in CSS pixels.
const LEFT = 78;
const RIGHT = 12;

// Returns the share of the run's time at a horizontal position.
export function shareAt(element, x) {
  const box = element.getBoundingClientRect();
  return Math.min(Math.max((x - box.left - LEFT) / (box.width - LEFT - RIGHT), 0), 1);
}

// Draws a port at the time `now` in nanoseconds, with the packets of `window` before the port, in its queue and on its link. Packets
// are visible for the time `reach` before and after the port. Returns the queued packets.
export function drawPort(element, port, window, now, reach) {
  const canvas = new Canvas(element);
  const { context: c, width, height } = canvas;
  const packets = window?.packets ?? [];
  const queued = packets.filter((packet) => packet[0] <= now && now < packet[2]);
  const most = Math.max(...port.queue_packets, 1);
  // From left to right: packets before the port, the queue with its head at the right, the link.
  const [from, to] = [width * 0.2, width * 0.72];
  const [top, bottom] = [26, height - 34];
  const isNarrow = width < 600;
  canvas.text(isNarrow ? "senders" : "from the senders", 4, 14, "quiet");
  canvas.text(isNarrow ? "queue" : `queue of ${port.link}`, from, 14, "quiet");
  canvas.text(rate(port.rate_bps), to + 12, 14, "quiet");
  c.strokeStyle = canvas.colour("line");
  c.lineWidth = 2;
  c.strokeRect(from - 6, top - 6, to - from + 12, bottom - top + 12);
  // Choose the cell size to fit the longest queue.
  const area = (to - from) * (bottom - top);
  const cell = Math.max(3, Math.min(26, Math.floor(Math.sqrt(area / (most + 1)))));
  const inColumn = Math.max(1, Math.floor((bottom - top) / cell));
  const place = (i) => [to - (Math.floor(i / inColumn) + 1) * cell, bottom - ((i % inColumn) + 1) * cell];
  const box = (x, y, size, packet, isMarked) => {
    c.fillStyle = canvas.flow(packet[3]);
    c.fillRect(x + 0.5, y + 0.5, size - 1, size - 1);
    if (isMarked) {
      // A notch shows a mark without relying on colour.
      c.fillStyle = canvas.colour("card");
      c.beginPath();
      c.moveTo(x + size * 0.25, y + 0.5);
      c.lineTo(x + size * 0.75, y + 0.5);
      c.lineTo(x + size * 0.5, y + size * 0.6);
      c.fill();
    }
  };
  queued.forEach((packet, i) => {
    const [x, y] = place(i);
    box(x, y, cell, packet, packet[5]);
  });
  if (port.mark && port.marked) {
    const threshold = port.mark.packets ?? Math.round(port.mark.bytes / 1500);
    const x = to - Math.ceil(threshold / inColumn) * cell - 1;
    if (x > from - 4) {
      canvas.dashed(x, top - 6, x, bottom + 6, "dctcp");
      canvas.text(`marks from ${threshold} packets`, Math.max(x - 4, 4), height - 6, "quiet", "center");
    }
  }
  const size = Math.max(6, Math.min(cell, 14));
  const lane = (i) => top + ((i + 0.5) / port.flows.length) * (bottom - top) - size / 2;
  for (const packet of packets) {
    const coming = (packet[0] - now) / reach;
    if (coming > 0 && coming < 1) box(from - 10 - size - coming * (from - 10 - size), lane(packet[3]), size, packet, false);
    const leaving = (now - packet[2]) / reach;
    if (leaving >= 0 && leaving < 1) box(to + 10 + leaving * (width - to - 10), (top + bottom) / 2 - size / 2, size, packet, packet[5]);
  }
  c.strokeStyle = canvas.colour("bad");
  c.lineWidth = 2.5;
  for (const [when, flow] of window?.drops ?? []) {
    const age = (now - when) / (reach * 2);
    if (age < 0 || age > 1) continue;
    const [x, y] = [from - 14, lane(flow) + size / 2 + age * 10];
    c.globalAlpha = 1 - age;
    canvas.line(x - 5, y - 5, x + 5, y + 5);
    canvas.line(x - 5, y + 5, x + 5, y - 5);
    c.globalAlpha = 1;
  }
  return queued;
}

// Draws a port over the whole run, with a line at the time `now`: the rate of each flow above, the queue below.
export function drawCourse(element, port, now) {
  const canvas = new Canvas(element);
  const { context: c, width, height } = canvas;
  const end = port.end_ns;
  const x = (ns) => LEFT + (ns / end) * (width - LEFT - RIGHT);
  const split = Math.round(height * 0.58);
  const upper = [16, split - 14];
  const lower = [split + 8, height - 26];
  // A short interval may contain a packet more than the link's average rate.
  const most = Math.min(Math.max(...port.rates_bps.flat(), 1), port.rate_bps) * 1.05;
  const longest = Math.max(...port.queue_bytes, 1) * 1.05;
  const y = (value, all, [top, bottom]) => bottom - (value / all) * (bottom - top);
  canvas.text(rate(most / 1.05), LEFT - 6, upper[0] + 8, "quiet", "right");
  canvas.text("0", LEFT - 6, upper[1] + 3, "quiet", "right");
  canvas.text(bytes(Math.round(longest / 1.05)), LEFT - 6, lower[0] + 8, "quiet", "right");
  canvas.text("queue", LEFT - 6, lower[1] + 3, "quiet", "right");
  c.strokeStyle = canvas.colour("line");
  c.lineWidth = 1;
  for (const [, bottom] of [upper, lower]) canvas.line(LEFT, bottom + 0.5, width - RIGHT, bottom + 0.5);
  const ticks = width < 500 ? 2 : 4;
  for (let i = 0; i <= ticks; i++) {
    const when = (end * i) / ticks;
    canvas.text(end > 1e9 ? `${(when / 1e9).toFixed(1)} s` : `${(when / 1e6).toFixed(1)} ms`, x(when), height - 8, "quiet", i === 0 ? "left" : i === ticks ? "right" : "center");
  }
  // The queue.
  c.fillStyle = canvas.colour("quiet");
  c.globalAlpha = 0.35;
  c.beginPath();
  c.moveTo(LEFT, lower[1]);
  port.queue_bytes.forEach((value, bin) => c.lineTo(x((bin + 0.5) * port.bin_ns), y(value, longest, lower)));
  c.lineTo(width - RIGHT, lower[1]);
  c.fill();
  c.globalAlpha = 1;
  for (const [counts, name] of [[port.marks, "dctcp"], [port.drops, "bad"]]) {
    const peak = Math.max(...counts);
    if (!peak) continue;
    c.fillStyle = canvas.colour(name);
    counts.forEach((value, bin) => value && c.fillRect(x((bin + 0.5) * port.bin_ns), lower[1] - 2 - (value / peak) * 12, 1.5, (value / peak) * 12 + 2));
  }
  // Rates are averaged over some intervals, since bursts of a window would hide everything else.
  const span = 6;
  port.rates_bps.forEach((values, i) => {
    c.strokeStyle = canvas.flow(i);
    c.lineWidth = 2;
    c.beginPath();
    for (let bin = 0; bin < values.length; bin += span / 2) {
      const part = values.slice(Math.max(bin - span / 2, 0), bin + span / 2 + 1);
      const value = part.reduce((sum, rate) => sum + rate, 0) / part.length;
      c.lineTo(x((bin + 0.5) * port.bin_ns), y(value, most, upper));
    }
    c.stroke();
  });
  port.flows.forEach((flow, i) => {
    if (flow.deadline_ns !== null && flow.deadline_ns <= end) {
      c.strokeStyle = canvas.flow(i);
      c.setLineDash([5, 4]);
      c.lineWidth = 1.5;
      // Draw equal deadlines next to each other.
      const before = port.flows.slice(0, i).filter((other) => other.deadline_ns === flow.deadline_ns).length;
      canvas.line(x(flow.deadline_ns) - before * 2, upper[0] - 8, x(flow.deadline_ns) - before * 2, lower[1]);
      c.setLineDash([]);
    }
  });
  c.strokeStyle = canvas.colour("text");
  c.lineWidth = 2;
  canvas.line(x(now), upper[0] - 12, x(now), lower[1] + 4);
}
