//! Rate at which an endpoint sends: its link's, in batches.

use duetime_core::{Rate, Span, Time};

/// Model of the outgoing link.
#[derive(Debug)]
pub(crate) struct Pace {
    rate: Rate,
    /// Length and transmission time of the last packet, since most have the same length.
    last: (u64, Span),
    batch: Span,
    catch_up: Span,
    /// Time at which the link has sent everything passed to it.
    free: Time,
    /// End of the current batch.
    until: Time,
}

impl Pace {
    /// `batch` is the time of sending for which datagrams may leave at once, and `catch_up` the idle time that may be
    /// made up for.
    pub fn new(rate: Rate, batch: Span, catch_up: Span) -> Self {
        Self {
            rate,
            last: (0, Span::ZERO),
            batch,
            catch_up,
            free: Time::ZERO,
            until: Time::ZERO,
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

    /// Accounts for a sent packet of `bytes`, including headers.
    pub fn depart(&mut self, bytes: u64) {
        if self.last.0 != bytes {
            self.last = (bytes, self.rate.transmit(bytes));
        }
        self.free += self.last.1;
    }
}
