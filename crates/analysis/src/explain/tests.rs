use super::*;
use duetime_core::Rate;
use proptest::prelude::*;

/// Trace with two hops in each direction: links 0 and 2 forward, 3 and 1 back; 1 Gbps and 20 µs each.
struct Wire {
    events: Vec<FlowEvent>,
    free: [Time; 4],
}

const LATENCY: Span = Span::from_us(20);

impl Wire {
    fn new() -> Self {
        Self {
            events: Vec::new(),
            free: [Time::ZERO; 4],
        }
    }

    fn note(&mut self, at: Time, what: FlowEventKind) {
        self.events.push(FlowEvent { at, what });
    }

    /// Sends a packet of `bytes` on the wire over `links` and returns its arrival.
    fn carry(&mut self, at: Time, links: [u32; 2], (seq, len): (u64, u32), bytes: u64) -> Time {
        let mut now = at;
        for link in links {
            let begin = now.max(self.free[link as usize]);
            let sending = Rate::from_gbps(1).transmit(bytes);
            let left = begin + sending;
            self.free[link as usize] = left;
            let waited = begin.since(now);
            self.note(
                left,
                FlowEventKind::Departed {
                    link,
                    reverse: links == [3, 1],
                    seq,
                    len,
                    waited,
                    delayed: Span::ZERO,
                    sending,
                    latency: LATENCY,
                },
            );
            now = left + LATENCY;
        }
        now
    }

    fn data(&mut self, at: Time, seq: u64, len: u32, retransmit: bool) -> Time {
        self.note(
            at,
            FlowEventKind::Sent {
                seq,
                len,
                retransmit,
            },
        );
        self.carry(at, [0, 2], (seq, len), u64::from(len) + 40)
    }

    fn reply(&mut self, at: Time, seq: u64) -> Time {
        self.carry(at, [3, 1], (seq, 0), 40)
    }

    /// Performs a handshake and returns its end.
    fn open(&mut self, at: Time) -> Time {
        self.note(at, FlowEventKind::Submitted);
        let arrived = self.data(at, 0, 0, false);
        let established = self.reply(arrived, 1);
        self.note(established, FlowEventKind::Established);
        self.note(established, FlowEventKind::Acked { seq: 1 });
        established
    }
}

fn flow(start: Time, finish: Option<Time>) -> FlowRecord {
    FlowRecord {
        flow: 1,
        destination: 1,
        size_bytes: 1,
        delivered_bytes: 1,
        start,
        finish,
        measured: true,
        ..FlowRecord::default()
    }
}

fn check_coverage(explained: &Explanation, start: Time) {
    let mut at = start;
    for step in &explained.steps {
        assert_eq!(step.from, at, "a gap in {:#?}", explained.steps);
        assert!(step.to > step.from);
        at = step.to;
    }
    assert_eq!(at.since(start), explained.total);
    let total = |sums: Vec<Span>| sums.into_iter().fold(Span::ZERO, |a, b| a + b);
    assert_eq!(
        total(explained.by_cause().into_values().collect()),
        explained.total
    );
    assert_eq!(
        total(explained.by_stage().into_values().collect()),
        explained.total
    );
}

#[test]
fn single_packet_is_handshake_and_delivery() {
    let mut wire = Wire::new();
    let start = Time::from_ps(7_000_000);
    let established = wire.open(start);
    let finish = wire.data(established, 1, 1460, false);
    wire.note(finish, FlowEventKind::Delivered { seq: 1, len: 1460 });
    let explained = explain_flow(&flow(start, Some(finish)), &wire.events);
    check_coverage(&explained, start);
    // SYN and SYN-ACK: 4 hops of 0.32 µs + 20 µs; data: 2 hops of 12 µs + 20 µs.
    assert_eq!(
        explained.by_stage()[&Stage::Handshake],
        Span::from_ns(81_280)
    );
    assert_eq!(explained.by_stage()[&Stage::Delivery], Span::from_us(64));
    assert_eq!(
        explained.by_cause()[&Cause::Propagation],
        Span::from_us(120)
    );
    assert_eq!(
        explained.by_cause()[&Cause::Transmission(2)],
        Span::from_ns(12_320)
    );
    assert_eq!(explained.round_trips, 1);
}

#[test]
fn own_packets_ahead_are_nic_transmission() {
    let mut wire = Wire::new();
    let established = wire.open(Time::ZERO);
    let mut finish = Time::ZERO;
    for i in 0..3 {
        finish = wire.data(
            established + Span::from_us(12 * i),
            1 + 1460 * i,
            1460,
            false,
        );
        wire.note(
            finish,
            FlowEventKind::Delivered {
                seq: 1 + 1460 * i,
                len: 1460,
            },
        );
    }
    let explained = explain_flow(&flow(Time::ZERO, Some(finish)), &wire.events);
    check_coverage(&explained, Time::ZERO);
    let parts = explained.parts();
    assert_eq!(
        parts[&(Stage::Delivery, Cause::Transmission(0))],
        Span::from_us(36)
    );
    assert!(!parts.keys().any(|(stage, _)| *stage == Stage::Window));
}

#[test]
fn window_of_one_shows_its_round_trips() {
    let mut wire = Wire::new();
    let mut now = wire.open(Time::ZERO);
    // Packets of other flows keep link 2 busy during the second round trip.
    let mut finish = Time::ZERO;
    for i in 0..3 {
        if i == 1 {
            wire.free[2] = now + Span::from_us(100);
        }
        let seq = 1 + 1460 * i;
        finish = wire.data(now, seq, 1460, false);
        wire.note(finish, FlowEventKind::Delivered { seq, len: 1460 });
        // The receiver delays its acknowledgement by 5 µs.
        now = wire.reply(finish + Span::from_us(5), seq + 1460);
        wire.note(now, FlowEventKind::Acked { seq: seq + 1460 });
    }
    let explained = explain_flow(&flow(Time::ZERO, Some(finish)), &wire.events);
    check_coverage(&explained, Time::ZERO);
    let parts = explained.parts();
    assert_eq!(parts[&(Stage::Window, Cause::Queue(2))], Span::from_us(68));
    assert_eq!(parts[&(Stage::Window, Cause::Receiver)], Span::from_us(10));
    assert_eq!(explained.by_stage()[&Stage::Delivery], Span::from_us(64));
    assert_eq!(explained.round_trips, 3);
}

#[test]
fn timeout_and_backoff_are_idle_time() {
    let mut wire = Wire::new();
    let established = wire.open(Time::ZERO);
    // The only packet is lost on link 2, twice.
    let first = established;
    wire.note(
        first,
        FlowEventKind::Sent {
            seq: 1,
            len: 100,
            retransmit: false,
        },
    );
    wire.note(
        first + Span::from_us(50),
        FlowEventKind::Dropped { link: 2 },
    );
    let second = first + Span::from_ms(20);
    wire.note(second, FlowEventKind::Timer(Timer::Retransmission));
    wire.note(
        second,
        FlowEventKind::Sent {
            seq: 1,
            len: 100,
            retransmit: true,
        },
    );
    wire.note(
        second + Span::from_us(50),
        FlowEventKind::Dropped { link: 2 },
    );
    let third = second + Span::from_ms(40);
    wire.note(third, FlowEventKind::Timer(Timer::Retransmission));
    let finish = wire.data(third, 1, 100, true);
    wire.note(finish, FlowEventKind::Delivered { seq: 1, len: 100 });
    let explained = explain_flow(&flow(Time::ZERO, Some(finish)), &wire.events);
    check_coverage(&explained, Time::ZERO);
    assert_eq!(
        explained.by_cause()[&Cause::Timer(Timer::Retransmission)],
        Span::from_ms(60)
    );
    assert_eq!(explained.losses[&2], 2);
    assert_eq!(
        explained.by_stage()[&Stage::Handshake],
        established.since(Time::ZERO)
    );
}

#[test]
fn d3_pauses_differ_from_denials() {
    let mut wire = Wire::new();
    let mut now = wire.open(Time::ZERO);
    let mut finish = Time::ZERO;
    let mut spans = Vec::new();
    // Round trip 0 is paused, round trip 1 denied, round trip 2 at the requested rate.
    wire.note(now, FlowEventKind::Granted { allocation_bps: 0 });
    wire.note(now, FlowEventKind::Paused);
    let mut seq = 1;
    for round in 0..4 {
        let before = now;
        wire.note(
            now,
            FlowEventKind::RequestSent {
                desired_bps: 8_000_000,
            },
        );
        let len = if round == 0 { 0 } else { 1460 };
        finish = wire.data(now, seq, len, false);
        if round == 0 {
            wire.note(now + Span::from_us(10), FlowEventKind::Denied { link: 2 });
        } else {
            wire.note(finish, FlowEventKind::Delivered { seq, len });
            seq += 1460;
        }
        now = wire.reply(finish, seq);
        wire.note(now, FlowEventKind::Acked { seq });
        wire.note(
            now,
            FlowEventKind::Granted {
                allocation_bps: 8_000_000,
            },
        );
        spans.push(now.since(before));
    }
    let explained = explain_flow(&flow(Time::ZERO, Some(finish)), &wire.events);
    check_coverage(&explained, Time::ZERO);
    let stages = explained.by_stage();
    assert_eq!(stages[&Stage::Pause], spans[0]);
    assert_eq!(stages[&Stage::Denied], spans[1]);
    assert_eq!(stages[&Stage::Rate], spans[2]);
    assert_eq!(explained.denials[&2], 1);
}

#[test]
fn incomplete_traces_give_coarser_parts() {
    let mut wire = Wire::new();
    let mut now = wire.open(Time::ZERO);
    let mut finish = now;
    for i in 0..3 {
        let seq = 1 + 1460 * i;
        finish = wire.data(now, seq, 1460, false);
        wire.note(finish, FlowEventKind::Delivered { seq, len: 1460 });
        now = wire.reply(finish, seq + 1460);
        wire.note(now, FlowEventKind::Acked { seq: seq + 1460 });
    }
    wire.events
        .retain(|event| !matches!(event.what, FlowEventKind::Departed { .. }));
    let explained = explain_flow(&flow(Time::ZERO, Some(finish)), &wire.events);
    check_coverage(&explained, Time::ZERO);
    assert_eq!(explained.by_stage()[&Stage::Delivery], Span::from_us(64));
    assert_eq!(
        explained.by_stage()[&Stage::Handshake],
        Span::from_ns(81_280)
    );
}

#[test]
fn unfinished_flow_ends_at_its_last_event() {
    let mut wire = Wire::new();
    let established = wire.open(Time::ZERO);
    wire.note(
        established,
        FlowEventKind::Sent {
            seq: 1,
            len: 100,
            retransmit: false,
        },
    );
    wire.note(
        established + Span::from_ms(20),
        FlowEventKind::Timer(Timer::Retransmission),
    );
    let explained = explain_flow(&flow(Time::ZERO, None), &wire.events);
    check_coverage(&explained, Time::ZERO);
    assert!(!explained.finished);
    assert_eq!(
        explained.by_cause()[&Cause::Timer(Timer::Retransmission)],
        Span::from_ms(20)
    );
}

/// The receiver of `due` knows the message from its first packet and grants the second late. Repeated announcements in
/// between change nothing, so the whole wait is for the grant.
#[test]
fn repeated_announcements_explain_no_wait_for_a_grant() {
    let mut wire = Wire::new();
    let permitted = |up_to, is_background| FlowEventKind::Permitted {
        up_to,
        is_background,
    };
    wire.note(Time::ZERO, FlowEventKind::Submitted);
    wire.note(Time::ZERO, permitted(1_000, false));
    let known = wire.data(Time::ZERO, 0, 1_000, false);
    let postponed = wire.reply(known, 1_000);
    wire.note(postponed, permitted(1_000, true));
    for ms in [30, 70] {
        let again = postponed + Span::from_ms(ms);
        wire.note(again, FlowEventKind::Timer(Timer::Announcement));
        wire.data(again, 0, 1_000, true);
    }
    let decided = known + Span::from_ms(90);
    let granted = wire.reply(decided, 2_000);
    wire.note(granted, permitted(2_000, false));
    let arrived = wire.data(granted, 1_000, 1_000, false);
    let explained = explain_flow(&flow(Time::ZERO, Some(arrived)), &wire.events);
    check_coverage(&explained, Time::ZERO);
    assert_eq!(explained.by_cause()[&Cause::Grant], Span::from_ms(90));
    assert!(!explained.by_stage().contains_key(&Stage::Loss));
}

fn any_timer() -> impl Strategy<Value = Timer> {
    proptest::sample::select(vec![
        Timer::Handshake,
        Timer::Retransmission,
        Timer::TailLossProbe,
        Timer::Reordering,
        Timer::DelayedAck,
        Timer::Request,
        Timer::Pause,
        Timer::Pace,
        Timer::Announcement,
    ])
}

fn any_event() -> impl Strategy<Value = FlowEvent> {
    let seq = 0u64..4;
    let link = 0u32..5;
    let what = prop_oneof![
        Just(FlowEventKind::Submitted),
        (seq.clone(), 0u32..3, any::<bool>()).prop_map(|(seq, len, retransmit)| {
            FlowEventKind::Sent {
                seq,
                len,
                retransmit,
            }
        }),
        (
            (link.clone(), any::<bool>(), seq.clone(), 0u32..3),
            (0u64..40, 0u64..40, 0u64..40, 0u64..40)
        )
            .prop_map(|((link, reverse, seq, len), times)| {
                let [waited, delayed, sending, latency] =
                    <[u64; 4]>::from(times).map(Span::from_ps);
                FlowEventKind::Departed {
                    link,
                    reverse,
                    seq,
                    len,
                    waited,
                    delayed,
                    sending,
                    latency,
                }
            }),
        (0u32..3, seq.clone(), 0u32..3, 0u64..40).prop_map(|(host, seq, len, held)| {
            FlowEventKind::Received {
                host,
                seq,
                len,
                held: Span::from_ps(held),
            }
        }),
        seq.clone()
            .prop_map(|seq| FlowEventKind::ReplyQueued { seq }),
        any_timer().prop_map(FlowEventKind::Timer),
        Just(FlowEventKind::Ready),
        Just(FlowEventKind::Behind),
        Just(FlowEventKind::Aborted),
        Just(FlowEventKind::RequestSent { desired_bps: 1 }),
        link.prop_map(|link| FlowEventKind::Denied { link }),
        (seq.clone(), 0u32..3).prop_map(|(seq, len)| FlowEventKind::Delivered { seq, len }),
        seq.prop_map(|seq| FlowEventKind::Acked { seq }),
        Just(FlowEventKind::Granted { allocation_bps: 1 }),
        Just(FlowEventKind::Paused),
        (0u64..4, any::<bool>()).prop_map(|(up_to, is_background)| FlowEventKind::Permitted {
            up_to,
            is_background,
        }),
        (0u64..4, 0u64..4).prop_map(|(from, to)| FlowEventKind::ResendRequested { from, to }),
        Just(FlowEventKind::Established),
    ];
    (0u64..1_000, what).prop_map(|(at, what)| FlowEvent {
        at: Time::from_ps(at),
        what,
    })
}

proptest! {
    /// The parts cover the flow's time for any trace, even an inconsistent one.
    #[test]
    fn parts_always_cover_the_time(
        events in proptest::collection::vec(any_event(), 0..60),
        start in 0u64..500,
        length in proptest::option::of(0u64..500),
    ) {
        let start = Time::from_ps(start);
        let finish = length.map(|length| start + Span::from_ps(length));
        check_coverage(&explain_flow(&flow(start, finish), &events), start);
    }
}

/// A flow that is never granted a rate sends a request per round trip until the end of the run. Its trace is so long
/// that searching all of it in each step of the walk took hours.
#[test]
#[expect(clippy::disallowed_types, reason = "the test measures")]
fn never_granted_flow_is_explained_quickly() {
    const ROUND_TRIPS: u32 = 200_000;
    let mut wire = Wire::new();
    let mut at = wire.open(Time::ZERO);
    for _ in 0..ROUND_TRIPS {
        let arrived = wire.data(at, 1, 0, false);
        wire.note(arrived, FlowEventKind::Denied { link: 2 });
        at = wire.reply(arrived, 1);
        wire.note(at, FlowEventKind::Acked { seq: 1 });
        wire.note(at, FlowEventKind::Granted { allocation_bps: 0 });
        wire.note(at, FlowEventKind::Paused);
    }
    let began = std::time::Instant::now();
    let explained = explain_flow(&flow(Time::ZERO, None), &wire.events);
    let took = began.elapsed();
    check_coverage(&explained, Time::ZERO);
    assert_eq!(explained.denials, BTreeMap::from([(2, ROUND_TRIPS)]));
    let paused = explained.by_stage()[&Stage::Pause];
    assert!(paused.as_ps() > explained.total.as_ps() / 10 * 9);
    assert!(took.as_secs() < 30, "{took:?}");
}
