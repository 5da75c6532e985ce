//! Losses: what is lost is sent again, and the window halves.

use crate::machine::Machine;
use crate::marks::{send, state_of};
use crate::wire::{Connection, Marking, Wire, attach};
use duetime_kernel::{Attachment, Options, SocketState};

/// A message: some 35 packets.
const MESSAGE: usize = 50_000;

/// Sends messages until the window stands, which it does when it is twice what they need.
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
    panic!("the window grows on: {states:?}");
}

#[test]
fn a_loss_is_repaired_and_halves_the_window() {
    let Some(_machine) = Machine::take("loss") else {
        return;
    };
    let attachment = attach(&Options::default());
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
        // Until the loss is known, the window may grow to twice what is on its way.
        let halved = before.cwnd / 2..=before.cwnd * 3 / 4;
        assert!(halved.contains(&after.ssthresh), "{before:?} {after:?}");
        assert!(after.retransmits >= lost, "{after:?}");
        assert!(after.cwnd < before.cwnd, "{after:?}");
        assert_eq!((after.marks, after.reductions), (0, 0), "{after:?}");
        // Repaired, it goes on without another loss.
        send(&mut connection, MESSAGE);
        assert_eq!(state_of(&attachment, &connection).losses, 1);
    }
}
