//! Packets captured on a link, for pcapng files.

use duetime_core::Time;

/// A captured packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CapturedPacket {
    /// Index of the directed link in the network.
    pub link: u32,
    /// Time at which the packet's last bit left the port.
    pub at: Time,
    /// Length of the IP packet on the wire. `bytes` may be shorter.
    pub original_bytes: u32,
    /// Beginning of the IP packet.
    pub bytes: Vec<u8>,
}
