//! The JSON Schema accepts the scenarios, and the reference page is up to date.

#![expect(
    clippy::disallowed_methods,
    reason = "the test reads files, and writes them where the environment says so"
)]

use serde_json::Value;
use std::path::PathBuf;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Checks a value against a schema. Supports only the part of JSON Schema that our schema uses.
fn accepts(schema: &Value, value: &Value) -> Result<(), String> {
    if let Some(choices) = schema["anyOf"].as_array() {
        let errors: Vec<String> = choices
            .iter()
            .filter_map(|choice| accepts(choice, value).err())
            .collect();
        let none = errors.len() == choices.len();
        return if none {
            Err(errors.join(" | "))
        } else {
            Ok(())
        };
    }
    if let Some(expected) = schema.get("const") {
        return if value == expected {
            Ok(())
        } else {
            Err(format!("{value} is not {expected}"))
        };
    }
    if let Some(choices) = schema["enum"].as_array() {
        let known = choices.contains(value);
        return if known {
            Ok(())
        } else {
            Err(format!("{value} is not one of {choices:?}"))
        };
    }
    let kinds = match &schema["type"] {
        Value::String(kind) => vec![kind.as_str()],
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => return Err("a schema without a type".to_owned()),
    };
    let fits = |kind: &str| match kind {
        "string" => value.is_string(),
        "integer" => value.is_i64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => false,
    };
    if !kinds.iter().any(|kind| fits(kind)) {
        return Err(format!("{value} is not {kinds:?}"));
    }
    for (bound, wrong) in [("minimum", -1.0), ("maximum", 1.0)] {
        if let (Some(bound), Some(number)) = (schema[bound].as_f64(), value.as_f64())
            && (number - bound) * wrong > 0.0
        {
            return Err(format!("{number} is beyond {bound}"));
        }
    }
    if let (Some(items), Some(values)) = (schema.get("items"), value.as_array()) {
        values.iter().try_for_each(|value| accepts(items, value))?;
    }
    if let (Some(properties), Some(entries)) = (schema["properties"].as_object(), value.as_object())
    {
        for (key, value) in entries {
            let schema = properties
                .get(key)
                .ok_or_else(|| format!("unknown key {key}"))?;
            accepts(schema, value).map_err(|error| format!("{key}: {error}"))?;
        }
        for required in schema["required"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
        {
            if !entries.contains_key(required) {
                return Err(format!("{required} is missing"));
            }
        }
    }
    Ok(())
}

#[test]
fn schema_accepts_scenarios() {
    let schema = duetime_scenario::json_schema();
    for entry in std::fs::read_dir(root().join("scenarios")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|suffix| suffix != "toml") {
            continue;
        }
        let mut value: Value = toml::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        accepts(&schema, &value).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        value["topology"]["colour"] = "blue".into();
        assert!(accepts(&schema, &value).is_err(), "{}", path.display());
    }
}

#[test]
fn reference_page_is_up_to_date() {
    let path = root().join("docs/scenario.md");
    let page = duetime_scenario::reference();
    if std::env::var_os("UPDATE").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &page).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == page,
        "docs/scenario.md is out of date: run this test with UPDATE=1"
    );
}
