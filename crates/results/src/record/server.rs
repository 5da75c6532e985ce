//! Server records.

record! {
    /// Servers of a host, in the measurement window.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct ServerRecord {
        /// Name of the host.
        host: String,
        /// Computations that can run at the same time.
        slots: u32,
        /// Computations that got a slot.
        computations: u64,
        /// Mean wait of these computations for a slot.
        wait_mean_ps: u64,
        /// Longest wait of these computations for a slot.
        wait_max_ps: u64,
        /// Longest queue for a slot, in computations.
        queue_max: u32,
        /// Share of the slots' time that computations occupied, 0 to 1.
        utilisation: f64,
    }
    derived(server) {}
    /// `servers`: one row per host.
    pub const SERVERS = "servers", "one row per host that computed anything, in the measurement window; written if \
        `host.servers` has slots": [
        host, slots, computations, wait_mean_ps, wait_max_ps, queue_max, utilisation,
    ];
}
