//! Effect of deadlines on two competing flows.

use crate::machine::Machine;
use crate::wire::contest::bytes_of_two;
use crate::wire::{Connection, Marking, Wire, attach};
use duetime_kernel::deadline::{self, Deadline};
use duetime_kernel::{Options, Parameters};
use std::os::fd::AsFd;
use std::time::Duration;

/// Announces an infeasible deadline and a very late one, so that d is at its limits, 2 and 1/2, on any machine.
fn announce(connections: &[Connection; 2]) {
    for (connection, within) in connections.iter().zip([60, 24 * 3600]) {
        let message = Deadline {
            bytes: 64_000_000_000,
            within: Duration::from_secs(within),
        };
        deadline::set(connection.near.as_fd(), &message).expect("the option");
    }
}

#[test]
fn near_deadlines_get_more_only_under_d2tcp() {
    let Some(_machine) = Machine::take("near and far deadline") else {
        return;
    };
    let parameters = Parameters {
        initial_alpha: 0.125,
        ..Parameters::default()
    };
    let _attachment = attach(&Options {
        parameters,
        ..Options::default()
    });
    let wire = Wire::new(Some("tbf rate 200mbit burst 3000 limit 1000000"));
    wire.mark(Marking::above(60));
    let ratio = |control: &str| {
        let bytes = bytes_of_two(&wire, [control; 2], [25_000_000, 65_000_000], announce);
        bytes[0] as f64 / bytes[1] as f64
    };
    let (d2tcp, dctcp) = (ratio("duetime_d2tcp"), ratio("duetime_dctcp"));
    assert!(d2tcp > 3.0, "D2TCP {d2tcp}, DCTCP {dctcp}");
    assert!((0.4..2.5).contains(&dctcp), "D2TCP {d2tcp}, DCTCP {dctcp}");
}
