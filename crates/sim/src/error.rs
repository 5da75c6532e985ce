//! What can be wrong with a scenario that is well-formed as a file.

/// Why a run cannot be set up. Each message names the value and says what is allowed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SetupError {
    /// A link to be sampled or captured does not exist.
    #[error("{key}: no link `{name}`; links are named `from->to`, such as `{example}`")]
    NoSuchLink {
        /// The key of the scenario.
        key: &'static str,
        /// The name given.
        name: String,
        /// A name that exists.
        example: String,
    },
    /// The shape of the network makes no sense.
    #[error("topology: {0}")]
    Shape(String),
    /// A host must have exactly one link.
    #[error("topology: host `{host}` has {links} links; every host needs exactly one, to a switch")]
    HostLinks {
        /// Its name.
        host: String,
        /// How many it has.
        links: usize,
    },
    /// Two hosts are joined without a switch.
    #[error(
        "topology: host `{host}` is joined to host `{other}`; every host needs exactly one link, to a switch"
    )]
    HostToHost {
        /// One of the two.
        host: String,
        /// The other.
        other: String,
    },
    /// Not every host can reach every other.
    #[error(
        "topology: no path from `{from}` to `{to}`; every host must be able to reach every other"
    )]
    Disconnected {
        /// A node of one part.
        from: String,
        /// A node of another part.
        to: String,
    },
    /// The network is beyond what the tables can hold.
    #[error("topology: {what} is {value}; at most {allowed} can be handled")]
    TooLarge {
        /// What there is too much of.
        what: &'static str,
        /// How much.
        value: u64,
        /// The limit.
        allowed: u64,
    },
    /// A workload needs more hosts than there are.
    #[error(
        "workload `{workload}`: {what} needs {needed} hosts, but the topology has {hosts}{hint}"
    )]
    TooFewHosts {
        /// Name of the workload.
        workload: String,
        /// What needs them.
        what: String,
        /// How many are needed.
        needed: u64,
        /// How many there are.
        hosts: u32,
        /// What could be done, or nothing.
        hint: &'static str,
    },
    /// A workload names a host that does not exist.
    #[error("workload `{workload}`: {what} is host {host}; allowed are 0 to {last}")]
    NoSuchHost {
        /// Name of the workload.
        workload: String,
        /// Which value names it.
        what: String,
        /// The host named.
        host: u32,
        /// The last host there is.
        last: u32,
    },
    /// A workload sends from a host to itself.
    #[error(
        "workload `{workload}`: {what} goes from host {host} to itself; source and destination must differ"
    )]
    ToItself {
        /// Name of the workload.
        workload: String,
        /// Which flow.
        what: String,
        /// The host.
        host: u32,
    },
    /// A value of a workload is out of its range.
    #[error("workload `{workload}`: {what}")]
    Workload {
        /// Name of the workload.
        workload: String,
        /// The value and what is allowed.
        what: String,
    },
}
