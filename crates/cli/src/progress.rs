//! How a study at work is shown: bars on a terminal, lines elsewhere, JSON lines on request.

use std::collections::BTreeMap;
use std::io::{IsTerminal, Write, stderr, stdout};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use duetime_study::{Event, Listener};
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use duetime_study::text;

use crate::terminal::{self, Room};

/// A bar for pieces of work of which only the number is known. It goes when it is dropped.
pub struct Pieces(Option<ProgressBar>);

impl Pieces {
    /// On a terminal, and only where it `shows`.
    pub fn new(shows: bool) -> Self {
        let shows = shows && stderr().is_terminal();
        Self(shows.then(|| ProgressBar::new(0)))
    }

    /// So many are done, of so many.
    pub fn set(&self, done: usize, all: usize) {
        if let Self(Some(bar)) = self {
            bar.set_length(all as u64);
            bar.set_position(done as u64);
        }
    }
}

impl Drop for Pieces {
    fn drop(&mut self) {
        if let Self(Some(bar)) = self {
            bar.finish_and_clear();
        }
    }
}

/// What a reader wants to see of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// Each run.
    Runs,
    /// All of them together: they are many and short.
    Whole,
}

/// The listener that suits where the output goes. JSON has every event, whatever the detail. A quiet one leaves out what
/// is only of interest while the study works.
pub fn listener(json: bool, quiet: bool, detail: Detail) -> Box<dyn Listener> {
    let listener: Box<dyn Listener> = if json {
        Box::new(Json::default())
    } else if quiet || !stderr().is_terminal() {
        Box::new(Lines::new(detail))
    } else {
        Box::new(Bars::new(detail))
    };
    match (quiet, json) {
        (false, _) => listener,
        (true, true) => Box::new(Quiet(listener, lasts)),
        (true, false) => Box::new(Quiet(listener, warns)),
    }
}

/// Hands on some of the events.
struct Quiet(Box<dyn Listener>, fn(&Event) -> bool);

impl Listener for Quiet {
    fn on(&self, event: &Event) {
        let Self(to, keeps) = self;
        if keeps(event) {
            to.on(event);
        }
    }
}

/// Whether an event is more than a step of the work.
fn lasts(event: &Event) -> bool {
    !matches!(
        event,
        Event::RunStarted { .. }
            | Event::Progress { .. }
            | Event::Overall { .. }
            | Event::Explaining { .. }
    )
}

/// Whether an event warns, or tells of a failure.
fn warns(event: &Event) -> bool {
    matches!(
        event,
        Event::Warning(_) | Event::RunFailed { .. } | Event::Damaged { .. }
    )
}

/// Every event as one line of JSON on standard output, as it happens.
#[derive(Debug, Default)]
struct Json {
    broken: Mutex<bool>,
}

impl Listener for Json {
    fn on(&self, event: &Event) {
        let line = serde_json::to_string(event).expect("plain data");
        let mut broken = self.broken.lock().expect("no panic holds it");
        let mut out = stdout().lock();
        // The reader may have seen enough; the study still goes on, for its folder.
        *broken = *broken || writeln!(out, "{line}").and_then(|()| out.flush()).is_err();
    }
}

/// One line per run or value, and a line on the whole every few seconds, on standard error.
#[derive(Debug)]
struct Lines {
    detail: Detail,
    said: Mutex<Instant>,
}

impl Lines {
    fn new(detail: Detail) -> Self {
        Self {
            detail,
            said: Mutex::new(Instant::now()),
        }
    }
}

const SAY_EVERY: Duration = Duration::from_secs(10);

impl Listener for Lines {
    fn on(&self, event: &Event) {
        match event {
            Event::Overall { .. } | Event::Explaining { .. } => {
                let mut said = self.said.lock().expect("no panic holds it");
                if said.elapsed() < SAY_EVERY {
                    return;
                }
                *said = Instant::now();
            }
            Event::RunFinished { .. } if self.detail == Detail::Whole => return,
            _ => {}
        }
        if let Some(line) = sentence(event) {
            let _ = writeln!(terminal::stderr(), "{line}");
        }
    }
}

/// A bar for the whole and one for each run at work, on standard error.
struct Bars {
    detail: Detail,
    multi: MultiProgress,
    all: ProgressBar,
    runs: Mutex<BTreeMap<usize, ProgressBar>>,
}

impl Bars {
    fn new(detail: Detail) -> Self {
        let multi = MultiProgress::new();
        let all = multi.add(ProgressBar::new(0));
        all.set_style(style(
            "{elapsed:>5} {bar:24.green} {pos}/{len} runs  {prefix}{msg}",
        ));
        Self {
            detail,
            multi,
            all,
            runs: Mutex::default(),
        }
    }

    /// A line above the bars.
    fn say(&self, event: &Event) {
        if let Some(line) = sentence(event) {
            let line = Room::of_stdout(false).wrapped(&line).into_owned();
            let _ = self.multi.println(terminal::printable(&line));
        }
    }

    fn begin(&self, runs: usize, kept: usize) {
        self.all.reset();
        self.all.set_length(runs as u64);
        self.all.set_position(kept as u64);
        self.all.enable_steady_tick(Duration::from_millis(500));
    }
}

impl Listener for Bars {
    fn on(&self, event: &Event) {
        let mut runs = self.runs.lock().expect("no panic holds it");
        match event {
            Event::StudyStarted { runs: of, kept, .. } => {
                self.begin(*of, *kept);
                self.say(event);
            }
            Event::ValueStarted {
                transport,
                value,
                runs: of,
                kept,
            } => {
                self.begin(*of, *kept);
                let prefix = format!("{transport} at {value}  ");
                self.all
                    .set_prefix(terminal::printable(&prefix).into_owned());
            }
            Event::RunStarted { name, job, of_s } if self.detail == Detail::Runs => {
                let bar = self.multi.add(ProgressBar::new(steps(*of_s)));
                bar.set_style(style("      {bar:24.cyan} {prefix}  {msg}"));
                bar.set_prefix(terminal::printable(&name.to_string()).into_owned());
                runs.insert(*job, bar);
            }
            Event::RunStarted { .. } => {}
            Event::Progress {
                job,
                simulated_s,
                of_s,
                packet_hops_per_s,
                ..
            } => {
                if let Some(bar) = runs.get(job) {
                    bar.set_position(steps(*simulated_s));
                    let rate = text::count(*packet_hops_per_s);
                    bar.set_message(format!(
                        "{} of {} simulated, {rate} packet-hops/s",
                        text::seconds(*simulated_s),
                        text::seconds(*of_s)
                    ));
                }
            }
            Event::Overall {
                done,
                packet_hops_per_s,
                eta_s,
                ..
            } => {
                self.all.set_position(*done as u64);
                self.all.set_message(remaining(*packet_hops_per_s, *eta_s));
            }
            Event::RunFinished { job, .. } | Event::RunFailed { job, .. } => {
                if let Some(bar) = runs.remove(job) {
                    bar.finish_and_clear();
                    self.multi.remove(&bar);
                }
                self.all.inc(1);
                if let Event::RunFailed { .. } = event {
                    self.say(event);
                }
            }
            Event::Warning(_) | Event::Damaged { .. } | Event::ValueFinished { .. } => {
                self.say(event);
            }
            Event::Explaining { done, runs, eta_s } => {
                self.all.set_length(*runs as u64);
                self.all.set_position(*done as u64);
                self.all.set_message(explaining(*eta_s));
                self.all.tick();
            }
            Event::StudyFinished { .. } => {
                for bar in std::mem::take(&mut *runs).into_values() {
                    bar.finish_and_clear();
                }
                self.all.finish_and_clear();
                let _ = writeln!(
                    terminal::stderr(),
                    "{}",
                    sentence(event).unwrap_or_default()
                );
            }
        }
    }
}

impl Drop for Bars {
    fn drop(&mut self) {
        self.all.finish_and_clear();
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template)
        .expect("a fixed template")
        .progress_chars("━╸ ")
}

/// Bars count milliseconds of simulated time.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "whole milliseconds, and casts from floats saturate"
)]
fn steps(seconds: f64) -> u64 {
    (seconds * 1e3) as u64
}

fn remaining(packet_hops_per_s: f64, eta_s: Option<f64>) -> String {
    let rate = text::count(packet_hops_per_s);
    match eta_s {
        Some(eta) => format!("{rate} packet-hops/s, about {} left", text::wall(eta)),
        None => format!("{rate} packet-hops/s"),
    }
}

fn explaining(eta_s: Option<f64>) -> String {
    let left = eta_s.map_or(String::new(), |eta| {
        format!(", about {} left", text::wall(eta))
    });
    format!("repeated to explain late queries{left}")
}

/// An event in words; none for what only moves a bar.
fn sentence(event: &Event) -> Option<String> {
    Some(match event {
        Event::RunStarted { .. } | Event::Progress { .. } | Event::ValueStarted { .. } => {
            return None;
        }
        Event::StudyStarted {
            name,
            folder,
            runs,
            kept,
            effort,
        } => {
            let there = match (kept, effort) {
                (0, None) => String::new(),
                (0, Some(effort)) => format!(": {effort}"),
                (kept, _) => format!(", {kept} there already"),
            };
            format!(
                "{name}: {runs} {} into {folder}{there}",
                plural(*runs, "run")
            )
        }
        Event::Warning(of) => of.line(),
        Event::Overall {
            done,
            runs,
            packet_hops_per_s,
            eta_s,
        } => format!(
            "{done} of {runs} runs done, {}",
            remaining(*packet_hops_per_s, *eta_s)
        ),
        Event::Explaining { done, runs, eta_s } => {
            format!("{done} of {runs} runs {}", explaining(*eta_s))
        }
        Event::RunFinished {
            name,
            wall_s,
            simulated_s,
            packet_hops,
            ns_per_packet_hop,
            ..
        } => {
            let (simulated, wall) = (text::seconds(*simulated_s), text::wall(*wall_s));
            // Real hosts count no packet-hops.
            match *packet_hops {
                0 => format!("{name}: {simulated} in {wall}"),
                hops => format!(
                    "{name}: {simulated} simulated in {wall}, {} packet-hops, {ns_per_packet_hop:.0} ns each",
                    text::count(hops as f64)
                ),
            }
        }
        Event::RunFailed { name, error, .. } => format!("{name}: FAILED: {error}"),
        Event::Damaged { name, reason } => format!("{name} is made again: {reason}"),
        Event::ValueFinished {
            transport,
            value,
            met,
            measured,
            target,
            reached,
            values_left,
            eta_s,
        } => {
            let share = *met as f64 / (*measured).max(1) as f64;
            let share = text::percent_near(share, Some(*target));
            let all = text::count(*measured as f64);
            let verdict = if *reached { "reached" } else { "missed" };
            let left = match values_left.filter(|left| *left > 0) {
                None => String::new(),
                Some(left) => {
                    let about = eta_s.map(|eta| format!(" (about {})", text::wall(eta)));
                    let values = plural(left as usize, "value");
                    format!(
                        "; at most {left} {values} more by bisection{}",
                        about.unwrap_or_default()
                    )
                }
            };
            format!("{transport} at {value}: {share} of {all} in time, target {verdict}{left}")
        }
        Event::StudyFinished {
            finished,
            failed,
            missing,
            wall_s,
            cancelled,
        } => {
            let mut parts = vec![format!(
                "{finished} {} done in {}",
                plural(*finished, "run"),
                text::wall(*wall_s)
            )];
            if *failed > 0 {
                parts.push(format!("{failed} FAILED"));
            }
            if *missing > 0 {
                parts.push(format!("{missing} not run"));
            }
            if *cancelled {
                parts.push("stopped; finished runs are kept".to_owned());
            }
            parts.join(", ")
        }
    })
}

fn plural(count: usize, word: &str) -> String {
    if count == 1 {
        word.to_owned()
    } else {
        format!("{word}s")
    }
}
