//! Text of the scenario.

use super::network::line;
use super::{Service, ServiceKind};
use crate::quantity::{FREQUENCY, SIZE, TIME};
use duetime_core::Span;
use std::fmt::{self, Write};

/// Maximum bytes of answers in a run, and of other traffic, to keep a run within a few seconds.
const RUN_BYTES: f64 = 2e8;
/// Range of the number of queries in a run.
const RUN_QUERIES: (f64, f64) = (50.0, 500.0);
/// Load of other traffic on each link, reduced in long runs.
const OTHER_LOAD: f64 = 0.02;

impl Service {
    /// Returns the scenario `name` for the file `file`. It is valid if [`Service::check`] succeeds.
    pub fn to_toml(&self, name: &str, file: &str) -> String {
        let mut text = String::new();
        self.write(&mut text, name, file)
            .expect("writing to a string cannot fail");
        text
    }

    fn write(&self, to: &mut String, name: &str, file: &str) -> fmt::Result {
        let (warm_up, measured) = self.times();
        let kind = self.kind.name();
        let budget = shown(self.budget);
        writeln!(
            to,
            "# {} {kind} service: {}, within {budget}.",
            if kind.starts_with('i') { "An" } else { "A" },
            self.kind.about()
        )?;
        writeln!(
            to,
            "# Written by `duetime new`. Change any number here, or override it with --set."
        )?;
        line(
            to,
            &format!("name = \"{name}\""),
            "name of the run folder, out/NAME",
        )?;
        line(
            to,
            "transport = [\"cubic\", \"dctcp\", \"d2tcp\", \"d3\", \"due\"]",
            "Linux default, with ECN, with ECN and deadlines, rates from routers, grants from receivers",
        )?;
        line(
            to,
            "seeds = 5",
            "runs per transport: 5 for a first interval, 20 for a decision",
        )?;
        line(
            to,
            &format!("warm_up = \"{}\"", shown(warm_up)),
            "one budget; earlier queries are not measured",
        )?;
        let queries = (measured.as_secs_f64() * self.per_second()).round();
        line(
            to,
            &format!("duration = \"{}\"", shown(warm_up + measured)),
            &format!("about {queries} queries per run; longer for rare losses"),
        )?;
        to.push_str(&super::network(
            self.hosts,
            self.link,
            Span::from_us(2),
            "4 MB",
        ));
        self.queries(to, warm_up + measured)?;
        writeln!(to)?;
        writeln!(to, "# Next:")?;
        for (command, purpose) in [
            ("check", "", "busy links, and deadlines that cannot be met"),
            ("run", "", "share of queries in time under each transport"),
            (
                "capacity",
                " --of budget",
                "tightest budget for 99 % of the queries",
            ),
            (
                "capacity",
                " --of rate",
                "highest rate with 99 % of the queries in time",
            ),
        ]
        .map(|(command, flags, purpose)| (format!("duetime {command} {file}{flags}"), purpose))
        {
            writeln!(to, "#   {command:<40} {purpose}")?;
        }
        Ok(())
    }

    /// Returns the warm-up and the measured time: enough queries for a share, but not more bytes than a run of a few
    /// seconds carries.
    fn times(&self) -> (Span, Span) {
        let bytes = (self.asked() * self.answer.0 * self.both_ways()) as f64;
        let queries = (RUN_BYTES / bytes).clamp(RUN_QUERIES.0, RUN_QUERIES.1);
        let least = self.budget.as_secs_f64() * 3.0;
        let measured = (queries / self.per_second()).max(least);
        // Whole milliseconds.
        let measured = Span::from_ms((measured * 1e3).ceil() as u64);
        (self.budget, measured)
    }

    fn queries(&self, to: &mut String, duration: Span) -> fmt::Result {
        let kind = self.kind.name();
        let roots = self.roots();
        writeln!(to, "\n[[workload]]")?;
        line(
            to,
            "kind = \"oldi\"",
            "a parent queries its children, which all answer at the same time",
        )?;
        line(to, &format!("name = \"{kind}\""), "")?;
        let bytes = u64::from(self.fan_in[0]) * self.answer.0;
        let each =
            bytes as f64 * 8.0 * self.per_second() / (f64::from(roots) * self.link.as_bps() as f64);
        line(
            to,
            &format!("trees = {roots}"),
            &format!(
                "roots; answers take {:.1} % of each root's link on average",
                each * 100.0
            ),
        )?;
        line(
            to,
            "share_hosts = true",
            "a host is root of some queries and leaf of others",
        )?;
        let fan_in = match self.fan_in.len() {
            1 => self.layers(""),
            _ => format!("[{}]", self.layers(", ")),
        };
        line(
            to,
            &format!("fan_in = {fan_in}"),
            if self.fan_in.len() > 1 {
                "aggregators per root, leaves per aggregator"
            } else {
                "leaves per root"
            },
        )?;
        line(
            to,
            &format!("rate = \"{}\"", (FREQUENCY.show)(self.rate)),
            "queries of all roots together, Poisson arrivals",
        )?;
        let answer = (SIZE.show)(self.answer.0);
        if self.kind == ServiceKind::Inference {
            line(
                to,
                &format!("query = \"{answer}\""),
                "the input is as large as the output",
            )?;
            line(
                to,
                &format!("query_deadline = \"{}\"", self.part(20)),
                "a fifth of the budget to deliver the input",
            )?;
        } else {
            line(to, "query = \"1 KB\"", "one packet")?;
        }
        line(
            to,
            &format!("response = \"{answer}\""),
            "per answer; `\"uniform 2 KB..50 KB\"` or a CDF for varying sizes",
        )?;
        let (compute, why) = match self.kind {
            ServiceKind::Search | ServiceKind::Feed => (
                format!("exponential {}", self.part(4)),
                "mean of 4 % of the budget; the slowest of many takes four times that",
            ),
            ServiceKind::Storage => (
                format!("exponential {}", self.part(6)),
                "mean of 6 % of the budget per read; the slowest takes several times that",
            ),
            ServiceKind::Inference => (
                format!("uniform {}..{}", self.part(20), self.part(30)),
                "20 to 30 % of the budget for a shard's computation",
            ),
        };
        line(to, &format!("compute = \"{compute}\""), why)?;
        line(
            to,
            &format!("deadline = \"{}\"", self.part(90)),
            "for deadline-aware transports; the root keeps 10 % of the budget",
        )?;
        line(
            to,
            "deadline_from = \"query\"",
            "from the query's arrival at the leaf, so it includes computation",
        )?;
        if self.fan_in.len() > 1 {
            line(
                to,
                "layer_share = [1, 0.6]",
                "leaves have 60 % of it, aggregators the rest",
            )?;
        }
        let (answers, why) = match self.kind {
            ServiceKind::Search => (
                "99 %",
                "99 of 100 answers are enough; of fewer, all are needed",
            ),
            ServiceKind::Feed => ("90 %", "9 of 10 posts are enough"),
            ServiceKind::Storage => ("75 %", "any 3 of 4 fragments make the object"),
            ServiceKind::Inference => ("100 %", "all outputs are needed"),
        };
        line(
            to,
            &format!(
                "objective = {{ within = \"{}\", answers = \"{answers}\", share = \"99 %\" }}",
                shown(self.budget)
            ),
            why,
        )?;
        let all = f64::from(self.hosts) * self.link.as_bps() as f64 * duration.as_secs_f64() / 8.0;
        let load = (RUN_BYTES / all).min(OTHER_LOAD);
        let load = (load * 1e4).floor() / 1e4;
        if load < 1e-4 {
            return writeln!(
                to,
                "\n# No other traffic: it would dominate the cost of such a long run."
            );
        }
        writeln!(to, "\n[[workload]]")?;
        line(to, "kind = \"poisson\"", "other traffic")?;
        line(to, "name = \"other\"", "")?;
        line(
            to,
            "size = \"web-search\"",
            "published distribution: most flows are small, most bytes in large ones",
        )?;
        line(to, &format!("load = {load}"), "share of each host's link")
    }

    /// Formats a percentage of the budget.
    fn part(&self, percent: u64) -> String {
        shown(Span::from_ps(self.budget.as_ps() / 100 * percent))
    }
}

fn shown(span: Span) -> String {
    (TIME.show)(span.as_ps())
}
