//! Scenario files. Each gives a result or an error that points into the text.

use duetime_scenario::{NoFiles, load};

pub fn check(bytes: &[u8]) {
    let text = &String::from_utf8_lossy(bytes);
    if let Err(error) = load(text, "scenario.toml", &[], &NoFiles) {
        let line = error.source_line.chars().count();
        assert!(
            error.line >= 1 && error.column + error.width <= line + 2,
            "{error}"
        );
    }
}
