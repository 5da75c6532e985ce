//! Basic types of all Duetime crates: integer time, rates and sizes, fixed-point arithmetic, and random streams; and
//! prefetching.
//!
//! This crate uses no socket, file or wall clock. Times, rates and fractions are exact integers, so results are
//! identical on every machine.
#![deny(unsafe_code)]
#![no_std]
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap,
    reason = "the packet path: sequence numbers wrap, and indices and sizes are bounded where they are created"
)]
extern crate alloc;

pub mod fixed;
mod normal;
pub mod prefetch;
mod quantity;
pub mod random;
mod time;

pub use normal::{normal_cdf, normal_quantile};
pub use quantity::{Bytes, Rate, TransmitCost};
pub use time::{Span, Time};
