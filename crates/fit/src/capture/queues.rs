//! Estimation of network delays and queues from a capture.

use super::censored::{Bounds, likely};
use super::conversations::{Conversations, Message};
use super::pairs::Pair;
use crate::distribution::{quantile_of, whole};
use rustc_hash::{FxHashMap, FxHashSet};

/// Computation times are known if their bounds differ by at most this share of the network's time.
const EXACT: f64 = 0.1;

/// Network delays and queues, estimated from a capture.
pub(crate) struct Network<'s> {
    conversations: &'s Conversations,
    /// Round trip from the capture to the server and back in nanoseconds, by client and server.
    between: FxHashMap<(u32, u32), u64>,
    /// Median of the round trips over all servers.
    pub median_round_trip_ns: u64,
    /// Packets that passed the queue of the link to each client.
    queues: FxHashMap<u32, Vec<Passed>>,
}

/// Packet that passed a queue.
#[derive(Clone, Copy)]
struct Passed {
    left_ns: u64,
    /// Latest possible arrival at the queue.
    came_ns: u64,
}

impl<'s> Network<'s> {
    /// Estimates delays from connections that opened without queueing or, if there are none, from the quickest answers.
    pub fn of(conversations: &'s Conversations, pairs: &[Pair]) -> Self {
        let called: FxHashSet<(u32, u32)> = pairs.iter().map(Pair::ends).collect();
        let mut took: FxHashMap<(u32, u32), Vec<f64>> = FxHashMap::default();
        let echoes = || {
            let echoes = conversations.echoes.iter();
            echoes.filter(|echo| called.contains(&(echo.from, echo.to)))
        };
        for echo in echoes().filter(|echo| echo.busy.is_none()) {
            let ns = echo.seen_ns.saturating_sub(echo.sent_ns) as f64;
            took.entry((echo.from, echo.to)).or_default().push(ns);
        }
        let all = quantile_of(took.values().flatten().copied().collect(), 0.5);
        let waits = || pairs.iter().map(|pair| pair.wait_ns() as f64).collect();
        let usual = all.or_else(|| quantile_of(waits(), 0.01));
        let between = took.into_iter();
        let between =
            between.filter_map(|(ends, times)| Some((ends, whole(quantile_of(times, 0.5)?))));
        let mut network = Self {
            conversations,
            between: between.collect(),
            median_round_trip_ns: usual.map_or(0, whole),
            queues: FxHashMap::default(),
        };
        for echo in echoes() {
            let came_ns = echo
                .sent_ns
                .saturating_add(network.between((echo.from, echo.to)));
            let from_ns = network.busy(echo.busy, echo.seen_ns).0;
            // A packet that arrived before the busy period was lost and retransmitted.
            if (from_ns..=echo.seen_ns).contains(&came_ns) {
                let passed = Passed {
                    left_ns: echo.seen_ns,
                    came_ns,
                };
                network.queues.entry(echo.from).or_default().push(passed);
            }
        }
        for queue in network.queues.values_mut() {
            queue.sort_unstable_by_key(|passed| passed.left_ns);
            // The queue is FIFO, so later departures arrived later.
            let mut latest = 0;
            for passed in queue {
                latest = passed.came_ns.max(latest).min(passed.left_ns);
                passed.came_ns = latest;
            }
        }
        network
    }

    fn between(&self, ends: (u32, u32)) -> u64 {
        self.between
            .get(&ends)
            .copied()
            .unwrap_or(self.median_round_trip_ns)
    }

    /// Returns the start and end of a busy period in nanoseconds, or `then` twice without a busy period.
    fn busy(&self, period: Option<u32>, then: u64) -> (u64, u64) {
        let busy = period.and_then(|at| self.conversations.busy.get(at as usize));
        busy.map_or((then, then), |busy| (busy.from_ns, busy.to_ns.max(then)))
    }

    /// Returns bounds on the arrival of an answer at the queue of the link to its client, in nanoseconds: between the
    /// packets that left the queue before and after it, and within the busy period.
    fn came(&self, answer: &Message) -> (u64, u64) {
        let (mut low, mut high) = self.busy(answer.busy, answer.begins_ns);
        if let Some(queue) = self
            .queues
            .get(&answer.to)
            .filter(|_| answer.busy.is_some())
        {
            let after = queue.partition_point(|passed| passed.left_ns <= answer.begins_ns);
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

/// Estimates the computation time of each pair in nanoseconds: the wait minus the network's time and the time that the
/// answer waited behind other packets to its client.
pub(crate) fn computed(pairs: &[Pair], network: &Network) -> Vec<f64> {
    let bounds = pairs.iter().map(|pair| {
        let request_arrival = pair.request.ends_ns;
        let request_arrival = request_arrival.saturating_add(network.between(pair.ends()));
        let (low, high) = network.came(&pair.answer);
        Bounds {
            low: low.saturating_sub(request_arrival) as f64,
            high: high.saturating_sub(request_arrival) as f64,
        }
    });
    likely(
        &bounds.collect::<Vec<_>>(),
        EXACT * network.median_round_trip_ns as f64,
    )
}
