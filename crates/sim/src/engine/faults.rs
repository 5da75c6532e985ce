//! State of a run's [`Faults`] in a partition.

use crate::faults::{Faults, Misbehaviour};
use duetime_core::random::{Purpose, Stream, Streams};
use duetime_proto::d3::{self, EncodedRate, MAX_HOPS};
use rustc_hash::FxHashMap;

/// Fault state of a partition.
pub struct State {
    request_loss: f64,
    /// Random streams of the links that drop requests.
    streams: FxHashMap<u32, Stream>,
    misbehaving: FxHashMap<u32, Misbehaviour>,
    /// Allocations granted to flows that claim different ones, by flow.
    granted: FxHashMap<u64, [EncodedRate; MAX_HOPS]>,
}

impl State {
    /// Creates the fault state, or returns `None` if the run has no faults.
    pub fn new(faults: &Faults) -> Option<Box<Self>> {
        (*faults != Faults::default()).then(|| {
            Box::new(Self {
                request_loss: faults.request_loss,
                streams: FxHashMap::default(),
                misbehaving: faults
                    .misbehaving
                    .iter()
                    .map(|host| (host.host, host.how))
                    .collect(),
                granted: FxHashMap::default(),
            })
        })
    }

    /// Returns true if arriving packets must be checked for requests to drop.
    pub fn loses_requests(&self) -> bool {
        self.request_loss > 0.0
    }

    /// Draws from the random stream of `link`. Returns true if a request is dropped there.
    pub fn loses_request(&mut self, streams: Streams, link: u32) -> bool {
        let stream = self
            .streams
            .entry(link)
            .or_insert_with(|| streams.stream(u64::from(link), Purpose::Fault));
        stream.chance(self.request_loss)
    }

    /// Falsifies the rate request in a packet that a misbehaving host sends.
    pub fn falsify_request(&mut self, host: u32, flow: u64, packet: &mut d3::Packet) {
        let (Some(how), Some(request)) = (self.misbehaving.get(&host), &mut packet.request) else {
            return;
        };
        match how {
            Misbehaviour::OverRequests(times) => {
                // Both are scaled, because a sender must return the rate that it requested before.
                for rate in [&mut request.desired, &mut request.previous_desired] {
                    *rate = EncodedRate(rate.0.saturating_mul(u16::from(*times)).min(255 << 8));
                }
            }
            Misbehaviour::NeverReturns => {
                request.previous_desired = EncodedRate::ZERO;
                request.previous_allocations = Default::default();
            }
            Misbehaviour::IgnoresGrants => {
                request.previous_allocations = self.granted.get(&flow).copied().unwrap_or_default();
            }
        }
    }

    /// Falsifies the feedback in a packet that a misbehaving host receives.
    pub fn falsify_feedback(&mut self, host: u32, flow: u64, packet: &mut d3::Packet) {
        if self.misbehaving.get(&host) != Some(&Misbehaviour::IgnoresGrants) {
            return;
        }
        if let Some(request) = packet
            .request
            .as_mut()
            .filter(|_| packet.flags.contains(d3::Flags::FEEDBACK))
        {
            self.granted.insert(flow, request.feedback);
            request.feedback = [EncodedRate::from_byte(u8::MAX); MAX_HOPS];
        }
    }
}
