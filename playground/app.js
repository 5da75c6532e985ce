// The page: a scenario with sliders, its runs in a worker, and their results. `story.js` implements the packet view.

import { bytes, coded, count, make, percent, percentiles, say, time } from "./page.js";
import { decode, encode } from "./share.js";
import { Refused, Simulator, Stopped } from "./simulator.js";
import { Story } from "./story.js";

const byId = (id) => document.getElementById(id);

// ── The study

class Service {
  constructor(module, ready) {
    this.desk = new Simulator(module);
    this.runner = new Simulator(module);
    this.ready = ready;
    this.text = "";
    this.disabled = new Set();
    this.round = 0;
    this.waiting = new Map();
    this.editing = Promise.resolve();
    for (const scenario of ready) byId("preset").append(make("option", { value: scenario.id }, scenario.name));
    byId("preset").append(make("option", { value: "", hidden: true }, "Custom"));
    byId("preset").addEventListener("change", () => this.choose(byId("preset").value));
    byId("run").addEventListener("click", () => this.run());
    byId("stop").addEventListener("click", () => this.halt("stopped"));
    byId("text").addEventListener("input", () => this.later("text", () => this.take(byId("text").value, "own"), 400));
    byId("text").addEventListener("scroll", () => (byId("lines").scrollTop = byId("text").scrollTop));
    byId("share").addEventListener("click", () => this.share());
    byId("download").addEventListener("click", () => this.download());
    byId("controls").addEventListener("submit", (event) => event.preventDefault());
  }

  choose(id) {
    const scenario = this.ready.find((scenario) => scenario.id === id);
    if (!scenario) return;
    say(byId("about"), scenario.about);
    this.disabled.clear();
    this.take(scenario.text, "ready");
  }

  // Calls `action` after `ms` milliseconds without another call of the same name.
  later(name, action, ms) {
    clearTimeout(this.waiting.get(name));
    this.waiting.set(name, setTimeout(action, ms));
  }

  // Checks a text, shows its controls and runs it.
  async take(text, from) {
    const round = ++this.round;
    this.halt();
    this.text = text;
    if (byId("text").value !== text) byId("text").value = text;
    if (from === "own" && byId("preset").value !== "") {
      byId("preset").value = "";
      say(byId("about"), "");
    }
    try {
      const { ok: facts } = await this.desk.ask({ ask: "check", text });
      if (round !== this.round) return;
      this.showError(null);
      this.facts = facts;
      this.controls(facts);
      await this.run();
    } catch (why) {
      if (round !== this.round || why instanceof Stopped) return;
      this.showError(why);
    }
  }

  // Shows an error in the text at its line, or removes the error for null.
  showError(why) {
    const details = why instanceof Refused ? why.details : null;
    const box = byId("error");
    box.hidden = !why;
    box.replaceChildren();
    byId("text").setAttribute("aria-invalid", why ? "true" : "false");
    this.number(details?.line ?? 0);
    byId("run").disabled = byId("share").disabled = byId("download").disabled = Boolean(why);
    if (!why) return;
    document.body.dataset.state = "wrong";
    const position = details?.line ? `Line ${details.line}` : "The scenario";
    const key = details?.key ? `${details.key}${details.value ? ` = ${details.value}` : ""}: ` : "";
    box.append(make("strong", {}, `${position}: `), `${key}${why.message}`);
    if (details?.line) {
      const line = this.text.split("\n")[details.line - 1] ?? "";
      box.append(make("pre", {}, `${line}\n${" ".repeat(Math.max(details.column - 1, 0))}${"^".repeat(Math.max(details.width, 1))}`));
    }
    if (details?.allowed) box.append(make("div", {}, `Allowed: ${details.allowed}`));
    if (details?.help) box.append(make("div", {}, details.help[0].toUpperCase() + details.help.slice(1)));
    if (details?.line) {
      const go = make("button", { type: "button" }, `Go to line ${details.line}`);
      go.addEventListener("click", () => this.goto(details.line));
      box.append(go);
    }
    byId("text-card").open = true;
    say(byId("answer"), details?.line ? `Line ${details.line} of the scenario has an error.` : "The scenario has an error.");
    say(byId("progress-text"), why.message);
  }

  goto(line) {
    const lines = byId("text").value.split("\n");
    const from = lines.slice(0, line - 1).reduce((sum, line) => sum + line.length + 1, 0);
    const text = byId("text");
    text.focus();
    text.setSelectionRange(from, from + (lines[line - 1] ?? "").length);
    text.scrollTop = Math.max(0, ((line - 4) * text.scrollHeight) / lines.length);
  }

  // Shows the line numbers and highlights the line of the error.
  number(wrong) {
    const lines = byId("text").value.split("\n").length;
    const numbers = Array.from({ length: lines }, (_, i) => (i + 1 === wrong ? make("span", { class: "wrong" }, String(i + 1)) : String(i + 1)));
    byId("lines").replaceChildren(...numbers.flatMap((number) => [number, "\n"]));
    byId("lines").scrollTop = byId("text").scrollTop;
  }

  // Shows the sliders and the transports of a scenario. Existing sliders are kept, so that they keep the focus.
  controls(facts) {
    const box = byId("sliders");
    const ids = facts.controls.map((control) => control.id).join(" ");
    if (box.dataset.ids !== ids) {
      box.replaceChildren(...facts.controls.map((control) => this.slider(control)));
      box.dataset.ids = ids;
    }
    for (const control of facts.controls) {
      const input = byId(`control-${control.id}`);
      input.max = control.values.length - 1;
      input.value = control.at ?? 0;
      input.ladder = control.values;
      this.showValue(input, control.value);
      say(input.previousElementSibling.previousElementSibling, control.label);
    }
    const transports = JSON.stringify(facts.transports);
    const checks = byId("transports");
    if (checks.dataset.transports !== transports) {
      checks.dataset.transports = transports;
      checks.replaceChildren(...facts.transports.map((transport) => this.check(transport)));
      // The checkbox of an added transport moves here, and keeps the focus.
      if (this.added) checks.querySelector(`[value="${this.added}"]`)?.focus();
      this.added = null;
    }
    byId("more").hidden = facts.more_transports.length === 0;
    byId("more-transports").replaceChildren(...facts.more_transports.map((transport) => this.addition(transport)));
    const kind = facts.workloads.map((workload) => (workload.queries ? `${count(Math.round(workload.queries))} queries` : workload.flows ? `${count(Math.round(workload.flows))} flows` : "flows")).join(" and ");
    const busy = facts.overloaded_links ? ` ${facts.overloaded_links} links are overloaded.` : facts.busiest ? ` The busiest link has a load of ${percent(facts.busiest.load)}.` : "";
    say(byId("facts"), `${facts.hosts} hosts, ${facts.switches} switch${facts.switches === 1 ? "" : "es"}, ${time(facts.base_rtt_ns / 1e9)} round trip; about ${kind} per run of ${time(facts.duration_s)}.${busy}`);
  }

  slider(control) {
    const id = `control-${control.id}`;
    const input = make("input", { type: "range", id, min: 0, step: 1, "data-control": control.id });
    input.addEventListener("input", () => {
      const value = input.ladder[Number(input.value)];
      this.showValue(input, value);
      this.later(control.id, () => this.turn(control.id, value), 150);
    });
    return make("div", { class: "slider" }, make("label", { for: id }, control.label), make("output", { for: id }), input);
  }

  showValue(input, value) {
    const text = input.dataset.control === "load" ? percent(Number(value)) : value;
    say(input.previousElementSibling, text);
    input.setAttribute("aria-valuetext", text);
  }

  // Creates the checkbox of a transport with its description and requirements.
  check({ name, what, needs }) {
    const input = make("input", { type: "checkbox", value: name });
    input.checked = !this.disabled.has(name);
    input.addEventListener("change", () => {
      if (input.checked) this.disabled.delete(name);
      else this.disabled.add(name);
      this.later("transports", () => this.run(), 150);
    });
    return this.described(input, [this.dot(name), name], what, needs);
  }

  // Creates the checkbox that adds a transport to the scenario.
  addition({ name, what, needs }) {
    const input = make("input", { type: "checkbox", value: name });
    input.addEventListener("change", () => {
      this.disabled.delete(name);
      this.added = name;
      this.edit({ ask: "add_transport", transport: name });
    });
    return this.described(input, [name], what, needs);
  }

  described(input, label, what, needs) {
    const id = `about-${input.value}`;
    input.setAttribute("aria-describedby", id);
    const about = make("p", { class: "quiet", id }, ...coded(what), " ", make("b", {}, "Needs"), " ", ...coded(needs), ".");
    return make("div", { class: "check" }, make("label", {}, input, ...label), about);
  }

  // Returns the colour of a transport in the figures.
  colour(name) {
    return this.facts.transports.find((transport) => transport.name === name)?.colour ?? "";
  }

  dot(name) {
    const dot = make("span", { class: "dot" });
    dot.style.background = this.colour(name);
    return dot;
  }

  turn(control, value) {
    this.edit({ ask: "turn", control, value });
  }

  // Changes are applied in sequence, each to the text of the previous one.
  edit(change) {
    this.editing = this.editing.then(async () => {
      try {
        const { ok } = await this.desk.ask({ ...change, text: this.text });
        this.take(ok.text, "slider");
      } catch (why) {
        if (!(why instanceof Stopped)) this.showError(why);
      }
    });
  }

  chosen() {
    return this.facts.transports.map((transport) => transport.name).filter((name) => !this.disabled.has(name));
  }

  halt(reason) {
    this.running = undefined;
    if (this.runner.isBusy) this.runner.stop();
    byId("stop").disabled = true;
    byId("run").disabled = false;
    if (reason) {
      say(byId("progress-text"), `${byId("progress-text").textContent}; ${reason}`);
      document.body.dataset.state = "stopped";
    }
  }

  // Executes all runs, seed by seed, and shows the results after each.
  async run() {
    this.halt();
    const transports = this.chosen();
    if (transports.length === 0) {
      say(byId("answer"), "Choose a transport.");
      document.body.dataset.state = "idle";
      return;
    }
    const token = {};
    this.running = token;
    const isOver = () => this.running !== token;
    document.body.dataset.state = "running";
    byId("stop").disabled = false;
    try {
      const { ok: begun } = await this.runner.ask({ ask: "begin", text: this.text, transports });
      if (isOver()) return;
      const all = begun.transports.length * begun.runs;
      let done = 0;
      let [hops, spent] = [0, 0];
      byId("progress").max = all;
      byId("progress").value = 0;
      say(byId("progress-text"), `0 of ${all} runs`);
      for (let run = 0; run < begun.runs; run++) {
        for (let transport = 0; transport < begun.transports.length; transport++) {
          const { ok, seconds } = await this.runner.ask({ ask: "run", transport, run });
          if (isOver()) return;
          hops += ok.packet_hops;
          spent += seconds;
          done += 1;
          byId("progress").value = done;
          say(byId("progress-text"), `${done} of ${all} runs; ${begun.transports[transport]}, seed ${run + 1}; ${count(hops / spent)} packet-hops/s`);
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
      this.showError(why);
    }
  }

  show(results, isLast) {
    // The sentence is announced only when it changes.
    say(byId("answer"), results.answer ?? "");
    byId("answer").dataset.final = isLast;
    const rows = results.rows;
    const judged = rows.filter((row) => row.in_time);
    const shares = [...judged.map((row) => row.in_time.low ?? row.in_time.value), ...(results.best === null ? [] : [results.best]), results.target ?? 1];
    // The scale starts below all values.
    const first = [0.99, 0.98, 0.95, 0.9, 0.8, 0.5].find((start) => start < Math.min(...shares)) ?? 0;
    const place = (share) => `${((share - first) / (1 - first)) * 100}%`;
    const line = (name, share, text, options = {}) => {
      const dot = make("div", { class: "point" });
      dot.style.left = place(share);
      if (options.colour) dot.style.background = options.colour;
      const track = make("div", { class: "track" });
      if (results.target) {
        const target = make("div", { class: "target" });
        target.style.left = place(results.target);
        track.append(target);
      }
      if (options.low !== null && options.low !== undefined) {
        const whisker = make("div", { class: "whisker" });
        whisker.style.left = place(options.low);
        whisker.style.width = `${((options.high - options.low) / (1 - first)) * 100}%`;
        whisker.style.background = options.colour;
        track.append(whisker);
      }
      track.append(dot);
      return make("li", { class: options.best ? "best" : null }, make("span", { class: "name" }, name), track, make("span", { class: "value" }, text));
    };
    const lines = judged.map((row) => line(row.transport, row.in_time.value, row.in_time.text, { colour: this.colour(row.transport), low: row.in_time.low, high: row.in_time.high }));
    if (results.best !== null) lines.push(line("best possible", results.best, percent(results.best), { best: true }));
    byId("bars").replaceChildren(...lines);
    const ends = [0, 0.25, 0.5, 0.75, 1].map((part) => make("span", {}, `${Math.round((first + part * (1 - first)) * 1e4) / 100} %`));
    byId("scale").replaceChildren(...(judged.length ? ends : []));
    const target = results.target ? `; target: ${percent(results.target)} (dashed line)` : "";
    say(byId("bars-title"), `Share of ${results.subject} in time${target}`);
    if (results.figure) {
      // The page's policy forbids style attributes. The style sheet contains the same rules.
      const drawn = new DOMParser().parseFromString(results.figure.replace(/ style="[^"]*"/, ""), "image/svg+xml").documentElement;
      byId("figure").replaceChildren(document.importNode(drawn, true));
    }
    const interval = (share) => (!share || share.low === null ? "–" : `${percent(share.low)} to ${percent(share.high)}${share.few ? " (few runs)" : ""}`);
    const tableRows = rows.map((row) => {
      const inTime = row.in_time ? `${row.in_time.text} of ${count(row.asked)}` : "–";
      const answers = row.answers_in_time === null ? "–" : `${percent(row.answers_in_time)} of ${count(row.answers_asked)}`;
      const cells = [inTime, interval(row.in_time), ...percentiles(row), answers, count(row.timeouts), count(row.drops), count(row.marks), bytes(row.queue_max_bytes)];
      return make("tr", {}, make("th", { scope: "row" }, this.dot(row.transport), row.transport), ...cells.map((cell) => make("td", { title: cell.hint ?? null }, cell.text ?? cell)));
    });
    byId("rows").replaceChildren(...tableRows);
  }

  async share() {
    const fragment = await encode(this.text, this.chosen());
    await copy(fragment, byId("shared"));
  }

  download() {
    const name = `${this.facts.name}.toml`;
    const url = URL.createObjectURL(new Blob([this.text], { type: "application/toml" }));
    make("a", { href: url, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(url), 1000);
    say(byId("shared"), `Downloaded ${name}. To run it, use duetime run ${name}.`);
  }
}

// Stores a fragment in the address and copies the address to the clipboard if the browser allows it.
async function copy(fragment, status) {
  history.replaceState(null, "", `#${fragment}`);
  try {
    await navigator.clipboard.writeText(location.href);
    say(status, `The link was copied (${location.href.length} characters).`);
  } catch {
    say(status, "The link is in the address bar.");
  }
}

// ── Views

function view(name) {
  for (const tab of ["service", "story"]) {
    const isChosen = tab === name;
    byId(tab).hidden = !isChosen;
    byId(`tab-${tab}`).setAttribute("aria-selected", String(isChosen));
    byId(`tab-${tab}`).tabIndex = isChosen ? 0 : -1;
  }
}

async function begin() {
  const response = await fetch("duetime.wasm");
  if (!response.ok) throw new Error(`duetime.wasm: the server returned ${response.status}`);
  const module = await WebAssembly.compile(await response.arrayBuffer());
  const first = new Simulator(module);
  const { ok: ready } = await first.ask({ ask: "ready" });
  first.stop();
  const service = new Service(module, ready.scenarios);
  const story = new Story(new Simulator(module), ready.stories, (fragment) => copy(fragment, byId("story-shared")));
  const show = (name) => {
    view(name);
    if (name === "story") story.open();
    else story.pause();
  };
  const tabs = ["service", "story"];
  for (const [i, name] of tabs.entries()) {
    byId(`tab-${name}`).addEventListener("click", () => show(name));
    byId(`tab-${name}`).addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      const other = tabs[(i + step + tabs.length) % tabs.length];
      show(other);
      byId(`tab-${other}`).focus();
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
      byId("preset").value = "";
      await service.desk.ask({ ask: "check", text: shared.text }).then(({ ok }) => {
        service.disabled = new Set(shared.transports.length ? ok.transports.map((transport) => transport.name).filter((name) => !shared.transports.includes(name)) : []);
      }, () => {});
      service.take(shared.text, "own");
    } else return false;
    return true;
  };
  window.addEventListener("hashchange", opened);
  if (!(await opened()) || !byId("story").hidden) service.choose(ready.scenarios[0].id);
}

function fault(why) {
  byId("fault").hidden = false;
  byId("fault").textContent = String(why?.message ?? why);
}

begin().catch((why) => {
  document.body.dataset.state = "fault";
  say(byId("answer"), "Loading the simulator failed.");
  fault(location.protocol === "file:" ? "Browsers load the simulator only from a web server. Serve this folder, or run duetime play." : why);
});
