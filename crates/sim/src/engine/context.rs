//! State shared by all parts of a partition.

use super::events::Events;
use super::extras::{Extras, Stored};
use super::faults;
use super::recorder::Recorder;
use crate::packet::{NONE, Packet};
use crate::setup::Setup;
use duetime_core::{Span, Time};
use duetime_results::FlowEventKind;
use std::sync::Arc;

/// State shared by all parts of a partition: the run's setup, the clock with the pending events, the recorder, and the
/// protocol-specific contents of packets.
pub struct Context {
    /// Read-only setup of the run.
    pub setup: Arc<Setup>,
    /// Bytes added to each packet on the wire.
    pub frame_overhead: u16,
    /// Clock and pending events.
    pub events: Events,
    /// Records, samples and traces.
    pub recorder: Recorder,
    /// Protocol-specific packet contents, indexed by [`Packet::extra`].
    pub extras: Extras,
    /// State of injected faults, or `None` if the run has none.
    pub faults: Option<Box<faults::State>>,
}

impl Context {
    /// Returns the simulated time.
    #[inline(always)]
    pub fn now(&self) -> Time {
        self.events.now
    }

    /// Records an event of the connection whose packets carry `hash`, if the connection is watched.
    #[inline]
    pub fn observe(&mut self, hash: u32, kind: FlowEventKind) {
        self.recorder.observe(self.events.now, hash, kind);
    }

    /// Stores the protocol-specific contents of a packet. Returns their index for [`Packet::extra`].
    #[inline]
    pub fn attach<C: Stored>(&mut self, extra: C) -> u32 {
        C::slab_mut(&mut self.extras).insert(extra) as u32
    }

    /// Removes and returns the protocol-specific contents of a packet of the family, or `None` if it has none.
    #[inline]
    pub fn take<C: Stored>(&mut self, packet: &Packet) -> Option<C> {
        (packet.extra != NONE).then(|| self.take_at(packet.extra))
    }

    /// Removes and returns the protocol-specific contents with index `extra`, which must exist.
    #[inline]
    pub fn take_at<C: Stored>(&mut self, extra: u32) -> C {
        C::slab_mut(&mut self.extras).remove(extra as usize)
    }

    /// Frees the protocol-specific contents of a packet that goes no further.
    #[inline]
    pub fn discard_extra(&mut self, packet: Packet) {
        if packet.extra != NONE {
            self.extras.discard(&packet);
        }
    }

    /// Returns true if an injected fault drops the packet on `link`, because the packet carries a request.
    pub fn loses_request(&mut self, link: u32, packet: Packet) -> bool {
        let Some(faults) = &mut self.faults else {
            return false;
        };
        self.extras.is_request(&packet) && faults.loses_request(self.setup.streams, link)
    }
    /// Handles the offer of a packet to the port of `link`, which may mark it. A host's packet leaves later by
    /// `delayed`.
    #[cold]
    pub fn observe_offer(&mut self, link: u32, packet: Packet, marked: bool, delayed: Span) {
        let network = &self.setup.network;
        let now = self.events.now;
        self.recorder
            .observe_offer(network, now, (link, packet), marked, delayed);
    }

    /// Handles the departure of a packet that has waited at the port of `link` and leaves later by `delayed`.
    #[cold]
    pub fn observe_delay(&mut self, link: u32, packet: &Packet, delayed: Span) {
        self.recorder.observe_delay(link, packet, delayed);
    }

    /// Records that the port of `link` drops a packet that was offered to it.
    #[cold]
    pub fn observe_drop(&mut self, link: u32, packet: &Packet) {
        self.recorder.observe_drop(self.events.now, link, packet);
    }

    /// Records that a packet crossed `link` and reaches its far end at `arrival`, one latency after its departure, or
    /// that it was lost on the link.
    #[cold]
    pub fn observe_crossing(&mut self, link: u32, packet: Packet, arrival: Time, lost: bool) {
        let (setup, extras) = (&self.setup, &self.extras);
        let now = self.events.now;
        self.recorder
            .observe_crossing(now, setup, extras, (link, packet), (arrival, lost));
    }

    /// Records that the transport of `host` receives a packet that the host has held for `held`.
    pub fn observe_reception(&mut self, host: u32, packet: Packet, held: Span) {
        let (setup, extras) = (&self.setup, &self.extras);
        let now = self.events.now;
        self.recorder
            .observe_reception(now, setup, extras, (host, packet), held);
    }
}
