//! Check that dependencies point only down and that the table in `ARCHITECTURE.md` is complete.

use duetime_house::{LayerRow, Package, layer_table, packages, root};
use std::collections::BTreeMap;
use std::fs;

/// Returns the crates under `crates/`, keyed by package name without the prefix.
fn crates() -> BTreeMap<String, Package> {
    packages()
        .into_iter()
        .filter(|package| package.folder.replace('\\', "/").rsplit('/').nth(1) == Some("crates"))
        .map(|package| {
            (
                package.name.trim_start_matches("duetime-").to_owned(),
                package,
            )
        })
        .collect()
}

#[test]
fn table_lists_exactly_the_crates() {
    let listed: Vec<String> = layer_table().into_iter().map(|row| row.name).collect();
    let mut sorted = listed.clone();
    sorted.sort();
    sorted.dedup();
    assert_eq!(
        sorted.len(),
        listed.len(),
        "a crate is listed twice in ARCHITECTURE.md"
    );
    let found: Vec<String> = crates().into_keys().collect();
    assert_eq!(
        sorted, found,
        "the table in ARCHITECTURE.md and the folders under crates/ differ"
    );
}

#[test]
fn dependencies_point_down_and_are_listed() {
    let rows: BTreeMap<String, LayerRow> = layer_table()
        .into_iter()
        .map(|row| (row.name.clone(), row))
        .collect();
    let mut wrong = Vec::new();
    for (name, package) in crates() {
        let row = &rows[&name];
        for used in package
            .uses
            .iter()
            .filter_map(|used| used.strip_prefix("duetime-"))
        {
            match rows.get(used) {
                None => wrong.push(format!("{name} uses {used}, which the table does not list")),
                Some(below) if below.layer >= row.layer => {
                    wrong.push(format!(
                        "{name} (layer {}) uses {used} (layer {})",
                        row.layer, below.layer
                    ));
                }
                Some(_) if !row.may_use.iter().any(|allowed| allowed == used) => {
                    wrong.push(format!("{name} uses {used}, which its row does not list"));
                }
                Some(_) => {}
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn allowed_crates_exist() {
    let rows = layer_table();
    for row in &rows {
        for used in &row.may_use {
            assert!(
                rows.iter().any(|other| &other.name == used),
                "{} may use {used}, which does not exist",
                row.name
            );
        }
    }
}

#[test]
fn crates_have_descriptions_and_lints() {
    for name in crates().keys() {
        let folder = root().join("crates").join(name);
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).expect("a manifest");
        assert!(
            manifest.contains("description = "),
            "{name} has no description"
        );
        assert!(
            manifest.contains("[lints]\nworkspace = true"),
            "{name} does not use the workspace's lints"
        );
    }
}

#[test]
fn wasm32_crates_use_the_common_clippy_bans() {
    for row in layer_table() {
        // Clippy reads the nearest file; only crates that may use the machine have a separate one.
        let config = root().join("crates").join(&row.name).join("clippy.toml");
        assert_eq!(config.is_file(), !row.pure, "{}", config.display());
    }
}
