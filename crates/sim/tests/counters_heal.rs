//! D3's counters on a port that is never idle, while requests are lost and hosts die (D3 §4.4 leaves it open). The
//! mechanism is the epoch census of `duetime_proto::d3`, see its module `repair`.
#![expect(clippy::print_stdout, reason = "the figures are the point")]
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the numbers of a test are small"
)]

mod lab;

use duetime_core::{Bytes, Rate, Span};
use duetime_proto::d3::Config;
use duetime_scenario::model::{
    Deadline, Destination, Intensity, Link, Size, Topology, WorkloadKind,
};
use duetime_sim::{Death, Faults, Options};
use lab::siege::{Figures, Siege, config};
use lab::{d3, run, star, workload};

/// Half a per cent on each of the two links of a path: one request in a hundred is lost, before or after the port.
const LOSS_PER_LINK: f64 = 0.005;

fn siege(seconds: u64, floor: Span) -> Siege {
    Siege {
        rate: Rate::from_gbps(1),
        seconds,
        long: 8,
        load: 0.3,
        bytes: (2_000, 50_000),
        deadline: (Span::from_ms(30), floor),
    }
}

fn print(name: &str, seconds: u64, figures: &Figures) {
    println!(
        "| {name} | {seconds} s | {:.4} | {:.3} % | {:.3} % | {:.3} % | {} |",
        figures.utilisation,
        figures.missed * 100.0,
        figures.first * 100.0,
        figures.last * 100.0,
        figures.flows
    );
}

fn header(deadlines: &str) {
    println!(
        "D3, 1 Gbps port, 8 long flows always and 30 % deadline flows; deadlines {deadlines}:"
    );
    println!(
        "| run | simulated | utilisation | missed | first tenth | last tenth | deadline flows |"
    );
    println!("|---|---|---|---|---|---|---|");
}

#[test]
fn ten_minutes_of_loss_and_deaths_leave_no_trace() {
    // The floor is above the smallest RTO (10 ms), so that a lost SYN or FIN alone misses no deadline.
    let floor = Span::from_ms(20);
    header("max(Exp(30 ms), 20 ms)");
    let fresh = siege(60, floor).run(config(true), 0.0, false);
    print("no faults (fresh router)", 60, &fresh);
    let war = siege(600, floor).run(config(true), LOSS_PER_LINK, true);
    print("1 % of requests lost, one death a second", 600, &war);
    assert!(war.utilisation >= 0.9, "utilisation {}", war.utilisation);
    assert!(
        war.missed - fresh.missed <= 0.01,
        "missed {} and fresh {}",
        war.missed,
        fresh.missed
    );
    assert!(
        war.last - fresh.missed <= 0.01,
        "missed {} at last",
        war.last
    );
}

/// Paused flows wait up to eight round trips before they ask again, as they do on the wire.
fn backing_off() -> Config {
    Config {
        request_backoff: 3,
        ..config(true)
    }
}

#[test]
fn ten_minutes_leave_no_trace_where_paused_flows_back_off() {
    let floor = Span::from_ms(20);
    header("max(Exp(30 ms), 20 ms), back-off");
    let fresh = siege(60, floor).run(backing_off(), 0.0, false);
    print("no faults (fresh router)", 60, &fresh);
    let war = siege(600, floor).run(backing_off(), LOSS_PER_LINK, true);
    print("1 % of requests lost, one death a second", 600, &war);
    assert!(war.utilisation >= 0.9, "utilisation {}", war.utilisation);
    assert!(
        war.missed - fresh.missed <= 0.01 && war.last - fresh.missed <= 0.01,
        "missed {}, {} at last, and fresh {}",
        war.missed,
        war.last,
        fresh.missed
    );
}

/// A hundred long flows, for whom less than a unit each is left: many of them are paused at any time.
#[test]
fn a_crowd_of_paused_flows_is_counted_through_loss_and_deaths() {
    let crowd = Siege {
        long: 100,
        ..siege(20, Span::from_ms(20))
    };
    let [asking, waiting] = [config(true), backing_off()].map(|config| {
        header(&format!(
            "max(Exp(30 ms), 20 ms), 100 long flows, {} doublings of the wait",
            config.request_backoff
        ));
        let fresh = crowd.run(config, 0.0, false);
        print("no faults", crowd.seconds, &fresh);
        let war = crowd.run(config, LOSS_PER_LINK, true);
        print("1 % lost, deaths", crowd.seconds, &war);
        war
    });
    for war in [asking, waiting] {
        assert!(war.utilisation >= 0.9, "utilisation {}", war.utilisation);
        assert!(
            war.last - war.first <= 0.01,
            "grew from {} to {}",
            war.first,
            war.last
        );
    }
    assert!(
        waiting.missed <= asking.missed + 0.01,
        "{} and {}",
        waiting.missed,
        asking.missed
    );
}

#[test]
fn without_the_census_the_port_collapses_within_seconds() {
    let floor = Span::from_ms(20);
    header("max(Exp(30 ms), 20 ms)");
    let healed = siege(3, floor).run(config(true), LOSS_PER_LINK, true);
    print("1 % lost, deaths, with the census", 3, &healed);
    let broken = siege(3, floor).run(config(false), LOSS_PER_LINK, true);
    print("1 % lost, deaths, without it", 3, &broken);
    assert!(healed.missed < 0.01, "{}", healed.missed);
    assert!(
        broken.last > 0.5,
        "otherwise this test shows nothing: {}",
        broken.last
    );
}

#[test]
fn with_tight_deadlines_loss_costs_its_timeouts_and_no_more() {
    // Down to 5 ms, a lost SYN or FIN (RTO 10 ms) is a miss for any router; what must not be is that it grows.
    let floor = Span::from_ms(5);
    header("max(Exp(30 ms), 5 ms)");
    let fresh = siege(60, floor).run(config(true), 0.0, false);
    print("no faults", 60, &fresh);
    let war = siege(60, floor).run(config(true), LOSS_PER_LINK, true);
    print("1 % of requests lost, one death a second", 60, &war);
    assert!(
        war.last - war.first <= 0.01,
        "grew from {} to {}",
        war.first,
        war.last
    );
    assert!(war.utilisation >= 0.9, "utilisation {}", war.utilisation);
}

#[test]
fn faults_do_not_depend_on_the_number_of_threads() {
    let link = Link {
        rate: Rate::from_gbps(1),
        latency: Span::from_us(50),
        loss: 0.0,
    };
    let mut scenario = star(1, link.rate, link.latency, d3(), Span::from_ms(200));
    scenario.topology = Topology::D3Testbed { link };
    scenario.drain = Span::from_ms(100);
    let arrivals = WorkloadKind::Poisson {
        size: Size::Uniform(Bytes(2_000), Bytes(50_000)),
        deadline: Deadline::Added {
            base: Span::from_ms(10),
            added: 1.0,
        },
        intensity: Intensity::Load(0.4),
        destination: Destination::Uniform,
    };
    scenario.workloads = vec![workload("flows", arrivals)];
    let deaths = (0..14)
        .map(|host| Death {
            at: Span::from_ms(10 * u64::from(host) + 5),
            host,
        })
        .collect();
    let faults = Faults {
        request_loss: 0.01,
        deaths,
        misbehaving: Vec::new(),
    };
    let with = |threads| {
        run(
            &scenario,
            &Options {
                threads,
                faults: faults.clone(),
                ..Options::default()
            },
        )
        .records
    };
    let (one, two) = (with(1), with(2));
    assert!(
        one.ports.iter().any(|port| port.losses > 0),
        "requests were lost"
    );
    assert_eq!(one.flows, two.flows);
    assert_eq!(one.ports, two.ports);
}
