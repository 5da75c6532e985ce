//! Transports: a file of declarations for each, and a line in the list below.
//!
//! Options start from the defaults of `proto`. The tables override them, from the general to the specific, and finally
//! a variant's own keys.

mod about;
mod cubic;
mod d2tcp;
mod d3;
mod dctcp;
mod describe;
mod due;
mod homa;
mod pdq;
mod pfabric;
mod sird;
mod tcp;

pub use about::About;

use crate::diagnostic::{Diagnostic, Result};
use crate::keys::{Key, Kind, Table, keys};
use crate::model::{Protocol, Transport};
use crate::names::{NAMES, is_name};
use crate::options::Layers;
use crate::place::{Place, complete};
use crate::table::{Reader, tables};
use duetime_proto::window::CongestionControl;
use serde_json::{Map, Value, json};

/// Table of a variant of a transport: its own keys and the options of its base.
macro_rules! variant {
    ($base:ident) => {
        Table {
            name: concat!("variant of ", stringify!($base)),
            doc: concat!("Keys of `[", stringify!($base), "]`."),
            keys: &with_variant_keys::<{ $base::TABLE.keys.len() + 1 }>($base::TABLE.keys),
        }
    };
}

/// Lists the window protocols: module, name in the resolved form, and congestion controller with the modules that
/// declare its parts. Messages and the reference page use this order.
macro_rules! transports {
    ($(
        $(#[doc = $doc:literal])+
        $name:ident $($also:literal)? = $kind:literal $controller:ident $(($($part:ident: $module:ident),+))?;
    )+) => {
        /// Built-in transports.
        pub const TRANSPORTS: &[&str] = &[$(stringify!($name),)+ "rcpdc", "d3", "due", "pfabric", "homa", "pdq", "sird", "tcp-prio", "rcpdc-prio"];

        /// Documentation of `transport`, with all names.
        pub(crate) const NAMED: &str = concat!(
            "Transports to compare: ", $("`", stringify!($name), "`, ",)+
            "`d3`, `rcpdc`, `due`, `pfabric`, `homa`, `pdq`, `sird`, `tcp-prio`, `rcpdc-prio`, or the name of a `[[variant]]`."
        );

        /// Tables of options.
        pub(crate) const OPTIONS: &[Key] = &[
            $(options(stringify!($name), &$name::TABLE, crate::keys::sentence(concat!($($doc),+))),)+
            options("d3", &d3::TABLE, "D3, and options shared with RCPdc."),
            options("rcpdc", &d3::RCPDC, "RCPdc; overrides `[d3]`."),
            options("due", &due::TABLE, "`due`, scheduled by the receiving hosts."),
            options("pfabric", &pfabric::TABLE, "pFabric, scheduled by the switches."),
            options("homa", &homa::TABLE, "Homa, scheduled by the receiving hosts in eight priority classes."),
            options("pdq", &pdq::TABLE, "PDQ, scheduled by the switches."),
            options("sird", &sird::TABLE, "SIRD, whose receiving hosts issue credit."),
            options("priority", &PRIORITY, "`tcp-prio` and `rcpdc-prio`."),
        ];

        /// Keys of a `[[variant]]`, by base.
        pub(crate) static VARIANTS: &[(&str, &Table)] = &[
            $((stringify!($name), &variant!($name)), $(($also, &variant!($name)),)?)+
            ("d3", &variant!(d3)),
            ("rcpdc", &variant!(d3)),
            ("rcpdc-prio", &variant!(d3)),
            ("due", &variant!(due)),
            ("pfabric", &variant!(pfabric)),
            ("homa", &variant!(homa)),
            ("pdq", &variant!(pdq)),
            ("sird", &variant!(sird)),
        ];

        /// Returns the tables that configure a transport, from the specific to the general.
        fn layers_of(base: &str) -> &'static [&'static str] {
            match base {
                $(stringify!($name) $(| $also)? => $name::LAYERS,)+
                "d3" => d3::LAYERS,
                "due" => due::LAYERS,
                "pfabric" => pfabric::LAYERS,
                "homa" => homa::LAYERS,
                "pdq" => pdq::LAYERS,
                "sird" => sird::LAYERS,
                _ => &["rcpdc", "d3"],
            }
        }

        /// Returns the congestion controller of a window protocol, or `None` for other transports.
        fn controller(base: &str, layers: Layers<'_, '_>) -> Result<Option<CongestionControl>> {
            Ok(match base {
                $(stringify!($name) $(| $also)? => {
                    Some(CongestionControl::$controller $(($($module::OPTIONS.over(layers)?),+))?)
                })+
                _ => None,
            })
        }

        /// Returns the keys of a window protocol that change what a `profile` sets, or `None` for other transports.
        fn window_profile_overrides<'a>(base: &str, layers: Layers<'_, 'a>) -> Result<Option<Vec<[Place<'a>; 2]>>> {
            Ok(match base {
                $(stringify!($name) $(| $also)? => Some([
                    tcp::OPTIONS.profile_overrides(layers)?,
                    $($($module::OPTIONS.profile_overrides(layers)?,)+)?
                ].concat()),)+
                _ => None,
            })
        }

        /// Returns the description of a window protocol.
        const fn about_window(controller: &CongestionControl) -> About {
            match controller {
                $(CongestionControl::$controller { .. } => $name::ABOUT,)+
            }
        }

        fn resolved_controller(controller: &CongestionControl) -> Value {
            match controller {
                $(CongestionControl::$controller $(($($part),+))? => json!({
                    "kind": $kind $($(, stringify!($part): $module::OPTIONS.resolved($part))+)?
                }),)+
            }
        }
    };
}

transports! {
    /// TCP, and options shared with DCTCP, D2TCP and CUBIC.
    tcp "tcp-prio" = "newreno" NewReno;
    /// DCTCP, and options shared with D2TCP.
    dctcp = "dctcp" Dctcp(marks: dctcp);
    /// D2TCP.
    d2tcp = "d2tcp" D2tcp(marks: dctcp, deadlines: d2tcp);
    /// CUBIC, without ECN.
    cubic = "cubic" Cubic(curve: cubic);
}

const fn options(name: &'static str, table: &'static Table, doc: &'static str) -> Key {
    Key {
        name,
        kind: Kind::Table(table),
        default: "defaults below",
        doc,
    }
}

static PRIORITY: Table = Table {
    name: "priority",
    doc: "Strict priority by deadline for `tcp-prio` and `rcpdc-prio`.",
    keys: &[keys! {
        /// Strict-priority classes at every port.
        classes: Kind::Integer(1, 4), default 2;
    }],
};

/// Keys of a variant in addition to the options of its base.
const VARIANT_KEYS: &[Key] = keys! {
    /// Name in `transport`, tables and folders.
    name: Kind::Text;
    /// Transport that the variant changes.
    base: Kind::Choice(TRANSPORTS);
    /// Strict-priority classes at every port.
    classes: Kind::Integer(1, 8), otherwise "those of its base";
};

/// Returns the keys of a variant, followed by the options of its base. `N` is one more than the groups of options.
const fn with_variant_keys<const N: usize>(
    options: &'static [&'static [Key]],
) -> [&'static [Key]; N] {
    let mut all = [VARIANT_KEYS; N];
    let mut group = 1;
    while group < N {
        all[group] = options[group - 1];
        group += 1;
    }
    all
}

/// Tables of options that the file has.
struct OptionTables<'a>(Vec<(&'static str, Reader<'a>)>);

impl<'a> OptionTables<'a> {
    fn open(reader: &Reader<'a>) -> Result<Self> {
        let mut opened = Vec::new();
        for key in OPTIONS {
            if let (Some(place), Kind::Table(table)) = (reader.get(key.name), &key.kind) {
                opened.push((key.name, Reader::open(place, table)?));
            }
        }
        Ok(Self(opened))
    }

    fn get(&self, name: &str) -> Option<&Reader<'a>> {
        let mut opened = self.0.iter();
        opened.find_map(|(table, reader)| (*table == name).then_some(reader))
    }

    /// Returns the tables that configure a transport, from the general to the specific.
    fn layers<'l>(&'l self, base: &str, variant: Option<&'l Reader<'a>>) -> Vec<&'l Reader<'a>> {
        let tables = layers_of(base).iter().rev();
        tables
            .filter_map(|name| self.get(name))
            .chain(variant)
            .collect()
    }
}

/// Reads all transports that the file can name: the built-in ones and its variants.
pub(crate) fn all(reader: &Reader<'_>) -> Result<Vec<Transport>> {
    let opened = OptionTables::open(reader)?;
    let classes = (opened.get("priority")).map_or(Ok(2), |reader| reader.value("classes"))?;
    let build = |base: &str, variant: Option<&Reader<'_>>| -> Result<Transport> {
        let protocol = protocol(base, &opened.layers(base, variant))?;
        let priorities = if base.ends_with("-prio") {
            classes
        } else {
            protocol.classes()
        };
        Ok(Transport {
            name: base.to_owned(),
            protocol,
            priorities,
        })
    };
    let built_in = TRANSPORTS.iter().map(|name| build(name, None));
    let mut all = built_in.collect::<Result<Vec<_>>>()?;
    for place in tables(reader, "variant")? {
        let (base, reader) = Reader::open_tagged(place, "base", VARIANTS)?;
        let name_place = reader.need("name")?;
        let name = name_place.str("a name", NAMES)?;
        if !is_name(name) {
            return name_place.refuse("not a name", NAMES);
        }
        if all.iter().any(|other| other.name == name) {
            return name_place.refuse("duplicate name of a transport", "another name");
        }
        let mut transport = build(base, Some(&reader))?;
        name.clone_into(&mut transport.name);
        if let Some(classes) = reader.value("classes")? {
            if classes > 1 && transport.protocol.replaces_buffers() {
                let place = reader.need("classes")?;
                return place.refuse(
                    "the switches of pFabric have no classes",
                    "1, or another `base`",
                );
            }
            let min = transport.protocol.min_classes();
            if classes < min {
                let message = format!("the options of `{name}` need {min} classes");
                return reader
                    .need("classes")?
                    .refuse(message, format!("{min} to 8"));
            }
            transport.priorities = classes;
        }
        all.push(transport);
    }
    Ok(all)
}

fn protocol(base: &str, layers: Layers<'_, '_>) -> Result<Protocol> {
    Ok(match controller(base, layers)? {
        Some(congestion_control) => Protocol::Tcp(duetime_proto::tcp::Config {
            congestion_control,
            ..tcp::OPTIONS.over(layers)?
        }),
        None if base == "due" => Protocol::Due(due::OPTIONS.over(layers)?),
        None if base == "pfabric" => Protocol::PFabric(pfabric::OPTIONS.over(layers)?),
        None if base == "homa" => Protocol::Homa(homa::OPTIONS.over(layers)?),
        None if base == "pdq" => Protocol::Pdq(pdq::OPTIONS.over(layers)?),
        None if base == "sird" => Protocol::Sird(sird::OPTIONS.over(layers)?),
        None => Protocol::D3(
            d3::OPTIONS
                .over(layers)?
                .with(|config| config.host.ignore_deadlines = base != "d3"),
        ),
    })
}

/// A key of a transport that changes what a profile sets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProfileOverride {
    /// Path of the key, such as `tcp.rto_min`.
    pub key: String,
    /// Path of the profile, such as `tcp.profile`.
    pub profile: String,
    /// Name of the profile, such as `paper`.
    pub name: String,
}

/// Returns the keys that change what a profile of the file sets, each once, for all transports that the file can name.
pub(crate) fn profile_overrides(reader: &Reader<'_>) -> Result<Vec<ProfileOverride>> {
    let opened = OptionTables::open(reader)?;
    let mut found = Vec::new();
    let mut add = |base: &str, variant: Option<&Reader<'_>>| -> Result<()> {
        let layers = opened.layers(base, variant);
        let places = match window_profile_overrides(base, &layers)? {
            Some(places) => places,
            None if matches!(base, "due" | "pfabric" | "homa" | "pdq" | "sird") => return Ok(()),
            None => d3::OPTIONS.profile_overrides(&layers)?,
        };
        for [key, profile] in places {
            let overridden = ProfileOverride {
                key: key.path,
                name: profile.node.str().unwrap_or_default().to_owned(),
                profile: profile.path,
            };
            if !found.contains(&overridden) {
                found.push(overridden);
            }
        }
        Ok(())
    };
    for name in TRANSPORTS {
        add(name, None)?;
    }
    for place in tables(reader, "variant")? {
        let (base, reader) = Reader::open_tagged(place, "base", VARIANTS)?;
        add(base, Some(&reader))?;
    }
    Ok(found)
}

/// Reads the transports that `transport` lists.
pub(crate) fn compared(reader: &Reader<'_>, all: &[Transport]) -> Result<Vec<Transport>> {
    let mut compared: Vec<Transport> = Vec::new();
    let whole = |error: Diagnostic| match reader.get("transport") {
        Some(place) => complete(error, &place, &Kind::OneOrMore(&Kind::Text)),
        None => error,
    };
    for (name, place) in reader.needed("transport", Reader::texts).map_err(whole)? {
        let transport = find(name, &place, all).map_err(whole)?;
        if compared.iter().any(|other| other.name == name) {
            return place.refuse("listed twice", "each transport once");
        }
        compared.push(transport);
    }
    if compared.is_empty() {
        return reader
            .need("transport")?
            .refuse("an empty list", "at least one transport");
    }
    Ok(compared)
}

/// Returns the transport of that name.
pub(crate) fn find(name: &str, place: &Place<'_>, all: &[Transport]) -> Result<Transport> {
    let names: Vec<&str> = all
        .iter()
        .map(|transport| transport.name.as_str())
        .collect();
    Ok(all[place.one_of(name, &names, "no such transport")?].clone())
}

/// Returns the description of a protocol.
const fn about_protocol(protocol: &Protocol) -> About {
    match protocol {
        Protocol::Tcp(config) => about_window(&config.congestion_control),
        Protocol::D3(config) => d3::about(config),
        Protocol::Due(_) => due::ABOUT,
        Protocol::PFabric(_) => pfabric::ABOUT,
        Protocol::Homa(_) => homa::ABOUT,
        Protocol::Pdq(_) => pdq::ABOUT,
        Protocol::Sird(_) => sird::ABOUT,
    }
}

/// Returns the transport as stored in the manifest.
pub(crate) fn resolved(transport: &Transport) -> Value {
    let mut options: Map<String, Value>;
    let family = match &transport.protocol {
        Protocol::Tcp(config) => {
            options = tcp::OPTIONS.resolved(config);
            options.insert(
                "congestion_control".to_owned(),
                resolved_controller(&config.congestion_control),
            );
            "tcp"
        }
        Protocol::D3(config) => {
            options = d3::OPTIONS.resolved(config);
            options.insert(
                "ignore_deadlines".to_owned(),
                config.host.ignore_deadlines.into(),
            );
            "d3"
        }
        Protocol::Due(config) => {
            options = due::OPTIONS.resolved(config);
            "due"
        }
        Protocol::PFabric(config) => {
            options = pfabric::OPTIONS.resolved(config);
            "pfabric"
        }
        Protocol::Homa(config) => {
            options = homa::OPTIONS.resolved(config);
            "homa"
        }
        Protocol::Pdq(config) => {
            options = pdq::OPTIONS.resolved(config);
            "pdq"
        }
        Protocol::Sird(config) => {
            options = sird::OPTIONS.resolved(config);
            "sird"
        }
    };
    json!({
        "name": transport.name,
        "priorities": transport.priorities,
        "family": family,
        "options": options,
    })
}
