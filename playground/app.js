// The page: a scenario with sliders, its runs in a worker, and what they say. `story.js` has the view packet by packet.

import { bytes, coded, count, make, percent, percentiles, say, time } from "./page.js";
import { decode, encode } from "./share.js";
import { Refused, Simulator, Stopped } from "./simulator.js";
import { Story } from "./story.js";

const at = (id) => document.getElementById(id);

// ── The study

class Service {
  constructor(module, ready) {
    this.desk = new Simulator(module);
    this.runner = new Simulator(module);
    this.ready = ready;
    this.text = "";
    this.off = new Set();
    this.round = 0;
    this.waiting = new Map();
    this.turning = Promise.resolve();
    for (const of of ready) at("preset").append(make("option", { value: of.id }, of.name));
    at("preset").append(make("option", { value: "", hidden: true }, "Your own"));
    at("preset").addEventListener("change", () => this.choose(at("preset").value));
    at("run").addEventListener("click", () => this.run());
    at("stop").addEventListener("click", () => this.halt("stopped"));
    at("text").addEventListener("input", () => this.later("text", () => this.take(at("text").value, "own"), 400));
    at("text").addEventListener("scroll", () => (at("lines").scrollTop = at("text").scrollTop));
    at("share").addEventListener("click", () => this.share());
    at("download").addEventListener("click", () => this.download());
    at("controls").addEventListener("submit", (event) => event.preventDefault());
  }

  choose(id) {
    const of = this.ready.find((of) => of.id === id);
    if (!of) return;
    say(at("about"), of.about);
    this.off.clear();
    this.take(of.text, "ready");
  }

  // Does it once nothing of the same name was asked for so long.
  later(name, what, ms) {
    clearTimeout(this.waiting.get(name));
    this.waiting.set(name, setTimeout(what, ms));
  }

  // Takes a text: checks it, shows its controls, runs it.
  async take(text, from) {
    const round = ++this.round;
    this.halt();
    this.text = text;
    if (at("text").value !== text) at("text").value = text;
    if (from === "own" && at("preset").value !== "") {
      at("preset").value = "";
      say(at("about"), "");
    }
    try {
      const { ok: facts } = await this.desk.ask({ ask: "check", text });
      if (round !== this.round) return;
      this.wrong(null);
      this.facts = facts;
      this.controls(facts);
      await this.run();
    } catch (why) {
      if (round !== this.round || why instanceof Stopped) return;
      this.wrong(why);
    }
  }

  // Shows what is wrong with the text, at its line.
  wrong(why) {
    const of = why instanceof Refused ? why.of : null;
    const box = at("error");
    box.hidden = !why;
    box.replaceChildren();
    at("text").setAttribute("aria-invalid", why ? "true" : "false");
    this.number(of?.line ?? 0);
    at("run").disabled = at("share").disabled = at("download").disabled = Boolean(why);
    if (!why) return;
    document.body.dataset.state = "wrong";
    const place = of?.line ? `Line ${of.line}` : "The scenario";
    const key = of?.key ? `${of.key}${of.value ? ` = ${of.value}` : ""}: ` : "";
    box.append(make("strong", {}, `${place}: `), `${key}${why.message}`);
    if (of?.line) {
      const line = this.text.split("\n")[of.line - 1] ?? "";
      box.append(make("pre", {}, `${line}\n${" ".repeat(Math.max(of.column - 1, 0))}${"^".repeat(Math.max(of.width, 1))}`));
    }
    if (of?.allowed) box.append(make("div", {}, `Allowed: ${of.allowed}`));
    if (of?.help) box.append(make("div", {}, of.help[0].toUpperCase() + of.help.slice(1)));
    if (of?.line) {
      const go = make("button", { type: "button" }, `Go to line ${of.line}`);
      go.addEventListener("click", () => this.goto(of.line));
      box.append(go);
    }
    at("text-card").open = true;
    say(at("answer"), of?.line ? `Line ${of.line} of the scenario is not right.` : "The scenario is not right.");
    say(at("progress-text"), why.message);
  }

  goto(line) {
    const lines = at("text").value.split("\n");
    const from = lines.slice(0, line - 1).reduce((sum, of) => sum + of.length + 1, 0);
    const text = at("text");
    text.focus();
    text.setSelectionRange(from, from + (lines[line - 1] ?? "").length);
    text.scrollTop = Math.max(0, ((line - 4) * text.scrollHeight) / lines.length);
  }

  // Line numbers, the wrong one marked.
  number(wrong) {
    const lines = at("text").value.split("\n").length;
    const numbers = Array.from({ length: lines }, (_, i) => (i + 1 === wrong ? make("span", { class: "wrong" }, String(i + 1)) : String(i + 1)));
    at("lines").replaceChildren(...numbers.flatMap((of) => [of, "\n"]));
    at("lines").scrollTop = at("text").scrollTop;
  }

  // The sliders and the transports of a scenario. A slider that is there already is kept, and with it the focus.
  controls(facts) {
    const box = at("sliders");
    const ids = facts.controls.map((of) => of.id).join(" ");
    if (box.dataset.ids !== ids) {
      box.replaceChildren(...facts.controls.map((of) => this.slider(of)));
      box.dataset.ids = ids;
    }
    for (const of of facts.controls) {
      const input = at(`control-${of.id}`);
      input.max = of.values.length - 1;
      input.value = of.at ?? 0;
      input.ladder = of.values;
      this.shown(input, of.value);
      say(input.previousElementSibling.previousElementSibling, of.label);
    }
    const told = JSON.stringify(facts.transports);
    const checks = at("transports");
    if (checks.dataset.told !== told) {
      checks.dataset.told = told;
      checks.replaceChildren(...facts.transports.map((of) => this.check(of)));
    }
    const kind = facts.workloads.map((of) => (of.queries ? `${count(Math.round(of.queries))} queries` : of.flows ? `${count(Math.round(of.flows))} flows` : "flows")).join(" and ");
    const busy = facts.overloaded_links ? ` ${facts.overloaded_links} links are offered more than they carry.` : facts.busiest ? ` The busiest link has a load of ${percent(facts.busiest.load)}.` : "";
    say(at("facts"), `${facts.hosts} hosts, ${facts.switches} switch${facts.switches === 1 ? "" : "es"}, ${time(facts.base_rtt_ns / 1e9)} round trip; about ${kind} in each run of ${time(facts.duration_s)}.${busy}`);
  }

  slider(of) {
    const id = `control-${of.id}`;
    const input = make("input", { type: "range", id, min: 0, step: 1, "data-control": of.id });
    input.addEventListener("input", () => {
      const value = input.ladder[Number(input.value)];
      this.shown(input, value);
      this.later(of.id, () => this.turn(of.id, value), 150);
    });
    return make("div", { class: "slider" }, make("label", { for: id }, of.label), make("output", { for: id }), input);
  }

  shown(input, value) {
    const text = input.dataset.control === "load" ? percent(Number(value)) : value;
    say(input.previousElementSibling, text);
    input.setAttribute("aria-valuetext", text);
  }

  // A transport's switch, with what it is and what it needs.
  check({ name, what, needs }) {
    const id = `about-${name}`;
    const input = make("input", { type: "checkbox", value: name, "aria-describedby": id });
    input.checked = !this.off.has(name);
    input.addEventListener("change", () => {
      if (input.checked) this.off.delete(name);
      else this.off.add(name);
      this.later("transports", () => this.run(), 150);
    });
    const about = make("p", { class: "quiet", id }, ...coded(what), " ", make("b", {}, "Needs"), " ", ...coded(needs), ".");
    return make("div", { class: "check" }, make("label", {}, input, this.dot(name), name), about);
  }

  // The colour of a transport, as the figures have it.
  colour(name) {
    return this.facts.transports.find((of) => of.name === name)?.colour ?? "";
  }

  dot(name) {
    const dot = make("span", { class: "dot" });
    dot.style.background = this.colour(name);
    return dot;
  }

  // One after the other, so that each finds the text that the one before left.
  turn(control, value) {
    this.turning = this.turning.then(async () => {
      try {
        const { ok } = await this.desk.ask({ ask: "turn", text: this.text, control, value });
        this.take(ok.text, "slider");
      } catch (why) {
        if (!(why instanceof Stopped)) this.wrong(why);
      }
    });
  }

  chosen() {
    return this.facts.transports.map((of) => of.name).filter((name) => !this.off.has(name));
  }

  halt(said) {
    this.running = undefined;
    if (this.runner.isBusy) this.runner.stop();
    at("stop").disabled = true;
    at("run").disabled = false;
    if (said) {
      say(at("progress-text"), `${at("progress-text").textContent}; ${said}`);
      document.body.dataset.state = "stopped";
    }
  }

  // Makes all runs, seed by seed, and shows what is known after each.
  async run() {
    this.halt();
    const transports = this.chosen();
    if (transports.length === 0) {
      say(at("answer"), "Choose a transport.");
      document.body.dataset.state = "idle";
      return;
    }
    const mine = {};
    this.running = mine;
    const isOver = () => this.running !== mine;
    document.body.dataset.state = "running";
    at("stop").disabled = false;
    try {
      const { ok: begun } = await this.runner.ask({ ask: "begin", text: this.text, transports });
      if (isOver()) return;
      const all = begun.transports.length * begun.runs;
      let done = 0;
      let [hops, spent] = [0, 0];
      at("progress").max = all;
      at("progress").value = 0;
      say(at("progress-text"), `0 of ${all} runs`);
      for (let run = 0; run < begun.runs; run++) {
        for (let transport = 0; transport < begun.transports.length; transport++) {
          const { ok, seconds } = await this.runner.ask({ ask: "run", transport, run });
          if (isOver()) return;
          hops += ok.packet_hops;
          spent += seconds;
          done += 1;
          at("progress").value = done;
          say(at("progress-text"), `${done} of ${all} runs; ${begun.transports[transport]}, seed ${run + 1}; ${count(hops / spent)} packet-hops/s`);
          if (transport === 0) await this.runner.ask({ ask: "best", run });
          const { ok: results } = await this.runner.ask({ ask: "results" });
          if (isOver()) return;
          this.show(results, done === all);
        }
      }
      document.body.dataset.state = "done";
      this.halt();
    } catch (why) {
      if (why instanceof Stopped || isOver()) return;
      this.halt();
      this.wrong(why);
    }
  }

  show(results, isLast) {
    // While runs come in, the sentence is announced when it changes only.
    say(at("answer"), results.answer ?? "");
    at("answer").dataset.final = isLast;
    const rows = results.rows;
    const judged = rows.filter((of) => of.in_time);
    const seen = [...judged.map((of) => of.in_time.low ?? of.in_time.value), ...(results.best === null ? [] : [results.best]), results.target ?? 1];
    // Where the scale begins: below all that it shows.
    const first = [0.99, 0.98, 0.95, 0.9, 0.8, 0.5].find((of) => of < Math.min(...seen)) ?? 0;
    const place = (share) => `${((share - first) / (1 - first)) * 100}%`;
    const line = (name, share, text, more = {}) => {
      const dot = make("div", { class: "point" });
      dot.style.left = place(share);
      if (more.colour) dot.style.background = more.colour;
      const track = make("div", { class: "track" });
      if (results.target) {
        const target = make("div", { class: "target" });
        target.style.left = place(results.target);
        track.append(target);
      }
      if (more.low !== null && more.low !== undefined) {
        const whisker = make("div", { class: "whisker" });
        whisker.style.left = place(more.low);
        whisker.style.width = `${((more.high - more.low) / (1 - first)) * 100}%`;
        whisker.style.background = more.colour;
        track.append(whisker);
      }
      track.append(dot);
      return make("li", { class: more.best ? "best" : null }, make("span", { class: "name" }, name), track, make("span", { class: "value" }, text));
    };
    const lines = judged.map((of) => line(of.transport, of.in_time.value, of.in_time.text, { colour: this.colour(of.transport), low: of.in_time.low, high: of.in_time.high }));
    if (results.best !== null) lines.push(line("best possible", results.best, percent(results.best), { best: true }));
    at("bars").replaceChildren(...lines);
    const ends = [0, 0.25, 0.5, 0.75, 1].map((of) => make("span", {}, `${Math.round((first + of * (1 - first)) * 1e4) / 100} %`));
    at("scale").replaceChildren(...(judged.length ? ends : []));
    const target = results.target ? `; wanted: ${percent(results.target)}, the dashed line` : "";
    say(at("bars-title"), `Share of ${results.subject} in time${target}`);
    if (results.figure) {
      // The policy of the page allows no style in an attribute; the style sheet has what this one says.
      const drawn = new DOMParser().parseFromString(results.figure.replace(/ style="[^"]*"/, ""), "image/svg+xml").documentElement;
      at("figure").replaceChildren(document.importNode(drawn, true));
    }
    const interval = (of) => (!of || of.low === null ? "–" : `${percent(of.low)} to ${percent(of.high)}${of.few ? " (few runs)" : ""}`);
    const cellsOf = rows.map((of) => {
      const inTime = of.in_time ? `${of.in_time.text} of ${count(of.asked)}` : "–";
      const answers = of.answers_in_time === null ? "–" : `${percent(of.answers_in_time)} of ${count(of.answers_asked)}`;
      const cells = [inTime, interval(of.in_time), ...percentiles(of), answers, count(of.timeouts), count(of.drops), count(of.marks), bytes(of.queue_max_bytes)];
      return make("tr", {}, make("th", { scope: "row" }, this.dot(of.transport), of.transport), ...cells.map((cell) => make("td", { title: cell.hint ?? null }, cell.text ?? cell)));
    });
    at("rows").replaceChildren(...cellsOf);
  }

  async share() {
    const fragment = await encode(this.text, this.chosen());
    await copy(fragment, at("shared"));
  }

  download() {
    const name = `${this.facts.name}.toml`;
    const url = URL.createObjectURL(new Blob([this.text], { type: "application/toml" }));
    make("a", { href: url, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(url), 1000);
    say(at("shared"), `${name} is downloaded; duetime run ${name} runs it.`);
  }
}

// Puts a fragment into the address, and the address on the clipboard where the browser lets it.
async function copy(fragment, told) {
  history.replaceState(null, "", `#${fragment}`);
  try {
    await navigator.clipboard.writeText(location.href);
    say(told, `The link is copied (${location.href.length} characters).`);
  } catch {
    say(told, "The link is in the address bar.");
  }
}

// ── Views

function view(name) {
  for (const of of ["service", "story"]) {
    const isChosen = of === name;
    at(of).hidden = !isChosen;
    at(`tab-${of}`).setAttribute("aria-selected", String(isChosen));
    at(`tab-${of}`).tabIndex = isChosen ? 0 : -1;
  }
}

async function begin() {
  const response = await fetch("duetime.wasm");
  if (!response.ok) throw new Error(`duetime.wasm: the server answers ${response.status}`);
  const module = await WebAssembly.compile(await response.arrayBuffer());
  const first = new Simulator(module);
  const { ok: ready } = await first.ask({ ask: "ready" });
  first.stop();
  const service = new Service(module, ready.scenarios);
  const story = new Story(new Simulator(module), ready.stories, (fragment) => copy(fragment, at("story-shared")));
  const show = (name) => {
    view(name);
    if (name === "story") story.open();
    else story.pause();
  };
  const tabs = ["service", "story"];
  for (const [i, name] of tabs.entries()) {
    at(`tab-${name}`).addEventListener("click", () => show(name));
    at(`tab-${name}`).addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      const other = tabs[(i + step + tabs.length) % tabs.length];
      show(other);
      at(`tab-${other}`).focus();
    });
  }
  const opened = async () => {
    let shared = null;
    try {
      shared = await decode(location.hash);
    } catch (why) {
      fault(why);
    }
    if (shared?.story) {
      story.choose(shared.story, shared.panel, shared.scheme);
      show("story");
    } else if (shared?.text !== undefined) {
      show("service");
      at("preset").value = "";
      await service.desk.ask({ ask: "check", text: shared.text }).then(({ ok }) => {
        service.off = new Set(shared.transports.length ? ok.transports.map((of) => of.name).filter((of) => !shared.transports.includes(of)) : []);
      }, () => {});
      service.take(shared.text, "own");
    } else return false;
    return true;
  };
  window.addEventListener("hashchange", opened);
  if (!(await opened()) || !at("story").hidden) service.choose(ready.scenarios[0].id);
}

function fault(why) {
  at("fault").hidden = false;
  at("fault").textContent = String(why?.message ?? why);
}

begin().catch((why) => {
  document.body.dataset.state = "fault";
  say(at("answer"), "The simulator cannot be loaded.");
  fault(location.protocol === "file:" ? "A browser loads the simulator from a web server only: serve this folder, or start duetime play." : why);
});
