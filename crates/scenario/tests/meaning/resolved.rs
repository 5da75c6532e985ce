//! The resolved form of a scenario.

use crate::{EXAMPLE, with};
use duetime_scenario::model::Scenario;
use duetime_scenario::{NoFiles, load, resolved_json};

#[test]
fn the_resolved_text_is_the_meaning_and_not_the_spelling() {
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
fn the_resolved_form_names_each_option_with_its_unit() {
    let resolved = resolved_json(&with(&[("transport", r#"["d2tcp", "d3"]"#)]));
    let options = |index: usize| &resolved["transports"][index]["options"];
    let names = |index: usize| {
        let options = options(index).as_object().expect("a table");
        options.keys().cloned().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(
        names(0),
        "ack_coalescing congestion_control delayed_ack_segments delayed_ack_timeout_ps growth \
         initial_ssthresh_segments initial_window_segments limited_transmit max_ack_delay_ps min_window_segments \
         mss_bytes quick_ack_segments rack rate_reduction receive_window_bytes recovery rto_initial_ps rto_max_ps \
         rto_min_ps slow_start_limit_segments slow_start_restart tail_loss_probe"
    );
    assert_eq!(
        options(0)["congestion_control"].to_string(),
        r#"{"deadlines":{"completion":"approximate","expired":0.5,"imminence":[0.5,2.0]},"kind":"d2tcp","marks":{"gain_shift":4,"initial_alpha":0.0}}"#
    );
    assert_eq!(
        names(1),
        "allocation alpha_256 alpha_reference base_rate beta_256 cap_to_left cap_to_remaining ignore_deadlines late \
         late_answers late_extension_permille mtu_bytes pause_new police_bps quench quench_strict queue_in_service queue_sample repair \
         request_backoff request_bytes request_lag reset_intervals reverse_request rounding rto_min_ps scale speculative \
         speculative_growth_permille speculative_rises target_256 update_interval_ps"
    );
    assert_eq!(
        resolved["topology"].to_string(),
        r#"{"host_link":{"latency_ps":20000000,"loss":0.0,"rate_bps":1000000000},"hosts_per_rack":40,"kind":"leaf-spine","racks":26,"spines":1,"uplink":{"latency_ps":20000000,"loss":0.0,"rate_bps":40000000000}}"#
    );
}
