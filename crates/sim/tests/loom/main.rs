//! Runs the rounds of a parallel simulation under every interleaving of their threads, with the model checker loom. The
//! files are those of the simulator, with loom's atomics and locks; the partitions are small models. `script/prove
//! concurrency` explores more interleavings.

#![allow(clippy::print_stdout, reason = "tests print their measurements")]

#[path = "../../../../tests/interleavings/explore.rs"]
mod explore;
mod model;
mod parallel;

use explore::explore;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use model::{Partition, Strides, alone};
use parallel::barrier::{Barrier, Guard};
use parallel::rounds::{self, Shared};
use parallel::sides::Sides;

/// Runs two partitions on two threads, which are one side each if `sides` is 2. Returns their logs of (time, events
/// left), and true if the run was cancelled.
fn run_two(strides: Strides, sides: usize) -> (Vec<model::Log>, bool) {
    let shared = Arc::new(Shared::new(2, 0));
    let spawn = |index: usize| {
        let shared = Arc::clone(&shared);
        loom::thread::spawn(move || {
            let partition = Partition::new(index, sides == 2);
            let sides = Sides::new(sides, model::LATENCY);
            rounds::run(&strides, &shared, partition, index, sides)
        })
    };
    let other = spawn(1);
    let partition = Partition::new(0, sides == 2);
    let (first, end) = rounds::run(
        &strides,
        &shared,
        partition,
        0,
        Sides::new(sides, model::LATENCY),
    );
    let (second, other_end) = other.join().expect("the partition ends");
    assert_eq!(end, other_end, "both partitions end at the same time");
    (
        vec![first.into_log(), second.into_log()],
        shared.is_cancelled(),
    )
}

/// Asserts that two partitions with this number of sides process the same events as one thread.
fn assert_equal_to_one(name: &str, sides: usize) {
    explore(name, 3, move || {
        let (logs, is_cancelled) = run_two(Strides::to_the_end(), sides);
        assert!(!is_cancelled);
        assert_eq!(logs, alone());
    });
}

#[test]
fn two_partitions_equal_one() {
    assert_equal_to_one("two partitions", 1);
}

#[test]
fn two_sides_equal_one_partition() {
    assert_equal_to_one("two sides", 2);
}

#[test]
fn cancelled_run_ends_on_both_threads() {
    explore("cancelled run", 3, || {
        let (logs, is_cancelled) = run_two(Strides::cancelled_at_the_first(), 1);
        assert!(is_cancelled);
        for (log, whole) in logs.iter().zip(alone()) {
            assert!(whole.starts_with(log), "{log:?}");
        }
    });
}

#[test]
fn barrier_separates_rounds() {
    explore("barrier", 4, || {
        let barrier = Arc::new(Barrier::new(2, 0));
        let arrived: Arc<[AtomicUsize; 3]> = Arc::default();
        let cross = |barrier: Arc<Barrier>, arrived: Arc<[AtomicUsize; 3]>| {
            for round in arrived.iter() {
                // Relaxed: the barrier must order this with the load below.
                round.fetch_add(1, Ordering::Relaxed);
                barrier.wait();
                let arrived = round.load(Ordering::Relaxed);
                assert_eq!(arrived, 2, "a thread left early");
            }
        };
        let (other, counts) = (Arc::clone(&barrier), Arc::clone(&arrived));
        let other = loom::thread::spawn(move || cross(other, counts));
        cross(barrier, arrived);
        other.join().expect("the thread ends");
    });
}

#[test]
fn panic_of_a_partition_ends_the_others() {
    explore("panic", 2, || {
        let barrier = Arc::new(Barrier::new(2, 0));
        let waiting = Arc::clone(&barrier);
        let waits = loom::thread::spawn(move || {
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| waiting.wait())).is_err()
        });
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _guard = Guard(&barrier);
            std::panic::resume_unwind(Box::new("a panic for the test"));
        }));
        assert!(panicked.is_err());
        assert!(waits.join().expect("the thread ends"), "the wait panics");
    });
}
