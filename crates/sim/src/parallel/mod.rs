//! Runs one simulation on several threads, one for each partition.

#![expect(clippy::disallowed_methods, reason = "this module implements threads")]

mod barrier;
mod rounds;

use crate::clock::Clock;
use crate::engine::{Messages, Partition};
use duetime_core::{Span, Time};
use rounds::{Ends, Part, Shared};
use std::num::NonZeroUsize;

/// Primitives of the rounds. `crates/sim/tests/loom/` compiles the same files with those of a model checker.
mod sync {
    pub use std::hint::spin_loop;
    pub use std::sync::Mutex;
    pub use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, AtomicUsize};
    pub use std::thread::yield_now;
}

/// Checks of the barrier before the processor is yielded: enough for evenly split work, short enough for a busy machine.
const SPINS: u32 = 2_000;

/// Runs the partitions to the end of the run, with the same results as one partition on one thread. Returns the
/// partitions, the end of the run, and false if it was cancelled.
pub(crate) fn run(
    clock: &Clock<'_>,
    partitions: Vec<Partition>,
    lookahead: Span,
) -> (Vec<Partition>, Time, bool) {
    let count = partitions.len();
    // With more partitions than processors, the others cannot arrive while this one spins.
    let processors = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let shared = Shared::new(count, if count > processors { 0 } else { SPINS });
    let ended: Vec<(Partition, Time)> = std::thread::scope(|scope| {
        let shared = &shared;
        let handles: Vec<_> = partitions
            .into_iter()
            .enumerate()
            .map(|(index, partition)| {
                scope.spawn(move || rounds::run(clock, shared, partition, index, lookahead))
            })
            .collect();
        handles
            .into_iter()
            .map(|handle| handle.join().expect("a partition of the run panicked"))
            .collect()
    });
    let end = ended[0].1;
    let partitions = ended.into_iter().map(|(partition, _)| partition).collect();
    (partitions, end, !shared.is_cancelled())
}

impl Part for Partition {
    type Messages = Messages;

    fn next_event(&self) -> Time {
        self.next_event()
    }

    fn open(&self) -> i64 {
        self.open()
    }

    fn has_wakes(&self) -> bool {
        self.has_wakes()
    }

    fn packet_hops(&self) -> u64 {
        self.packet_hops()
    }

    fn next_mark(&self) -> Time {
        self.next_mark()
    }

    fn mark(&mut self, reached: Time) {
        self.mark(reached);
    }

    fn run_before(&mut self, end: Time) {
        self.run_before(end);
    }

    fn exchange_messages(&mut self, to: usize, messages: &mut Messages) -> Time {
        self.exchange_messages(to, messages)
    }

    fn receive_messages(&mut self, messages: &mut Messages) {
        self.receive_messages(messages);
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
