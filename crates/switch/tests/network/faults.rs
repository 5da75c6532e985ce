//! The bodies of D3's tests of faults between real namespaces, joined by the switch with D3's router: datagrams are lost,
//! repeated, damaged and delayed, the switch restarts, a host is killed without a FIN. The kernel's `netem` does it to
//! datagrams where the machine has it, else a relay in a third namespace, which in some runs falls silent.

#![allow(
    clippy::cast_possible_truncation,
    reason = "the numbers of a test are small"
)]

#[path = "../../../d3/tests/queries/mod.rs"]
mod queries;
#[path = "../../../d3/tests/relay/mod.rs"]
#[allow(dead_code, reason = "the tests of `duetime-d3` use the rest")]
mod relay;

use crate::bench::Bench;
use crate::d3::{Killed, PATIENCE, PORT, eventually, is_clear, routed};
use duetime_d3::{Endpoint, Listener};
use duetime_link::Limit;
use queries::{exchange, options, seeds, timed_out};
use relay::{Faults, Relay, Way};
use std::io::Read;
use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

const CLIENT: usize = 0;
const SERVER: usize = 1;
const RELAY: usize = 2;

/// An endpoint in a host.
fn endpoint(bench: &Bench, host: usize) -> Endpoint {
    let bound = bench.in_host(host, || Endpoint::bind(any_port(host), options(PORT)));
    bound.expect("an endpoint")
}

fn any_port(host: usize) -> SocketAddr {
    SocketAddr::from(([10, 9, 0, host as u8 + 1], 0))
}

/// Lets the kernel do it to all that client and server send; false where it cannot.
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
        // Those overtake the others.
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

/// A process that sends to a server is killed: its stream at the server ends with an error.
fn kill_a_sender(bench: &Bench, server: &Endpoint, listener: &Listener) -> Duration {
    let address = server.local_addr().expect("it is bound");
    let victim = Killed::start(bench, CLIENT, address);
    let (mut stream, _) = listener.accept().expect("a stream");
    stream.set_read_timeout(Some(PATIENCE));
    stream.read_exact(&mut vec![0; 50_000]).expect("it sends");
    drop(victim);
    let began = Instant::now();
    let ended = std::io::copy(&mut stream, &mut std::io::sink());
    let error = ended.expect_err("it sent more than it could");
    assert!(timed_out(&error), "{error:?}");
    began.elapsed()
}

/// Runs of a plain test; `D3_NAMESPACE_SEEDS=0..40` runs more, and `=7..8` one again.
#[test]
fn whatever_happens_between_namespaces_bytes_are_right_and_all_ends() {
    let Some(mut bench) = routed(3, Limit::Packets(100)) else {
        return;
    };
    let has_netem = tc(&bench, "qdisc replace dev eth0 root netem limit 1000");
    let by = if has_netem { "netem" } else { "a relay" };
    println!("faults by {by}");
    let mut slowest = Duration::ZERO;
    for seed in seeds("D3_NAMESPACE_SEEDS", 0..4) {
        println!("D3_NAMESPACE_SEEDS={seed}..{}", seed + 1);
        let faults = Faults::of(seed);
        let (client, server) = (endpoint(&bench, CLIENT), endpoint(&bench, SERVER));
        let listener = server.listen(16);
        let address = server.local_addr().expect("it is bound");
        let silent = faults.silent_after.is_some();
        let relay = (silent || !netem(&bench, faults)).then(|| {
            let way = Way {
                own: any_port(RELAY),
                server: address,
                rate: PORT,
            };
            bench.in_host(RELAY, || Relay::start(way, faults, seed))
        });
        let to = relay.as_ref().map_or(address, Relay::address);
        exchange(&client, to, &listener, (seed, silent), || {
            if seed % 3 == 1 {
                thread::sleep(Duration::from_millis(20));
                bench.restart();
            }
        });
        if has_netem {
            tc(&bench, "qdisc del dev eth0 root");
        }
        if seed % 4 == 2 {
            let took = kill_a_sender(&bench, &server, &listener);
            println!("{took:?} after a host was killed its stream ended");
        }
        drop((client, listener, server, relay));
        let healed = eventually(&bench, "N, D, A are zero", |all| all.iter().all(is_clear));
        slowest = slowest.max(healed);
    }
    println!("counters were clear {slowest:?} after the last stream of a run at most");
}
