//! TCP against hand-worked traces, packet by packet: 1000-byte segments, a round trip of 100 us, no queues.

mod connection;
mod growth;
mod hystart;
mod losses;
mod quick;
mod rack;
mod sack;
mod timeouts;
mod validation;

/// Returns new segments `first..=last`, all sent at `at`.
fn burst(at: u64, first: u64, last: u64) -> Vec<(u64, u64, bool)> {
    (first..=last).map(|number| (at, number, false)).collect()
}
