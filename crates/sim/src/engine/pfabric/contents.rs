//! Contents of pFabric's packets.

use crate::capture::Decoded;
use crate::engine::contents::Contents;
use crate::packet::Packet;
use crate::workload::Message;
use duetime_proto::pfabric::{Ack, Body};
use std::sync::Arc;

/// Contents of a packet.
#[derive(Debug)]
pub enum Extra {
    /// Packet of a message from the sender with index `reply`.
    Data {
        message: Arc<Message>,
        body: Body,
        /// Length of the payload in bytes.
        len: u32,
        /// Position of the payload in the message, in bytes.
        seq: u64,
        reply: u32,
    },
    /// Acknowledgement to the sender of a message.
    Ack { flow: u64, ack: Ack },
}

impl Contents for Extra {
    fn opening(&self) -> Option<(u32, &Message)> {
        match self {
            Self::Data { message, reply, .. } => Some((*reply, message)),
            Self::Ack { .. } => None,
        }
    }

    fn decode(_packet: &Packet, extra: Option<&Self>, _headers: u32) -> Decoded {
        match extra {
            Some(&Self::Data { seq, len, .. }) => Decoded {
                seq,
                len,
                ..Decoded::default()
            },
            Some(Self::Ack { .. }) | None => Decoded::default(),
        }
    }
}
