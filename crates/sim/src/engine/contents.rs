//! Contents of packets that differ between families.

use crate::capture::Decoded;
use crate::packet::Packet;
use crate::workload::Message;
use std::fmt::Debug;

/// Contents of a family's packets, in addition to the fixed fields of [`Packet`].
pub trait Contents: Debug + Sized {
    /// Returns the sender's index and the message that selects the receiver, or `None` if the packet is addressed by
    /// the receiver's index. The engine creates the receiver if it does not exist.
    fn opening(&self) -> Option<(u32, &Message)>;

    /// Returns the packet as a capture would show it; `contents` is `None` for a packet without any. `headers` is the
    /// number of bytes around the IP packet. Defaults to the position in [`Packet::seq`], without headers and payload.
    fn decode(packet: &Packet, _contents: Option<&Self>, _headers: u32) -> Decoded {
        Decoded {
            seq: u64::from(packet.seq),
            ..Decoded::default()
        }
    }

    /// Returns true if the packet carries a request to routers. Fault injection can drop such requests.
    fn is_request(&self) -> bool {
        false
    }
}
