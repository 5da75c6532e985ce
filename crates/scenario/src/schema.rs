//! JSON Schema of a scenario file, for editors, generated from the declarations of the keys.

use crate::all_keys::SCENARIO;
use crate::distribution::{DEADLINES, SIZES, TIMES};
use crate::expected::Expected;
use crate::keys::{Kind, Table};
use crate::published::PUBLISHED;
use serde_json::{Map, Value, json};

/// Returns the JSON Schema (draft 2020-12) of a scenario file. It covers all keys and kinds of values. Ranges of
/// quantities are only in comments, because quantities are strings with units.
pub fn json_schema() -> Value {
    let mut schema = table(&SCENARIO, None);
    if let Value::Object(map) = &mut schema {
        map.insert(
            "$schema".to_owned(),
            json!("https://json-schema.org/draft/2020-12/schema"),
        );
        map.insert("title".to_owned(), json!("Duetime scenario"));
    }
    schema
}

fn table(table: &'static Table, tag: Option<(&str, &str)>) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for key in table.all() {
        let mut value = match tag {
            Some((name, value)) if name == key.name => json!({ "const": value }),
            _ => schema_of(&key.kind),
        };
        if let Value::Object(map) = &mut value {
            let default = match key.default {
                "" => String::new(),
                default => format!(" Default: {default}."),
            };
            map.insert(
                "description".to_owned(),
                json!(format!("{}{default}", key.doc)),
            );
        }
        properties.insert(key.name.to_owned(), value);
        if key.default.is_empty() {
            required.push(key.name);
        }
    }
    json!({
        "type": "object",
        "description": table.doc,
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

fn schema_of(kind: &'static Kind) -> Value {
    match kind {
        Kind::Text => json!({ "type": "string" }),
        Kind::Choice(choices) => json!({ "enum": choices }),
        Kind::Boolean => json!({ "type": "boolean" }),
        Kind::Integer(low, high) => json!({ "type": "integer", "minimum": low, "maximum": high }),
        Kind::Number(low, high) => json!({ "type": "number", "minimum": low, "maximum": high }),
        Kind::Share(low, high) => any([
            json!({ "type": "number", "minimum": low, "maximum": high }),
            json!({ "type": "string", "pattern": "%\\s*$" }),
        ]),
        Kind::Time(..) => quantity(kind, "(ps|ns|us|µs|ms|s|min|h)"),
        Kind::Rate(..) => quantity(kind, "[KMGT]?bps"),
        Kind::Size(..) => quantity(kind, "([KMGT]?B|[KMG]iB)"),
        Kind::Amount => quantity(kind, "(packets?|[KMGT]?B|[KMG]iB)"),
        Kind::Frequency => quantity(kind, "(/s|per second)"),
        Kind::Percentile => {
            json!({ "type": "string", "pattern": "^\\s*p[0-9.]+\\s*$", "$comment": allowed(kind) })
        }
        Kind::OutOf => {
            json!({ "type": "string", "pattern": "^\\s*[0-9]+\\s+of\\s+[0-9]+\\s*$", "$comment": allowed(kind) })
        }
        Kind::Gain => {
            json!({ "type": ["string", "number"], "$comment": allowed(kind) })
        }
        Kind::Gap => any([
            json!({ "type": "string", "$comment": allowed(kind) }),
            table(&TIMES, None),
        ]),
        Kind::Sizes => {
            let names: Vec<&str> = PUBLISHED.iter().map(|(name, _)| *name).collect();
            let written = json!({ "type": "string", "examples": names, "$comment": allowed(kind) });
            any([written, table(&SIZES, None)])
        }
        Kind::Deadline => any([
            json!({ "type": "string", "$comment": allowed(kind) }),
            table(&DEADLINES, None),
        ]),
        Kind::List(kind) => json!({ "type": "array", "items": schema_of(kind) }),
        Kind::OneOrMore(kind) => any([
            schema_of(kind),
            json!({ "type": "array", "items": schema_of(kind) }),
        ]),
        Kind::Table(one) => table(one, None),
        Kind::Tagged(tag, tables) => any(tables
            .iter()
            .map(|(name, one)| table(one, Some((tag, name))))),
        Kind::Any(kinds) => any(kinds.iter().map(schema_of)),
        Kind::Open => json!({ "type": ["object", "array"] }),
    }
}

fn allowed(kind: &Kind) -> String {
    Expected::from(kind).to_string()
}

fn any(choices: impl IntoIterator<Item = Value>) -> Value {
    json!({ "anyOf": choices.into_iter().collect::<Vec<_>>() })
}

fn quantity(kind: &Kind, units: &str) -> Value {
    json!({
        "type": "string",
        "pattern": format!("^\\s*[0-9._]+\\s*{units}\\s*$"),
        "$comment": allowed(kind),
    })
}
