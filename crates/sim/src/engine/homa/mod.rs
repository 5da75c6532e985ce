//! Homa at hosts: connects the state machines of `proto::homa` to the engine. Each host has one sender and one receiver.

mod receiving;
mod sending;

pub use receiving::Receiving;
pub use sending::Sending;

use super::context::Context;
use super::endpoint::{Binding, Connection, Endpoint, flow_hash, host_wide};
use crate::capture::Decoded;
use crate::packet::Packet;
use crate::setup::Setup;
use crate::workload::Message;
use duetime_core::Rate;
use duetime_proto::homa::{Body, Config, Control, Network, Plan};
use std::sync::Arc;

/// Family of Homa.
pub enum Homa {}

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

impl Endpoint for Homa {
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

/// Returns the plan of all hosts of a transport. `RTTbytes` is a constant of the network (Homa §3.2), so it is that of the
/// fastest host's link.
fn plan(context: &Context, config: &Config, message: &Message) -> Plan {
    let setup = &context.setup;
    let rate = |&link: &u32| setup.network.links[link as usize].rate;
    let rates = setup.network.uplink.iter().map(rate);
    let transport = usize::from(host_wide::transport(setup, message));
    let network = Network {
        rate: rates.max().unwrap_or(Rate::from_gbps(1)),
        round_trip: setup.base_round_trip,
        framing_bytes: u32::from(context.frame_overhead),
        classes: setup.transports[transport].priorities,
    };
    Plan::new(config, &network, &setup.message_sizes)
}
