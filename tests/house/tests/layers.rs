//! Arrows point only down, and the table in `ARCHITECTURE.md` is true.

use duetime_house::{Layered, Package, layered, packages, root};
use std::collections::BTreeMap;
use std::fs;

/// The crates under `crates/` by the name of their folder, without the prefix of the package's name.
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
fn the_table_lists_every_crate_and_no_other() {
    let listed: Vec<String> = layered().into_iter().map(|row| row.name).collect();
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
fn arrows_point_down_and_stay_within_the_table() {
    let rows: BTreeMap<String, Layered> = layered()
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
fn what_a_row_may_use_exists() {
    let rows = layered();
    for row in &rows {
        for used in &row.may_use {
            assert!(
                rows.iter().any(|other| &other.name == used),
                "{} may use {used}, which is not there",
                row.name
            );
        }
    }
}

#[test]
fn every_crate_says_what_it_is_and_keeps_the_lints() {
    for name in crates().keys() {
        let folder = root().join("crates").join(name);
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).expect("a manifest");
        assert!(
            manifest.contains("description = "),
            "{name} has no description"
        );
        assert!(
            manifest.contains("[lints]\nworkspace = true"),
            "{name} does not keep the workspace's lints"
        );
    }
}

#[test]
fn crates_for_wasm32_are_held_to_the_common_bans() {
    for row in layered() {
        // Clippy reads the nearest file: only a crate that may use the machine has one of its own.
        let own = root().join("crates").join(&row.name).join("clippy.toml");
        assert_eq!(own.is_file(), !row.pure, "{}", own.display());
    }
}
