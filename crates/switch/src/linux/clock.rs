//! Virtual time: picoseconds of `CLOCK_MONOTONIC` since the switch was opened.

use duetime_core::{Span, Time};
use rustix::time::{ClockId, Timespec, clock_gettime};

/// Clock of a switch. It converts the kernel's receive timestamps from `CLOCK_REALTIME`, which may be set at any time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    opened_ns: u64,
    /// Offset of `CLOCK_REALTIME` from `CLOCK_MONOTONIC`, modulo 2⁶⁴.
    ahead_ns: u64,
}

/// Maximum time between the readings of the two clocks, in nanoseconds, and number of attempts.
const MAX_GAP_NS: u64 = 500;
const TRIES: usize = 5;

impl Clock {
    /// Creates a clock that starts at zero now.
    pub fn new() -> Self {
        let mut clock = Self {
            opened_ns: monotonic_ns(),
            ahead_ns: 0,
        };
        clock.compare();
        clock
    }

    /// Returns the start of the clock, in nanoseconds of `CLOCK_MONOTONIC`.
    pub fn opened_ns(&self) -> u64 {
        self.opened_ns
    }

    /// Measures the offset between the two clocks again.
    pub fn compare(&mut self) {
        let mut best = u64::MAX;
        for _ in 0..TRIES {
            let before = monotonic_ns();
            let real = ns(clock_gettime(ClockId::Realtime));
            let gap = monotonic_ns() - before;
            if gap < best {
                best = gap;
                self.ahead_ns = real.wrapping_sub(before + gap / 2);
            }
            if best < MAX_GAP_NS {
                break;
            }
        }
    }

    pub fn now(&self) -> Time {
        time(monotonic_ns() - self.opened_ns)
    }

    /// Converts a kernel timestamp to virtual time. Earlier timestamps become zero.
    pub fn of_stamp(&self, stamp_ns: u64) -> Time {
        let monotonic = stamp_ns.wrapping_sub(self.ahead_ns);
        // The difference wraps for timestamps before the switch was opened.
        let since = monotonic.wrapping_sub(self.opened_ns);
        time(if since > u64::MAX / 2 { 0 } else { since })
    }
}

/// Processor time of this thread, in nanoseconds.
pub(crate) fn thread_cpu_ns() -> u64 {
    ns(clock_gettime(ClockId::ThreadCPUTime))
}

pub(crate) fn monotonic_ns() -> u64 {
    ns(clock_gettime(ClockId::Monotonic))
}

fn ns(time: Timespec) -> u64 {
    time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned()
}

fn time(ns: u64) -> Time {
    Time::ZERO + Span::from_ps(ns.saturating_mul(1_000))
}

/// Converts a duration for `poll`, rounded up.
pub(crate) fn timespec(span: Span) -> Timespec {
    let ns = span.as_ps().div_ceil(1_000);
    Timespec {
        tv_sec: (ns / 1_000_000_000).cast_signed(),
        tv_nsec: (ns % 1_000_000_000).cast_signed(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_convert_to_virtual_time() {
        let clock = Clock::new();
        let before = clock.now();
        let stamp = ns(clock_gettime(ClockId::Realtime));
        let after = clock.now();
        let slack = Span::from_us(2);
        let of_stamp = clock.of_stamp(stamp);
        assert!(before <= of_stamp + slack && of_stamp <= after + slack);
        assert_eq!(clock.of_stamp(stamp - 10_000_000_000), Time::ZERO);
    }

    #[test]
    fn waits_are_rounded_up() {
        let wait = timespec(Span::from_ps(2_000_000_000_001));
        assert_eq!((wait.tv_sec, wait.tv_nsec), (2, 1));
    }
}
