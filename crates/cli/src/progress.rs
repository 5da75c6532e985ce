//! How a study at work is shown: bars on a terminal, lines elsewhere, JSON lines on request.

use std::collections::BTreeMap;
use std::io::{IsTerminal, Write, stderr, stdout};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use duetime_study::capacity::Moment;
use duetime_study::{Event, Listener};
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use duetime_study::text;

/// The listener that suits where the output goes.
pub fn listener(json: bool) -> Box<dyn Listener> {
    if json {
        Box::new(Json::default())
    } else if stderr().is_terminal() {
        Box::new(Bars::default())
    } else {
        Box::new(Lines::default())
    }
}

/// What shows a search at work: a line per value tried, and on a terminal a bar of its runs.
pub fn search(json: bool) -> Box<dyn Fn(&Moment) + Sync> {
    if json {
        let broken = Mutex::new(false);
        return Box::new(move |moment| {
            let line = serde_json::to_string(moment).expect("plain data");
            say_line(&line, &broken);
        });
    }
    let bar = ProgressBar::new(0);
    if stderr().is_terminal() {
        bar.set_style(style("{elapsed:>5} {bar:24.green} {pos}/{len} runs  {msg}"));
    } else {
        bar.set_draw_target(indicatif::ProgressDrawTarget::hidden());
    }
    Box::new(move |moment| match moment {
        Moment::Warning(of) => {
            bar.suspend(|| {
                let _ = writeln!(stderr(), "WARNING  {}", of.text);
            });
        }
        Moment::ValueStarted {
            transport,
            value,
            runs,
            kept,
        } => {
            bar.reset();
            bar.set_length(u64::from(*runs));
            bar.set_position(u64::from(*kept));
            bar.set_message(format!("{transport} at {value}"));
        }
        Moment::RunFinished { done, .. } => bar.set_position(u64::from(*done)),
        Moment::ValueFinished {
            transport,
            value,
            met,
            measured,
            reached,
            values_left,
            eta_s,
        } => {
            let share = text::percent(*met as f64 / (*measured).max(1) as f64);
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
            bar.suspend(|| {
                let _ = writeln!(
                    stderr(),
                    "{transport} at {value}: {share} in time, target {verdict}{left}"
                );
            });
        }
    })
}

/// Every event as one line of JSON on standard output, as it happens.
#[derive(Debug, Default)]
struct Json {
    broken: Mutex<bool>,
}

impl Listener for Json {
    fn on(&self, event: &Event) {
        let line = serde_json::to_string(event).expect("plain data");
        say_line(&line, &self.broken);
    }
}

fn say_line(line: &str, broken: &Mutex<bool>) {
    let mut broken = broken.lock().expect("no panic holds it");
    let mut out = stdout().lock();
    // The reader may have seen enough; the study still goes on, for its folder.
    *broken = *broken || writeln!(out, "{line}").and_then(|()| out.flush()).is_err();
}

/// One line per run and a line on the whole every few seconds, on standard error.
#[derive(Debug)]
struct Lines {
    said: Mutex<Instant>,
}

impl Default for Lines {
    fn default() -> Self {
        Self {
            said: Mutex::new(Instant::now()),
        }
    }
}

const SAY_EVERY: Duration = Duration::from_secs(10);

impl Listener for Lines {
    fn on(&self, event: &Event) {
        let line = match event {
            Event::Overall { .. } => {
                let mut said = self.said.lock().expect("no panic holds it");
                if said.elapsed() < SAY_EVERY {
                    return;
                }
                *said = Instant::now();
                overall(event)
            }
            Event::RunStarted { .. } | Event::Progress { .. } => return,
            _ => sentence(event),
        };
        let _ = writeln!(stderr(), "{line}");
    }
}

/// A bar for the whole and one for each run at work, on standard error.
struct Bars {
    multi: MultiProgress,
    all: ProgressBar,
    runs: Mutex<BTreeMap<usize, ProgressBar>>,
}

impl Default for Bars {
    fn default() -> Self {
        let multi = MultiProgress::new();
        let all = multi.add(ProgressBar::new(0));
        all.set_style(style("{elapsed:>5} {bar:24.green} {pos}/{len} runs  {msg}"));
        Self {
            multi,
            all,
            runs: Mutex::default(),
        }
    }
}

impl Listener for Bars {
    fn on(&self, event: &Event) {
        let mut runs = self.runs.lock().expect("no panic holds it");
        match event {
            Event::StudyStarted { runs: of, kept, .. } => {
                self.all.set_length(*of as u64);
                self.all.set_position(*kept as u64);
                self.all.enable_steady_tick(Duration::from_millis(500));
                let _ = self.multi.println(sentence(event));
            }
            Event::RunStarted { name, job, of_s } => {
                let bar = self.multi.add(ProgressBar::new(steps(*of_s)));
                bar.set_style(style("      {bar:24.cyan} {prefix}  {msg}"));
                bar.set_prefix(name.to_string());
                runs.insert(*job, bar);
            }
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
                if let Event::RunFailed { .. } = event {
                    let _ = self.multi.println(sentence(event));
                }
            }
            Event::Warning(_) | Event::PointDamaged { .. } => {
                let _ = self.multi.println(sentence(event));
            }
            Event::StudyFinished { .. } => {
                for bar in std::mem::take(&mut *runs).into_values() {
                    bar.finish_and_clear();
                }
                self.all.finish_and_clear();
                let _ = writeln!(stderr(), "{}", sentence(event));
            }
        }
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template)
        .expect("a fixed template")
        .progress_chars("━╸ ")
}

/// Bars count milliseconds of simulated time.
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

fn overall(event: &Event) -> String {
    match event {
        Event::Overall {
            done,
            runs,
            packet_hops_per_s,
            eta_s,
        } => {
            format!(
                "{done} of {runs} runs done, {}",
                remaining(*packet_hops_per_s, *eta_s)
            )
        }
        _ => String::new(),
    }
}

/// An event in words.
fn sentence(event: &Event) -> String {
    match event {
        Event::StudyStarted {
            name,
            folder,
            runs,
            kept: 0,
        } => {
            format!("{name}: {runs} {} into {folder}", plural(*runs, "run"))
        }
        Event::StudyStarted {
            name,
            folder,
            runs,
            kept,
        } => {
            format!(
                "{name}: {runs} {} into {folder}, {kept} there already",
                plural(*runs, "run")
            )
        }
        Event::Warning(of) => format!("WARNING  {}", of.text),
        Event::RunStarted { name, .. } => format!("{name}: begun"),
        Event::Progress {
            name,
            simulated_s,
            of_s,
            ..
        } => {
            format!(
                "{name}: {} of {} simulated",
                text::seconds(*simulated_s),
                text::seconds(*of_s)
            )
        }
        Event::Overall { .. } => overall(event),
        Event::RunFinished {
            name,
            wall_s,
            simulated_s,
            packet_hops,
            ns_per_packet_hop,
            ..
        } => format!(
            "{name}: {} simulated in {}, {} packet-hops, {ns_per_packet_hop:.0} ns each",
            text::seconds(*simulated_s),
            text::wall(*wall_s),
            text::count(*packet_hops as f64)
        ),
        Event::RunFailed { name, error, .. } => format!("{name}: FAILED: {error}"),
        Event::PointDamaged { name, reason } => {
            format!("{name} and those with it are made again: {reason}")
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
    }
}

fn plural(count: usize, word: &str) -> String {
    if count == 1 {
        word.to_owned()
    } else {
        format!("{word}s")
    }
}
