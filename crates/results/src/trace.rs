//! Event traces of selected flows, for `duetime explain`.

use duetime_core::{Span, Time};

/// Trace of one flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowTrace {
    /// ID of the flow: `FlowRecord::flow`.
    pub flow: u64,
    /// Node that the query goes to or the answer comes from; `None` for other flows.
    pub node: Option<TreeNode>,
    /// Events, by time.
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
    /// Computation of the node before its answer: a leaf's after the query arrives, an aggregator's after the last
    /// answer that it waits for. Zero for a query.
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

/// Event of a traced flow. Events may be recorded in any order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowEvent {
    /// Time of the event.
    pub at: Time,
    /// Kind of the event.
    pub what: FlowEventKind,
}

/// Kind of a flow's event.
///
/// `seq` is the sequence number of the packet: the first byte of data, or the cumulative acknowledgement. Only its low
/// 32 bits are compared, so tracers may pass the sequence number from the wire.
/// `len` is the payload in bytes: 0 for SYN, acknowledgements and header-only requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowEventKind {
    /// The application submitted the message, which starts the flow's clock.
    Submitted,
    /// The sender's transport created a packet of any kind, including SYN and header-only requests.
    Sent {
        /// First byte.
        seq: u64,
        /// Payload bytes.
        len: u32,
        /// True for a retransmission.
        retransmit: bool,
    },
    /// The last bit of a packet of the flow left the port that feeds `link`. The packet reached that port at
    /// `at - sending - waited` and reaches the far end of the link at `at + latency`. Host NICs are ports, too.
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
    /// A packet of the flow, in either direction, reached the transport of its host after the host had held it since
    /// `at - held`, when it reached the NIC. Recorded only if hosts hold packets.
    Received {
        /// The host.
        host: u32,
        /// Sequence number of the packet.
        seq: u64,
        /// Payload bytes of the packet.
        len: u32,
        /// Time between the NIC and the transport.
        held: Span,
    },
    /// A packet of the flow was dropped because the buffer was full.
    Dropped {
        /// The directed link of the port that dropped it.
        link: u32,
    },
    /// A packet of the flow was lost by seeded loss.
    Lost {
        /// The directed link that lost it.
        link: u32,
    },
    /// A packet of the flow was marked (CE).
    Marked {
        /// The directed link of the port that marked it.
        link: u32,
    },
    /// Bytes reached the receiving application, in order.
    Delivered {
        /// First byte newly in order: the first byte of the packet that arrived.
        seq: u64,
        /// Bytes newly in order, from this packet and from packets that had waited for it.
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
    /// A reply of the receiver (acknowledgement, SYN-ACK, grant or request) was created while its host's NIC was busy.
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
        /// The directed link of the router that denied it.
        link: u32,
    },
    /// The sender stopped sending data until a router grants it a rate again (D3 §4.5).
    Paused,
    /// `due`: the receiver's grant reached the sender, or the message was submitted, which permits its first packet.
    Permitted {
        /// Bytes below may be sent, rounded up to whole packets.
        up_to: u64,
        /// True if the receiver grants the message only what more urgent messages leave.
        is_background: bool,
    },
    /// `due`: the receiver's request for missing packets reached the sender.
    ResendRequested {
        /// First byte of the missing packets.
        from: u64,
        /// One past their last byte, rounded up to whole packets.
        to: u64,
    },
    /// The handshake was completed.
    Established,
    /// The last byte was delivered, which stops the flow's clock.
    Finished,
}

/// Timer of a flow's sender or receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Timer {
    /// Retransmission timer of an unanswered SYN.
    Handshake,
    /// Retransmission timer of unacknowledged data.
    Retransmission,
    /// Timer of a tail loss probe (RFC 8985 §7).
    TailLossProbe,
    /// RACK's reordering timer (RFC 8985 §6).
    Reordering,
    /// The receiver's timer for delayed acknowledgements.
    DelayedAck,
    /// D3: timeout of an unanswered rate request.
    Request,
    /// D3: wait of a paused sender before its next rate request.
    Pause,
    /// D3: time of the next packet at the granted rate.
    Pace,
    /// `due`: repetition of an announcement without a reply.
    Announcement,
}
