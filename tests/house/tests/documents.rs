//! Check that the hand-written guides name only files that exist.

use duetime_house::root;
use std::fs;

/// Placeholders in paths.
const PLACEHOLDERS: [&str; 3] = ["CRATE", "NAME", "PAPER"];

/// Returns the `code spans` of a Markdown text, without fenced blocks.
fn code_spans(text: &str) -> Vec<&str> {
    let unfenced = text.split("```").step_by(2);
    unfenced
        .flat_map(|part| part.split('`').skip(1).step_by(2))
        .collect()
}

/// Returns the code spans that are paths in the repository: words that start with a folder of the root.
fn paths(text: &str) -> Vec<&str> {
    let folders = [
        "benches/",
        "crates/",
        "docs/",
        "fuzz/",
        "papers/",
        "python/",
        "scenarios/",
        "script/",
        "tests/",
    ];
    code_spans(text)
        .into_iter()
        .filter(|span| folders.iter().any(|folder| span.starts_with(folder)))
        .map(|span| span.split([' ', ':']).next().unwrap_or(span))
        .filter(|path| !PLACEHOLDERS.iter().any(|word| path.contains(word)))
        .filter(|path| !path.contains(['*', '…']))
        .collect()
}

#[test]
fn guides_name_existing_files() {
    let mut missing = Vec::new();
    for guide in ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"] {
        let text = fs::read_to_string(root().join(guide)).expect("a guide");
        let named = paths(&text);
        assert!(!named.is_empty(), "{guide} names no file");
        for path in named {
            if !root().join(path).exists() {
                missing.push(format!("{guide}: no such file: {path}"));
            }
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

#[test]
fn paths_are_distinguished_from_other_code() {
    let text = "In `crates/sim/`, `crates/NAME/src`, `d3/`, `papers/PAPER/x` and `script/bench --quick`.\n\
                ```sh\ncat `crates/none`\n```\nThen `docs/*.md`, `docs/README.md`.";
    let expected = ["crates/sim/", "script/bench", "docs/README.md"];
    assert_eq!(paths(text), expected);
}
