//! Ports.

record! {
    /// One directed link in the measurement window, with the port that feeds it.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct PortRecord {
        /// `from->to`, by node names.
        link: String,
        /// Packets that left.
        packets: u64,
        /// Bytes that left, on the wire.
        bytes: u64 as "sent_bytes",
        /// Packets dropped for want of buffer.
        drops: u64,
        /// Their bytes.
        drop_bytes: u64 as "dropped_bytes",
        /// Packets lost by seeded loss.
        losses: u64,
        /// Their bytes.
        loss_bytes: u64 as "lost_bytes",
        /// Packets marked (CE).
        marks: u64,
        /// Largest queue, the packet in service included.
        queue_max_bytes: u64,
        /// Time average of the queue, the packet in service included.
        queue_mean_bytes: f64,
        /// Share of the time that the link was sending, 0 to 1.
        utilisation: f64,
    }
    derived(port) {}
    /// `ports`: one row per directed link.
    pub const PORTS = "ports", "one row per directed link that carried anything, with the port that feeds it, from the \
        warm-up to the end of the measurement window": [
        link, packets, bytes, drops, drop_bytes, losses, loss_bytes, marks, queue_max_bytes, queue_mean_bytes,
        utilisation,
    ];
}
