//! Tests of the best possible results: no transport beats them, they do not exceed brute force, and a scheduler comes
//! close.
//!
//! `DUETIME_SEEDS=from..to` selects the seeds of the random scenarios. A failure names the value that replays it.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the numbers of a test are small"
)]

#[path = "../../../sim/tests/generator/mod.rs"]
#[expect(dead_code, reason = "the simulator's own tests use all of it")]
mod generator;

mod links;
mod service;
mod transports;

use duetime_scenario::{NoFiles, Scenario, load};

/// Parses a scenario.
fn scenario(text: &str) -> Scenario {
    load(text, "test.toml", &[], &NoFiles).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Returns the seeds set in the environment, or the first `count`.
fn seeds(count: u64) -> std::ops::Range<u64> {
    let Ok(text) = std::env::var("DUETIME_SEEDS") else {
        return 0..count;
    };
    let ends = text
        .split_once("..")
        .and_then(|(from, to)| Some(from.parse().ok()?..to.parse().ok()?));
    ends.unwrap_or_else(|| panic!("DUETIME_SEEDS is `{text}`; allowed: from..to, such as 0..300"))
}
