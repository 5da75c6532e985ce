//! SIRD at hosts: connects the state machines of `proto::sird` to the engine. Each host has one sender and one receiver.

mod receiving;
mod sending;

pub use receiving::Receiving;
pub use sending::Sending;

use super::endpoint::{Binding, Connection, Endpoint, flow_hash, host_wide};
use crate::capture::Decoded;
use crate::packet::Packet;
use crate::setup::Setup;
use crate::workload::Message;
use duetime_proto::sird::{Body, Config, Control};
use std::sync::Arc;

/// Family of SIRD.
pub enum Sird {}

/// Contents of a packet.
#[derive(Debug)]
pub enum Extra {
    /// Packet of a message from the sender with index `reply`.
    Data {
        message: Arc<Message>,
        body: Body,
        unscheduled: u64,
        reply: u32,
    },
    /// Packet to the sender of a message.
    Control { flow: u64, control: Control },
}

impl Endpoint for Sird {
    type Config = Config;
    type Sender = Sending;
    type Receiver = Receiving;
    type Extra = Extra;

    fn connection(setup: &Setup, message: &Message) -> Option<Connection> {
        Some(host_wide::connection(setup, message))
    }

    fn hash(_binding: &Binding, message: &Message) -> u32 {
        flow_hash(message.flow)
    }

    fn opening(extra: &Extra) -> Option<(u32, &Message)> {
        match extra {
            Extra::Data { message, reply, .. } => Some((*reply, message)),
            Extra::Control { .. } => None,
        }
    }

    fn decode(packet: &Packet, _extra: Option<&Extra>, _headers: u32) -> Decoded {
        Decoded {
            seq: u64::from(packet.seq),
            ..Decoded::default()
        }
    }
}
