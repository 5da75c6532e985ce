//! Links of hosts, as pFabric's state machines and queues see them.

use crate::setup::Setup;
use crate::workload::draw::{gap_at, min_gap};
use duetime_proto::pfabric::Link;

/// Returns a host's link and the network behind it, for the state machines and the queues. The bandwidth-delay product
/// covers the median of the hosts' random delays, timeouts its 99th percentile.
pub(super) fn host_link(setup: &Setup, link: u32) -> Link {
    let (_, jitter) = &setup.receive;
    let median = gap_at(jitter, 0.5);
    Link {
        rate: setup.network.links[link as usize].rate,
        round_trip: setup.base_round_trip + median.saturating_sub(min_gap(jitter)) * 2,
        host_delay: gap_at(jitter, 0.99).saturating_sub(median) * 2,
        framing_bytes: u32::from(setup.frame_overhead),
    }
}
