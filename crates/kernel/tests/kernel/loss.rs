//! Losses are retransmitted and halve the window.

use crate::machine::{Machine, lists_sockets};
use crate::marks::{send, state_of};
use crate::wire::{Connection, Marking, Wire, attach};
use duetime_kernel::{Attachment, Options, SocketState};

/// Length of a message, about 35 packets.
const MESSAGE: usize = 50_000;

/// Sends messages until the window stops growing, at twice the size of a message.
fn settled(attachment: &Attachment, connection: &mut Connection) -> SocketState {
    let mut states = Vec::new();
    while states.len() < 100 {
        send(connection, MESSAGE);
        states.push(state_of(attachment, connection));
        if let [.., first, _, _, last] = &states[..]
            && first.cwnd == last.cwnd
        {
            return last.clone();
        }
    }
    panic!("the window keeps growing: {states:?}");
}

#[test]
fn losses_are_repaired_and_halve_the_window() {
    let Some(_machine) = Machine::take("loss") else {
        return;
    };
    let attachment = attach(&Options::default());
    if !lists_sockets(&attachment, "loss") {
        return;
    }
    let wire = Wire::new(Some("tbf rate 200mbit burst 3000 limit 1000000"));
    for (control, lost) in [("duetime_dctcp", 1), ("duetime_d2tcp", 4)] {
        wire.mark(Marking::NONE);
        let mut connection = Connection::new(&wire, control, 9000);
        let before = settled(&attachment, &mut connection);
        assert!(before.cwnd >= 20, "{before:?}");
        assert_eq!(before.losses, 0, "{before:?}");

        wire.mark(Marking {
            lose: (5, lost),
            ..Marking::NONE
        });
        send(&mut connection, MESSAGE);
        let after = state_of(&attachment, &connection);
        assert_eq!(wire.counts().lost, u64::from(lost));
        assert_eq!(after.losses, 1, "{after:?}");
        // Until the loss is detected, the window may grow to twice the packets in flight.
        let halved = before.cwnd / 2..=before.cwnd * 3 / 4;
        assert!(halved.contains(&after.ssthresh), "{before:?} {after:?}");
        assert!(after.retransmits >= lost, "{after:?}");
        assert!(after.cwnd < before.cwnd, "{after:?}");
        assert_eq!((after.marks, after.reductions), (0, 0), "{after:?}");
        // The connection continues without another loss.
        send(&mut connection, MESSAGE);
        assert_eq!(state_of(&attachment, &connection).losses, 1);
    }
}
