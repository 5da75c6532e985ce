//! The table of layers in `ARCHITECTURE.md`.

use std::fs;

/// One row: a crate and what it may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layered {
    /// How far up it lies; arrows point only to lower numbers.
    pub layer: u32,
    /// The folder under `crates/`.
    pub name: String,
    /// The crates it may use; empty for none.
    pub may_use: Vec<String>,
    /// It knows no socket, file or wall clock and builds for wasm32.
    pub pure: bool,
}

/// The rows of the table whose header is `| layer | crate | holds | may use | wasm32 |`.
pub fn layered() -> Vec<Layered> {
    let text = fs::read_to_string(crate::root().join("ARCHITECTURE.md"))
        .expect("ARCHITECTURE.md is there");
    text.lines().filter_map(parse).collect()
}

fn parse(line: &str) -> Option<Layered> {
    let cells: Vec<&str> = line
        .trim()
        .trim_matches('|')
        .split('|')
        .map(str::trim)
        .collect();
    let &[layer, name, _, may_use, wasm32] = cells.as_slice() else {
        return None;
    };
    let layer = layer.parse().ok()?;
    let may_use = may_use
        .split(',')
        .map(|name| name.trim().trim_matches('`').to_owned())
        .filter(|name| name != "–")
        .collect();
    Some(Layered {
        layer,
        name: name.trim_matches('`').to_owned(),
        may_use,
        pure: wasm32 == "yes",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_read_and_a_header_is_not() {
        let row = parse("| 2 | `link` | ports | `core`, `proto` | yes |").expect("a row");
        assert_eq!((row.layer, row.name.as_str(), row.pure), (2, "link", true));
        assert_eq!(row.may_use, ["core", "proto"]);
        assert_eq!(parse("| layer | crate | holds | may use | wasm32 |"), None);
    }
}
