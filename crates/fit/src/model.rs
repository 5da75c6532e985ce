//! The numbers of a service, from what was seen of it.

use crate::arrivals::Arrivals;
use crate::distribution::{Fitted, Sample, Shape, whole};
use crate::observed::{Answer, DeadlineFrom, Observed, Query, USUAL_REQUEST, span};
use duetime_core::{Rate, Span};
use duetime_scenario::service::longest_way;

/// What its owner knows beside.
#[derive(Clone, Debug)]
pub struct Known {
    /// Time in which all answers of a query must be there.
    pub budget: Option<Span>,
    /// Rate of each host's link.
    pub link: Option<Rate>,
    /// Hosts of the network; at least those that were seen.
    pub hosts: Option<u32>,
    /// The switches' buffers, as `switch.buffer` has them.
    pub buffer: Option<String>,
    /// Mean share of a host's link that transfers take that belong to no query, 0 to 1.
    pub other_load: Option<f64>,
    /// The transports to compare, the first of them the one that the service used; none: the usual ones.
    pub transports: Vec<String>,
}

/// A service in numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// The root's children first.
    pub layers: Vec<Layer>,
    /// Bytes of a request.
    pub request_bytes: u64,
    /// Of leaves; `None`: not known.
    pub compute: Option<Fitted>,
    /// Of aggregators.
    pub aggregate_compute: Option<Fitted>,
    /// Time after which aggregators answer without the answers that they lack; `None`: they wait for all.
    pub give_up: Option<GiveUp>,
    /// Roots.
    pub trees: u32,
    /// Hosts of the network.
    pub hosts: u32,
    /// Rate of a host's link.
    pub link: Rate,
    /// Of one link.
    pub latency: Span,
    /// As `switch.buffer`.
    pub buffer: String,
    /// How queries arrive.
    pub arrivals: Arrivals,
    /// When queries are late.
    pub due: Due,
    /// Connections live on.
    pub persistent: bool,
    /// The transports to compare.
    pub transports: Vec<String>,
    /// What else is on the links.
    pub others: Option<Other>,
    /// Mean bytes of all answers of a query.
    pub query_bytes: f64,
    /// Of those to its root.
    pub root_bytes: f64,
    /// Queries that were seen.
    pub queries: usize,
    /// How long most queries took, ns; `None`: not known.
    pub took_ns: Option<f64>,
    /// What to know of it.
    pub notes: Vec<String>,
}

/// A layer of the trees.
#[derive(Clone, Debug, PartialEq)]
pub struct Layer {
    /// Children of each node above.
    pub fan_in: u32,
    /// Bytes of each answer.
    pub sizes: Fitted,
}

/// When aggregators stop waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GiveUp {
    /// Time from the arrival of the request.
    pub after: Span,
    /// Aggregators that answered without some of their answers.
    pub lacking: usize,
    /// All aggregators that answered.
    pub all: usize,
}

/// Transfers that belong to no query, between random hosts.
#[derive(Clone, Debug, PartialEq)]
pub struct Other {
    /// Bytes of each; `None`: none was seen.
    pub sizes: Option<Fitted>,
    /// How many they are.
    pub amount: Amount,
    /// Transfers that were seen.
    pub seen: usize,
}

/// How many transfers there are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Amount {
    /// So many per second, of all hosts together.
    PerSecond(f64),
    /// As many as take this share of each host's link, as told.
    Load(f64),
}

/// When queries are late.
#[derive(Clone, Debug, PartialEq)]
pub enum Due {
    /// After this budget.
    Budget(Span),
    /// After this, which nobody stated: most queries took no longer.
    StandIn(Span),
    /// When an answer is later than its deadline, in ns.
    Deadlines(Fitted, DeadlineFrom),
    /// Nothing says so.
    Never,
}

/// The link of a host where nobody says otherwise.
pub(crate) const USUAL_LINK: Rate = Rate::from_gbps(10);
const USUAL_TRANSPORTS: [&str; 4] = ["cubic", "dctcp", "d2tcp", "d3"];
const USUAL_LATENCY: Span = Span::from_us(2);
/// A fan-in of this share of the nodes is that of all.
const MOST: f64 = 0.9;
/// Fewer queries than this say little.
const FEW: usize = 200;
/// Computation below this share of what half of the queries take is none: hosts need as long to hand a packet over.
const NOTHING: f64 = 0.002;
/// Aggregators that give up do so at a common time, which at most this share of the others exceeds; otherwise clocks differ.
const LONGER: f64 = 0.1;
/// Round trips of a call: for a connection for the request, another for the answer, and there and back.
const ROUND_TRIPS: f64 = 3.0;
/// Links of a round trip between hosts of one rack.
const LINKS_IN_RACK: f64 = 4.0;
/// This share of the calls is taken to meet no queue.
const QUIET: f64 = 0.01;
/// Median time that the hosts of the fitted scenario add at each end (`host.receive_jitter`), in ns.
const RECEPTION_NS: f64 = 1_740.0;
/// Fewer calls than this do not show what a quiet one takes.
const FEW_CALLS: usize = 100;
/// Bytes of a full packet.
const PACKET: u64 = 1_500;
/// Bytes of two segments. Larger messages may wait for acknowledgements after their initial window.
const INITIAL_WINDOW: u64 = 2 * 1_460;
/// Hosts that a topology may have.
const MOST_HOSTS: usize = 100_000;

impl Model {
    /// Of what was seen, and what is known beside. The error says what is missing.
    pub fn of(seen: &Observed, known: &Known) -> Result<Self, String> {
        let mut notes = seen.notes.clone();
        let arrivals = Arrivals::of(seen).ok_or_else(|| {
            let many = seen.queries.len();
            format!("{many} queries, from which no rate can be told: at least three at different times are needed")
        })?;
        if seen.queries.len() < FEW {
            notes.push(format!(
                "only {} queries: shares are uncertain by some points",
                seen.queries.len()
            ));
        }
        let layers: Vec<Layer> = (0..seen.layers())
            .map(|at| layer(seen, at, &mut notes))
            .collect();
        if layers.is_empty() {
            return Err("no request has an answer".to_owned());
        }
        let all = || seen.queries.iter().flat_map(|of| &of.answers);
        let bytes: f64 = all().map(|of| of.bytes as f64).sum();
        let leaves = all().filter(|of| of.children == 0);
        let took = seen.queries.iter().filter_map(|of| of.took_ns);
        let took = Sample::new(took.map(|ns| ns as f64).collect());
        let nothing = NOTHING * took.quantile(0.5);
        let compute = of_times(leaves.filter_map(|of| of.compute_ns), nothing);
        let give_up = give_up(seen, &mut notes);
        // An aggregator that gave up was asking until it answered: its span does not show its computation.
        let aggregators =
            all().filter(|of| of.children > 0 && (give_up.is_none() || !of.is_hasty()));
        let aggregate_compute = of_times(aggregators.filter_map(|of| of.compute_ns), nothing);
        if compute.is_none() {
            notes.push("nothing says how long servers compute: taken for no time".to_owned());
        }
        let requests = Sample::new(
            all()
                .filter_map(|of| of.request_bytes.map(|of| of as f64))
                .collect(),
        );
        let request_bytes = if requests.is_empty() {
            USUAL_REQUEST.0 as f64
        } else {
            requests.quantile(0.5)
        };
        let link = known.link.unwrap_or_else(|| {
            notes.push(format!(
                "the links are taken for {USUAL_LINK}: --link says otherwise"
            ));
            USUAL_LINK
        });
        let asked: u64 = layers
            .iter()
            .fold((1, 0), |(wide, all), of| {
                let wide = u64::from(of.fan_in) * wide;
                (wide, all + wide)
            })
            .1;
        let hosts = seen
            .hosts
            .max(
                usize::try_from(asked)
                    .unwrap_or(usize::MAX)
                    .saturating_add(1),
            )
            .clamp(2, MOST_HOSTS);
        let hosts = u32::try_from(hosts).unwrap_or(u32::MAX);
        let hosts = known.hosts.map_or(hosts, |of| of.max(hosts));
        let measured = seen.round_trip_ns.filter(|ns| *ns > 0);
        let one_way = measured
            .map(|ns| links_of(ns as f64) / (2.0 * f64::from(longest_way(hosts))))
            .or_else(|| idle_latency(seen, link));
        // Tenths of a microsecond.
        let latency = one_way.map_or(USUAL_LATENCY, |ns| {
            span(libm::round(ns / 100.0).max(1.0) * 100.0)
        });
        let due = due(seen, known, &mut notes);
        let others = (!seen.others.bytes.is_empty()).then(|| {
            let many = seen.others.bytes.len();
            let over = seen.queries.len() as f64 / arrivals.per_second;
            let hosts = f64::from(hosts);
            let share = seen
                .others
                .of_hosts
                .map_or(1.0, |of| hosts / of.max(1) as f64);
            if many < FEW {
                notes.push(format!(
                    "what else is on the links is told from {many} transfers only"
                ));
            }
            Other {
                sizes: Some(Sample::new(seen.others.bytes.clone()).sizes()),
                amount: Amount::PerSecond(many as f64 / over * share),
                seen: many,
            }
        });
        let others = match known.other_load {
            None => others,
            Some(load) => Some(Other {
                amount: Amount::Load(load),
                seen: seen.others.bytes.len(),
                sizes: others.and_then(|of| of.sizes),
            })
            .filter(|_| load > 0.0),
        };
        Ok(Self {
            query_bytes: bytes / seen.queries.len() as f64,
            root_bytes: seen.layer(0).map(|of| of.bytes as f64).sum::<f64>()
                / seen.queries.len() as f64,
            queries: seen.queries.len(),
            took_ns: (!took.is_empty()).then(|| took.quantile(0.99)),
            request_bytes: whole(request_bytes).max(1),
            trees: u32::try_from(seen.roots().max(1)).unwrap_or(u32::MAX),
            buffer: known.buffer.clone().unwrap_or_else(|| "4 MB".to_owned()),
            transports: match &known.transports[..] {
                [] => USUAL_TRANSPORTS.map(str::to_owned).to_vec(),
                named => named.to_vec(),
            },
            persistent: seen.reuses_connections != Some(false),
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

    /// Mean share of a root's link that answers to it of so many bytes for each query take.
    pub fn load(&self, root_bytes: f64, per_second: f64) -> f64 {
        root_bytes * 8.0 * per_second / (f64::from(self.trees) * self.link.as_bps() as f64)
    }

    /// Whether a query of the input was late; `None`: nothing says so.
    pub fn is_late(&self, query: &Query) -> Option<bool> {
        if query.late.is_some() {
            return query.late;
        }
        let due_ns = match &self.due {
            Due::Budget(within) | Due::StandIn(within) => within.as_ns(),
            Due::Deadlines(of, _) => match of.shape {
                Shape::Fixed(ns) => whole(ns),
                _ => query.due_ns?,
            },
            Due::Never => return None,
        };
        // Aggregators that give up answer without the leaves that are later, and all are wanted.
        let is_later = |of: &Answer| {
            of.waited_ns
                .is_some_and(|ns| self.give_up.is_some_and(|by| ns > by.after.as_ns()))
        };
        let lacks = query.answers.iter().any(is_later);
        Some(lacks || query.took_ns.is_none_or(|took| took > due_ns))
    }
}

fn layer(seen: &Observed, at: u16, notes: &mut Vec<String>) -> Layer {
    let fan_ins = Sample::new(seen.fan_ins(at));
    let (usual, share) = fan_ins.mode();
    let fan_in = if share >= MOST {
        usual
    } else {
        libm::round(fan_ins.mean())
    };
    if share < 1.0 {
        let (least, most) = fan_ins.range();
        let where_ = if at == 0 {
            String::new()
        } else {
            format!(" of layer {}", at + 1)
        };
        let which = if share >= MOST {
            "the most frequent"
        } else {
            "the mean"
        };
        notes.push(format!(
            "the fan-in{where_} varies from {least} to {most} (p10 {}, p90 {}; {usual} in {:.1} %): the scenario has \
             {which}, {fan_in}; the workload `trace` replays spans as they are",
            fan_ins.quantile(0.1),
            fan_ins.quantile(0.9),
            share * 100.0
        ));
    }
    let sizes = Sample::new(seen.layer(at).map(|of| of.bytes as f64).collect());
    Layer {
        fan_in: u32::try_from(whole(fan_in))
            .unwrap_or(u32::MAX)
            .clamp(1, 100_000),
        sizes: sizes.sizes(),
    }
}

/// Returns the latency of a link, in ns, with which the calls of the scenario take as long in an idle network as those of the
/// input, or `None` if these do not show how long they were in the network. The quickest are those within a rack.
fn idle_latency(seen: &Observed, link: Rate) -> Option<f64> {
    // A capture has measured round trips, where it could.
    if seen.reuses_connections.is_some() {
        return None;
    }
    let answers = seen.queries.iter().flat_map(|of| &of.answers);
    let times = answers.filter_map(|of| {
        // The request and the answer cross the links of both hosts, a packet at a time.
        let sent = |bytes: u64| link.transmit(bytes + bytes.min(PACKET)).as_ns() as f64;
        let request = of.request_bytes.unwrap_or(USUAL_REQUEST.0);
        if request.max(of.bytes) > INITIAL_WINDOW {
            return None;
        }
        Some(of.network_ns? as f64 - sent(request) - sent(of.bytes))
    });
    let times = Sample::new(times.collect());
    if times.len() < FEW_CALLS {
        return None;
    }
    let latency = links_of(times.quantile(QUIET) / ROUND_TRIPS) / LINKS_IN_RACK;
    (latency > 0.0).then_some(latency)
}

/// Returns the part of an idle round trip that the links take, in ns.
fn links_of(round_trip_ns: f64) -> f64 {
    (round_trip_ns - 2.0 * RECEPTION_NS).max(0.0)
}

/// Returns when aggregators stop waiting, or `None` if they wait for all answers.
fn give_up(seen: &Observed, notes: &mut Vec<String>) -> Option<GiveUp> {
    let all = || seen.queries.iter().flat_map(|of| &of.answers);
    let aggregators = || all().filter(|of| of.children > 0);
    let times = |hasty: bool, ns: fn(&Answer) -> Option<u64>| {
        let some = aggregators().filter(|of| of.is_hasty() == hasty);
        Sample::new(some.filter_map(ns).map(|ns| ns as f64).collect())
    };
    let (lacking, whole) = (times(true, |of| of.took_ns), times(false, |of| of.took_ns));
    if lacking.is_empty() {
        return None;
    }
    let usual = lacking.quantile(0.5);
    let counts = format!(
        "{} of {} aggregators answered while requests of theirs were under way",
        lacking.len(),
        lacking.len() + whole.len()
    );
    if whole.above(usual) > LONGER {
        notes.push(format!(
            "{counts}, at no common time: they are taken to wait for all answers, and clocks to differ"
        ));
        return None;
    }
    // They answered after their computation, which their spans do not show: that of the others stands in.
    let computes = times(false, |of| of.compute_ns);
    let after = span((usual - computes.quantile(0.5)).max(1.0));
    notes.push(format!(
        "{counts}: they are taken to give up after {after}; queries with later answers count as late"
    ));
    Some(GiveUp {
        after,
        lacking: lacking.len(),
        all: lacking.len() + whole.len(),
    })
}

/// The distribution of times; none at all where their mean is below `nothing`.
fn of_times(ns: impl Iterator<Item = u64>, nothing: f64) -> Option<Fitted> {
    let sample = Sample::new(ns.map(|ns| ns as f64).collect());
    let none = Fitted {
        shape: Shape::Fixed(0.0),
        ks: 0.0,
    };
    (!sample.is_empty()).then(|| {
        if sample.mean() < nothing {
            none
        } else {
            sample.times()
        }
    })
}

fn due(seen: &Observed, known: &Known, notes: &mut Vec<String>) -> Due {
    if let Some(budget) = known.budget {
        return Due::Budget(budget);
    }
    let answers = seen.queries.iter().flat_map(|of| &of.answers);
    if let Some(deadlines) = of_times(answers.filter_map(|of| of.deadline_ns), 0.0) {
        return Due::Deadlines(deadlines, seen.deadline_from);
    }
    let took: Vec<f64> = seen
        .queries
        .iter()
        .filter_map(|of| of.took_ns)
        .map(|ns| ns as f64)
        .collect();
    if took.is_empty() {
        notes.push(
            "nothing says how long queries took, nor when they are late: --budget does".to_owned(),
        );
        return Due::Never;
    }
    let most = Sample::new(took).quantile(0.99);
    // Two digits, upwards.
    let scale = libm::pow(10.0, libm::floor(libm::log10(most.max(1.0))) - 1.0);
    let stand_in = span(libm::ceil(most / scale) * scale);
    notes.push(format!(
        "no budget is known: {stand_in} stands in, within which 99 % of the queries were; --budget says what is wanted"
    ));
    Due::StandIn(stand_in)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The fitted scenario has the default of `host.receive_jitter`.
    #[test]
    fn hosts_add_the_median_of_the_default() {
        let (_, table) = duetime_scenario::cdf::MEASURED[0];
        let median_us = table.lines().find_map(|line| line.strip_suffix(",0.5"));
        let median_us: f64 = median_us.expect("a median").parse().expect("a number");
        assert!((median_us * 1e3 - RECEPTION_NS).abs() < 1e-6);
    }

    /// Aggregators that answered and had all answers after these times, ns.
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
    fn aggregators_give_up_at_a_common_time() {
        let mut notes = Vec::new();
        // 0.1 ms of computation.
        let whole = |at: u64| (1_000_000 + at * 10_000, 900_000 + at * 10_000);
        let patient = aggregators((0..100).map(whole));
        assert_eq!(give_up(&patient, &mut notes), None);
        assert!(notes.is_empty());
        // One in five has its last answer later than 2 ms.
        let hasty = aggregators((0..100).map(|at| match at {
            0..80 => whole(at),
            _ => (2_100_000, 3_000_000),
        }));
        let found = give_up(&hasty, &mut notes);
        let wanted = GiveUp {
            after: Span::from_ms(2),
            lacking: 20,
            all: 100,
        };
        assert_eq!(found, Some(wanted));
        assert!(notes[0].contains("give up after 2 ms"), "{notes:?}");
    }

    #[test]
    fn clocks_that_differ_are_not_giving_up() {
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
        assert!(notes[0].contains("clocks to differ"), "{notes:?}");
    }
}
