//! Runs one simulation on several threads as a conservative parallel simulation. All partitions process the events
//! before a common horizon: the earliest pending event plus the shortest latency between partitions. Then they exchange
//! the packets that crossed.

#![expect(clippy::disallowed_methods, reason = "this module implements threads")]

use crate::clock::Clock;
use crate::engine::{Messages, Partition};
use duetime_core::{Span, Time};
use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, AtomicUsize, Ordering};

/// State that partitions exchange before a window.
struct Window {
    status: Vec<Status>,
    /// Messages by receiver, then sender.
    messages: Vec<Vec<Mutex<Messages>>>,
}

/// State that a partition publishes before a window.
#[derive(Default)]
struct Status {
    next_event_ps: AtomicU64,
    open: AtomicI64,
    wakes: AtomicBool,
    packet_hops: AtomicU64,
}

struct Shared {
    /// Even and odd windows, because a partition may be one window ahead of another that still reads.
    windows: [Window; 2],
    barrier: Barrier,
    stop: AtomicBool,
    cancelled: AtomicBool,
}

/// Runs the partitions to the end of the run, with the same results as one partition on one thread. Returns the
/// partitions, the end of the run, and false if it was cancelled.
pub(crate) fn run(
    clock: &Clock<'_>,
    partitions: Vec<Partition>,
    lookahead: Span,
) -> (Vec<Partition>, Time, bool) {
    let count = partitions.len();
    let window = || Window {
        status: (0..count).map(|_| Status::default()).collect(),
        messages: (0..count)
            .map(|_| (0..count).map(|_| Mutex::default()).collect())
            .collect(),
    };
    let shared = Shared {
        windows: [window(), window()],
        barrier: Barrier::new(count),
        stop: AtomicBool::new(false),
        cancelled: AtomicBool::new(false),
    };
    let ended: Vec<(Partition, Time)> = std::thread::scope(|scope| {
        let shared = &shared;
        let handles: Vec<_> = partitions
            .into_iter()
            .enumerate()
            .map(|(index, partition)| {
                scope.spawn(move || worker(clock, shared, partition, index, lookahead))
            })
            .collect();
        handles
            .into_iter()
            .map(|handle| handle.join().expect("a partition of the run panicked"))
            .collect()
    });
    let end = ended[0].1;
    let partitions = ended.into_iter().map(|(partition, _)| partition).collect();
    (partitions, end, !shared.cancelled.load(Ordering::Acquire))
}

fn worker(
    clock: &Clock<'_>,
    shared: &Shared,
    mut partition: Partition,
    index: usize,
    lookahead: Span,
) -> (Partition, Time) {
    let _guard = Guard(&shared.barrier);
    let mut boundary = None;
    let mut first_sent = Time::MAX;
    let [mut window, mut following] = shared.windows.each_ref();
    loop {
        window.publish(&partition, index, first_sent);
        shared.barrier.wait();
        let next = window.earliest_event();
        for from in &window.messages[index] {
            partition.receive_messages(&mut from.lock().expect("no partition panics"));
        }
        // A mark is reached when no partition has an event before it and no packet in flight arrives before it.
        partition.mark(next.min(boundary.unwrap_or(Time::ZERO)));
        match boundary {
            Some(reached) if next >= reached => {
                if index == 0 {
                    shared.decide(window, clock, reached, next);
                }
                shared.barrier.wait();
                if shared.stop.load(Ordering::Acquire) {
                    return (partition, reached);
                }
                boundary = Some(clock.next_boundary(next, reached));
            }
            Some(_) => {}
            None => boundary = Some(clock.next_boundary(next, Time::ZERO)),
        }
        let end = (next + lookahead)
            .min(boundary.expect("set above"))
            .min(partition.next_mark());
        partition.run_before(end);
        first_sent = Time::MAX;
        for (to, messages) in following.messages.iter().enumerate() {
            if to != index {
                let mut messages = messages[index].lock().expect("no partition panics");
                first_sent = first_sent.min(partition.exchange_messages(to, &mut messages));
            }
        }
        std::mem::swap(&mut window, &mut following);
    }
}

impl Window {
    /// Publishes the state of partition `index`. `first_sent` is the arrival time of the first packet that it sent to
    /// the other partitions.
    fn publish(&self, partition: &Partition, index: usize, first_sent: Time) {
        let status = &self.status[index];
        let next = partition.next_event().min(first_sent);
        status.next_event_ps.store(next.as_ps(), Ordering::Release);
        status.open.store(partition.open(), Ordering::Release);
        status.wakes.store(partition.has_wakes(), Ordering::Release);
        status
            .packet_hops
            .store(partition.packet_hops(), Ordering::Release);
    }

    /// Returns the earliest event of all partitions, after all have published their state.
    fn earliest_event(&self) -> Time {
        let next = self
            .status
            .iter()
            .map(|status| status.next_event_ps.load(Ordering::Acquire))
            .min();
        Time::from_ps(next.unwrap_or(u64::MAX))
    }
}

impl Shared {
    fn decide(&self, window: &Window, clock: &Clock<'_>, boundary: Time, next: Time) {
        let open = window
            .status
            .iter()
            .map(|status| status.open.load(Ordering::Acquire))
            .sum();
        let wakes = window
            .status
            .iter()
            .any(|status| status.wakes.load(Ordering::Acquire));
        let hops = window
            .status
            .iter()
            .map(|status| status.packet_hops.load(Ordering::Acquire))
            .sum();
        let continues = clock.report(boundary, hops, open);
        self.cancelled.fetch_or(!continues, Ordering::AcqRel);
        self.stop.store(
            !continues || clock.is_over(boundary, open, wakes, next != Time::MAX),
            Ordering::Release,
        );
    }
}

/// A spinning barrier, because windows last a fraction of a millisecond.
struct Barrier {
    count: usize,
    /// Number of checks before the processor is yielded.
    spins: u32,
    arrived: AtomicUsize,
    round: AtomicUsize,
    /// True after a partition panicked, so that it will not arrive.
    broken: AtomicBool,
}

impl Barrier {
    /// Enough for evenly split work, short enough for a busy machine.
    const SPINS: u32 = 2_000;

    fn new(count: usize) -> Self {
        // With more partitions than processors, the others cannot arrive while this one spins.
        let processors = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let spins = if count > processors { 0 } else { Self::SPINS };
        Self {
            count,
            spins,
            arrived: AtomicUsize::new(0),
            round: AtomicUsize::new(0),
            broken: AtomicBool::new(false),
        }
    }

    fn wait(&self) {
        let round = self.round.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.count {
            self.arrived.store(0, Ordering::Release);
            self.round.store(round.wrapping_add(1), Ordering::Release);
            return;
        }
        let mut spins = 0;
        while self.round.load(Ordering::Acquire) == round {
            assert!(
                !self.broken.load(Ordering::Acquire),
                "another partition of the run panicked"
            );
            if spins < self.spins {
                spins += 1;
                std::hint::spin_loop();
            } else {
                std::thread::yield_now();
            }
        }
    }
}

/// Breaks the barrier if its partition panics, so that the others do not wait forever.
struct Guard<'a>(&'a Barrier);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.broken.store(true, Ordering::Release);
        }
    }
}
