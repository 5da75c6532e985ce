//! A spinning barrier, because windows last a fraction of a millisecond.

use super::sync::{AtomicBool, AtomicUsize, spin_loop, yield_now};
use std::sync::atomic::Ordering;

/// Barrier of `count` threads, which may be used again and again.
pub struct Barrier {
    count: usize,
    /// Number of checks before the processor is yielded.
    spins: u32,
    arrived: AtomicUsize,
    round: AtomicUsize,
    /// True after a thread panicked, so that it will not arrive.
    broken: AtomicBool,
}

impl Barrier {
    pub fn new(count: usize, spins: u32) -> Self {
        Self {
            count,
            spins,
            arrived: AtomicUsize::new(0),
            round: AtomicUsize::new(0),
            broken: AtomicBool::new(false),
        }
    }

    /// Waits until all threads have called it. Panics if another one panicked.
    pub fn wait(&self) {
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
                spin_loop();
            } else {
                yield_now();
            }
        }
    }
}

/// Breaks the barrier if its thread panics, so that the others do not wait forever.
pub struct Guard<'a>(pub &'a Barrier);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.broken.store(true, Ordering::Release);
        }
    }
}
