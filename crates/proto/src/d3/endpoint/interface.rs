//! Outgoing interface of an endpoint: hop 0 of every path that starts here.

use super::super::{Config, Flags, HopAnswer, PortDriver, Reading, Request};
use super::Options;
use crate::pace::Pace;
use duetime_core::{Span, Time};

/// Requester of a rate at the interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Requester {
    /// Ordinary flow.
    Flow,
    /// Replies to a peer whose address was not proven when the first of them was sent: a flow that is not counted yet.
    Proven,
    /// Replies to a peer whose address is not proven, or the last request of replies that were never counted. They need
    /// no rate and are not counted.
    Unproven,
}

/// Allocator of a port, with the pace of its link.
#[derive(Debug)]
pub(super) struct Interface {
    port: PortDriver,
    config: Config,
    pub pace: Pace,
    departed_bytes: u64,
    /// Granted bytes that flows have not sent in time: the queue, which waits in the senders.
    pub overdue: u64,
}

impl Interface {
    pub fn new(options: &Options) -> Self {
        Self {
            port: PortDriver::new(&options.config, options.uplink, Span::ZERO),
            config: options.config,
            pace: Pace::new(options.uplink, options.batch, options.catch_up),
            departed_bytes: 0,
            overdue: 0,
        }
    }

    /// Answers the request of a datagram that arrives at the interface, if any.
    pub fn answer(
        &mut self,
        now: Time,
        flags: Flags,
        request: Option<&mut Request>,
        requester: Requester,
    ) {
        if self.port.needs_sample(&self.config) {
            self.port.sample(self.overdue);
        }
        let (config, Some(request)) = (&self.config, request) else {
            return;
        };
        match requester {
            Requester::Flow => {
                self.port.process(config, now, flags, request);
            }
            Requester::Proven => {
                self.port.admit(config, now, flags, request);
            }
            Requester::Unproven => request.answer(HopAnswer::default()),
        }
    }

    /// Accounts for a sent datagram of `bytes`, including headers.
    pub fn depart(&mut self, bytes: u64) {
        self.pace.depart(bytes);
        self.departed_bytes += bytes;
    }

    pub fn next_timeout(&self) -> Time {
        self.port.next_timeout()
    }

    pub fn timeout(&mut self, now: Time) {
        let reading = Reading {
            departed_bytes: self.departed_bytes,
            queue_bytes: self.overdue,
        };
        self.port.timeout(&self.config, now, reading);
    }

    pub fn port(&self) -> &PortDriver {
        &self.port
    }
}
