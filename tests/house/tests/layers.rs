//! Arrows point only down, and the table in `ARCHITECTURE.md` is true.

use duetime_house::{Package, Room, packages, rooms, root};
use std::collections::BTreeMap;
use std::fs;

/// The crates of the house by the name of their folder, without the prefix of the package's name.
fn crates() -> BTreeMap<String, Package> {
    packages()
        .into_iter()
        .filter(|package| package.source.is_none())
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
    let listed: Vec<String> = rooms().into_iter().map(|room| room.name).collect();
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
    let rooms: BTreeMap<String, Room> = rooms()
        .into_iter()
        .map(|room| (room.name.clone(), room))
        .collect();
    let mut wrong = Vec::new();
    for (name, package) in crates() {
        let room = &rooms[&name];
        for used in package
            .uses
            .iter()
            .filter_map(|used| used.strip_prefix("duetime-"))
        {
            match rooms.get(used) {
                None => wrong.push(format!(
                    "{name} uses {used}, which is not a room of the house"
                )),
                Some(below) if below.layer >= room.layer => {
                    wrong.push(format!(
                        "{name} (layer {}) uses {used} (layer {})",
                        room.layer, below.layer
                    ));
                }
                Some(_) if !room.may_use.iter().any(|allowed| allowed == used) => {
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
    let rooms = rooms();
    for room in &rooms {
        for used in &room.may_use {
            assert!(
                rooms.iter().any(|other| &other.name == used),
                "{} may use {used}, which is not there",
                room.name
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
