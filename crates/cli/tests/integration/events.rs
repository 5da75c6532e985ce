//! Comparison of `docs/events.md` with the events and fields that `--json` prints.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use crate::sandbox::{Sandbox, TINY};
use duetime_study::{Event, RunName};
use serde_json::Value;

/// Fields by event.
type Events = BTreeMap<String, BTreeSet<String>>;

const PAGE: &str = include_str!("../../../../docs/events.md");

/// Optional fields, as (event, field).
const OPTIONAL: [(&str, &str); 2] = [("row", "queries"), ("row", "servers")];

/// Returns the events of the page: its headings of level 3, with the first column of the tables below them.
fn documented() -> Events {
    let mut events = Events::new();
    let mut event = None;
    for line in PAGE.lines() {
        let quoted = |text: &str| text.split('`').nth(1).map(str::to_owned);
        if let Some(heading) = line.strip_prefix("### ") {
            event = quoted(heading);
            let name = event.clone().expect("a name in backquotes");
            assert!(
                events.insert(name, BTreeSet::new()).is_none(),
                "{heading} twice"
            );
        } else if line.starts_with("## ") {
            event = None;
        } else if let (Some(field), Some(event)) =
            (line.strip_prefix("| `").and_then(|_| quoted(line)), &event)
        {
            let fields = events.get_mut(event).expect("its heading was read");
            assert!(fields.insert(field), "twice: {line}");
        }
    }
    events
}

/// Checks each line against the page and records its event.
fn check_lines(lines: &str, page: &Events, seen: &mut BTreeSet<String>) {
    for line in lines.lines() {
        let value: Value = serde_json::from_str(line).unwrap_or_else(|why| panic!("{why}: {line}"));
        let event = value["event"]
            .as_str()
            .unwrap_or_else(|| panic!("no event: {line}"));
        let documented = page
            .get(event)
            .unwrap_or_else(|| panic!("not documented: {line}"));
        let fields = value.as_object().expect("an object").keys();
        let fields: BTreeSet<String> = fields.filter(|key| *key != "event").cloned().collect();
        let optional =
            |field: &&String| OPTIONAL.contains(&(event, field.as_str())) || event == "done";
        let undocumented: Vec<_> = fields.difference(documented).collect();
        assert!(
            undocumented.is_empty(),
            "{undocumented:?} of `{event}` are not documented"
        );
        let missing: Vec<_> = documented
            .difference(&fields)
            .filter(|field| !optional(field))
            .collect();
        assert!(
            missing.is_empty(),
            "the page has {missing:?} of `{event}`:\n{line}"
        );
        seen.insert(event.to_owned());
    }
}

/// Returns a scenario with queries and a reason for a warning.
fn more() -> String {
    let text = TINY.replace("name = \"tiny\"", "name = \"more\"");
    let text = text.replace("buffer = \"100 KB\"", "buffer = \"20 packets\"");
    text + "[[workload]]\nkind = \"oldi\"\nfan_in = 2\nresponse = \"5 KB\"\ndeadline = \"2 ms\"\nevery = \"4 ms\"\n"
}

/// Table of three calls, each a query.
const CALLS: &str =
    "query,start_us,duration_us,bytes\na,0,200,4000\nb,900,250,5000\nc,2500,200,4500\n";

/// Returns progress events that runs as short as these may not print, and one that only campaigns have.
fn progress_events() -> [Event; 3] {
    let progress = Event::Progress {
        name: RunName {
            point: String::new(),
            transport: "dctcp".to_owned(),
            run: 0,
        },
        job: 0,
        simulated_s: 0.5,
        of_s: 1.0,
        packet_hops: 1,
        packet_hops_per_s: 1.0,
    };
    let overall = Event::Overall {
        done: 0,
        runs: 1,
        packet_hops_per_s: 1.0,
        eta_s: None,
    };
    let unsettled = Event::Unsettled { verdicts: 1, of: 2 };
    [progress, overall, unsettled]
}

#[test]
fn page_documents_all_events_and_fields() {
    let sandbox = Sandbox::new("events");
    sandbox.file("tiny.toml", TINY);
    sandbox.file("more.toml", &more());
    sandbox.file("calls.csv", CALLS);
    let (page, mut seen) = (documented(), BTreeSet::new());
    for command in [
        "run more.toml --json --jobs 1 --seeds 1",
        "run tiny.toml --json --no-report --out other",
        "sweep tiny.toml --vary workload.senders=2,3 --dry-run --json",
        "capacity tiny.toml --of senders --workload burst --on answers --seeds 1 --json",
        "bound tiny.toml --json",
        "run tiny.toml --json --no-report --out less --set tcp.initial_window=1",
        "compare other less --json",
        "fit calls.csv --json --transport dctcp",
    ] {
        check_lines(&sandbox.duetime(command).ok(), &page, &mut seen);
    }
    for event in progress_events() {
        let line = serde_json::to_string(&event).expect("plain data");
        check_lines(&line, &page, &mut seen);
    }
    // A damaged run, and runs that cannot be written.
    std::fs::write(sandbox.0.join("other/runs/dctcp/1/flows.parquet"), "").expect("a file");
    let again = sandbox
        .duetime("run tiny.toml --json --out other --resume")
        .ok();
    check_lines(&again, &page, &mut seen);
    if cfg!(unix) {
        let script = format!(
            "trap '' XFSZ; ulimit -f 8; exec '{}' run tiny.toml --no-report --json",
            env!("CARGO_BIN_EXE_duetime")
        );
        let output = Command::new("bash")
            .args(["-c", &script])
            .current_dir(&sandbox.0)
            .output()
            .expect("bash starts");
        check_lines(
            &String::from_utf8(output.stdout).expect("UTF-8"),
            &page,
            &mut seen,
        );
    } else {
        seen.insert("run-failed".to_owned());
    }
    let all: BTreeSet<String> = page.into_keys().collect();
    assert_eq!(seen, all, "the page documents events that were not printed");
}

#[test]
fn quiet_suppresses_progress() {
    let sandbox = Sandbox::new("quiet");
    sandbox.file("tiny.toml", TINY);
    let output = sandbox.duetime("run tiny.toml --quiet");
    assert_eq!(output.err, "", "no warnings");
    assert!(
        output.ok().contains("runs    out/tiny"),
        "the table is printed"
    );
    let warned = sandbox.duetime_args(&[
        "run",
        "tiny.toml",
        "-q",
        "--overwrite",
        "--set",
        "switch.buffer=20 packets",
    ]);
    assert_eq!(warned.err.lines().count(), 1, "{}", warned.err);
    assert!(
        warned.err.starts_with("WARNING  No marks reach"),
        "{}",
        warned.err
    );
    let lines = sandbox
        .duetime("run tiny.toml --quiet --json --overwrite")
        .ok();
    for omitted in ["run-started", "progress", "overall"] {
        assert!(
            !lines.contains(&format!("\"event\":\"{omitted}\"")),
            "{lines}"
        );
    }
    for kept in [
        "study-started",
        "run-finished",
        "study-finished",
        "row",
        "done",
    ] {
        assert!(
            lines.contains(&format!("\"event\":\"{kept}\"")),
            "{kept}: {lines}"
        );
    }
    let search = "capacity tiny.toml --of senders --workload burst --on answers --seeds 1 -q";
    assert_eq!(sandbox.duetime(search).err, "");
}
