//! Which message of a capture answers which.

use super::conversations::Message;
use crate::calls::Call;
use crate::distribution::{quantile_of, whole};
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
/// Rounds in which pairs tell how long answers usually take, and that tells the pairs.
const ROUNDS: usize = 4;

/// A request and its answer.
pub(crate) struct Pair {
    pub request: Message,
    pub answer: Message,
}

impl Pair {
    pub fn wait_ns(&self) -> u64 {
        self.answer.begins_ns.saturating_sub(self.request.ends_ns)
    }

    /// Client and server.
    pub fn ends(&self) -> (u32, u32) {
        (self.request.from, self.request.to)
    }

    /// As a call whose server computed so long.
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

/// The pairs of a capture.
pub(crate) struct Found {
    pub pairs: Vec<Pair>,
    /// Answers that may be to another request than they are paired with.
    pub doubtful: u64,
    /// Messages that are no part of a pair.
    pub alone: Vec<Message>,
}

/// Which of several open requests a message answers.
#[derive(Clone, Copy, Debug)]
enum Choice {
    Earliest,
    Latest,
    /// That which waited most nearly as long as this, ns.
    Nearest(u64),
}

/// The pairs whose waits differ least from each other. One answer that is missing shifts those of all later requests where
/// each is taken to be to the earliest one, and where answers take longer than requests are apart, the latest is wrong.
pub(crate) fn likely_pairs(messages: &[Message]) -> Found {
    let order = Order::of(messages);
    let from = |first: Choice| {
        let mut found = order.pairs(first);
        let mut usual = None;
        for _ in 0..ROUNDS {
            let now = found.usual_ns();
            if now == usual {
                break;
            }
            usual = now;
            found = order.pairs(usual.map_or(first, Choice::Nearest));
        }
        let spread = found.spread(usual.unwrap_or(0));
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
    /// How long answers usually take to begin, ns; `None` without any.
    fn usual_ns(&self) -> Option<u64> {
        let waits = self.pairs.iter().map(|of| of.wait_ns() as f64);
        quantile_of(waits.collect(), 0.5).map(|median| whole(median).max(1_000))
    }

    /// How far waits are from the usual one: the mean factor's logarithm.
    fn spread(&self, usual_ns: u64) -> f64 {
        let far = self.pairs.iter().map(|of| far(of.wait_ns(), usual_ns));
        far.sum::<f64>() / self.pairs.len().max(1) as f64
    }
}

/// The logarithm of the factor between two waits.
fn far(waited_ns: u64, usual_ns: u64) -> f64 {
    libm::fabs(libm::log(waited_ns.max(1) as f64 / usual_ns.max(1) as f64))
}

/// The messages of a capture in the order in which they began, and what is known of their connections and directions.
struct Order<'m> {
    messages: Vec<&'m Message>,
    /// Connections that both ends write to.
    both_ways: FxHashSet<u32>,
    /// As [`only_answer`] gives them.
    only_answer: FxHashSet<(u32, u32)>,
}

impl<'m> Order<'m> {
    fn of(all: &'m [Message]) -> Self {
        let by = |client: bool| {
            let of = all.iter().filter(move |of| of.by_client == client);
            of.map(|of| of.connection).collect::<FxHashSet<u32>>()
        };
        let both_ways: FxHashSet<u32> = by(true).intersection(&by(false)).copied().collect();
        let mut messages: Vec<&Message> = all.iter().collect();
        messages.sort_by_key(|of| of.begins_ns);
        let alone = messages.iter().copied();
        let alone = alone.filter(|of| !both_ways.contains(&of.connection));
        Self {
            only_answer: only_answer(alone),
            both_ways,
            messages,
        }
    }

    /// Pairs of messages: within a connection that both ends write to, a client's message and the server's next one; else two
    /// messages of opposite directions in connections of their own.
    fn pairs(&self, choice: Choice) -> Found {
        let forgotten_ns = match choice {
            Choice::Nearest(usual) => usual.saturating_mul(FORGOTTEN),
            Choice::Earliest | Choice::Latest => u64::MAX,
        };
        let mut open: FxHashMap<u32, Message> = FxHashMap::default();
        let mut waiting: FxHashMap<(u32, u32), VecDeque<Message>> = FxHashMap::default();
        let mut found = Found {
            pairs: Vec::new(),
            doubtful: 0,
            alone: Vec::new(),
        };
        for &of in &self.messages {
            if self.both_ways.contains(&of.connection) {
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
                !self.only_answer.contains(&(of.from, of.to)),
                !self.only_answer.contains(&(of.to, of.from)),
            );
            let asked = waiting.entry((of.to, of.from)).or_default();
            while asked
                .front()
                .is_some_and(|request| of.begins_ns.saturating_sub(request.ends_ns) > forgotten_ns)
            {
                found.alone.extend(asked.pop_front());
            }
            match most_likely(asked, of, choice, asks).filter(|_| answers) {
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
}

/// The open request that a message answers, by its position; `None`: none. A host that asks as well may be asking instead:
/// then what waited far longer than usual is not what it answers.
fn most_likely(
    asked: &VecDeque<Message>,
    of: &Message,
    choice: Choice,
    may_ask: bool,
) -> Option<usize> {
    let mut open = asked
        .iter()
        .take(MOST_OPEN)
        .enumerate()
        .filter(|(_, request)| request.ends_ns <= of.begins_ns);
    let usual = match choice {
        Choice::Earliest => return open.next().map(|(at, _)| at),
        Choice::Latest => return open.next_back().map(|(at, _)| at),
        Choice::Nearest(usual) => usual,
    };
    let open = open.map(|(at, request)| (at, far(of.begins_ns - request.ends_ns, usual)));
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
