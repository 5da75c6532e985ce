//! Numbered pieces of work on several threads.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

/// Time between two progress events of a run.
const TICK: Duration = Duration::from_millis(200);

/// Calls `one` for each number below `count`, up to `workers` at a time, until `stop`; gives what it gave, `None` for
/// those that were not begun. Meanwhile `tick` hears a few times per second how many are begun.
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
        // The channel carries nothing: it closes when the last worker has left.
        while all_left.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
            tick(next.load(Ordering::Relaxed).min(count));
        }
    });
    let done = done.into_iter();
    done.map(|place| place.into_inner().expect("no panic holds it"))
        .collect()
}

pub(super) fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().expect("no panic holds it")
}
