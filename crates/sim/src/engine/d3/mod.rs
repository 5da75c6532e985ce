//! D3 at hosts and ports: connects the state machines of `proto::d3` to the engine.

mod contents;
mod edge;
mod packets;
mod port;
mod receiving;
mod sending;

pub use contents::Extra;
pub use edge::EdgeState;
pub use port::PortState;
pub use receiving::Receiving;
pub use sending::Sending;

use super::endpoint::Endpoint;
use duetime_proto::d3::Config;

/// Family of D3 and RCPdc.
pub enum D3 {}

impl Endpoint for D3 {
    type Config = Config;
    type Sender = Sending;
    type Receiver = Receiving;
    type Extra = Extra;
}
