//! Transports with random options.

use super::Draw;
use duetime_core::{Rate, Span};
use duetime_proto::d3::{
    self, Allocation, AlphaReference, BaseRate, Late, QueueSample, RequestBytes, Rounding,
};
use duetime_proto::window::{Completion, CongestionControl, Cubic, D2tcp, Dctcp};
use duetime_proto::{due, homa, pdq, pfabric, sird, tcp};
use duetime_scenario::model::{Protocol, Transport};

/// Five transports of the TCP family and three of D3; `due` and the rivals are drawn apart.
const NAMES: [&str; 8] = [
    "tcp",
    "dctcp",
    "d2tcp",
    "cubic",
    "tcp-prio",
    "d3",
    "rcpdc",
    "rcpdc-prio",
];

/// Draws the scenario's transport, and some that workloads may use instead. Routers have one set of options, so all D3
/// variants share theirs. `newer`, `latest` and `rivals` draw what was added later, so that each seed keeps the older
/// options.
pub(super) fn transports(
    draw: &mut Draw,
    newer: &mut Draw,
    latest: &mut Draw,
    rivals: &mut Draw,
    lenient: bool,
) -> (Transport, Vec<Transport>) {
    let d3 = d3(draw, lenient).with(|c| {
        c.host.request_backoff = newer.one_of(&[0, 0, 3, 10]);
        c.router.allocation =
            newer.one_of(&[Allocation::Routers, Allocation::Routers, Allocation::Edge]);
        c.host.late_answers = newer.one_of(&[None, Some(true)]);
    });
    let mut any = |names: &[&str]| {
        let name = draw.one_of(names);
        let protocol = match name {
            "d3" => Protocol::D3(d3),
            "rcpdc" | "rcpdc-prio" => Protocol::D3(d3.with(|c| c.host.ignore_deadlines = true)),
            _ => Protocol::Tcp(modern(newer, tcp(draw, name, lenient))),
        };
        let priorities = if name.ends_with("-prio") {
            draw.between(2, 4) as u8
        } else {
            1
        };
        Transport {
            name: name.to_owned(),
            protocol,
            priorities,
        }
    };
    let compared = any(&NAMES);
    // The two families need drains of different lengths.
    let others = if !lenient {
        &NAMES[..]
    } else if compared.protocol.router_program().is_some() {
        &NAMES[5..]
    } else {
        &NAMES[..5]
    };
    let others = vec![any(others), any(others)];
    // D3's flows may starve next to other traffic.
    let is_alone = !lenient || compared.protocol.router_program().is_none();
    let compared = if latest.flag(0.125) && is_alone {
        due(latest)
    } else {
        compared
    };
    let compared = if latest.flag(0.1) && is_alone {
        pfabric(latest, lenient)
    } else {
        compared
    };
    let compared = if rivals.flag(0.1) && is_alone {
        homa(rivals, lenient)
    } else {
        compared
    };
    let compared = if rivals.flag(0.1) && is_alone {
        sird(rivals)
    } else {
        compared
    };
    if latest.flag(0.125) {
        let pdq = pdq(latest, lenient);
        // Like D3's, flows of PDQ may starve next to other traffic, and routers run one program.
        if lenient {
            return (pdq.clone(), vec![pdq.clone(), pdq]);
        }
        let has_program = |other: &Transport| other.protocol.router_program().is_some();
        if !others.iter().any(has_program) {
            return (pdq, others);
        }
    }
    (compared, others)
}

/// Draws options of PDQ.
fn pdq(draw: &mut Draw, lenient: bool) -> Transport {
    let config = pdq::Config {
        mtu: draw.one_of(&[1_500, 1_500, 200, 9_000]),
        early_start_permille: draw.one_of(&[2_000, 2_000, 0, 500, 10_000]),
        probing_permille: draw.one_of(&[200, 200, 0, 1_000]),
        dampening_permille: draw.one_of(&[500, 500, 0, 1_000, 10_000]),
        early_termination: draw.flag(0.6),
        host_ports: draw.flag(0.3),
        rto_min: draw.span(
            Span::from_us(if lenient { 1_000 } else { 10 }),
            Span::from_ms(20),
        ),
    };
    Transport {
        name: "pdq".to_owned(),
        protocol: Protocol::Pdq(config),
        priorities: 1,
    }
}

/// Draws options of SIRD.
fn sird(draw: &mut Draw) -> Transport {
    let config = sird::Config {
        mtu: draw.one_of(&[1_500, 1_500, 576, 9_000]),
        bucket_permille: draw.scale(10, 10_000) as u32,
        unscheduled_permille: draw.one_of(&[0, 100, 1_000, 1_000, 10_000]),
        sender_threshold_permille: draw.one_of(&[0, 500, 500, 1_000_000]),
        policy: draw.one_of(&[sird::Policy::ShortestRemaining, sird::Policy::Fair]),
        ecn: draw.flag(0.7),
        host_delay: draw.one_of(&[Span::ZERO, Span::from_us(20), Span::from_ms(1)]),
    };
    Transport {
        name: "sird".to_owned(),
        protocol: Protocol::Sird(config),
        priorities: draw.one_of(&[1, 2, 2, 4]),
    }
}

/// Draws options of `due`.
fn due(draw: &mut Draw) -> Transport {
    let config = due::Config {
        mtu: draw.one_of(&[1_500, 1_500, 576, 9_000]),
        window_permille: draw.scale(10, 10_000) as u32,
        overcommit_permille: draw.scale(10, 10_000) as u32,
        background_permille: draw.one_of(&[0, 50, 1_000]),
        host_delay: draw.one_of(&[Span::ZERO, Span::from_us(20), Span::from_ms(1)]),
        core_window: draw.flag(0.7),
        ..due::Config::default()
    };
    let priorities = draw.one_of(&[1, 1, 2, 4]);
    let config = due::Config {
        announced_permille: draw.one_of(&[1_000, 1_000, 1, 100, 500, 2_000, 10_000]),
        false_deadline_permille: draw.one_of(&[0, 0, 300, 1_000]),
        ..config
    };
    Transport {
        name: "due".to_owned(),
        protocol: Protocol::Due(config),
        priorities,
    }
}

/// Draws options of pFabric.
fn pfabric(draw: &mut Draw, lenient: bool) -> Transport {
    let rto = draw.one_of(&[None, None, Some(Span::from_us(50)), Some(Span::from_ms(2))]);
    let config = pfabric::Config {
        mtu: draw.one_of(&[1_500, 1_500, 576, 9_000]),
        window: draw.one_of(&[None, None, Some(1), Some(3), Some(100)]),
        // Timeouts below the round trip fill a FIFO NIC with copies without end.
        rto: rto.filter(|_| !lenient),
        probe_after: draw.one_of(&[5, 5, 1, 50]),
        queue: Some(draw.scale(20_000, 400_000)),
    };
    Transport {
        name: "pfabric".to_owned(),
        protocol: Protocol::PFabric(config),
        priorities: 1,
    }
}

/// Draws options of Homa and its classes.
fn homa(draw: &mut Draw, lenient: bool) -> Transport {
    let cutoffs = [&[][..], &[1_000], &[200, 2_800, 15_000]];
    let interval = if lenient {
        // Requests must not fill a slow network with duplicates.
        Span::from_ms(20)
    } else {
        draw.span(Span::from_us(10), Span::from_ms(20))
    };
    let config = homa::Config {
        mtu: draw.one_of(&[1_500, 1_500, 576, 9_000]),
        rtt_bytes: draw.one_of(&[None, None, Some(1_500), Some(100_000)]),
        unscheduled_bytes: draw.one_of(&[None, None, Some(1), Some(1_000_000)]),
        incast_threshold: draw.one_of(&[1, 8, 8, 1_000]),
        overcommitment: draw.one_of(&[None, None, Some(1), Some(64)]),
        unscheduled_levels: draw.one_of(&[None, None, Some(1), Some(4), Some(7)]),
        cutoffs: None,
        resend_interval: draw.one_of(&[None, Some(interval)]),
        host_delay: draw.one_of(&[Span::ZERO, Span::from_us(20), Span::from_ms(1)]),
    };
    let config = homa::Config {
        cutoffs: (config.unscheduled_levels.is_none() && draw.flag(0.3))
            .then(|| homa::Cutoffs::new(draw.one_of(&cutoffs))),
        ..config
    };
    let priorities = draw.one_of(&[8, 8, 4, 2, 1]).max(config.min_classes());
    Transport {
        name: "homa".to_owned(),
        protocol: Protocol::Homa(config),
        priorities,
    }
}

fn tcp(draw: &mut Draw, name: &str, lenient: bool) -> tcp::Config {
    let rto_min = draw.span(
        Span::from_us(if lenient { 1_000 } else { 10 }),
        Span::from_ms(20),
    );
    let rto_initial = rto_min * draw.between(1, 3);
    let marks = Dctcp {
        gain_shift: draw.between(0, 10) as u8,
        initial_alpha: draw.one_of(&[0.0, 0.5, 1.0]),
    };
    let mss = draw.one_of(&[1_460, 1_460, 1_460, 536, 100, 8_960]);
    let initial_window = draw.scale(1, 50) as u32;
    let min_window = draw.between(1, 4) as u32;
    // Draws of removed options remain, here and below, so that each seed keeps its other options.
    if draw.flag(0.3) {
        draw.scale(1, 100);
    }
    tcp::Config {
        mss,
        initial_window,
        min_window,
        rto_min,
        rto_initial,
        // If rto_max is below the time of all flows' segments together, timeouts fill the network with duplicates.
        rto_max: if lenient {
            Span::from_secs(5)
        } else {
            rto_initial * draw.scale(1, 1_000)
        },
        delayed_ack: draw.one_of(&[1, 2, 2, 3, 100]),
        delayed_ack_timeout: draw.one_of(&[Span::ZERO, Span::from_us(200), Span::from_ms(1)]),
        ack_coalescing: draw.flag(0.3).then(|| tcp::Coalescing {
            segments: draw.scale(1, 64) as u32,
            within: draw.one_of(&[Span::ZERO, Span::from_us(50), Span::from_ms(1)]),
        }),
        slow_start_limit: draw.one_of(&[1, 1, 2, 40]),
        growth: draw.one_of(&[tcp::Growth::Bytes, tcp::Growth::Acknowledgements]),
        limited_transmit: draw.flag(0.7),
        slow_start_restart: draw.flag(0.5),
        receive_window: if draw.flag(0.7) {
            1 << 30
        } else {
            draw.scale(1_500, 1_000_000)
        },
        congestion_control: match name {
            "dctcp" => CongestionControl::Dctcp(marks),
            "d2tcp" => CongestionControl::D2tcp(marks, d2tcp(draw)),
            "cubic" => {
                draw.scale(1, 100_000);
                draw.between(100, 999);
                draw.flag(0.5);
                CongestionControl::Cubic(Cubic {
                    tick: Span::from_us(draw.scale(1, 100_000) - 1),
                    alpha_one: draw.flag(0.5),
                    hystart: false,
                })
            }
            _ => CongestionControl::NewReno,
        },
        ..tcp::Config::default()
    }
}

/// Enables modern recovery in half of the cases.
fn modern(newer: &mut Draw, mut config: tcp::Config) -> tcp::Config {
    config.quick_ack = newer.one_of(&[0, 0, 1, 16]);
    if newer.flag(0.5) {
        return config;
    }
    config.recovery = tcp::Recovery::Sack;
    config.rack = newer.flag(0.6);
    config.tail_loss_probe = config.rack && newer.flag(0.7);
    config.max_ack_delay = newer.one_of(&[Span::ZERO, Span::from_ms(1), Span::from_ms(200)]);
    config.rate_reduction = newer.flag(0.5);
    // Not drawn, so that each seed keeps its earlier options.
    config.window_validation = config.rate_reduction;
    config.timeout_min = if config.rate_reduction {
        Span::from_ms(8)
    } else {
        Span::ZERO
    };
    if let CongestionControl::Cubic(cubic) = &mut config.congestion_control {
        cubic.hystart = newer.flag(0.6);
    }
    config
}

fn d2tcp(draw: &mut Draw) -> D2tcp {
    let d_min = draw.real(0.0625, 1.0);
    let d_max = draw.real(d_min, 16.0);
    D2tcp {
        d_min,
        d_max,
        d_expired: draw.real(d_min, d_max),
        completion: draw.one_of(&[Completion::Approximate, Completion::Precise]),
    }
}

/// Returns the paper's profile with a few options changed; lenient cases change only options that keep all flows
/// finishing.
fn d3(draw: &mut Draw, lenient: bool) -> d3::Config {
    let mut config = d3::Config::default();
    config.wire.rounding = draw.one_of(&[
        Rounding::Carry,
        Rounding::CeilFloor,
        Rounding::FloorFloor,
        Rounding::Exact,
    ]);
    config.host.policy.late = draw.one_of(&[Late::FairShare, Late::Extend, Late::Max]);
    config.router.variant.queue_sample =
        draw.one_of(&[QueueSample::Smallest, QueueSample::Instant]);
    config.router.variant.queue_in_service = draw.flag(0.3);
    config.router.variant.cap_to_left = draw.flag(0.3);
    config.host.variant.request_bytes = draw.one_of(&[RequestBytes::Payload, RequestBytes::Wire]);
    config.host.variant.request_lag = draw.flag(0.8);
    config.router.variant.pause_new = draw.flag(0.7);
    config.host.reverse_request = draw.flag(0.7);
    config.host.rto_min = draw.span(
        Span::from_us(if lenient { 1_000 } else { 10 }),
        Span::from_ms(20),
    );
    if draw.flag(0.4) {
        config.router.base_rate = BaseRate::Segment(draw.span(Span::from_us(1), Span::from_ms(2)));
    }
    if draw.flag(0.3) {
        config.wire.mtu = draw.one_of(&[200, 1_501, 9_000]);
    }
    if lenient {
        return config;
    }
    config.host.policy.quench = draw.flag(0.3);
    config.host.variant.quench_strict = draw.flag(0.3);
    config.router.repair = draw.flag(0.7);
    if config.router.repair && config.router.allocation == Allocation::Routers && draw.flag(0.3) {
        config.router.police = Some(draw.one_of(&[
            Rate::from_bps(1_000),
            Rate::from_mbps(2),
            Rate::from_gbps(1),
        ]));
    }
    if draw.flag(0.2) {
        config.wire.scale = Some(draw.between(0, 20) as i8 - 10);
    }
    if draw.flag(0.3) {
        config.router.alpha_256 = draw.scale(1, 4_097) as u32 - 1;
        config.router.beta_256 = draw.scale(1, 4_097) as u32 - 1;
        config.router.variant.alpha_reference =
            draw.one_of(&[AlphaReference::Physical, AlphaReference::Literal]);
    }
    if draw.flag(0.3) {
        config.router.update_interval = Some(draw.span(Span::from_us(20), Span::from_ms(20)));
        config.router.reset_intervals = draw.between(1, 20) as u32;
    }
    if draw.flag(0.3) {
        config.host.policy.speculative = true;
        config.host.policy.speculation.rises = draw.between(1, 6) as u8;
        config.host.policy.late_extension_permille = draw.scale(1, 4_001) as u32;
        config.router.target_256 = draw.between(128, 256) as u32;
    }
    config
}
