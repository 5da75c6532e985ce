//! One router, request by request: a hand-worked trace in exact and rounded arithmetic; options and edge cases.

use duetime_core::Rate;
use duetime_proto::d3::{
    Allocator, AlphaReference, BaseRate, Config, EncodedRate, Flags, Outcome, Request, Rounding,
};

const GIGABIT: Rate = Rate::from_gbps(1);

/// Flow that passes only the router under test.
#[derive(Clone, Copy, Default)]
struct Flow {
    desired: u8,
    granted: EncodedRate,
    stamps: u8,
}

struct Bench {
    config: Config,
    router: Allocator,
}

impl Bench {
    fn new(config: Config) -> Self {
        Self {
            config,
            router: Allocator::new(&config, GIGABIT),
        }
    }

    fn request_rate(&mut self, flow: &mut Flow, flags: Flags, desired: u8) -> Outcome {
        let mut request = Request {
            desired: EncodedRate::from_byte(desired),
            previous_desired: EncodedRate::from_byte(flow.desired),
            stamps: flow.stamps,
            ..Request::default()
        };
        request.previous_allocations[0] = flow.granted;
        let outcome = self.router.process(&self.config, flags, &mut request);
        assert_eq!(
            (request.index, request.allocations[0]),
            (1, outcome.granted)
        );
        *flow = Flow {
            desired,
            granted: outcome.granted,
            stamps: request.stamps,
        };
        outcome
    }

    /// Returns (N, D, a, A) after a request, in units.
    fn step(&mut self, flow: &mut Flow, flags: Flags, desired: u8) -> (u64, f64, f64, f64) {
        let outcome = self.request_rate(flow, flags, desired);
        let units = |rate: u64| rate as f64 / 256.0;
        let router = &self.router;
        (
            router.flows(),
            units(router.demand()),
            outcome.granted.units(),
            units(router.allocated()),
        )
    }
}

fn assert_trace(config: Config, expected: &[(u64, f64, f64, f64); 8]) {
    let mut bench = Bench::new(config);
    let (mut f1, mut f2, mut f3) = (Flow::default(), Flow::default(), Flow::default());
    let established = Flags::default();
    let actual = [
        bench.step(&mut f1, Flags::SYN, 10),
        bench.step(&mut f2, Flags::SYN, 0),
        bench.step(&mut f1, established, 9),
        bench.step(&mut f2, established, 0),
        bench.step(&mut f3, Flags::SYN, 20),
        bench.step(&mut f1, established, 8),
        bench.step(&mut f3, established, 21),
        bench.step(&mut f2, Flags::FIN, 0),
    ];
    for (step, (actual, expected)) in actual.iter().zip(expected).enumerate() {
        // Exact grants are multiples of 1/256.
        let near = |a: f64, b: f64| (a - b).abs() <= 2.0 / 256.0;
        let same = actual.0 == expected.0
            && near(actual.1, expected.1)
            && near(actual.2, expected.2)
            && near(actual.3, expected.3);
        assert!(
            same,
            "step {}: (N, D, a, A) = {actual:?}, expected {expected:?}",
            step + 1
        );
    }
}

#[test]
fn trace_in_exact_arithmetic() {
    assert_trace(
        Config::default().with(|c| c.wire.rounding = Rounding::Exact),
        &[
            (1, 10.0, 10.0, 10.0),
            (2, 10.0, 0.0, 10.0),
            (2, 9.0, 67.0, 67.0), // left 125, fs (125 - 9) / 2 = 58
            (2, 9.0, 58.0, 125.0),
            (3, 29.0, 0.0, 125.0),                         // left 0
            (3, 28.0, 40.0 + 1.0 / 3.0, 98.0 + 1.0 / 3.0), // A 58, left 67, fs 97 / 3
            (3, 29.0, 53.0, 151.0 + 1.0 / 3.0),            // left 26.67, fs 32: more than left
            (2, 29.0, 0.0, 93.0 + 1.0 / 3.0),
        ],
    );
}

#[test]
fn trace_rounded_up_and_down() {
    for rounding in [Rounding::CeilFloor, Rounding::FloorFloor] {
        assert_trace(
            Config::default().with(|c| c.wire.rounding = rounding),
            &[
                (1, 10.0, 10.0, 10.0),
                (2, 10.0, 0.0, 10.0),
                (2, 9.0, 67.0, 67.0),
                (2, 9.0, 58.0, 125.0),
                (3, 29.0, 0.0, 125.0),
                (3, 28.0, 40.0, 98.0),
                (3, 29.0, 53.0, 151.0),
                (2, 29.0, 0.0, 93.0),
            ],
        );
    }
}

#[test]
fn trace_capped_to_the_capacity_left() {
    assert_trace(
        Config::default().with(|c| {
            c.wire.rounding = Rounding::Exact;
            c.router.variant.cap_to_left = true;
        }),
        &[
            (1, 10.0, 10.0, 10.0),
            (2, 10.0, 0.0, 10.0),
            (2, 9.0, 67.0, 67.0),
            (2, 9.0, 58.0, 125.0),
            (3, 29.0, 0.0, 125.0),
            (3, 28.0, 40.0 + 1.0 / 3.0, 98.0 + 1.0 / 3.0),
            (3, 29.0, 26.0 + 2.0 / 3.0, 125.0),
            (2, 29.0, 0.0, 67.0),
        ],
    );
}

#[test]
fn whole_grants_are_exact_with_carry() {
    let mut bench = Bench::new(Config::default());
    let (mut f1, mut f2) = (Flow::default(), Flow::default());
    assert_eq!(bench.step(&mut f1, Flags::SYN, 10), (1, 10.0, 10.0, 10.0));
    assert_eq!(bench.step(&mut f2, Flags::SYN, 0), (2, 10.0, 0.0, 10.0));
    assert_eq!(
        bench.step(&mut f1, Flags::default(), 9),
        (2, 9.0, 67.0, 67.0)
    );
    assert_eq!(
        bench.step(&mut f2, Flags::default(), 0),
        (2, 9.0, 58.0, 125.0)
    );
}

#[test]
fn carry_loses_nothing_and_starves_no_flow() {
    // 250 flows of half a unit each, in the same order every round.
    let mut bench = Bench::new(Config::default().with(|c| c.router.variant.cap_to_left = true));
    let mut flows = vec![Flow::default(); 250];
    for flow in &mut flows {
        bench.request_rate(flow, Flags::SYN, 0);
    }
    let mut shares = vec![0_u32; 250];
    let rounds = 400;
    for _ in 0..rounds {
        for (flow, share) in flows.iter_mut().zip(&mut shares) {
            *share += u32::from(bench.request_rate(flow, Flags::default(), 0).granted.0 >> 8);
        }
    }
    let total: u32 = shares.iter().sum();
    assert!(
        f64::from(total) > 0.95 * 125.0 * f64::from(rounds),
        "{total}"
    );
    let (min, max) = (shares.iter().min().unwrap(), shares.iter().max().unwrap());
    assert!(
        *min > 120 && *max < 280,
        "{min} to {max} of {rounds} rounds"
    );
}

#[test]
fn denied_flow_gets_the_capacity_left() {
    let mut bench = Bench::new(Config::default());
    let mut flows = [Flow::default(); 4];
    for flow in &mut flows {
        bench.request_rate(flow, Flags::SYN, 50);
    }
    // 50 + 50 + 25 + 0
    assert_eq!(
        flows.map(|flow| flow.granted),
        [50, 50, 25, 0].map(EncodedRate::from_byte)
    );
    let outcome = bench.request_rate(&mut flows[0], Flags::default(), 40);
    assert_eq!(
        (outcome.granted, outcome.denied),
        (EncodedRate::from_byte(40), false),
        "D = 190 > C does not reduce r"
    );
    assert!(
        bench
            .request_rate(&mut flows[3], Flags::default(), 60)
            .denied
    );
}

#[test]
fn base_rate_of_one_segment_is_charged() {
    // 1500 B per 200 us: 7.5 units
    for (rounding, expected) in [(Rounding::CeilFloor, 7 << 8), (Rounding::Exact, 15 << 7)] {
        let base_rate = BaseRate::Segment(duetime_core::Span::from_us(200));
        let mut bench = Bench::new(Config::default().with(|c| {
            c.router.base_rate = base_rate;
            c.wire.rounding = rounding;
        }));
        let mut flows = [Flow::default(); 20];
        for flow in &mut flows {
            assert_eq!(
                bench.request_rate(flow, Flags::SYN, 0).granted,
                EncodedRate(expected)
            );
        }
        assert_eq!(
            bench.router.allocated(),
            20 * u64::from(expected),
            "base rates are charged beyond the link's rate"
        );
    }
}

#[test]
fn capacity_adapts_in_both_forms() {
    let units = |router: &Allocator| router.capacity() as f64 / 256.0;
    let interval = |units: u64| units * 800;
    let physical = Config::default().with(|c| {
        c.router.alpha_256 = 64;
        c.router.target_256 = 256;
    });
    let mut bench = Bench::new(physical);
    bench.request_rate(&mut Flow::default(), Flags::SYN, 0);
    bench.router.tick(&physical, interval(105), 0);
    assert!(
        (units(&bench.router) - 130.0).abs() < 0.01,
        "125 + (125 - 105) / 4"
    );
    bench.router.tick(&physical, interval(105), interval(15));
    assert!((units(&bench.router) - 120.0).abs() < 0.01, "130 + 5 - 15");
    let below = physical.with(|c| c.router.target_256 = 192);
    let mut spare = Bench::new(below);
    spare.request_rate(&mut Flow::default(), Flags::SYN, 0);
    spare.router.tick(&below, interval(105), 0);
    assert!(
        (units(&spare.router) - 122.1875).abs() < 0.01,
        "125 + (93.75 - 105) / 4"
    );
    let literal = physical.with(|c| c.router.variant.alpha_reference = AlphaReference::Literal);
    bench.router.tick(&literal, interval(80), 0);
    assert!(
        (units(&bench.router) - 130.0).abs() < 0.01,
        "120 + (120 - 80) / 4"
    );
    bench.router.tick(&literal, 0, u64::MAX);
    assert!(
        (units(&bench.router) - 12.5).abs() < 0.01,
        "at least a tenth"
    );
    for _ in 0..200 {
        bench.request_rate(&mut Flow::default(), Flags::default(), 0);
        bench.router.tick(&literal, 0, 0);
    }
    assert!((units(&bench.router) - 250.0).abs() < 0.01, "at most twice");
}

#[test]
fn quiet_port_resets_and_becomes_idle() {
    // The census clears the counters after at most four epochs, the plain reset after one.
    for (repair, busy_ticks) in [(false, 4), (true, 7)] {
        let mut bench = Bench::new(Config::default().with(|c| c.router.repair = repair));
        assert!(bench.router.is_idle());
        bench.request_rate(&mut Flow::default(), Flags::SYN, 10);
        for _ in 0..busy_ticks {
            bench.router.tick(&bench.config, 0, 0);
            assert_eq!(bench.router.flows(), 1);
            assert!(!bench.router.is_idle());
        }
        for _ in busy_ticks..8 {
            bench.router.tick(&bench.config, 0, 0);
        }
        assert_eq!(
            (
                bench.router.flows(),
                bench.router.demand(),
                bench.router.allocated()
            ),
            (0, 0, 0)
        );
        assert!(bench.router.is_idle());
    }
}

#[test]
fn full_vector_or_other_scale_has_no_effect() {
    let mut bench = Bench::new(Config::default());
    for request in [
        Request {
            index: 6,
            ..Request::default()
        },
        Request {
            scale: 4,
            ..Request::default()
        },
    ] {
        let mut request = Request {
            desired: EncodedRate::from_byte(50),
            ..request
        };
        let outcome = bench
            .router
            .process(&bench.config, Flags::SYN, &mut request);
        assert_eq!(outcome, Outcome::default());
        assert!(bench.router.is_idle());
    }
}

#[test]
fn duplicate_syn_and_fin_are_counted() {
    let mut bench = Bench::new(Config::default().with(|c| c.router.repair = false));
    let mut flow = Flow::default();
    bench.request_rate(&mut flow, Flags::SYN, 10);
    flow = Flow::default();
    bench.request_rate(&mut flow, Flags::SYN, 10);
    assert_eq!((bench.router.flows(), bench.router.demand()), (2, 20 << 8));
    for _ in 0..3 {
        bench.request_rate(&mut flow.clone(), Flags::FIN, 0);
    }
    assert_eq!(bench.router.flows(), 0, "clamped at zero");
}
