//! Messages over D3 and `due`.

use duetime_core::Span;
use nix::sys::epoll::{EpollEvent, EpollTimeout};

use super::connection::Waiting;
use super::datagrams::{Carrier, FlowEvent};
use super::flows::Flows;
use super::{TIMER, Traffic, is_awaited};
use crate::LabError;
use crate::linux::clock::Clock;

/// Maximum time for flows to end after a run.
const MAX_END_TIME: Span = Span::from_secs(5);

impl Traffic<'_> {
    /// Drives the endpoints of D3 and `due` and passes their events to the workloads.
    pub(super) fn drive_datagrams(&mut self, clock: Clock) -> Result<(), LabError> {
        loop {
            let mut events = Vec::new();
            let lateness = &mut self.results.lateness;
            if let Some(flows) = &mut self.flows {
                events.extend(flows.drive(clock, lateness)?);
            }
            if let Some(messages) = &mut self.messages {
                events.extend(messages.drive(clock, lateness)?);
            }
            if events.is_empty() {
                return Ok(());
            }
            for event in events {
                self.flow_event(event)?;
            }
        }
    }

    /// Handles an event of a message.
    fn flow_event(&mut self, event: FlowEvent) -> Result<(), LabError> {
        match event {
            FlowEvent::Delivered(waiting, at) => self.complete(at, &waiting)?,
            FlowEvent::Quenched(Waiting { record, message }) => {
                self.results.flows[record].quenched = true;
                self.open -= i64::from(is_awaited(&message));
            }
            FlowEvent::Counted {
                record,
                statistics,
                read,
            } => {
                let flow = &mut self.results.flows[record];
                let counters = statistics.counters;
                flow.retransmits = counters.retransmits;
                flow.timeouts = counters.timeouts;
                flow.requests = counters.requests;
                flow.denials = counters.denials;
                flow.delivered_bytes = read;
            }
            FlowEvent::Failed(failure) => self.results.fail(failure),
        }
        Ok(())
    }

    /// Abandons unfinished flows and waits until D3's routers have removed them.
    pub(super) fn end_flows(
        &mut self,
        clock: Clock,
        events: &mut [EpollEvent],
    ) -> Result<(), LabError> {
        let Some(flows) = &mut self.flows else {
            return Ok(());
        };
        let (at_end, idle_time) = (flows.uplinks(), flows.idle_time());
        for event in flows.abandon(clock.now()) {
            self.flow_event(event)?;
        }
        let last = clock.now() + MAX_END_TIME;
        let mut until = clock.now() + idle_time;
        while clock.now() < until.min(last) {
            self.drive_datagrams(clock)?;
            let Some(flows) = &mut self.flows else {
                break;
            };
            if flows.is_ending() {
                until = clock.now() + idle_time;
            }
            self.wakes
                .arm(clock, flows.datagrams().next_timeout().min(until).min(last))?;
            let Ok(count) = self.epoll.wait(events, EpollTimeout::from(100_u8)) else {
                continue;
            };
            for event in &events[..count] {
                if event.data() == TIMER {
                    self.wakes.acknowledge();
                } else {
                    self.mark_ready(event.data());
                }
            }
        }
        let after = self.flows.as_ref().map(Flows::uplinks);
        self.results.uplinks = after.map(|after| [at_end, after]);
        Ok(())
    }
}
