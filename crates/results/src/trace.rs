//! Traces of watched flows, event by event, as read by `duetime explain`.

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

/// Node below the root of a tree: the destination of a query or the source of an answer. Nodes are indexed within their
/// tree; the root is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TreeNode {
    /// Index of the node, from 1.
    pub node: u32,
    /// Index of its parent.
    pub parent: u32,
    /// Number of its children; 0 for a leaf.
    pub children: u32,
    /// Answers of its children that the node waits for before it answers; 0 for a leaf.
    pub needed: u32,
    /// Reason for the query, or for the query that an answer belongs to.
    pub question: Question,
    /// Computation of the node before its answer: a leaf's after the query arrives, an aggregator's after the last answer
    /// that it waits for. Zero for a query.
    pub computing: Span,
    /// Time that the computation waited for a server before it started. Zero for a query.
    pub waiting: Span,
    /// Start jitter of the message's sender before it submits the message, after any computation.
    pub jitter: Span,
}

/// Reason for a query to a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Question {
    /// The first query to the node.
    #[default]
    First,
    /// A second query, sent while the first one is unanswered.
    Hedge,
    /// A further query, sent after the earlier one timed out.
    Retry,
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
    /// The last bit of a packet of the flow left the port that feeds `link`. The packet reached that port at
    /// `at - sending - waited` and reaches the far end of the link at `at + latency`. Hosts' NICs are ports, too.
    Departed {
        /// The directed link.
        link: u32,
        /// True if the packet travels from the receiver to the sender.
        reverse: bool,
        /// Sequence number of the packet.
        seq: u64,
        /// Payload bytes of the packet.
        len: u32,
        /// Time between the packet's arrival at the port and its first bit, `delayed` included.
        waited: Span,
        /// Random delay of the sending host (`[host] send_jitter`), at the end of `waited`. The port is not busy
        /// meanwhile.
        delayed: Span,
        /// Transmission time.
        sending: Span,
        /// Propagation delay of the link.
        latency: Span,
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
    /// A timer of the sender expired, or the receiver's timer for delayed acknowledgements.
    Timer(Timer),
    /// The sender could transmit while its host's NIC was busy: it entered the NIC's queue of ready senders.
    Ready,
    /// A reply of the receiver (acknowledgement, SYN-ACK or grant) was made while its host's NIC was busy.
    ReplyQueued {
        /// Sequence number of the reply.
        seq: u64,
    },
    /// The application aborted the message.
    Aborted,
    /// The message was submitted to a persistent connection with unacknowledged earlier messages.
    Behind,
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
    /// The handshake was completed.
    Established,
    /// The last byte was delivered: the flow's clock stops.
    Finished,
}

/// Timer of a flow's sender or receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Timer {
    /// The SYN was not answered.
    Handshake,
    /// Data was not acknowledged: the retransmission timeout.
    Retransmission,
    /// The last segments were not acknowledged: a tail loss probe (RFC 8985 §7).
    TailLossProbe,
    /// RACK waited for segments that may only be reordered (RFC 8985 §6).
    Reordering,
    /// The receiver delayed an acknowledgement.
    DelayedAck,
    /// D3: a rate request was not answered.
    Request,
    /// D3: the paused sender waited before its next rate request.
    Pause,
    /// D3: the next packet was due at the granted rate.
    Pace,
}
