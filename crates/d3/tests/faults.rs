//! The bodies of `proto`'s tests of faults over real sockets: a relay between client and server loses, repeats, damages
//! and delays datagrams, answers their requests as a router that restarts, and in some runs falls silent.

#![allow(
    clippy::cast_possible_truncation,
    reason = "the numbers of a test are small"
)]
#![allow(clippy::print_stderr, reason = "a failure says how to run it again")]

mod queries;
mod relay;

use duetime_d3::{Endpoint, Rate};
use queries::{exchange, options, seeds};
use relay::{Faults, Relay, Way};

const RATE: Rate = Rate::from_gbps(1);
const LOOPBACK: &str = "127.0.0.1:0";

/// Runs of a plain test; `D3_SOCKET_SEEDS=0..200` runs more, and `=7..8` one again.
#[test]
fn whatever_a_network_of_sockets_does_bytes_are_right_and_all_ends() {
    for seed in seeds("D3_SOCKET_SEEDS", 0..12) {
        eprintln!("D3_SOCKET_SEEDS={seed}..{}", seed + 1);
        let server = Endpoint::bind(LOOPBACK, options(RATE)).unwrap();
        let listener = server.listen(16);
        let faults = Faults::of(seed);
        let way = Way {
            own: LOOPBACK.parse().unwrap(),
            server: server.local_addr().unwrap(),
            rate: RATE,
        };
        let relay = Relay::start(way, faults, seed);
        let client = Endpoint::bind(LOOPBACK, options(RATE)).unwrap();
        let silent = faults.silent_after.is_some();
        exchange(&client, relay.address(), &listener, (seed, silent), || ());
        let totals = (client.totals().damaged, server.totals().damaged);
        assert_eq!(totals.0 + totals.1 > 0, relay.damaged() > 0, "{totals:?}");
    }
}
