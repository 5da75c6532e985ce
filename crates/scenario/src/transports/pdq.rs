//! Options of PDQ.

use super::about::About;
use super::d3::thousandths;
use crate::keys::Kind::{Boolean, Number, Size, Time};
use crate::keys::{S, US, declare};
use crate::model::Protocol;
use crate::options::{Configuration, Configured, Layers};
use duetime_proto::pdq::Config;

pub(super) const ABOUT: About = About {
    what: "Each link serves its most critical flow and pauses the others: earliest deadline first, then shortest first.",
    needs: "switches that run PDQ at every port; Duetime only simulates it",
};

declare! {
    /// PDQ.
    pdq for Config {
        /// Maximum packet size, including all headers.
        mtu: Size(200, 9_000), default "1500 B";
        /// K of Early Start: flows that end within K round trips do not delay less critical ones, up to K round trips in
        /// all (rounded to 1/1000). 0: no Early Start.
        early_start: Number(0.0, 100.0), default 2, unit "permille", field early_start_permille, read thousandths;
        /// X of Suppressed Probing: a paused flow at index i of a port's list probes every X·i round trips, at least
        /// every round trip (rounded to 1/1000).
        probing: Number(0.0, 100.0), default 0.2, unit "permille", field probing_permille, read thousandths;
        /// Time after the acceptance of a flow in which a port accepts no other paused flow, as a share of the accepted
        /// flow's transmission time or round trip, whichever is shorter (rounded to 1/1000). The paper gives no value.
        dampening: Number(0.0, 100.0), default 0.5, unit "permille", field dampening_permille, read thousandths;
        /// Senders end flows that cannot meet their deadline.
        early_termination: Boolean, default true;
        /// The interfaces of sending hosts schedule flows like the ports of switches.
        host_ports: Boolean, default false;
        /// Minimum retransmission timeout.
        rto_min: Time(10 * US, 10 * S), default "10 ms";
    }
}

impl Configuration for Config {}

/// Reads the options.
pub(super) fn read<'a>(layers: Layers<'_, 'a>) -> Configured<'a, Protocol> {
    OPTIONS.read(layers, Protocol::Pdq)
}
