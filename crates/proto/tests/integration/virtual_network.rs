//! Parts that the virtual networks of the endpoints share: seeds, random numbers, and datagrams in the order of arrival.

use duetime_core::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::net::SocketAddr;
use std::ops::Range;

/// Returns the seeds in the environment variable, as `FIRST..END`, or `default`.
#[expect(clippy::disallowed_methods, reason = "reads the seeds to replay")]
pub fn seeds(variable: &str, default: Range<u64>) -> Range<u64> {
    let Ok(range) = std::env::var(variable) else {
        return default;
    };
    let Some((first, end)) = range.split_once("..") else {
        panic!("{variable}=FIRST..END");
    };
    first.parse().expect("a number")..end.parse().expect("a number")
}

/// Random numbers (xorshift), the same for equal seeds.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn draw(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// Returns true with this probability, in 1/1000.
    pub fn fault(&mut self, permille: u64) -> bool {
        permille > 0 && self.draw() % 1_000 < permille
    }
}

/// Faults that a network has injected.
#[derive(Clone, Copy, Debug, Default)]
pub struct Injected {
    pub lost: u64,
    pub duplicated: u64,
    pub damaged: u64,
    pub delayed: u64,
}

impl Injected {
    /// Reports a run that ended correctly, with its faults and other counts.
    pub fn report(&self, others: &[(&str, u64)]) {
        let faults = [
            ("executions", 1),
            ("losses", self.lost),
            ("duplicates", self.duplicated),
            ("corruptions", self.damaged),
            ("reorderings", self.delayed),
        ];
        crate::counts::report(&[&faults, others].concat());
    }
}

/// Arrival: time, sequence number, host, sender's address, datagram.
type Arrival = (Time, u64, usize, SocketAddr, Vec<u8>);

/// Datagrams on their way to hosts; those of equal time arrive in the order in which they were sent.
#[derive(Default)]
pub struct Arrivals {
    heap: BinaryHeap<Reverse<Arrival>>,
    sent: u64,
}

impl Arrivals {
    pub fn push(&mut self, at: Time, from: SocketAddr, host: usize, datagram: Vec<u8>) {
        self.sent += 1;
        self.heap
            .push(Reverse((at, self.sent, host, from, datagram)));
    }

    /// Returns the time of the next arrival.
    pub fn next(&self) -> Time {
        self.heap.peek().map_or(Time::MAX, |Reverse(next)| next.0)
    }

    /// Removes and returns the next datagram that has arrived, with its host and the sender's address.
    pub fn arrived(&mut self, now: Time) -> Option<(usize, SocketAddr, Vec<u8>)> {
        if self.next() > now {
            return None;
        }
        let Reverse((_, _, host, from, datagram)) = self.heap.pop()?;
        Some((host, from, datagram))
    }
}
