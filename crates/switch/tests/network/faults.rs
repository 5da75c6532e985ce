//! D3 fault tests between namespaces, through the switch with D3's router: datagrams are lost, duplicated, damaged and
//! delayed, the switch restarts, and a host is killed without a FIN. Faults come from the kernel's `netem` if
//! available, otherwise from a relay in a third namespace, which falls silent in some runs.

#![allow(clippy::cast_possible_truncation, reason = "test values are small")]

#[path = "../../../../tests/counts.rs"]
mod counts;
#[path = "../../../d3/tests/queries/mod.rs"]
mod queries;
#[path = "../../../d3/tests/relay/mod.rs"]
#[allow(
    dead_code,
    reason = "other parts are used by the tests of `duetime-d3`"
)]
mod relay;

use crate::bench::Bench;
use crate::d3::{Killed, PATIENCE, PORT, eventually, is_clear, routed};
use duetime_d3::{Endpoint, Listener};
use duetime_link::Limit;
use queries::{exchange, options, seeds, timed_out};
use relay::{Faults, Relay, Route};
use std::io::Read;
use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

const CLIENT: usize = 0;
const SERVER: usize = 1;
const RELAY: usize = 2;

/// Opens an endpoint in a host.
fn endpoint(bench: &Bench, host: usize) -> Endpoint {
    let bound = bench.in_host(host, || Endpoint::bind(any_port(host), options(PORT)));
    bound.expect("an endpoint")
}

fn any_port(host: usize) -> SocketAddr {
    SocketAddr::from(([10, 9, 0, host as u8 + 1], 0))
}

/// Applies the faults to all packets of client and server with `netem`. Returns false if it is not available.
fn netem(bench: &Bench, faults: Faults) -> bool {
    let percent = |permille: u64| format!("{}.{}%", permille / 10, permille % 10);
    let Faults {
        lost,
        repeated,
        damaged,
        delayed,
        ..
    } = faults;
    let [loss, duplicate, corrupt, reorder] = [lost, repeated, damaged, delayed].map(percent);
    let mut rule = format!("netem loss {loss} duplicate {duplicate} corrupt {corrupt}");
    if delayed > 0 {
        // Reordered packets skip the delay and overtake others.
        rule = format!("{rule} delay 2ms reorder {reorder}");
    }
    tc(bench, &format!("qdisc replace dev eth0 root {rule}"))
}

fn tc(bench: &Bench, arguments: &str) -> bool {
    let run = || {
        let mut command = Command::new("tc");
        command.args(arguments.split_whitespace());
        let status = command.stderr(Stdio::null()).status();
        status.is_ok_and(|status| status.success())
    };
    [CLIENT, SERVER]
        .into_iter()
        .all(|host| bench.in_host(host, run))
}

/// Kills a sending process and checks that its stream at the server ends with an error. Returns the time this takes.
fn kill_a_sender(bench: &Bench, server: &Endpoint, listener: &Listener) -> Duration {
    let address = server.local_addr().expect("bound");
    let victim = Killed::start(bench, CLIENT, address);
    let (mut stream, _) = listener.accept().expect("a stream");
    stream.set_read_timeout(Some(PATIENCE));
    stream.read_exact(&mut vec![0; 50_000]).expect("data");
    drop(victim);
    let began = Instant::now();
    let ended = std::io::copy(&mut stream, &mut std::io::sink());
    let error = ended.expect_err("an error");
    assert!(timed_out(&error), "{error:?}");
    began.elapsed()
}

/// Runs 4 seeds. `D3_NAMESPACE_SEEDS=0..40` runs more, and `=7..8` repeats one.
#[test]
fn data_survives_faults_and_all_streams_end() {
    let Some(mut bench) = routed(3, Limit::Packets(100)) else {
        return;
    };
    let has_netem = tc(&bench, "qdisc replace dev eth0 root netem limit 1000");
    let source = if has_netem { "netem" } else { "a relay" };
    println!("faults by {source}");
    let mut slowest = Duration::ZERO;
    for seed in seeds("D3_NAMESPACE_SEEDS", 0..4) {
        println!("D3_NAMESPACE_SEEDS={seed}..{}", seed + 1);
        let faults = Faults::new(seed);
        let (client, server) = (endpoint(&bench, CLIENT), endpoint(&bench, SERVER));
        let listener = server.listen(16);
        let address = server.local_addr().expect("bound");
        let silent = faults.silent_after.is_some();
        let relay = (silent || !netem(&bench, faults)).then(|| {
            let route = Route {
                address: any_port(RELAY),
                server: address,
            };
            bench.in_host(RELAY, || relay::start(route, PORT, faults, seed))
        });
        let to = relay.as_ref().map_or(address, Relay::address);
        let restarts = seed % 3 == 1;
        let mut counted = exchange(&client, to, &listener, (seed, silent), || {
            if restarts {
                thread::sleep(Duration::from_millis(20));
                bench.restart();
            }
        });
        if has_netem {
            tc(&bench, "qdisc del dev eth0 root");
        }
        let kills = seed % 4 == 2;
        if kills {
            let took = kill_a_sender(&bench, &server, &listener);
            println!("stream of a killed host ended after {took:?}");
        }
        counted.extend([("restarts", restarts.into()), ("deaths", kills.into())]);
        counted.extend(relay.iter().flat_map(Relay::counts));
        drop((client, listener, server, relay));
        let healed = eventually(&bench, "N, D, A are zero", |all| all.iter().all(is_clear));
        slowest = slowest.max(healed);
        counts::report(&counted);
    }
    println!("counters were clear at most {slowest:?} after the last stream of a run");
}
