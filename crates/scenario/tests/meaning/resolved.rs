//! Resolved form of a scenario.

use crate::{EXAMPLE, with};
use duetime_scenario::model::Scenario;
use duetime_scenario::{KeyPath, NoFiles, load, resolved_json};
use serde_json::json;

#[test]
fn equal_meaning_gives_equal_text() {
    let same = EXAMPLE
        .replace("\"35 ms\"", "\"0.035 s\"")
        .replace("seeds = 20", "seeds = 20\nseed = 1");
    let same = load(&same, "other.toml", &[], &NoFiles).unwrap();
    let text = |scenario: &Scenario| resolved_json(scenario).to_string();
    assert_eq!(text(&with(&[])), text(&same));
    for (key, value) in [
        ("seed", "2"),
        ("workload.deadline.variation", "uniform 49%"),
        ("tcp.delayed_ack", "1"),
        ("tcp.limited_transmit", "false"),
        ("tcp.growth", "acknowledgements"),
        ("tcp.slow_start_limit", "2"),
        (
            "tcp.ack_coalescing",
            "{ segments = 10, within = \"50 us\" }",
        ),
        ("d3.request_bytes", "wire"),
        ("d3.request_lag", "false"),
        ("d3.repair", "false"),
        ("d3.queue_sample", "instant"),
        ("d3.reset_intervals", "8"),
        ("d3.target", "95%"),
        ("d3.cap_to_remaining", "true"),
        ("d3.request_backoff", "3"),
        ("d3.late_answers", "true"),
        ("d3.late_answers", "false"),
        ("d3.allocation", "edge"),
        ("d3.police", "2 Mbps"),
        ("d3.speculative", "true"),
        ("d3.speculative_rises", "3"),
        ("d3.speculative_growth", "20%"),
        ("d3.late_extension", "50%"),
        ("host.nic", "fifo"),
        ("record.every", "1 ms"),
        ("workload.background.connection", "persistent"),
    ] {
        assert_ne!(text(&with(&[])), text(&with(&[(key, value)])), "{key}");
    }
}

#[test]
fn options_are_named_with_their_unit() {
    let resolved = resolved_json(&with(&[("transport", r#"["d2tcp", "d3"]"#)]));
    let options = |index: usize| &resolved["transports"][index]["options"];
    let names = |index: usize| {
        let options = options(index).as_object().expect("a table");
        options.keys().cloned().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(
        names(0),
        "ack_coalescing congestion_control delayed_ack_segments delayed_ack_timeout_ps growth \
         initial_window_segments limited_transmit max_ack_delay_ps min_window_segments mss_bytes quick_ack_segments \
         rack rate_reduction receive_window_bytes recovery rto_initial_ps rto_max_ps rto_min_ps \
         slow_start_limit_segments slow_start_restart tail_loss_probe timeout_min_ps window_validation"
    );
    assert_eq!(
        options(0)["congestion_control"].to_string(),
        r#"{"deadlines":{"completion":"approximate","expired":0.5,"imminence":[0.5,2.0]},"kind":"d2tcp","marks":{"gain_shift":4,"initial_alpha":1.0}}"#
    );
    assert_eq!(
        names(1),
        "allocation alpha_256 alpha_reference base_rate beta_256 cap_to_left cap_to_remaining ignore_deadlines late \
         late_answers late_extension_permille mtu_bytes pacing pause_new police_bps quench quench_strict queue_in_service queue_sample repair \
         request_backoff request_bytes request_lag request_packets reset_intervals reverse_request rounding rto_min_ps scale speculative \
         speculative_growth_permille speculative_rises target_256 update_interval_ps"
    );
    assert_eq!(
        resolved["topology"].to_string(),
        r#"{"host_link":{"latency_ps":20000000,"loss":0.0,"rate_bps":1000000000},"hosts_per_rack":40,"kind":"leaf-spine","racks":26,"spines":1,"uplink":{"latency_ps":20000000,"loss":0.0,"rate_bps":40000000000}}"#
    );
}

#[test]
fn key_paths_of_resolved_places() {
    let text = r#"transport = ["dctcp", "slow"]
duration = "1 s"
[topology]
kind = "leaf-spine"
racks = 4
hosts_per_rack = 8
host_link = { rate = "1 Gbps", latency = "20 us" }
uplink = { rate = "10 Gbps", latency = "20 us" }
[[workload]]
name = "feed"
kind = "oldi"
fan_in = [3, 2]
response = ["10 KB"]
deadline = "5 ms"
load = 0.1
[[workload]]
kind = "poisson"
size = "1 KB"
rate = "10 /s"
[[workload]]
kind = "background"
size = "1 KB"
load = "25%"
[[variant]]
name = "slow"
base = "tcp"
rto_min = "300 ms"
"#;
    let scenario = load(text, "test.toml", &[], &NoFiles).unwrap_or_else(|error| panic!("{error}"));
    let resolved = resolved_json(&scenario);
    for (place, key, value, shown) in [
        (
            "workloads[0].does.fan_in[1]",
            "workload.feed.fan_in[1]",
            json!(2),
            "2",
        ),
        (
            "workloads[0].does.response[0].bytes",
            "workload.feed.response",
            json!(10_000),
            "10 KB",
        ),
        (
            "workloads[0].does.deadline[0].base_ps",
            "workload.feed.deadline.base",
            json!(5_000_000_000_u64),
            "5 ms",
        ),
        (
            "workloads[0].does.arrival.load",
            "workload.feed.load",
            json!(0.1),
            "0.1",
        ),
        (
            "workloads[0].does.arrival",
            "workload.feed.arrival",
            json!("back-to-back"),
            "\"back-to-back\"",
        ),
        (
            "workloads[0].does.objective.within_ps[0]",
            "workload.feed.objective.within",
            json!(1_000_000),
            "1 us",
        ),
        (
            "workloads[1].does.intensity.flows_per_second",
            "workload.poisson.rate",
            json!(10.0),
            "10.0",
        ),
        (
            "workloads[2].does.every.load",
            "workload.background.load",
            json!(0.25),
            "0.25",
        ),
        (
            "workloads[1].does.digest",
            "workload.poisson.file",
            json!("00ff"),
            "\"00ff\"",
        ),
        (
            "topology.uplink.rate_bps",
            "topology.uplink.rate",
            json!(10_000_000_000_u64),
            "10 Gbps",
        ),
        ("topology.racks", "topology.racks", json!(4), "4"),
        (
            "switch.buffer.pool_bytes",
            "switch.buffer.pool",
            json!(4_000_000),
            "4 MB",
        ),
        (
            "transports.\"dctcp\".options.congestion_control.marks.gain_shift",
            "dctcp.gain",
            json!(4),
            "4",
        ),
        (
            "transports.\"slow\".options.rto_min_ps",
            "variant.slow.rto_min",
            json!(300_000_000_000_u64),
            "300 ms",
        ),
        (
            "transports.\"tcp-prio\".priorities",
            "tcp-prio.classes",
            json!(3),
            "3",
        ),
        (
            "host.send_jitter_ps",
            "host.send_jitter",
            json!(1_000),
            "1 ns",
        ),
        ("warm_up_ps", "warm_up", json!(0), "0 us"),
    ] {
        let found = KeyPath::of(&resolved, place);
        assert_eq!(
            (found.key.as_str(), found.show(&value).as_str()),
            (key, shown),
            "{place}"
        );
    }
}
