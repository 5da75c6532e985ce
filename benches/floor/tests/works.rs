//! Completeness of the workloads: every packet crosses every link of its path in both directions, and no sooner than
//! possible.

use duetime_floor::{Floor, Nic, Work};

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
