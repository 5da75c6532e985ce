//! Numbered items of work on several threads.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

/// Time between two progress events of a run.
const TICK: Duration = Duration::from_millis(200);

/// Calls `one` for each index below `count` on up to `workers` threads, until `stop` returns true. Returns the results,
/// `None` for items that were not started. Meanwhile calls `tick` a few times per second with the number of started
/// items.
pub fn each<T: Send>(
    count: usize,
    workers: usize,
    stop: impl Fn() -> bool + Sync,
    one: impl Fn(usize) -> T + Sync,
    tick: impl Fn(usize),
) -> Vec<Option<T>> {
    let next = AtomicUsize::new(0);
    let done: Vec<Mutex<Option<T>>> = (0..count).map(|_| Mutex::new(None)).collect();
    let (alive, all_left) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        for _ in 0..workers.clamp(1, count.max(1)) {
            let alive = alive.clone();
            let (next, done, stop, one) = (&next, &done, &stop, &one);
            scope.spawn(move || {
                while !stop() {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(place) = done.get(index) else {
                        break;
                    };
                    let made = one(index);
                    *lock(place) = Some(made);
                }
                drop(alive);
            });
        }
        drop(alive);
        // Nothing is sent over the channel. It closes when the last worker ends.
        while all_left.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
            tick(next.load(Ordering::Relaxed).min(count));
        }
    });
    let done = done.into_iter();
    done.map(|place| place.into_inner().expect("no panic holds it"))
        .collect()
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("no panic holds it")
}
