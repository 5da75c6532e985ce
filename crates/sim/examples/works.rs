//! Temporary driver of W1 and W2.
#![allow(missing_docs, clippy::pedantic, clippy::print_stdout, reason = "driver")]
use duetime_core::{Bytes, Rate, Span};
use duetime_proto::tcp;
use duetime_proto::window::{Dctcp, Law};
use duetime_scenario::model::*;
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let w2 = args[1] == "w2";
    let threads: usize = args.get(2).map_or(1, |s| s.parse().unwrap());
    let d3 = args.get(3).is_some_and(|s| s == "d3");
    let link = |rate| Link { rate, latency: Span::from_us(20), loss: 0.0 };
    let g = Rate::from_gbps;
    let config = tcp::Config { delayed_ack: 1, law: Law::Dctcp(Dctcp { gain_shift: 4, initial_alpha: 0.0 }), ..Default::default() };
    let kind = if w2 {
        WorkloadKind::Permutation { size: Size::Fixed(Bytes(1_000_000)), deadline: Deadline::None, at: Span::ZERO }
    } else {
        WorkloadKind::Burst { senders: 40, receiver: Some(0), size: Size::Fixed(Bytes(10_000_000)), deadline: Deadline::None, at: Span::ZERO, repeat: 1, every: Span::from_secs(1) }
    };
    let protocol = if d3 { Protocol::D3(Default::default()) } else { Protocol::Tcp(config) };
    let scenario = Scenario {
        name: "w".into(),
        transports: vec![Transport { name: "dctcp".into(), protocol, priorities: 1 }],
        seeds: 1, seed: 1, warm_up: Span::ZERO, duration: Span::from_secs(100), drain: Span::from_secs(10),
        topology: if w2 { Topology::LeafSpine { racks: 25, hosts_per_rack: 40, spines: 1, host_link: link(g(1)), uplink: link(g(40)) } } else { Topology::Star { hosts: 41, link: link(g(1)) } },
        switch: Switch { buffer: Buffer::Static(Amount::Packets(1000)), ecn_threshold: vec![(g(1), Amount::Packets(20)), (g(40), Amount::Packets(65))] },
        host: Host { nic: Nic::Pull, frame_overhead: 0, start_jitter: true },
        workloads: vec![Workload { name: "w".into(), kind, transport: None, connection: Connection::PerFlow }],
        record: Record { every: None, links: vec![], pcap: vec![], snap_length: 96 },
    };
    let start = std::time::Instant::now();
    let out = duetime_sim::run(&scenario, 0, 0, &duetime_sim::Options { threads, ..Default::default() }).unwrap();
    let t = out.records.totals;
    let el = start.elapsed();
    println!("{t:?}");
    let done = out.records.flows.iter().filter(|f| f.finish.is_some()).count();
    let last = out.records.flows.iter().filter_map(|f| f.finish).max();
    let drops: u64 = out.records.ports.iter().map(|p| p.drops).sum();
    println!("flows {} done {done} last {last:?} drops {drops}; {:?} {:.1} ns/hop", out.records.flows.len(), el, el.as_nanos() as f64 / t.packet_hops as f64);
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    println!("{}", status.lines().find(|l| l.starts_with("VmHWM")).unwrap());
}
