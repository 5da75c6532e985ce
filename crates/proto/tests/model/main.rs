//! Model check of D3's counters, on the code that the simulator and the sockets run.
//!
//! A checker (`stateright`) drives [`Sender`](duetime_proto::d3::Sender)s, [`Receiver`](duetime_proto::d3::Receiver)s
//! and [`PortDriver`](duetime_proto::d3::PortDriver)s through every order of the events of a small network: up to three
//! flows and two ports, with lost, duplicated and late packets in any order, flows that end or are abandoned, hosts that
//! fail, and ports that restart. The [`ledger`] sums the live flows of each port independently. The
//! [`Rule`](rules::Rule)s apply to every state:
//!
//! - N, D and A equal the sums at every moment, not only while no packet is in flight. After a disturbance they do so
//!   from the fourth complete epoch on.
//! - Without faults there is no disturbance: a request returns exactly what the port has granted.
//! - The counters never wrap. A grant does not raise A above C plus the fair share, which the paper does not compare
//!   with the capacity left (D3 §4.3, Snippet 1), the base rate and five units: four of carried remainders, and one of
//!   its own rounding.
//! - A port returns to idle after its last flow. No flow is stuck, and each delivers exactly its bytes.
//!
//! # Abstractions
//!
//! States contain the fields of the real types, and two states are equal only if all of these are. A network is finite
//! because each case limits the requests of a flow, the faults, and the updates of a port or the time.
//!
//! *Interleavings* have no common clock. Any packet in flight may arrive next, which includes every reordering. Each
//! sender has its own clock: it advances by a constant at each answer, and to the expiry of a timer. A timer of a lost
//! packet may expire while packets of the flow are in flight, which is a fault, and is free otherwise. Ports are updated
//! at any time, but an epoch ends only after each live flow has sent a request in it: this replaces all waits of hosts.
//! A flow sends at most two requests per epoch, because a third has the same effect as the second, and no packet is in
//! flight for more than one update. Steps that touch no port commute with those of other flows, so that only one order
//! of them is explored ([`interleavings`]).
//!
//! *Timelines* have a common clock and the real waits, which show that a live flow is seen in every epoch. Hops have a
//! constant latency, and simultaneous events a fixed order, unless a fault changes them. Faults may happen at each packet
//! with a request, and at all packets of a flow that ends, within the first milliseconds; then the timeline continues
//! until every port must have recovered. Packets take no time to transmit, and queues are empty.
//!
//! Both treat a flow whose SYN, FIN or pause was lost as gone until it is repeated, because a host may be silent for
//! longer than an epoch then.
//!
//! `D3_MODEL_CASE` selects cases by a part of their names. `script/prove counters` runs all of them in depth, and seeded faults.

#![allow(clippy::print_stdout, reason = "tests print their measurements")]

mod case;
mod cases;
#[path = "../checker/mod.rs"]
mod checker;
mod describe;
mod interleavings;
mod ledger;
mod rules;
mod timeline;
mod world;

use checker::{Checked, explore_all};

/// Explores the selected cases.
fn all<M: Checked>(models: &[M]) {
    explore_all(models, "D3_MODEL_CASE");
}

#[test]
fn interleavings() {
    all(&cases::interleavings(false));
}

#[test]
fn timelines() {
    all(&cases::timelines(false));
}

#[test]
#[ignore = "minutes: script/prove counters"]
fn interleavings_in_depth() {
    all(&cases::interleavings(true));
}

#[test]
#[ignore = "minutes: script/prove counters"]
fn timelines_in_depth() {
    all(&cases::timelines(true));
}
