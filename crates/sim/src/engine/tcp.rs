//! TCP endpoints in their hosts: what surrounds the state machines of `proto::tcp`.

mod receiving;
mod sending;

pub use receiving::Receiving;
pub use sending::Sending;

use super::Partition;

/// TCP and IP headers without options, in bytes.
pub const HEADER_BYTES: u32 = 40;

impl Partition {
    /// The host dies: its endpoints are gone.
    pub(super) fn forget_tcp(&mut self, host: u32) {
        self.forget_tcp_senders(host);
        self.forget_tcp_receivers(host);
    }
}
