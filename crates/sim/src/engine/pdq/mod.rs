//! PDQ at hosts and ports: connects the state machines of `proto::pdq` to the engine.

mod contents;
mod packets;
mod port;
mod receiving;
mod sending;

pub use contents::Extra;
pub use port::PortState;
pub use receiving::Receiving;
pub use sending::Sending;

use super::endpoint::Endpoint;
use duetime_proto::pdq::Config;

/// Family of PDQ.
pub enum Pdq {}

impl Endpoint for Pdq {
    type Config = Config;
    type Sender = Sending;
    type Receiver = Receiving;
    type Extra = Extra;
}
