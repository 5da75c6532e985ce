//! Convergence of D3's counters on a port that is never idle, while requests are lost and hosts die (left open by D3
//! §4.4). The mechanism is the epoch census of `duetime_proto::d3`; see its module `repair`.

use crate::lab::busy_port::{BusyPort, Figures, config};
use crate::lab::{d3, run, star, workload};
use duetime_core::{Bytes, Rate, Span};
use duetime_proto::d3::Config;
use duetime_scenario::model::{
    Deadline, Destination, Intensity, Link, Size, Topology, WorkloadKind,
};
use duetime_sim::{Death, Faults, Options};

/// Loss of 0.5 % on each of the two links of a path: one request in a hundred is lost, before or after the port.
const LOSS_PER_LINK: f64 = 0.005;

/// Returns a port of 1 Gbps; deadlines are max(Exp(30 ms), `floor`).
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
        config.host.request_backoff
    );
    println!(
        "| run | simulated | utilisation | missed | first tenth | last tenth | deadline flows |"
    );
    println!("|---|---|---|---|---|---|---|");
}

/// Runs the port with a fresh router.
fn without_faults(port: &BusyPort, config: Config) -> Figures {
    let figures = port.run(config, 0.0, false);
    print("no faults, a fresh router", port.seconds, &figures);
    figures
}

/// Runs the port while one request in a hundred is lost and one host per second dies.
fn with_faults(port: &BusyPort, config: Config) -> Figures {
    let figures = port.run(config, LOSS_PER_LINK, true);
    let census = if config.router.repair {
        "with"
    } else {
        "without"
    };
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

/// Asserts that the link is used and that misses do not grow over time.
fn assert_steady(figures: &Figures) {
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

fn check_four_minutes(config: Config) {
    // The floor is above the minimum RTO (10 ms), so that a lost SYN or FIN alone misses no deadline.
    let floor = Span::from_ms(20);
    header(&busy_port(240, floor), config);
    let fresh = without_faults(&busy_port(60, floor), config);
    let faulty = with_faults(&busy_port(240, floor), config);
    assert_steady(&faulty);
    assert!(
        faulty.missed - fresh.missed <= 0.01 && faulty.last - fresh.missed <= 0.01,
        "missed {}, in the last tenth {}, without faults {}",
        faulty.missed,
        faulty.last,
        fresh.missed
    );
}

#[test]
#[ignore = "half a minute in a debug build: script/faults --long"]
fn four_minutes_of_loss_and_deaths() {
    check_four_minutes(config(true));
}

/// Returns options with which paused flows wait up to eight round trips between requests, as they do on the wire.
fn with_backoff() -> Config {
    config(true).with(|c| c.host.request_backoff = 3)
}

#[test]
#[ignore = "half a minute in a debug build: script/faults --long"]
fn four_minutes_with_request_backoff() {
    check_four_minutes(with_backoff());
}

/// A hundred long flows get less than one unit each, so many of them are paused at any time.
#[test]
fn paused_flows_survive_loss_and_deaths() {
    let crowd = BusyPort {
        long: 100,
        ..busy_port(20, Span::from_ms(20))
    };
    let [asking, waiting] = [config(true), with_backoff()].map(|config| {
        header(&crowd, config);
        without_faults(&crowd, config);
        let faulty = with_faults(&crowd, config);
        assert_steady(&faulty);
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
fn port_collapses_without_the_census() {
    let port = busy_port(3, Span::from_ms(20));
    header(&port, config(true));
    let healed = with_faults(&port, config(true));
    let broken = with_faults(&port, config(false));
    assert!(healed.missed < 0.01, "{}", healed.missed);
    assert!(
        broken.last > 0.5,
        "the port must collapse without the census: {}",
        broken.last
    );
}

#[test]
fn misses_do_not_grow_with_tight_deadlines() {
    // With deadlines down to 5 ms, a lost SYN or FIN (RTO 10 ms) is a miss with any router, but the misses must not
    // grow.
    let port = busy_port(60, Span::from_ms(5));
    header(&port, config(true));
    without_faults(&port, config(true));
    assert_steady(&with_faults(&port, config(true)));
}

#[test]
fn faults_do_not_depend_on_threads() {
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
