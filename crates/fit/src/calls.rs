//! Calls, and the queries that they belong to.

use crate::distribution::Sample;
use crate::observed::{Answer, DeadlineFrom, Observed, Others, Query};
use rustc_hash::{FxHashMap, FxHashSet};

/// One call of a server by a client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Call {
    /// Its query; `None`: to be found out.
    pub query: Option<u64>,
    pub client: u32,
    pub server: u32,
    /// When the client asked, ns.
    pub start_ns: u64,
    /// When it had the answer; `None`: never, or not known.
    pub end_ns: Option<u64>,
    /// Bytes of the answer; `None`: none came.
    pub bytes: Option<u64>,
    pub request_bytes: Option<u64>,
    pub compute_ns: Option<u64>,
    pub deadline_ns: Option<u64>,
    /// The end of its deadline, ns.
    pub due_ns: Option<u64>,
}

/// Calls of the same input.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    pub list: Vec<Call>,
    /// Distinct hosts.
    pub hosts: usize,
    /// As [`Observed::reuses_connections`].
    pub reuses_connections: Option<bool>,
    /// As [`Observed::round_trip_ns`].
    pub round_trip_ns: Option<u64>,
    pub deadline_from: DeadlineFrom,
    pub others: Others,
    pub notes: Vec<String>,
}

/// Gaps within and between bursts differ at least by this factor, in the geometric mean.
const APART: f64 = 30.0;
/// Share of the bursts in which no server is asked twice, from which on a server asked again belongs to another query.
const ONCE: f64 = 0.8;
/// Share of the bursts that have the same number of calls, from which on smaller ones are parts of queries of that many.
const ALIKE: f64 = 0.7;

impl Calls {
    /// The queries: of those without a number, the calls of one client in one burst. Within a burst no gap from one call to
    /// the next is above `burst_ns`; `None`: the gaps themselves tell.
    pub fn into_observed(mut self, burst_ns: Option<u64>) -> Observed {
        self.list
            .sort_unstable_by_key(|of| (of.start_ns, of.client, of.server));
        let (named, mut others): (Vec<Call>, Vec<Call>) =
            self.list.iter().partition(|of| of.query.is_some());
        others.sort_by_key(|of| (of.client, of.start_ns));
        let mut queries = by_name(&named);
        queries.extend(self.bursts(&others, burst_ns));
        queries.sort_by_key(|of| (of.start_ns, of.root));
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

    /// Calls sorted by client, then by start, divided into bursts.
    fn bursts(&mut self, calls: &[Call], burst_ns: Option<u64>) -> Vec<Query> {
        let next_to = |of: &[Call]| match of {
            [a, b] if a.client == b.client => Some(b.start_ns - a.start_ns),
            _ => None,
        };
        let gaps: Vec<u64> = calls.windows(2).filter_map(next_to).collect();
        let Some(limit) = burst_ns.or_else(|| divide(&gaps)) else {
            if calls.len() > 1 {
                let note = "the calls come in no bursts: each is taken for a query of its own; a column `query` or \
                            `--burst` says which belong together";
                self.notes.push(note.to_owned());
            }
            return calls
                .iter()
                .map(|of| query(std::slice::from_ref(of)))
                .collect();
        };
        let by_gap: Vec<&[Call]> = calls
            .chunk_by(|a, b| a.client == b.client && b.start_ns - a.start_ns <= limit)
            .collect();
        let repeats = |of: &&&[Call]| {
            let mut seen = FxHashSet::default();
            of.iter().any(|call| !seen.insert(call.server))
        };
        let once = by_gap.len() - by_gap.iter().filter(repeats).count();
        if (once as f64) < ONCE * by_gap.len() as f64 {
            return by_gap.into_iter().map(query).collect();
        }
        // Two queries at nearly the same time: the servers that are asked again tell them apart.
        let groups: Vec<Vec<Call>> = by_gap.into_iter().flat_map(apart).collect();
        let bursts = groups.len();
        let groups = joined(groups);
        if groups.len() < bursts {
            self.notes.push(format!(
                "{} bursts are taken for later parts of queries that have as many calls as most, and ask other servers",
                bursts - groups.len()
            ));
        }
        groups.iter().map(|of| query(of)).collect()
    }
}

fn by_name(calls: &[Call]) -> Vec<Query> {
    let mut by_query: FxHashMap<Option<u64>, Vec<Call>> = FxHashMap::default();
    for call in calls {
        by_query.entry(call.query).or_default().push(*call);
    }
    let mut groups: Vec<Vec<Call>> = by_query.into_values().collect();
    groups.sort_by_key(|of| of.first().map(|of| (of.start_ns, of.query)));
    groups.iter().map(|of| query(of)).collect()
}

/// The calls of a burst, divided so that each part asks each server once.
fn apart(burst: &[Call]) -> Vec<Vec<Call>> {
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

/// A host that is busy with other work asks some servers of a query later. Where nearly all bursts have as many calls, smaller
/// ones of one client that follow each other, ask different servers, and have as many together, are one query.
fn joined(groups: Vec<Vec<Call>>) -> Vec<Vec<Call>> {
    let sizes = Sample::new(groups.iter().map(|of| of.len() as f64).collect());
    let (usual, share) = sizes.mode();
    if !(ALIKE..1.0).contains(&share) {
        return groups;
    }
    let missing = |of: &[Call]| usual - of.len() as f64;
    let mut whole: Vec<Vec<Call>> = Vec::new();
    let mut groups = groups.into_iter().peekable();
    while let Some(first) = groups.next() {
        let mut parts = vec![first];
        let mut lacks = missing(&parts[0]);
        while lacks > 0.0
            && let Some(next) = groups.next_if(|next| {
                let asked = |call: &Call| parts.iter().flatten().any(|of| of.server == call.server);
                let same = next.first().map(|of| of.client) == parts[0].first().map(|of| of.client);
                same && next.len() as f64 <= lacks && !next.iter().any(asked)
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

/// Calls sorted by their start, as one query.
fn query(calls: &[Call]) -> Query {
    let start_ns = calls.first().map_or(0, |of| of.start_ns);
    let ends = calls.iter().map(|of| of.end_ns);
    let end = ends
        .collect::<Option<Vec<u64>>>()
        .and_then(|ends| ends.into_iter().max());
    let dues = calls.iter().map(|of| of.due_ns);
    let due = dues
        .collect::<Option<Vec<u64>>>()
        .and_then(|dues| dues.into_iter().max());
    let answers = calls.iter().filter_map(|of| {
        Some(Answer {
            layer: 0,
            children: 0,
            request_bytes: of.request_bytes,
            bytes: of.bytes?,
            compute_ns: of.compute_ns,
            deadline_ns: of.deadline_ns,
            took_ns: None,
            waited_ns: None,
            network_ns: of.end_ns.zip(of.compute_ns).map(|(end_ns, compute_ns)| {
                end_ns
                    .saturating_sub(of.start_ns)
                    .saturating_sub(compute_ns)
            }),
        })
    });
    Query {
        answers: answers.collect(),
        root: calls.first().map(|of| of.client),
        start_ns,
        took_ns: end.map(|end| end.saturating_sub(start_ns)),
        due_ns: due.map(|due| due.saturating_sub(start_ns)),
        late: None,
        children: u32::try_from(calls.len()).unwrap_or(u32::MAX),
    }
}

/// The gap between the gaps within bursts and those between them: the division of their logarithms into two classes with
/// most variance between them (Otsu, 1979); `None` where the classes are not far apart.
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
    for (at, pair) in logs.windows(2).enumerate() {
        below += pair[0];
        let under = (at + 1) as f64;
        let (low, high) = (below / under, (all - below) / (many - under));
        let between = under * (many - under) * (high - low) * (high - low);
        if pair[1] > pair[0] && best.is_none_or(|(most, ..)| between > most) {
            best = Some((between, high - low, f64::midpoint(pair[0], pair[1])));
        }
    }
    let (_, apart, middle) = best?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between two gaps"
    )]
    let limit = libm::exp(middle) as u64;
    (apart >= libm::log(APART)).then_some(limit)
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

    fn observed(calls: Vec<Call>, burst_ns: Option<u64>) -> Observed {
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
        let seen = observed(calls.collect(), None);
        assert_eq!(seen.queries.len(), 100);
        assert!(
            seen.queries
                .iter()
                .all(|of| of.children == 5 && of.took_ns == Some(3_800))
        );
        assert_eq!(seen.roots(), 2);
    }

    #[test]
    fn a_server_asked_again_belongs_to_the_next_query() {
        let mut calls: Vec<Call> = (0..20)
            .flat_map(|q| {
                (0..4).map(move |server| call(0, server, q * 1_000_000 + u64::from(server)))
            })
            .collect();
        // Another query, in the midst of the third one.
        calls.extend((0..4).map(|server| call(0, server, 2_000_002 + u64::from(server))));
        let seen = observed(calls, None);
        assert_eq!(seen.queries.len(), 21);
        assert!(seen.queries.iter().all(|of| of.children == 4));
    }

    #[test]
    fn parts_of_a_query_are_put_together_again() {
        let mut calls = Vec::new();
        for query in 0..40 {
            for server in 0..8 {
                // In one of ten, the second half is asked a millisecond later.
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
        let seen = observed(calls.clone(), Some(10_000));
        assert_eq!(seen.queries.len(), 40);
        assert!(seen.queries.iter().all(|of| of.children == 8));
        assert!(seen.notes[0].starts_with("4 bursts are taken for later parts"));
        // One that asks the same servers again is a query of its own.
        for call in &mut calls {
            if call.start_ns % 10_000_000 >= 1_000_000 {
                call.server -= 4;
            }
        }
        let seen = observed(calls, Some(10_000));
        assert_eq!((seen.queries.len(), seen.notes.len()), (44, 0));
    }

    #[test]
    fn calls_without_bursts_stay_alone_unless_they_are_told_to_be_together() {
        let calls: Vec<Call> = (0..100)
            .map(|at| call(0, at % 7, u64::from(at) * 1_000))
            .collect();
        let alone = observed(calls.clone(), None);
        assert_eq!(alone.queries.len(), 100);
        assert!(alone.notes[0].contains("no bursts"));
        assert_eq!(observed(calls, Some(10_000)).queries.len(), 1);
    }
}
