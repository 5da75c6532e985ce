//! Results of capacity searches for all transports and for the best possible.

use duetime_scenario::Scenario;
use serde_json::{Value, json};

use super::{BestCapacity, Capacity, On, Prober, Search, Stopped, Subject, Tried, best_possible};
use crate::bound::NO_TRANSPORT;
use crate::pool::Execution;

/// Result of a search for a transport, or for the best possible.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// Index into the transports of the subject's scenario, or `None` for the best possible.
    pub transport: Option<usize>,
    /// Result of the search.
    pub capacity: Capacity,
    /// True if this is a bound that holds only for transports that deliver queries at once.
    pub if_prompt: bool,
}

/// Searches for the capacity of each transport in turn, then for the best possible. Returns the results, and the reason
/// if the search stopped early.
pub fn answers(
    prober: &Prober<'_>,
    subject: &Subject,
    search: &Search,
    execution: &Execution,
) -> (Vec<Found>, Option<Stopped>) {
    prober.announce(subject);
    let mut found = Vec::new();
    for transport in 0..subject.base().transports.len() {
        match prober.find(subject, transport, search) {
            Ok(capacity) => found.push(Found {
                transport: Some(transport),
                capacity,
                if_prompt: false,
            }),
            Err(stopped) => return (found, Some(stopped)),
        }
    }
    match best_possible(subject, search, execution.jobs, &execution.cancel) {
        Ok(best) => found.extend(best.map(
            |BestCapacity {
                 capacity,
                 if_prompt,
             }| Found {
                transport: None,
                capacity,
                if_prompt,
            },
        )),
        Err(stopped) => return (found, Some(stopped)),
    }
    (found, None)
}

impl Found {
    /// Returns the name of the transport, or the name of the best possible.
    pub fn name<'a>(&self, base: &'a Scenario) -> &'a str {
        match self.transport {
            Some(transport) => &base.transports[transport].name,
            None => NO_TRANSPORT,
        }
    }

    /// Returns the tried value at a position, or `None` if it was not tried.
    pub fn at(&self, position: u32) -> Option<&Tried> {
        let mut curve = self.capacity.curve.iter();
        curve.find(|tried| tried.x == position)
    }

    /// Returns the result as a JSON object with all tried values.
    pub fn row(&self, subject: &Subject, search: &Search) -> Value {
        let capacity = &self.capacity;
        let ends = capacity.interval.map(|ends| rising(subject, ends));
        let curve: Vec<Value> = capacity
            .curve
            .iter()
            .map(|tried| {
                json!({
                    "value": subject.value(tried.x),
                    "deadlines_ms": subject.deadlines_ms(tried.x),
                    "loads": subject.loads(tried.x),
                    "met": tried.deadlines.met,
                    "measured": tried.deadlines.measured,
                    "throughput": tried.throughput.value,
                    "low": tried.throughput.interval.map(|interval| interval.low),
                    "high": tried.throughput.interval.map(|interval| interval.high),
                    "reached": tried.reached,
                })
            })
            .collect();
        json!({
            "event": if self.transport.is_some() { "capacity" } else { "best-capacity" },
            "transport": self.transport.map(|_| self.name(subject.base())),
            "if_prompt": self.if_prompt,
            "keys": subject.keys(),
            "unit": subject.unit(),
            "target": search.target.share(),
            "on": match subject.judges() {
                On::Queries => "queries",
                On::Answers => "answers",
            },
            "runs": subject.base().seeds,
            "value": subject.value(capacity.value),
            "deadlines_ms": subject.deadlines_ms(capacity.value),
            "loads": subject.loads(capacity.value),
            "low": ends.map(|ends| subject.value(ends.0)),
            "high": ends.map(|ends| subject.value(ends.1)),
            "at_limit": capacity.at_limit,
            "untried": capacity.untried,
            "curve": curve,
        })
    }
}

/// Orders two positions by their values, the smaller value first. Deadlines shrink with the position, and missing
/// values count as infinite.
pub fn rising(subject: &Subject, (one, other): (u32, u32)) -> (u32, u32) {
    let number = |position| subject.value(position).unwrap_or(f64::INFINITY);
    if number(one) <= number(other) {
        (one, other)
    } else {
        (other, one)
    }
}
