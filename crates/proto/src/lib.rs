//! The transports as state machines without I/O or clock: `tcp` carries NewReno, DCTCP and D2TCP (their congestion controllers are in
//! `window`), `d3` carries D3 and RCPdc. Each takes `input(now, packet)` and `timeout(now)` and gives
//! `poll_transmit(now)` and `next_timeout()`; the simulator and the real stacks run the same code.

#![expect(clippy::inline_always, reason = "the packet path: measured")]

pub mod d3;
pub mod tcp;
pub mod window;

use duetime_core::Time;

/// What an application submits to a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// Its length in bytes; `u64::MAX / 2` never ends. A stream's message has one at least.
    pub bytes: u64,
    /// When it should have been delivered.
    pub deadline: Option<Time>,
}
