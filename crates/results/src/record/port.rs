//! Port records.

record! {
    /// A directed link and the port that feeds it, in the measurement window.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct PortRecord {
        /// `from->to`, by node names.
        link: String,
        /// Packets sent.
        packets: u64,
        /// Bytes sent, on the wire.
        bytes: u64 as "sent_bytes",
        /// Packets dropped because the buffer was full.
        drops: u64,
        /// Bytes of the dropped packets.
        drop_bytes: u64 as "dropped_bytes",
        /// Packets lost by seeded loss.
        losses: u64,
        /// Bytes of the lost packets.
        loss_bytes: u64 as "lost_bytes",
        /// Packets marked (CE).
        marks: u64,
        /// Largest queue, including the packet in service.
        queue_max_bytes: u64,
        /// Time average of the queue, including the packet in service.
        queue_mean_bytes: f64,
        /// Share of the time in which the link was sending, 0 to 1.
        utilisation: f64,
    }
    derived(port) {}
    /// `ports`: one row per directed link.
    pub const PORTS = "ports", "one row per directed link that carried anything, and the port that feeds it, in the \
        measurement window": [
        link, packets, bytes, drops, drop_bytes, losses, loss_bytes, marks, queue_max_bytes, queue_mean_bytes,
        utilisation,
    ];
}
