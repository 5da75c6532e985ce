//! Types that declare keys of a scenario file: kind, range, default and meaning.
//!
//! Each key is declared once, where its value is read. The JSON Schema and the reference page are generated from the
//! declarations. [`SCENARIO`](crate::SCENARIO) collects all of them.

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

impl Key {
    /// Returns the name in the resolved form, which ends in `unit`, or in the unit of the kind if `unit` is empty.
    pub(crate) fn resolved_name(&self, unit: &str) -> String {
        let unit = match self.kind {
            _ if !unit.is_empty() => unit,
            Kind::Time(..) => "ps",
            Kind::Size(..) => "bytes",
            Kind::Rate(..) => "bps",
            _ => return self.name.to_owned(),
        };
        format!("{}_{unit}", self.name)
    }
}

/// Declares keys without fields. `default` is a TOML value and `otherwise` describes the default in words.
macro_rules! keys {
    ($(
        $(#[doc = $doc:literal])+
        $key:ident : $kind:expr $(, default $default:literal)? $(, otherwise $otherwise:literal)?;
    )+) => {
        &[$($crate::keys::Key {
            name: stringify!($key),
            kind: $kind,
            default: concat!($(stringify!($default))? $($otherwise)?),
            doc: $crate::keys::sentence(concat!($($doc),+)),
        }),+]
    };
}
pub(crate) use keys;

/// Returns the documentation of a declaration without its leading space.
pub(crate) const fn sentence(doc: &'static str) -> &'static str {
    doc.split_at(1).1
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
pub const MAX_SEEDS: u32 = 1_000_000;
