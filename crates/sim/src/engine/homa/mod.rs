//! Homa at hosts: connects the state machines of `proto::homa` to the engine. Each host has one sender and one receiver.

mod contents;
mod plan;
mod receiving;
mod sending;

pub use contents::Extra;
pub use receiving::Receiving;
pub use sending::Sending;

use super::endpoint::{Binding, Connection, Endpoint, host_wide};
use crate::packet::flow_hash;
use crate::setup::Setup;
use crate::workload::Message;
use duetime_proto::homa::Config;

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
