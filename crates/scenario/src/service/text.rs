//! The scenario's text.

use super::network::line;
use super::{Service, ServiceKind};
use crate::quantity::{FREQUENCY, SIZE, TIME};
use duetime_core::Span;
use std::fmt::{self, Write};

/// Bytes of answers that a run may carry, and of other traffic: a few seconds of work.
const RUN_BYTES: f64 = 2e8;
/// Most queries of a run, and fewest.
const RUN_QUERIES: (f64, f64) = (50.0, 500.0);
/// What other traffic takes of each link, where a run is short enough for it.
const OTHERS: f64 = 0.02;

impl Service {
    /// The scenario called `name`, which is to be read from `file`. It is valid if [`Service::check`] says so.
    pub fn to_toml(&self, name: &str, file: &str) -> String {
        let mut text = String::new();
        self.write(&mut text, name, file)
            .expect("a text takes all that is written");
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
            "# Written by `duetime new`. Every number is a choice: change it here, or try another by --set."
        )?;
        line(
            to,
            &format!("name = \"{name}\""),
            "also the folder of the results, out/NAME",
        )?;
        line(
            to,
            "transport = [\"cubic\", \"dctcp\", \"d2tcp\", \"d3\"]",
            "Linux as it is, Linux with ECN, with ECN and deadlines, with rates from routers",
        )?;
        line(
            to,
            "seeds = 5",
            "runs of each: enough for a first interval, 20 for a decision",
        )?;
        line(
            to,
            &format!("warm_up = \"{}\"", shown(warm_up)),
            "one budget: what starts earlier does not count",
        )?;
        let queries = (measured.as_secs_f64() * self.per_second()).round();
        line(
            to,
            &format!("duration = \"{}\"", shown(warm_up + measured)),
            &format!("some {queries} queries in each run; longer for a rarer loss"),
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
        for (command, what) in [
            (
                "check",
                "",
                "which links are busy, and whether anything cannot be in time",
            ),
            (
                "run",
                "",
                "how many queries are in time under each transport",
            ),
            (
                "capacity",
                " --of budget",
                "the tightest budget that 99 % of the queries meet",
            ),
            (
                "capacity",
                " --of rate",
                "the most queries per second of which 99 % are in time",
            ),
        ]
        .map(|(command, of, what)| (format!("duetime {command} {file}{of}"), what))
        {
            writeln!(to, "#   {command:<40} {what}")?;
        }
        Ok(())
    }

    /// Warm-up and the time after it: queries enough for a share, and not more bytes than a run of seconds has.
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
            "a parent asks its children, all answer at once",
        )?;
        line(to, &format!("name = \"{kind}\""), "")?;
        let bytes = u64::from(self.fan_in[0]) * self.answer.0;
        let each =
            bytes as f64 * 8.0 * self.per_second() / (f64::from(roots) * self.link.as_bps() as f64);
        line(
            to,
            &format!("trees = {roots}"),
            &format!(
                "roots; answers take {:.1} % of the link of each in the mean",
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
                "aggregators of a root, and leaves of an aggregator"
            } else {
                "leaves of a root"
            },
        )?;
        line(
            to,
            &format!("rate = \"{}\"", (FREQUENCY.show)(self.rate)),
            "queries of all roots together, at random times",
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
                "a fifth of the budget for the input's way",
            )?;
        } else {
            line(to, "query = \"1 KB\"", "a question, in one packet")?;
        }
        line(
            to,
            &format!("response = \"{answer}\""),
            "each answer; `\"uniform 2 KB..50 KB\"` or a CDF where they differ",
        )?;
        let (compute, why) = match self.kind {
            ServiceKind::Search | ServiceKind::Feed => (
                format!("exponential {}", self.part(4)),
                "a twenty-fifth of the budget in the mean: the slowest of many takes four times that",
            ),
            ServiceKind::Storage => (
                format!("exponential {}", self.part(6)),
                "a read: a sixteenth of the budget in the mean, the slowest some times that",
            ),
            ServiceKind::Inference => (
                format!("uniform {}..{}", self.part(20), self.part(30)),
                "a fifth to three tenths of the budget for a shard's computation",
            ),
        };
        line(to, &format!("compute = \"{compute}\""), why)?;
        line(
            to,
            &format!("deadline = \"{}\"", self.part(90)),
            "what deadline-aware transports are told: a tenth of the budget is the root's own",
        )?;
        line(
            to,
            "deadline_from = \"query\"",
            "from the query's arrival at the leaf, so computing eats into it",
        )?;
        if self.fan_in.len() > 1 {
            line(
                to,
                "layer_share = [1, 0.6]",
                "leaves have six tenths of it, aggregators the rest",
            )?;
        }
        let (answers, why) = match self.kind {
            ServiceKind::Search => ("99 %", "99 of 100 answers are enough: of fewer, all"),
            ServiceKind::Feed => ("90 %", "nine of ten posts are enough"),
            ServiceKind::Storage => ("75 %", "any three of four fragments make the object"),
            ServiceKind::Inference => ("100 %", "one missing output is none"),
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
        let load = (RUN_BYTES / all).min(OTHERS);
        let load = (load * 1e4).floor() / 1e4;
        if load < 1e-4 {
            return writeln!(
                to,
                "\n# No other traffic: of so long a run it would be most of the work."
            );
        }
        writeln!(to, "\n[[workload]]")?;
        line(to, "kind = \"poisson\"", "what else is on the links")?;
        line(to, "name = \"other\"", "")?;
        line(
            to,
            "size = \"web-search\"",
            "a published distribution: most flows small, most bytes in large ones",
        )?;
        line(to, &format!("load = {load}"), "share of each host's link")
    }

    /// Some hundredths of the budget.
    fn part(&self, hundredths: u64) -> String {
        shown(Span::from_ps(self.budget.as_ps() / 100 * hundredths))
    }
}

fn shown(span: Span) -> String {
    (TIME.show)(span.as_ps())
}
