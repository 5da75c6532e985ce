//! Equal scenarios give equal bytes: when repeated, on any number of threads, in any number of sub-partitions, and with
//! or without tracing.

use crate::common::*;
use duetime_core::{Bytes, Rate, Span};
use duetime_proto::tcp;
use duetime_results::digest;
use duetime_scenario::model::*;
use duetime_sim::{Options, Watch};

/// Asserts that runs on one thread and on others, in one sub-partition and in several, have equal results.
fn assert_independent_of_threads(scenario: &Scenario, threads: &[usize], case: &str) {
    let alone = run(scenario);
    assert!(!alone.records.flows.is_empty(), "{case}");
    let subpartitions = [(1, 2), (1, 5), (2, 3)];
    for (threads, subpartitions) in threads.iter().map(|&count| (count, 1)).chain(subpartitions) {
        let options = Options {
            threads,
            subpartitions,
            ..Options::default()
        };
        let split = duetime_sim::run(scenario, 0, 0, &options).expect("a valid scenario");
        let case = format!("{case}, {threads} threads, {subpartitions} sub-partitions");
        assert_same(&alone.records, &split.records, &case);
        assert_eq!(alone.allocators, split.allocators, "{case}");
    }
}

#[test]
fn runs_repeat_and_seeds_matter() {
    for transport in all_transports() {
        let mut scenario = mixture(transport);
        let first = digest_of(&scenario);
        assert_eq!(digest_of(&scenario), first);
        let other_run = duetime_sim::run(&scenario, 0, 1, &Options::default()).unwrap();
        assert_ne!(digest(&other_run.records).to_string(), first, "another run");
        scenario.seed += 1;
        assert_ne!(digest_of(&scenario), first, "another seed");
    }
}

#[test]
fn results_do_not_depend_on_threads() {
    for transport in all_transports() {
        assert_independent_of_threads(&mixture(transport.clone()), &[2, 3, 4], &transport.name);
    }
}

#[test]
fn losses_do_not_depend_on_threads() {
    for transport in all_transports() {
        let mut scenario = mixture(transport.clone());
        scenario.topology = lossy(scenario.topology, 0.02);
        assert_independent_of_threads(&scenario, &[3], &format!("{} with loss", transport.name));
    }
}

#[test]
fn shared_memory_does_not_depend_on_threads() {
    for transport in all_transports() {
        let mut scenario = mixture(transport.clone());
        scenario.switch.buffer = Buffer::Dynamic {
            pool: Bytes(40_000),
            alpha: 0.5,
        };
        assert_independent_of_threads(
            &scenario,
            &[3],
            &format!("{} with shared memory", transport.name),
        );
    }
}

#[test]
fn simultaneous_packets_do_not_depend_on_threads() {
    // Every sender starts at the same picosecond with the same size, so only the seeded order decides.
    for transport in all_transports() {
        let mut scenario = mixture(transport.clone());
        let mut kind = burst(19, 2);
        if let WorkloadKind::Burst { size, .. } = &mut kind {
            *size = bytes(40_000);
        }
        scenario.workloads = vec![workload(kind)];
        scenario.host.start_jitter = false;
        assert_independent_of_threads(&scenario, &[3], &format!("{} in step", transport.name));
    }
}

#[test]
fn receive_delays_do_not_depend_on_threads() {
    for transport in all_transports() {
        let mut scenario = mixture(transport.clone());
        scenario.host.receive_delay = Span::from_us(3);
        scenario.host.receive_jitter = Gap::Exponential(Span::from_us(5));
        assert_independent_of_threads(
            &scenario,
            &[2, 3],
            &format!("{} with receive delays", transport.name),
        );
        let records = run(&scenario).records;
        scenario.host.receive_jitter = Gap::ZERO;
        assert_ne!(digest(&records).to_string(), digest_of(&scenario));
    }
}

#[test]
fn truncated_runs_do_not_depend_on_threads() {
    for transport in all_transports() {
        let mut scenario = mixture(transport.clone());
        (scenario.duration, scenario.drain) = (Span::from_us(3_210), Span::ZERO);
        assert_independent_of_threads(&scenario, &[3], &format!("{} cut off", transport.name));
    }
}

#[test]
fn persistent_connections_do_not_depend_on_threads() {
    for transport in all_transports() {
        let mut scenario = mixture(transport.clone());
        scenario.workloads[0].connection = Connection::Persistent;
        assert_independent_of_threads(&scenario, &[3], &format!("{} persistent", transport.name));
    }
}

/// Copies arrive after their receiver was forgotten: they open a receiver again or reach the one that another copy
/// opened.
#[test]
fn late_copies_do_not_depend_on_threads() {
    let timeout = Span::from_us(10);
    let impatient = Protocol::Tcp(tcp::Config {
        rto_min: timeout,
        rto_initial: timeout,
        rto_max: timeout,
        delayed_ack: 1,
        ..tcp::Config::default()
    });
    let permutation = WorkloadKind::Permutation {
        size: bytes(13),
        deadline: Deadline::None,
        at: Span::ZERO,
    };
    let topology = Topology::FatTree {
        k: 4,
        link: link(Rate::from_mbps(10), Span::from_us(36)),
    };
    let mut scenario = scenario(topology, impatient, vec![permutation]);
    scenario.switch.load_balancing = LoadBalancing::Packets;
    scenario.host.frame_overhead = 1_000;
    scenario.drain = Span::from_ms(200);
    let records = run(&scenario).records;
    assert!(records.flows.iter().all(|flow| flow.finish.is_some()));
    assert!(records.flows.iter().any(|flow| flow.retransmits > 20));
    assert_independent_of_threads(&scenario, &[3], "late copies");
}

#[test]
fn thousand_hosts_on_two_threads() {
    // The topology of the permutation benchmark, with small flows.
    let permutation = WorkloadKind::Permutation {
        size: bytes(20_000),
        deadline: Deadline::None,
        at: Span::ZERO,
    };
    let topology = Topology::LeafSpine {
        racks: 25,
        hosts_per_rack: 40,
        spines: 1,
        host_link: link(Rate::from_gbps(1), Span::from_us(20)),
        uplink: link(Rate::from_gbps(40), Span::from_us(20)),
    };
    let mut scenario = scenario(topology, dctcp(), vec![permutation]);
    scenario.switch = Switch {
        buffer: Buffer::Static(Amount::Packets(1_000)),
        ecn_threshold: vec![
            (Rate::from_gbps(1), Amount::Packets(20)),
            (Rate::from_gbps(40), Amount::Packets(65)),
        ],
        load_balancing: LoadBalancing::Flows,
    };
    scenario.host.start_jitter = true;
    let alone = run(&scenario).records;
    assert_eq!(
        alone
            .flows
            .iter()
            .filter(|flow| flow.finish.is_some())
            .count(),
        1_000
    );
    let options = Options {
        threads: 2,
        measures_rounds: true,
        ..Options::default()
    };
    let split = duetime_sim::run(&scenario, 0, 0, &options).expect("a valid scenario");
    assert_eq!(digest(&alone), digest(&split.records));

    // The busiest thread of a round has at least half of its packet-hops.
    let rounds = split.rounds.expect("they were measured");
    let hops = alone.totals.packet_hops;
    assert!(
        (hops.div_ceil(2)..hops).contains(&rounds.longest_hops),
        "{rounds:?}"
    );
    let busiest = split.partition_hops.iter().max().copied();
    assert!(busiest <= Some(rounds.longest_hops), "{rounds:?}");
    assert!((1..hops).contains(&rounds.crossings), "{rounds:?}");
    // Rounds last 20 us, the latency between the racks.
    let end_us = alone.totals.end.as_ps() / 1_000_000;
    assert!((1..=end_us / 20 + 2).contains(&rounds.count), "{rounds:?}");
}

#[test]
fn tracing_changes_nothing() {
    for transport in all_transports() {
        let mut scenario = mixture(transport);
        let plain = run(&scenario).records;
        scenario.record.pcap = vec!["rack0->spine0".into(), "host3->rack0".into()];
        let options = Options {
            watch: Watch::flow(plain.flows[0].flow),
            threads: 2,
            ..Options::default()
        };
        let watched = duetime_sim::run(&scenario, 0, 0, &options).unwrap();
        assert_same(&watched.records, &plain, &scenario.transports[0].name);
        assert!(!watched.traces.is_empty() && !watched.captures.is_empty());
    }
}
