//! Keys of a scenario file: kind, range, default and meaning.
//!
//! Each key is declared once, where its value is read. The JSON Schema and the reference page are generated from the
//! declarations.

use crate::devices::{HOSTS, LAB, RECORD, SWITCH};
use crate::network::TOPOLOGIES;
use crate::options::keys;
use crate::transports;
use crate::workloads::WORKLOADS;

/// Table of the file.
#[derive(Debug)]
pub struct Table {
    /// Name in messages and in the reference: `switch`, `workload of kind "oldi"`.
    pub name: &'static str,
    /// Description.
    pub doc: &'static str,
    /// Keys, in groups that several tables may share.
    pub keys: &'static [&'static [Key]],
}

/// Key of a table.
#[derive(Debug)]
pub struct Key {
    /// Name as written.
    pub name: &'static str,
    /// Kind of the value.
    pub kind: Kind,
    /// Default, as a TOML value or in words; empty if the key is required.
    pub default: &'static str,
    /// Meaning.
    pub doc: &'static str,
}

/// Kind of a value. Bounds are inclusive.
#[derive(Debug)]
pub enum Kind {
    /// Any text.
    Text,
    /// One of the given words.
    Choice(&'static [&'static str]),
    /// `true` or `false`.
    Boolean,
    /// An integer.
    Integer(i64, i64),
    /// A number.
    Number(f64, f64),
    /// A number or a percentage.
    Share(f64, f64),
    /// A time in picoseconds, written with its unit.
    Time(u64, u64),
    /// A rate in bits per second, written with its unit.
    Rate(u64, u64),
    /// A size in bytes, written with its unit.
    Size(u64, u64),
    /// An amount of queue: packets or bytes, written with its unit.
    Amount,
    /// Flows per second.
    Frequency,
    /// A percentile, such as `p95`.
    Percentile,
    /// A number of answers out of all, such as `10 of 14`.
    OutOf,
    /// A random or fixed time.
    Gap,
    /// A distribution of flow sizes.
    Sizes,
    /// A distribution of deadlines.
    Deadline,
    /// A fraction 1/2^n.
    Gain,
    /// A list.
    List(&'static Kind),
    /// One value, or a list.
    OneOrMore(&'static Kind),
    /// A table.
    Table(&'static Table),
    /// A table whose keys depend on the value of the named key: `kind`, or `base` of a variant.
    Tagged(&'static str, &'static [(&'static str, &'static Table)]),
    /// Any of the given kinds.
    Any(&'static [Kind]),
    /// A table with any keys.
    Open,
}

impl Table {
    /// Returns all keys.
    pub fn all(&self) -> impl Iterator<Item = &'static Key> {
        self.keys.iter().flat_map(|group| group.iter())
    }

    /// Returns the key of that name.
    pub fn key(&self, name: &str) -> Option<&'static Key> {
        self.all().find(|key| key.name == name)
    }
}

pub(crate) const US: u64 = 1_000_000;
pub(crate) const MS: u64 = 1_000 * US;
pub(crate) const S: u64 = 1_000 * MS;
pub(crate) const H: u64 = 3_600 * S;
pub(crate) const TB: u64 = 1_000_000_000_000;

/// Range of a time in a run.
pub(crate) const INSTANT: Kind = Kind::Time(0, 24 * H);
/// Range of deadlines, gaps and intervals.
pub(crate) const SOME_TIME: (u64, u64) = (1_000, H);
/// Range of computations and jitters.
pub(crate) const ANY_TIME: (u64, u64) = (0, H);
/// Range of flow sizes.
pub(crate) const FLOW_SIZE: (u64, u64) = (1, TB);
/// Range of a switch's memory.
pub(crate) const POOL: (u64, u64) = (1_500, 100_000_000_000);
/// Range of buffers and ECN thresholds in packets.
pub(crate) const PACKETS_RANGE: (u64, u64) = (1, 10_000_000);
/// Range of frequencies, in thousandths per second.
pub(crate) const FREQUENCY_RANGE: (u64, u64) = (1, 1_000_000_000_000);

/// Maximum number of runs per transport.
pub const MOST_SEEDS: u32 = 1_000_000;

/// The whole file.
pub static SCENARIO: Table = Table {
    name: "scenario",
    doc: "Keys before the first table of the file.",
    keys: &[
        keys! {
            /// Name of the run folder: letters, digits, `-` and `_`.
            name: Kind::Text, otherwise "the file's name";
        },
        &[Key {
            name: "transport",
            kind: Kind::OneOrMore(&Kind::Text),
            default: "",
            doc: transports::NAMED,
        }],
        keys! {
            /// Runs per transport. All transports use the same seeds.
            seeds: Kind::Integer(1, MOST_SEEDS as i64), default 1;
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
            switch: Kind::Table(&SWITCH), otherwise "defaults below";
            /// All hosts.
            host: Kind::Table(&HOSTS), otherwise "defaults below";
            /// Traffic: one or more `[[workload]]`.
            workload: Kind::List(&Kind::Tagged("kind", WORKLOADS));
            /// Records in addition to flows and queries.
            record: Kind::Table(&RECORD), otherwise "defaults below";
            /// Options of the testbed.
            lab: Kind::Table(&LAB), otherwise "defaults below";
        },
        transports::OPTIONS,
        keys! {
            /// Additional transports: a `base` with changed keys.
            variant: Kind::List(&Kind::Tagged("base", transports::VARIANTS)), otherwise "none";
            /// Axes of `duetime sweep`, such as `workload.fan_in = [10, 20, 40]`.
            sweep: Kind::Open, otherwise "none";
        },
    ],
};
