//! Completeness of the workloads: every packet crosses every link of its path in both directions, and no sooner than
//! possible.

use duetime_floor::{FatTree, Floor, Nic, Outcome, Rounds, Traffic, Work};

#[test]
fn incast_crosses_two_links_each_way() {
    let outcome = Floor::new(Work::Incast, Nic::Fifo).run();
    // 10 MB are 6,850 packets of 1,460 bytes; data and acknowledgement cross two links each.
    assert_eq!(outcome.packet_hops, 40 * 6_850 * 4);
    // The minimum is 40 × (10 MB + 40 bytes per packet) at 1 Gbps on the receiver's link, in picoseconds.
    let min = 40 * (10_000_000 + 40 * 6_850) * 8_000;
    assert!(
        (min..min + min / 1_000).contains(&outcome.finished_ps),
        "{outcome:?}"
    );
    assert!(outcome.marked > 0);
}

#[test]
fn permutation_is_complete_with_either_nic() {
    let fifo = Floor::new(Work::Permutation, Nic::Fifo).run();
    let pull = Floor::new(Work::Permutation, Nic::Pull).run();
    assert_eq!(fifo.packet_hops, pull.packet_hops);
    // 685 packets per flow; eight hops between racks and four within a rack.
    assert_eq!((1_000 * 685 * 8 - fifo.packet_hops) % (685 * 4), 0);
    assert!((5_200_000..5_480_000).contains(&fifo.packet_hops));
}

#[test]
fn runs_are_deterministic() {
    let run = || Floor::new(Work::Incast, Nic::Pull).run();
    assert_eq!(run(), run());
}

/// Runs flows on a fat tree of 16 hosts and returns the outcome, the hops that the flows require, and the last start.
fn rounds(gbps: u32, traffic: Traffic) -> (Outcome, u64, u64) {
    let rounds = Rounds::new(FatTree { k: 4, gbps }, traffic);
    let hops = |flow: &duetime_floor::Demand| {
        // Two hosts per rack, four per pod.
        let shares = |hosts: u32| flow.source / hosts == flow.destination / hosts;
        let links = match (shares(2), shares(4)) {
            (true, _) => 2,
            (_, true) => 4,
            _ => 6,
        };
        2 * links * u64::from(flow.bytes.div_ceil(1_460))
    };
    let needed = rounds.demands().iter().map(hops).sum();
    let last_start = rounds.demands().last().expect("a flow").start;
    (rounds.run(), needed, last_start)
}

#[test]
fn permutation_on_fat_tree_is_complete() {
    let (outcome, hops, _) = rounds(100, Traffic::Permutation { bytes: 1 << 20 });
    assert_eq!(outcome.packet_hops, hops);
    // The minimum is 1 MiB and the headers of 719 packets at 100 Gbps, in picoseconds. Paths collide.
    let min = ((1 << 20) + 719 * 40) * 80;
    assert!((min..5 * min).contains(&outcome.finished_ps), "{outcome:?}");
    assert!(outcome.marked > 0);
}

#[test]
fn hadoop_on_fat_tree_is_complete() {
    let traffic = Traffic::Hadoop {
        flows: 65,
        rate: 1_250,
    };
    let run = || rounds(10, traffic);
    let (outcome, hops, last_start) = run();
    assert_eq!(outcome.packet_hops, hops);
    assert!(outcome.finished_ps > last_start, "{outcome:?}");
    assert_eq!(run().0, outcome, "deterministic");
}

/// The rounds do not delay a packet.
#[test]
fn lone_packet_takes_exact_time() {
    let tree = FatTree { k: 2, gbps: 10 };
    let rounds = Rounds::new(tree, Traffic::Permutation { bytes: 1_460 });
    let last = rounds.demands()[1].start;
    assert_eq!(tree.hosts(), 2);
    // Across two pods of one host: six links of 1 us, and 1.2 us on each.
    assert_eq!(rounds.run().finished_ps, last + 6 * (1_000_000 + 1_200_000));
}
