//! Contents of Homa's packets.

use crate::engine::contents::Contents;
use crate::workload::Message;
use duetime_proto::homa::{Body, Control};
use std::sync::Arc;

/// Contents of a packet.
#[derive(Debug)]
pub enum Extra {
    /// Packet of a message from the sender with index `reply`.
    Data {
        message: Arc<Message>,
        body: Body,
        reply: u32,
    },
    /// Packet to the sender of a message.
    Control {
        message: Arc<Message>,
        control: Control,
    },
}

impl Contents for Extra {
    fn opening(&self) -> Option<(u32, &Message)> {
        match self {
            Self::Data { message, reply, .. } => Some((*reply, message)),
            Self::Control { .. } => None,
        }
    }
}
