//! Calls from the messages of a capture, as pairs of requests and answers.

use super::conversations::{Conversations, Message};
use super::pairs::likely_pairs;
use super::queues::{Network, computed};
use crate::calls::{Call, Calls};
use crate::distribution::{Sample, quantile_of, whole};
use crate::observed::Others;
use rustc_hash::{FxHashMap, FxHashSet};

/// Computation counts as 0 if it is below this share of the calls' time and its median is below the network's time,
/// because captures cannot distinguish it from queueing.
const NEGLIGIBLE: f64 = 0.1;
/// Quantile of the round trips that is assumed to be nearly free of queueing.
const QUIET: f64 = 0.1;

/// Derives the calls of a capture.
pub(crate) fn calls(conversations: &Conversations, others: u64) -> Calls {
    let found = likely_pairs(&conversations.messages);
    let network = Network::of(conversations, &found.pairs);
    let computed = computed(&found.pairs, &network);
    let pairs = found.pairs.iter().zip(&computed);
    let mut calls: Vec<Call> = pairs.map(|(pair, &ns)| pair.call(whole(ns))).collect();
    let took: f64 = calls.iter().map(Call::took).sum();
    let computed = Sample::new(computed);
    let mut notes = Vec::new();
    if computed.sum() < NEGLIGIBLE * took
        && computed.quantile(0.5) < network.median_round_trip_ns as f64
    {
        for call in &mut calls {
            call.compute_ns = Some(0);
        }
    }
    let requests = calls.iter().filter_map(|call| call.request_bytes);
    let requests = requests.map(|bytes| bytes as f64).collect();
    let largest = quantile_of(requests, 0.99).map_or(0, whole);
    let end = conversations.last_ns;
    let longest = calls.iter().map(Call::took).fold(0.0, f64::max);
    // Requests near the end of the capture have no answer yet.
    let closed = end.saturating_sub(whole(2.0 * longest));
    let clients: FxHashSet<u32> = calls.iter().map(|call| call.client).collect();
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
            "{} answers in separate connections arrived while their servers had several requests of the same client: \
             each is paired with the request whose wait is closest to the median",
            found.doubtful
        ));
    }
    if others > 0 {
        notes.push(format!("{others} packets that are not TCP were skipped"));
    }
    let before = calls.len();
    let calls = at_clients(calls);
    if calls.len() < before {
        notes.push(format!(
            "{} calls of hosts that the capture shows only partially were skipped",
            before - calls.len()
        ));
    }
    // Other transfers of the captured hosts. Each transfer has two ends.
    let clients: FxHashSet<u32> = calls.iter().map(|call| call.client).collect();
    let ends = one_way.iter().flat_map(|message| {
        let ends = [message.from, message.to].into_iter();
        ends.filter(|end| clients.contains(end))
            .map(|_| message.bytes as f64)
    });
    let other_transfers = Others {
        bytes: ends.collect(),
        observed_hosts: Some(2 * clients.len()),
    };
    let connections = conversations.connections() as f64;
    Calls {
        hosts: conversations.hosts(),
        reuses_connections: Some(conversations.messages.len() as f64 > 2.5 * connections),
        round_trip_ns: {
            let trips = conversations.round_trips.iter().map(|&ns| ns as f64);
            quantile_of(trips.collect(), QUIET).map(whole)
        },
        list: calls,
        others: other_transfers,
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

fn unanswered(request: &Message) -> Call {
    Call {
        client: request.from,
        server: request.to,
        start_ns: request.begins_ns,
        request_bytes: Some(request.bytes),
        ..Call::default()
    }
}

/// Selects the calls of the captured clients. A capture contains all calls of a host whose link was captured, but only
/// part of the calls of others. A captured host is an end of many calls, so hosts with the most remaining calls are
/// chosen until every call has a chosen end. If the chosen hosts are mostly not clients, all calls are kept.
fn at_clients(calls: Vec<Call>) -> Vec<Call> {
    let mut remaining: FxHashMap<u32, u64> = FxHashMap::default();
    let mut between: FxHashMap<(u32, u32), u64> = FxHashMap::default();
    for call in &calls {
        *between.entry((call.client, call.server)).or_default() += 1;
        *remaining.entry(call.client).or_default() += 1;
        *remaining.entry(call.server).or_default() += 1;
    }
    let mut near: FxHashMap<u32, Vec<(u32, u32)>> = FxHashMap::default();
    for &(client, server) in between.keys() {
        near.entry(client).or_default().push((client, server));
        near.entry(server).or_default().push((client, server));
    }
    let mut chosen = FxHashSet::default();
    let mut heap: std::collections::BinaryHeap<(u64, u32)> = remaining
        .iter()
        .map(|(&host, &queued_count)| (queued_count, host))
        .collect();
    while let Some((queued_count, host)) = heap.pop() {
        let count = remaining.get(&host).copied().unwrap_or(0);
        if count == 0 {
            continue;
        }
        if count < queued_count {
            heap.push((count, host));
            continue;
        }
        chosen.insert(host);
        for ends in near.get(&host).into_iter().flatten() {
            let removed = between.remove(ends).unwrap_or(0);
            for end in [ends.0, ends.1] {
                remaining
                    .entry(end)
                    .and_modify(|remaining| *remaining -= removed);
            }
        }
    }
    let is_seen = |call: &Call| chosen.contains(&call.client);
    if calls.iter().filter(|call| is_seen(call)).count() * 4 < calls.len() {
        return calls;
    }
    calls.into_iter().filter(is_seen).collect()
}
