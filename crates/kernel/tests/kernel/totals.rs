//! Totals of the controllers, which need no list of the sockets.

use crate::attach::wait_until_clean;
use crate::machine::Machine;
use crate::marks::send;
use crate::wire::{Connection, Marking, Wire, attach};
use duetime_kernel::deadline::{self, Deadline};
use duetime_kernel::{Algorithm, Attachment, Options, Totals};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

/// Returns the totals once both ends of all connections are closed.
fn totals_at_end(attachment: &Attachment, algorithm: Algorithm) -> Totals {
    let began = Instant::now();
    loop {
        let totals = attachment.totals(algorithm).expect("totals");
        if totals.opened == totals.closed || began.elapsed() > Duration::from_secs(10) {
            return totals;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn totals_count_bytes_marks_and_deadlines() {
    let Some(_machine) = Machine::take("totals") else {
        return;
    };
    let attachment = attach(&Options::default());
    let wire = Wire::new(Some("tbf rate 100mbit burst 3000 limit 1000000"));
    wire.mark(Marking::above(20));
    for (algorithm, port) in [(Algorithm::Dctcp, 9000), (Algorithm::D2tcp, 9001)] {
        let mut connection = Connection::new(&wire, algorithm.name(), port);
        // 1 MB takes 80 ms, so the second deadline is missed.
        for within in [Duration::from_secs(10), Duration::from_millis(20)] {
            let message = Deadline {
                bytes: 1_000_000,
                within,
            };
            deadline::set(connection.near.as_fd(), &message).expect("the option");
            send(&mut connection, 1_000_000);
        }
        let open = attachment.totals(algorithm).expect("totals");
        assert_eq!((open.opened, open.closed), (2, 0), "{open:?}");
        assert_eq!((open.met, open.missed), (1, 1), "{open:?}");

        // More is announced than sent before the end.
        let message = Deadline {
            bytes: 5_000_000,
            within: Duration::from_secs(10),
        };
        deadline::set(connection.near.as_fd(), &message).expect("the option");
        send(&mut connection, 100_000);
        drop(connection);
        let totals = totals_at_end(&attachment, algorithm);
        let counts = wire.counts();
        assert_eq!((totals.opened, totals.closed), (2, 2), "{totals:?}");
        assert_eq!((totals.met, totals.missed), (1, 2), "{totals:?}");
        // The data, up to three answers of a byte, and possibly the ends.
        let bytes = 2_100_000..=2_100_005;
        assert!(bytes.contains(&totals.acked_bytes), "{totals:?}");
        assert!(totals.delivered >= 2_100_000 / 1_448, "{totals:?}");
        assert!(totals.marks >= 20, "{totals:?} {counts:?}");
        assert!(totals.marks <= totals.delivered, "{totals:?}");
        assert!(totals.reductions >= 3, "{totals:?}");
        assert!(totals.reductions <= totals.marks, "{totals:?}");
    }
}

#[test]
fn connections_survive_a_restart() {
    let Some(_machine) = Machine::take("restart") else {
        return;
    };
    let attachment = attach(&Options::default());
    let wire = Wire::new(None);
    let mut connection = Connection::new(&wire, Algorithm::D2tcp.name(), 9000);
    let transfer = |connection: &mut Connection| {
        let message = Deadline {
            bytes: 100_000,
            within: Duration::from_secs(10),
        };
        deadline::set(connection.near.as_fd(), &message).expect("the option");
        send(connection, 100_000);
    };
    transfer(&mut connection);
    drop(attachment);
    send(&mut connection, 100_000);

    let attachment = attach(&Options::default());
    transfer(&mut connection);
    let mut other = Connection::new(&wire, Algorithm::D2tcp.name(), 9001);
    transfer(&mut other);
    drop((connection, other));
    let totals = totals_at_end(&attachment, Algorithm::D2tcp);
    // Both ends of both connections.
    assert_eq!((totals.opened, totals.closed), (4, 4), "{totals:?}");
    assert_eq!((totals.met, totals.missed), (3, 0), "{totals:?}");
    assert!(totals.acked_bytes >= 400_000, "{totals:?}");
    drop(attachment);
    wait_until_clean();

    // Without remaining connections nothing is taken over.
    let attachment = attach(&Options::default());
    let totals = attachment.totals(Algorithm::D2tcp).expect("totals");
    assert_eq!(totals.opened, 0, "{totals:?}");
}
