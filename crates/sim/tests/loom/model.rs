//! Partitions whose events send each other packets, small enough for all interleavings.

use crate::parallel::rounds::{Ends, Part};
use duetime_core::{Span, Time};
use std::collections::BTreeMap;

/// Latency between the partitions.
pub const LATENCY: Span = Span::from_ps(10);
/// Events of each partition at the start: time in picoseconds, and how many further events follow each.
const FIRST: [&[(u64, u32)]; 2] = [&[(3, 2), (7, 0)], &[(1, 1), (16, 1)]];
/// Time at which a partition records a mark.
const MARK: Time = Time::from_ps(12);

/// Processed events: time in picoseconds, and further events.
pub type Log = Vec<(u64, u32)>;

/// A partition: each of its events sends a packet to the other one, where the next event occurs on arrival.
#[derive(Default)]
pub struct Partition {
    index: usize,
    /// True if this partition is side `index` of two, so that the partitions run in turn.
    is_side: bool,
    events: BTreeMap<u64, u32>,
    /// Packets for the other partition.
    sent: Vec<(u64, u32)>,
    log: Log,
    /// End of the latest window.
    end: u64,
    is_marked: bool,
}

impl Partition {
    pub fn new(index: usize, is_side: bool) -> Self {
        Self {
            index,
            is_side,
            events: FIRST[index].iter().copied().collect(),
            ..Self::default()
        }
    }

    /// Returns the processed events. The mark must have been reached.
    pub fn into_log(self) -> Log {
        let is_past = self.log.iter().any(|&(at, _)| at > MARK.as_ps());
        assert!(self.is_marked || !is_past, "a mark is missing");
        self.log
    }
}

impl Part for Partition {
    type Messages = Vec<(u64, u32)>;

    fn next_event(&self) -> Time {
        let first = self.events.first_key_value();
        first.map_or(Time::MAX, |(&at, _)| Time::from_ps(at))
    }

    fn open(&self) -> i64 {
        i64::try_from(self.events.len()).expect("few events")
    }

    fn has_wakes(&self) -> bool {
        !self.events.is_empty()
    }

    fn packet_hops(&self) -> u64 {
        self.log.len() as u64
    }

    fn next_mark(&self) -> Time {
        if self.is_marked { Time::MAX } else { MARK }
    }

    fn mark(&mut self, reached: Time) {
        if reached >= MARK && !self.is_marked {
            self.is_marked = true;
            let late = self.log.iter().find(|&&(at, _)| at >= MARK.as_ps());
            assert_eq!(late, None, "an event ran before the mark");
            let early = self.events.range(..MARK.as_ps()).next();
            assert_eq!(early, None, "an event before the mark is pending");
        }
    }

    fn run_before(&mut self, side: usize, end: Time) {
        if self.is_side && side != self.index {
            return;
        }
        self.end = self.end.max(end.as_ps());
        while let Some((&at, &further)) = self.events.range(..end.as_ps()).next() {
            self.events.remove(&at);
            self.log.push((at, further));
            if further > 0 {
                self.sent.push((at + LATENCY.as_ps(), further - 1));
            }
        }
    }

    fn exchange_messages(&mut self, to: usize, messages: &mut Self::Messages) -> Time {
        assert_ne!(to, self.index, "a partition sends to the other one");
        assert!(messages.is_empty(), "packets were not taken");
        messages.append(&mut self.sent);
        let first = messages.iter().map(|&(at, _)| at).min();
        first.map_or(Time::MAX, Time::from_ps)
    }

    fn receive_messages(&mut self, messages: &mut Self::Messages) {
        for (at, further) in messages.drain(..) {
            assert!(
                at >= self.end,
                "a packet of {at} ps arrived after {} ps",
                self.end
            );
            let replaced = self.events.insert(at, further);
            assert_eq!(replaced, None, "times are different");
        }
    }
}

/// Checks for the end of the run every 20 ps, so that windows end at the lookahead, a mark or a check.
#[derive(Clone, Copy)]
pub struct Strides {
    is_cancelled: bool,
}

impl Strides {
    /// Runs until no event is left.
    pub fn to_the_end() -> Self {
        Self {
            is_cancelled: false,
        }
    }

    /// Cancels the run at the first check.
    pub fn cancelled_at_the_first() -> Self {
        Self { is_cancelled: true }
    }
}

impl Ends for Strides {
    fn next_boundary(&self, next_event: Time, reached: Time) -> Time {
        Time::from_ps(
            (next_event.max(reached).as_ps() / 20)
                .saturating_add(1)
                .saturating_mul(20),
        )
    }

    fn report(&self, _: Time, _: u64, _: i64) -> bool {
        !self.is_cancelled
    }

    fn is_over(&self, _: Time, open: i64, wakes: bool, events: bool) -> bool {
        assert!(
            events || (open == 0 && !wakes),
            "no event is left, but flows are open"
        );
        !events
    }
}

/// Returns the logs of the partitions when one thread processes all events in order of time.
pub fn alone() -> Vec<Log> {
    let mut all: BTreeMap<(u64, usize), u32> = BTreeMap::new();
    for (index, events) in FIRST.iter().enumerate() {
        all.extend(events.iter().map(|&(at, further)| ((at, index), further)));
    }
    let mut logs = vec![Log::new(), Log::new()];
    while let Some(((at, index), further)) = all.pop_first() {
        logs[index].push((at, further));
        if further > 0 {
            all.insert((at + LATENCY.as_ps(), 1 - index), further - 1);
        }
    }
    logs
}
