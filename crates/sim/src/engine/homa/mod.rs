//! Homa at hosts: connects the state machines of `proto::homa` to the engine. Each host has one sender and one receiver.

mod contents;
mod receiving;
mod sending;

pub use contents::Extra;
pub use receiving::Receiving;
pub use sending::Sending;

use super::context::Context;
use super::endpoint::{Binding, Connection, Endpoint, host_wide};
use crate::packet::flow_hash;
use crate::setup::Setup;
use crate::workload::Message;
use duetime_core::Rate;
use duetime_proto::homa::{Config, Network, Plan};

/// Family of Homa.
pub enum Homa {}

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
