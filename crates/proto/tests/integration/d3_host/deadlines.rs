//! Effects of deadlines: requests, quenching, speculation, and policies for late flows.

use super::host::{Host, RTT, bursts, us};
use duetime_core::Span;
use duetime_proto::d3::{Config, EncodedRate, Flags, Late, Rounding, Speculation};

#[test]
fn infeasible_flows_are_quenched() {
    let quench = Config::default().with(|c| c.host.policy.quench = true);
    let infeasible = Host::new(quench, 1_000_000, Some(us(1_000)));
    assert!(infeasible.sender.is_quenched() && infeasible.sender.is_closed());
    assert!(
        !Host::new(Config::default(), 1_000_000, Some(us(1_000)))
            .sender
            .is_quenched()
    );

    let mut host = Host::new(quench, 100_000, Some(us(2_000)));
    host.burst();
    host.grant(RTT, 0, 10);
    assert!(!host.sender.is_quenched());
    let burst = host.grant(Span::from_us(950), 0, 0);
    assert!(
        host.sender.is_quenched(),
        "97 KB in 0.75 ms are more than 125 B/us"
    );
    assert_eq!(burst.len(), 1);
    assert!(burst[0].flags.contains(Flags::FIN | Flags::QUENCH));
    host.grant(RTT, 2_920, 0);
    assert!(host.sender.is_closed());
}

#[test]
fn late_flows_follow_their_policy() {
    let desired_rate = |late| {
        let mut host = Host::new(
            Config::default().with(|c| c.host.policy.late = late),
            1_000_000,
            Some(us(10_000)),
        );
        host.burst();
        host.grant(Span::from_us(10_500), 0, 0)[0]
            .request
            .unwrap()
            .desired
    };
    assert_eq!(desired_rate(Late::FairShare), EncodedRate::ZERO);
    assert_eq!(desired_rate(Late::Max), EncodedRate::from_byte(125));
    // 1 MB until 20 ms with a round trip of 10.5 ms: the lag terms leave no time.
    assert_eq!(desired_rate(Late::Extend), EncodedRate::from_byte(125));
}

#[test]
fn four_rises_end_a_speculating_flow() {
    let speculative = Config::default().with(|c| c.host.policy.speculative = true);
    // 100 KB over 7, 6, 5, 4 and 3 ms: 14.3, 16.7, 20, 25, 33.3 B/us, each at least 16 % above the previous one.
    let paused = [0; 5];
    assert_eq!(
        desired_rates(Config::default(), &paused),
        bytes([15, 17, 20, 25, 34])
    );
    let mut quenched = bytes([15, 17, 20, 25]);
    quenched.push(None);
    assert_eq!(desired_rates(speculative, &paused), quenched);

    // The data sent at 30 B/us in the third slot makes the fourth request smaller. The count restarts, and reaches four
    // one feedback after the last of these.
    let interrupted = [0, 0, 30, 0, 0, 0];
    let rates = desired_rates(speculative, &interrupted);
    assert_eq!(rates[..3], bytes([15, 17, 14]));
    assert!(rates.iter().all(Option::is_some), "{rates:?}");
    let longer = [0, 0, 30, 0, 0, 0, 0];
    assert_eq!(desired_rates(speculative, &longer).pop(), Some(None));

    // One rise is enough if it is at least 20 %.
    let once = speculative.with(|c| {
        c.host.policy.speculation = Speculation {
            rises: 1,
            growth_permille: 200,
        }
    });
    assert_eq!(
        desired_rates(once, &[0; 2]),
        bytes([15, 17]),
        "16.7 % is below 20 %"
    );
    assert_eq!(desired_rates(once, &[0; 3])[2], None, "20 % is enough");
}

#[test]
fn speculating_flow_returns_its_allocation() {
    let speculative = Config::default().with(|c| c.host.policy.speculative = true);
    let mut host = Host::new(speculative, 100_000, Some(us(10_000)));
    host.burst();
    for _ in 0..4 {
        host.grant(Span::from_ms(1), 0, 0);
    }
    let burst = host.grant(Span::from_ms(1), 0, 0);
    assert_eq!(burst.len(), 1, "only the FIN, which returns the allocation");
    assert!(burst[0].flags.contains(Flags::FIN | Flags::QUENCH));
    assert_eq!(
        burst[0].request.expect("a request").desired,
        EncodedRate::ZERO
    );
    host.grant(Span::from_ms(1), 0, 0);
    assert!(host.sender.is_closed() && host.sender.is_quenched());
}

#[test]
fn feasible_flows_do_not_speculate() {
    let speculative = bursts().with(|c| c.host.policy.speculative = true);
    let mut unlimited = Host::new(speculative, 100_000, None);
    unlimited.burst();
    for _ in 0..50 {
        unlimited.grant(Span::from_ms(1), 0, 0);
    }
    assert!(!unlimited.sender.is_quenched());
    // The flow needs 10 B/us from the start, so its desired rate is nearly constant until the end.
    let rates = desired_rates(speculative, &[15; 6]);
    assert!(rates.iter().all(Option::is_some), "{rates:?}");
}

#[test]
fn soft_deadline_moves_only_when_missed() {
    let soft = Config::default().with(|c| {
        c.host.policy.late = Late::Extend;
        c.host.policy.late_extension_permille = 500;
    });
    // Paused for 16 ms. Before 10 ms: 100 KB over the time left less two round trips, or the uplink's rate if that is
    // zero. At 10 ms the deadline moves to 15 ms: 3, 2, 1 ms are left, then none. At 15 ms it moves to 20 ms.
    let rates = desired_rates(soft, &[0; 16]);
    let expected = bytes([
        15, 17, 20, 25, 34, 50, 100, 125, 125, 34, 50, 100, 125, 125, 34, 50,
    ]);
    assert_eq!(rates, expected);
    let fair = soft.with(|c| c.host.policy.late = Late::FairShare);
    let rates = desired_rates(fair, &[0; 16]);
    assert_eq!(rates[..9], expected[..9], "equal until the deadline");
    assert_eq!(rates[9..], bytes([0; 7]), "zero after it");
}

/// Runs a flow of 100 KB due at 10 ms, answered every millisecond. Returns its desired rates, in B/us rounded up, with
/// `None` after it is quenched.
fn desired_rates(config: Config, grants: &[u8]) -> Vec<Option<EncodedRate>> {
    let config = config.with(|c| c.wire.rounding = Rounding::CeilFloor);
    let mut host = Host::new(config, 100_000, Some(us(10_000)));
    host.burst();
    grants
        .iter()
        .map(|&grant| {
            let burst = host.grant(Span::from_ms(1), 0, grant);
            let request = burst.iter().find_map(|packet| packet.request);
            let desired = request.expect("a request or a FIN each time").desired;
            (!host.sender.is_quenched()).then_some(desired)
        })
        .collect()
}

fn bytes<const N: usize>(rates: [u8; N]) -> Vec<Option<EncodedRate>> {
    rates
        .into_iter()
        .map(|rate| Some(EncodedRate::from_byte(rate)))
        .collect()
}
