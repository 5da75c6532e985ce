//! Progress of a running study: bars on a terminal, otherwise lines, or JSON lines on request.

use std::collections::BTreeMap;
use std::io::{IsTerminal, Write, stderr, stdout};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use duetime_study::{Event, Listener};
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use duetime_study::text;

use crate::terminal::{self, Widths};

/// Progress bar that counts items. Dropping the bar removes it.
pub struct Pieces(Option<ProgressBar>);

impl Pieces {
    /// Creates a bar, which is visible if `shows` is true and standard error is a terminal.
    pub fn new(shows: bool) -> Self {
        let shows = shows && stderr().is_terminal();
        Self(shows.then(|| ProgressBar::new(0)))
    }

    /// Sets the number of finished items and their total.
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

/// Level of detail of the progress output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// Show each run.
    Runs,
    /// Show only the total, for many short runs.
    Whole,
}

/// Returns the listener for the output format. JSON contains every event, regardless of the detail. `quiet` omits
/// progress events.
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

/// Filter in front of a listener.
struct Quiet(Box<dyn Listener>, fn(&Event) -> bool);

impl Listener for Quiet {
    fn on(&self, event: &Event) {
        let Self(listener, keeps) = self;
        if keeps(event) {
            listener.on(event);
        }
    }
}

/// Returns true unless the event only reports progress.
fn lasts(event: &Event) -> bool {
    !matches!(
        event,
        Event::RunStarted { .. }
            | Event::Progress { .. }
            | Event::Overall { .. }
            | Event::Explaining { .. }
    )
}

/// Returns true if the event is a warning or a failure.
fn warns(event: &Event) -> bool {
    matches!(
        event,
        Event::Warning(_) | Event::RunFailed { .. } | Event::Damaged { .. }
    )
}

/// Listener that writes each event as a line of JSON to standard output.
#[derive(Debug, Default)]
struct Json {
    broken: Mutex<bool>,
}

impl Listener for Json {
    fn on(&self, event: &Event) {
        let line = serde_json::to_string(event).expect("plain data");
        let mut broken = self.broken.lock().expect("no panic holds it");
        let mut out = stdout().lock();
        // The study continues for its folder, even if the reader closed the pipe.
        *broken = *broken || writeln!(out, "{line}").and_then(|()| out.flush()).is_err();
    }
}

/// Listener that writes a line per run or value, and a summary every few seconds, to standard error.
#[derive(Debug)]
struct Lines {
    detail: Detail,
    last_line: Mutex<Instant>,
}

impl Lines {
    fn new(detail: Detail) -> Self {
        Self {
            detail,
            last_line: Mutex::new(Instant::now()),
        }
    }
}

const LINE_INTERVAL: Duration = Duration::from_secs(10);

impl Listener for Lines {
    fn on(&self, event: &Event) {
        match event {
            Event::Overall { .. } | Event::Explaining { .. } => {
                let mut last_line = self.last_line.lock().expect("no panic holds it");
                if last_line.elapsed() < LINE_INTERVAL {
                    return;
                }
                *last_line = Instant::now();
            }
            Event::RunFinished { .. } if self.detail == Detail::Whole => return,
            _ => {}
        }
        if let Some(line) = sentence(event) {
            let _ = writeln!(terminal::stderr(), "{line}");
        }
    }
}

/// Listener that shows a bar for the study and one for each active run on standard error.
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
        // Warnings come before the number of runs is known.
        all.set_style(style("{msg}"));
        Self {
            detail,
            multi,
            all,
            runs: Mutex::default(),
        }
    }

    /// Prints a line above the bars.
    fn print(&self, event: &Event) {
        if let Some(line) = sentence(event) {
            let line = Widths::of_stdout(false).wrapped(&line).into_owned();
            let _ = self.multi.println(terminal::printable(&line));
        }
    }

    fn count(&self, done: usize, runs: usize) {
        self.all.set_style(style(
            "{elapsed:>5} {bar:24.green} {pos}/{len} runs  {prefix}{msg}",
        ));
        self.all.set_length(runs as u64);
        self.all.set_position(done as u64);
    }

    fn begin(&self, runs: usize, kept: usize) {
        self.all.reset();
        self.count(kept, runs);
        self.all.enable_steady_tick(Duration::from_millis(500));
    }
}

impl Listener for Bars {
    fn on(&self, event: &Event) {
        let mut runs = self.runs.lock().expect("no panic holds it");
        match event {
            Event::StudyStarted {
                runs: total, kept, ..
            } => {
                self.begin(*total, *kept);
                self.print(event);
            }
            Event::ValueStarted {
                transport,
                value,
                runs: total,
                kept,
            } => {
                self.begin(*total, *kept);
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
            Event::RunStarted { .. } | Event::SearchStarted { effort: None, .. } => {}
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
                runs: total,
                packet_hops_per_s,
                eta_s,
            } => {
                self.all.set_length(*total as u64);
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
                    self.print(event);
                }
            }
            Event::SearchStarted { .. }
            | Event::Warning(_)
            | Event::Damaged { .. }
            | Event::Unsettled { .. }
            | Event::ValueFinished { .. } => {
                self.print(event);
            }
            Event::Explaining { done, runs, eta_s } => {
                self.count(*done, *runs);
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

/// Converts simulated seconds to the bars' unit, milliseconds.
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

/// Describes an event, or returns `None` for events that only move a bar.
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
            let details = match (kept, effort) {
                (0, None) => String::new(),
                (0, Some(effort)) => format!(": {effort}"),
                (kept, _) => format!(", {kept} already finished"),
            };
            format!(
                "{name}: {runs} {} into {folder}{details}",
                plural(*runs, "run")
            )
        }
        Event::Unsettled { verdicts, of } => {
            format!("{verdicts} of {of} verdicts are not settled: more runs for these")
        }
        Event::SearchStarted { name, effort } => match effort {
            Some(effort) => format!(
                "{name}: {} {} per value over all transports: {effort}",
                effort.runs,
                plural(effort.runs, "run")
            ),
            None => return None,
        },
        Event::Warning(warning) => warning.line(),
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
            // Real hosts do not count packet-hops.
            match *packet_hops {
                0 => format!("{name}: {simulated} in {wall}"),
                hops => format!(
                    "{name}: {simulated} simulated in {wall}, {} packet-hops, {ns_per_packet_hop:.0} ns each",
                    text::count(hops as f64)
                ),
            }
        }
        Event::RunFailed { name, error, .. } => format!("{name}: FAILED: {error}"),
        Event::Damaged { name, reason } => format!("repeating {name}: {reason}"),
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

/// Returns `word`, as a plural unless `count` is 1.
pub fn plural(count: usize, word: &str) -> String {
    if count == 1 {
        word.to_owned()
    } else {
        format!("{word}s")
    }
}
