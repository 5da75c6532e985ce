//! The lives of watched flows, event by event: what `duetime explain` reads.

use duetime_core::{Span, Time};

/// One watched flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowTrace {
    /// `FlowRecord::flow`.
    pub flow: u64,
    /// Of a query or an answer: whose it is.
    pub node: Option<TreeNode>,
    /// By time.
    pub events: Vec<FlowEvent>,
}

/// A node below the root of a tree: the one that a query goes to, or that an answer comes from. Nodes are numbered
/// within their tree, the root is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeNode {
    /// Its number, from 1.
    pub node: u32,
    /// Its parent's number.
    pub parent: u32,
    /// Its children; 0: it is a leaf, which computes.
    pub children: u32,
    /// Answers of its children that it waits for before it gives its own; 0 for a leaf.
    pub needed: u32,
}

/// One event of a watched flow. A tracer may record events in any order; the explanation sorts them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowEvent {
    /// When it happened.
    pub at: Time,
    /// What happened.
    pub what: FlowEventKind,
}

/// What can happen to a flow.
///
/// `seq` is the packet's own sequence number: of data the first byte, of an acknowledgement the cumulative one. Only
/// its low 32 bits are compared, so a tracer that knows no more than the wire does may give those.
/// `len` is the payload in bytes: 0 for SYN, acknowledgements and header-only requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowEventKind {
    /// The application submitted the message: the flow's clock starts.
    Submitted,
    /// The sender's transport made a packet (any, SYN and header-only requests included).
    Sent {
        /// First byte.
        seq: u64,
        /// Payload bytes.
        len: u32,
        /// Sent before.
        retransmit: bool,
    },
    /// The last bit of a packet of the flow, in either direction, left the port that feeds `link`; so the packet had
    /// reached that port at `at - sending - waited`. The hosts' NICs are ports too.
    Departed {
        /// The directed link.
        link: u32,
        /// Sequence number of the packet.
        seq: u64,
        /// Payload bytes of the packet.
        len: u32,
        /// Time in the queue, before its first bit was sent.
        waited: Span,
        /// Transmission time.
        sending: Span,
    },
    /// A packet of the flow, in either direction, came to the transport of its host, which had held it since it reached
    /// the NIC at `at - held`. Only where hosts hold packets.
    Received {
        /// The host.
        host: u32,
        /// Sequence number of the packet.
        seq: u64,
        /// Payload bytes of the packet.
        len: u32,
        /// From the NIC to the transport.
        held: Span,
    },
    /// A packet of the flow found no buffer.
    Dropped {
        /// The directed link whose port had no buffer left.
        link: u32,
    },
    /// A packet of the flow was lost by seeded loss.
    Lost {
        /// The directed link that lost it.
        link: u32,
    },
    /// A packet of the flow was marked (CE).
    Marked {
        /// The directed link whose port marked it.
        link: u32,
    },
    /// Bytes reached the receiving application, in order.
    Delivered {
        /// First byte newly in order: the first byte of the packet that arrived.
        seq: u64,
        /// Bytes newly in order, from this packet and those that had waited for it.
        len: u32,
    },
    /// An acknowledgement reached the sender.
    Acked {
        /// The cumulative acknowledgement.
        seq: u64,
    },
    /// The retransmission timer fired.
    Timeout,
    /// A rate request left the sender (D3 §4.1).
    RequestSent {
        /// Desired rate in bits per second.
        desired_bps: u64,
    },
    /// The answer to a rate request reached the sender.
    Granted {
        /// The smallest allocation along the path, in bits per second.
        allocation_bps: u64,
    },
    /// A router granted a request of this flow less than it asked for.
    Denied {
        /// The directed link whose router did.
        link: u32,
    },
    /// The sender stopped sending data until it is granted a rate again (D3 §4.5).
    Paused,
    /// The handshake is over.
    Established,
    /// The last byte was delivered: the flow's clock stops.
    Finished,
}
