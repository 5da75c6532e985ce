//! Inputs of the state machines: the links of hosts, and what messages announce.

use crate::engine::context::Context;
use crate::engine::endpoint::host_wide;
use crate::packet::flow_hash;
use crate::workload::Message;
use duetime_proto::due::{Announcement, Config, Link};
use duetime_results::record::Class;

/// Returns the host's link in the direction of the message and the network behind it, for the state machines.
pub fn host_link(context: &Context, message: &Message, link: u32) -> Link {
    let setup = &context.setup;
    let transport = usize::from(host_wide::transport(setup, message));
    Link {
        rate: setup.network.links[link as usize].rate,
        round_trip: setup.base_round_trip,
        framing_bytes: u32::from(context.frame_overhead),
        classes: setup.transports[transport].priorities,
        keeps_order: setup.routing.keeps_order() && setup.transports[transport].priorities == 1,
    }
}

/// Part of the time allowed that sources with false deadlines announce.
const FALSE_DEADLINE_PART: u64 = 10;

/// Returns what the first packet of a workload's message announces.
pub fn announcement(config: &Config, message: &Message) -> Announcement {
    let is_answer = message.class == Class::Response;
    let is_false = flow_hash(u64::from(message.source)) % 1_000 < config.false_deadline_permille;
    let deadline = match message.deadline {
        Some(deadline) if is_false => {
            let allowed = deadline.since(message.submitted);
            Some(message.submitted + allowed / FALSE_DEADLINE_PART)
        }
        deadline => deadline,
    };
    Announcement {
        bytes: message.bytes,
        deadline,
        query: message.query.filter(|_| is_answer),
        is_request: matches!(message.class, Class::Query | Class::Cancel),
    }
}
