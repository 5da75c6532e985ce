//! Intensity of flows: `load`, or another key.

use crate::diagnostic::Result;
use crate::table::Reader;
use crate::values::Readable;

/// Reads the intensity of flows from `load` or from the key `other`, of which `example` is a value.
pub(super) fn load_or<T, Other: Readable>(
    reader: &Reader<'_>,
    other: &'static str,
    example: &str,
    at_load: fn(f64) -> T,
    given: fn(Other) -> T,
) -> Result<T> {
    match (reader.value("load")?, reader.get(other)) {
        (Some(load), None) => Ok(at_load(load)),
        (None, Some(_)) => reader.read(other, None, Other::read).map(given),
        (None, None) => {
            let allowed = format!("one of `load`, such as 0.15, and `{other}`, such as {example}");
            Err(reader.missing("load").allowed(allowed))
        }
        (Some(_), Some(place)) => place.refuse(format!("both `load` and `{other}`"), "one of them"),
    }
}
