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
use lab::busy_port::{BusyPort, Figures, config};
use lab::{d3, run, star, workload};

/// Half a per cent on each of the two links of a path: one request in a hundred is lost, before or after the port.
const LOSS_PER_LINK: f64 = 0.005;

/// A port of 1 Gbps; deadlines are max(Exp(30 ms), `floor`).
fn busy_port(seconds: u64, floor: Span) -> BusyPort {
    BusyPort {
        rate: Rate::from_gbps(1),
        seconds,
        long: 8,
        load: 0.3,
        bytes: (2_000, 50_000),
        deadline: (Span::from_ms(30), floor),
    }
}

fn header(port: &BusyPort, config: Config) {
    println!(
        "D3, 1 Gbps port, {} long flows always and 30 % deadline flows; deadlines max(Exp(30 ms), {} ms), {} doublings \
         of the wait:",
        port.long,
        port.deadline.1.as_secs_f64() * 1e3,
        config.request_backoff
    );
    println!(
        "| run | simulated | utilisation | missed | first tenth | last tenth | deadline flows |"
    );
    println!("|---|---|---|---|---|---|---|");
}

/// Runs it on a fresh router.
fn without_faults(port: &BusyPort, config: Config) -> Figures {
    let figures = port.run(config, 0.0, false);
    print("no faults, a fresh router", port.seconds, &figures);
    figures
}

/// Runs it while one request in a hundred is lost, and one host a second dies.
fn with_faults(port: &BusyPort, config: Config) -> Figures {
    let figures = port.run(config, LOSS_PER_LINK, true);
    let census = if config.repair { "with" } else { "without" };
    let name = format!("loss and deaths, {census} the census");
    print(&name, port.seconds, &figures);
    figures
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

/// The link is used, and misses do not grow with time.
fn is_steady(figures: &Figures) {
    assert!(
        figures.utilisation >= 0.9,
        "utilisation {}",
        figures.utilisation
    );
    assert!(
        figures.last - figures.first <= 0.01,
        "grew from {} to {}",
        figures.first,
        figures.last
    );
}

fn ten_minutes_leave_no_trace(config: Config) {
    // The floor is above the smallest RTO (10 ms), so that a lost SYN or FIN alone misses no deadline.
    let floor = Span::from_ms(20);
    header(&busy_port(600, floor), config);
    let fresh = without_faults(&busy_port(60, floor), config);
    let faulty = with_faults(&busy_port(600, floor), config);
    is_steady(&faulty);
    assert!(
        faulty.missed - fresh.missed <= 0.01 && faulty.last - fresh.missed <= 0.01,
        "missed {}, {} at last, and fresh {}",
        faulty.missed,
        faulty.last,
        fresh.missed
    );
}

#[test]
fn ten_minutes_of_loss_and_deaths_leave_no_trace() {
    ten_minutes_leave_no_trace(config(true));
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
    ten_minutes_leave_no_trace(backing_off());
}

/// A hundred long flows, for whom less than a unit each is left: many of them are paused at any time.
#[test]
fn a_crowd_of_paused_flows_is_counted_through_loss_and_deaths() {
    let crowd = BusyPort {
        long: 100,
        ..busy_port(20, Span::from_ms(20))
    };
    let [asking, waiting] = [config(true), backing_off()].map(|config| {
        header(&crowd, config);
        without_faults(&crowd, config);
        let faulty = with_faults(&crowd, config);
        is_steady(&faulty);
        faulty
    });
    assert!(
        waiting.missed <= asking.missed + 0.01,
        "{} and {}",
        waiting.missed,
        asking.missed
    );
}

#[test]
fn without_the_census_the_port_collapses_within_seconds() {
    let port = busy_port(3, Span::from_ms(20));
    header(&port, config(true));
    let healed = with_faults(&port, config(true));
    let broken = with_faults(&port, config(false));
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
    let port = busy_port(60, Span::from_ms(5));
    header(&port, config(true));
    without_faults(&port, config(true));
    is_steady(&with_faults(&port, config(true)));
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
