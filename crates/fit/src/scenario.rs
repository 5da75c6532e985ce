//! TOML text of the fitted scenario.

use crate::arrivals::Process;
use crate::distribution::{Fitted, Sample, Shape};
use crate::model::{Amount, Due, Model};
use crate::observed::{DeadlineFrom, span};
use duetime_core::{Bytes, Span};
use duetime_scenario::service::{line, network};
use std::fmt::{self, Write};

/// Name of the workload.
pub(crate) const WORKLOAD: &str = "queries";
/// Number of runs, each with different hosts in the trees.
const SEEDS: u32 = 5;
/// Minimum and maximum number of queries over all runs.
const QUERIES: (f64, f64) = (500.0, 4_000.0);
/// Maximum size of their answers in bytes.
const RUN_BYTES: f64 = 5e9;
/// Maximum duration of a run.
const MAX_DURATION: Span = Span::from_secs(3_600);

impl Model {
    /// Renders the scenario, with its name and the name of its input.
    pub fn to_toml(&self, name: &str, input: &str) -> String {
        let mut text = String::new();
        self.write(&mut text, name, input)
            .expect("a string can always grow");
        text
    }

    fn write(&self, to: &mut String, name: &str, input: &str) -> fmt::Result {
        writeln!(to, "# The service of {input}: {} queries.", self.queries)?;
        writeln!(
            to,
            "# Written by `duetime fit`. Values are as observed unless their comments say otherwise."
        )?;
        for note in &self.notes {
            writeln!(to, "# - {note}")?;
        }
        line(
            to,
            &format!("name = \"{name}\""),
            "also the folder of the results, out/NAME",
        )?;
        let transports: Vec<String> = self
            .transports
            .iter()
            .map(|name| format!("\"{name}\""))
            .collect();
        line(
            to,
            &format!("transport = [{}]", transports.join(", ")),
            "a choice: the transports to compare",
        )?;
        let (warm_up, measured) = self.times();
        line(
            to,
            &format!("seeds = {SEEDS}"),
            "a choice: runs, each with trees on different hosts",
        )?;
        line(
            to,
            &format!("warm_up = \"{warm_up}\""),
            "a choice: earlier queries are not measured",
        )?;
        let queries = measured.as_secs_f64() * self.arrivals.per_second;
        line(
            to,
            &format!("duration = \"{}\"", warm_up + measured),
            &format!("a choice: about {queries:.0} queries per run"),
        )?;
        to.push_str(&network(self.hosts, self.link, self.latency, &self.buffer));
        to.push_str("\n[host]\n");
        line(to, "start_jitter = false", "the observed times include it")?;
        self.workload(to)
    }

    /// Returns the warm-up and the measured time.
    fn times(&self) -> (Span, Span) {
        let queries = (self.queries as f64)
            .clamp(QUERIES.0, QUERIES.1)
            .min((RUN_BYTES / self.query_bytes).max(QUERIES.0));
        let minimum = self.took_ns.unwrap_or(0.0).max(1e6);
        let measured =
            (queries / f64::from(SEEDS) / self.arrivals.per_second * 1e9).max(3.0 * minimum);
        // Round up to milliseconds.
        let up = |ns: f64| span(libm::ceil(ns / 1e6) * 1e6).min(MAX_DURATION);
        (up(minimum), up(measured))
    }

    fn workload(&self, to: &mut String) -> fmt::Result {
        writeln!(to, "\n[[workload]]")?;
        line(
            to,
            "kind = \"oldi\"",
            "a parent queries its children, which answer at once",
        )?;
        line(to, &format!("name = \"{WORKLOAD}\""), "")?;
        let per_second = self.arrivals.per_second;
        line(
            to,
            &format!("trees = {}", self.trees),
            &format!(
                "roots; answers load each root's link by {:.2} % on average",
                self.load(self.root_bytes, per_second) * 100.0
            ),
        )?;
        line(
            to,
            "share_hosts = true",
            "a host may be a root of some queries and a leaf of others",
        )?;
        let fan_ins: Vec<String> = self
            .layers
            .iter()
            .map(|layer| layer.fan_in.to_string())
            .collect();
        let (fan_in, why) = match &fan_ins[..] {
            [one] => (one.clone(), "calls of a query"),
            layers => (
                format!("[{}]", layers.join(", ")),
                "of the root and of each aggregator",
            ),
        };
        line(to, &format!("fan_in = {fan_in}"), why)?;
        self.arrival(to)?;
        line(
            to,
            &format!("query = \"{}\"", Bytes(self.request_bytes)),
            "median size of a request",
        )?;
        let sizes: Vec<String> = self
            .layers
            .iter()
            .map(|layer| size(&layer.sizes.shape))
            .collect();
        let ks: Vec<String> = self
            .layers
            .iter()
            .map(|layer| distance(&layer.sizes))
            .collect();
        match &sizes[..] {
            [one] => line(to, &format!("response = {one}"), &ks.join(", "))?,
            layers => line(
                to,
                &format!("layer_response = [{}]", layers.join(", ")),
                &ks.join(", "),
            )?,
        }
        for (key, times) in [
            ("compute", &self.compute),
            ("aggregate_compute", &self.aggregate_compute),
        ] {
            if let Some(times) = times {
                line(
                    to,
                    &format!("{key} = {}", time(&times.shape)),
                    &distance(times),
                )?;
            }
        }
        if self.layers.len() > 1 {
            match self.give_up {
                None => line(
                    to,
                    "give_up = \"never\"",
                    "aggregators waited for all answers",
                )?,
                Some(give_up) => line(
                    to,
                    &format!("give_up = \"{}\"", give_up.after),
                    &format!(
                        "{} of {} aggregators answered without some answers",
                        give_up.timed_out, give_up.all
                    ),
                )?,
            }
        }
        if !self.persistent {
            line(to, "connection = \"per-flow\"", "a connection per call")?;
        }
        self.due(to)?;
        self.others(to)
    }

    fn others(&self, to: &mut String) -> fmt::Result {
        let Some(other) = &self.others else {
            return Ok(());
        };
        writeln!(to, "\n[[workload]]")?;
        line(
            to,
            "kind = \"poisson\"",
            "other traffic between random hosts",
        )?;
        line(
            to,
            "name = \"other\"",
            &format!("{} transfers were observed", other.observed),
        )?;
        match &other.sizes {
            Some(sizes) => line(
                to,
                &format!("size = {}", size(&sizes.shape)),
                &distance(sizes),
            )?,
            None => line(
                to,
                "size = \"web-search\"",
                "a choice: a published distribution with most bytes in large transfers",
            )?,
        }
        match other.amount {
            Amount::PerSecond(many) => {
                line(to, &format!("rate = \"{many:.3} /s\""), "over all hosts")
            }
            Amount::Load(share) => line(
                to,
                &format!("load = {share}"),
                "share of each host's link, as given",
            ),
        }
    }

    fn arrival(&self, to: &mut String) -> fmt::Result {
        let arrivals = &self.arrivals;
        let why = format!(
            "{}: coefficient of variation {:.2}, KS distance {:.3} from random gaps",
            arrivals.description(),
            arrivals.variation,
            arrivals.ks
        );
        let rate = format!("rate = \"{:.3} /s\"", arrivals.per_second);
        match &arrivals.process {
            Process::Poisson => line(to, &rate, &why),
            Process::Periodic => {
                line(to, &rate, "over all roots")?;
                line(to, "arrival = \"periodic\"", &why)
            }
            Process::Gaps(gaps) => line(to, &format!("every = {}", time(gaps)), &why),
        }
    }

    fn due(&self, to: &mut String) -> fmt::Result {
        let within = |within: &Span, why: &str| {
            (
                format!("objective = {{ within = \"{within}\", answers = 1, share = \"99 %\" }}"),
                why.to_owned(),
            )
        };
        let (deadline, from, objective) = match &self.due {
            Due::Budget(budget) => (
                format!("\"{budget}\""),
                DeadlineFrom::Query,
                within(budget, "the budget, as given; the share is a choice"),
            ),
            Due::Derived(budget) => (
                format!("\"{budget}\""),
                DeadlineFrom::Query,
                within(budget, "a choice: 99 % of the queries met it"),
            ),
            Due::Deadlines(deadlines, from) => (
                deadline(&deadlines.shape),
                *from,
                (
                    "objective = { answers = 1, share = \"99 %\" }".to_owned(),
                    "the share is a choice".to_owned(),
                ),
            ),
            Due::Never => return Ok(()),
        };
        line(
            to,
            &format!("deadline = {deadline}"),
            "deadline for deadline-aware transports",
        )?;
        if from == DeadlineFrom::Query {
            line(
                to,
                "deadline_from = \"query\"",
                "starts with the request, so it includes computing",
            )?;
        }
        line(to, &objective.0, &objective.1)
    }
}

/// Describes a distribution and its distance from the data.
fn distance(fitted: &Fitted) -> String {
    match fitted.shape {
        Shape::Fixed(_) => "always".to_owned(),
        _ => format!("{}, KS {:.3}", fitted.shape.name(), fitted.ks),
    }
}

fn size(shape: &Shape) -> String {
    match shape {
        Shape::Fixed(bytes) => format!("\"{}\"", bytes_of(*bytes)),
        Shape::Uniform(low, high) => format!("\"uniform {}..{}\"", bytes_of(*low), bytes_of(*high)),
        other => points(&as_points(other), |bytes| bytes_of(bytes).to_string()),
    }
}

fn bytes_of(bytes: f64) -> Bytes {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "sizes of an input are at most a terabyte"
    )]
    Bytes((libm::round(bytes) as u64).max(1))
}

/// Formats a random time whose shape is in nanoseconds.
fn time(shape: &Shape) -> String {
    match shape {
        Shape::Fixed(ns) if *ns < 1.0 => "\"0 us\"".to_owned(),
        Shape::Fixed(ns) => format!("\"{}\"", span(*ns)),
        Shape::Uniform(low, high) => format!("\"uniform {}..{}\"", shown(*low), shown(*high)),
        Shape::Exponential(mean) => format!("\"exponential {}\"", span(mean.max(1.0))),
        Shape::LogNormal(median, sigma) => {
            format!(
                "{{ median = \"{}\", sigma = {sigma:.4} }}",
                span(median.max(1.0))
            )
        }
        Shape::Points(values) => points(values, shown),
    }
}

/// Formats a time.
fn shown(ns: f64) -> String {
    if ns < 1e-3 {
        "0 us".to_owned()
    } else {
        span(ns).to_string()
    }
}

/// Formats deadlines whose shape is in nanoseconds. Shapes other than fixed and uniform become a minimum plus an
/// exponential variation.
fn deadline(shape: &Shape) -> String {
    match shape {
        Shape::Fixed(ns) => format!("\"{}\"", span(ns.max(1.0))),
        Shape::Uniform(low, high) if *low >= 1.0 => {
            let more = (high - low) / low * 100.0;
            format!(
                "{{ base = \"{}\", variation = \"uniform {more:.2}%\" }}",
                span(*low)
            )
        }
        other => {
            let minimum = as_points(other).first().map_or(0.0, |point| point.0);
            let above = (other.mean() - minimum).max(1.0);
            format!(
                "{{ base = \"{}\", variation = \"exponential {}\" }}",
                span(minimum.max(1.0)),
                span(above)
            )
        }
    }
}

fn points(points: &[(f64, f64)], show: impl Fn(f64) -> String) -> String {
    let pairs = points
        .iter()
        .map(|(value, share)| format!("[\"{}\", {share:.6}]", show(*value)));
    format!("{{ points = [{}] }}", pairs.collect::<Vec<_>>().join(", "))
}

/// Converts a shape to the points of a CDF.
fn as_points(shape: &Shape) -> Vec<(f64, f64)> {
    match shape {
        Shape::Points(points) => points.clone(),
        Shape::Fixed(value) => vec![(*value, 1.0)],
        Shape::Uniform(low, high) => vec![(*low, 0.0), (*high, 1.0)],
        Shape::Exponential(_) | Shape::LogNormal(..) => {
            let sample = Sample::new(vec![0.0, shape.mean() * 2.0]);
            vec![(sample.quantile(0.0), 0.0), (sample.quantile(1.0), 1.0)]
        }
    }
}
