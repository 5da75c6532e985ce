//! The crates that promise wasm32 know no socket, file, wall clock, environment or terminal, and no map whose order
//! changes from run to run.

use duetime_house::{code_lines, rooms, root};

/// Words that may not appear in their code, and why.
const FORBIDDEN: [(&str, &str); 11] = [
    ("std::net", "no sockets"),
    ("std::fs", "no files"),
    ("std::time", "no wall clock"),
    ("std::env", "no environment"),
    ("std::process", "no processes"),
    ("std::os", "no operating system"),
    (
        "std::{",
        "imports of std are written one by one, so that this check can read them",
    ),
    (
        "HashMap::new",
        "a map with a random hasher must not be iterated; use rustc-hash or a BTreeMap",
    ),
    (
        "HashSet::new",
        "a set with a random hasher must not be iterated; use rustc-hash or a BTreeSet",
    ),
    ("RandomState", "no random hasher"),
    ("println!", "only `cli` prints"),
];

/// `sim` runs one network on several threads behind its feature; nobody else starts any.
const THREADS: &str = "std::thread";

#[test]
fn pure_crates_keep_their_promise() {
    let mut wrong = Vec::new();
    for room in rooms().iter().filter(|room| room.pure) {
        for line in code_lines(&root().join("crates").join(&room.name).join("src")) {
            let mut report = |reason: &str| {
                let file = line
                    .file
                    .strip_prefix(root())
                    .unwrap_or(&line.file)
                    .display();
                wrong.push(format!(
                    "{file}:{}: {reason}: {}",
                    line.number,
                    line.text.trim()
                ));
            };
            for (word, reason) in FORBIDDEN {
                if line.text.contains(word) {
                    report(reason);
                }
            }
            if room.name != "sim" && line.text.contains(THREADS) {
                report("no threads");
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_rooms_that_promise_wasm32_are_the_designs() {
    let pure: Vec<String> = rooms()
        .into_iter()
        .filter(|room| room.pure)
        .map(|room| room.name)
        .collect();
    let mut sorted = pure.clone();
    sorted.sort();
    assert_eq!(
        sorted,
        [
            "core", "figures", "fluid", "link", "proto", "results", "scenario", "sim"
        ]
    );
}
