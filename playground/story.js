// A paper's own small experiment at its bottleneck, packet by packet: the queue as it fills, marks and drops, what each flow
// is given, and how far it is towards its deadline.

import { bytes, make, rate, say, time } from "./page.js";
import { drawCourse, drawPort, shareAt } from "./drawing.js";
import { Refused, Stopped } from "./simulator.js";

const at = (id) => document.getElementById(id);
const flowColour = (i) => `var(--flow-${i % 6})`;
const SPEEDS = [
  ["slow", "one packet at a time", null],
  ["200000", "0.2 ms a second", 2e5],
  ["1000000", "1 ms a second", 1e6],
  ["whole", "all of it in 15 s", null],
];

export class Story {
  #simulator;
  #stories;
  #copy;
  #told = null;
  #now = 0;
  #playing = 0;
  #window = null;
  #asked = null;
  #wanted = null;
  #round = 0;

  constructor(simulator, stories, copy) {
    this.#simulator = simulator;
    this.#stories = stories;
    this.#copy = copy;
    for (const of of stories) at("story-id").append(make("option", { value: of.id }, `${of.source}: ${of.title}`));
    for (const [value, text] of SPEEDS) at("speed").append(make("option", { value }, text));
    at("speed").value = "whole";
    at("story-id").addEventListener("change", () => this.choose(at("story-id").value));
    for (const id of ["story-panel", "story-scheme"]) at(id).addEventListener("change", () => this.load());
    at("play").addEventListener("click", () => (this.#playing ? this.pause() : this.play()));
    at("back").addEventListener("click", () => this.step(-1));
    at("next").addEventListener("click", () => this.step(1));
    at("time").addEventListener("input", () => {
      this.pause();
      this.#seek((Number(at("time").value) / 1000) * this.#end());
    });
    at("story-share").addEventListener("click", () => this.#copy(`story=${at("story-id").value}&panel=${at("story-panel").value}&scheme=${at("story-scheme").value}`));
    const course = at("course");
    const scrub = (event) => {
      this.pause();
      this.#seek(shareAt(course, event.clientX) * this.#end());
    };
    course.addEventListener("pointerdown", (event) => {
      course.setPointerCapture(event.pointerId);
      scrub(event);
    });
    course.addEventListener("pointermove", (event) => event.buttons && scrub(event));
    new ResizeObserver(() => this.#told && this.#draw()).observe(at("player"));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.#told && this.#draw());
    this.choose(stories[0].id, null, null, false);
  }

  // Shows a story with its choices; one that does not exist is the first.
  choose(id, panel, scheme, loads = true) {
    const story = this.#stories.find((of) => of.id === id) ?? this.#stories[0];
    at("story-id").value = story.id;
    const fill = (field, choices, wanted) => {
      field.replaceChildren(...choices.map((of) => make("option", { value: of.name }, of.label || of.name)));
      if (choices.some((of) => of.name === wanted)) field.value = wanted;
    };
    fill(at("story-panel"), story.panels, panel);
    fill(at("story-scheme"), story.schemes, scheme);
    at("story-panel-field").hidden = story.panels.length === 0;
    say(at("story-about"), story.about);
    this.#told = null;
    if (loads) this.load();
  }

  open() {
    if (!this.#told) this.load();
    else this.#draw();
  }

  async load() {
    this.pause();
    const round = ++this.#round;
    if (this.#simulator.isBusy) this.#simulator.stop();
    this.#window = this.#asked = this.#wanted = null;
    at("player").setAttribute("aria-busy", "true");
    say(at("story-answer"), "Simulating …");
    try {
      const { ok } = await this.#simulator.ask({ ask: "story", story: at("story-id").value, panel: at("story-panel").value || null, scheme: at("story-scheme").value });
      if (round !== this.#round) return;
      this.#told = ok;
      this.#list();
      say(at("story-answer"), this.#sentence());
      const port = ok.port;
      say(at("course-text"), `Above: what each flow sends over ${port.link}, ${rate(port.rate_bps)}; its deadline is the dashed line in its colour. Below: the queue, at most ${bytes(port.queue_max_bytes)}; ${port.marked} packets marked, ${port.dropped} dropped.`);
      at("player").setAttribute("aria-busy", "false");
      this.#seek(0);
    } catch (why) {
      if (round !== this.#round || why instanceof Stopped) return;
      say(at("story-answer"), why instanceof Refused ? why.message : String(why.message));
    }
  }

  pause() {
    if (this.#playing) cancelAnimationFrame(this.#playing);
    this.#playing = 0;
    at("play").textContent = "Play";
    at("play").setAttribute("aria-pressed", "false");
  }

  play() {
    if (!this.#told) return;
    if (this.#now >= this.#end()) this.#now = 0;
    at("play").textContent = "Pause";
    at("play").setAttribute("aria-pressed", "true");
    let last = performance.now();
    const frame = (now) => {
      // What is not there yet is waited for, so that no packet is passed over.
      const step = ((now - last) / 1000) * this.#speed();
      last = now;
      this.#seek(this.#now + (this.#has(this.#now) || this.#speed() > this.#end() / 20 ? step : 0));
      if (this.#now >= this.#end()) return this.pause();
      this.#playing = requestAnimationFrame(frame);
    };
    this.#playing = requestAnimationFrame(frame);
  }

  // To the next or the former arrival or departure.
  async step(way) {
    this.pause();
    if (!this.#told) return;
    const span = this.#packetTime() * 200;
    await this.#fetch(Math.max(this.#now - span / 2, 0), this.#now + span);
    const times = (this.#window?.packets ?? []).flatMap((of) => [of[0], of[2]]).sort((a, b) => a - b);
    const next = way > 0 ? times.find((of) => of > this.#now + 0.5) : times.findLast((of) => of < this.#now - 0.5);
    this.#seek(next ?? Math.min(Math.max(this.#now + way * span, 0), this.#end()));
  }

  #end() {
    return this.#told?.port.end_ns ?? 1;
  }

  // Nanoseconds of the run in a second.
  #speed() {
    const chosen = SPEEDS.find(([value]) => value === at("speed").value);
    return chosen[2] ?? (chosen[0] === "slow" ? this.#packetTime() * 8 : this.#end() / 15);
  }

  #packetTime() {
    return (12_000 / (this.#told?.port.rate_bps ?? 1e9)) * 1e9;
  }

  #bin(now = this.#now) {
    const port = this.#told.port;
    return Math.min(Math.floor(now / port.bin_ns), port.queue_bytes.length - 1);
  }

  #has(now) {
    return this.#window !== null && this.#window.from_ns <= now && now <= this.#window.to_ns;
  }

  #seek(now) {
    this.#now = Math.min(Math.max(now, 0), this.#end());
    at("time").value = String(Math.round((this.#now / this.#end()) * 1000));
    const shown = this.#time(this.#now);
    say(at("clock"), shown);
    at("time").setAttribute("aria-valuetext", shown);
    const reach = this.#reach();
    if (!this.#has(this.#now) || !this.#has(Math.min(this.#now + reach, this.#end()))) {
      // Some frames ahead of what is being played.
      const ahead = this.#playing ? this.#speed() * 0.1 : 0;
      this.#fetch(Math.max(this.#now - 2 * reach, 0), this.#now + 6 * reach + ahead).then(() => this.#told && this.#draw());
    }
    this.#draw();
  }

  // One request for packets at a time, and then the last that was wanted meanwhile.
  async #fetch(from, to) {
    const wanted = { ask: "window", from_ns: Math.floor(from), to_ns: Math.ceil(to) };
    if (this.#asked) {
      this.#wanted = wanted;
      return this.#asked;
    }
    const round = this.#round;
    const get = async () => {
      for (let request = wanted; request; request = this.#wanted) {
        this.#wanted = null;
        const { ok } = await this.#simulator.ask(request);
        if (round !== this.#round) return;
        this.#window = ok;
      }
    };
    this.#asked = get()
      .catch(() => {})
      .finally(() => (this.#asked = null));
    return this.#asked;
  }

  // How long a packet is seen on its way to the port and on from it.
  #reach() {
    return Math.min(Math.max(this.#packetTime() * 14, this.#speed() * 0.25), this.#packetTime() * 60);
  }

  #time(ns) {
    return this.#end() > 1e9 ? `${(ns / 1e9).toFixed(4)} s` : `${(ns / 1e6).toFixed(3)} ms`;
  }

  #sentence() {
    const { port, in_time, scheme } = this.#told;
    const ends = port.flows.map((of) => {
      if (of.quenched) return `${of.name} gives up`;
      const end = time((of.finish_ns ?? 0) / 1e9);
      return of.finish_ns === null ? `${of.name} does not end` : `${of.name} at ${end}${of.met ? "" : `, late by ${time((of.finish_ns - of.deadline_ns) / 1e9)}`}`;
    });
    return `Under ${scheme.label || scheme.name} ${in_time} of ${port.flows.length} flows are in time: ${ends.join("; ")}.`;
  }

  #list() {
    const rows = this.#told.port.flows.map((flow, i) => {
      const dot = make("span", { class: "dot" });
      dot.style.background = flowColour(i);
      const fill = make("div", { class: "fill" });
      fill.style.background = flowColour(i);
      const track = make("div", { class: "track", role: "progressbar", "aria-label": `${flow.name}, delivered`, "aria-valuemin": 0, "aria-valuemax": 100 }, fill, make("div", { class: "tick" }));
      return make("li", {}, make("span", { class: "name" }, dot, flow.name), track, make("span", { class: "state" }));
    });
    at("flows").replaceChildren(...rows);
  }

  // ── What is shown

  #draw() {
    if (!this.#told || at("story").hidden) return;
    this.#rows();
    this.#shares();
    this.#port();
    drawCourse(at("course"), this.#told.port, this.#now);
  }

  #rows() {
    const { port } = this.#told;
    const bin = this.#bin();
    port.flows.forEach((flow, i) => {
      const row = at("flows").children[i];
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
        say(state, `${(done * 100).toFixed(0)} %, ${flow.quenched ? "given up" : `late by ${time(-left / 1e9)} so far`}`);
      } else say(state, `${(done * 100).toFixed(0)} % delivered, due in ${time(left / 1e9)}`);
    });
  }

  // What the flows are granted, or their windows, and what they send.
  #shares() {
    const { port } = this.#told;
    const bin = this.#bin();
    const sum = (values, bin) => values.reduce((total, of) => total + of[bin], 0);
    // Over some intervals: in one there are few packets.
    const [from, to] = [Math.max(bin - 8, 0), Math.min(bin + 8, port.queue_bytes.length - 1)];
    const mean = (of) => of.slice(from, to + 1).reduce((total, value) => total + value, 0) / (to - from + 1);
    const bars = [["sent", port.rates_bps.map(mean), port.rate_bps, rate]];
    const isOver = (flow) => flow.finish_ns !== null && flow.finish_ns <= this.#now;
    // A flow that is over has neither a rate nor a window.
    const now = (values) => values.map((of, i) => (isOver(port.flows[i]) ? 0 : of[bin]));
    if (port.granted_bps) bars.unshift(["granted", now(port.granted_bps), port.rate_bps, rate]);
    else if (port.window_bytes) bars.unshift(["windows", now(port.window_bytes), Math.max(sum(port.window_bytes, bin), 1), bytes]);
    const rows = bars.map(([name, values, all, shown]) => {
      const said = [];
      const parts = port.flows.map((flow, i) => {
        if (values[i] > 0) said.push(`${flow.name} ${shown(values[i])}`);
        const part = make("div");
        part.style.width = `${Math.min((values[i] / all) * 100, 100)}%`;
        part.style.background = flowColour(i);
        return part;
      });
      const text = said.join(", ") || "nothing";
      return make("div", { class: "share" }, make("span", {}, name), make("div", { class: "track", "aria-hidden": "true" }, ...parts), make("span", { class: "said" }, text));
    });
    at("shares").replaceChildren(...rows);
  }

  #port() {
    // While packets are on their way from the simulator, those before stay.
    if (!this.#has(this.#now) && this.#window && this.#playing) return;
    const { port } = this.#told;
    const window = this.#has(this.#now) ? this.#window : null;
    const queued = drawPort(at("port"), port, window, this.#now, this.#reach());
    const held = queued.reduce((sum, of) => sum + of[4], 0);
    const most = Math.max(...port.queue_packets, 1);
    const many = `${queued.length} packet${queued.length === 1 ? "" : "s"}`;
    say(at("port-text"), window ? `In the queue: ${many}, ${bytes(held)}; it is ${Math.round((100 * queued.length) / most)} % of its longest, ${most} packets.` : `In the queue: up to ${port.queue_packets[this.#bin()]} packets.`);
  }
}
