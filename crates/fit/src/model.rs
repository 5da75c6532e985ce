//! Model of a service, derived from observations.

use crate::arrivals::Arrivals;
use crate::distribution::{Fitted, Sample, Shape, whole};
use crate::observed::{Answer, DEFAULT_REQUEST, DeadlineFrom, Observed, Query, span};
use duetime_core::{Rate, Span};
use duetime_scenario::service::longest_way;

/// Values known to the service's owner.
#[derive(Clone, Debug)]
pub struct Known {
    /// Time by which a query needs all its answers.
    pub budget: Option<Span>,
    /// Rate of each host's link.
    pub link: Option<Rate>,
    /// Number of hosts in the network, at least the observed ones.
    pub hosts: Option<u32>,
    /// Switch buffers, in the syntax of `switch.buffer`.
    pub buffer: Option<String>,
    /// Mean share of a host's link used by transfers that belong to no query, 0 to 1.
    pub other_load: Option<f64>,
    /// Transports to compare, first the one that the service used. If empty, defaults are used.
    pub transports: Vec<String>,
}

/// Parameters of a service.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// Layers of the trees, the root's children first.
    pub layers: Vec<Layer>,
    /// Size of a request in bytes.
    pub request_bytes: u64,
    /// Computation time of leaves, or `None` if unknown.
    pub compute: Option<Fitted>,
    /// Computation time of aggregators, or `None` if unknown.
    pub aggregate_compute: Option<Fitted>,
    /// Timeout of aggregators, or `None` if they wait for all answers.
    pub give_up: Option<GiveUp>,
    /// Number of roots.
    pub trees: u32,
    /// Number of hosts in the network.
    pub hosts: u32,
    /// Rate of a host's link.
    pub link: Rate,
    /// Latency of a link.
    pub latency: Span,
    /// Switch buffers, in the syntax of `switch.buffer`.
    pub buffer: String,
    /// Arrival process of the queries.
    pub arrivals: Arrivals,
    /// Criterion for late queries.
    pub due: Due,
    /// True if connections carry several calls.
    pub persistent: bool,
    /// Transports to compare.
    pub transports: Vec<String>,
    /// Traffic that belongs to no query.
    pub others: Option<Other>,
    /// Mean size of all answers of a query, in bytes.
    pub query_bytes: f64,
    /// Mean size of the answers to the root, in bytes per query.
    pub root_bytes: f64,
    /// Number of observed queries.
    pub queries: usize,
    /// 99th percentile of the query times in nanoseconds, or `None` if unknown.
    pub took_ns: Option<f64>,
    /// Notes on assumptions and uncertainties.
    pub notes: Vec<String>,
}

/// Layer of the trees.
#[derive(Clone, Debug, PartialEq)]
pub struct Layer {
    /// Children per node of the layer above.
    pub fan_in: u32,
    /// Distribution of the answer sizes, in bytes.
    pub sizes: Fitted,
}

/// Timeout of aggregators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GiveUp {
    /// Timeout from the arrival of the request.
    pub after: Span,
    /// Number of aggregators that answered before they had all answers.
    pub timed_out: usize,
    /// Number of all aggregators that answered.
    pub all: usize,
}

/// Transfers between random hosts that belong to no query.
#[derive(Clone, Debug, PartialEq)]
pub struct Other {
    /// Distribution of their sizes, or `None` if none were observed.
    pub sizes: Option<Fitted>,
    /// Amount of transfers.
    pub amount: Amount,
    /// Number of observed transfers.
    pub observed: usize,
}

/// Amount of transfers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Amount {
    /// Transfers per second, over all hosts.
    PerSecond(f64),
    /// Given share of each host's link.
    Load(f64),
}

/// Criterion for late queries.
#[derive(Clone, Debug, PartialEq)]
pub enum Due {
    /// Budget given by the owner.
    Budget(Span),
    /// Budget derived from the 99th percentile of the query times.
    Derived(Span),
    /// Deadlines of the answers in nanoseconds, and the start of their clock.
    Deadlines(Fitted, DeadlineFrom),
    /// Unknown.
    Never,
}

/// Default rate of a host's link.
pub(crate) const DEFAULT_LINK: Rate = Rate::from_gbps(10);
const DEFAULT_TRANSPORTS: [&str; 5] = ["cubic", "dctcp", "d2tcp", "d3", "due"];
const DEFAULT_LATENCY: Span = Span::from_us(2);
/// Minimum share of the most frequent fan-in for using it instead of the mean.
const MIN_MODE_SHARE: f64 = 0.9;
/// Minimum number of queries or transfers without a note on uncertainty.
const FEW: usize = 200;
/// Computation below this share of the median query time counts as none, since hosts take as long to process a packet.
const NEGLIGIBLE: f64 = 0.002;
/// Maximum share of other aggregators that took longer than the common timeout. Beyond it, clocks differ.
const MAX_LONGER_SHARE: f64 = 0.1;
/// Round trips of a call: opening a connection for the request, another for the answer, and the call itself.
const ROUND_TRIPS: f64 = 3.0;
/// Links of a round trip between hosts of one rack.
const LINKS_IN_RACK: f64 = 4.0;
/// Quantile of the calls' network times that is assumed to be free of queueing.
const QUIET: f64 = 0.01;
/// Median time that each host of the fitted scenario adds (`host.receive_jitter`), in nanoseconds.
const RECEPTION_NS: f64 = 1_740.0;
/// Minimum number of calls for estimating the latency.
const MIN_CALLS: usize = 100;
/// Size of a full packet in bytes.
const PACKET: u64 = 1_500;
/// Size of two segments in bytes. Larger messages may wait for acknowledgements after the initial window.
const INITIAL_WINDOW: u64 = 2 * 1_460;
/// Maximum number of hosts in a topology.
const MAX_HOSTS: usize = 100_000;

impl Model {
    /// Derives the model from observations and known values. The error describes the missing data.
    pub fn of(observed: &Observed, known: &Known) -> Result<Self, String> {
        let mut notes = observed.notes.clone();
        let arrivals = Arrivals::of(observed).ok_or_else(|| {
            let many = observed.queries.len();
            format!("{many} queries are not enough for a rate; allowed: at least three at different times")
        })?;
        if observed.queries.len() < FEW {
            notes.push(format!(
                "only {} queries: shares are uncertain by several points",
                observed.queries.len()
            ));
        }
        let layers: Vec<Layer> = (0..observed.layers())
            .map(|index| layer(observed, index, &mut notes))
            .collect();
        if layers.is_empty() {
            return Err("no request has an answer".to_owned());
        }
        let all_answers = || observed.queries.iter().flat_map(|query| &query.answers);
        let bytes: f64 = all_answers().map(|answer| answer.bytes as f64).sum();
        let leaves = all_answers().filter(|answer| answer.children == 0);
        let took = observed.queries.iter().filter_map(|query| query.took_ns);
        let took = Sample::new(took.map(|ns| ns as f64).collect());
        let negligible = NEGLIGIBLE * took.quantile(0.5);
        let compute = fit_times(leaves.filter_map(|answer| answer.compute_ns), negligible);
        let give_up = give_up(observed, &mut notes);
        // The span of an aggregator that timed out does not show its computation.
        let aggregators = all_answers().filter(|answer| {
            answer.children > 0 && (give_up.is_none() || !answer.answered_early())
        });
        let aggregate_compute = fit_times(
            aggregators.filter_map(|answer| answer.compute_ns),
            negligible,
        );
        if compute.is_none() {
            notes.push("the input contains no computation times: assumed to be 0".to_owned());
        }
        let requests = Sample::new(
            all_answers()
                .filter_map(|answer| answer.request_bytes.map(|bytes| bytes as f64))
                .collect(),
        );
        let request_bytes = if requests.is_empty() {
            DEFAULT_REQUEST.0 as f64
        } else {
            requests.quantile(0.5)
        };
        let link = known.link.unwrap_or_else(|| {
            notes.push(format!(
                "link rates are unknown: assumed to be {DEFAULT_LINK} (set --link)"
            ));
            DEFAULT_LINK
        });
        let asked: u64 = layers
            .iter()
            .fold((1, 0), |(nodes, total), layer| {
                let nodes = u64::from(layer.fan_in) * nodes;
                (nodes, total + nodes)
            })
            .1;
        let hosts = observed
            .hosts
            .max(
                usize::try_from(asked)
                    .unwrap_or(usize::MAX)
                    .saturating_add(1),
            )
            .clamp(2, MAX_HOSTS);
        let hosts = u32::try_from(hosts).unwrap_or(u32::MAX);
        let hosts = known.hosts.map_or(hosts, |known| known.max(hosts));
        let measured = observed.round_trip_ns.filter(|ns| *ns > 0);
        let one_way = measured
            .map(|ns| links_of(ns as f64) / (2.0 * f64::from(longest_way(hosts))))
            .or_else(|| idle_latency(observed, link));
        // Round to tenths of a microsecond.
        let latency = one_way.map_or(DEFAULT_LATENCY, |ns| {
            span(libm::round(ns / 100.0).max(1.0) * 100.0)
        });
        let due = due(observed, known, &mut notes);
        let others = (!observed.others.bytes.is_empty()).then(|| {
            let many = observed.others.bytes.len();
            let over = observed.queries.len() as f64 / arrivals.per_second;
            let hosts = f64::from(hosts);
            let share = observed
                .others
                .observed_hosts
                .map_or(1.0, |count| hosts / count.max(1) as f64);
            if many < FEW {
                notes.push(format!(
                    "other traffic is derived from only {many} transfers"
                ));
            }
            Other {
                sizes: Some(Sample::new(observed.others.bytes.clone()).sizes()),
                amount: Amount::PerSecond(many as f64 / over * share),
                observed: many,
            }
        });
        let others = match known.other_load {
            None => others,
            Some(load) => Some(Other {
                amount: Amount::Load(load),
                observed: observed.others.bytes.len(),
                sizes: others.and_then(|other| other.sizes),
            })
            .filter(|_| load > 0.0),
        };
        Ok(Self {
            query_bytes: bytes / observed.queries.len() as f64,
            root_bytes: observed
                .layer(0)
                .map(|answer| answer.bytes as f64)
                .sum::<f64>()
                / observed.queries.len() as f64,
            queries: observed.queries.len(),
            took_ns: (!took.is_empty()).then(|| took.quantile(0.99)),
            request_bytes: whole(request_bytes).max(1),
            trees: u32::try_from(observed.roots().max(1)).unwrap_or(u32::MAX),
            buffer: known.buffer.clone().unwrap_or_else(|| "4 MB".to_owned()),
            transports: match &known.transports[..] {
                [] => DEFAULT_TRANSPORTS.map(str::to_owned).to_vec(),
                named => named.to_vec(),
            },
            persistent: observed.reuses_connections != Some(false),
            layers,
            compute,
            aggregate_compute,
            give_up,
            hosts,
            link,
            latency,
            arrivals,
            due,
            others,
            notes,
        })
    }

    /// Returns the mean load of a root's link by answers of `root_bytes` per query.
    pub fn load(&self, root_bytes: f64, per_second: f64) -> f64 {
        root_bytes * 8.0 * per_second / (f64::from(self.trees) * self.link.as_bps() as f64)
    }

    /// Returns true if a query was late, or `None` if unknown.
    pub fn is_late(&self, query: &Query) -> Option<bool> {
        if query.late.is_some() {
            return query.late;
        }
        let due_ns = match &self.due {
            Due::Budget(within) | Due::Derived(within) => within.as_ns(),
            Due::Deadlines(deadlines, _) => match deadlines.shape {
                Shape::Fixed(ns) => whole(ns),
                _ => query.due_ns?,
            },
            Due::Never => return None,
        };
        // Aggregators that time out answer without the later leaves, but a query needs all of them.
        let is_later = |answer: &Answer| {
            answer.waited_ns.is_some_and(|ns| {
                self.give_up
                    .is_some_and(|give_up| ns > give_up.after.as_ns())
            })
        };
        let lacks = query.answers.iter().any(is_later);
        Some(lacks || query.took_ns.is_none_or(|took| took > due_ns))
    }
}

fn layer(observed: &Observed, at: u16, notes: &mut Vec<String>) -> Layer {
    let fan_ins = Sample::new(observed.fan_ins(at));
    let (mode, share) = fan_ins.mode();
    let fan_in = if share >= MIN_MODE_SHARE {
        mode
    } else {
        libm::round(fan_ins.mean())
    };
    if share < 1.0 {
        let (smallest, largest) = fan_ins.range();
        let layer = if at == 0 {
            String::new()
        } else {
            format!(" of layer {}", at + 1)
        };
        let which = if share >= MIN_MODE_SHARE {
            "the most frequent"
        } else {
            "the mean"
        };
        notes.push(format!(
            "the fan-in{layer} varies from {smallest} to {largest} (p10 {}, p90 {}; {mode} in {:.1} %): the scenario uses \
             {which}, {fan_in}; the workload `trace` replays the recorded spans",
            fan_ins.quantile(0.1),
            fan_ins.quantile(0.9),
            share * 100.0
        ));
    }
    let sizes = Sample::new(
        observed
            .layer(at)
            .map(|answer| answer.bytes as f64)
            .collect(),
    );
    Layer {
        fan_in: u32::try_from(whole(fan_in))
            .unwrap_or(u32::MAX)
            .clamp(1, 100_000),
        sizes: sizes.sizes(),
    }
}

/// Returns the latency of a link, in nanoseconds, for which calls of the scenario in an idle network take as long as
/// the quickest calls of the input, which are within a rack. Returns `None` if the input does not show network times.
fn idle_latency(observed: &Observed, link: Rate) -> Option<f64> {
    // Captures measure round trips themselves.
    if observed.reuses_connections.is_some() {
        return None;
    }
    let answers = observed.queries.iter().flat_map(|query| &query.answers);
    let times = answers.filter_map(|answer| {
        // Requests and answers cross the links of both hosts, packet by packet.
        let sent = |bytes: u64| link.transmit(bytes + bytes.min(PACKET)).as_ns() as f64;
        let request = answer.request_bytes.unwrap_or(DEFAULT_REQUEST.0);
        if request.max(answer.bytes) > INITIAL_WINDOW {
            return None;
        }
        Some(answer.network_ns? as f64 - sent(request) - sent(answer.bytes))
    });
    let times = Sample::new(times.collect());
    if times.len() < MIN_CALLS {
        return None;
    }
    let latency = links_of(times.quantile(QUIET) / ROUND_TRIPS) / LINKS_IN_RACK;
    (latency > 0.0).then_some(latency)
}

/// Returns the links' part of an idle round trip, in nanoseconds.
fn links_of(round_trip_ns: f64) -> f64 {
    (round_trip_ns - 2.0 * RECEPTION_NS).max(0.0)
}

/// Returns the timeout of aggregators, or `None` if they wait for all answers.
fn give_up(observed: &Observed, notes: &mut Vec<String>) -> Option<GiveUp> {
    let all = || observed.queries.iter().flat_map(|query| &query.answers);
    let aggregators = || all().filter(|answer| answer.children > 0);
    let times = |early: bool, ns: fn(&Answer) -> Option<u64>| {
        let some = aggregators().filter(|answer| answer.answered_early() == early);
        Sample::new(some.filter_map(ns).map(|ns| ns as f64).collect())
    };
    let (timed_out, whole) = (
        times(true, |answer| answer.took_ns),
        times(false, |answer| answer.took_ns),
    );
    if timed_out.is_empty() {
        return None;
    }
    let median = timed_out.quantile(0.5);
    let counts = format!(
        "{} of {} aggregators answered while their requests were in flight",
        timed_out.len(),
        timed_out.len() + whole.len()
    );
    if whole.above(median) > MAX_LONGER_SHARE {
        notes.push(format!(
            "{counts}, but at no common time: clocks seem to differ, so aggregators are assumed to wait for all answers"
        ));
        return None;
    }
    // Their spans do not show their computation, so the median of the others is used.
    let computes = times(false, |answer| answer.compute_ns);
    let after = span((median - computes.quantile(0.5)).max(1.0));
    notes.push(format!(
        "{counts}: their timeout is assumed to be {after}; queries with later answers count as late"
    ));
    Some(GiveUp {
        after,
        timed_out: timed_out.len(),
        all: timed_out.len() + whole.len(),
    })
}

/// Fits a distribution of times, which is 0 if their mean is below `negligible`.
fn fit_times(ns: impl Iterator<Item = u64>, negligible: f64) -> Option<Fitted> {
    let sample = Sample::new(ns.map(|ns| ns as f64).collect());
    let none = Fitted {
        shape: Shape::Fixed(0.0),
        ks: 0.0,
    };
    (!sample.is_empty()).then(|| {
        if sample.mean() < negligible {
            none
        } else {
            sample.times()
        }
    })
}

fn due(observed: &Observed, known: &Known, notes: &mut Vec<String>) -> Due {
    if let Some(budget) = known.budget {
        return Due::Budget(budget);
    }
    let answers = observed.queries.iter().flat_map(|query| &query.answers);
    if let Some(deadlines) = fit_times(answers.filter_map(|answer| answer.deadline_ns), 0.0) {
        return Due::Deadlines(deadlines, observed.deadline_from);
    }
    let took: Vec<f64> = observed
        .queries
        .iter()
        .filter_map(|query| query.took_ns)
        .map(|ns| ns as f64)
        .collect();
    if took.is_empty() {
        notes.push("query times and budgets are unknown: set --budget".to_owned());
        return Due::Never;
    }
    let p99 = Sample::new(took).quantile(0.99);
    // Round up to two digits.
    let scale = libm::pow(10.0, libm::floor(libm::log10(p99.max(1.0))) - 1.0);
    let stand_in = span(libm::ceil(p99 / scale) * scale);
    notes.push(format!(
        "the budget is unknown: assumed to be {stand_in}, which 99 % of the queries met (set --budget)"
    ));
    Due::Derived(stand_in)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reception_is_median_of_receive_jitter() {
        let (_, table) = duetime_scenario::published::MEASURED[0];
        let median_us = table.lines().find_map(|line| line.strip_suffix(",0.5"));
        let median_us: f64 = median_us.expect("a median").parse().expect("a number");
        assert!((median_us * 1e3 - RECEPTION_NS).abs() < 1e-6);
    }

    /// Returns aggregators that answered and received all answers after these times, in nanoseconds.
    fn aggregators(times: impl Iterator<Item = (u64, u64)>) -> Observed {
        let answers = times.map(|(took, waited)| Answer {
            children: 5,
            compute_ns: Some(took.saturating_sub(waited)),
            took_ns: Some(took),
            waited_ns: Some(waited),
            ..Answer::default()
        });
        Observed {
            queries: vec![Query {
                answers: answers.collect(),
                ..Query::default()
            }],
            ..Observed::default()
        }
    }

    #[test]
    fn aggregators_have_a_common_timeout() {
        let mut notes = Vec::new();
        // They compute for 0.1 ms.
        let whole = |at: u64| (1_000_000 + at * 10_000, 900_000 + at * 10_000);
        let waiting = aggregators((0..100).map(whole));
        assert_eq!(give_up(&waiting, &mut notes), None);
        assert!(notes.is_empty());
        // One in five receives its last answer after 2 ms.
        let early = aggregators((0..100).map(|at| match at {
            0..80 => whole(at),
            _ => (2_100_000, 3_000_000),
        }));
        let found = give_up(&early, &mut notes);
        let expected = GiveUp {
            after: Span::from_ms(2),
            timed_out: 20,
            all: 100,
        };
        assert_eq!(found, Some(expected));
        assert!(
            notes[0].contains("timeout is assumed to be 2 ms"),
            "{notes:?}"
        );
    }

    #[test]
    fn skewed_clocks_are_not_timeouts() {
        let mut notes = Vec::new();
        let skewed = aggregators((0..100).map(|at| {
            let took = 1_000_000 + at * 10_000;
            (
                took,
                if at % 5 == 0 {
                    took + 50_000
                } else {
                    took - 100_000
                },
            )
        }));
        assert_eq!(give_up(&skewed, &mut notes), None);
        assert!(notes[0].contains("clocks seem to differ"), "{notes:?}");
    }
}
