//! Scenario files. Each gives a result or an error that points into the text.
#![no_main]

use duetime_scenario::{NoFiles, load};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Err(error) = load(text, "scenario.toml", &[], &NoFiles) {
        let line = error.source_line.chars().count();
        assert!(error.column + error.width <= line + 2, "{error}");
    }
});
