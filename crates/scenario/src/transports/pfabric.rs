//! Options of pFabric.

use super::about::About;
use crate::diagnostic::Result;
use crate::keys::Kind::{Integer, Size, Time};
use crate::keys::{S, US, declare};
use crate::model::Protocol;
use crate::options::{Configuration, Configured, Layers, last};
use duetime_proto::pfabric::Config;

pub(super) const ABOUT: About = About {
    what: "Hosts send at line rate; switches with small queues send and keep the packets of the shortest messages.",
    needs: "a host stack that is not published, and new switches that schedule and drop packets by a priority number",
};

declare! {
    /// pFabric (Alizadeh et al., 2013). Its switches replace `[switch] buffer` and do not mark; `docs/rivals.md`.
    pfabric for Config {
        /// Maximum packet size, including all headers.
        mtu: Size(200, 9_000), default "1500 B";
        /// Initial window of a message in packets.
        window: Integer(1, 10_000), otherwise "the bandwidth-delay product of the host's link";
        /// Fixed time after which a packet counts as lost.
        rto: Time(US, S), otherwise "three round trips of the idle network, and the delay in hosts";
        /// Consecutive timeouts after which a message only sends probes, until one is acknowledged.
        probe_after: Integer(1, 1_000), default 5;
        /// Memory of each port of a switch, the packet in service included.
        queue: Size(3_000, 1_000_000_000), otherwise "two bandwidth-delay products of a host's link";
    }
}

/// Reads the options.
pub(super) fn read<'a>(layers: Layers<'_, 'a>) -> Configured<'a, Protocol> {
    OPTIONS.read(layers, Protocol::PFabric)
}

impl Configuration for Config {
    /// Refuses queues that hold fewer than two full packets: the packet in service counts.
    fn finish(&mut self, layers: Layers<'_, '_>) -> Result<()> {
        let least = 2 * u64::from(self.mtu);
        let Some(queue) = self.queue.filter(|&queue| queue < least) else {
            return Ok(());
        };
        let place = last(layers, &["queue"]).expect("the default is computed");
        let message = format!("{queue} B do not hold two packets of {} B", self.mtu);
        place.refuse(message, format!("at least {least} B, or a smaller `mtu`"))
    }
}
