//! Scenario files read from copies.

mod support;

use std::fs;

use duetime_scenario::{Sources, load};
use duetime_store::{Copies, Files, Recording, RunKey};
use support::Scratch;

const SCENARIO: &str = r#"
name = "copies"
transport = "tcp"
duration = "10 ms"
[topology]
kind = "star"
hosts = 4
link = { rate = "1 Gbps", latency = "20 us" }
[[workload]]
kind = "trace"
file = "flows.csv"
[[workload]]
kind = "poisson"
size = { cdf = "sizes.csv" }
load = 0.1
"#;

#[test]
fn scenario_is_equal_from_copies() {
    let scratch = Scratch::new("copies");
    let at = |name: &str| scratch.join(name);
    fs::write(
        at("flows.csv"),
        "start_ns,source,destination,size_bytes\n1000,0,1,2000\n",
    )
    .unwrap();
    fs::write(at("sizes.csv"), "# unit: bytes\n1000,0\n2000,1\n").unwrap();
    let files = Files::relative_to(&at("scenario.toml"));
    let recording = Recording::new(&files);
    let read = load(SCENARIO, "scenario.toml", &[], &recording).unwrap();
    let copies = Copies(recording.into_files());
    let names: Vec<&str> = copies.0.keys().map(String::as_str).collect();
    assert_eq!(names, ["flows.csv", "sizes.csv"]);
    fs::remove_file(at("flows.csv")).unwrap();
    fs::remove_file(at("sizes.csv")).unwrap();
    let again = load(SCENARIO, "scenario.toml", &[], &copies).unwrap();
    assert_eq!(format!("{read:?}"), format!("{again:?}"));
    let error = load(SCENARIO, "scenario.toml", &[], &Copies::default()).unwrap_err();
    assert!(error.to_string().contains("not included"), "{error}");
}

#[test]
fn parquet_trace_is_equal_from_copy() {
    let scratch = Scratch::new("parquet-copies");
    let folder = support::new_folder(&scratch.join("out"));
    let key = RunKey::new("tcp", 0);
    let mut records = support::records();
    records.flows.truncate(1);
    folder
        .write_run(&key, &records, &support::notes(), None)
        .unwrap();
    let files = Files::relative_to(&folder.run_path(&key).join("run.json"));
    let recording = Recording::new(&files);
    let read = recording.read_trace("flows.parquet").unwrap();
    let copies = Copies(recording.into_files());
    assert_eq!(copies.read_trace("flows.parquet").unwrap(), read);
}
