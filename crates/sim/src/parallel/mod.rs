//! Runs one simulation on several threads, one for each partition.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "this module implements threads, and measures their work if it is asked to"
)]

mod barrier;
mod rounds;

use crate::clock::Clock;
use crate::engine::{Messages, Partition};
use crate::output::Rounds;
use crate::run::Ended;
use crate::sides::{self, Sides};
use duetime_core::{Span, Time};
use rounds::{Ends, Part, Shared};
use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

/// Primitives of the rounds. `crates/sim/tests/loom/` compiles the same files with those of a model checker.
mod sync {
    pub use std::hint::spin_loop;
    pub use std::sync::Mutex;
    pub use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, AtomicUsize};
    pub use std::thread::yield_now;
}

/// Checks of the barrier before the processor is yielded: enough for evenly split work, short enough for a busy machine.
const SPINS: u32 = 2_000;

/// Runs the partitions to the end of the run, with the same results as one partition on one thread.
pub(crate) fn run(
    clock: &Clock<'_>,
    partitions: Vec<Partition>,
    lookahead: Span,
    measures_rounds: bool,
) -> Ended {
    let count = partitions.len();
    let has_sides = partitions.iter().all(Partition::has_sides);
    let sides = Sides::new(if has_sides { 2 } else { 1 }, lookahead);
    // With more partitions than processors, the others cannot arrive while this one spins.
    let processors = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let shared = Shared::new(count, if count > processors { 0 } else { SPINS });
    let ended: Vec<(Measured, Time)> = std::thread::scope(|scope| {
        let shared = &shared;
        let handles: Vec<_> = partitions
            .into_iter()
            .enumerate()
            .map(|(index, partition)| {
                let partition = Measured {
                    partition,
                    has_sides,
                    hops: measures_rounds.then(Vec::new),
                    crossings: 0,
                    work: Duration::ZERO,
                };
                let sides = sides.clone();
                scope.spawn(move || rounds::run(clock, shared, partition, index, sides))
            })
            .collect();
        handles
            .into_iter()
            .map(|handle| handle.join().expect("a partition of the run panicked"))
            .collect()
    });
    let end = ended[0].1;
    let ended: Vec<Measured> = ended.into_iter().map(|(partition, _)| partition).collect();
    Ended {
        rounds: measures_rounds.then(|| rounds_of(&ended)),
        partitions: ended.into_iter().map(|part| part.partition).collect(),
        end,
        complete: !shared.is_cancelled(),
    }
}

/// A partition whose share of each round may be measured.
struct Measured {
    partition: Partition,
    has_sides: bool,
    /// Packet-hops of each round, if they are measured.
    hops: Option<Vec<u32>>,
    /// Packets sent to other partitions.
    crossings: u64,
    /// Time spent on events and messages, if rounds are measured.
    work: Duration,
}

impl Measured {
    /// Performs an action, whose time counts as work.
    fn work<R>(&mut self, action: impl FnOnce(&mut Partition) -> R) -> R {
        let started = self.hops.is_some().then(Instant::now);
        let result = action(&mut self.partition);
        self.work += started.map_or(Duration::ZERO, |started| started.elapsed());
        result
    }
}

fn rounds_of(parts: &[Measured]) -> Rounds {
    let hops = parts.iter().filter_map(|part| part.hops.as_deref());
    let hops: Vec<&[u32]> = hops.collect();
    // All partitions take part in each round.
    let count = hops.first().map_or(0, |hops| hops.len());
    let longest = |round: usize| hops.iter().map(|hops| u64::from(hops[round])).max();
    Rounds {
        count: count as u64,
        longest_hops: (0..count).filter_map(longest).sum(),
        crossings: parts.iter().map(|part| part.crossings).sum(),
        work: parts.iter().map(|part| part.work).sum(),
    }
}

impl Part for Measured {
    type Messages = Messages;

    fn next_event(&self) -> Time {
        self.partition.next_event()
    }

    fn open(&self) -> i64 {
        self.partition.open()
    }

    fn has_wakes(&self) -> bool {
        self.partition.has_wakes()
    }

    fn packet_hops(&self) -> u64 {
        self.partition.packet_hops()
    }

    fn next_mark(&self) -> Time {
        self.partition.next_mark()
    }

    fn mark(&mut self, reached: Time) {
        self.partition.mark(reached);
    }

    fn run_before(&mut self, side: usize, end: Time) {
        let before = self.partition.packet_hops();
        let has_sides = self.has_sides;
        self.work(|partition| {
            if has_sides {
                partition.run_side_before(side, end);
            } else {
                partition.run_before(end);
            }
        });
        if let Some(hops) = &mut self.hops {
            hops.push((self.partition.packet_hops() - before) as u32);
        }
    }

    fn exchange_messages(&mut self, to: usize, messages: &mut Messages) -> Time {
        let first = self.work(|partition| partition.exchange_messages(to, messages));
        self.crossings += messages.len() as u64;
        first
    }

    fn receive_messages(&mut self, messages: &mut Messages) {
        self.work(|partition| partition.receive_messages(messages));
    }
}

impl Ends for Clock<'_> {
    fn next_boundary(&self, next_event: Time, reached: Time) -> Time {
        self.next_boundary(next_event, reached)
    }

    fn report(&self, boundary: Time, packet_hops: u64, open: i64) -> bool {
        self.report(boundary, packet_hops, open)
    }

    fn is_over(&self, boundary: Time, open: i64, wakes: bool, events: bool) -> bool {
        self.is_over(boundary, open, wakes, events)
    }
}
