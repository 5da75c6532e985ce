//! Ready-made scenarios, shortened, each under every transport, with one digest of the record values per row.
//!
//! The digest takes each value from the record's debug form by the column's name, in a fixed order. It therefore
//! detects differences between the results of two revisions of the code even if columns were renamed, moved or added.
//! Event counts are omitted, because they describe the simulator's work and not the results.

use duetime_results::RunRecords;
use duetime_scenario::{Sources, TraceRow};
use duetime_sim::Options;
use std::fmt::{Debug, Write};

/// Files in the folder of ready-made scenarios: (name, text).
const FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/scenarios.rs"));

/// Transports in the order of the rows.
const TRANSPORTS: [&str; 13] = [
    "tcp",
    "cubic",
    "dctcp",
    "d2tcp",
    "d3",
    "rcpdc",
    "tcp-prio",
    "rcpdc-prio",
    "due",
    "homa",
    "pdq",
    "pfabric",
    "sird",
];

/// Overrides that shorten each scenario to about 100,000 packet-hops: (file, key, value).
const SHORTER: &[(&str, &str, &str)] = &[
    // 128 hosts instead of 16,000.
    ("fat-tree-16k-search.toml", "topology.k", "8"),
    ("fat-tree-16k-search.toml", "workload.rate", "100000 /s"),
    ("fat-tree-16k-search.toml", "duration", "1 ms"),
    ("fat-tree-16k-search.toml", "drain", "10 ms"),
    ("fat-tree-16k.toml", "topology.k", "8"),
    ("fat-tree-16k.toml", "workload.rate", "2000000 /s"),
    ("fat-tree-16k.toml", "duration", "1 ms"),
    ("fat-tree-16k.toml", "drain", "10 ms"),
    ("feature-store.toml", "warm_up", "2 ms"),
    ("feature-store.toml", "duration", "12 ms"),
    ("feed.toml", "warm_up", "1 ms"),
    ("feed.toml", "duration", "6 ms"),
    ("feed.toml", "drain", "20 ms"),
    ("hedge.toml", "warm_up", "100 ms"),
    ("hedge.toml", "duration", "1 s"),
    ("incast.toml", "workload.repeat", "30"),
    ("search-fanout.toml", "duration", "15 ms"),
    ("search-fanout.toml", "drain", "60 ms"),
    ("servers.toml", "warm_up", "20 ms"),
    ("servers.toml", "duration", "60 ms"),
    ("storage.toml", "warm_up", "100 us"),
    ("storage.toml", "workload.rebuild.at", "100 us"),
    ("storage.toml", "duration", "600 us"),
    ("storage.toml", "drain", "5 ms"),
    ("two-layer.toml", "duration", "150 ms"),
    ("two-layer.toml", "drain", "100 ms"),
    ("w1.toml", "workload.size", "1 MB"),
    ("w2.toml", "workload.size", "100 KB"),
];

/// Overrides for every scenario.
const COMMON: &[(&str, &str)] = &[
    (
        "transport",
        r#"["tcp", "cubic", "dctcp", "d2tcp", "d3", "rcpdc", "tcp-prio", "rcpdc-prio", "due", "homa", "pdq", "pfabric", "sird"]"#,
    ),
    ("record.every", "500 us"),
];

const FLOW: &[&str] = &[
    "flow",
    "workload",
    "class",
    "query",
    "source",
    "destination",
    "size_bytes",
    "delivered_bytes",
    "start",
    "finish",
    "deadline",
    "quenched",
    "counted",
    "timeouts",
    "retransmits",
    "marks",
    "denials",
    "inversions",
    "requests",
    "leaves",
];
const QUERY: &[&str] = &[
    "query",
    "workload",
    "application",
    "root",
    "start",
    "complete",
    "children",
    "answered",
    "in_time",
    "counted",
    "asked",
    "leaves",
    "needed",
    "judged",
    "due",
    "enough",
    "leaves_answered",
    "leaves_in_time",
    "gave_up",
];
const PORT: &[&str] = &[
    "link",
    "packets",
    "bytes",
    "drops",
    "drop_bytes",
    "losses",
    "loss_bytes",
    "marks",
    "queue_max_bytes",
    "queue_mean_bytes",
    "utilisation",
];
const SAMPLE: &[&str] = &["link", "at", "queue_bytes", "queue_packets", "sent_bytes"];

/// Renamed columns: (old, new).
const RENAMED: &[(&str, &str)] = &[("counted", "measured")];

struct Files;

impl Sources for Files {
    fn read_text(&self, path: &str) -> Result<String, String> {
        let file = FILES.iter().find(|(name, _)| path.ends_with(name));
        file.map(|(_, text)| (*text).to_owned())
            .ok_or_else(|| "no such file".to_owned())
    }

    fn read_trace(&self, _: &str) -> Result<Vec<TraceRow>, String> {
        Err("only CSV is supported here".to_owned())
    }
}

fn scenarios() -> impl Iterator<Item = (&'static str, &'static str)> {
    let is_scenario = |name: &str| name.strip_suffix(".toml").is_some();
    FILES
        .iter()
        .copied()
        .filter(move |(name, _)| is_scenario(name))
}

/// Returns the scenario file and the transport of row `row`, or `None` if there is no such row.
#[must_use]
pub fn row(row: usize) -> Option<(&'static str, &'static str)> {
    let (name, _) = scenarios().nth(row / TRANSPORTS.len())?;
    Some((name, TRANSPORTS[row % TRANSPORTS.len()]))
}

/// Runs row `row` on `threads` threads and returns the digest of its values.
///
/// # Panics
///
/// Panics if there is no such row or its scenario is invalid.
#[must_use]
pub fn run(row: usize, threads: usize) -> u64 {
    let (name, text) = scenarios().nth(row / TRANSPORTS.len()).expect("a row");
    let shorter = SHORTER.iter().filter(|(file, ..)| *file == name);
    let overrides: Vec<(String, String)> = shorter
        .map(|&(_, key, value)| (key, value))
        .chain(COMMON.iter().copied())
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect();
    let scenario = duetime_scenario::load(text, name, &overrides, &Files)
        .unwrap_or_else(|error| panic!("{error}"));
    let options = Options {
        threads,
        ..Options::default()
    };
    let output = duetime_sim::run(&scenario, row % TRANSPORTS.len(), 0, &options)
        .unwrap_or_else(|error| panic!("{name}: {error}"));
    digest(&output.records)
}

fn digest(records: &RunRecords) -> u64 {
    let mut digest = Digest::default();
    digest.table(FLOW, &records.flows);
    digest.table(QUERY, &records.queries);
    digest.table(PORT, &records.ports);
    digest.table(SAMPLE, &records.series);
    digest.hash
}

/// FNV-1a hash of texts, each followed by a byte that no text contains.
struct Digest {
    hash: u64,
    text: String,
}

impl Default for Digest {
    fn default() -> Self {
        Self {
            hash: 0xcbf2_9ce4_8422_2325,
            text: String::new(),
        }
    }
}

impl Digest {
    fn table(&mut self, columns: &[&str], records: &[impl Debug]) {
        self.add(&records.len().to_string());
        for record in records {
            let mut text = std::mem::take(&mut self.text);
            text.clear();
            write!(text, "{record:?}").expect("memory");
            let values = values(&text);
            for column in columns {
                self.add(value(&values, column));
            }
            self.text = text;
        }
    }

    fn add(&mut self, text: &str) {
        for byte in text.bytes().chain([0xff]) {
            self.hash = (self.hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

fn value<'t>(values: &[(&'t str, &'t str)], column: &str) -> &'t str {
    let renamed = RENAMED.iter().find(|(before, _)| *before == column);
    let now = renamed.map_or(column, |(_, now)| now);
    let found = values
        .iter()
        .find(|(name, _)| *name == column || *name == now);
    found
        .unwrap_or_else(|| panic!("no column `{column}`: if renamed, add it to `RENAMED`"))
        .1
}

/// Returns the (name, value) pairs of a record's debug form, `Name { name: value, … }`.
fn values(text: &str) -> Vec<(&str, &str)> {
    let inside = text.split_once(" { ").map_or("", |(_, inside)| inside);
    let inside = inside.strip_suffix(" }").unwrap_or(inside);
    let (mut depth, mut quoted, mut from) = (0_u32, false, 0);
    let mut found = Vec::new();
    for (at, next) in inside.char_indices().chain([(inside.len(), ',')]) {
        match next {
            '"' => quoted = !quoted,
            '(' | '{' | '[' => depth += 1,
            ')' | '}' | ']' => depth = depth.saturating_sub(1),
            ',' if depth == 0 && !quoted => {
                found.extend(inside[from..at].trim().split_once(": "));
                from = at + 1;
            }
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_form_is_split_into_columns() {
        let text = r#"Flow { flow: 3, end: Some(Time(5)), link: "a, b: c", x: 0.5 }"#;
        let expected = [
            ("flow", "3"),
            ("end", "Some(Time(5))"),
            ("link", "\"a, b: c\""),
            ("x", "0.5"),
        ];
        assert_eq!(values(text), expected);
        assert_eq!(value(&[("measured", "true")], "counted"), "true");
    }

    #[test]
    fn rows_cover_all_scenarios_and_transports() {
        let rows = (0..).map_while(row).count();
        assert_eq!(rows, scenarios().count() * TRANSPORTS.len());
        assert_eq!(row(4), Some(("fat-tree-16k-search.toml", "d3")));
    }
}
