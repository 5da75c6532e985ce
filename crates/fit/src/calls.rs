//! Grouping of calls into queries.

use crate::distribution::Sample;
use crate::observed::{Answer, DeadlineFrom, Observed, Others, Query};
use rustc_hash::{FxHashMap, FxHashSet};

/// Call of a server by a client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Call {
    /// Query of the call, or `None` if the input does not identify it.
    pub query: Option<u64>,
    pub client: u32,
    pub server: u32,
    /// Time of the request in nanoseconds.
    pub start_ns: u64,
    /// Arrival of the answer, or `None` if it never arrived or is unknown.
    pub end_ns: Option<u64>,
    /// Size of the answer in bytes, or `None` if there was no answer.
    pub bytes: Option<u64>,
    pub request_bytes: Option<u64>,
    pub compute_ns: Option<u64>,
    pub deadline_ns: Option<u64>,
    /// Absolute deadline in nanoseconds.
    pub due_ns: Option<u64>,
}

/// Calls of an input.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    pub list: Vec<Call>,
    /// Number of distinct hosts.
    pub hosts: usize,
    /// See [`Observed::reuses_connections`].
    pub reuses_connections: Option<bool>,
    /// See [`Observed::round_trip_ns`].
    pub round_trip_ns: Option<u64>,
    pub deadline_from: DeadlineFrom,
    pub others: Others,
    pub notes: Vec<String>,
}

/// Minimum ratio of the geometric means of the gaps between and within bursts.
const MIN_GAP_RATIO: f64 = 30.0;
/// Minimum share of bursts without repeated servers for which a repeated server starts another query.
const MIN_DISTINCT_SHARE: f64 = 0.8;
/// Minimum share of bursts with the most frequent number of calls for which smaller bursts are joined.
const MIN_MODE_SHARE: f64 = 0.7;

impl Calls {
    /// Groups the calls into queries. Calls without a query are grouped into bursts of a client, whose gaps are at most
    /// `burst_ns` or, if it is `None`, a limit derived from the gaps.
    pub fn into_observed(mut self, burst_ns: Option<u64>) -> Observed {
        self.list
            .sort_unstable_by_key(|call| (call.start_ns, call.client, call.server));
        let (identified, mut others): (Vec<Call>, Vec<Call>) =
            self.list.iter().partition(|call| call.query.is_some());
        others.sort_by_key(|call| (call.client, call.start_ns));
        let mut queries = by_name(&identified);
        queries.extend(self.bursts(&others, burst_ns));
        queries.sort_by_key(|query| (query.start_ns, query.root));
        Observed {
            queries,
            hosts: self.hosts,
            reuses_connections: self.reuses_connections,
            round_trip_ns: self.round_trip_ns,
            deadline_from: self.deadline_from,
            others: self.others,
            notes: self.notes,
        }
    }

    /// Divides calls, sorted by client and start, into bursts.
    fn bursts(&mut self, calls: &[Call], burst_ns: Option<u64>) -> Vec<Query> {
        let next_to = |group: &[Call]| match group {
            [a, b] if a.client == b.client => Some(b.start_ns - a.start_ns),
            _ => None,
        };
        let gaps: Vec<u64> = calls.windows(2).filter_map(next_to).collect();
        let Some(limit) = burst_ns.or_else(|| divide(&gaps)) else {
            if calls.len() > 1 {
                let note = "the calls form no bursts, so each is a separate query; add a column `query` or use `--burst` to \
                            group them";
                self.notes.push(note.to_owned());
            }
            return calls
                .iter()
                .map(|call| query(std::slice::from_ref(call)))
                .collect();
        };
        let by_gap: Vec<&[Call]> = calls
            .chunk_by(|a, b| a.client == b.client && b.start_ns - a.start_ns <= limit)
            .collect();
        let repeats = |group: &&&[Call]| {
            let mut seen = FxHashSet::default();
            group.iter().any(|call| !seen.insert(call.server))
        };
        let distinct = by_gap.len() - by_gap.iter().filter(repeats).count();
        if (distinct as f64) < MIN_DISTINCT_SHARE * by_gap.len() as f64 {
            return by_gap.into_iter().map(query).collect();
        }
        // Repeated servers separate queries at nearly the same time.
        let groups: Vec<Vec<Call>> = by_gap.into_iter().flat_map(split_by_server).collect();
        let bursts = groups.len();
        let groups = joined(groups);
        if groups.len() < bursts {
            self.notes.push(format!(
                "{} bursts are joined to queries: they call other servers, and complete the most frequent number of calls",
                bursts - groups.len()
            ));
        }
        groups.iter().map(|group| query(group)).collect()
    }
}

fn by_name(calls: &[Call]) -> Vec<Query> {
    let mut by_query: FxHashMap<Option<u64>, Vec<Call>> = FxHashMap::default();
    for call in calls {
        by_query.entry(call.query).or_default().push(*call);
    }
    let mut groups: Vec<Vec<Call>> = by_query.into_values().collect();
    groups.sort_by_key(|group| group.first().map(|call| (call.start_ns, call.query)));
    groups.iter().map(|group| query(group)).collect()
}

/// Divides a burst so that each part calls each server once.
fn split_by_server(burst: &[Call]) -> Vec<Vec<Call>> {
    let mut groups: Vec<Vec<Call>> = Vec::new();
    let mut times: FxHashMap<u32, usize> = FxHashMap::default();
    for call in burst {
        let before = times.entry(call.server).or_default();
        if *before == groups.len() {
            groups.push(Vec::new());
        }
        groups[*before].push(*call);
        *before += 1;
    }
    groups
}

/// Joins partial bursts. A busy host may send some requests of a query later, so if nearly all bursts have the same
/// number of calls, consecutive smaller bursts of a client with different servers that add up to that number are one
/// query.
fn joined(groups: Vec<Vec<Call>>) -> Vec<Vec<Call>> {
    let sizes = Sample::new(groups.iter().map(|group| group.len() as f64).collect());
    let (mode, share) = sizes.mode();
    if !(MIN_MODE_SHARE..1.0).contains(&share) {
        return groups;
    }
    let missing = |group: &[Call]| mode - group.len() as f64;
    let mut whole: Vec<Vec<Call>> = Vec::new();
    let mut groups = groups.into_iter().peekable();
    while let Some(first) = groups.next() {
        let mut parts = vec![first];
        let mut lacks = missing(&parts[0]);
        while lacks > 0.0
            && let Some(next) = groups.next_if(|next| {
                let is_repeated = |call: &Call| {
                    parts
                        .iter()
                        .flatten()
                        .any(|other| other.server == call.server)
                };
                let same = next.first().map(|call| call.client)
                    == parts[0].first().map(|call| call.client);
                same && next.len() as f64 <= lacks && !next.iter().any(is_repeated)
            })
        {
            lacks -= next.len() as f64;
            parts.push(next);
        }
        if lacks == 0.0 {
            whole.push(parts.concat());
        } else {
            whole.extend(parts);
        }
    }
    whole
}

/// Builds a query from calls sorted by their start.
fn query(calls: &[Call]) -> Query {
    let start_ns = calls.first().map_or(0, |call| call.start_ns);
    let ends = calls.iter().map(|call| call.end_ns);
    let end = ends
        .collect::<Option<Vec<u64>>>()
        .and_then(|ends| ends.into_iter().max());
    let dues = calls.iter().map(|call| call.due_ns);
    let due = dues
        .collect::<Option<Vec<u64>>>()
        .and_then(|dues| dues.into_iter().max());
    let answers = calls.iter().filter_map(|call| {
        Some(Answer {
            layer: 0,
            children: 0,
            request_bytes: call.request_bytes,
            bytes: call.bytes?,
            compute_ns: call.compute_ns,
            deadline_ns: call.deadline_ns,
            took_ns: None,
            waited_ns: None,
            network_ns: call
                .end_ns
                .zip(call.compute_ns)
                .map(|(end_ns, compute_ns)| {
                    end_ns
                        .saturating_sub(call.start_ns)
                        .saturating_sub(compute_ns)
                }),
        })
    });
    Query {
        answers: answers.collect(),
        root: calls.first().map(|call| call.client),
        start_ns,
        took_ns: end.map(|end| end.saturating_sub(start_ns)),
        due_ns: due.map(|due| due.saturating_sub(start_ns)),
        late: None,
        children: u32::try_from(calls.len()).unwrap_or(u32::MAX),
    }
}

/// Returns the limit between gaps within and between bursts: it divides their logarithms into two classes with maximum
/// variance between them (Otsu, 1979). Returns `None` if the classes are too close.
fn divide(gaps: &[u64]) -> Option<u64> {
    let mut logs: Vec<f64> = gaps
        .iter()
        .map(|&gap| libm::log(gap.max(1) as f64))
        .collect();
    logs.sort_unstable_by(f64::total_cmp);
    let all: f64 = logs.iter().sum();
    let many = logs.len() as f64;
    let mut below = 0.0;
    let mut best: Option<(f64, f64, f64)> = None;
    for (index, pair) in logs.windows(2).enumerate() {
        below += pair[0];
        let under = (index + 1) as f64;
        let (low, high) = (below / under, (all - below) / (many - under));
        let between = under * (many - under) * (high - low) * (high - low);
        if pair[1] > pair[0] && best.is_none_or(|(largest, ..)| between > largest) {
            best = Some((between, high - low, f64::midpoint(pair[0], pair[1])));
        }
    }
    let (_, distance, middle) = best?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between two gaps"
    )]
    let limit = libm::exp(middle) as u64;
    (distance >= libm::log(MIN_GAP_RATIO)).then_some(limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(client: u32, server: u32, start_ns: u64) -> Call {
        Call {
            client,
            server,
            start_ns,
            end_ns: Some(start_ns + 1_000),
            bytes: Some(10),
            ..Call::default()
        }
    }

    fn observe_calls(calls: Vec<Call>, burst_ns: Option<u64>) -> Observed {
        let calls = Calls {
            list: calls,
            ..Calls::default()
        };
        calls.into_observed(burst_ns)
    }

    #[test]
    fn bursts_of_each_client_are_queries() {
        let calls = (0..50).flat_map(|q| {
            (0..2).flat_map(move |client| {
                let start = q * 1_000_000 + u64::from(client) * 500;
                (0..5).map(move |server| call(client, 10 + server, start + u64::from(server) * 700))
            })
        });
        let observed = observe_calls(calls.collect(), None);
        assert_eq!(observed.queries.len(), 100);
        assert!(
            observed
                .queries
                .iter()
                .all(|query| query.children == 5 && query.took_ns == Some(3_800))
        );
        assert_eq!(observed.roots(), 2);
    }

    #[test]
    fn repeated_server_starts_the_next_query() {
        let mut calls: Vec<Call> = (0..20)
            .flat_map(|q| {
                (0..4).map(move |server| call(0, server, q * 1_000_000 + u64::from(server)))
            })
            .collect();
        // Another query overlaps the third one.
        calls.extend((0..4).map(|server| call(0, server, 2_000_002 + u64::from(server))));
        let observed = observe_calls(calls, None);
        assert_eq!(observed.queries.len(), 21);
        assert!(observed.queries.iter().all(|query| query.children == 4));
    }

    #[test]
    fn parts_of_a_query_are_joined() {
        let mut calls = Vec::new();
        for query in 0..40 {
            for server in 0..8 {
                // In one of ten queries, the second half starts a millisecond later.
                let late = if query % 10 == 3 && server >= 4 {
                    1_000_000
                } else {
                    0
                };
                calls.push(call(
                    0,
                    server,
                    query * 10_000_000 + u64::from(server) * 100 + late,
                ));
            }
        }
        let observed = observe_calls(calls.clone(), Some(10_000));
        assert_eq!(observed.queries.len(), 40);
        assert!(observed.queries.iter().all(|query| query.children == 8));
        assert!(observed.notes[0].starts_with("4 bursts are joined to queries"));
        // A burst with the same servers is a separate query.
        for call in &mut calls {
            if call.start_ns % 10_000_000 >= 1_000_000 {
                call.server -= 4;
            }
        }
        let observed = observe_calls(calls, Some(10_000));
        assert_eq!((observed.queries.len(), observed.notes.len()), (44, 0));
    }

    #[test]
    fn calls_without_bursts_stay_separate() {
        let calls: Vec<Call> = (0..100)
            .map(|at| call(0, at % 7, u64::from(at) * 1_000))
            .collect();
        let alone = observe_calls(calls.clone(), None);
        assert_eq!(alone.queries.len(), 100);
        assert!(alone.notes[0].contains("no bursts"));
        assert_eq!(observe_calls(calls, Some(10_000)).queries.len(), 1);
    }
}
