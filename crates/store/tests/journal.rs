//! What a journal keeps, and what it makes of lines that were cut short.

#[expect(dead_code, reason = "each test binary uses its part")]
mod support;

use std::fs;

use duetime_store::{Damage, Journal};
use support::Scratch;

#[test]
fn entries_survive_and_a_torn_line_costs_only_itself() {
    let room = Scratch::new("journal");
    let path = room.join("deep/kept.jsonl");
    let (mut journal, entries, damages) = Journal::open::<(u32, String)>(&path).expect("begun");
    assert!(entries.is_empty() && damages.is_empty());
    journal.keep(&(1, "a\nb")).expect("kept");
    journal.keep(&(2, "c")).expect("kept");
    drop(journal);

    let mut text = fs::read_to_string(&path).expect("a file");
    assert_eq!(text.lines().count(), 2);
    text.push_str("[3, \"cut sh");
    fs::write(&path, &text).expect("torn");
    let (mut journal, entries, damages) = Journal::open::<(u32, String)>(&path).expect("opened");
    assert_eq!(entries, [(1, "a\nb".to_owned()), (2, "c".to_owned())]);
    assert_eq!(damages, [Damage(3)]);
    journal.keep(&(4, "d")).expect("kept");
    drop(journal);

    let (_, entries, damages) = Journal::open::<(u32, String)>(&path).expect("opened");
    assert_eq!(
        entries.last(),
        Some(&(4, "d".to_owned())),
        "not joined to the torn line"
    );
    assert_eq!((entries.len(), damages), (3, vec![Damage(3)]));
}

#[test]
fn a_place_that_cannot_be_written_is_named() {
    let room = Scratch::new("journal-no-place");
    fs::write(room.join("file"), "x").expect("a file");
    let error = Journal::open::<u32>(&room.join("file/kept.jsonl")).expect_err("no folder");
    assert!(error.to_string().contains("file"), "{error}");
}
