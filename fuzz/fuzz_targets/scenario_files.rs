//! Traces (even first byte) and CDF files (odd first byte). Each gives a result or an error that points into the text.
#![no_main]

use duetime_scenario::{Sources, TraceRow, load};
use libfuzzer_sys::fuzz_target;

const NETWORK: &str = r#"transport = "tcp"
[topology]
kind = "star"
hosts = 3
link = { rate = "1 Gbps", latency = "20 us" }
[[workload]]
"#;
const TRACE: &str = "kind = \"trace\"\nfile = \"flows.csv\"\n";
const CDF: &str = "kind = \"permutation\"\nsize = { cdf = \"sizes.csv\" }\n";

/// File source that returns one file for every name.
struct File<'a>(&'a str);

impl Sources for File<'_> {
    fn read_text(&self, _: &str) -> Result<String, String> {
        Ok(self.0.to_owned())
    }

    fn read_trace(&self, _: &str) -> Result<Vec<TraceRow>, String> {
        Err("not a CSV file".to_owned())
    }
}

fuzz_target!(|bytes: &[u8]| {
    let Some((choice, Ok(file))) = bytes
        .split_first()
        .map(|(first, rest)| (first, std::str::from_utf8(rest)))
    else {
        return;
    };
    let workload = if choice % 2 == 0 { TRACE } else { CDF };
    let scenario = format!("{NETWORK}{workload}");
    if let Err(error) = load(&scenario, "scenario.toml", &[], &File(file)) {
        let line = error.source_line.chars().count();
        assert!(error.column + error.width <= line + 2, "{error}");
    }
});
