//! TCP at hosts: connects the state machines of `proto::tcp` to the engine.

mod contents;
mod receiving;
mod sending;

pub use contents::Extra;
pub use receiving::Receiving;
pub use sending::Sending;

use super::endpoint::{Connection, Endpoint};
use crate::setup::Setup;
use crate::workload::Message;
use duetime_proto::tcp::Config;
use duetime_scenario::model;

/// Family of the window protocols: TCP, DCTCP and D2TCP.
pub enum Tcp {}

impl Endpoint for Tcp {
    type Config = Config;
    type Sender = Sending;
    type Receiver = Receiving;
    type Extra = Extra;

    const RESTARTS_LINGER: bool = true;
    const OPENS_BEFORE_CLOSING: bool = true;

    fn connection(setup: &Setup, message: &Message) -> Option<Connection> {
        let persistent = setup.connections[usize::from(message.workload)];
        (persistent == model::Connection::Persistent).then_some((
            message.workload,
            message.source,
            message.destination,
        ))
    }
}
