//! Errors in a scenario that is valid as a file.

/// Reason why a run cannot be set up. Each message contains the value and the allowed ones.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SetupError {
    /// A link to be sampled or captured does not exist.
    #[error("{key}: no link `{name}`; links are named `from->to`, such as `{example}`")]
    NoSuchLink {
        /// Key of the scenario.
        key: &'static str,
        /// Name given.
        name: String,
        /// Name of an existing link.
        example: String,
    },
    /// The shape of the network is invalid.
    #[error("topology: {0}")]
    Shape(String),
    /// A host does not have exactly one link.
    #[error("topology: host `{host}` has {links} links; every host needs exactly one, to a switch")]
    HostLinks {
        /// Name of the host.
        host: String,
        /// Number of its links.
        links: usize,
    },
    /// Two hosts are connected without a switch.
    #[error(
        "topology: host `{host}` is joined to host `{other}`; every host needs exactly one link, to a switch"
    )]
    HostToHost {
        /// Name of one host.
        host: String,
        /// Name of the other host.
        other: String,
    },
    /// Some hosts cannot reach each other.
    #[error(
        "topology: no path from `{from}` to `{to}`; every host must be able to reach every other"
    )]
    Disconnected {
        /// Name of a node of one part.
        from: String,
        /// Name of a node of another part.
        to: String,
    },
    /// A number exceeds what the simulator supports.
    #[error("topology: {what} is {value}; the limit is {allowed}")]
    TooLarge {
        /// Quantity that is too large.
        what: &'static str,
        /// Its value.
        value: u64,
        /// Its limit.
        allowed: u64,
    },
    /// A workload needs more hosts than the network has.
    #[error(
        "workload `{workload}`: {what} needs {needed} hosts, but the topology has {hosts}{hint}"
    )]
    TooFewHosts {
        /// Name of the workload.
        workload: String,
        /// Part of the workload that needs the hosts.
        what: String,
        /// Number of hosts needed.
        needed: u64,
        /// Number of hosts in the network.
        hosts: u32,
        /// Suggestion, or empty.
        hint: &'static str,
    },
    /// A workload refers to a host that does not exist.
    #[error("workload `{workload}`: {what} is host {host}; allowed: 0 to {last}")]
    NoSuchHost {
        /// Name of the workload.
        workload: String,
        /// Setting that refers to the host.
        what: String,
        /// Index of the host.
        host: u32,
        /// Index of the last host.
        last: u32,
    },
    /// A workload sends from a host to itself.
    #[error(
        "workload `{workload}`: {what} goes from host {host} to itself; source and destination must differ"
    )]
    ToItself {
        /// Name of the workload.
        workload: String,
        /// Flow that the error is about.
        what: String,
        /// Index of the host.
        host: u32,
    },
    /// A value of a workload is out of its range.
    #[error("workload `{workload}`: {what}")]
    Workload {
        /// Name of the workload.
        workload: String,
        /// The value and the allowed ones.
        what: String,
    },
}
