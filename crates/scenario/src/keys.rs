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

/// Declares keys, tables, the options of a transport, or words.
///
/// ```text
/// // A `&[Key]`. `default` is a TOML value, and `otherwise` describes the default in words; a key with neither is
/// // required. The comments are for the reference page and for messages.
/// declare! {
///     /// Runs per transport.
///     seeds: Integer(1, 1_000), default 1;
///     /// Name of the run folder.
///     name: Text, otherwise "the file's name";
/// }
/// // A `Table` whose keys follow those of `COMMON`, the `Codec` of a struct, and that of a variant of an enum. A field
/// // has the value of the key with its name, or is read with a function of the `Reader` and this name.
/// declare! {
///     /// Recorded traffic.
///     static TRACE: "workload of kind \"trace\"" after COMMON { … }
///     /// Full-duplex link.
///     pub(crate) static LINK: "link" { … } for Link { rate, latency, loss: either_way }
///     /// All hosts on one switch.
///     static STAR: "topology of kind \"star\"" { … } for Topology::Star { hosts, link }
/// }
/// // The `OPTIONS` of `[cubic]`, which override those of `[tcp]`. A key sets the field of its name, or a `field`, to a
/// // value that is `Readable` or that a function `read`s. `unit` is the suffix of the name in the resolved form, if the
/// // kind does not imply it. A key that is not exactly one field is set `by` a `Field`.
/// declare! {
///     /// CUBIC.
///     cubic over tcp for Cubic {
///         /// Share of the window kept after a loss.
///         beta: Number(0.1, 0.9), default 0.7, unit "permille", field curve.beta_permille, read thousandths;
///         /// Sets all options.
///         profile: Choice(PROFILES), default "linux", by PROFILE;
///     }
/// }
/// declare!(words of Nic: "pull" = Pull, "fifo" = Fifo);
/// ```
macro_rules! declare {
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
    ($(
        $(#[doc = $doc:literal])+
        $vis:vis static $table:ident : $name:literal $(after $common:ident)? { $($keys:tt)+ }
        $(for $type:ident $(:: $variant:ident)? { $($fields:tt)+ })?
    )+) => {$(
        declare! {
            @table $vis $table [$($type $(:: $variant)? { $($fields)+ })?] $crate::keys::Table {
                name: $name,
                doc: $crate::keys::sentence(concat!($($doc),+)),
                keys: &[$($common,)? declare!($($keys)+)],
            }
        }
    )+};
    (@table $vis:vis $table:ident [] $value:expr) => {
        $vis static $table: $crate::keys::Table = $value;
    };
    // Fields of a struct.
    (@table $vis:vis $codec:ident [$type:ident { $($fields:tt)+ }] $table:expr) => {
        declare! { @table $vis $codec [$type:: { $($fields)+ }] $table }

        impl $crate::values::Readable for $type {
            fn read(place: &$crate::place::Place<'_>, _: &$crate::keys::Kind) -> $crate::diagnostic::Result<Self> {
                $codec.open(place)
            }
        }

        impl $crate::values::Resolved for $type {
            fn resolved(&self) -> serde_json::Value {
                $codec.resolved(self).expect("a struct has one table")
            }
        }
    };
    // Fields of a variant, or of a struct without `Readable` and `Resolved`.
    (@table $vis:vis $codec:ident [$type:ident :: $($variant:ident)? { $($field:ident $(: $read:expr)?),+ }] $table:expr) => {
        $vis static $codec: $crate::codec::Codec<$type> = $crate::codec::Codec {
            table: &$table,
            read: |reader| Ok($type $(:: $variant)? {
                $($field: reader.field(stringify!($field), declare!(@or [$($read)?] [$crate::table::Reader::value]))?),+
            }),
            write: |value| match value {
                $type $(:: $variant)? { $($field),+ } => {
                    Some(vec![$((stringify!($field), $crate::values::Resolved::resolved($field))),+])
                }
                #[allow(unreachable_patterns, reason = "a struct has one table")]
                _ => None,
            },
        };
    };
    (
        $(#[doc = $about:literal])+
        $transport:ident $(over $($general:ident),+)? for $config:ty { $(
            $(#[doc = $doc:literal])+
            $key:ident : $kind:expr $(, default $default:literal)? $(, otherwise $otherwise:literal)?
                $(, unit $unit:literal)? $(, field $($path:ident).+)? $(, read $read:path)? $(, by $by:expr)?;
        )+ }
    ) => {
        /// Options of the transport.
        pub(crate) static OPTIONS: $crate::options::Options<$config> = {
            const KEYS: &[$crate::keys::Key] = declare!($(
                $(#[doc = $doc])+ $key: $kind $(, default $default)? $(, otherwise $otherwise)?;
            )+);
            $crate::options::Options {
                layers: &[stringify!($transport) $($(, stringify!($general))+)?],
                table: $crate::keys::Table {
                    name: stringify!($transport),
                    doc: $crate::keys::sentence(concat!($($about),+)),
                    keys: &[KEYS $($(, super::$general::OPTIONS.table.keys[0])+)?],
                },
                variant: $crate::keys::Table {
                    name: concat!("variant of ", stringify!($transport)),
                    doc: concat!("Keys of `[", stringify!($transport), "]`."),
                    keys: &[super::names::VARIANT_KEYS, KEYS $($(, super::$general::OPTIONS.table.keys[0])+)?],
                },
                fields: &[$(declare!(@or [$($by)?] [$crate::options::Field {
                    unit: concat!($($unit)?),
                    set: |config, place, kind| {
                        declare!(@or [$(config.$($path).+)?] [config.$key]) =
                            declare!(@or [$($read)?] [$crate::values::Readable::read])(place, kind)?;
                        Ok(())
                    },
                    write: |config| {
                        Some($crate::values::Resolved::resolved(&declare!(@or [$(config.$($path).+)?] [config.$key])))
                    },
                }])),+],
            }
        };

        #[cfg(test)]
        #[test]
        fn documented_defaults_are_those_in_use() {
            OPTIONS.check_defaults();
        }
    };
    (words of $type:ident: $($word:literal = $variant:ident),+) => {
        impl $crate::values::Words for $type {
            const WORDS: &'static [&'static str] = &[$($word),+];
            const VARIANTS: &'static [Self] = &[$(Self::$variant),+];
        }
    };
    // The first tokens, or the others if there are none.
    (@or [] [$($otherwise:tt)+]) => { $($otherwise)+ };
    (@or [$($given:tt)+] $otherwise:tt) => { $($given)+ };
}
pub(crate) use declare;

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
