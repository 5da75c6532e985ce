//! What every crate of Duetime uses: integer time, rates and sizes, fixed-point arithmetic, and the random streams.
//!
//! Nothing here uses a socket, a file or a wall clock. Times, rates and fractions are exact integer arithmetic, so that a
//! result is the same bytes on any machine.
#![forbid(unsafe_code)]
#![no_std]
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap,
    reason = "the packet path: sequence numbers wrap, and indices and sizes are bounded where they are made"
)]
extern crate alloc;

pub mod fixed;
mod normal;
mod quantity;
pub mod random;
mod time;

pub use normal::{normal_cdf, normal_quantile};
pub use quantity::{Bytes, Rate, TransmitCost};
pub use time::{Span, Time};
