//! `proto`'s fault tests over real sockets: a relay between client and server loses, duplicates, damages and delays
//! datagrams, answers requests like a router that restarts, and falls silent in some runs.

#![allow(clippy::cast_possible_truncation, reason = "test values are small")]
#![allow(clippy::print_stderr, reason = "a failure prints how to repeat it")]

#[path = "../../../tests/counts.rs"]
mod counts;
mod queries;
mod relay;

use duetime_d3::{Endpoint, Rate};
use queries::{exchange, options, seeds};
use relay::{Faults, Route};

const RATE: Rate = Rate::from_gbps(1);
const LOOPBACK: &str = "127.0.0.1:0";

/// Runs 12 seeds. `D3_SOCKET_SEEDS=0..200` runs more, and `=7..8` repeats one.
#[test]
fn data_survives_faults_and_all_streams_end() {
    for seed in seeds("D3_SOCKET_SEEDS", 0..12) {
        eprintln!("D3_SOCKET_SEEDS={seed}..{}", seed + 1);
        let server = Endpoint::bind(LOOPBACK, options(RATE)).unwrap();
        let listener = server.listen(16);
        let faults = Faults::new(seed);
        let route = Route {
            address: LOOPBACK.parse().unwrap(),
            server: server.local_addr().unwrap(),
        };
        let relay = relay::start(route, RATE, faults, seed);
        let client = Endpoint::bind(LOOPBACK, options(RATE)).unwrap();
        let silent = faults.silent_after.is_some();
        let queries = exchange(&client, relay.address(), &listener, (seed, silent), || ());
        let totals = (client.totals().damaged, server.totals().damaged);
        assert_eq!(totals.0 + totals.1 > 0, relay.damaged() > 0, "{totals:?}");
        counts::report(&[queries, relay.counts()].concat());
    }
}
