//! The scenario's text.

use crate::arrivals::Process;
use crate::distribution::{Fitted, Sample, Shape};
use crate::model::{Amount, Due, Model};
use crate::observed::{DeadlineFrom, span};
use duetime_core::{Bytes, Span};
use duetime_scenario::service::{line, network};
use std::fmt::{self, Write};

/// Name of the workload.
pub(crate) const WORKLOAD: &str = "queries";
/// Runs, each with other hosts in the trees.
const SEEDS: u32 = 5;
/// Queries of all runs together, fewest and most, and bytes of their answers.
const QUERIES: (f64, f64) = (500.0, 4_000.0);
const RUN_BYTES: f64 = 5e9;
/// The longest run.
const LONGEST: Span = Span::from_secs(3_600);

impl Model {
    /// The scenario of that name, fitted to `input`.
    pub fn to_toml(&self, name: &str, input: &str) -> String {
        let mut text = String::new();
        self.write(&mut text, name, input)
            .expect("a text takes all that is written");
        text
    }

    fn write(&self, to: &mut String, name: &str, input: &str) -> fmt::Result {
        writeln!(to, "# The service of {input}: {} queries.", self.queries)?;
        writeln!(
            to,
            "# Written by `duetime fit`. Values are what was seen, unless their comments say otherwise."
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
            .map(|of| format!("\"{of}\""))
            .collect();
        line(
            to,
            &format!("transport = [{}]", transports.join(", ")),
            "a choice: those to compare",
        )?;
        let (warm_up, measured) = self.times();
        line(
            to,
            &format!("seeds = {SEEDS}"),
            "a choice: runs, each with trees on other hosts",
        )?;
        line(
            to,
            &format!("warm_up = \"{warm_up}\""),
            "a choice: what starts earlier does not count",
        )?;
        let queries = measured.as_secs_f64() * self.arrivals.per_second;
        line(
            to,
            &format!("duration = \"{}\"", warm_up + measured),
            &format!("a choice: some {queries:.0} queries in each run"),
        )?;
        to.push_str(&network(self.hosts, self.link, self.latency, &self.buffer));
        to.push_str("\n[host]\n");
        line(
            to,
            "start_jitter = false",
            "times as they were seen have it",
        )?;
        self.workload(to)
    }

    /// Warm-up and the time after it.
    fn times(&self) -> (Span, Span) {
        let queries = (self.queries as f64)
            .clamp(QUERIES.0, QUERIES.1)
            .min((RUN_BYTES / self.query_bytes).max(QUERIES.0));
        let least = self.took_ns.unwrap_or(0.0).max(1e6);
        let measured =
            (queries / f64::from(SEEDS) / self.arrivals.per_second * 1e9).max(3.0 * least);
        // Whole milliseconds.
        let up = |ns: f64| span(libm::ceil(ns / 1e6) * 1e6).min(LONGEST);
        (up(least), up(measured))
    }

    fn workload(&self, to: &mut String) -> fmt::Result {
        writeln!(to, "\n[[workload]]")?;
        line(
            to,
            "kind = \"oldi\"",
            "a parent asks its children, all answer at once",
        )?;
        line(to, &format!("name = \"{WORKLOAD}\""), "")?;
        let per_second = self.arrivals.per_second;
        line(
            to,
            &format!("trees = {}", self.trees),
            &format!(
                "roots; answers take {:.2} % of the link of each in the mean",
                self.load(self.root_bytes, per_second) * 100.0
            ),
        )?;
        line(
            to,
            "share_hosts = true",
            "a host may be root of some queries and leaf of others",
        )?;
        let fan_ins: Vec<String> = self.layers.iter().map(|of| of.fan_in.to_string()).collect();
        let (fan_in, why) = match &fan_ins[..] {
            [one] => (one.clone(), "calls of a query"),
            layers => (
                format!("[{}]", layers.join(", ")),
                "of the root, and of each aggregator",
            ),
        };
        line(to, &format!("fan_in = {fan_in}"), why)?;
        self.arrival(to)?;
        line(
            to,
            &format!("query = \"{}\"", Bytes(self.request_bytes)),
            "a request: half are no larger",
        )?;
        let sizes: Vec<String> = self.layers.iter().map(|of| size(&of.sizes.shape)).collect();
        let ks: Vec<String> = self.layers.iter().map(|of| distance(&of.sizes)).collect();
        match &sizes[..] {
            [one] => line(to, &format!("response = {one}"), &ks.join(", "))?,
            layers => line(
                to,
                &format!("layer_response = [{}]", layers.join(", ")),
                &ks.join(", "),
            )?,
        }
        for (key, of) in [
            ("compute", &self.compute),
            ("aggregate_compute", &self.aggregate_compute),
        ] {
            if let Some(of) = of {
                line(to, &format!("{key} = {}", time(&of.shape)), &distance(of))?;
            }
        }
        if self.layers.len() > 1 {
            match self.give_up {
                None => line(
                    to,
                    "give_up = \"never\"",
                    "aggregators waited for all answers",
                )?,
                Some(of) => line(
                    to,
                    &format!("give_up = \"{}\"", of.after),
                    &format!(
                        "{} of {} aggregators answered without some answers",
                        of.lacking, of.all
                    ),
                )?,
            }
        }
        if !self.persistent {
            line(
                to,
                "connection = \"per-flow\"",
                "each call had a connection",
            )?;
        }
        self.due(to)?;
        self.others(to)
    }

    fn others(&self, to: &mut String) -> fmt::Result {
        let Some(of) = &self.others else {
            return Ok(());
        };
        writeln!(to, "\n[[workload]]")?;
        line(
            to,
            "kind = \"poisson\"",
            "what else is on the links, between random hosts",
        )?;
        line(
            to,
            "name = \"other\"",
            &format!("{} transfers were seen", of.seen),
        )?;
        match &of.sizes {
            Some(sizes) => line(
                to,
                &format!("size = {}", size(&sizes.shape)),
                &distance(sizes),
            )?,
            None => line(
                to,
                "size = \"web-search\"",
                "a choice: a published distribution, most bytes in large transfers",
            )?,
        }
        match of.amount {
            Amount::PerSecond(many) => line(
                to,
                &format!("rate = \"{many:.3} /s\""),
                "of all hosts together",
            ),
            Amount::Load(share) => line(
                to,
                &format!("load = {share}"),
                "share of each host's link, as told",
            ),
        }
    }

    fn arrival(&self, to: &mut String) -> fmt::Result {
        let of = &self.arrivals;
        let why = format!(
            "{}: gaps vary by {:.2} of their mean, KS {:.3} to random ones",
            of.words(),
            of.variation,
            of.ks
        );
        let rate = format!("rate = \"{:.3} /s\"", of.per_second);
        match &of.process {
            Process::Poisson => line(to, &rate, &why),
            Process::Periodic => {
                line(to, &rate, "of all roots together")?;
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
                within(budget, "the budget, as told; the share is a choice"),
            ),
            Due::StandIn(budget) => (
                format!("\"{budget}\""),
                DeadlineFrom::Query,
                within(budget, "a choice: 99 % of the queries took no longer"),
            ),
            Due::Deadlines(of, from) => (
                deadline(&of.shape),
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
            "what deadline-aware transports are told",
        )?;
        if from == DeadlineFrom::Query {
            line(
                to,
                "deadline_from = \"query\"",
                "from the request, so computing eats into it",
            )?;
        }
        line(to, &objective.0, &objective.1)
    }
}

/// How near a distribution is.
fn distance(of: &Fitted) -> String {
    match of.shape {
        Shape::Fixed(_) => "always".to_owned(),
        _ => format!("{}, KS {:.3}", of.shape.name(), of.ks),
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

/// A random time, of a shape in ns.
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
        Shape::Points(of) => points(of, shown),
    }
}

/// A time as it is written.
fn shown(ns: f64) -> String {
    if ns < 1e-3 {
        "0 us".to_owned()
    } else {
        span(ns).to_string()
    }
}

/// Deadlines, of a shape in ns: those that are neither fixed nor uniform are taken for exponential above the shortest.
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
            let least = as_points(other).first().map_or(0.0, |of| of.0);
            let above = (other.mean() - least).max(1.0);
            format!(
                "{{ base = \"{}\", variation = \"exponential {}\" }}",
                span(least.max(1.0)),
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

/// Any shape as a CDF.
fn as_points(shape: &Shape) -> Vec<(f64, f64)> {
    match shape {
        Shape::Points(points) => points.clone(),
        Shape::Fixed(of) => vec![(*of, 1.0)],
        Shape::Uniform(low, high) => vec![(*low, 0.0), (*high, 1.0)],
        Shape::Exponential(_) | Shape::LogNormal(..) => {
            let sample = Sample::new(vec![0.0, shape.mean() * 2.0]);
            vec![(sample.quantile(0.0), 0.0), (sample.quantile(1.0), 1.0)]
        }
    }
}
