//! Senders and receivers at their hosts.

use super::{Binding, Sender};
use crate::engine::context::Context;
use crate::packet::Packet;
use duetime_core::Time;

/// A sender at its host. For TCP, the state that every acknowledgement touches fills the first cache line and the first
/// three of the state machine.
#[repr(C, align(64))]
pub struct SendingEnd<S> {
    pub binding: Binding,
    pub machine: S,
    /// True if the sender serves a persistent connection, so that later messages find it in
    /// [`Table::connections`](super::Table::connections).
    pub is_shared: bool,
}

impl<S: Sender> SendingEnd<S> {
    /// Pulls a packet for the NIC. Returns the packet and true if the sender has more.
    #[inline(always)]
    pub fn pull(&mut self, context: &mut Context, index: u32) -> (Option<Packet>, bool) {
        let packet = self
            .machine
            .poll_transmit(&mut self.binding, context, index);
        if packet.is_none() {
            self.binding.ready = false;
            return (None, false);
        }
        let more = self.machine.can_transmit();
        self.binding.ready = more;
        self.binding.arm(context, self.machine.next_timeout());
        (packet, more)
    }

    /// Updates the ready flag and returns true if the sender can transmit and belongs in the ready queue.
    #[inline(never)]
    pub fn set_ready(&mut self) -> bool {
        self.binding.ready = self.machine.can_transmit();
        self.binding.ready
    }
}

/// A receiver at its host.
#[repr(C)]
pub struct ReceivingEnd<R> {
    pub binding: Binding,
    /// Time at which the state of a closed receiver is removed, or [`Time::MAX`].
    pub forget_at: Time,
    pub machine: R,
    /// Key of the messages that it receives; see [`Receiver::key`].
    pub key: u64,
    /// True while packets that open a connection with this key are delivered to this receiver.
    pub is_known: bool,
}
