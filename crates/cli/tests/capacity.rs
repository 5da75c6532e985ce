//! `duetime capacity`: its table, its lines of JSON, and what it refuses.

mod room;

use room::{Room, TINY};
use serde_json::Value;

fn rows(out: &str) -> Vec<Value> {
    out.lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON"))
        .filter(|line| line["event"] == "capacity")
        .collect()
}

#[test]
fn the_table_and_the_rows_say_the_same_and_nothing_is_run_twice() {
    let room = Room::new("capacity");
    room.file("tiny.toml", TINY);
    let command =
        "capacity tiny.toml --of senders --target 95% --seeds 2 --set workload.deadline.base=1ms";
    let said = room.duetime(command);
    assert!(said.err.contains("dctcp at 5 senders: "), "{}", said.err);
    let out = said.ok();
    assert!(
        out.contains("workload.burst.senders at 95 % of deadlines met, over 2 runs"),
        "{out}"
    );
    assert_eq!(room.names(), ["out", "tiny.toml"]);
    let journal = room.read("out/tiny-capacity.jsonl");

    let json = room.duetime(&format!("{command} --jobs 1 --json")).ok();
    assert_eq!(
        room.read("out/tiny-capacity.jsonl"),
        journal,
        "all was there"
    );
    assert!(!json.contains("\"run-finished\""), "{json}");
    for row in rows(&json) {
        let transport = row["transport"].as_str().expect("a name");
        let line = out
            .lines()
            .find(|line| line.starts_with(transport))
            .expect("a row");
        let value = row["value"].as_f64().expect("a number");
        assert!((2.0..7.0).contains(&value), "neither all nor none: {row}");
        assert!(line.contains(&format!(" {value} senders")), "{line} {row}");
        assert!(row["low"].as_f64() <= row["value"].as_f64(), "{row}");
        assert!(row["value"].as_f64() <= row["high"].as_f64(), "{row}");
    }
    assert_eq!(rows(&json).len(), 2);
}

#[test]
fn a_damaged_line_is_named_and_run_again() {
    let room = Room::new("capacity-damaged");
    room.file("tiny.toml", TINY);
    let command = "capacity tiny.toml --of deadline --transport dctcp --out kept.jsonl";
    let out = room.duetime(command).ok();
    let kept = room.read("kept.jsonl");
    let cut = kept.len() - 20;
    room.file("kept.jsonl", &kept[..cut]);
    let again = room.duetime(command);
    let line = kept.lines().count();
    assert!(
        again.err.contains(&format!("kept.jsonl:{line}: damaged")),
        "{}",
        again.err
    );
    assert_eq!(again.ok(), out);
}

#[test]
fn what_cannot_be_searched_is_refused() {
    let room = Room::new("capacity-refused");
    room.file("tiny.toml", TINY);
    room.file(
        "none.toml",
        &TINY.replace("deadline = { base = \"2 ms\" }\n", ""),
    );
    let refused = |arguments: &str, parts: &[&str]| room.duetime(arguments).refused(parts);
    refused(
        "capacity none.toml --of senders",
        &["none.toml", "no flow has a deadline"],
    );
    refused(
        "capacity tiny.toml --of rate",
        &["burst", "`rate`", "`load`"],
    );
    refused(
        "capacity tiny.toml --of senders --workload background",
        &["background", "`senders`"],
    );
    refused(
        "capacity tiny.toml --of deadline --workload background",
        &["no deadline"],
    );
    refused(
        "capacity tiny.toml --of senders --workload bursts",
        &["`bursts`", "burst, background"],
    );
    refused(
        "capacity tiny.toml --of size",
        &["senders", "rate", "deadline"],
    );
    refused("capacity tiny.toml", &["--of"]);
    for target in ["0%", "101%", "99", "often"] {
        let arguments = format!("capacity tiny.toml --of senders --target {target}");
        refused(&arguments, &["--target", "99%"]);
    }
    refused("capacity tiny.toml --of senders --step 0", &["--step 0"]);
    refused(
        "capacity tiny.toml --of senders --set workload.sender=3",
        &["senders"],
    );
    refused("capacity gone.toml --of senders", &["gone.toml"]);
    assert_eq!(
        room.names(),
        ["none.toml", "tiny.toml"],
        "nothing is written"
    );
}
