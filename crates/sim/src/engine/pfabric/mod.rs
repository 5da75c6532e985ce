//! pFabric at hosts and ports: connects the state machines of `proto::pfabric` and the discipline of `link` to the
//! engine. Each host has one sender and one receiver.

mod contents;
mod host_link;
mod queue;
mod receiving;
mod sending;

pub use contents::Extra;
pub use queue::RankedQueue;
pub use receiving::Receiving;
pub use sending::Sending;

use super::endpoint::{Binding, Connection, Endpoint, host_wide};
use crate::packet::flow_hash;
use crate::setup::Setup;
use crate::workload::Message;
use duetime_proto::pfabric::Config;

/// Family of pFabric.
pub enum PFabric {}

impl Endpoint for PFabric {
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
