//! Options of SIRD.

use super::about::About;
use super::d3::thousandths;
use crate::keys::Kind::{Boolean, Number, Size, Time};
use crate::keys::{S, declare};
use crate::model::Protocol;
use crate::options::{Configuration, Configured, Layers};
use crate::values::word;
use duetime_proto::sird::{Config, Policy};

pub(super) const ABOUT: About = About {
    what: "Receivers pace credit, at most 1.5 bandwidth-delay products, and issue less to congested senders.",
    needs: "SIRD in the hosts (Duetime only simulates it), ECN marks in the core",
};

declare! {
    /// SIRD (Prasopoulos et al., NSDI 2025; `docs/rivals.md`). The defaults are those of its evaluation. It has 2
    /// strict-priority classes; `classes` of a variant sets another number.
    sird for Config {
        /// Maximum packet size, including all headers.
        mtu: Size(200, 9_000), default "1500 B";
        /// Global bucket B of a receiver: limit of the credit of all senders, in bandwidth-delay products (rounded to
        /// 1/1000).
        bucket: Number(0.01, 100.0), default 1.5, unit "permille", field bucket_permille, read thousandths;
        /// Size up to which a message starts without credit, in bandwidth-delay products (rounded to 1/1000). Longer
        /// messages start with a request.
        unscheduled: Number(0.0, 1000.0), default 1, unit "permille", field unscheduled_permille, read thousandths;
        /// Unused credit above which a sender marks its packets, in bandwidth-delay products (rounded to 1/1000).
        sender_threshold: Number(0.0, 1000.0), default 0.5, unit "permille", field sender_threshold_permille,
            read thousandths;
        /// Order of credit: to the message with the fewest packets left, or to the senders in turn.
        policy: word::<Policy>(), default "shortest-remaining";
        /// Marks of links between switches reduce the credit of the sender. Ports to hosts mark only if the scenario has
        /// another transport.
        ecn: Boolean, default true;
        /// Allowance for delays in hosts, which the bandwidth-delay product covers in addition to the network's round
        /// trip.
        host_delay: Time(0, S), default "20 us";
    }
}

impl Configuration for Config {}

/// Reads the options.
pub(super) fn read<'a>(layers: Layers<'_, 'a>) -> Configured<'a, Protocol> {
    OPTIONS.read(layers, Protocol::Sird)
}

declare!(words of Policy: "shortest-remaining" = ShortestRemaining, "fair" = Fair);
