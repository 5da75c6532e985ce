//! Equal long flows get equal shares despite traffic phase effects (Floyd and Jacobson, 1992). A small part of the grid
//! that `script/bench fairness` runs, with the default host delays.

use duetime_results::stats::jain;
use duetime_scenario::NoFiles;
use duetime_sim::{Options, RunOutput};

/// Minimum Jain index of equal flows.
const MIN_JAIN: f64 = 0.98;

/// Runs N equal flows over links of this latency into one port of a star.
fn run(
    transport: &str,
    flows: u32,
    latency_us: u32,
    duration: &str,
    more: &str,
    seed: u64,
) -> RunOutput {
    let pairs: Vec<String> = (1..=flows).map(|host| format!("[{host}, 0]")).collect();
    let text = format!(
        "name = \"fairness\"\ntransport = \"{transport}\"\nduration = \"{duration}\"\ndrain = \"0 us\"\n\
         [topology]\nkind = \"star\"\nhosts = {}\nlink = {{ rate = \"1 Gbps\", latency = \"{latency_us} us\" }}\n\
         [[workload]]\nkind = \"long\"\npairs = [{}]\njitter = \"1 ms\"\n{more}\n",
        flows + 1,
        pairs.join(", ")
    );
    let scenario =
        duetime_scenario::load(&text, "fairness", &[], &NoFiles).expect("a valid scenario");
    duetime_sim::run(&scenario, 0, seed, &Options::default()).expect("a valid scenario")
}

fn fairness(output: &RunOutput) -> f64 {
    let flows = output.records.flows.iter();
    let delivered: Vec<f64> = flows.map(|flow| flow.delivered_bytes as f64).collect();
    jain(&delivered).expect("flows")
}

const SHALLOW: &str = "[switch]\nbuffer = \"100 packets\"";
/// The TCP of the papers. Linux's Reno locks flows out of a drop-tail port, in the simulator as in the kernel
/// (docs/validation.md).
const SHALLOW_PAPER: &str = "[switch]\nbuffer = \"100 packets\"\n[tcp]\nprofile = \"paper\"";

#[test]
fn equal_flows_get_equal_shares() {
    let mut unfair = Vec::new();
    for (transport, flows, latency_us, duration, switch) in [
        ("dctcp", 2, 20, "1500 ms", ""),
        ("dctcp", 2, 100, "1500 ms", ""),
        ("d2tcp", 4, 5, "1 s", ""),
        ("dctcp", 10, 100, "1 s", ""),
        ("dctcp", 40, 20, "1 s", ""),
        ("tcp", 2, 5, "4 s", SHALLOW_PAPER),
        ("tcp", 2, 100, "4 s", SHALLOW_PAPER),
        ("tcp", 10, 20, "2 s", SHALLOW_PAPER),
    ] {
        for seed in 0..2 {
            let index = fairness(&run(transport, flows, latency_us, duration, switch, seed));
            println!("{transport}, N = {flows}, {latency_us} us, seed {seed}: {index:.3}");
            if index < MIN_JAIN {
                unfair.push((transport, flows, latency_us, seed, index));
            }
        }
    }
    assert!(unfair.is_empty(), "{unfair:?}");
}

/// Without host delays, a flow that fills its own link arrives whenever the full queue loses a packet, and starves a
/// flow that waits for its retransmission timeout; this happens in every run with Linux's timeout of 200 ms.
#[test]
fn without_delays_one_flow_starves_the_other() {
    let exact = format!(
        "{SHALLOW}\n[host]\nsend_jitter = \"0 ps\"\nreceive_jitter = \"0 ps\"\n[tcp]\nprofile = \"linux\""
    );
    let worst = (0..4)
        .map(|seed| fairness(&run("tcp", 2, 5, "3 s", &exact, seed)))
        .fold(1.0, f64::min);
    assert!(worst < 0.9, "{worst}");
}

/// Returns the mean queue in packets and the share of marked packets.
fn steady_state(flows: u32, send_jitter: &str) -> (f64, f64) {
    let more = format!(
        "[switch]\necn_threshold = \"30 packets\"\n[host]\nsend_jitter = \"{send_jitter}\""
    );
    let output = run("dctcp", flows, 20, "1 s", &more, 0);
    let mut ports = output.records.ports.iter();
    let port = ports
        .find(|port| port.link == "switch->host0")
        .expect("the port");
    (
        port.queue_mean_bytes / 1500.0,
        port.marks as f64 / port.packets as f64,
    )
}

#[test]
fn delay_size_does_not_affect_queue_or_marks() {
    for flows in [3, 6, 12] {
        let (queue, marked) = steady_state(flows, "1 ns");
        for size in ["300 ps", "3 ns"] {
            let (other_queue, other_marked) = steady_state(flows, size);
            println!(
                "N = {flows}, 1 ns / {size}: {queue:.2} / {other_queue:.2} packets, {marked:.4} / {other_marked:.4} marked"
            );
            assert!(
                (other_queue / queue - 1.0).abs() < 0.03,
                "N = {flows}, {size}"
            );
            assert!(
                (other_marked / marked - 1.0).abs() < 0.03,
                "N = {flows}, {size}"
            );
        }
    }
}
