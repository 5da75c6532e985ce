//! Outgoing interface of an endpoint: hop 0 of every path that starts here.

use super::super::{Config, Flags, HopAnswer, PortDriver, Reading, Request};
use super::Options;
use duetime_core::{Rate, Span, Time};

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

/// Allocator of a port, with a model of its link.
#[derive(Debug)]
pub(super) struct Interface {
    port: PortDriver,
    config: Config,
    rate: Rate,
    batch: Span,
    catch_up: Span,
    /// Time at which the link has sent everything passed to it.
    free: Time,
    /// End of the current batch.
    until: Time,
    departed_bytes: u64,
    /// Granted bytes that flows have not sent in time: the queue, which waits in the senders.
    pub overdue: u64,
}

impl Interface {
    pub fn new(options: &Options) -> Self {
        Self {
            port: PortDriver::new(&options.config, options.uplink, Span::ZERO),
            config: options.config,
            rate: options.uplink,
            batch: options.batch,
            catch_up: options.catch_up,
            free: Time::ZERO,
            until: Time::ZERO,
            departed_bytes: 0,
            overdue: 0,
        }
    }

    /// Returns true if a datagram may be sent now.
    pub fn is_free(&mut self, now: Time) -> bool {
        if self.free <= now {
            let late = Time::from_ps(now.as_ps().saturating_sub(self.catch_up.as_ps()));
            self.free = self.free.max(late);
            self.until = now + self.batch + Span::from_ps(1);
        }
        self.free < self.until
    }

    /// Returns the time at which the next datagram may be sent.
    pub fn next_free(&self) -> Time {
        if self.free < self.until {
            Time::ZERO
        } else {
            self.free
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
        self.free += self.rate.transmit(bytes);
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
