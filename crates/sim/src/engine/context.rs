//! What every part of a partition may use.

use super::endpoint::Extra;
use super::events::Events;
use super::faults;
use super::recorder::Recorder;
use crate::packet::{NONE, Packet};
use crate::setup::Setup;
use duetime_core::Time;
use duetime_results::FlowEventKind;
use slab::Slab;
use std::sync::Arc;

/// What every part of a partition may use: the run's set-up, the clock with the pending events, the recorder, and what
/// packets carry beyond their fixed fields.
pub struct Context {
    /// The read-only part of the run.
    pub setup: Arc<Setup>,
    /// Bytes added to each packet on the wire.
    pub frame_overhead: u16,
    /// The clock and what is due.
    pub events: Events,
    /// What is written down.
    pub recorder: Recorder,
    /// By [`Packet::extra`].
    pub extras: Slab<Extra>,
    /// What goes wrong on purpose.
    pub faults: Option<Box<faults::State>>,
}

impl Context {
    /// The simulated time.
    #[inline(always)]
    pub fn now(&self) -> Time {
        self.events.now
    }

    /// Records an event of the connection whose packets carry `hash`, if it is watched.
    #[inline]
    pub fn observe(&mut self, hash: u32, what: FlowEventKind) {
        self.recorder.observe(self.events.now, hash, what);
    }

    /// The packet goes no further: what it carries beyond its fixed fields is gone.
    #[inline]
    pub fn discard_extra(&mut self, packet: Packet) {
        if packet.extra != NONE {
            self.extras.remove(packet.extra as usize);
        }
    }
}
