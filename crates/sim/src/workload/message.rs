//! Messages of the applications.

use super::token::attempt;
use duetime_core::{Span, Time};
use duetime_proto::Length;
use duetime_results::record::{Class, FlowRecord};

/// A message from one application to another: a flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Source host × 2³² + the index of the message at that host.
    pub flow: u64,
    /// Index of the workload in the scenario.
    pub workload: u16,
    /// Purpose of the message.
    pub class: Class,
    /// Query that the message belongs to, as in [`QueryRecord::query`](duetime_results::QueryRecord::query).
    pub query: Option<u64>,
    /// Sending host.
    pub source: u32,
    /// Receiving host.
    pub destination: u32,
    /// Application bytes, at least 1; `u64::MAX` for an endless flow.
    pub bytes: u64,
    /// Time at which the application submitted the message.
    pub submitted: Time,
    /// Absolute deadline.
    pub deadline: Option<Time>,
    /// Tag for the workload's own use.
    pub tag: u32,
    /// Number of leaves whose answers the message contains; 0 unless it is an answer.
    pub leaves: u32,
    /// Number of these leaves whose answers met their own deadlines or have none.
    pub leaves_in_time: u32,
    /// Number of answers that the receiver requested in the same query, this one included; 0 unless the message is an
    /// answer.
    pub siblings: u32,
    /// Time at which the parent received the query, if the message is a query; zero otherwise.
    pub asked: Time,
    /// Time that the computation of an answer waited for a server; zero for other messages.
    pub waited: Span,
    /// True if the message is in the measurement window [warm-up, duration): a flow by its submission, a query or an
    /// answer by the arrival of its query at the root.
    pub measured: bool,
}

impl Message {
    /// Returns the length for a sender.
    pub const fn length(&self) -> Length {
        match self.bytes {
            u64::MAX => Length::Endless,
            bytes => Length::Bytes(bytes),
        }
    }

    /// Returns the record of a message that was just submitted.
    pub fn record(&self) -> FlowRecord {
        FlowRecord {
            flow: self.flow,
            workload: self.workload,
            class: self.class,
            query: self.query,
            source: self.source,
            destination: self.destination,
            size_bytes: self.bytes,
            start: self.submitted,
            deadline: self.deadline,
            measured: self.measured,
            leaves: self.leaves,
            attempt: self.attempt().into(),
            ..FlowRecord::default()
        }
    }

    /// Returns the attempt that a request to a leaf, its cancellation or its answer belongs to; 0 is the first.
    fn attempt(&self) -> u32 {
        match self.class {
            Class::Query | Class::Response | Class::Cancel => attempt(self.tag),
            Class::Flow | Class::Long => 0,
        }
    }
}
