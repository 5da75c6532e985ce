//! Marks, and what the controllers make of them.

use crate::attach::nothing_is_left;
use crate::machine::Machine;
use crate::wire::{Connection, Marking, Wire, attach};
use duetime_core::fixed::Fraction;
use duetime_kernel::{Attachment, Options, Parameters, SocketState};
use std::io::{Read, Write};
use std::thread;

/// Sends so many bytes, and waits until the receiver has answered that they are what was sent.
pub fn send(connection: &mut Connection, bytes: usize) {
    // Where a byte stands tells what it is.
    let sent: Vec<u8> = (0..=250).cycle().take(bytes).collect();
    let (near, far) = (&mut connection.near, &mut connection.far);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut arrived = vec![0; bytes];
            far.read_exact(&mut arrived).expect("all of it");
            assert!(arrived == sent, "it is not what was sent");
            far.write_all(&[1]).expect("the answer");
        });
        near.write_all(&sent).expect("sent");
        near.read_exact(&mut [0]).expect("the answer");
    });
}

/// The state of the sender's end.
pub fn state_of(attachment: &Attachment, connection: &Connection) -> SocketState {
    let sockets = attachment.sockets().expect("the kernel lists them");
    let local = connection.near.local_addr().expect("bound");
    let mut senders = sockets.into_iter().filter(|it| it.local == local);
    senders.next().expect("listed")
}

#[test]
fn marks_are_negotiated_and_alpha_follows_them() {
    let Some(_machine) = Machine::take("marks") else {
        return;
    };
    let attachment = attach(&Options::default());
    let wire = Wire::new(Some("tbf rate 100mbit burst 3000 limit 1000000"));
    for control in ["duetime_dctcp", "duetime_d2tcp"] {
        wire.mark(Marking::above(20));
        let mut connection = Connection::new(&wire, control, 9000);
        let before = state_of(&attachment, &connection);
        assert!(before.ecn, "{before:?}");
        assert_eq!((before.marks, before.reductions), (0, 0), "{before:?}");
        assert_eq!(before.alpha, Fraction::ONE, "{before:?}");

        send(&mut connection, 4_000_000);
        let (state, counts) = (state_of(&attachment, &connection), wire.counts());
        assert!(counts.marked >= 50, "{counts:?}");
        let marks = u64::from(state.marks);
        assert!(marks * 4 >= counts.marked * 3, "{state:?} {counts:?}");
        assert!(marks * 3 <= counts.marked * 4, "{state:?} {counts:?}");
        assert!((0.01..0.8).contains(&state.alpha.to_f64()), "{state:?}");
        assert!(state.reductions >= 5, "{state:?}");
    }
    drop((wire, attachment));
    nothing_is_left();
}

/// Every packet is marked, and no window is below 24 segments: a reduction for each acknowledgement would be one for each
/// packet, or for each second one.
#[test]
fn the_window_is_reduced_once_in_a_window() {
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
    let wire = Wire::new(Some("tbf rate 100mbit burst 3000 limit 1000000"));
    wire.mark(Marking {
        every: 1,
        ..Marking::NONE
    });
    // A window that is always reduced never grows: it begins above the floor.
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
