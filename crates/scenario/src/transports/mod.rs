//! Transports: a file of declarations for each, and an entry in the lists below and in `names.rs`.
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
mod names;
mod pdq;
mod pfabric;
mod sird;
mod tcp;
mod tcp_family;

pub use about::About;
pub(crate) use names::NAMED;
pub use names::{SPELLINGS, TRANSPORTS};

use crate::diagnostic::{Diagnostic, Result};
use crate::keys::{Key, Kind, Table, declare};
use crate::model::{Protocol, Transport};
use crate::names::{NAMES, is_name};
use crate::options::{Configured, Layers, Options};
use crate::place::{Place, complete};
use crate::table::{Reader, tables};
use duetime_proto::window::CongestionControl;
use serde_json::{Value, json};

/// A built-in transport.
struct BuiltIn {
    /// Name in `transport`.
    name: &'static str,
    /// Names of the tables of its options, from the specific to the general.
    layers: &'static [&'static str],
    /// Keys of a `[[variant]]` with this base.
    variant: &'static Table,
    /// Reads its options from the layers.
    read: for<'a> fn(Layers<'_, 'a>) -> Configured<'a, Protocol>,
}

/// Built-in transports, in the order of messages and of the reference page.
const BUILT_IN: [BuiltIn; TRANSPORTS.len()] = [
    BuiltIn::new("tcp", &tcp::OPTIONS, tcp::newreno),
    BuiltIn::new("dctcp", &dctcp::OPTIONS, dctcp::read),
    BuiltIn::new("d2tcp", &d2tcp::OPTIONS, d2tcp::read),
    BuiltIn::new("cubic", &cubic::OPTIONS, cubic::read),
    BuiltIn {
        layers: d3::RCPDC_LAYERS,
        ..BuiltIn::new("rcpdc", &d3::OPTIONS, d3::rcpdc)
    },
    BuiltIn::new("d3", &d3::OPTIONS, d3::read),
    BuiltIn::new("due", &due::OPTIONS, due::read),
    BuiltIn::new("pfabric", &pfabric::OPTIONS, pfabric::read),
    BuiltIn::new("homa", &homa::OPTIONS, homa::read),
    BuiltIn::new("pdq", &pdq::OPTIONS, pdq::read),
    BuiltIn::new("sird", &sird::OPTIONS, sird::read),
    BuiltIn::new("tcp-prio", &tcp::OPTIONS, tcp::newreno),
    BuiltIn {
        layers: d3::RCPDC_LAYERS,
        ..BuiltIn::new("rcpdc-prio", &d3::OPTIONS, d3::rcpdc)
    },
];

impl BuiltIn {
    const fn new<C>(
        name: &'static str,
        options: &'static Options<C>,
        read: for<'a> fn(Layers<'_, 'a>) -> Configured<'a, Protocol>,
    ) -> Self {
        Self {
            name,
            layers: options.layers,
            variant: &options.variant,
            read,
        }
    }
}

/// Keys of a `[[variant]]`, by base.
pub(crate) static VARIANTS: &[(&str, &Table)] = &{
    let mut tables = [("", &PRIORITY); BUILT_IN.len()];
    let mut i = 0;
    while i < tables.len() {
        tables[i] = (BUILT_IN[i].name, BUILT_IN[i].variant);
        i += 1;
    }
    tables
};

/// Tables of options.
pub(crate) const OPTIONS: &[Key] = &[
    options(
        &tcp::OPTIONS.table,
        "TCP, and options shared with DCTCP, D2TCP and CUBIC.",
    ),
    options(
        &dctcp::OPTIONS.table,
        "DCTCP, and options shared with D2TCP.",
    ),
    options(&d2tcp::OPTIONS.table, "D2TCP."),
    options(&cubic::OPTIONS.table, "CUBIC, without ECN."),
    options(&d3::OPTIONS.table, "D3, and options shared with RCPdc."),
    options(&d3::RCPDC, "RCPdc; overrides `[d3]`."),
    options(
        &due::OPTIONS.table,
        "`due`, scheduled by the receiving hosts.",
    ),
    options(
        &pfabric::OPTIONS.table,
        "pFabric, scheduled by the switches.",
    ),
    options(
        &homa::OPTIONS.table,
        "Homa, scheduled by the receiving hosts in eight priority classes.",
    ),
    options(&pdq::OPTIONS.table, "PDQ, scheduled by the switches."),
    options(
        &sird::OPTIONS.table,
        "SIRD, whose receiving hosts issue credit.",
    ),
    options(&PRIORITY, "`tcp-prio` and `rcpdc-prio`."),
];

const fn options(table: &'static Table, doc: &'static str) -> Key {
    Key {
        name: table.name,
        kind: Kind::Table(table),
        default: "defaults below",
        doc,
    }
}

declare! {
    /// Strict priority by deadline for `tcp-prio` and `rcpdc-prio`.
    static PRIORITY: "priority" {
        /// Strict-priority classes at every port.
        classes: Kind::Integer(1, 4), default 2;
    }
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
    fn layers<'l>(
        &'l self,
        base: &BuiltIn,
        variant: Option<&'l Reader<'a>>,
    ) -> Vec<&'l Reader<'a>> {
        let tables = base.layers.iter().rev();
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
    let build = |base: &BuiltIn, variant: Option<&Reader<'_>>| -> Result<Transport> {
        let (protocol, _) = (base.read)(&opened.layers(base, variant))?;
        let priorities = if base.name.ends_with("-prio") {
            classes
        } else {
            protocol.classes()
        };
        Ok(Transport {
            name: base.name.to_owned(),
            protocol,
            priorities,
        })
    };
    let built_in = BUILT_IN.iter().map(|base| build(base, None));
    let mut all = built_in.collect::<Result<Vec<_>>>()?;
    for place in tables(reader, "variant")? {
        let (base, reader) = open_variant(place)?;
        let name_place = reader.need("name")?;
        let name = name_place.str("a name", NAMES)?;
        if !is_name(name) {
            return name_place.refuse("not a name", NAMES);
        }
        if all.iter().any(|other| other.name == name) {
            return name_place.refuse("duplicate name of a transport", "another name");
        }
        let mut transport = build(&base, Some(&reader))?;
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
    let mut add = |base: &BuiltIn, variant: Option<&Reader<'_>>| -> Result<()> {
        let (_, overrides) = (base.read)(&opened.layers(base, variant))?;
        for [key, profile] in overrides {
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
    for base in &BUILT_IN {
        add(base, None)?;
    }
    for place in tables(reader, "variant")? {
        let (base, reader) = open_variant(place)?;
        add(&base, Some(&reader))?;
    }
    Ok(found)
}

/// Opens a `[[variant]]`, and returns its base.
fn open_variant(place: Place<'_>) -> Result<(BuiltIn, Reader<'_>)> {
    let (name, reader) = Reader::open_tagged(place, "base", VARIANTS)?;
    let base = BUILT_IN.into_iter().find(|built_in| built_in.name == name);
    Ok((base.expect("a name of the list"), reader))
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
        Protocol::Tcp(config) => match config.congestion_control {
            CongestionControl::NewReno => tcp::ABOUT,
            CongestionControl::Dctcp(_) => dctcp::ABOUT,
            CongestionControl::D2tcp(..) => d2tcp::ABOUT,
            CongestionControl::Cubic(_) => cubic::ABOUT,
        },
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
    let (family, options) = match &transport.protocol {
        Protocol::Tcp(config) => ("tcp", tcp_family::resolved(config)),
        Protocol::D3(config) => ("d3", d3::resolved(config)),
        Protocol::Due(config) => ("due", due::OPTIONS.resolved(config)),
        Protocol::PFabric(config) => ("pfabric", pfabric::OPTIONS.resolved(config)),
        Protocol::Homa(config) => ("homa", homa::OPTIONS.resolved(config)),
        Protocol::Pdq(config) => ("pdq", pdq::OPTIONS.resolved(config)),
        Protocol::Sird(config) => ("sird", sird::OPTIONS.resolved(config)),
    };
    json!({
        "name": transport.name,
        "priorities": transport.priorities,
        "family": family,
        "options": options,
    })
}

#[cfg(test)]
mod tests {
    use super::{BUILT_IN, NAMED, TRANSPORTS};

    #[test]
    fn lists_have_the_same_transports() {
        assert_eq!(BUILT_IN.map(|built_in| built_in.name), *TRANSPORTS);
        let named: Vec<&str> = NAMED.split('`').skip(1).step_by(2).collect();
        assert_eq!(named.len(), TRANSPORTS.len() + 1, "{named:?}");
        assert!(
            TRANSPORTS.iter().all(|name| named.contains(name)),
            "{named:?}"
        );
    }
}
