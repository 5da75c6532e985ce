//! Packets as seen on one link, for pcapng files.

use duetime_core::Time;

/// One captured packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CapturedPacket {
    /// The directed link, by its number in the network.
    pub link: u32,
    /// When its last bit left the port.
    pub at: Time,
    /// Length of the IP packet on the wire; `bytes` may hold only its head.
    pub original_bytes: u32,
    /// The IP packet from its first byte.
    pub bytes: Vec<u8>,
}
