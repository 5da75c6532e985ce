//! The interface that datagrams leave through: hop 0 of every path that begins here.

use super::super::{Config, Flags, HopAnswer, PortDriver, Reading, Request};
use super::Options;
use duetime_core::{Rate, Span, Time};

/// Who asks for a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asker {
    /// A flow, as any.
    Flow,
    /// Answers to a peer whose address was not proven when it got the first of them: a flow that is not counted yet.
    Proven,
    /// Answers to a peer whose address is not proven, or that ask for the last time and were never counted: they need no
    /// rate, and are not counted.
    Unproven,
}

/// A port's allocator, and the time that its link is busy.
#[derive(Debug)]
pub(super) struct Interface {
    port: PortDriver,
    config: Config,
    rate: Rate,
    batch: Span,
    catch_up: Span,
    /// When the link has sent what it was given.
    free: Time,
    /// A batch may be given to it up to here.
    until: Time,
    departed_bytes: u64,
    /// Bytes that flows were granted and have not sent in time: the queue, which waits in the senders.
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

    /// Whether a datagram may leave now.
    pub fn is_free(&mut self, now: Time) -> bool {
        if self.free <= now {
            let late = Time::from_ps(now.as_ps().saturating_sub(self.catch_up.as_ps()));
            self.free = self.free.max(late);
            self.until = now + self.batch + Span::from_ps(1);
        }
        self.free < self.until
    }

    /// When a datagram may leave next.
    pub fn next_free(&self) -> Time {
        if self.free < self.until {
            Time::ZERO
        } else {
            self.free
        }
    }

    /// A datagram comes to the interface: answers its request, if it has one.
    pub fn ask(&mut self, now: Time, flags: Flags, request: Option<&mut Request>, of: Asker) {
        if self.port.needs_sample(&self.config) {
            self.port.sample(self.overdue);
        }
        let (config, Some(request)) = (&self.config, request) else {
            return;
        };
        match of {
            Asker::Flow => {
                self.port.process(config, now, flags, request);
            }
            Asker::Proven => {
                self.port.admit(config, now, flags, request);
            }
            Asker::Unproven => request.answer(HopAnswer::default()),
        }
    }

    /// A datagram of so many bytes, headers included, leaves.
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
