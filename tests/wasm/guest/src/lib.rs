//! Small simulations with one digest per run. Builds for wasm32 and for the host machine must give equal digests.
//! [`ready`] provides the same for the ready-made scenarios (script/digests).

// Every crate that supports wasm32 is linked, so that the module's import section covers all of them.
use duetime_analysis as _;
use duetime_core as _;
use duetime_figures as _;
use duetime_link as _;
use duetime_proto as _;

pub mod ready;

use duetime_scenario::NoFiles;
use duetime_sim::Options;

/// Scenarios, each run under all of its transports.
const SCENARIOS: [(&str, &str); 2] = [
    ("incast.toml", include_str!("../incast.toml")),
    ("tree.toml", include_str!("../tree.toml")),
];

/// Returns the number of cases of [`digest`].
#[unsafe(no_mangle)]
pub extern "C" fn cases() -> u32 {
    SCENARIOS
        .iter()
        .map(|(name, text)| transports(name, text))
        .sum()
}

/// Runs case `case`, one scenario under one transport, and returns the digest of its records, or 0 if there is no such
/// case.
#[unsafe(no_mangle)]
pub extern "C" fn digest(case: u32) -> u64 {
    let mut first = 0;
    for (name, text) in SCENARIOS {
        let transports = transports(name, text);
        if case < first + transports {
            return run(name, text, (case - first) as usize);
        }
        first += transports;
    }
    0
}

/// Returns the number of rows of [`row_digest`].
#[unsafe(no_mangle)]
pub extern "C" fn rows() -> u32 {
    (0..).map_while(ready::row).map(|_| 1).sum()
}

/// Runs row `row` of [`ready`] on one thread and returns the digest of its values.
#[unsafe(no_mangle)]
pub extern "C" fn row_digest(row: u32) -> u64 {
    ready::run(row as usize, 1)
}

fn load(name: &str, text: &str) -> duetime_scenario::Scenario {
    duetime_scenario::load(text, name, &[], &NoFiles)
        .unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn transports(name: &str, text: &str) -> u32 {
    u32::try_from(load(name, text).transports.len()).expect("a few transports")
}

fn run(name: &str, text: &str, transport: usize) -> u64 {
    let options = Options {
        threads: 1,
        ..Options::default()
    };
    let output = duetime_sim::run(&load(name, text), transport, 0, &options)
        .unwrap_or_else(|error| panic!("{name}: {error}"));
    // 64 of the 128 bits, which a wasm32 function can return as one number.
    duetime_results::digest(&output.records).0 as u64
}
