//! Pairing of requests and answers in a capture.

use super::conversations::Message;
use crate::calls::Call;
use crate::distribution::{quantile_of, whole};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::VecDeque;

/// If two hosts call each other, a message after this many times the median wait is not an answer.
const MAX_WAIT_RATIO: u32 = 50;
/// A request is abandoned after this many times the median wait.
const ABANDONED: u64 = 1_000;
/// Maximum number of open requests to consider for an answer.
const MAX_OPEN: usize = 64;
/// Minimum ratio of the median waits in both directions for which the longer ones are not waits for answers.
const MIN_DIRECTION_RATIO: f64 = 2.0;
/// Maximum rounds that alternate between the median wait and the pairs.
const ROUNDS: usize = 4;

/// Request and its answer.
pub(crate) struct Pair {
    pub request: Message,
    pub answer: Message,
}

impl Pair {
    pub fn wait_ns(&self) -> u64 {
        self.answer.begins_ns.saturating_sub(self.request.ends_ns)
    }

    /// Returns the client and the server.
    pub fn ends(&self) -> (u32, u32) {
        (self.request.from, self.request.to)
    }

    /// Converts the pair to a call with this computation time.
    pub fn call(&self, compute_ns: u64) -> Call {
        Call {
            client: self.request.from,
            server: self.request.to,
            start_ns: self.request.begins_ns,
            end_ns: Some(self.answer.ends_ns),
            bytes: Some(self.answer.bytes),
            request_bytes: Some(self.request.bytes),
            compute_ns: Some(compute_ns),
            ..Call::default()
        }
    }
}

/// Pairs of a capture.
pub(crate) struct Found {
    pub pairs: Vec<Pair>,
    /// Number of answers that may belong to another request.
    pub doubtful: u64,
    /// Messages without a pair.
    pub alone: Vec<Message>,
}

/// Rule that selects one of several open requests for an answer.
#[derive(Clone, Copy, Debug)]
enum Choice {
    Earliest,
    Latest,
    /// The request whose wait is closest to this time in nanoseconds.
    Nearest(u64),
}

/// Returns the pairs whose waits vary the least. Pairing with the earliest request fails after a missing answer, which
/// shifts all later pairs; pairing with the latest request fails if answers take longer than the gaps between requests.
pub(crate) fn likely_pairs(messages: &[Message]) -> Found {
    let order = Order::of(messages);
    let from = |first: Choice| {
        let mut found = order.pairs(first);
        let mut median = None;
        for _ in 0..ROUNDS {
            let new_median = found.median_wait_ns();
            if new_median == median {
                break;
            }
            median = new_median;
            found = order.pairs(median.map_or(first, Choice::Nearest));
        }
        let spread = found.spread(median.unwrap_or(0));
        (found, spread)
    };
    let (earliest, latest) = (from(Choice::Earliest), from(Choice::Latest));
    if latest.1 < earliest.1 {
        latest.0
    } else {
        earliest.0
    }
}

impl Found {
    /// Returns the median wait in nanoseconds, or `None` without pairs.
    fn median_wait_ns(&self) -> Option<u64> {
        let waits = self.pairs.iter().map(|pair| pair.wait_ns() as f64);
        quantile_of(waits.collect(), 0.5).map(|median| whole(median).max(1_000))
    }

    /// Returns the mean logarithmic distance of the waits from the median.
    fn spread(&self, median_wait_ns: u64) -> f64 {
        let distances = self
            .pairs
            .iter()
            .map(|pair| log_distance(pair.wait_ns(), median_wait_ns));
        distances.sum::<f64>() / self.pairs.len().max(1) as f64
    }
}

/// Returns the absolute logarithm of the ratio of two waits.
fn log_distance(waited_ns: u64, median_wait_ns: u64) -> f64 {
    libm::fabs(libm::log(
        waited_ns.max(1) as f64 / median_wait_ns.max(1) as f64,
    ))
}

/// Messages of a capture sorted by start, with properties of their connections and directions.
struct Order<'m> {
    messages: Vec<&'m Message>,
    /// Connections in which both ends send data.
    both_ways: FxHashSet<u32>,
    /// See [`only_answer`].
    only_answer: FxHashSet<(u32, u32)>,
}

impl<'m> Order<'m> {
    fn of(all: &'m [Message]) -> Self {
        let by = |client: bool| {
            let selected = all
                .iter()
                .filter(move |message| message.by_client == client);
            selected
                .map(|message| message.connection)
                .collect::<FxHashSet<u32>>()
        };
        let both_ways: FxHashSet<u32> = by(true).intersection(&by(false)).copied().collect();
        let mut messages: Vec<&Message> = all.iter().collect();
        messages.sort_by_key(|message| message.begins_ns);
        let alone = messages.iter().copied();
        let alone = alone.filter(|message| !both_ways.contains(&message.connection));
        Self {
            only_answer: only_answer(alone),
            both_ways,
            messages,
        }
    }

    /// Pairs messages: in a connection in which both ends send data, a client's message with the server's next one;
    /// otherwise, two messages in opposite directions.
    fn pairs(&self, choice: Choice) -> Found {
        let abandoned_ns = match choice {
            Choice::Nearest(median) => median.saturating_mul(ABANDONED),
            Choice::Earliest | Choice::Latest => u64::MAX,
        };
        let mut open: FxHashMap<u32, Message> = FxHashMap::default();
        let mut waiting: FxHashMap<(u32, u32), VecDeque<Message>> = FxHashMap::default();
        let mut found = Found {
            pairs: Vec::new(),
            doubtful: 0,
            alone: Vec::new(),
        };
        for &message in &self.messages {
            if self.both_ways.contains(&message.connection) {
                if message.by_client {
                    found
                        .alone
                        .extend(open.insert(message.connection, *message));
                } else {
                    match open.remove(&message.connection) {
                        Some(request) => found.pairs.push(Pair {
                            request,
                            answer: *message,
                        }),
                        None => found.alone.push(*message),
                    }
                }
                continue;
            }
            let (may_ask, may_answer) = (
                !self.only_answer.contains(&(message.from, message.to)),
                !self.only_answer.contains(&(message.to, message.from)),
            );
            let open_requests = waiting.entry((message.to, message.from)).or_default();
            while open_requests.front().is_some_and(|request| {
                message.begins_ns.saturating_sub(request.ends_ns) > abandoned_ns
            }) {
                found.alone.extend(open_requests.pop_front());
            }
            match most_likely(open_requests, message, choice, may_ask).filter(|_| may_answer) {
                Some(at) => {
                    let open = open_requests
                        .iter()
                        .filter(|other| other.ends_ns <= message.begins_ns);
                    found.doubtful += u64::from(open.count() > 1);
                    found
                        .pairs
                        .extend(open_requests.remove(at).map(|request| Pair {
                            request,
                            answer: *message,
                        }));
                }
                None if may_ask => waiting
                    .entry((message.from, message.to))
                    .or_default()
                    .push_back(*message),
                None => found.alone.push(*message),
            }
        }
        found.alone.extend(open.into_values());
        found.alone.extend(waiting.into_values().flatten());
        found
            .alone
            .sort_by_key(|message| (message.begins_ns, message.connection));
        found
    }
}

/// Returns the index of the open request that a message answers, or `None` if it answers none. If the sender may also
/// send requests, a wait far beyond the median means that the message is a request.
fn most_likely(
    open_requests: &VecDeque<Message>,
    message: &Message,
    choice: Choice,
    may_ask: bool,
) -> Option<usize> {
    let mut open = open_requests
        .iter()
        .take(MAX_OPEN)
        .enumerate()
        .filter(|(_, request)| request.ends_ns <= message.begins_ns);
    let median = match choice {
        Choice::Earliest => return open.next().map(|(at, _)| at),
        Choice::Latest => return open.next_back().map(|(at, _)| at),
        Choice::Nearest(median) => median,
    };
    let open = open.map(|(at, request)| {
        (
            at,
            log_distance(message.begins_ns - request.ends_ns, median),
        )
    });
    let nearest = open.min_by(|a, b| a.1.total_cmp(&b.1));
    let limit = libm::log(f64::from(MAX_WAIT_RATIO));
    nearest
        .filter(|(_, distance)| !may_ask || *distance <= limit)
        .map(|(at, _)| at)
}

/// Returns the directions between hosts whose messages are only answers: these messages follow much sooner after
/// messages in the opposite direction than the reverse.
fn only_answer<'m>(messages: impl Iterator<Item = &'m Message>) -> FxHashSet<(u32, u32)> {
    let mut last: FxHashMap<(u32, u32), u64> = FxHashMap::default();
    let mut waits: FxHashMap<(u32, u32), Vec<f64>> = FxHashMap::default();
    for message in messages {
        if let Some(ended) = last.remove(&(message.to, message.from)) {
            let waited = message.begins_ns.saturating_sub(ended) as f64;
            waits
                .entry((message.to, message.from))
                .or_default()
                .push(waited);
        }
        last.insert((message.from, message.to), message.ends_ns);
    }
    let medians = waits.into_iter();
    let medians: FxHashMap<(u32, u32), f64> = medians
        .filter_map(|(ends, waits)| Some((ends, quantile_of(waits, 0.5)?)))
        .collect();
    let later = medians.iter().filter(|(ends, median)| {
        let back = medians.get(&(ends.1, ends.0));
        back.is_some_and(|back| **median > MIN_DIRECTION_RATIO * back)
    });
    later.map(|(ends, _)| *ends).collect()
}
