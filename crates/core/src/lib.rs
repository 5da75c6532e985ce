//! The vocabulary of Duetime: integer time, rates and sizes, ids, and the tree of random streams.
//!
//! Nothing here knows a socket, a file or a wall clock; everything is exact integer arithmetic, so that
//! a result is the same bytes on any machine.
#![no_std]
extern crate alloc;

pub mod fixed;
mod quantity;
pub mod random;
mod time;

pub use quantity::{Bytes, Rate, TransmitCost};
pub use time::{Span, Time};
