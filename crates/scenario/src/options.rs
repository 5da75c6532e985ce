//! Options that are read in layers, each overriding the one before.

use crate::diagnostic::Result;
use crate::keys::{Key, Kind, Table};
use crate::place::{Place, complete};
use crate::table::Reader;
use serde_json::{Map, Value};

/// Tables of the file for a configuration, from the general to the specific.
pub(crate) type Layers<'l, 'a> = &'l [&'l Reader<'a>];

/// Keys that change what a `profile` of the same or a more general layer sets, each with the place of that profile.
pub(crate) type Overrides<'a> = Vec<[Place<'a>; 2]>;

/// Options that were read, and the keys that override a profile.
pub(crate) type Configured<'a, T> = Result<(T, Overrides<'a>)>;

/// Configuration that options set.
pub(crate) trait Configuration: Clone + Default + PartialEq {
    /// Returns the defaults of the file.
    fn start() -> Self {
        Self::default()
    }

    /// Applies the `profile` of a layer, before its keys.
    fn apply(&mut self, _profile: &Place<'_>) -> Result<()> {
        Ok(())
    }

    /// Sets options that follow others and are in no layer, and checks rules that involve several options.
    fn finish(&mut self, _: Layers<'_, '_>) -> Result<()> {
        Ok(())
    }
}

/// Options of a configuration `C`.
pub(crate) struct Options<C: 'static> {
    /// Names of the tables, from the specific to the general.
    pub layers: &'static [&'static str],
    /// Specific table, whose first keys are those of the fields.
    pub table: Table,
    /// Table of a variant.
    pub variant: Table,
    /// Field of each key.
    pub fields: &'static [Field<C>],
}

/// Field of a configuration that a key sets.
pub(crate) struct Field<C> {
    /// Unit in the resolved form; empty: the unit of the kind.
    pub unit: &'static str,
    /// Sets the field from the value.
    pub set: fn(&mut C, &Place<'_>, &'static Kind) -> Result<()>,
    /// Returns the value for the manifest, or `None` if it omits the key.
    pub write: fn(&C) -> Option<Value>,
}

impl<C: Configuration> Options<C> {
    /// Reads the layers over the defaults. Returns `make` of the configuration, and the keys that override a profile.
    pub fn read<'a, T>(
        &self,
        layers: Layers<'_, 'a>,
        make: impl FnOnce(C) -> T,
    ) -> Configured<'a, T> {
        let mut config = C::start();
        let mut profile = None;
        let mut overrides = Vec::new();
        for reader in layers {
            if let Some(found) = reader.find("profile") {
                config.apply(&found)?;
                profile = Some(found);
            }
            for (key, field) in self.fields() {
                let Some(place) = reader.find(key.name) else {
                    continue;
                };
                let before = config.clone();
                (field.set)(&mut config, &place, &key.kind)
                    .map_err(|error| complete(error, &place, &key.kind))?;
                if let Some(profile) = &profile
                    && key.name != "profile"
                    && config != before
                {
                    overrides.push([place, profile.clone()]);
                }
            }
        }
        config.finish(layers)?;
        Ok((make(config), overrides))
    }

    fn fields(&self) -> impl Iterator<Item = (&'static Key, &'static Field<C>)> {
        self.table.keys[0].iter().zip(self.fields)
    }

    /// Returns the resolved form.
    pub fn resolved(&self, config: &C) -> Map<String, Value> {
        let resolved = |(key, field): (&Key, &Field<C>)| {
            Some((key.resolved_name(field.unit), (field.write)(config)?))
        };
        self.fields().filter_map(resolved).collect()
    }
}

/// Returns the most specific value of one of the keys, or of the first of them in the same layer.
pub(crate) fn last<'a>(layers: Layers<'_, 'a>, keys: &[&str]) -> Option<Place<'a>> {
    let find = |reader: &&Reader<'a>| keys.iter().find_map(|key| reader.find(key));
    layers.iter().rev().find_map(find)
}

#[cfg(test)]
impl<C: Configuration + std::fmt::Debug> Options<C> {
    /// Compares each documented default that is a value with the default of the configuration.
    pub fn check_defaults(&self) {
        for (key, field) in self.fields() {
            let line = format!("{} = {}", key.name, key.default);
            let Ok(document) = crate::Document::parse(&line, "default") else {
                continue;
            };
            let mut config = C::start();
            (field.set)(&mut config, &Place::root(&document).at(key.name), &key.kind)
                .unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(config, C::start(), "{line}");
        }
    }
}
