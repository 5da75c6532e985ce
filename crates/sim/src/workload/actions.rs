//! Actions that workloads request from the engine.

use super::Message;
use duetime_core::Time;
use duetime_results::record::Class;

/// A call that a workload requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wake {
    /// Host at which the call is made.
    pub host: u32,
    /// Time of the call, not before the call that requested it.
    pub at: Time,
    /// Index of the workload.
    pub workload: u16,
    /// Token for the workload's own use.
    pub token: u64,
}

/// Actions that a call requests from the engine, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Actions {
    /// Messages to send now, each from the host of the call.
    pub sends: Vec<Message>,
    /// Persistent connections to open, each from the host of the call. Each is given by a message that could be its
    /// first.
    pub connects: Vec<Message>,
    /// Calls to make later, each at the host of the call.
    pub wakes: Vec<Wake>,
    /// Answers of the host of the call to abort.
    pub aborts: Vec<Abort>,
    /// Answers that arrived at the host of the call but were not needed, by [`Message::flow`].
    pub spare: Vec<u64>,
    /// Change in the number of calls that measured queries wait for. The run does not end before these calls.
    pub awaited: i64,
}

/// An answer that is no longer wanted. Its sender drops whatever is unsent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Abort {
    /// Host that sends the answer.
    pub host: u32,
    /// [`Message::workload`] of the answer.
    pub workload: u16,
    /// [`Message::query`] of the answer.
    pub query: Option<u64>,
    /// [`Message::tag`] of the answer.
    pub tag: u32,
}

impl Abort {
    /// Returns true if `message` is this answer.
    pub fn is_of(&self, message: &Message) -> bool {
        let key = (message.source, message.workload, message.query, message.tag);
        message.class == Class::Response && key == (self.host, self.workload, self.query, self.tag)
    }
}
