//! Records of a run: one per flow, query, port, host with servers, and sample.
//!
//! Times are absolute; relative times are derived. Each record declares its fields and the columns of its tables in one
//! place, in its own file.

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

/// Purpose of a flow.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Class {
    /// Query from a parent to a child.
    Query,
    /// Answer from a child to its parent.
    Response,
    /// Flow of any other workload.
    #[default]
    Flow,
    /// Flow without an end.
    Long,
    /// Message that cancels a host's work on a query.
    Cancel,
}

impl Class {
    /// All classes, in order of declaration.
    pub const ALL: [Self; 5] = [
        Self::Query,
        Self::Response,
        Self::Flow,
        Self::Long,
        Self::Cancel,
    ];

    /// Returns the name in tables.
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

/// All records of one run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunRecords {
    /// Flows, by `flow`.
    pub flows: Vec<FlowRecord>,
    /// Queries, by `query`.
    pub queries: Vec<QueryRecord>,
    /// Ports, in node order of the topology.
    pub ports: Vec<PortRecord>,
    /// Servers, by host; empty if servers are unlimited.
    pub servers: Vec<ServerRecord>,
    /// Names of the sampled links.
    pub sampled_links: Vec<String>,
    /// Samples, by time, then link.
    pub series: Vec<SeriesSample>,
    /// Counts of the whole run.
    pub totals: Totals,
}

/// A record that can be read from the rows of its table.
#[expect(private_bounds, reason = "a digest is taken here alone")]
pub trait Record: Digested + Sized {
    /// Columns that store the record, in the order of its fields. All other columns are derived from them.
    const STORED: &'static [Stored];

    /// Reads a record from the cells of one row. The error describes the first invalid cell.
    fn read(context: &Context<'_>, row: &mut impl Row) -> Result<Self, String>;
}

/// A column that is read from files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Name of the column.
    pub name: &'static str,
    /// Name of the column in older files.
    pub former: Option<&'static str>,
}

/// Cells of one row, in the order of [`Record::STORED`].
pub trait Row {
    /// Passes the next cell to `read` and returns its result. Integers are passed as [`Value::Unsigned`]. Adds the
    /// position of the cell to an error.
    fn next<T>(&mut self, read: impl FnOnce(Value<'_>) -> Result<T, String>) -> Result<T, String>;
}
