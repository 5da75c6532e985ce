//! Capacity of a transport: the most senders, the highest rate, the tightest deadlines or the tightest budget at which
//! the required share of the queries, or of the answers, is in time.
//!
//! [`search()`] searches the whole numbers from 1 (easy) to a last one (hard), using either runs or stored points.
//! [`Subject`] maps these numbers to values of a scenario. [`Prober`] runs the scenario one value at a time and stores
//! the result of each run in a journal. [`best_possible`] searches the bound on all transports.

mod answers;
mod best;
mod probe;
mod search;
mod subject;

pub use answers::{Found, answers, rising};
pub use best::{BestCapacity, best_possible};
pub use probe::{Prober, Stopped};
pub use search::{Capacity, Check, Deadlines, On, Search, SearchError, Target, Tried, search};
pub use subject::{Quantity, Subject};
