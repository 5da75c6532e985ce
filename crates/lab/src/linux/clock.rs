//! Clock of a run: the kernel's monotonic clock since the run's start.

use duetime_core::Time;
use nix::sys::time::{TimeSpec, TimeValLike};
use nix::time::{ClockId, clock_gettime};

/// Converts between the monotonic clock and the run's time.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start_ns: i64,
}

impl Clock {
    /// Creates the clock of a run that starts in `after_ns` nanoseconds.
    pub fn starting_in(after_ns: i64) -> Self {
        Self {
            start_ns: monotonic_ns() + after_ns,
        }
    }

    /// Returns the current time; zero before the start.
    pub fn now(self) -> Time {
        let ns = u64::try_from(monotonic_ns() - self.start_ns).unwrap_or(0);
        Time::from_ps(ns.saturating_mul(1_000))
    }

    /// Returns a time of the run on the monotonic clock, rounded up.
    pub fn monotonic(self, at: Time) -> TimeSpec {
        let ns = i64::try_from(at.as_ps().div_ceil(1_000)).unwrap_or(i64::MAX / 2);
        TimeSpec::nanoseconds(self.start_ns.saturating_add(ns))
    }

    /// Returns the start on the monotonic clock, in nanoseconds.
    pub fn start_ns(self) -> i64 {
        self.start_ns
    }
}

/// Returns the monotonic clock, in nanoseconds.
pub fn monotonic_ns() -> i64 {
    clock_gettime(ClockId::CLOCK_MONOTONIC)
        .expect("a monotonic clock")
        .num_nanoseconds()
}
