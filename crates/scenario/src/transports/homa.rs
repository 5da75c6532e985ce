//! Options of Homa.

use super::about::About;
use crate::diagnostic::Result;
use crate::keys::Kind::{self, Integer, List, Size, Time};
use crate::keys::{FLOW_SIZE, S, SOME_TIME, declare};
use crate::model::Protocol;
use crate::options::{Configuration, Configured, Layers, last};
use crate::place::Place;
use crate::values::{Readable, Resolved};
use duetime_proto::homa::{Config, Cutoffs, MAX_OVERCOMMITMENT, MAX_UNSCHEDULED};
use serde_json::{Value, json};

pub(super) const ABOUT: About = About {
    what: "Senders start each message without permission, and receiving hosts grant the remainder, shortest first, each \
           message in its own priority class.",
    needs: "the Homa kernel module or an own stack on the hosts, and eight strict-priority classes in the switches",
};

const SIZE: Kind = Size(FLOW_SIZE.0, FLOW_SIZE.1);

declare! {
    /// Homa. Uses eight strict-priority classes, unless `classes` of a variant sets fewer. Ignores deadlines.
    homa for Config {
        /// Maximum packet size, including all headers.
        mtu: Size(200, 9_000), default "1500 B";
        /// Limit of a message's granted bytes that have not arrived, headers included.
        rtt_bytes: Size(1, 1_000_000_000), otherwise "bandwidth of a host's link times the longest round trip, with `host_delay` and 5 packets";
        /// Bytes that each message sends without a grant, headers included.
        unscheduled_bytes: Size(1, 1_000_000_000), otherwise "`rtt_bytes`";
        /// Number of answers to a query above which each answer sends only one packet without a grant (Homa §3.6).
        incast_threshold: Integer(1, 1_000_000_000), default 8;
        /// Number of messages that a receiver grants at the same time.
        overcommitment: Integer(1, MAX_OVERCOMMITMENT as i64), otherwise "the number of scheduled levels";
        /// Number of priority levels for unscheduled packets. The classes below are for scheduled packets.
        unscheduled_levels: Integer(1, MAX_UNSCHEDULED as i64), otherwise "in proportion to the unscheduled bytes of the workloads (Homa §3.4)";
        /// Maximum message size of each unscheduled level but the last, rising.
        cutoffs: List(&SIZE), otherwise "equal unscheduled bytes per level by the sizes of the workloads (Homa §3.4)";
        /// Silence after which a receiver requests missing packets.
        resend_interval: Time(SOME_TIME.0, SOME_TIME.1), otherwise "50 round trips, with `host_delay` and 5 packets, at least 1 ms";
        /// Allowance for delays in hosts, which `rtt_bytes` and `resend_interval` cover.
        host_delay: Time(0, S), default "0 us";
    }
}

/// Reads the options.
pub(super) fn read<'a>(layers: Layers<'_, 'a>) -> Configured<'a, Protocol> {
    OPTIONS.read(layers, Protocol::Homa)
}

impl Readable for Cutoffs {
    fn read(place: &Place<'_>, _: &'static Kind) -> Result<Self> {
        let items = place.array()?;
        let allowed = "at most 6 rising sizes, such as [\"1 KB\", \"10 KB\"]";
        let mut sizes: Vec<u64> = Vec::new();
        for item in &items {
            let size = item.size(FLOW_SIZE.0, FLOW_SIZE.1)?.0;
            if sizes.last().is_some_and(|&last| last >= size) {
                return item.refuse("not above the size before", allowed);
            }
            sizes.push(size);
        }
        if sizes.len() >= usize::from(MAX_UNSCHEDULED) {
            return place.refuse("more cutoffs than unscheduled levels", allowed);
        }
        Ok(Self::new(&sizes))
    }
}

impl Resolved for Cutoffs {
    fn resolved(&self) -> Value {
        json!(self.sizes())
    }
}

impl Configuration for Config {
    /// Refuses cutoffs for another number of levels.
    fn finish(&mut self, layers: Layers<'_, '_>) -> Result<()> {
        let (Some(cutoffs), Some(levels)) = (self.cutoffs, self.unscheduled_levels) else {
            return Ok(());
        };
        match last(layers, &["cutoffs"]) {
            Some(place) if cutoffs.levels() != levels => place.refuse(
                format!(
                    "separates {} levels, but `unscheduled_levels` is {levels}",
                    cutoffs.levels()
                ),
                "one size fewer than `unscheduled_levels`, or either key alone",
            ),
            _ => Ok(()),
        }
    }
}
