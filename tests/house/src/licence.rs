//! SPDX licence expressions against the list in `deny.toml`.

use std::fs;

/// The identifiers under `[licenses] allow` in `deny.toml`.
pub fn allowed_licences() -> Vec<String> {
    let text = fs::read_to_string(crate::root().join("deny.toml")).expect("deny.toml is there");
    let table: toml::Table = text.parse().expect("deny.toml is TOML");
    let allow = table["licenses"]["allow"]
        .as_array()
        .expect("licenses.allow is a list");
    allow
        .iter()
        .map(|name| name.as_str().expect("a licence is a string").to_owned())
        .collect()
}

/// Whether `expression` can be met with `allowed` alone. The old `A/B` is read as `A OR B`.
pub fn is_allowed(expression: &str, allowed: &[String]) -> bool {
    let spaced = expression
        .replace('/', " OR ")
        .replace('(', " ( ")
        .replace(')', " ) ");
    let mut words: Vec<&str> = spaced.split_whitespace().rev().collect();
    let met = any(&mut words, allowed);
    met && words.is_empty()
}

/// `all (OR all)*`; words are taken from the end.
fn any(words: &mut Vec<&str>, allowed: &[String]) -> bool {
    let mut met = all(words, allowed);
    while words.last() == Some(&"OR") {
        words.pop();
        met |= all(words, allowed);
    }
    met
}

/// `one (AND one)*`.
fn all(words: &mut Vec<&str>, allowed: &[String]) -> bool {
    let mut met = one(words, allowed);
    while words.last() == Some(&"AND") {
        words.pop();
        met &= one(words, allowed);
    }
    met
}

/// An identifier, with its exception if any, or an expression in parentheses.
fn one(words: &mut Vec<&str>, allowed: &[String]) -> bool {
    match words.pop() {
        Some("(") => {
            let met = any(words, allowed);
            met && words.pop() == Some(")")
        }
        Some(name) if words.last() == Some(&"WITH") => {
            words.pop();
            let whole = format!("{name} WITH {}", words.pop().unwrap_or_default());
            allowed.contains(&whole)
        }
        Some(name) => allowed.iter().any(|allowed| allowed == name),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_are_read_as_spdx_does() {
        let allowed = [
            "MIT".to_owned(),
            "Unicode-3.0".to_owned(),
            "Apache-2.0 WITH LLVM-exception".to_owned(),
        ];
        for met in [
            "MIT",
            "MIT OR GPL-3.0",
            "GPL-3.0/MIT",
            "(MIT OR Apache-2.0) AND Unicode-3.0",
            "Apache-2.0 WITH LLVM-exception OR GPL-3.0",
        ] {
            assert!(is_allowed(met, &allowed), "{met}");
        }
        for unmet in [
            "GPL-3.0",
            "MIT AND GPL-3.0",
            "(GPL-3.0 OR MIT) AND GPL-3.0",
            "Apache-2.0",
            "MIT MIT",
            "",
        ] {
            assert!(!is_allowed(unmet, &allowed), "{unmet}");
        }
    }
}
