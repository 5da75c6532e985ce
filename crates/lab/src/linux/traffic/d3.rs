//! Messages over D3, with [`Datagrams`] as endpoints.

use duetime_core::Span;
use nix::sys::epoll::{EpollEvent, EpollTimeout};

use super::connection::Waiting;
use super::datagrams::{Datagrams, FlowEvent};
use super::{TIMER, Traffic, is_awaited};
use crate::LabError;
use crate::linux::clock::Clock;

/// Maximum time for flows to end after a run.
const MAX_END_TIME: Span = Span::from_secs(5);

impl Traffic<'_> {
    /// Drives D3's endpoints and passes their events to the workloads.
    pub(super) fn drive_datagrams(&mut self, clock: Clock) -> Result<(), LabError> {
        loop {
            let Some(datagrams) = &mut self.datagrams else {
                return Ok(());
            };
            let events = datagrams.drive(clock, &mut self.results.lateness)?;
            if events.is_empty() {
                return Ok(());
            }
            for event in events {
                self.flow_event(event)?;
            }
        }
    }

    /// Handles an event of a D3 flow.
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

    /// Marks the socket of a host as readable.
    pub(super) fn mark_ready(&mut self, host: u32) {
        if let Some(datagrams) = &mut self.datagrams {
            datagrams.mark_ready(host);
        }
    }

    /// Abandons unfinished flows and waits until D3's routers have removed them.
    pub(super) fn end_datagrams(
        &mut self,
        clock: Clock,
        events: &mut [EpollEvent],
    ) -> Result<(), LabError> {
        let Some(datagrams) = &mut self.datagrams else {
            return Ok(());
        };
        let (at_end, idle_time) = (datagrams.uplinks(), datagrams.idle_time());
        for event in datagrams.abandon(clock.now()) {
            self.flow_event(event)?;
        }
        let last = clock.now() + MAX_END_TIME;
        let mut until = clock.now() + idle_time;
        while clock.now() < until.min(last) {
            self.drive_datagrams(clock)?;
            let Some(datagrams) = &self.datagrams else {
                break;
            };
            if datagrams.is_ending() {
                until = clock.now() + idle_time;
            }
            self.wakes
                .arm(clock, datagrams.next_timeout().min(until).min(last))?;
            let Ok(count) = self.epoll.wait(events, EpollTimeout::from(100_u8)) else {
                continue;
            };
            for event in &events[..count] {
                match Datagrams::from_token(event.data()) {
                    Some(host) => self.mark_ready(host),
                    None if event.data() == TIMER => self.wakes.acknowledge(),
                    None => {}
                }
            }
        }
        let after = self.datagrams.as_ref().map(Datagrams::uplinks);
        self.results.uplinks = after.map(|after| [at_end, after]);
        Ok(())
    }
}
