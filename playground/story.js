// Packet view of a paper's experiment at its bottleneck: the queue, marks, drops, the flows' rates or windows, and their progress
// towards their deadlines.

import { bytes, make, rate, say, time } from "./page.js";
import { drawCourse, drawPort, shareAt } from "./drawing.js";
import { Refused, Stopped } from "./simulator.js";

const byId = (id) => document.getElementById(id);
const flowColour = (i) => `var(--flow-${i % 6})`;
const SPEEDS = [
  ["slow", "one packet at a time", null],
  ["200000", "0.2 ms per second", 2e5],
  ["1000000", "1 ms per second", 1e6],
  ["whole", "whole run in 15 s", null],
];

export class Story {
  #simulator;
  #stories;
  #copy;
  #run = null;
  #now = 0;
  #playing = 0;
  #window = null;
  #pending = null;
  #queued = null;
  #round = 0;

  constructor(simulator, stories, copy) {
    this.#simulator = simulator;
    this.#stories = stories;
    this.#copy = copy;
    for (const story of stories) byId("story-id").append(make("option", { value: story.id }, `${story.source}: ${story.title}`));
    for (const [value, text] of SPEEDS) byId("speed").append(make("option", { value }, text));
    byId("speed").value = "whole";
    byId("story-id").addEventListener("change", () => this.choose(byId("story-id").value));
    for (const id of ["story-panel", "story-scheme"]) byId(id).addEventListener("change", () => this.load());
    byId("play").addEventListener("click", () => (this.#playing ? this.pause() : this.play()));
    byId("back").addEventListener("click", () => this.step(-1));
    byId("next").addEventListener("click", () => this.step(1));
    byId("time").addEventListener("input", () => {
      this.pause();
      this.#seek((Number(byId("time").value) / 1000) * this.#end());
    });
    byId("story-share").addEventListener("click", () => this.#copy(`story=${byId("story-id").value}&panel=${byId("story-panel").value}&scheme=${byId("story-scheme").value}`));
    const course = byId("course");
    const scrub = (event) => {
      this.pause();
      this.#seek(shareAt(course, event.clientX) * this.#end());
    };
    course.addEventListener("pointerdown", (event) => {
      course.setPointerCapture(event.pointerId);
      scrub(event);
    });
    course.addEventListener("pointermove", (event) => event.buttons && scrub(event));
    new ResizeObserver(() => this.#run && this.#draw()).observe(byId("player"));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.#run && this.#draw());
    this.choose(stories[0].id, null, null, false);
  }

  // Shows a story with its choices, or the first story if the id is unknown.
  choose(id, panel, scheme, loads = true) {
    const story = this.#stories.find((story) => story.id === id) ?? this.#stories[0];
    byId("story-id").value = story.id;
    const fill = (field, choices, wanted) => {
      field.replaceChildren(...choices.map((choice) => make("option", { value: choice.name }, choice.label || choice.name)));
      if (choices.some((choice) => choice.name === wanted)) field.value = wanted;
    };
    fill(byId("story-panel"), story.panels, panel);
    fill(byId("story-scheme"), story.schemes, scheme);
    byId("story-panel-field").hidden = story.panels.length === 0;
    say(byId("story-about"), story.about);
    this.#run = null;
    if (loads) this.load();
  }

  open() {
    if (!this.#run) this.load();
    else this.#draw();
  }

  async load() {
    this.pause();
    const round = ++this.#round;
    if (this.#simulator.isBusy) this.#simulator.stop();
    this.#window = this.#pending = this.#queued = null;
    byId("player").setAttribute("aria-busy", "true");
    say(byId("story-answer"), "Simulating …");
    try {
      const { ok } = await this.#simulator.ask({ ask: "story", story: byId("story-id").value, panel: byId("story-panel").value || null, scheme: byId("story-scheme").value });
      if (round !== this.#round) return;
      this.#run = ok;
      this.#list();
      say(byId("story-answer"), this.#sentence());
      const port = ok.port;
      say(byId("course-text"), `Above: the rate of each flow on ${port.link}, ${rate(port.rate_bps)}; dashed lines are deadlines. Below: the queue, at most ${bytes(port.queue_max_bytes)}; ${port.marked} packets marked, ${port.dropped} dropped.`);
      byId("player").setAttribute("aria-busy", "false");
      this.#seek(0);
    } catch (why) {
      if (round !== this.#round || why instanceof Stopped) return;
      say(byId("story-answer"), why instanceof Refused ? why.message : String(why.message));
    }
  }

  pause() {
    if (this.#playing) cancelAnimationFrame(this.#playing);
    this.#playing = 0;
    byId("play").textContent = "Play";
    byId("play").setAttribute("aria-pressed", "false");
  }

  play() {
    if (!this.#run) return;
    if (this.#now >= this.#end()) this.#now = 0;
    byId("play").textContent = "Pause";
    byId("play").setAttribute("aria-pressed", "true");
    let last = performance.now();
    const frame = (now) => {
      // Wait for missing data, so that no packet is skipped.
      const step = ((now - last) / 1000) * this.#speed();
      last = now;
      this.#seek(this.#now + (this.#has(this.#now) || this.#speed() > this.#end() / 20 ? step : 0));
      if (this.#now >= this.#end()) return this.pause();
      this.#playing = requestAnimationFrame(frame);
    };
    this.#playing = requestAnimationFrame(frame);
  }

  // Moves to the next or previous arrival or departure.
  async step(direction) {
    this.pause();
    if (!this.#run) return;
    const span = this.#packetTime() * 200;
    await this.#fetch(Math.max(this.#now - span / 2, 0), this.#now + span);
    const times = (this.#window?.packets ?? []).flatMap((packet) => [packet[0], packet[2]]).sort((a, b) => a - b);
    const next = direction > 0 ? times.find((ns) => ns > this.#now + 0.5) : times.findLast((ns) => ns < this.#now - 0.5);
    this.#seek(next ?? Math.min(Math.max(this.#now + direction * span, 0), this.#end()));
  }

  #end() {
    return this.#run?.port.end_ns ?? 1;
  }

  // Returns the nanoseconds of the run to play per second.
  #speed() {
    const chosen = SPEEDS.find(([value]) => value === byId("speed").value);
    return chosen[2] ?? (chosen[0] === "slow" ? this.#packetTime() * 8 : this.#end() / 15);
  }

  #packetTime() {
    return (12_000 / (this.#run?.port.rate_bps ?? 1e9)) * 1e9;
  }

  #bin(now = this.#now) {
    const port = this.#run.port;
    return Math.min(Math.floor(now / port.bin_ns), port.queue_bytes.length - 1);
  }

  #has(now) {
    return this.#window !== null && this.#window.from_ns <= now && now <= this.#window.to_ns;
  }

  #seek(now) {
    this.#now = Math.min(Math.max(now, 0), this.#end());
    byId("time").value = String(Math.round((this.#now / this.#end()) * 1000));
    const shown = this.#time(this.#now);
    say(byId("clock"), shown);
    byId("time").setAttribute("aria-valuetext", shown);
    const reach = this.#reach();
    if (!this.#has(this.#now) || !this.#has(Math.min(this.#now + reach, this.#end()))) {
      // Fetch some frames ahead while playing.
      const ahead = this.#playing ? this.#speed() * 0.1 : 0;
      this.#fetch(Math.max(this.#now - 2 * reach, 0), this.#now + 6 * reach + ahead).then(() => this.#run && this.#draw());
    }
    this.#draw();
  }

  // Only one request for packets is active. Afterwards, the latest pending request is sent.
  async #fetch(from, to) {
    const wanted = { ask: "window", from_ns: Math.floor(from), to_ns: Math.ceil(to) };
    if (this.#pending) {
      this.#queued = wanted;
      return this.#pending;
    }
    const round = this.#round;
    const get = async () => {
      for (let request = wanted; request; request = this.#queued) {
        this.#queued = null;
        const { ok } = await this.#simulator.ask(request);
        if (round !== this.#round) return;
        this.#window = ok;
      }
    };
    this.#pending = get()
      .catch(() => {})
      .finally(() => (this.#pending = null));
    return this.#pending;
  }

  // Returns how long packets are visible before and after the port.
  #reach() {
    return Math.min(Math.max(this.#packetTime() * 14, this.#speed() * 0.25), this.#packetTime() * 60);
  }

  #time(ns) {
    return this.#end() > 1e9 ? `${(ns / 1e9).toFixed(4)} s` : `${(ns / 1e6).toFixed(3)} ms`;
  }

  #sentence() {
    const { port, in_time, scheme } = this.#run;
    const ends = port.flows.map((flow) => {
      if (flow.quenched) return `${flow.name} is quenched`;
      const end = time((flow.finish_ns ?? 0) / 1e9);
      return flow.finish_ns === null ? `${flow.name} does not finish` : `${flow.name} at ${end}${flow.met ? "" : `, late by ${time((flow.finish_ns - flow.deadline_ns) / 1e9)}`}`;
    });
    return `Under ${scheme.label || scheme.name} ${in_time} of ${port.flows.length} flows are in time: ${ends.join("; ")}.`;
  }

  #list() {
    const rows = this.#run.port.flows.map((flow, i) => {
      const dot = make("span", { class: "dot" });
      dot.style.background = flowColour(i);
      const fill = make("div", { class: "fill" });
      fill.style.background = flowColour(i);
      const track = make("div", { class: "track", role: "progressbar", "aria-label": `${flow.name}, delivered`, "aria-valuemin": 0, "aria-valuemax": 100 }, fill, make("div", { class: "tick" }));
      return make("li", {}, make("span", { class: "name" }, dot, flow.name), track, make("span", { class: "state" }));
    });
    byId("flows").replaceChildren(...rows);
  }

  // ── Drawing

  #draw() {
    if (!this.#run || byId("story").hidden) return;
    this.#rows();
    this.#shares();
    this.#port();
    drawCourse(byId("course"), this.#run.port, this.#now);
  }

  #rows() {
    const { port } = this.#run;
    const bin = this.#bin();
    port.flows.forEach((flow, i) => {
      const row = byId("flows").children[i];
      const [, track, state] = row.children;
      const isOver = flow.finish_ns !== null && flow.finish_ns <= this.#now;
      const delivered = isOver && !flow.quenched ? flow.bytes : Math.min(port.delivered_bytes[i][bin], flow.bytes);
      const done = delivered / flow.bytes;
      const left = flow.deadline_ns - this.#now;
      track.firstChild.style.width = `${done * 100}%`;
      track.setAttribute("aria-valuenow", (done * 100).toFixed(0));
      const due = (this.#now - flow.start_ns) / (flow.deadline_ns - flow.start_ns);
      track.lastChild.style.left = `${Math.min(Math.max(due, 0), 1) * 100}%`;
      state.className = "state";
      if (isOver && !flow.quenched) {
        state.classList.add(flow.met ? "in-time" : "late");
        say(state, flow.met ? `in time, at ${time(flow.finish_ns / 1e9)} of ${time(flow.deadline_ns / 1e9)}` : `late by ${time((flow.finish_ns - flow.deadline_ns) / 1e9)}`);
      } else if (left < 0) {
        state.classList.add("late");
        say(state, `${(done * 100).toFixed(0)} %, ${flow.quenched ? "quenched" : `late by ${time(-left / 1e9)} so far`}`);
      } else say(state, `${(done * 100).toFixed(0)} % delivered, due in ${time(left / 1e9)}`);
    });
  }

  // Shows the flows' granted rates or windows, and their sending rates.
  #shares() {
    const { port } = this.#run;
    const bin = this.#bin();
    const sum = (values, bin) => values.reduce((total, series) => total + series[bin], 0);
    // Average over some intervals, since one interval contains few packets.
    const [from, to] = [Math.max(bin - 8, 0), Math.min(bin + 8, port.queue_bytes.length - 1)];
    const mean = (series) => series.slice(from, to + 1).reduce((total, value) => total + value, 0) / (to - from + 1);
    const bars = [["sent", port.rates_bps.map(mean), port.rate_bps, rate]];
    const isOver = (flow) => flow.finish_ns !== null && flow.finish_ns <= this.#now;
    // Finished flows have neither a rate nor a window.
    const now = (values) => values.map((series, i) => (isOver(port.flows[i]) ? 0 : series[bin]));
    if (port.granted_bps) bars.unshift(["granted", now(port.granted_bps), port.rate_bps, rate]);
    else if (port.window_bytes) bars.unshift(["windows", now(port.window_bytes), Math.max(sum(port.window_bytes, bin), 1), bytes]);
    const rows = bars.map(([name, values, all, format]) => {
      const labels = [];
      const parts = port.flows.map((flow, i) => {
        if (values[i] > 0) labels.push(`${flow.name} ${format(values[i])}`);
        const part = make("div");
        part.style.width = `${Math.min((values[i] / all) * 100, 100)}%`;
        part.style.background = flowColour(i);
        return part;
      });
      const text = labels.join(", ") || "none";
      return make("div", { class: "share" }, make("span", {}, name), make("div", { class: "track", "aria-hidden": "true" }, ...parts), make("span", { class: "said" }, text));
    });
    byId("shares").replaceChildren(...rows);
  }

  #port() {
    // Keep the previous packets until new ones arrive from the simulator.
    if (!this.#has(this.#now) && this.#window && this.#playing) return;
    const { port } = this.#run;
    const window = this.#has(this.#now) ? this.#window : null;
    const queued = drawPort(byId("port"), port, window, this.#now, this.#reach());
    const queuedBytes = queued.reduce((sum, packet) => sum + packet[4], 0);
    const most = Math.max(...port.queue_packets, 1);
    const many = `${queued.length} packet${queued.length === 1 ? "" : "s"}`;
    say(byId("port-text"), window ? `In the queue: ${many}, ${bytes(queuedBytes)}, ${Math.round((100 * queued.length) / most)} % of the maximum of ${most} packets.` : `In the queue: up to ${port.queue_packets[this.#bin()]} packets.`);
  }
}
