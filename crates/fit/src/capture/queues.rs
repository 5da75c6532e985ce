//! What a capture tells of the network beside it: how long packets are on their way, and which queues they passed.

use super::censored::{Bounds, likely};
use super::conversations::{Conversations, Message};
use super::pairs::Pair;
use crate::distribution::{quantile_of, whole};
use rustc_hash::{FxHashMap, FxHashSet};

/// Computation is known where its bounds are no farther apart than this share of the network's part.
const EXACT: f64 = 0.1;

/// What a capture tells of the network beside it.
pub(crate) struct Network<'s> {
    seen: &'s Conversations,
    /// How long a packet takes from the capture to a server and back, ns, by client and server.
    between: FxHashMap<(u32, u32), u64>,
    /// Of most servers.
    pub usual: u64,
    /// The queues before the links to clients.
    queues: FxHashMap<u32, Vec<Passed>>,
}

/// A packet that passed a queue.
#[derive(Clone, Copy)]
struct Passed {
    left_ns: u64,
    /// When it had come, at the latest.
    came_ns: u64,
}

impl<'s> Network<'s> {
    /// As long as connections take to open while nothing queues; where none was seen to, as long as the quickest servers take
    /// to answer.
    pub fn of(seen: &'s Conversations, pairs: &[Pair]) -> Self {
        let asked: FxHashSet<(u32, u32)> = pairs.iter().map(Pair::ends).collect();
        let mut took: FxHashMap<(u32, u32), Vec<f64>> = FxHashMap::default();
        let echoes = || {
            let echoes = seen.echoes.iter();
            echoes.filter(|of| asked.contains(&(of.from, of.to)))
        };
        for of in echoes().filter(|of| of.busy.is_none()) {
            let ns = of.seen_ns.saturating_sub(of.sent_ns) as f64;
            took.entry((of.from, of.to)).or_default().push(ns);
        }
        let all = quantile_of(took.values().flatten().copied().collect(), 0.5);
        let waits = || pairs.iter().map(|of| of.wait_ns() as f64).collect();
        let usual = all.or_else(|| quantile_of(waits(), 0.01));
        let between = took.into_iter();
        let between = between.filter_map(|(ends, of)| Some((ends, whole(quantile_of(of, 0.5)?))));
        let mut network = Self {
            seen,
            between: between.collect(),
            usual: usual.map_or(0, whole),
            queues: FxHashMap::default(),
        };
        for of in echoes() {
            let came_ns = of.sent_ns.saturating_add(network.between((of.from, of.to)));
            let from_ns = network.busy(of.busy, of.seen_ns).0;
            // What came before the link was busy was lost, and sent again later.
            if (from_ns..=of.seen_ns).contains(&came_ns) {
                let passed = Passed {
                    left_ns: of.seen_ns,
                    came_ns,
                };
                network.queues.entry(of.from).or_default().push(passed);
            }
        }
        for of in network.queues.values_mut() {
            of.sort_unstable_by_key(|of| of.left_ns);
            // What left later did not come earlier.
            let mut latest = 0;
            for of in of {
                latest = of.came_ns.max(latest).min(of.left_ns);
                of.came_ns = latest;
            }
        }
        network
    }

    fn between(&self, ends: (u32, u32)) -> u64 {
        self.between.get(&ends).copied().unwrap_or(self.usual)
    }

    /// From when to when the link was busy, ns; only then without a busy period.
    fn busy(&self, period: Option<u32>, then: u64) -> (u64, u64) {
        let of = period.and_then(|at| self.seen.busy.get(at as usize));
        of.map_or((then, then), |of| (of.from_ns, of.to_ns.max(then)))
    }

    /// When the answer came to the queue before the link to its client, ns: between what left that queue before it and what
    /// did so after it, and while the link was busy.
    fn came(&self, answer: &Message) -> (u64, u64) {
        let (mut low, mut high) = self.busy(answer.busy, answer.begins_ns);
        if let Some(queue) = self
            .queues
            .get(&answer.to)
            .filter(|_| answer.busy.is_some())
        {
            let after = queue.partition_point(|of| of.left_ns <= answer.begins_ns);
            if let Some(before) = after.checked_sub(1).and_then(|at| queue.get(at)) {
                low = low.max(before.came_ns);
            }
            if let Some(after) = queue.get(after) {
                high = high.min(after.came_ns).max(low);
            }
        }
        (low, high)
    }
}

/// How long the servers computed, ns, one for each pair: the waits less what the network takes, and perhaps less what the
/// answers waited behind other packets to their clients.
pub(crate) fn computed(pairs: &[Pair], network: &Network) -> Vec<f64> {
    let bounds = pairs.iter().map(|of| {
        let asked = of.request.ends_ns;
        let asked = asked.saturating_add(network.between(of.ends()));
        let (low, high) = network.came(&of.answer);
        Bounds {
            low: low.saturating_sub(asked) as f64,
            high: high.saturating_sub(asked) as f64,
        }
    });
    likely(&bounds.collect::<Vec<_>>(), EXACT * network.usual as f64)
}
