//! Calls from the messages of a capture: each request with the answer to it.

use crate::calls::{Call, Calls};
use crate::conversations::{Conversations, Message};
use crate::distribution::{Sample, quantile_of};
use crate::observed::Others;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::VecDeque;

/// Where two hosts ask each other, what comes after this many times the usual wait is no answer.
const PATIENCE: u32 = 50;
/// A request is given up after this many times the usual wait.
const FORGOTTEN: u64 = 1_000;
/// Open requests that are looked at for one answer.
const MOST_OPEN: usize = 64;
/// Waits in one direction that are so many times those in the other are no waits for answers.
const FAR: f64 = 2.0;
/// Computation below this share of the time that calls take, most of it below what the network takes, is none: a capture
/// does not tell it from queues.
const NOTHING: f64 = 0.1;

/// The calls of a capture.
pub(crate) fn calls(seen: &Conversations, others: u64) -> Calls {
    let mut found = pairs(&seen.messages, None);
    let waits: Vec<f64> = found.pairs.iter().map(|of| of.wait_ns() as f64).collect();
    if let Some(median) = quantile_of(waits, 0.5) {
        found = pairs(&seen.messages, Some(whole(median).max(1_000)));
    }
    let network = Network::of(seen, &found.pairs);
    let pairs = found.pairs.iter();
    let mut calls: Vec<Call> = pairs.map(|of| of.call(network.between(of))).collect();
    let took: f64 = calls.iter().map(Call::took).sum();
    let computed = Sample::new(
        calls
            .iter()
            .filter_map(|of| of.compute_ns)
            .map(|ns| ns as f64)
            .collect(),
    );
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
            quantile_of(trips.collect(), 0.5).map(whole)
        },
        list: calls,
        others: of_others,
        notes,
        ..Calls::default()
    }
}

/// How long a packet takes from the capture to a server and back.
struct Network {
    between: FxHashMap<(u32, u32), u64>,
    /// Of most servers.
    usual: u64,
}

impl Network {
    /// As long as connections take to open; where none was seen to, as long as the quickest servers take to answer.
    fn of(seen: &Conversations, pairs: &[Pair]) -> Self {
        let all = seen.answers_after.values().flatten();
        let all: Vec<f64> = all.map(|&ns| ns as f64).collect();
        let waits = || pairs.iter().map(|of| of.wait_ns() as f64).collect();
        let usual = quantile_of(all, 0.5).or_else(|| quantile_of(waits(), 0.01));
        let median = |of: &[u64]| quantile_of(of.iter().map(|&ns| ns as f64).collect(), 0.5);
        let between = seen.answers_after.iter();
        let between = between.filter_map(|(ends, times)| Some((*ends, whole(median(times)?))));
        Self {
            between: between.collect(),
            usual: usual.map_or(0, whole),
        }
    }

    fn between(&self, of: &Pair) -> u64 {
        let ends = (of.request.from, of.request.to);
        self.between.get(&ends).copied().unwrap_or(self.usual)
    }
}

/// A request and its answer.
struct Pair {
    request: Message,
    answer: Message,
}

impl Pair {
    fn wait_ns(&self) -> u64 {
        self.answer.begins_ns.saturating_sub(self.request.ends_ns)
    }

    /// As a call; `network_ns` of the wait is the network's.
    fn call(&self, network_ns: u64) -> Call {
        Call {
            client: self.request.from,
            server: self.request.to,
            start_ns: self.request.begins_ns,
            end_ns: Some(self.answer.ends_ns),
            bytes: Some(self.answer.bytes),
            request_bytes: Some(self.request.bytes),
            compute_ns: Some(self.wait_ns().saturating_sub(network_ns)),
            ..Call::default()
        }
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

struct Found {
    pairs: Vec<Pair>,
    /// Answers that may be to another request than they are paired with.
    doubtful: u64,
    /// Messages that are no part of a pair.
    alone: Vec<Message>,
}

/// Pairs of messages: within a connection that both ends write to, a client's message and the server's next one; else two
/// messages of opposite directions in connections of their own. Of several open requests an answer is to that which waited
/// most nearly as long as usual; where that is not known, to the earliest.
fn pairs(messages: &[Message], usual_ns: Option<u64>) -> Found {
    let mut ways: FxHashMap<u32, (bool, bool)> = FxHashMap::default();
    for of in messages {
        let both = ways.entry(of.connection).or_default();
        if of.by_client {
            both.0 = true;
        } else {
            both.1 = true;
        }
    }
    let mut order: Vec<&Message> = messages.iter().collect();
    order.sort_by_key(|of| of.begins_ns);
    let alone = |of: &Message| ways.get(&of.connection) != Some(&(true, true));
    let only_answer = only_answer(order.iter().copied().filter(|of| alone(of)));
    let forgotten_ns = usual_ns.map_or(u64::MAX, |usual| usual.saturating_mul(FORGOTTEN));
    let mut open: FxHashMap<u32, Message> = FxHashMap::default();
    let mut waiting: FxHashMap<(u32, u32), VecDeque<Message>> = FxHashMap::default();
    let mut found = Found {
        pairs: Vec::new(),
        doubtful: 0,
        alone: Vec::new(),
    };
    for of in order {
        if ways.get(&of.connection) == Some(&(true, true)) {
            if of.by_client {
                found.alone.extend(open.insert(of.connection, *of));
            } else {
                match open.remove(&of.connection) {
                    Some(request) => found.pairs.push(Pair {
                        request,
                        answer: *of,
                    }),
                    None => found.alone.push(*of),
                }
            }
            continue;
        }
        let (asks, answers) = (
            !only_answer.contains(&(of.from, of.to)),
            !only_answer.contains(&(of.to, of.from)),
        );
        let asked = waiting.entry((of.to, of.from)).or_default();
        while asked
            .front()
            .is_some_and(|request| of.begins_ns.saturating_sub(request.ends_ns) > forgotten_ns)
        {
            found.alone.extend(asked.pop_front());
        }
        match likely(asked, of, usual_ns, asks).filter(|_| answers) {
            Some(at) => {
                let open = asked.iter().filter(|other| other.ends_ns <= of.begins_ns);
                found.doubtful += u64::from(open.count() > 1);
                found.pairs.extend(asked.remove(at).map(|request| Pair {
                    request,
                    answer: *of,
                }));
            }
            None if asks => waiting.entry((of.from, of.to)).or_default().push_back(*of),
            None => found.alone.push(*of),
        }
    }
    found.alone.extend(open.into_values());
    found.alone.extend(waiting.into_values().flatten());
    found.alone.sort_by_key(|of| (of.begins_ns, of.connection));
    found
}

/// The open request that a message answers, by its position; `None`: none. A host that asks as well may be asking instead:
/// then what waited far longer than usual is not what it answers.
fn likely(
    asked: &VecDeque<Message>,
    of: &Message,
    usual_ns: Option<u64>,
    may_ask: bool,
) -> Option<usize> {
    let open = asked.iter().take(MOST_OPEN).enumerate();
    let mut open = open.filter(|(_, request)| request.ends_ns <= of.begins_ns);
    let Some(usual) = usual_ns else {
        return open.next().map(|(at, _)| at);
    };
    let far = |request: &Message| {
        let waited = (of.begins_ns - request.ends_ns).max(1);
        libm::fabs(libm::log(waited as f64 / usual.max(1) as f64))
    };
    let open = open.map(|(at, request)| (at, far(request)));
    let nearest = open.min_by(|a, b| a.1.total_cmp(&b.1));
    let most = libm::log(f64::from(PATIENCE));
    nearest
        .filter(|of| !may_ask || of.1 <= most)
        .map(|(at, _)| at)
}

/// The directions, from a host to another, in which messages are answers only: what comes back follows far later than what
/// goes this way follows what came.
fn only_answer<'m>(messages: impl Iterator<Item = &'m Message>) -> FxHashSet<(u32, u32)> {
    let mut last: FxHashMap<(u32, u32), u64> = FxHashMap::default();
    let mut waits: FxHashMap<(u32, u32), Vec<f64>> = FxHashMap::default();
    for of in messages {
        if let Some(ended) = last.remove(&(of.to, of.from)) {
            let waited = of.begins_ns.saturating_sub(ended) as f64;
            waits.entry((of.to, of.from)).or_default().push(waited);
        }
        last.insert((of.from, of.to), of.ends_ns);
    }
    let medians = waits.into_iter();
    let medians: FxHashMap<(u32, u32), f64> = medians
        .filter_map(|(ends, waits)| Some((ends, quantile_of(waits, 0.5)?)))
        .collect();
    let later = medians.iter().filter(|(ends, median)| {
        let back = medians.get(&(ends.1, ends.0));
        back.is_some_and(|back| **median > FAR * back)
    });
    later.map(|(ends, _)| *ends).collect()
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

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "casts from floats saturate; times are not negative"
)]
fn whole(ns: f64) -> u64 {
    ns as u64
}
