//! Statistics of ports from the end of the warm-up to the end of the measurement window.

use duetime_results::PortRecord;
use duetime_scenario::model::Scenario;
use duetime_scenario::{NoFiles, load};
use duetime_sim::{Options, RunOutput, run};

/// Returns a scenario of Poisson flows over busy uplinks, sampled every 500 us.
fn busy(warm_up: &str, duration: &str) -> Scenario {
    let text = format!(
        r#"
name = "measured"
transport = ["tcp", "d3", "tcp-prio"]
warm_up = "{warm_up}"
duration = "{duration}"
drain = "20 ms"

[topology]
kind = "leaf-spine"
racks = 4
hosts_per_rack = 3
spines = 2
host_link = {{ rate = "1 Gbps", latency = "5 us" }}
uplink = {{ rate = "1 Gbps", latency = "20 us", loss = 0.001 }}

[switch]
buffer = "15 KB"

[record]
every = "500 us"
links = ["rack0->spine0", "rack0->host0", "spine1->rack2", "rack3->host9"]

[[workload]]
kind = "poisson"
size = "uniform 1 KB..200 KB"
load = 0.6
"#
    );
    load(&text, "measured.toml", &[], &NoFiles).unwrap_or_else(|error| panic!("{error}"))
}

fn simulate(
    scenario: &Scenario,
    transport: usize,
    threads: usize,
    subpartitions: usize,
) -> RunOutput {
    let options = Options {
        threads,
        subpartitions,
        ..Options::default()
    };
    run(scenario, transport, 0, &options).unwrap()
}

#[test]
fn window_statistics_match_the_samples() {
    let scenario = busy("3 ms", "11 ms");
    let (mut measured, mut whole) = (0, 0);
    for transport in 0..3 {
        let output = simulate(&scenario, transport, 1, 1);
        let records = &output.records;
        for (number, name) in records.sampled_links.iter().enumerate() {
            let port = records
                .ports
                .iter()
                .find(|port| port.link == *name)
                .unwrap();
            let samples = records.series.iter().filter(|sample| {
                sample.link == number as u32
                    && sample.at.as_ps() > 3_000_000_000
                    && sample.at.as_ps() <= 11_000_000_000
            });
            let sent: u64 = samples.clone().map(|sample| sample.sent_bytes).sum();
            assert_eq!(sent, port.bytes, "{name}");
            let highest = samples.map(|sample| sample.queue_bytes).max().unwrap();
            assert!(highest <= port.queue_max_bytes, "{name}");
            let busy = sent as f64 * 8.0 / 1e9 / 8e-3;
            assert!((port.utilisation - busy).abs() < 1e-9, "{name}: {port:?}");
        }
        let drops = |ports: &[PortRecord]| -> u64 { ports.iter().map(|port| port.drops).sum() };
        measured += drops(&records.ports);
        whole += drops(&output.whole_ports);
    }
    assert!(0 < measured && measured < whole, "{measured} of {whole}");
}

#[test]
fn windows_add_up_to_the_whole_run() {
    // Both runs are the same, because hosts do not depend on the start of the measurement.
    let early = simulate(&busy("0 us", "11 ms"), 0, 1, 1);
    let late = simulate(&busy("4 ms", "11 ms"), 0, 1, 1);
    assert_eq!(early.whole_ports.len(), late.whole_ports.len());
    let records = &early.records;
    for (number, name) in records.sampled_links.iter().enumerate() {
        let port = |output: &RunOutput| {
            let ports = output.records.ports.iter();
            ports
                .clone()
                .find(|port| port.link == *name)
                .unwrap()
                .clone()
        };
        let (all, part) = (port(&early), port(&late));
        let samples = records
            .series
            .iter()
            .filter(|sample| sample.link == number as u32 && sample.at.as_ps() <= 4_000_000_000);
        let before: u64 = samples.map(|sample| sample.sent_bytes).sum();
        assert!(before > 0);
        assert_eq!(all.bytes, before + part.bytes, "{name}");
        assert!(all.queue_max_bytes >= part.queue_max_bytes, "{name}");
        assert!(
            all.queue_mean_bytes * 11.0 >= part.queue_mean_bytes * 7.0,
            "{name}"
        );
    }
}

#[test]
fn window_statistics_ignore_threads_and_parts() {
    for (warm_up, duration) in [("3 ms", "11 ms"), ("2.3456789 ms", "7.7654321 ms")] {
        let scenario = busy(warm_up, duration);
        for transport in 0..3 {
            let one = simulate(&scenario, transport, 1, 1);
            for (threads, subpartitions) in [(2, 1), (3, 1), (1, 4), (2, 3)] {
                let other = simulate(&scenario, transport, threads, subpartitions);
                assert_eq!(one.records.ports, other.records.ports);
                assert_eq!(one.whole_ports, other.whole_ports);
            }
        }
    }
}

#[test]
fn bursts_are_measured_until_the_run_ends() {
    let text = r#"
name = "burst"
transport = "tcp"

[topology]
kind = "star"
hosts = 5
link = { rate = "1 Gbps", latency = "5 us" }

[[workload]]
kind = "burst"
senders = 4
receiver = 0
size = "1 MB"
"#;
    let scenario = load(text, "burst.toml", &[], &NoFiles).unwrap();
    // The burst takes 33 ms, longer than the duration of 1 ms.
    let output = simulate(&scenario, 0, 1, 1);
    let port = |name: &str| {
        let ports = output.records.ports.iter();
        ports.clone().find(|port| port.link == name).unwrap()
    };
    assert!(port("switch->host0").bytes >= 4_000_000);
    assert_eq!(output.records.ports, output.whole_ports);
    assert!(port("switch->host0").utilisation > 0.9);
}

#[test]
fn host_delays_do_not_count_as_queue() {
    // A packet of 140 B takes 112 ns to send. The next one leaves during its delay of up to 30 ns.
    let text = r#"
name = "delays"
transport = "tcp"
tcp.mss = "100 B"

[topology]
kind = "star"
hosts = 2
link = { rate = "10 Gbps", latency = "1 us" }

[host]
send_jitter = "30 ns"

[[workload]]
kind = "burst"
senders = 1
receiver = 0
size = "20 MB"
"#;
    let scenario = load(text, "delays.toml", &[], &NoFiles).unwrap();
    let output = simulate(&scenario, 0, 1, 1);
    let mut ports = output.whole_ports.iter();
    let port = ports.find(|port| port.link == "host1->switch").unwrap();
    assert!(port.utilisation > 0.9, "{port:?}");
    assert_eq!(port.queue_max_bytes, 140);
    let busy = 140.0 * port.utilisation;
    assert!(
        (port.queue_mean_bytes / busy - 1.0).abs() < 0.001,
        "{port:?}"
    );
}
