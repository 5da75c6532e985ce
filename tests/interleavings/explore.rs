//! Exploration of a model's interleavings with loom, included by the tests of several crates.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Explores the interleavings in which a thread is preempted at most `LOOM_MAX_PREEMPTIONS` times, by default
/// `preemptions`, and prints their number. Voluntary switches, such as those of a waiting thread, are free.
pub fn explore(name: &str, preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
    let count = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&count);
    let mut builder = loom::model::Builder::new();
    let bound = builder.preemption_bound.unwrap_or(preemptions);
    builder.preemption_bound = Some(bound);
    builder.max_branches = 100_000;
    builder.check(move || {
        counted.fetch_add(1, Ordering::Relaxed);
        model();
    });
    let explored = count.load(Ordering::Relaxed);
    println!("{name}: {explored} interleavings with at most {bound} preemptions");
}
