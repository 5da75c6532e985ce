//! Fill of a bottleneck by a lone flow whose buffer exceeds the bandwidth-delay product: a small part of the grid that
//! `script/bench fairness --only lone` runs.

use duetime_scenario::NoFiles;
use duetime_sim::Options;

/// Smallest share of the link that the flow must use from the second second on.
const MIN_SHARE: f64 = 0.98;

/// Returns the bytes that one flow delivers through 1 Gbps with a bandwidth-delay product of 40 packets.
fn delivered(transport: &str, host_gbps: u32, buffer: u32, seconds: u32, more: &str) -> u64 {
    let text = format!(
        "name = \"lone-flow\"\ntransport = \"{transport}\"\nduration = \"{seconds} s\"\ndrain = \"0 us\"\n\
         [topology]\nkind = \"dumbbell\"\nleft = 2\nright = 2\n\
         link = {{ rate = \"{host_gbps} Gbps\", latency = \"10 us\" }}\n\
         bottleneck = {{ rate = \"1 Gbps\", latency = \"200 us\" }}\n\
         [switch]\nbuffer = \"{buffer} packets\"\n\
         [[workload]]\nkind = \"long\"\npairs = [[0, 2]]\njitter = \"1 ms\"\n{more}"
    );
    let scenario =
        duetime_scenario::load(&text, "lone-flow", &[], &NoFiles).expect("a valid scenario");
    let output = duetime_sim::run(&scenario, 0, 0, &Options::default()).expect("a valid scenario");
    output.records.flows[0].delivered_bytes
}

#[test]
fn lone_flow_fills_the_link() {
    let profile =
        |name, window| format!("[tcp]\nprofile = \"{name}\"\ninitial_window = {window}\n");
    let mut slow = Vec::new();
    for (transport, host_gbps, buffer, more) in [
        ("tcp", 10, 50, profile("paper", 2)),
        ("tcp", 10, 100, profile("paper", 2)),
        ("tcp", 10, 100, profile("paper", 40)),
        ("tcp", 1, 400, profile("paper", 10)),
        ("tcp", 10, 80, profile("linux", 10)),
        ("cubic", 10, 50, profile("paper", 10)),
        ("cubic", 10, 200, profile("linux", 10)),
        ("dctcp", 10, 50, profile("paper", 2)),
        ("dctcp", 10, 100, profile("linux", 10)),
        ("d2tcp", 10, 80, profile("paper", 10)),
        ("d3", 10, 50, String::new()),
        ("rcpdc", 1, 100, String::new()),
    ] {
        let [three, one] =
            [3, 1].map(|seconds| delivered(transport, host_gbps, buffer, seconds, &more));
        // Of each packet of 1500 B, 1460 B are delivered.
        let share = (three - one) as f64 * 8.0 / 2e9 * 1500.0 / 1460.0;
        println!("{transport}, {host_gbps} Gbps, {buffer} packets, {more:?}: {share:.3}");
        if share < MIN_SHARE {
            slow.push((transport, host_gbps, buffer, more, share));
        }
    }
    assert!(slow.is_empty(), "{slow:?}");
}
