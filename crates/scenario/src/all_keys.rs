//! Table of all keys of a scenario file.

use crate::devices::{HOSTS, LAB, RECORD, SWITCH};
use crate::keys::{H, INSTANT, Key, Kind, MAX_SEEDS, Table, declare};
use crate::network::TOPOLOGIES;
use crate::transports;
use crate::workloads::WORKLOADS;

/// The whole file.
pub static SCENARIO: Table = Table {
    name: "scenario",
    doc: "Keys before the first table of the file.",
    keys: &[
        declare! {
            /// Name of the run folder: letters, digits, `-` and `_`.
            name: Kind::Text, otherwise "the file's name";
        },
        &[Key {
            name: "transport",
            kind: Kind::OneOrMore(&Kind::Text),
            default: "",
            doc: transports::NAMED,
        }],
        declare! {
            /// Runs per transport. All transports use the same seeds.
            seeds: Kind::Integer(1, MAX_SEEDS as i64), default 1;
            /// Seed of all random streams.
            seed: Kind::Integer(0, i64::MAX), default 1;
            /// Flows that start earlier are not measured.
            warm_up: INSTANT, default "0 us";
            /// Time at which sources stop; later flows are not measured. Required if a workload does not end by itself.
            duration: Kind::Time(1_000, 24 * H),
                otherwise "1 ms after the last start, if all workloads are bursts, permutations or traces";
            /// Maximum time after `duration` to wait for unfinished measured flows.
            drain: INSTANT, otherwise "\"10 s\"; \"100 s\" without `duration`";
            /// Network.
            topology: Kind::Tagged("kind", TOPOLOGIES);
            /// Ports of all switches.
            switch: Kind::Table(SWITCH.table), otherwise "defaults below";
            /// All hosts.
            host: Kind::Table(HOSTS.table), otherwise "defaults below";
            /// Traffic: one or more `[[workload]]`.
            workload: Kind::List(&Kind::Tagged("kind", WORKLOADS));
            /// Records in addition to flows and queries.
            record: Kind::Table(RECORD.table), otherwise "defaults below";
            /// Options of the testbed.
            lab: Kind::Table(LAB.table), otherwise "defaults below";
        },
        transports::OPTIONS,
        declare! {
            /// Additional transports: a `base` with changed keys.
            variant: Kind::List(&Kind::Tagged("base", transports::VARIANTS)), otherwise "none";
            /// Axes of `duetime sweep`, such as `workload.fan_in = [10, 20, 40]`.
            sweep: Kind::Open, otherwise "none";
        },
    ],
};
