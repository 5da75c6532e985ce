//! What a key is: its kind, range, default and meaning. Each is declared once, where its value is read; the JSON Schema
//! and the reference page are made of the declarations.

use crate::devices::{HOSTS, LAB, RECORD, SWITCH};
use crate::network::TOPOLOGIES;
use crate::options::keys;
use crate::transports;
use crate::workloads::WORKLOADS;

/// A table of the file.
#[derive(Debug)]
pub struct Table {
    /// What it is called in messages and in the reference: `switch`, `workload of kind "oldi"`.
    pub name: &'static str,
    /// What it describes.
    pub doc: &'static str,
    /// Its keys, in groups that tables share.
    pub keys: &'static [&'static [Key]],
}

/// A key of a table.
#[derive(Debug)]
pub struct Key {
    /// As written.
    pub name: &'static str,
    /// What its value may be.
    pub kind: Kind,
    /// What holds when it is absent; empty: it must be there.
    pub default: &'static str,
    /// What it means.
    pub doc: &'static str,
}

/// What a value may be. Bounds are inclusive.
#[derive(Debug)]
pub enum Kind {
    /// Any text.
    Text,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// `true` or `false`.
    Boolean,
    /// A whole number.
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
    /// A table of its own.
    Table(&'static Table),
    /// A table whose keys depend on this one of its keys: `kind`, or a variant's `base`.
    Tagged(&'static str, &'static [(&'static str, &'static Table)]),
    /// Any of these.
    Any(&'static [Kind]),
    /// A table with any keys.
    Open,
}

impl Table {
    /// All keys.
    pub fn all(&self) -> impl Iterator<Item = &'static Key> {
        self.keys.iter().flat_map(|group| group.iter())
    }

    /// The key of that name.
    pub fn key(&self, name: &str) -> Option<&'static Key> {
        self.all().find(|key| key.name == name)
    }
}

pub(crate) const US: u64 = 1_000_000;
pub(crate) const MS: u64 = 1_000 * US;
pub(crate) const S: u64 = 1_000 * MS;
pub(crate) const H: u64 = 3_600 * S;
pub(crate) const TB: u64 = 1_000_000_000_000;

/// A moment of a run.
pub(crate) const INSTANT: Kind = Kind::Time(0, 24 * H);
/// Times that a deadline, a gap or an interval may have.
pub(crate) const SOME_TIME: (u64, u64) = (1_000, H);
/// Times that a computation or a jitter may have.
pub(crate) const ANY_TIME: (u64, u64) = (0, H);
/// Sizes that a flow may have.
pub(crate) const FLOW_SIZE: (u64, u64) = (1, TB);
/// Memory that a switch may have.
pub(crate) const POOL: (u64, u64) = (1_500, 100_000_000_000);
/// Packets that a port may hold, or at which it marks.
pub(crate) const PACKETS_RANGE: (u64, u64) = (1, 10_000_000);
/// Flows per second, in thousandths.
pub(crate) const FREQUENCY_RANGE: (u64, u64) = (1, 1_000_000_000_000);

/// Most runs per transport.
pub const MOST_SEEDS: u32 = 1_000_000;

/// The whole file.
pub static SCENARIO: Table = Table {
    name: "scenario",
    doc: "The file's own keys, before any table.",
    keys: &[
        keys! {
            /// Names the run folder: letters, digits, `-` and `_`.
            name: Kind::Text, otherwise "the file's name";
        },
        &[Key {
            name: "transport",
            kind: Kind::OneOrMore(&Kind::Text),
            default: "",
            doc: transports::NAMED,
        }],
        keys! {
            /// Runs per transport; the same seeds for each.
            seeds: Kind::Integer(1, MOST_SEEDS as i64), default 1;
            /// Root of all random streams.
            seed: Kind::Integer(0, i64::MAX), default 1;
            /// Flows that start earlier do not count.
            warm_up: INSTANT, default "0 us";
            /// Sources stop here; flows that start later do not count. Must be given where a source never stops by
            /// itself.
            duration: Kind::Time(1_000, 24 * H),
                otherwise "for bursts, permutations and traces: 1 ms after the last start";
            /// The run ends this long after `duration`, should measured flows still be unfinished.
            drain: INSTANT, otherwise "\"10 s\"; \"100 s\" where `duration` is not given";
            /// The network.
            topology: Kind::Tagged("kind", TOPOLOGIES);
            /// The ports of all switches.
            switch: Kind::Table(&SWITCH), otherwise "the defaults below";
            /// The hosts.
            host: Kind::Table(&HOSTS), otherwise "the defaults below";
            /// What the hosts do: one `[[workload]]` or more.
            workload: Kind::List(&Kind::Tagged("kind", WORKLOADS));
            /// What is recorded beside flows and queries.
            record: Kind::Table(&RECORD), otherwise "the defaults below";
            /// How the testbed runs it.
            lab: Kind::Table(&LAB), otherwise "the defaults below";
        },
        transports::OPTIONS,
        keys! {
            /// Further transports: a `base` with some keys changed.
            variant: Kind::List(&Kind::Tagged("base", transports::VARIANTS)), otherwise "none";
            /// Axes of `duetime sweep`: `workload.fan_in = [10, 20, 40]`.
            sweep: Kind::Open, otherwise "none";
        },
    ],
};
