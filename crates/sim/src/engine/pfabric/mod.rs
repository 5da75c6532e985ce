//! pFabric at hosts and ports: connects the state machines of `proto::pfabric` and the discipline of `link` to the
//! engine. Each host has one sender and one receiver.

mod contents;
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
use crate::workload::draw::{gap_at, min_gap};
use duetime_proto::pfabric::{Config, Link};

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

/// Returns a host's link and the network behind it, for the state machines and the queues. The bandwidth-delay product
/// covers the median of the hosts' random delays, timeouts its 99th percentile.
fn host_link(setup: &Setup, link: u32) -> Link {
    let (_, jitter) = &setup.receive;
    let median = gap_at(jitter, 0.5);
    Link {
        rate: setup.network.links[link as usize].rate,
        round_trip: setup.base_round_trip + median.saturating_sub(min_gap(jitter)) * 2,
        host_delay: gap_at(jitter, 0.99).saturating_sub(median) * 2,
        framing_bytes: u32::from(setup.frame_overhead),
    }
}
