//! Parser of the table of layers in `ARCHITECTURE.md`.

use std::fs;

/// Row of the table: a crate and the crates that it may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayerRow {
    /// Layer; dependencies point only to lower layers.
    pub layer: u32,
    /// Name of the folder under `crates/`.
    pub name: String,
    /// Crates that it may use; empty for none.
    pub may_use: Vec<String>,
    /// True if the crate uses no socket, file or wall clock and builds for wasm32.
    pub pure: bool,
}

/// Returns the rows of the table with the header `| layer | crate | holds | may use | wasm32 |`.
pub fn layer_table() -> Vec<LayerRow> {
    let text =
        fs::read_to_string(crate::root().join("ARCHITECTURE.md")).expect("ARCHITECTURE.md exists");
    text.lines().filter_map(parse).collect()
}

fn parse(line: &str) -> Option<LayerRow> {
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
    Some(LayerRow {
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
    fn rows_are_parsed_and_headers_skipped() {
        let row = parse("| 2 | `link` | ports | `core`, `proto` | yes |").expect("a row");
        assert_eq!((row.layer, row.name.as_str(), row.pure), (2, "link", true));
        assert_eq!(row.may_use, ["core", "proto"]);
        assert_eq!(parse("| layer | crate | holds | may use | wasm32 |"), None);
    }
}
