//! What deadlines do: requests, quenching, speculation, and what follows a missed one.

use crate::host::{Host, RTT, bursts, us};
use duetime_core::Span;
use duetime_proto::d3::{Config, EncodedRate, Flags, Late, Rounding, Speculation};

#[test]
fn hopeless_flows_are_quenched_at_the_start_and_on_the_way() {
    let quench = Config {
        quench: true,
        ..Config::default()
    };
    let hopeless = Host::new(quench, 1_000_000, Some(us(1_000)));
    assert!(hopeless.sender.is_quenched() && hopeless.sender.is_closed());
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
fn late_flows_ask_by_their_policy() {
    let asked = |late| {
        let mut host = Host::new(
            Config {
                late,
                ..Config::default()
            },
            1_000_000,
            Some(us(10_000)),
        );
        host.burst();
        host.grant(Span::from_us(10_500), 0, 0)[0]
            .request
            .unwrap()
            .desired
    };
    assert_eq!(asked(Late::FairShare), EncodedRate::ZERO);
    assert_eq!(asked(Late::Max), EncodedRate::from_byte(125));
    // 1 MB until 20 ms with a round trip of 10.5 ms: the lag terms leave no time.
    assert_eq!(asked(Late::Extend), EncodedRate::from_byte(125));
}

#[test]
fn four_rises_running_end_a_speculating_flow() {
    let speculative = Config {
        speculative: true,
        ..Config::default()
    };
    // 100 KB over 7, 6, 5, 4 and 3 ms: 14.3, 16.7, 20, 25, 33.3 B/us, each 16 % or more above the one before.
    let paused = [0; 5];
    assert_eq!(
        asked_each_millisecond(Config::default(), &paused),
        bytes([15, 17, 20, 25, 34])
    );
    let mut given_up = bytes([15, 17, 20, 25]);
    given_up.push(None);
    assert_eq!(asked_each_millisecond(speculative, &paused), given_up);

    // What 30 B/us carry in the third slot makes the fourth request smaller: the count begins again, and reaches four
    // one feedback after the last of these.
    let helped = [0, 0, 30, 0, 0, 0];
    let rates = asked_each_millisecond(speculative, &helped);
    assert_eq!(rates[..3], bytes([15, 17, 14]));
    assert!(rates.iter().all(Option::is_some), "{rates:?}");
    let longer = [0, 0, 30, 0, 0, 0, 0];
    assert_eq!(
        asked_each_millisecond(speculative, &longer).pop(),
        Some(None)
    );

    // One rise is enough, but it has to be of 20 %.
    let once = Config {
        speculation: Speculation {
            rises: 1,
            growth_permille: 200,
        },
        ..speculative
    };
    assert_eq!(
        asked_each_millisecond(once, &[0; 2]),
        bytes([15, 17]),
        "16.7 % is not 20 %"
    );
    assert_eq!(asked_each_millisecond(once, &[0; 3])[2], None, "20 % are");
}

#[test]
fn a_speculating_flow_tells_the_routers_that_it_ends() {
    let speculative = Config {
        speculative: true,
        ..Config::default()
    };
    let mut host = Host::new(speculative, 100_000, Some(us(10_000)));
    host.burst();
    for _ in 0..4 {
        host.grant(Span::from_ms(1), 0, 0);
    }
    let burst = host.grant(Span::from_ms(1), 0, 0);
    assert_eq!(
        burst.len(),
        1,
        "the FIN alone, which returns the allocation"
    );
    assert!(burst[0].flags.contains(Flags::FIN | Flags::QUENCH));
    assert_eq!(
        burst[0].request.expect("a request").desired,
        EncodedRate::ZERO
    );
    host.grant(Span::from_ms(1), 0, 0);
    assert!(host.sender.is_closed() && host.sender.is_quenched());
}

#[test]
fn flows_without_deadline_or_with_enough_do_not_speculate() {
    let speculative = Config {
        speculative: true,
        ..bursts()
    };
    let mut free = Host::new(speculative, 100_000, None);
    free.burst();
    for _ in 0..50 {
        free.grant(Span::from_ms(1), 0, 0);
    }
    assert!(!free.sender.is_quenched());
    // 10 B/us from the start are what it needs: its desired rate hardly moves until the end.
    let rates = asked_each_millisecond(speculative, &[15; 6]);
    assert!(rates.iter().all(Option::is_some), "{rates:?}");
}

#[test]
fn a_soft_deadline_moves_when_it_is_missed_and_only_then() {
    let soft = Config {
        late: Late::Extend,
        late_extension_permille: 500,
        ..Config::default()
    };
    // Paused for 16 ms. Before 10 ms: 100 KB over what is left less two round trips, and the uplink's rate where those
    // leave nothing. At 10 ms the deadline moves to 15 ms: 3, 2, 1 ms are left, then nothing. At 15 ms it moves to 20.
    let rates = asked_each_millisecond(soft, &[0; 16]);
    let wanted = bytes([
        15, 17, 20, 25, 34, 50, 100, 125, 125, 34, 50, 100, 125, 125, 34, 50,
    ]);
    assert_eq!(rates, wanted);
    let fair = Config {
        late: Late::FairShare,
        ..soft
    };
    let rates = asked_each_millisecond(fair, &[0; 16]);
    assert_eq!(rates[..9], wanted[..9], "the same until the deadline");
    assert_eq!(rates[9..], bytes([0; 7]), "and nothing after it");
}

/// A flow of 100 KB due at 10 ms, answered every millisecond: what it asks for, in B/us rounded up, and whether it has
/// given up.
fn asked_each_millisecond(config: Config, grants: &[u8]) -> Vec<Option<EncodedRate>> {
    let config = Config {
        rounding: Rounding::CeilFloor,
        ..config
    };
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
