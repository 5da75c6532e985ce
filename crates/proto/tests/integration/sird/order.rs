//! Order of credits and packets.

use super::*;

/// Returns the hosts in the order of their credits, for messages of 12, 6 and 9 packets.
fn hosts(policy: Policy) -> Vec<u32> {
    let config = Config { policy, ..config() };
    let mut receiver = receiver(&config);
    // The first credit goes to the only message that is known.
    for (host, packets) in [(1, 12), (2, 6), (3, 9)] {
        request(&mut receiver, &config, at(0), host, packets);
    }
    let credits = credits(&mut receiver, at(0), at(60));
    credits.iter().map(|credit| credit.1).collect()
}

#[test]
fn shortest_message_gets_credit_first() {
    let expected = [vec![1], vec![2; 6], vec![3; 9], vec![1; 11]].concat();
    assert_eq!(hosts(Policy::ShortestRemaining), expected);
}

#[test]
fn senders_get_credit_in_turn() {
    let order = hosts(Policy::Fair);
    assert_eq!(order[..7], [1, 2, 3, 1, 2, 3, 1]);
    // Host 2 needs 6 credits and host 3 needs 9.
    assert_eq!(order[18..24], [1, 3, 1, 3, 1, 3]);
    assert_eq!(order[24..], [1; 3]);
}
