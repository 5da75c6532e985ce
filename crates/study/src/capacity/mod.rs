//! How much a transport carries before it misses: the most senders, the highest rate, the tightest deadlines or the
//! tightest budget at which a share of the queries, or of the answers, is in time.
//!
//! [`search()`] asks the question of anything that can be probed at whole numbers from 1 (easy) to some last (hard),
//! runs or stored points alike. [`Subject`] says what those numbers are in a scenario, and [`Prober`] runs it, one
//! value at a time, and keeps what every run saw in a journal. [`best_possible`] asks it of the bound on all transports.

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
