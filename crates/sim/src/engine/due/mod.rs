//! `due` at hosts: connects the state machines of `proto::due` to the engine. Each host has one sender and one receiver.

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
use duetime_proto::due::{Announcement, Config, Link};
use duetime_results::record::Class;

/// Family of `due`.
pub enum Due {}

impl Endpoint for Due {
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

/// Returns the host's link in the direction of the message and the network behind it, for the state machines.
pub(in crate::engine) fn host_link(context: &Context, message: &Message, link: u32) -> Link {
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
