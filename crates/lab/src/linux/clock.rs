//! The clock of a run: the kernel's monotonic clock, from the run's start on.

use duetime_core::Time;
use nix::sys::time::{TimeSpec, TimeValLike};
use nix::time::{ClockId, clock_gettime};

/// Maps the monotonic clock to the run's time.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start_ns: i64,
}

impl Clock {
    /// A run that starts `after_ns` nanoseconds from now.
    pub fn starting_in(after_ns: i64) -> Self {
        Self {
            start_ns: monotonic_ns() + after_ns,
        }
    }

    /// Now; zero before the start.
    pub fn now(self) -> Time {
        let ns = u64::try_from(monotonic_ns() - self.start_ns).unwrap_or(0);
        Time::from_ps(ns.saturating_mul(1_000))
    }

    /// An instant of the run on the monotonic clock, rounded up.
    pub fn monotonic(self, at: Time) -> TimeSpec {
        let ns = i64::try_from(at.as_ps().div_ceil(1_000)).unwrap_or(i64::MAX / 2);
        TimeSpec::nanoseconds(self.start_ns.saturating_add(ns))
    }

    /// The start on the monotonic clock, in nanoseconds.
    pub fn start_ns(self) -> i64 {
        self.start_ns
    }
}

/// The monotonic clock, in nanoseconds.
pub fn monotonic_ns() -> i64 {
    clock_gettime(ClockId::CLOCK_MONOTONIC)
        .expect("Linux has this clock")
        .num_nanoseconds()
}
