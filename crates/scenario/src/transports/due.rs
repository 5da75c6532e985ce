//! Options of `due`.

use super::about::About;
use super::d3::thousandths;
use crate::keys::Kind::{Boolean, Number, Share, Size, Time};
use crate::keys::{S, declare};
use crate::model::Protocol;
use crate::options::{Configuration, Configured, Layers};
use duetime_proto::due::Config;

pub(super) const ABOUT: About = About {
    what: "Receiving hosts grant packets by deadline, so that as many whole queries as possible are in time.",
    needs: "UDP sockets of Duetime, nothing of the switches; ECN marks and priority classes, which only the simulator's `due` uses, help",
};

declare! {
    /// `due`. `classes` of a variant sets the strict-priority classes, which it does not require.
    due for Config {
        /// Maximum packet size, including all headers.
        mtu: Size(200, 9_000), default "1500 B";
        /// Limit of the packets in flight of one message, in bandwidth-delay products (rounded to 1/1000).
        window: Number(0.01, 100.0), default 1.25, unit "permille", field window_permille, read thousandths;
        /// Limit of the packets in flight of all messages into a host, in bandwidth-delay products (rounded to 1/1000).
        overcommit: Number(0.01, 100.0), default 1.5, unit "permille", field overcommit_permille, read thousandths;
        /// Minimum share of the grants for messages that are late or have no deadline (rounded to 1/1000).
        background: Share(0.0, 1.0), default "5%", unit "permille", field background_permille, read thousandths;
        /// Allowance for delays in hosts, which windows cover in addition to the network's round trip. The 90th
        /// percentile of Linux's delay per packet is 17 us on a host with little traffic (`docs/validation.md`).
        host_delay: Time(0, S), default "20 us";
        /// Marks reduce a message's window if the packet met no queue at the host's own link.
        core_window: Boolean, default true;
        /// First announced size of a message over its size, for hosts that only estimate sizes (rounded to 1/1000).
        announced: Number(0.001, 1000.0), default 1, unit "permille", field announced_permille, read thousandths;
        /// Share of the source hosts that announce a tenth of the time allowed (rounded to 1/1000).
        false_deadlines: Share(0.0, 1.0), default "0%", unit "permille", field false_deadline_permille, read thousandths;
    }
}

impl Configuration for Config {}

/// Reads the options.
pub(super) fn read<'a>(layers: Layers<'_, 'a>) -> Configured<'a, Protocol> {
    OPTIONS.read(layers, Protocol::Due)
}
