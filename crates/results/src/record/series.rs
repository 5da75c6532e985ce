//! Periodic samples of links.

use duetime_core::Time;

record! {
    /// A sample of a link. `link` is an index into [`RunRecords::sampled_links`](super::RunRecords).
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct SeriesSample {
        /// `from->to`, by node names.
        link: u32 [SampledLink],
        /// Time of the sample, since the start of the run, exact.
        at: Time as "at_ps",
        /// Bytes queued, including the packet in service.
        queue_bytes: u64,
        /// Packets queued, including the packet in service.
        queue_packets: u32,
        /// Bytes sent since the link's previous sample, on the wire.
        sent_bytes: u64,
    }
    derived(sample) {
        /// Time of the sample, since the start of the run.
        at_ns: u64 = sample.at.as_ns(),
        /// End of the sampled interval, since the start of the run.
        interval_end_ns: u64 as "at_ns" = sample.at.as_ns(),
    }
    /// `queues`: one row per sample of a sampled link's queue.
    pub const QUEUES = "queues", "one row per sample of a sampled link's queue, by time": [
        link, at_ns, queue_bytes, queue_packets, at,
    ];
    /// `throughput`: one row per sample of a sampled link's throughput.
    pub const THROUGHPUT = "throughput", "one row per sample of a sampled link's throughput, by time": [
        link, interval_end_ns, sent_bytes, at,
    ];
}
