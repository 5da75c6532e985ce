//! Reaction of the controllers to marks.

use crate::attach::wait_until_clean;
use crate::machine::{Machine, lists_sockets};
use crate::wire::{Connection, Marking, Wire, attach};
use duetime_core::fixed::Fraction;
use duetime_kernel::{Attachment, Options, Parameters, SocketState};
use std::io::{Read, Write};
use std::thread;

/// Sends bytes and waits for the receiver's reply, after it has compared them.
pub fn send(connection: &mut Connection, bytes: usize) {
    // The value of a byte depends on its position.
    let sent: Vec<u8> = (0..=250).cycle().take(bytes).collect();
    let (near, far) = (&mut connection.near, &mut connection.far);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut arrived = vec![0; bytes];
            far.read_exact(&mut arrived).expect("all of it");
            assert!(arrived == sent, "other bytes arrived");
            far.write_all(&[1]).expect("the answer");
        });
        near.write_all(&sent).expect("sent");
        near.read_exact(&mut [0]).expect("the answer");
    });
}

/// Returns the state of the sender's socket.
pub fn state_of(attachment: &Attachment, connection: &Connection) -> SocketState {
    let sockets = attachment.sockets().expect("a list of sockets");
    let local = connection.near.local_addr().expect("bound");
    let mut senders = sockets.into_iter().filter(|socket| socket.local == local);
    senders.next().expect("listed")
}

/// Sends 4 MB through a queue that marks, and checks the sender's alpha.
fn alpha_of(attachment: &Attachment, wire: &Wire, control: &str) {
    wire.mark(Marking::above(20));
    let mut connection = Connection::new(wire, control, 9000);
    let before = state_of(attachment, &connection);
    assert!(before.ecn, "{before:?}");
    assert_eq!((before.marks, before.reductions), (0, 0), "{before:?}");
    assert_eq!(before.alpha, Fraction::ONE, "{before:?}");

    send(&mut connection, 4_000_000);
    let (state, counts) = (state_of(attachment, &connection), wire.counts());
    assert!(counts.marked >= 50, "{counts:?}");
    let marks = u64::from(state.marks);
    assert!(marks * 4 >= counts.marked * 3, "{state:?} {counts:?}");
    assert!(marks * 3 <= counts.marked * 4, "{state:?} {counts:?}");
    assert!((0.01..0.8).contains(&state.alpha.to_f64()), "{state:?}");
    assert!(state.reductions >= 5, "{state:?}");
}

#[test]
fn alpha_follows_the_marks() {
    let Some(_machine) = Machine::take("marks") else {
        return;
    };
    let attachment = attach(&Options::default());
    if !lists_sockets(&attachment, "marks") {
        return;
    }
    let wire = Wire::new(Some("tbf rate 100mbit burst 3000 limit 1000000"));
    for control in ["duetime_dctcp", "duetime_d2tcp"] {
        alpha_of(&attachment, &wire, control);
    }
    // Accurate ECN (RFC 9768), if the kernel has it: between two new hosts, and between a new and an old one.
    if wire.sender.try_set("net/ipv4/tcp_ecn", "3").is_ok() {
        for (sender, receiver) in [("3", "3"), ("3", "1"), ("1", "3")] {
            wire.sender.set("net/ipv4/tcp_ecn", sender);
            wire.receiver.set("net/ipv4/tcp_ecn", receiver);
            alpha_of(&attachment, &wire, "duetime_d2tcp");
        }
    }
    drop((wire, attachment));
    wait_until_clean();
}

/// All packets are marked, and the minimum window is 24 segments. Reducing at every acknowledgement would mean a
/// reduction for every packet or every second packet.
#[test]
fn windows_are_reduced_once_per_round_trip() {
    let Some(_machine) = Machine::take("once in a window") else {
        return;
    };
    let parameters = Parameters {
        min_window: 24,
        ..Parameters::default()
    };
    let attachment = attach(&Options {
        parameters,
        ..Options::default()
    });
    if !lists_sockets(&attachment, "once in a window") {
        return;
    }
    let wire = Wire::new(Some("tbf rate 100mbit burst 3000 limit 1000000"));
    wire.mark(Marking {
        every: 1,
        ..Marking::NONE
    });
    // A window that is always reduced never grows, so it must begin above the minimum.
    wire.sender
        .run("ip route add 10.9.0.2 dev wire initcwnd 32");
    let mut connection = Connection::new(&wire, "duetime_dctcp", 9000);
    send(&mut connection, 2_000_000);
    let state = state_of(&attachment, &connection);
    assert!(state.marks + 32 >= state.delivered, "{state:?}");
    assert_eq!(state.alpha, Fraction::ONE, "{state:?}");
    assert_eq!(state.cwnd, 24, "{state:?}");
    assert!(state.reductions <= state.delivered / 12, "{state:?}");
    assert!(state.reductions >= state.delivered / 60, "{state:?}");
}
