//! Required effects of a packet at the receiver.

use crate::case::Case;
use crate::ledger::Ledger;
use crate::packets::Reply;
use crate::rules::{Rule, rule};
use duetime_proto::due::Control;

/// Required effects of a packet.
#[derive(Clone, Copy, Debug)]
pub struct Expected {
    pub message: usize,
    pub is_complete: bool,
    /// True if the message is complete, was complete before, or is aborted.
    pub is_done: bool,
    /// True if the packet was expected, or is an abort, so that grants follow.
    pub is_processed: bool,
    /// True if the packet announced the message.
    pub is_first: bool,
    /// Missing packets that the packet reveals.
    pub gap: Option<(u64, u64)>,
}

impl Expected {
    /// Returns the effects of a packet that is ignored.
    pub const fn new(message: usize) -> Self {
        Self {
            message,
            is_complete: false,
            is_done: false,
            is_processed: false,
            is_first: false,
            gap: None,
        }
    }

    /// Compares the delivery of the packet's message, and the number of messages delivered.
    pub fn delivery(&self, is_complete: bool, delivered: u8) -> Result<(), Rule> {
        let is_right = is_complete == self.is_complete && delivered == u8::from(is_complete);
        rule(is_right, Rule::Delivery)
    }

    /// Checks the replies to the packet.
    pub fn replies(&self, case: &Case, replies: &[Reply], ledger: &Ledger) -> Result<(), Rule> {
        let mut done = replies
            .iter()
            .filter(|reply| reply.control == Control::Done);
        let has_done = done.clone().any(|reply| reply.message == self.message);
        rule(
            has_done == self.is_done && done.all(|reply| ledger.finished[reply.message]),
            Rule::Done,
        )?;
        let mut own = replies.iter().filter(|reply| reply.message == self.message);
        rule(
            !self.is_first || own.clone().next().is_some(),
            Rule::Confirmation,
        )?;
        let request = self.gap.map(|(from, to)| Control::Resend { from, to });
        let is_requested = request.is_none_or(|request| own.any(|reply| reply.control == request));
        rule(!case.link.keeps_order || is_requested, Rule::Request)
    }
}
