//! The paper's examples and rules, driven through the state machines.

mod world;

use super::*;
use crate::Message;
use world::World;

const GIGABIT: Rate = Rate::from_gbps(1);
const RTT: Span = Span::from_us(100);
const PORT: PortId = PortId(7);
const OTHER: PortId = PortId(8);

fn at(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

fn port() -> Port {
    Port::new(PORT, GIGABIT, RTT)
}

/// Returns a packet of a flow with this deadline and remaining time.
fn packet(kind: Kind, deadline: Time, remaining: Span) -> Packet {
    Packet {
        kind,
        reply: false,
        retransmit: false,
        abandoned: false,
        seq: 0,
        len: 0,
        gap_end: 0,
        sent: Time::ZERO,
        header: Header {
            rate: GIGABIT,
            paused_by: None,
            deadline,
            remaining,
            rtt: RTT,
            probe_every: 0,
        },
    }
}

/// Sends a packet of `flow` without a deadline through the port. Returns the header.
fn ask(port: &mut Port, now: Time, flow: u64, remaining: Span) -> Header {
    let mut packet = packet(Kind::Probe, Time::MAX, remaining);
    port.forward(&Config::default(), now, flow, &mut packet, || 0);
    packet.header
}

/// Sends a packet through the port and its reply back. Returns the granted rate in Mbps, zero for a pause, and I.
fn settle(port: &mut Port, now: Time, flow: u64, remaining: Span) -> (u64, u32) {
    let mut header = ask(port, now, flow, remaining);
    port.reverse(&Config::default(), now, flow, &mut header);
    let rate = if header.paused_by.is_some() {
        0
    } else {
        header.rate.as_bps()
    };
    (rate / 1_000_000, header.probe_every)
}

/// Figure 1 of the paper: three flows of 1, 2 and 3 units with deadlines 1, 4 and 6. EDF and SJF complete them at 1, 3
/// and 6. A unit is 10 ms; deadlines have an allowance for round trips.
#[test]
fn figure_one_completes_at_1_3_6() {
    // 833 packets of 1500 B take 9.996 ms.
    let unit = 833 * u64::from(Config::default().payload());
    for has_deadlines in [true, false] {
        let deadline = |units: u64| has_deadlines.then(|| at(units * 10_000 + 800));
        // The least critical flow asks first.
        let flows = [
            (3 * unit, deadline(6)),
            (2 * unit, deadline(4)),
            (unit, deadline(1)),
        ];
        let mut world = World::new(Config::default(), &flows);
        world.run(at(100_000));
        for (flow, units) in [(2, 1), (1, 3), (0, 6)] {
            let finished = world.finished[flow].expect("completes");
            let ideal = at(units * 10_000);
            assert!(
                finished > at(units * 9_900) && finished < ideal + RTT * 8,
                "{flow}: {finished:?}"
            );
            assert!(world.senders[flow].is_closed() && !world.senders[flow].is_abandoned());
        }
        assert!(world.senders[0].counters().preemptions > 0);
        assert_eq!(world.port.flows(), 0, "each TERM removed its flow");
    }
}

#[test]
fn more_critical_flow_preempts() {
    let mut port = port();
    let long = Span::from_ms(5);
    assert_eq!(settle(&mut port, at(0), 1, long).0, 1_000);
    // A flow with a deadline is more critical than any without. It is granted the link at once, ...
    let mut urgent = packet(Kind::Syn, at(90_000), long);
    port.forward(&Config::default(), at(500), 2, &mut urgent, || 0);
    assert_eq!(
        (urgent.header.paused_by, urgent.header.rate),
        (None, GIGABIT)
    );
    // ... but the first flow continues until the whole path has accepted the second.
    assert_eq!(settle(&mut port, at(510), 1, long).0, 1_000);
    port.reverse(&Config::default(), at(550), 2, &mut urgent.header);
    assert_eq!(ask(&mut port, at(560), 1, long).paused_by, Some(PORT));
    // Another port pauses the second flow, so the first one may continue.
    let mut paused = urgent.header;
    paused.paused_by = Some(OTHER);
    port.reverse(&Config::default(), at(700), 2, &mut paused);
    assert_eq!((paused.rate.as_bps(), port.flows()), (0, 1));
    assert_eq!(settle(&mut port, at(710), 1, long).0, 1_000);
}

#[test]
fn criticality_is_deadline_then_time_then_identifier() {
    let mut port = port();
    let (short, long) = (Span::from_ms(1), Span::from_ms(2));
    for (now, (flow, deadline, remaining)) in [
        (4, Time::MAX, short),
        (3, at(9_000), long),
        (9, at(9_000), short),
        (2, at(8_000), long),
        (8, at(9_000), short),
    ]
    .into_iter()
    .enumerate()
    {
        let now = at(now as u64 * 100);
        let mut packet = packet(Kind::Syn, deadline, remaining);
        packet.header.rate = Rate::from_mbps(125);
        port.forward(&Config::default(), now, flow, &mut packet, || 0);
        port.reverse(&Config::default(), now, flow, &mut packet.header);
    }
    assert_eq!(port.identifiers(), [2, 8, 9, 3, 4]);
}

#[test]
fn early_start_admits_next_flow_in_last_two_round_trips() {
    let long = Span::from_ms(5);
    for (round_trips_10, next) in [(21, 0), (20, 0), (19, 1_000)] {
        let mut port = port();
        settle(&mut port, at(0), 1, Span::from_ms(1));
        assert_eq!(
            settle(&mut port, at(500), 1, RTT * round_trips_10 / 10).0,
            1_000
        );
        assert_eq!(
            settle(&mut port, at(501), 2, long).0,
            next,
            "{round_trips_10}"
        );
    }
    // Flows start early until the sum reaches K: 1.5 + 1.5.
    let mut port = port();
    let ending = RTT * 3 / 2;
    for (flow, start) in [(1, 0), (2, 100), (3, 200)] {
        assert_eq!(settle(&mut port, at(start), flow, ending).0, 1_000);
    }
    assert_eq!(settle(&mut port, at(300), 4, ending).0, 0);
    // Without Early Start, the second waits.
    let config = Config::default().with(|c| c.early_start_permille = 0);
    let mut port = super::tests::port();
    settle(&mut port, at(0), 1, RTT);
    let mut second = packet(Kind::Syn, Time::MAX, long);
    port.forward(&config, at(100), 2, &mut second, || 0);
    assert_eq!(second.header.paused_by, Some(PORT));
}

/// A flow of 40 us dampens for half of that, a long one for half of a round trip.
#[test]
fn dampening_follows_an_acceptance() {
    for (first, dampened) in [(Span::from_us(40), 20), (Span::from_ms(5), 50)] {
        let mut port = port();
        ask(&mut port, at(0), 1, first);
        let second = |port: &mut Port, us: u64| ask(port, at(us), 2, Span::from_us(10)).paused_by;
        assert_eq!(second(&mut port, dampened - 1), Some(PORT));
        assert!(
            ask(&mut port, at(dampened - 1), 1, first)
                .paused_by
                .is_none()
        );
        assert_eq!(second(&mut port, dampened), None);
    }
}

#[test]
fn probing_is_suppressed_by_index() {
    let mut port = port();
    let config = Config::default().with(|c| c.dampening_permille = 0);
    for flow in 0..8 {
        let mut packet = packet(Kind::Syn, at(50_000 + flow), Span::from_ms(5));
        packet.header.rate = Rate::from_mbps(125);
        port.forward(&config, at(0), flow, &mut packet, || 0);
        port.reverse(&config, at(0), flow, &mut packet.header);
        assert_eq!(packet.header.probe_every, flow as u32 * 200);
    }
    // Indices 8, 9 and 10; X is 0.2.
    for (flow, every) in [(8, 1_600), (9, 1_800), (10, 2_000)] {
        let remaining = Span::from_ms(5 + flow);
        assert_eq!(settle(&mut port, at(10), flow, remaining), (0, every));
    }
    // Another port may ask for more.
    let mut header = ask(&mut port, at(20), 8, Span::from_ms(13));
    header.probe_every = 9_000;
    port.reverse(&Config::default(), at(20), 8, &mut header);
    assert_eq!(header.probe_every, 9_000);
}

#[test]
fn paused_sender_probes_every_i_round_trips() {
    let config = Config::default();
    let message = Message::new(1_000_000, None);
    let mut sender = Sender::new(&config, Time::ZERO, GIGABIT, 0, message);
    let answer = |sender: &mut Sender, sent: Time, probe_every: u32| {
        let packet = sender.poll_transmit(&config, sent).expect("a packet");
        let header = Header {
            paused_by: Some(PORT),
            probe_every,
            ..packet.header
        };
        let reply = Packet {
            reply: true,
            header,
            ..packet
        };
        sender.input(&config, sent + RTT, &reply);
        packet
    };
    assert_eq!(answer(&mut sender, at(0), 0).kind, Kind::Syn);
    // I is at least one round trip, measured from the last packet.
    for (now, probe_every, next) in [(100, 2_600, 360), (360, 400, 460), (460, 0, 560)] {
        assert_eq!(sender.next_timeout(), at(now));
        assert_eq!(sender.timeout(&config, at(now)), Some(Timer::Probe));
        let probe = answer(&mut sender, at(now), probe_every);
        assert_eq!(
            (probe.kind, probe.header.paused_by),
            (Kind::Probe, Some(PORT))
        );
        assert_eq!(sender.next_timeout(), at(next));
    }
}

/// Returns a sender of `packets` full packets with this deadline whose SYN was answered after [`RTT`].
fn opened(config: &Config, packets: u64, deadline: Time, paused_by: Option<PortId>) -> Sender {
    let bytes = packets * u64::from(config.payload());
    let message = Message::new(bytes, Some(deadline));
    let mut sender = Sender::new(config, Time::ZERO, GIGABIT, 0, message);
    let syn = sender.poll_transmit(config, Time::ZERO).expect("a SYN");
    let header = Header {
        paused_by,
        ..syn.header
    };
    sender.input(
        config,
        Time::ZERO + RTT,
        &Packet {
            reply: true,
            header,
            ..syn
        },
    );
    sender
}

/// A packet takes 12 us.
#[test]
fn early_termination_if_deadline_passed() {
    let config = Config::default();
    let mut sender = opened(&config, 1, at(150), None);
    let data = sender.poll_transmit(&config, at(100)).expect("data");
    assert_eq!(
        (data.kind, data.header.remaining),
        (Kind::Data, Span::from_us(12))
    );
    // Everything is in flight, so only the deadline itself counts.
    assert_eq!(sender.next_timeout(), at(150) + Span::from_ps(1));
    assert_eq!(sender.timeout(&config, at(150)), None);
    assert_eq!(
        sender.timeout(&config, sender.next_timeout()),
        Some(Timer::Termination)
    );
    let term = sender.poll_transmit(&config, at(151)).expect("a TERM");
    assert!(term.kind == Kind::Term && term.abandoned && sender.is_abandoned());
    sender.input(
        &config,
        at(250),
        &Packet {
            reply: true,
            ..term
        },
    );
    assert!(sender.is_closed());
}

#[test]
fn early_termination_if_time_exceeds_what_is_left() {
    let config = Config::default();
    // 50 packets take 600 us. At 100 us, 600 us are left; a picosecond later, too little.
    let mut sender = opened(&config, 50, at(700), None);
    assert!(!sender.is_abandoned());
    assert_eq!(sender.next_timeout(), at(100) + Span::from_ps(1));
    assert_eq!(
        sender.timeout(&config, sender.next_timeout()),
        Some(Timer::Termination)
    );
    // At submission: nothing is sent.
    let message = Message::new(50 * u64::from(config.payload()), Some(at(599)));
    let mut late = Sender::new(&config, Time::ZERO, GIGABIT, 0, message);
    assert!(
        late.is_closed() && late.is_abandoned() && late.poll_transmit(&config, at(0)).is_none()
    );
    // Without the option, the flow continues.
    let patient = config.with(|c| c.early_termination = false);
    let sender = Sender::new(&patient, Time::ZERO, GIGABIT, 0, message);
    assert!(sender.can_transmit() && !sender.is_abandoned());
}

#[test]
fn early_termination_if_paused_without_a_round_trip() {
    let config = Config::default();
    // A packet takes 12 us, but a paused flow needs a round trip for its next chance.
    let mut paused = opened(&config, 1, at(250), Some(PORT));
    let mut sending = opened(&config, 1, at(250), None);
    assert!(sending.can_transmit());
    assert_eq!(paused.timeout(&config, at(100)), Some(Timer::Probe));
    let probe = paused.poll_transmit(&config, at(100)).expect("a probe");
    assert_eq!(probe.kind, Kind::Probe);
    assert_eq!(paused.next_timeout(), at(150) + Span::from_ps(1));
    assert_eq!(
        paused.timeout(&config, paused.next_timeout()),
        Some(Timer::Termination)
    );
    assert_eq!(sending.timeout(&config, at(151)), None);
    assert!(!sending.is_abandoned());
}

#[test]
fn list_is_bounded_by_twice_the_sending_flows() {
    let mut port = port();
    let remaining = Span::from_ms(5);
    for flow in 0..50 {
        ask(&mut port, at(flow), flow, remaining);
    }
    // One flow was accepted.
    assert_eq!(port.identifiers(), [0, 1]);
    // More critical flows displace the least critical.
    for flow in 100..120 {
        ask(&mut port, at(49), flow, Span::from_ms(4));
    }
    assert_eq!(port.identifiers(), [100, 101]);
    // Eight flows of 125 Mbps each are sending, so eight others have a place.
    let config = Config::default().with(|c| c.dampening_permille = 0);
    let mut port = super::tests::port();
    for flow in 0..50 {
        let mut packet = packet(Kind::Syn, Time::MAX, remaining);
        packet.header.rate = Rate::from_mbps(125);
        port.forward(&config, at(0), flow, &mut packet, || 0);
        port.reverse(&config, at(0), flow, &mut packet.header);
        assert!(port.flows() <= 16);
    }
    assert_eq!(port.flows(), 16);
}

/// The link is 1 Gbps; the listed flow takes 400 Mbps, and two flows outside the list share the remainder.
#[test]
fn flows_outside_the_list_share_what_is_left() {
    let mut port = port();
    let mut listed = |flow: u64, mbps: u64| {
        let mut packet = packet(Kind::Syn, at(90_000), Span::from_ms(5));
        packet.header.rate = Rate::from_mbps(mbps);
        port.forward(&Config::default(), at(0), flow, &mut packet, || 0);
        port.reverse(&Config::default(), at(0), flow, &mut packet.header);
    };
    listed(1, 400);
    listed(2, 200); // dampened, but in the list
    assert_eq!(port.identifiers(), [1, 2]);
    let long = Span::from_ms(5);
    assert_eq!(settle(&mut port, at(10), 3, long).0, 600);
    assert_eq!(settle(&mut port, at(20), 4, long).0, 300);
    assert_eq!(settle(&mut port, at(30), 3, long).0, 300);
}

#[test]
fn lost_term_leaves_no_state() {
    let mut port = port();
    let long = Span::from_ms(5);
    settle(&mut port, at(0), 1, long);
    // The sender dies. Another flow probes and gets the link after at most eight silent round trips and an update.
    let mut granted = None;
    for probe in 1..30 {
        let now = at(probe * 100);
        if settle(&mut port, now, 2, Span::from_ms(9)).0 > 0 {
            granted.get_or_insert(probe);
        }
    }
    assert!((8..=11).contains(&granted.expect("a grant")), "{granted:?}");
    assert_eq!(port.identifiers(), [2]);
    // A TERM that arrives removes its flow at once.
    let mut term = packet(Kind::Term, Time::MAX, Span::ZERO);
    port.forward(&Config::default(), at(3_000), 2, &mut term, || 0);
    assert_eq!(port.flows(), 0);
}

/// C = max(0, r − q / (2 RTT)): 12.5 KB in 200 us are 500 Mbps.
#[test]
fn rate_controller_drains_queue_in_two_round_trips() {
    let mut port = port();
    let mut step = |us: u64, queue: u64| {
        let mut packet = packet(Kind::Probe, Time::MAX, Span::from_ms(5));
        port.forward(&Config::default(), at(us), 1, &mut packet, || queue);
        let rate = packet.header.rate.as_bps() * u64::from(packet.header.paused_by.is_none());
        (port.capacity().as_bps() / 1_000_000, rate / 1_000_000)
    };
    assert_eq!(step(0, 0), (1_000, 1_000));
    assert_eq!(step(199, 12_500), (1_000, 1_000), "every two round trips");
    assert_eq!(step(200, 12_500), (500, 500));
    assert_eq!(step(400, 25_000), (0, 0));
    assert_eq!(step(600, 90_000), (0, 0));
    assert_eq!(step(800, 0), (1_000, 1_000));
}

/// While only probes fill the queue, the most critical flow gets the smallest grant, 1,500 B per 100 us, from eight round
/// trips after the last data on. Others stay paused.
#[test]
fn probes_alone_do_not_pause_all_flows() {
    let mut port = port();
    let mut step = |us: u64, flow: u64, kind: Kind| {
        let remaining = Span::from_ms(4 + flow);
        let mut packet = packet(kind, Time::MAX, remaining);
        port.forward(&Config::default(), at(us), flow, &mut packet, || 90_000);
        packet.header.rate.as_bps() / 1_000_000 * u64::from(packet.header.paused_by.is_none())
    };
    assert_eq!(step(200, 1, Kind::Data), 0);
    assert_eq!(step(1_000, 1, Kind::Probe), 0);
    assert_eq!(step(1_001, 2, Kind::Probe), 0);
    assert_eq!(step(1_001, 1, Kind::Probe), 120);
    assert_eq!(step(1_100, 1, Kind::Data), 0);
}

#[test]
fn receiver_limits_rate_and_returns_header() {
    let mut receiver = Receiver::new(Rate::from_mbps(10));
    let sent = Packet {
        len: 100,
        ..packet(Kind::Data, at(9), RTT)
    };
    assert_eq!(receiver.input(&sent).bytes, 100);
    let reply = receiver.poll_transmit().expect("a reply");
    assert_eq!(
        reply.header,
        Header {
            rate: Rate::from_mbps(10),
            ..sent.header
        }
    );
    assert_eq!(
        (reply.seq, reply.wire_bytes(), receiver.can_transmit()),
        (100, HEADER_BYTES, false)
    );
    // A gap is reported with the next data behind it.
    receiver.input(&Packet { seq: 300, ..sent });
    let reply = receiver.poll_transmit().expect("a reply");
    assert_eq!((reply.seq, reply.gap_end), (100, 300));
}

/// Any packet may be lost, also the SYN and the TERM.
#[test]
fn each_loss_is_repaired() {
    let bytes = 20 * u64::from(Config::default().payload());
    for lost in 1..=30 {
        let mut world = World::new(Config::default(), &[(bytes, None), (bytes * 2, None)]);
        world.lost = vec![lost, lost + 3];
        world.run(at(300_000));
        assert!(
            world.finished.iter().all(Option::is_some),
            "{lost}: {:?}",
            world.finished
        );
        assert!(world.senders.iter().all(Sender::is_closed), "{lost}");
    }
}

#[test]
fn silent_receiver_ends_flow() {
    let config = Config::default();
    for deadline in [None, Some(at(1_000_000_000))] {
        let mut sender = Sender::new(&config, Time::ZERO, GIGABIT, 0, Message::new(9, deadline));
        let mut packets = 0;
        while !sender.is_closed() {
            let now = sender.next_timeout();
            sender.timeout(&config, if packets == 0 { at(0) } else { now });
            packets += u32::from(
                sender
                    .poll_transmit(&config, now.min(at(60_000_000)))
                    .is_some(),
            );
            assert!(packets < 100);
        }
        assert!(sender.is_abandoned() && sender.next_timeout() == Time::MAX);
    }
}
