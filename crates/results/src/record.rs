//! One row per flow, per query, per port and per sample. Times are absolute; relative ones are derived. Each record
//! declares its fields and the columns of its tables in one place, in its own file.

pub(crate) mod cell;
#[macro_use]
mod declare;
mod flow;
mod port;
mod query;
#[cfg(test)]
pub(crate) mod sample;
mod series;
mod server;
mod totals;

use crate::digest::Digested;
use crate::schema::{Context, Value};
use serde::{Deserialize, Serialize};

pub use cell::Added;
pub use flow::{FLOWS, FlowRecord};
pub use port::{PORTS, PortRecord};
pub use query::{QUERIES, QueryRecord};
pub use series::{QUEUES, SeriesSample, THROUGHPUT};
pub use server::{SERVERS, ServerRecord};
pub use totals::Totals;

/// What a flow is for.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Class {
    /// A query on its way down a tree.
    Query,
    /// An answer on its way up a tree.
    Response,
    /// A flow of any other workload.
    #[default]
    Flow,
    /// A flow without an end.
    Long,
    /// A message that tells a host to stop working on a query.
    Cancel,
}

impl Class {
    /// All of them, in order.
    pub const ALL: [Self; 5] = [
        Self::Query,
        Self::Response,
        Self::Flow,
        Self::Long,
        Self::Cancel,
    ];

    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Query => "query",
            Self::Response => "response",
            Self::Flow => "flow",
            Self::Long => "long",
            Self::Cancel => "cancel",
        }
    }
}

/// Everything one run leaves behind.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunRecords {
    /// By `flow`.
    pub flows: Vec<FlowRecord>,
    /// By `query`.
    pub queries: Vec<QueryRecord>,
    /// By node order of the topology.
    pub ports: Vec<PortRecord>,
    /// By host; empty where servers are unlimited.
    pub servers: Vec<ServerRecord>,
    /// Names of the sampled links.
    pub sampled_links: Vec<String>,
    /// By time, then link.
    pub series: Vec<SeriesSample>,
    /// Counts of the whole run.
    pub totals: Totals,
}

/// What all records have in common: they can be read back from their tables.
#[expect(private_bounds, reason = "a digest is taken here alone")]
pub trait Record: Digested + Sized {
    /// The columns that hold the record, in the order of its fields; the others are derived from them.
    const STORED: &'static [Stored];

    /// Reads a record from the cells of one row, or says what is wrong with one of them.
    fn read(context: &Context<'_>, row: &mut impl Row) -> Result<Self, String>;
}

/// A column that is read back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Its name.
    pub name: &'static str,
    /// Its name in older files.
    pub former: Option<&'static str>,
}

/// The cells of one row, in the order of [`Record::STORED`].
pub trait Row {
    /// What `read` makes of the next cell. Integers come as [`Value::Unsigned`]; an error gets the cell's place added.
    fn next<T>(&mut self, read: impl FnOnce(Value<'_>) -> Result<T, String>) -> Result<T, String>;
}
