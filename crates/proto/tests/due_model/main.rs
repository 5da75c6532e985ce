//! Model check of `due`, on the code that the simulator and the sockets run.
//!
//! A checker (`stateright`) drives [`Sender`](duetime_proto::due::Sender)s and the
//! [`Receiver`](duetime_proto::due::Receiver) through every order of the events of a small network: up to three
//! messages of up to four packets from up to three sources, with lost, duplicated and late packets in both directions,
//! sources that stop, receivers that restart without their state, and aborts. The [`ledger`] repeats the rules of
//! `docs/due.md` per message, apart from the code under test. The [`Rule`](rules::Rule)s apply after each call of the
//! receiver:
//!
//! - A grant keeps the packets that are granted and have not arrived within 1.25 BDP per message (`window`), and within
//!   1.5 BDP, but at least two packets, over all messages (`overcommit`). The total does not count messages that were
//!   silent for 2 R, because the receiver may have passed them over; it counts all others.
//! - No grant is withheld: while fewer packets than the cap are in flight, each message that responds has as many in
//!   flight as its window or size permits. Here the total does not count messages that must have been passed over,
//!   those that were silent for max(2 R, S + 2 V) and the transmission time of all packets in flight. Messages of
//!   silent sources thus stop none for longer.
//! - The background receives its share of the grants, and at most one packet and the share of a cap less at any moment.
//!   Grants follow the order. At least as many queries are kept as can be in time at the slowest pace that the receiver
//!   can assume, by enumeration of all sets. The urgent messages can be in time at the fastest.
//! - The receiver expects exactly the packets that are granted and have not arrived. Missing packets are requested at
//!   once where a gap shows them, otherwise after 4 R that double with each request, and one packet only once the
//!   message is written off.
//! - A message is delivered once, when all of its packets have arrived, until the receiver restarts. Announcements,
//!   aborts and ends are answered. Only a message that its source does not have any more is forgotten.
//! - All ends: each message of a live source is delivered or aborted at both hosts, no other is left at the receiver,
//!   all timers are off, and new messages receive all grants of the cap.
//!
//! # Abstractions
//!
//! States contain the fields of the real types and all times, and two states are equal only if all of these are. The
//! clock moves from event to event. A packet of a source arrives R later, or with a fault R and 1, 4 or 14 R: after it,
//! its message was passed over, requested, or written off. Packets that are due arrive in every order; those of one
//! source keep theirs where the network does. A due timer of the receiver expires before, between or after them.
//!
//! Replies arrive at once, so that the time from a grant to its packet is R and the limits are constant; with a fault
//! they arrive later. Only one order of replies is explored: they change nothing but their source, whose packets arrive
//! later. Due timers of sources expire before packets arrive. Sources stop, receivers restart and applications abort
//! only while packets are in flight. Steps without a choice belong to the step before. When only messages that were
//! requested six times are left, the timer is 15 R late, which saves most of the time until they are forgotten.
//!
//! The idle round trip and `host_delay` are zero, so that R is five packet times, and `window` and `overcommit` are
//! smaller than the defaults, so that one to three packets reach the limits. Marks and priority classes do not occur.
//! The limit of four times the cap needs more messages. After a restart, packets that were granted before it can
//! shorten the measured delay, so that both limits may be 4/5 of their values.
//!
//! `DUE_MODEL_CASE` selects networks by a part of their names. `script/prove due` runs all of them in depth, and seeded
//! faults.

#![allow(clippy::print_stdout, reason = "tests print their measurements")]
#![allow(
    clippy::cast_possible_truncation,
    reason = "numbers in tests are small"
)]

mod case;
mod cases;
#[path = "../checker/mod.rs"]
mod checker;
mod entry;
mod expected;
mod interleavings;
mod ledger;
mod order;
mod packets;
mod rules;
mod world;

use checker::explore_all;

#[test]
fn interleavings() {
    explore_all(&cases::interleavings(false), "DUE_MODEL_CASE");
}

#[test]
#[ignore = "minutes: script/prove due"]
fn interleavings_in_depth() {
    explore_all(&cases::interleavings(true), "DUE_MODEL_CASE");
}
