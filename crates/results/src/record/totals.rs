//! Counts of a whole run.

use crate::digest::{Digested, Lanes};
use duetime_core::Time;
use serde::{Deserialize, Serialize};

/// Counts of a whole run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Simulated time at the end; `end_ps` in files.
    #[serde(rename = "end_ps", with = "picoseconds")]
    pub end: Time,
    /// Packet-hops: packets that crossed a link.
    pub packet_hops: u64,
    /// Events processed, except departures from ports with strict priority, whose number depends on the number of
    /// threads.
    pub events: u64,
    /// Bytes that hosts sent into the network.
    pub injected_bytes: u64,
    /// Bytes that arrived at hosts.
    pub arrived_bytes: u64,
    /// Bytes dropped or lost.
    pub dropped_bytes: u64,
    /// Bytes queued or on a link at the end.
    pub in_flight_bytes: u64,
}

impl Digested for Totals {
    fn digest(&self, lanes: &mut Lanes) {
        let &Self {
            end,
            packet_hops,
            events,
            injected_bytes,
            arrived_bytes,
            dropped_bytes,
            in_flight_bytes,
        } = self;
        for word in [
            end.as_ps(),
            packet_hops,
            events,
            injected_bytes,
            arrived_bytes,
            dropped_bytes,
            in_flight_bytes,
        ] {
            lanes.word(word);
        }
    }
}

mod picoseconds {
    use super::Time;
    use serde::{Deserialize, Deserializer, Serializer};

    #[expect(
        clippy::trivially_copy_pass_by_ref,
        reason = "serde calls it with a reference"
    )]
    pub fn serialize<S: Serializer>(time: &Time, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u64(time.as_ps())
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Time, D::Error> {
        u64::deserialize(from).map(Time::from_ps)
    }
}
