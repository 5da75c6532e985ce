//! Parts that families with one sender and one receiver per host share: their messages, and the keys of both ends.

use super::Connection;
use crate::engine::context::Context;
use crate::packet::{NONE, flow_hash};
use crate::setup::Setup;
use crate::workload::Message;
use std::sync::Arc;

/// Message at its sender, with its record and the path of its packets.
#[derive(Clone)]
pub struct Outgoing {
    pub message: Arc<Message>,
    /// Index of the flow record, or [`NONE`] for a message that the sender does not have.
    pub record: u32,
    /// Hash that selects the path, as in [`Packet::flow`](crate::packet::Packet::flow).
    pub flow_hash: u32,
}

impl Outgoing {
    /// Creates a message that starts now.
    pub fn new(message: Message, record: u32) -> Self {
        Self {
            flow_hash: flow_hash(message.flow),
            message: Arc::new(message),
            record,
        }
    }

    /// Completes the record of the message, of which `bytes` were delivered.
    pub fn complete_record(
        &self,
        context: &mut Context,
        retransmissions: u32,
        timeouts: u32,
        bytes: u64,
    ) {
        let flow = &mut context.recorder.records.flows[self.record as usize];
        flow.delivered_bytes = bytes.min(self.message.bytes);
        flow.retransmits = retransmissions;
        flow.timeouts = timeouts;
    }
}

/// Message at its receiver, with its sender and the path of the packets to it.
#[derive(Clone)]
pub struct Incoming {
    pub message: Arc<Message>,
    /// Index of the sender.
    pub sender: u32,
    /// Hash that selects the path, as in [`Packet::flow`](crate::packet::Packet::flow).
    pub flow_hash: u32,
}

/// Returns the number of the message's transport in the run.
pub fn transport(setup: &Setup, message: &Message) -> u16 {
    u16::from(setup.workload_transport[usize::from(message.workload)])
}

/// Returns the key of the sender that serves all messages of the source with the message's transport; see
/// [`Endpoint::connection`](super::Endpoint::connection).
pub fn connection(setup: &Setup, message: &Message) -> Connection {
    (transport(setup, message), message.source, NONE)
}

/// Returns the key of the receiver that serves all messages into the destination with the message's transport; see
/// [`Receiver::key`](super::Receiver::key).
pub fn receiver_key(setup: &Setup, message: &Message) -> u64 {
    u64::from(message.destination) << 16 | u64::from(transport(setup, message))
}
