//! What a run's [`Faults`](crate::Faults) do to the engine.

use super::Partition;
use super::context::Context;
use super::endpoint::is_request;
use super::hosts::Owner;
use crate::faults::{Faults, Misbehaviour};
use crate::packet::Packet;
use duetime_core::Time;
use duetime_core::random::{Purpose, Stream};
use duetime_proto::d3::{self, EncodedRate, MAX_HOPS};
use rustc_hash::FxHashMap;

/// The faults of a partition.
pub struct State {
    request_loss: f64,
    /// Per link with loss of requests.
    streams: FxHashMap<u32, Stream>,
    misbehaving: FxHashMap<u32, Misbehaviour>,
    /// What the routers hold for flows that pretend to have been granted something else.
    granted: FxHashMap<u64, [EncodedRate; MAX_HOPS]>,
}

impl State {
    /// `None` if nothing goes wrong.
    pub fn new(faults: &Faults) -> Option<Box<Self>> {
        (*faults != Faults::default()).then(|| {
            Box::new(Self {
                request_loss: faults.request_loss,
                streams: FxHashMap::default(),
                misbehaving: faults
                    .misbehaving
                    .iter()
                    .map(|of| (of.host, of.how))
                    .collect(),
                granted: FxHashMap::default(),
            })
        })
    }

    /// Whether packets must be looked at when they arrive.
    pub fn loses_requests(&self) -> bool {
        self.request_loss > 0.0
    }
}

impl Partition {
    /// Puts the deaths of this partition's hosts on their timers.
    pub(super) fn schedule_deaths(&mut self, faults: &Faults, owned: &dyn Fn(u32) -> bool) {
        for death in faults.deaths.iter().filter(|death| owned(death.host)) {
            let at = Time::ZERO + death.at;
            let slot = self.hosts.take_slot(death.host, Owner::Death { at });
            self.context.events.schedule_timer(at, death.host, slot);
        }
    }

    /// The host forgets everything.
    pub(super) fn die(&mut self, host: u32) {
        let context = &mut self.context;
        self.endpoints.forget(context, &mut self.hosts, host);
        self.hosts.forget_waiting(context, host);
        self.wire.host_dies(host, context.now());
    }
}

impl Context {
    /// Whether this packet is lost on `link` because of the request in it.
    pub(super) fn loses_request(&mut self, link: u32, packet: Packet) -> bool {
        let Some(faults) = &mut self.faults else {
            return false;
        };
        let extra = self.extras.get(packet.extra as usize);
        if !is_request(&packet, extra) {
            return false;
        }
        let streams = &self.setup.streams;
        let stream = faults
            .streams
            .entry(link)
            .or_insert_with(|| streams.stream(u64::from(link), Purpose::Fault));
        stream.chance(faults.request_loss)
    }
}

impl State {
    /// A misbehaving host's packet leaves.
    pub fn falsify_request(&mut self, host: u32, flow: u64, packet: &mut d3::Packet) {
        let (Some(how), Some(request)) = (self.misbehaving.get(&host), &mut packet.request) else {
            return;
        };
        match how {
            Misbehaviour::AsksTooMuch(times) => {
                // The same for both, so that what was asked is what is returned.
                for rate in [&mut request.desired, &mut request.previous_desired] {
                    *rate = EncodedRate(rate.0.saturating_mul(u16::from(*times)).min(255 << 8));
                }
            }
            Misbehaviour::KeepsEverything => {
                request.previous_desired = EncodedRate::ZERO;
                request.previous_allocations = Default::default();
            }
            Misbehaviour::IgnoresGrants => {
                request.previous_allocations = self.granted.get(&flow).copied().unwrap_or_default();
            }
        }
    }

    /// Feedback reaches a misbehaving host.
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
