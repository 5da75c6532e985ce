//! All cases.

use crate::case::{Case, Faults, FlowCase};
use crate::interleavings::Interleavings;
use crate::timeline::Timeline;
use crate::world::Load;
use duetime_core::Span;
use duetime_proto::d3::{BaseRate, Config, Rounding};

const BOTH: &[usize] = &[0, 1];
const FIRST: &[usize] = &[0];
const SECOND: &[usize] = &[1];
const BACK: &[usize] = &[];

/// Returns options without the effects of time: grants are bursts, and the next request follows at once. An epoch is
/// one update.
fn untimed() -> Config {
    Config::default().with(|c| {
        c.wire.scale = Some(0);
        c.wire.rounding = Rounding::FloorFloor;
        c.host.pacing = false;
        c.host.request_packets = 0;
        c.host.reverse_request = false;
        c.router.update_interval = Some(Span::from_us(1_600));
        c.router.reset_intervals = 2;
    })
}

/// Returns the default options, with acknowledgements that are not registered and packets so large that flows without
/// an end send few of them.
fn timed() -> Config {
    Config::default().with(|c| {
        c.wire.scale = Some(0);
        c.wire.mtu = 64_000;
        c.host.reverse_request = false;
        c.host.rto_min = Span::from_ms(2);
    })
}

fn flow(bytes: Option<u64>, deadline_us: Option<u64>) -> FlowCase {
    FlowCase {
        bytes,
        deadline: deadline_us.map(Span::from_us),
        start: Span::ZERO,
        written: None,
        forward: BOTH,
        backward: BACK,
        may_close: false,
    }
}

/// Returns flows that end after one packet: with a lax deadline, without one, and with a tight deadline.
fn short(number: usize) -> Vec<FlowCase> {
    let deadlines = [Some(100), None, Some(25)];
    let deadlines = deadlines.into_iter().take(number);
    deadlines
        .map(|deadline| flow(Some(1_000), deadline))
        .collect()
}

/// Returns flows that outlast the model, with a deadline and without.
fn long(number: usize) -> Vec<FlowCase> {
    let endless = [flow(Some(4_000_000), Some(100_000)), flow(None, None)];
    endless.into_iter().cycle().take(number).collect()
}

const ALL: Faults = Faults {
    number: 1,
    loss: true,
    duplicates: true,
    late: true,
    deaths: true,
    restarts: true,
};

fn faults(number: u8) -> Faults {
    Faults { number, ..ALL }
}

fn case(name: &'static str, config: Config, flows: Vec<FlowCase>) -> Case {
    Case {
        name,
        config,
        flows,
        ports: 2,
        faults: Faults::default(),
        requests: 3,
        updates: 0,
        loads: &[Load::Full],
        round_trip: Span::from_us(36),
        hop_latency: Span::ZERO,
        window: Span::ZERO,
        horizon: Span::ZERO,
        delays: &[],
    }
}

/// Returns the cases without time.
pub fn interleavings(deep: bool) -> Vec<Interleavings> {
    let pick = |fast: u8, slow: u8| if deep { slow } else { fast };
    let cases = [
        Case {
            requests: pick(2, 3),
            ..case("3 flows, 2 ports", untimed(), short(3))
        },
        Case {
            requests: pick(2, 3),
            faults: faults(1),
            ..case("2 flows, 2 ports, 1 fault", untimed(), short(2))
        },
        Case {
            requests: pick(1, 2),
            faults: faults(1),
            ..case("3 flows, 2 ports, 1 fault", untimed(), short(3))
        },
        Case {
            requests: pick(2, 3),
            faults: faults(2),
            flows: on(FIRST, BACK, short(2)),
            ports: 1,
            ..case("2 flows, 1 port, 2 faults", untimed(), vec![])
        },
        Case {
            requests: pick(1, 2),
            faults: faults(3),
            flows: on(FIRST, BACK, short(2)),
            ports: 1,
            ..case("2 flows, 1 port, 3 faults", untimed(), vec![])
        },
        Case {
            requests: pick(3, 4),
            faults: faults(pick(1, 2)),
            ..case(
                "1 flow of 2 packets, 2 ports, faults",
                untimed(),
                vec![flow(Some(2_000), Some(200))],
            )
        },
        Case {
            requests: pick(2, 3),
            faults: faults(1),
            flows: on(FIRST, SECOND, short(2)),
            ..case(
                "2 flows, acknowledgements registered, 1 fault",
                untimed().with(|c| c.host.reverse_request = true),
                vec![],
            )
        },
        Case {
            requests: pick(2, 3),
            faults: faults(2),
            flows: on(FIRST, SECOND, short(1)),
            ..case(
                "1 flow, acknowledgements registered, 2 faults",
                untimed().with(|c| c.host.reverse_request = true),
                vec![],
            )
        },
        Case {
            requests: pick(2, 3),
            flows: crossed(),
            ..case("3 flows on crossed paths", untimed(), vec![])
        },
        Case {
            requests: pick(2, 3),
            flows: on(FIRST, BACK, short(2)),
            ports: 1,
            updates: 4,
            loads: &[Load::None, Load::Full, Load::Queue],
            ..case("2 flows, 1 port, C adapts", untimed(), vec![])
        },
        Case {
            requests: pick(2, 3),
            ..case(
                "2 flows, remainders carried",
                untimed().with(|c| c.wire.rounding = Rounding::Carry),
                short(2),
            )
        },
        Case {
            requests: pick(2, 3),
            ..case(
                "2 flows, base rate, grants capped",
                untimed().with(|c| {
                    c.router.base_rate = BaseRate::Segment(Span::from_us(400));
                    c.router.variant.cap_to_left = true;
                }),
                short(2),
            )
        },
        Case {
            requests: 3,
            faults: faults(pick(0, 1)),
            flows: short(2)
                .into_iter()
                .map(|flow| FlowCase {
                    may_close: true,
                    ..flow
                })
                .collect(),
            ..case("2 flows, may be abandoned", untimed(), vec![])
        },
        Case {
            requests: pick(3, 4),
            faults: faults(pick(1, 2)),
            flows: vec![FlowCase {
                written: Some(Span::ZERO),
                ..flow(Some(1_000), None)
            }],
            ..case("1 flow that pauses, faults", untimed(), vec![])
        },
        Case {
            flows: on(FIRST, BACK, long(1)),
            ports: 1,
            requests: 14,
            updates: 7,
            faults: faults(pick(1, 2)),
            round_trip: Span::from_us(1),
            ..case("1 flow, 6 epochs, faults", untimed(), vec![])
        },
        Case {
            flows: on(FIRST, BACK, long(2)),
            ports: 1,
            requests: pick(5, 7),
            updates: pick(3, 6),
            faults: faults(1),
            round_trip: Span::from_us(1),
            ..case("2 flows, epochs, 1 fault", untimed(), vec![])
        },
    ];
    cases.into_iter().map(Interleavings).collect()
}

/// Returns the cases with a common clock.
pub fn timelines(deep: bool) -> Vec<Timeline> {
    let number = if deep { 2 } else { 1 };
    let base = |name, config, flows| Case {
        faults: faults(number),
        hop_latency: Span::from_us(100),
        window: Span::from_us(4_000),
        horizon: Span::from_us(25_000),
        delays: const { &[Span::from_us(300), Span::from_us(2_000)] },
        ..case(name, config, flows)
    };
    let mixed = || {
        let mut flows = long(2);
        flows[1].start = Span::from_us(150);
        flows.push(FlowCase {
            start: Span::from_us(777),
            ..flow(Some(20_000), Some(3_000))
        });
        flows
    };
    let cases = [
        base("clock, 3 flows, 2 ports", timed(), mixed()),
        Case {
            flows: on(FIRST, SECOND, mixed()),
            ..base(
                "clock, 3 flows, acknowledgements registered",
                timed().with(|c| c.host.reverse_request = true),
                vec![],
            )
        },
        Case {
            // Paused flows and late answers extend the epochs to 25.6 ms.
            window: Span::from_us(2_000),
            horizon: Span::from_us(150_000),
            ..base(
                "clock, 3 flows, waits as on the wire",
                timed().with(|c| {
                    c.host.request_backoff = 3;
                    c.host.late_answers = Some(true);
                }),
                mixed(),
            )
        },
        Case {
            hop_latency: Span::from_us(700),
            window: Span::from_us(8_000),
            horizon: Span::from_us(80_000),
            ..base(
                "clock, 3 flows, round trip of 2 epochs",
                timed().with(|c| c.host.rto_min = Span::from_ms(10)),
                mixed(),
            )
        },
        Case {
            flows: mixed()
                .into_iter()
                .map(|flow| FlowCase {
                    written: Some(Span::from_us(6_000)),
                    ..flow
                })
                .collect(),
            ..base("clock, 3 flows that pause", timed(), vec![])
        },
    ];
    cases.into_iter().map(Timeline).collect()
}

fn on(
    forward: &'static [usize],
    backward: &'static [usize],
    flows: Vec<FlowCase>,
) -> Vec<FlowCase> {
    let flows = flows.into_iter();
    flows
        .map(|flow| FlowCase {
            forward,
            backward,
            ..flow
        })
        .collect()
}

fn crossed() -> Vec<FlowCase> {
    let mut flows = short(3);
    flows[0].forward = BOTH;
    flows[1].forward = &[1, 0];
    flows[2].forward = SECOND;
    flows
}
