//! All networks.

use crate::case::{Case, Faults, MessageCase};
use crate::interleavings::Interleavings;
use duetime_proto::due::Link;

const ALL: Faults = Faults {
    number: 1,
    loss: true,
    duplicates: true,
    delays: &[1, 4, 14],
    deaths: true,
    restarts: true,
};

/// Returns a message without a deadline.
const fn plain(source: usize, packets: u8) -> MessageCase {
    MessageCase {
        source,
        packets,
        start: 0,
        deadline: None,
        query: None,
        is_request: false,
    }
}

/// Returns a message with a deadline, in packet times.
const fn due(source: usize, packets: u8, deadline: u64) -> MessageCase {
    MessageCase {
        deadline: Some(deadline),
        ..plain(source, packets)
    }
}

/// Returns an answer of a query of which two answers of three packets cannot both be in time.
const fn of_query(source: usize, packets: u8) -> MessageCase {
    MessageCase {
        query: Some(7),
        ..due(source, packets, 11)
    }
}

/// Returns a message that is submitted after some round trips.
const fn later(message: MessageCase, start: u64) -> MessageCase {
    MessageCase { start, ..message }
}

const fn request(source: usize, packets: u8) -> MessageCase {
    MessageCase {
        is_request: true,
        ..plain(source, packets)
    }
}

/// Returns the networks.
pub fn interleavings(deep: bool) -> Vec<Interleavings> {
    let pick = |fast: u8, slow: u8| if deep { slow } else { fast };
    let faults = |number| Faults { number, ..ALL };
    // Fewer delays.
    let brief = |number| Faults {
        delays: &[4],
        ..faults(number)
    };
    let any_order = Link {
        keeps_order: false,
        ..Case::new("", (1, 1), &[]).link
    };
    let cases = [
        Case::new(
            "3 messages of 4, 3 and 2 packets",
            (2, 3),
            &[plain(0, 4), plain(1, 3), plain(2, 2)],
        ),
        Case {
            faults: faults(pick(1, 2)),
            ..Case::new(
                "3 messages of 3 sources, faults",
                (2, 3),
                &[plain(0, 4), plain(1, 3), plain(2, 2)],
            )
        },
        Case {
            faults: faults(pick(2, 3)),
            ..Case::new(
                "2 messages of 2 sources, faults",
                (2, 2),
                &[plain(0, 3), plain(1, 2)],
            )
        },
        Case {
            faults: faults(pick(2, 3)),
            ..Case::new(
                "2 messages of 1 source, faults",
                (2, 3),
                &[plain(0, 3), plain(0, 2)],
            )
        },
        Case {
            faults: faults(pick(2, 4)),
            ..Case::new("1 message of 4 packets, faults", (3, 3), &[plain(0, 4)])
        },
        Case {
            faults: Faults {
                delays: &[14],
                ..Faults::only(pick(2, 3))
            },
            ..Case::new("late packets", (2, 3), &[plain(0, 4), plain(1, 3)])
        },
        Case {
            faults: faults(pick(1, 2)),
            link: any_order,
            ..Case::new(
                "2 sources, any order, faults",
                (2, 3),
                &[plain(0, 4), plain(1, 3)],
            )
        },
        Case {
            faults: faults(pick(1, 2)),
            aborts: 1,
            ..Case::new("aborts and faults", (2, 3), &[plain(0, 3), plain(1, 3)])
        },
        Case {
            faults: faults(pick(1, 2)),
            ..Case::new("sizes half, faults", (2, 2), &[plain(0, 4), plain(1, 3)]).sizes(500)
        },
        Case {
            faults: faults(pick(1, 2)),
            ..Case::new("sizes double, faults", (3, 4), &[plain(0, 3), plain(1, 2)]).sizes(2_000)
        },
        Case {
            faults: brief(pick(1, 2)),
            ..Case::new(
                "deadlines, faults",
                (2, 3),
                &[due(0, 4, 40), due(1, 3, 20), due(2, 2, 8)],
            )
        },
        Case {
            faults: brief(pick(1, 2)),
            ..Case::new(
                "later deadlines, faults",
                (2, 2),
                &[
                    plain(0, 4),
                    later(due(1, 3, 30), 1),
                    later(due(2, 2, 20), 2),
                ],
            )
        },
        Case {
            faults: brief(pick(1, 2)),
            ..Case::new(
                "queries, overload, faults",
                (1, 2),
                &[of_query(0, 3), of_query(1, 3), due(2, 4, 11)],
            )
        },
        Case {
            faults: brief(pick(1, 2)),
            ..Case::new(
                "requests, faults",
                (2, 2),
                &[request(0, 3), due(1, 3, 40), plain(2, 3)],
            )
        },
        Case {
            faults: faults(pick(0, 1)),
            ..Case::new(
                "share of the background",
                (2, 2),
                &[due(0, 4, 90), due(1, 4, 80), plain(2, 4)],
            )
            .share(1_000)
        },
    ];
    cases.into_iter().map(Interleavings).collect()
}
