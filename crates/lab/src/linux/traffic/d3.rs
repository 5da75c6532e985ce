//! Messages over D3, whose endpoints are [`Datagrams`].

use duetime_core::Span;
use nix::sys::epoll::{EpollEvent, EpollTimeout};

use super::connection::Waiting;
use super::datagrams::{Datagrams, Happened};
use super::{TIMER, Traffic, is_waited_for};
use crate::LabError;
use crate::linux::clock::Clock;

/// How long flows may take to end after a run.
const LONGEST_END: Span = Span::from_secs(5);

impl Traffic<'_> {
    /// Lets D3's endpoints do what is due, and the workloads hear of it.
    pub(super) fn drive_datagrams(&mut self, clock: Clock) -> Result<(), LabError> {
        loop {
            let Some(datagrams) = &mut self.datagrams else {
                return Ok(());
            };
            let happened = datagrams.drive(clock, &mut self.left.lateness)?;
            if happened.is_empty() {
                return Ok(());
            }
            for happened in happened {
                self.happened(happened)?;
            }
        }
    }

    /// Something has happened to a flow of D3's.
    fn happened(&mut self, happened: Happened) -> Result<(), LabError> {
        match happened {
            Happened::Delivered(waiting, at) => self.complete(at, &waiting)?,
            Happened::Quenched(Waiting { record, message }) => {
                self.left.flows[record].quenched = true;
                self.open -= i64::from(is_waited_for(&message));
            }
            Happened::Counted {
                record,
                statistics,
                read,
            } => {
                let flow = &mut self.left.flows[record];
                let counters = statistics.counters;
                flow.retransmits = counters.retransmits;
                flow.timeouts = counters.timeouts;
                flow.requests = counters.requests;
                flow.denials = counters.denials;
                flow.delivered_bytes = read;
            }
            Happened::Failed(failure) => self.left.fail(failure),
        }
        Ok(())
    }

    /// Something has come to the socket of a host.
    pub(super) fn mark_ready(&mut self, host: u32) {
        if let Some(datagrams) = &mut self.datagrams {
            datagrams.mark_ready(host);
        }
    }

    /// Gives up the flows that have not ended, and waits until D3's routers know, or have forgotten them.
    pub(super) fn end_datagrams(
        &mut self,
        clock: Clock,
        events: &mut [EpollEvent],
    ) -> Result<(), LabError> {
        let Some(datagrams) = &mut self.datagrams else {
            return Ok(());
        };
        let (at_end, patience) = (datagrams.uplinks(), datagrams.patience());
        for happened in datagrams.abandon(clock.now()) {
            self.happened(happened)?;
        }
        let last = clock.now() + LONGEST_END;
        let mut until = clock.now() + patience;
        while clock.now() < until.min(last) {
            self.drive_datagrams(clock)?;
            let Some(datagrams) = &self.datagrams else {
                break;
            };
            if datagrams.is_ending() {
                until = clock.now() + patience;
            }
            self.wakes
                .arm(clock, datagrams.next_timeout().min(until).min(last))?;
            let Ok(count) = self.epoll.wait(events, EpollTimeout::from(100_u8)) else {
                continue;
            };
            for event in &events[..count] {
                match Datagrams::of_token(event.data()) {
                    Some(host) => self.mark_ready(host),
                    None if event.data() == TIMER => self.wakes.acknowledge(),
                    None => {}
                }
            }
        }
        let after = self.datagrams.as_ref().map(Datagrams::uplinks);
        self.left.uplinks = after.map(|after| [at_end, after]);
        Ok(())
    }
}
