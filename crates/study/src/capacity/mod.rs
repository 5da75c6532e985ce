//! How much a transport carries before it misses: the most senders, the highest rate or the tightest deadlines at
//! which a share of the deadlines is met.
//!
//! [`search()`] asks the question of anything that can be probed at whole numbers from 1 (easy) to some last (hard),
//! runs or stored points alike. [`Subject`] says what those numbers are in a scenario, and [`Prober`] runs it, one
//! value at a time, and keeps what every run saw in a journal.

mod probe;
mod search;
mod subject;

pub use probe::{Moment, Prober, Stopped};
pub use search::{Capacity, Check, Deadlines, Search, SearchError, Target, Tried, search};
pub use subject::{Quantity, Subject};
