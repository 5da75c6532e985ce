//! Binding of an endpoint to its host, its peer and its timer.

use crate::engine::context::Context;
use crate::packet::NONE;
use duetime_core::Time;

/// Links an endpoint to its host and to the peer endpoint.
#[derive(Clone, Copy, Debug)]
#[repr(C)] // shares a cache line with the start of the sender's state
pub struct Binding {
    /// Connection hash carried by every packet.
    pub hash: u32,
    /// Index of the peer endpoint in its partition, or [`NONE`] while unknown.
    pub peer: u32,
    /// Due time of the pending timer event, or [`Time::MAX`] if none is pending.
    pub timer_due: Time,
    /// Host of this endpoint.
    pub host: u32,
    /// Host of the peer endpoint.
    pub remote: u32,
    /// Timer slot of the host.
    pub slot: u32,
    /// Strict-priority class; 0 is the highest.
    pub class: u8,
    /// True while the sender is in the host's ready queue.
    pub ready: bool,
}

impl Binding {
    /// Creates the binding of an endpoint of `host`, with timer slot `slot`, to a peer of `remote`.
    pub fn new(host: u32, slot: u32, remote: u32, hash: u32) -> Self {
        Self {
            hash,
            peer: NONE,
            timer_due: Time::MAX,
            host,
            remote,
            slot,
            class: 0,
            ready: false,
        }
    }

    /// Ensures that the timer fires at `due` or earlier, or now if that has passed. A timer is re-armed lazily: a new
    /// event is scheduled only if it must be earlier than the pending one, and a stale event does nothing.
    #[inline(always)]
    pub fn arm(&mut self, context: &mut Context, due: Time) {
        if due < self.timer_due {
            // No event may be in the past; `fires` compares with its time.
            self.timer_due = due.max(context.now());
            let at = self.timer_due;
            context.events.schedule_timer(at, self.host, self.slot);
        }
    }

    /// Returns true if the event that is due now is the pending timer event, which is then cleared.
    pub fn fires(&mut self, context: &Context) -> bool {
        let fires = self.timer_due == context.now();
        if fires {
            self.timer_due = Time::MAX;
        }
        fires
    }
}
