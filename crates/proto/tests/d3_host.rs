//! The sending host, packet by packet: bursts with carry, the FIN's place, lost requests, lost data, quenching.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the numbers of a test are small"
)]

mod d3_world;

use d3_world::{World, star};
use duetime_core::random::{Purpose, Streams};
use duetime_core::{Rate, Span, Time};
use duetime_proto::Message;
use duetime_proto::d3::{
    Config, EncodedRate, Flags, Late, Packet, QueueSample, Request, Rounding, Sender, Speculation,
    Tag,
};

const GIGABIT: Rate = Rate::from_gbps(1);

fn us(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

/// A sender and what the test plays for the network.
struct Desk {
    config: Config,
    sender: Sender,
    now: Time,
    /// The newest request sent.
    number: u16,
    flags: Flags,
}

impl Desk {
    fn new(config: Config, bytes: u64, deadline: Option<Time>) -> Self {
        let sender = Sender::new(&config, Time::ZERO, GIGABIT, Message { bytes, deadline });
        Self {
            config,
            sender,
            now: Time::ZERO,
            number: 0,
            flags: Flags::default(),
        }
    }

    /// Everything that may leave now.
    fn burst(&mut self) -> Vec<Packet> {
        let mut packets = Vec::new();
        while let Some(packet) = self.sender.poll_transmit(&self.config, self.now) {
            if packet.request.is_some() {
                self.number = packet.tag.number;
                self.flags = packet.flags;
            }
            packets.push(packet);
        }
        assert!(!self.sender.can_transmit(&self.config));
        packets
    }

    fn answer(&self, ack: u64, rate: EncodedRate) -> Packet {
        let mut request = Request {
            index: 1,
            ..Request::default()
        };
        request.feedback[0] = rate;
        request.feedback[1] = rate;
        let kind = Flags(self.flags.0 & (Flags::SYN | Flags::FIN).0);
        Packet {
            seq: ack,
            flags: Flags::ACK | Flags::FEEDBACK | kind,
            tag: Tag {
                number: 1,
                echo: self.number,
                hops: 2,
                stamps: 0,
            },
            request: Some(request),
            ..Packet::default()
        }
    }

    /// `after` the last step the routers' answer arrives.
    fn grant(&mut self, after: Span, ack: u64, units: u8) -> Vec<Packet> {
        self.now += after;
        let answer = self.answer(ack, EncodedRate::from_byte(units));
        self.sender.input(&self.config, self.now, &answer);
        self.burst()
    }

    fn ack(&mut self, seq: u64, gap: bool) {
        let flags = Flags::ACK.with(Flags::GAP, gap);
        self.sender.input(
            &self.config,
            self.now,
            &Packet {
                seq,
                flags,
                ..Packet::default()
            },
        );
    }

    fn wait(&mut self) -> Vec<Packet> {
        self.now = self.sender.next_timeout();
        self.sender.timeout(&self.config, self.now);
        self.burst()
    }
}

fn sizes(packets: &[Packet]) -> Vec<(u32, bool)> {
    packets
        .iter()
        .map(|packet| {
            (
                packet.wire_bytes(&Config::default()),
                packet.request.is_some(),
            )
        })
        .collect()
}

const RTT: Span = Span::from_us(300);

#[test]
fn sixty_megabits_at_300_us_send_one_packet_and_two_by_turns() {
    let config = Config {
        rounding: Rounding::Exact,
        ..Config::default()
    };
    let mut desk = Desk::new(config, 1 << 40, None);
    assert_eq!(
        sizes(&desk.burst()),
        [(62, true)],
        "the SYN carries no data"
    );
    let mut sent = 0;
    for slot in 0..100 {
        desk.now += RTT;
        let acked = sent;
        let answer = desk.answer(acked, EncodedRate(7 * 256 + 128)); // 7.5 B/us
        desk.sender.input(&config, desk.now, &answer);
        let burst = desk.burst();
        sent += burst
            .iter()
            .map(|packet| u64::from(packet.len))
            .sum::<u64>();
        let expected: &[_] = if slot % 2 == 0 {
            &[(1500, true)]
        } else {
            &[(1500, true), (1500, false)]
        };
        assert_eq!(sizes(&burst), expected, "2250 B leave 750, then 3000");
    }
}

#[test]
fn a_paused_flow_sends_its_request_alone_and_hoards_nothing() {
    let mut desk = Desk::new(Config::default(), 1 << 40, None);
    desk.burst();
    for _ in 0..10 {
        assert_eq!(sizes(&desk.grant(RTT, 0, 0)), [(62, true)]);
    }
    assert_eq!(
        sizes(&desk.grant(RTT, 0, 10)),
        [(1500, true), (1500, false)],
        "3000 B, nothing saved up"
    );
}

#[test]
fn the_last_burst_has_no_request_but_the_fin_on_its_last_packet() {
    let mut desk = Desk::new(Config::default(), 4_000, None);
    desk.burst();
    let burst = desk.grant(RTT, 0, 50);
    assert_eq!(
        sizes(&burst),
        [(1500, false), (1500, false), (4_000 - 2 * 1460 + 62, true)]
    );
    let fin = &burst[2];
    assert!(fin.flags.contains(Flags::FIN));
    let request = fin.request.unwrap();
    assert_eq!(request.desired, EncodedRate::ZERO);
    assert_eq!(
        request.previous_allocations[..2],
        [EncodedRate::from_byte(50); 2],
        "it returns what was granted"
    );
    assert!(desk.grant(RTT, 4_001, 0).is_empty());
    assert!(desk.sender.is_closed());
    assert_eq!(desk.sender.acked(), 4_000);
}

#[test]
fn a_fin_that_does_not_fit_follows_alone() {
    let mut desk = Desk::new(Config::default(), 1_450, None);
    desk.burst();
    let burst = desk.grant(RTT, 0, 50);
    assert_eq!(sizes(&burst), [(1490, false), (62, true)]);
    assert!(burst[1].flags.contains(Flags::FIN));
}

#[test]
fn an_empty_flow_opens_and_closes() {
    let mut desk = Desk::new(Config::default(), 0, Some(us(5_000)));
    desk.burst();
    let burst = desk.grant(RTT, 0, 0);
    assert!(burst.len() == 1 && burst[0].flags.contains(Flags::FIN));
    desk.grant(RTT, 1, 0);
    assert!(desk.sender.is_closed());
}

#[test]
fn an_unanswered_request_is_asked_again_with_what_is_confirmed() {
    let mut desk = Desk::new(Config::default(), 1 << 40, None);
    desk.burst();
    let first = desk.grant(RTT, 0, 10);
    let lost = desk.answer(2_898, EncodedRate::from_byte(99));
    // One more round trip at the old rate comes with the second request, nothing with the third.
    let second = desk.wait();
    assert_eq!(desk.now, us(300) + Span::from_ms(1));
    assert_eq!(sizes(&second), [(62, true), (1500, false), (1500, false)]);
    assert_eq!(
        second[0].request.unwrap().previous_allocations[0],
        EncodedRate::from_byte(10)
    );
    assert_ne!(second[0].tag.number, first[0].tag.number);
    desk.ack(2_898, false);
    assert_eq!(sizes(&desk.wait()), [(62, true)]);
    assert_eq!(desk.now, us(300) + Span::from_ms(3), "the wait doubles");
    // The late answer to the first is ignored: its allocation has been replaced.
    desk.sender.input(&desk.config, desk.now, &lost);
    assert_eq!(desk.sender.rate(), EncodedRate::from_byte(10));
    assert!(!desk.sender.can_transmit(&desk.config));
    assert_eq!(desk.sender.counters().lost_requests, 2);
    desk.grant(RTT, 2_898, 20);
    assert_eq!(desk.sender.rate(), EncodedRate::from_byte(20));
}

#[test]
fn three_arrivals_beyond_a_gap_resend_the_first_hole_and_then_the_next() {
    let mut desk = Desk::new(Config::default(), 1 << 40, None);
    desk.burst();
    let burst = desk.grant(RTT, 0, 50); // ten packets
    assert_eq!(burst.len(), 10);
    let (second, third) = (burst[1].seq, burst[2].seq);
    desk.ack(second, false);
    desk.ack(second, true);
    desk.ack(second, true);
    assert!(!desk.sender.can_transmit(&desk.config));
    desk.ack(second, true);
    assert!(
        !desk.sender.can_transmit(&desk.config),
        "the allocation is spent"
    );
    let burst = desk.grant(RTT, second, 5);
    assert_eq!(
        (burst[0].seq, burst[0].flags.contains(Flags::RETRANSMIT)),
        (second, true)
    );
    assert_eq!(desk.sender.counters().fast_retransmits, 1);
    // A partial acknowledgement shows the next hole.
    desk.ack(third + 1460, false);
    let burst = desk.grant(RTT, third + 1460, 10);
    assert_eq!(burst[0].seq, third + 1460);
    assert!(burst[0].flags.contains(Flags::RETRANSMIT));
}

#[test]
fn a_timeout_resends_everything_unacknowledged_from_the_allocation() {
    let mut desk = Desk::new(Config::default(), 1 << 40, None);
    desk.burst();
    desk.grant(RTT, 0, 50);
    // The answer comes without any acknowledgement, and then nothing more.
    desk.grant(RTT, 0, 0);
    let mut pauses = 0;
    while desk.sender.counters().timeouts == 0 {
        desk.grant(RTT, 0, 0);
        if desk.sender.next_timeout() <= desk.now + RTT {
            desk.wait();
        }
        pauses += 1;
        assert!(pauses < 50);
    }
    assert!(desk.now >= us(10_000), "RTOmin is 10 ms");
    let burst = desk.grant(RTT, 0, 10);
    assert_eq!((burst[0].seq, burst[1].seq), (0, u64::from(burst[0].len)));
    assert!(
        burst
            .iter()
            .all(|packet| packet.flags.contains(Flags::RETRANSMIT))
    );
}

#[test]
fn an_unanswered_fin_is_repeated_eight_times() {
    let mut desk = Desk::new(Config::default(), 1_000, None);
    desk.burst();
    assert_eq!(desk.grant(RTT, 0, 50).len(), 1);
    desk.ack(1_000, false);
    let mut repeated = 0;
    while !desk.sender.is_closed() {
        let burst = desk.wait();
        repeated += burst.len();
        assert!(
            burst
                .iter()
                .all(|packet| packet.flags.contains(Flags::FIN | Flags::RETRANSMIT))
        );
    }
    assert_eq!(repeated, 8);
    assert_eq!(desk.sender.next_timeout(), Time::MAX);
}

#[test]
fn a_syn_nobody_answers_is_given_up() {
    let mut desk = Desk::new(Config::default(), 1_000, None);
    desk.burst();
    let mut tries = 1;
    while !desk.sender.is_closed() {
        tries += desk.wait().len();
    }
    assert_eq!(tries, 33);
    assert!(desk.now < Time::ZERO + Span::from_secs(30));
}

#[test]
fn hopeless_flows_are_quenched_at_the_start_and_on_the_way() {
    let quench = Config {
        quench: true,
        ..Config::default()
    };
    let hopeless = Desk::new(quench, 1_000_000, Some(us(1_000)));
    assert!(hopeless.sender.is_quenched() && hopeless.sender.is_closed());
    assert!(
        !Desk::new(Config::default(), 1_000_000, Some(us(1_000)))
            .sender
            .is_quenched()
    );

    let mut desk = Desk::new(quench, 100_000, Some(us(2_000)));
    desk.burst();
    desk.grant(RTT, 0, 10);
    assert!(!desk.sender.is_quenched());
    let burst = desk.grant(Span::from_us(950), 0, 0);
    assert!(
        desk.sender.is_quenched(),
        "97 KB in 0.75 ms are more than 125 B/us"
    );
    assert_eq!(burst.len(), 1);
    assert!(burst[0].flags.contains(Flags::FIN | Flags::QUENCH));
    desk.grant(RTT, 2_920, 0);
    assert!(desk.sender.is_closed());
}

#[test]
fn late_flows_ask_by_their_policy() {
    let asked = |late| {
        let mut desk = Desk::new(
            Config {
                late,
                ..Config::default()
            },
            1_000_000,
            Some(us(10_000)),
        );
        desk.burst();
        desk.grant(Span::from_us(10_500), 0, 0)[0]
            .request
            .unwrap()
            .desired
    };
    assert_eq!(asked(Late::FairShare), EncodedRate::ZERO);
    assert_eq!(asked(Late::Max), EncodedRate::from_byte(125));
    // 1 MB until 20 ms with a round trip of 10.5 ms: the lag terms leave no time.
    assert_eq!(asked(Late::Extend), EncodedRate::from_byte(125));
}

/// What all ports sent and when all flows ended.
fn outcome(mut world: World) -> (Vec<u64>, Vec<Option<Time>>) {
    world.run(Time::ZERO + Span::from_ms(300));
    let sent = world.ports.iter().map(|port| port.sent_total).collect();
    (sent, world.flows.iter().map(|flow| flow.finished).collect())
}

fn mixed(config: Config, deadlines: bool) -> World {
    let (mut world, down) = star(config, 4, 9, GIGABIT, Span::from_us(40));
    world.loss = 0.002;
    let mut stream = Streams::new(4, 0).stream(0, Purpose::Size);
    for _ in 0..200 {
        let (source, bytes) = (stream.between(1, 8) as usize, stream.between(0, 100_000));
        let start = us(stream.below(100_000));
        let deadline = start + Span::from_us(stream.between(300, 30_000));
        world.flow(
            (source, 0),
            &[down[0]],
            &[down[source]],
            bytes,
            start,
            deadlines.then_some(deadline),
        );
    }
    world
}

#[test]
fn d3_without_deadlines_is_rcpdc() {
    let d3 = Config {
        scale: Some(0),
        late: Late::Max,
        quench: true,
        ..Config::default()
    };
    let rcpdc = Config {
        ignore_deadlines: true,
        ..d3
    };
    assert_eq!(outcome(mixed(d3, false)), outcome(mixed(rcpdc, false)));
    assert_eq!(outcome(mixed(d3, false)), outcome(mixed(rcpdc, true)));
    assert_ne!(outcome(mixed(d3, true)), outcome(mixed(rcpdc, true)));
}

#[test]
fn every_flow_ends_whatever_is_lost() {
    for (seed, loss) in [(1, 0.0), (2, 0.01), (3, 0.05), (4, 0.2)] {
        for queue_sample in [QueueSample::Smallest, QueueSample::Instant] {
            let config = Config {
                scale: Some(0),
                queue_sample,
                quench: seed % 2 == 0,
                ..Config::default()
            };
            let (mut world, down) = star(config, seed, 9, GIGABIT, Span::from_us(40));
            world.loss = loss;
            for port in &mut world.ports {
                port.limit = 20_000;
            }
            let mut stream = Streams::new(seed, 0).stream(0, Purpose::Size);
            for _ in 0..100 {
                let (source, bytes) = (stream.between(1, 8) as usize, stream.between(0, 150_000));
                let start = us(stream.below(20_000));
                let deadline = stream
                    .chance(0.5)
                    .then_some(start + Span::from_ms(stream.between(1, 20)));
                world.flow(
                    (source, 0),
                    &[down[0]],
                    &[down[source]],
                    bytes,
                    start,
                    deadline,
                );
            }
            world.run(Time::ZERO + Span::from_secs(60));
            let mut unfinished = 0;
            for (id, flow) in world.flows.iter().enumerate() {
                let sender = flow.sender.as_ref().unwrap();
                assert!(sender.is_closed(), "flow {id} at loss {loss}");
                unfinished += u32::from(flow.finished.is_none() && !sender.is_quenched());
            }
            assert!(unfinished == 0, "{unfinished} at loss {loss}");
        }
    }
}

/// A flow of 100 KB due at 10 ms, answered every millisecond: what it asks for, in B/us rounded up, and whether it has
/// given up.
fn asked_each_millisecond(config: Config, grants: &[u8]) -> Vec<Option<EncodedRate>> {
    let config = Config {
        rounding: Rounding::CeilFloor,
        ..config
    };
    let mut desk = Desk::new(config, 100_000, Some(us(10_000)));
    desk.burst();
    grants
        .iter()
        .map(|&grant| {
            let burst = desk.grant(Span::from_ms(1), 0, grant);
            let request = burst.iter().find_map(|packet| packet.request);
            let desired = request.expect("a request or a FIN each time").desired;
            (!desk.sender.is_quenched()).then_some(desired)
        })
        .collect()
}

fn bytes<const N: usize>(rates: [u8; N]) -> Vec<Option<EncodedRate>> {
    rates
        .into_iter()
        .map(|rate| Some(EncodedRate::from_byte(rate)))
        .collect()
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
    let mut desk = Desk::new(speculative, 100_000, Some(us(10_000)));
    desk.burst();
    for _ in 0..4 {
        desk.grant(Span::from_ms(1), 0, 0);
    }
    let burst = desk.grant(Span::from_ms(1), 0, 0);
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
    desk.grant(Span::from_ms(1), 0, 0);
    assert!(desk.sender.is_closed() && desk.sender.is_quenched());
}

#[test]
fn flows_without_deadline_or_with_enough_do_not_speculate() {
    let speculative = Config {
        speculative: true,
        ..Config::default()
    };
    let mut free = Desk::new(speculative, 100_000, None);
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
