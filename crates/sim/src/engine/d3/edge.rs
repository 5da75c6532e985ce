//! Edge allocation: runs the downlink allocator of `proto::d3` in the host behind a link.

use super::contents::Extra;
use super::port::{Answers, report, router_options};
use crate::engine::context::Context;
use crate::output::AllocatorState;
use crate::packet::Packet;
use crate::setup::Setup;
use duetime_core::random::Purpose;
use duetime_core::{Span, Time};
use duetime_link::Frame;
use duetime_proto::d3::{Answer, Config, Downlink};

/// Allocator of a link at the host behind it, with the simulator's measurements.
pub struct EdgeState {
    downlink: Downlink,
    answers: Answers,
}

impl EdgeState {
    /// Creates the idle state of `link`.
    fn new(setup: &Setup, config: &Config, link: u32) -> Self {
        let rate = setup.network.links[link as usize].rate;
        let phase = setup.streams.key(u64::from(link), Purpose::Phase);
        Self {
            downlink: Downlink::new(config, rate, Span::from_ps(phase)),
            answers: Answers::default(),
        }
    }

    /// Answers the rate request, if any, of a packet that arrived over `link`. The first request creates the state.
    pub fn arrival(
        state: &mut Option<Box<Self>>,
        context: &mut Context,
        link: u32,
        packet: &Packet,
    ) {
        let now = context.now();
        let setup = &*context.setup;
        let config = router_options(setup);
        let extra = context.extras.peek_mut::<Extra>(packet);
        let inner = extra.map(|extra| &mut extra.packet);
        let flags = inner.as_ref().map(|inner| inner.flags).unwrap_or_default();
        let request = inner.and_then(|inner| inner.request.as_mut());
        if state.is_none() && request.is_none() {
            return;
        }
        let state = state.get_or_insert_with(|| Box::new(Self::new(setup, config, link)));
        let starts = state.downlink.next_timeout() == Time::MAX;
        let bytes = u64::from(packet.wire_bytes());
        let answer = state.downlink.arrive(config, now, bytes, flags, request);
        let due = state.downlink.next_timeout();
        if starts && due != Time::MAX {
            context.events.schedule_program_at_host(due, link);
        }
        if let Answer::Edge(outcome) = answer {
            let base = state.downlink.port().allocator().base();
            state.answers.note(context, link, packet, outcome, base);
        }
    }

    /// Adapts the capacity of `link`.
    pub fn tick(&mut self, context: &mut Context, link: u32) {
        let now = context.now();
        let config = router_options(&context.setup);
        self.downlink.timeout(config, now);
        let due = self.downlink.next_timeout();
        if due != Time::MAX {
            context.events.schedule_program_at_host(due, link);
        }
    }

    /// Returns the state of the allocator of `link`.
    pub fn report(&self, link: String) -> AllocatorState {
        report(self.downlink.port().allocator(), link)
    }
}
