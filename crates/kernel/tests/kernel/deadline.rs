//! What a deadline does to two flows that compete.

use crate::machine::Machine;
use crate::wire::contest::bytes_of_two;
use crate::wire::{Connection, Marking, Wire, attach};
use duetime_kernel::deadline::{self, Deadline};
use duetime_kernel::{Options, Parameters};
use std::os::fd::AsFd;
use std::time::Duration;

/// A deadline that no flow can meet, and one that every flow can: d stands at the ends of its clamp, 2 and 1/2, however
/// fast the machine is.
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
fn the_near_deadline_has_the_larger_share_under_d2tcp_alone() {
    let Some(_machine) = Machine::take("near and far deadline") else {
        return;
    };
    let parameters = Parameters {
        initial_alpha: 0.125,
        ..Parameters::default()
    };
    let attachment = attach(&Options {
        parameters,
        ..Options::default()
    });
    let wire = Wire::new(Some("tbf rate 200mbit burst 3000 limit 1000000"));
    wire.mark(Marking::above(60));
    let shares = |control: &str| {
        let bytes = bytes_of_two(
            &wire,
            &attachment,
            [control; 2],
            [25_000_000, 65_000_000],
            announce,
        );
        bytes[0] as f64 / bytes[1] as f64
    };
    let (d2tcp, dctcp) = (shares("duetime_d2tcp"), shares("duetime_dctcp"));
    assert!(d2tcp > 3.0, "D2TCP {d2tcp}, DCTCP {dctcp}");
    assert!((0.4..2.5).contains(&dctcp), "D2TCP {d2tcp}, DCTCP {dctcp}");
}
