//! A conservative parallel simulation. All partitions process the events before a common horizon: the earliest pending
//! event plus the shortest latency between partitions. Then they exchange the packets that crossed.
//! If the network has two sides, these run in turn (see `sides`).

use super::barrier::{Barrier, Guard};
use super::sides::Sides;
use super::sync::{AtomicBool, AtomicI64, AtomicU64, Mutex};
use duetime_core::Time;
use std::sync::atomic::Ordering;

/// A partition of the network.
pub trait Part {
    /// Packets for another partition.
    type Messages: Default;

    /// Returns the time of the next event. A partition that just had many events may return an earlier time; the run
    /// then continues with another window.
    fn next_event(&self) -> Time;
    /// Returns the number of measured flows that started in this partition, minus those that ended in it.
    fn open(&self) -> i64;
    /// Returns true if sources will start flows.
    fn has_wakes(&self) -> bool;
    /// Returns the number of packet-hops so far.
    fn packet_hops(&self) -> u64;
    /// Returns the time of the next mark, before which a window ends.
    fn next_mark(&self) -> Time;
    /// Handles a mark at or before `reached`.
    fn mark(&mut self, reached: Time);
    /// Processes the events of side `side` before `end`; those of the partition if it has one side.
    fn run_before(&mut self, side: usize, end: Time);
    /// Moves the packets for partition `to` to `messages`. Returns the arrival time of the first, or [`Time::MAX`].
    fn exchange_messages(&mut self, to: usize, messages: &mut Self::Messages) -> Time;
    /// Takes the packets of another partition.
    fn receive_messages(&mut self, messages: &mut Self::Messages);
}

/// Decides when the run is over.
pub trait Ends {
    /// Returns the next time at which the end is checked.
    fn next_boundary(&self, next_event: Time, reached: Time) -> Time;
    /// Reports progress. Returns false if the run must stop.
    fn report(&self, boundary: Time, packet_hops: u64, open: i64) -> bool;
    /// Returns true if the run ends at `boundary`.
    fn is_over(&self, boundary: Time, open: i64, wakes: bool, events: bool) -> bool;
}

/// State that partitions exchange before a window.
struct Window<M> {
    status: Vec<Status>,
    /// Messages by receiver, then sender.
    messages: Vec<Vec<Mutex<M>>>,
}

/// State that a partition publishes before a window.
#[derive(Default)]
struct Status {
    next_event_ps: AtomicU64,
    open: AtomicI64,
    wakes: AtomicBool,
    packet_hops: AtomicU64,
}

/// State of all partitions.
pub struct Shared<M> {
    /// Even and odd windows, because a partition may be one window ahead of another that still reads.
    windows: [Window<M>; 2],
    barrier: Barrier,
    stop: AtomicBool,
    cancelled: AtomicBool,
}

/// Runs partition `index` to the end of the run. `sides` must be equal for all partitions. Returns the partition and the
/// end.
pub fn run<P: Part>(
    ends: &impl Ends,
    shared: &Shared<P::Messages>,
    mut partition: P,
    index: usize,
    mut sides: Sides,
) -> (P, Time) {
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
                    shared.decide(window, ends, reached, next);
                }
                shared.barrier.wait();
                if shared.stop.load(Ordering::Acquire) {
                    return (partition, reached);
                }
                boundary = Some(ends.next_boundary(next, reached));
            }
            Some(_) => {}
            None => boundary = Some(ends.next_boundary(next, Time::ZERO)),
        }
        let limit = (boundary.expect("set above")).min(partition.next_mark());
        let (side, end) = sides.open_window(next, limit);
        partition.run_before(side, end);
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

impl<M: Default> Shared<M> {
    /// Creates the state of `count` partitions. `spins` is the number of checks of the barrier before a thread yields.
    pub fn new(count: usize, spins: u32) -> Self {
        let window = || Window {
            status: (0..count).map(|_| Status::default()).collect(),
            messages: (0..count)
                .map(|_| (0..count).map(|_| Mutex::new(M::default())).collect())
                .collect(),
        };
        Self {
            windows: [window(), window()],
            barrier: Barrier::new(count, spins),
            stop: AtomicBool::new(false),
            cancelled: AtomicBool::new(false),
        }
    }
}

impl<M> Shared<M> {
    /// Returns true if the run was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Acquire)
    }

    fn decide(&self, window: &Window<M>, ends: &impl Ends, boundary: Time, next: Time) {
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
        let continues = ends.report(boundary, hops, open);
        self.cancelled.fetch_or(!continues, Ordering::AcqRel);
        self.stop.store(
            !continues || ends.is_over(boundary, open, wakes, next != Time::MAX),
            Ordering::Release,
        );
    }
}

impl<M> Window<M> {
    /// Publishes the state of partition `index`. `first_sent` is the arrival time of the first packet that it sent to
    /// the other partitions.
    fn publish<P: Part<Messages = M>>(&self, partition: &P, index: usize, first_sent: Time) {
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
