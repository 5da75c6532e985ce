//! Plan of Homa's hosts: unscheduled bytes and priorities.

use crate::engine::context::Context;
use crate::engine::endpoint::host_wide;
use crate::workload::Message;
use duetime_core::Rate;
use duetime_proto::homa::{Config, Network, Plan};

/// Returns the plan of all hosts of a transport. `RTTbytes` is a constant of the network (Homa §3.2), so it is that of
/// the fastest host's link.
pub(super) fn plan(context: &Context, config: &Config, message: &Message) -> Plan {
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
