//! The best possible is one: no transport beats it, it is not above brute force, and a scheduler comes near it.
//!
//! `DUETIME_SEEDS=from..to` chooses the seeds of the random scenarios; a failure names the line that replays it.

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

/// A scenario from its text.
fn scenario(text: &str) -> Scenario {
    load(text, "test.toml", &[], &NoFiles).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// The seeds to try: those of the environment, or the first `usual`.
fn seeds(usual: u64) -> std::ops::Range<u64> {
    let Ok(text) = std::env::var("DUETIME_SEEDS") else {
        return 0..usual;
    };
    let ends = text
        .split_once("..")
        .and_then(|(from, to)| Some(from.parse().ok()?..to.parse().ok()?));
    ends.unwrap_or_else(|| panic!("DUETIME_SEEDS is `{text}`; allowed is from..to, such as 0..300"))
}
