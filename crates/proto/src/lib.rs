//! The transports as state machines without I/O or clock: `tcp` carries NewReno, DCTCP and D2TCP (their laws are in
//! `window`), `d3` carries D3 and RCPdc. Each takes `input(now, packet)` and `timeout(now)` and gives
//! `poll_transmit(now)` and `next_timeout()`; the simulator and the real stacks run the same code.

#![expect(clippy::inline_always, reason = "the packet path: measured")]

pub mod d3;
pub mod tcp;
pub mod window;
