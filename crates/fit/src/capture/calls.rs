//! Calls from the messages of a capture: each request with the answer to it.

use super::conversations::{Conversations, Message};
use super::pairs::likely_pairs;
use super::queues::{Network, computed};
use crate::calls::{Call, Calls};
use crate::distribution::{Sample, quantile_of, whole};
use crate::observed::Others;
use rustc_hash::{FxHashMap, FxHashSet};

/// Computation below this share of the time that calls take, most of it below what the network takes, is none: a capture
/// does not tell it from queues.
const NOTHING: f64 = 0.1;
/// This share of round trips has met next to no queue.
const QUIET: f64 = 0.1;

/// The calls of a capture.
pub(crate) fn calls(seen: &Conversations, others: u64) -> Calls {
    let found = likely_pairs(&seen.messages);
    let network = Network::of(seen, &found.pairs);
    let computed = computed(&found.pairs, &network);
    let pairs = found.pairs.iter().zip(&computed);
    let mut calls: Vec<Call> = pairs.map(|(of, &ns)| of.call(whole(ns))).collect();
    let took: f64 = calls.iter().map(Call::took).sum();
    let computed = Sample::new(computed);
    let mut notes = Vec::new();
    if computed.sum() < NOTHING * took && computed.quantile(0.5) < network.usual as f64 {
        for call in &mut calls {
            call.compute_ns = Some(0);
        }
    }
    let requests = calls.iter().filter_map(|of| of.request_bytes);
    let requests = requests.map(|bytes| bytes as f64).collect();
    let largest = quantile_of(requests, 0.99).map_or(0, whole);
    let end = seen.last_ns;
    let longest = calls.iter().map(Call::took).fold(0.0, f64::max);
    // What was asked near the end has no answer yet.
    let closed = end.saturating_sub(whole(2.0 * longest));
    let clients: FxHashSet<u32> = calls.iter().map(|of| of.client).collect();
    let mut one_way: Vec<&Message> = Vec::new();
    for alone in &found.alone {
        if alone.bytes <= largest && clients.contains(&alone.from) && alone.by_client {
            if alone.begins_ns < closed {
                calls.push(unanswered(alone));
            }
        } else {
            one_way.push(alone);
        }
    }
    if found.doubtful > 0 {
        notes.push(format!(
            "{} answers came in connections of their own while their servers had several requests of the same client: \
             each is taken for that which waited most nearly as long as usual",
            found.doubtful
        ));
    }
    if others > 0 {
        notes.push(format!("{others} packets that are not of TCP are left out"));
    }
    let before = calls.len();
    let calls = at_clients(calls);
    if calls.len() < before {
        notes.push(format!(
            "{} calls of hosts of which the capture shows only a part are left out",
            before - calls.len()
        ));
    }
    // Transfers to and from the hosts whose links were captured; each has two ends.
    let clients: FxHashSet<u32> = calls.iter().map(|of| of.client).collect();
    let ends = one_way.iter().flat_map(|of| {
        let ends = [of.from, of.to].into_iter();
        ends.filter(|end| clients.contains(end))
            .map(|_| of.bytes as f64)
    });
    let of_others = Others {
        bytes: ends.collect(),
        of_hosts: Some(2 * clients.len()),
    };
    let connections = seen.connections() as f64;
    Calls {
        hosts: seen.hosts(),
        reuses_connections: Some(seen.messages.len() as f64 > 2.5 * connections),
        round_trip_ns: {
            let trips = seen.round_trips.iter().map(|&ns| ns as f64);
            quantile_of(trips.collect(), QUIET).map(whole)
        },
        list: calls,
        others: of_others,
        notes,
        ..Calls::default()
    }
}

impl Call {
    fn took(&self) -> f64 {
        self.end_ns
            .map_or(0.0, |end| end.saturating_sub(self.start_ns) as f64)
    }
}

fn unanswered(of: &Message) -> Call {
    Call {
        client: of.from,
        server: of.to,
        start_ns: of.begins_ns,
        request_bytes: Some(of.bytes),
        ..Call::default()
    }
}

/// The calls of the clients whose links the capture was made at: of the others it shows only what concerns these. A host
/// whose link it was is an end of many calls, so the hosts that take part in most are taken until all calls have one. Where
/// these are no clients, all calls stay.
fn at_clients(calls: Vec<Call>) -> Vec<Call> {
    let mut left: FxHashMap<u32, u64> = FxHashMap::default();
    let mut between: FxHashMap<(u32, u32), u64> = FxHashMap::default();
    for call in &calls {
        *between.entry((call.client, call.server)).or_default() += 1;
        *left.entry(call.client).or_default() += 1;
        *left.entry(call.server).or_default() += 1;
    }
    let mut near: FxHashMap<u32, Vec<(u32, u32)>> = FxHashMap::default();
    for &(client, server) in between.keys() {
        near.entry(client).or_default().push((client, server));
        near.entry(server).or_default().push((client, server));
    }
    let mut chosen = FxHashSet::default();
    let mut heap: std::collections::BinaryHeap<(u64, u32)> =
        left.iter().map(|(&host, &many)| (many, host)).collect();
    while let Some((many, host)) = heap.pop() {
        let now = left.get(&host).copied().unwrap_or(0);
        if now == 0 {
            continue;
        }
        if now < many {
            heap.push((now, host));
            continue;
        }
        chosen.insert(host);
        for ends in near.get(&host).into_iter().flatten() {
            let gone = between.remove(ends).unwrap_or(0);
            for end in [ends.0, ends.1] {
                left.entry(end).and_modify(|left| *left -= gone);
            }
        }
    }
    let is_seen = |call: &Call| chosen.contains(&call.client);
    if calls.iter().filter(|call| is_seen(call)).count() * 4 < calls.len() {
        return calls;
    }
    calls.into_iter().filter(is_seen).collect()
}
