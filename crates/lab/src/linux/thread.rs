//! Scheduling of a run's threads, and their processor and waiting times.

use std::fs;

use duetime_core::Span;
use nix::unistd::{Pid, gettid};
use serde::{Deserialize, Serialize};

use crate::LabError;
use crate::linux::namespace::run;

/// Processor and waiting time of a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scheduled {
    /// Time on a processor.
    pub ran: Span,
    /// Time ready to run without a processor.
    pub waited: Span,
}

/// Processor and waiting time of a thread as shares of a run's time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Shares {
    /// Share of time on a processor, 0 to 1.
    pub ran: f64,
    /// Share of time ready to run without a processor, 0 to 1.
    pub waited: f64,
}

/// Returns the ID of the calling thread, for observation by other threads.
pub fn current() -> Pid {
    gettid()
}

/// Returns the times of a thread of this process so far; zero if the kernel does not report them.
pub fn scheduled(thread: Pid) -> Scheduled {
    let text = fs::read_to_string(format!("/proc/self/task/{thread}/schedstat"));
    let text = text.unwrap_or_default();
    let mut numbers = text.split_whitespace().map_while(|word| word.parse().ok());
    let mut next = || Span::from_ns(numbers.next().unwrap_or(0));
    Scheduled {
        ran: next(),
        waited: next(),
    }
}

impl Scheduled {
    /// Returns the times since `before` as shares of `time`.
    pub fn shares_since(self, before: Self, time: Span) -> Shares {
        let share = |now: Span, before: Span| {
            let span = now.saturating_sub(before);
            span.as_secs_f64() / time.as_secs_f64().max(f64::MIN_POSITIVE)
        };
        Shares {
            ran: share(self.ran, before.ran),
            waited: share(self.waited, before.waited),
        }
    }
}

/// Moves the calling thread to the real-time scheduler.
pub fn real_time() -> Result<(), LabError> {
    let thread = gettid().to_string();
    run("chrt", &["--fifo", "--pid", "1", &thread], "").map(drop)
}

/// Cumulative busy time of the machine's processors.
#[derive(Clone, Copy, Debug, Default)]
pub struct Processors {
    busy: u64,
    all: u64,
}

impl Processors {
    /// Returns the times until now.
    pub fn now() -> Self {
        let text = fs::read_to_string("/proc/stat").unwrap_or_default();
        Self::parse(&text)
    }

    fn parse(text: &str) -> Self {
        // The fields are user, nice, system, idle, iowait, irq, softirq, steal; later fields are included in the first
        // two.
        let line = text.lines().next().unwrap_or_default();
        let fields: Vec<u64> = line
            .split_whitespace()
            .skip(1)
            .take(8)
            .map_while(|word| word.parse().ok())
            .collect();
        let all: u64 = fields.iter().sum();
        let idle: u64 = fields.iter().skip(3).take(2).sum();
        Self {
            busy: all - idle,
            all,
        }
    }

    /// Returns the share of all processors that was busy since `before`, 0 to 1.
    pub fn busy_since(self, before: Self) -> f64 {
        let all = self.all.saturating_sub(before.all).max(1);
        self.busy.saturating_sub(before.busy) as f64 / all as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_time_is_not_busy() {
        let before = Processors::parse("cpu  100 0 100 700 100 0 0 0 0 0\ncpu0 1 2 3");
        let after = Processors::parse("cpu  150 0 150 750 150 0 0 0 50 0\n");
        assert!((after.busy_since(before) - 0.5).abs() < 1e-12);
    }

    #[test]
    fn busy_threads_accumulate_processor_time() {
        let thread = current();
        let before = scheduled(thread);
        let began = crate::linux::clock::monotonic_ns();
        let mut sum = 0_u64;
        while crate::linux::clock::monotonic_ns() - began < 20_000_000 {
            sum = sum.wrapping_mul(31).wrapping_add(7);
        }
        std::hint::black_box(sum);
        let after = scheduled(thread);
        assert!(after.ran > before.ran, "{before:?} {after:?}");
    }
}
