//! Homa's incast control in whole runs (Homa §3.6).

use crate::lab::drops;
use duetime_results::RunRecords;
use duetime_scenario::{NoFiles, load};
use duetime_sim::{Options, run};

/// A host that requests 20 answers at once, through a port of 100 packets.
const INCAST: &str = r#"
name = "incast"
transport = "homa"
seeds = 1
warm_up = "0 ms"
duration = "300 ms"
[topology]
kind = "star"
hosts = 21
link = { rate = "10 Gbps", latency = "4 us" }
[switch]
buffer = "100 packets"
[homa]
rtt_bytes = "15 KB"
[[workload]]
kind = "oldi"
fan_in = 20
response = "30 KB"
deadline = "20 ms"
load = 0.02
"#;

fn records(incast_threshold: u32) -> RunRecords {
    let threshold = incast_threshold.to_string();
    let settings = [("homa.incast_threshold".to_owned(), threshold)];
    let scenario = load(INCAST, "incast.toml", &settings, &NoFiles).expect("a valid scenario");
    let output = run(&scenario, 0, 0, &Options::default());
    let records = output.expect("the run ends").records;
    assert!(records.flows.iter().all(|flow| flow.finish.is_some()));
    assert!(!records.queries.is_empty());
    records
}

/// Ten blind packets of each of 20 senders overflow the port; one of each does not.
#[test]
fn incast_control_prevents_drops() {
    let blind = records(20);
    assert!(drops(&blind) > 50, "{}", drops(&blind));
    let controlled = records(8);
    assert_eq!(drops(&controlled), 0);
    assert!(controlled.flows.iter().all(|flow| flow.retransmits == 0));
}
