//! Every dependency comes from the registry under a licence that `deny.toml` allows.
//!
//! `cargo deny` says the same and knows the advisories as well; this needs nothing installed.

use duetime_house::{allowed_licences, is_allowed, packages};

const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

#[test]
fn licences_are_allowed() {
    let allowed = allowed_licences();
    let wrong: Vec<String> = packages()
        .into_iter()
        .filter(|package| {
            !package
                .licence
                .as_deref()
                .is_some_and(|licence| is_allowed(licence, &allowed))
        })
        .map(|package| {
            format!(
                "{} {}: {:?}",
                package.name, package.version, package.licence
            )
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn sources_are_the_registry_or_this_workspace() {
    for package in packages() {
        if let Some(source) = &package.source {
            assert_eq!(source, REGISTRY, "{} {}", package.name, package.version);
        }
    }
}
