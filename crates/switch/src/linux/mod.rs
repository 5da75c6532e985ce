//! The switch on real interfaces.

mod clock;
mod device;
mod error;
mod ring;
mod send;
mod statistics;
mod switch;
mod sys;

pub use device::disable_offloads;
pub use error::Error;
pub use statistics::Statistics;
pub use switch::Switch;
