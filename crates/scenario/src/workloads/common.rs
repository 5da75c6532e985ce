//! Keys of all kinds of workload.

use crate::keys::Kind::{Choice, Integer, Text};
use crate::keys::{Key, declare};
use crate::model::Connection;
use crate::values::word;

pub(super) const KINDS: &[&str] = &[
    "oldi",
    "burst",
    "poisson",
    "background",
    "permutation",
    "long",
    "trace",
];

pub(super) const COMMON: &[Key] = declare! {
    /// Kind of traffic.
    kind: Choice(KINDS);
    /// Name in tables.
    name: Text, otherwise "its `kind`, numbered from the second on";
    /// Transport of these flows, regardless of the compared one.
    transport: Text, otherwise "the compared transport";
    /// `persistent`: flows between two hosts share one connection; those of trees open in the first millisecond of a
    /// run, before the first queries. `per-flow`: each flow opens a connection. D3 and RCPdc have no handshake and
    /// use one flow per message.
    connection: word::<Connection>(), otherwise "\"persistent\" for queries and answers, else \"per-flow\"";
    /// Strict-priority class of all packets (data, acknowledgements, queries, answers) at every port, under any
    /// transport; 0 is the highest. Ports have as many classes as workloads and transports use. D3's grants ignore
    /// classes.
    priority: Integer(0, 3), otherwise "by deadline if its transport has classes, else 0";
};

declare!(words of Connection: "per-flow" = PerFlow, "persistent" = Persistent);
