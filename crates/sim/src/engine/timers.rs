//! Timers. Re-armed lazily: an endpoint remembers when its pending event is due and puts in another only if it needs
//! one earlier; a late event looks at the endpoint and finds nothing to do.

use super::Partition;
use crate::host::Owner;
use duetime_core::Time;

impl Partition {
    /// Makes sure that the timer `slot` of `host` fires at `at` or earlier, where `armed` says when it is now due.
    #[inline]
    pub(super) fn arm(&mut self, host: u32, slot: u32, at: Time, armed: Time) -> Time {
        if at >= armed {
            return armed;
        }
        self.schedule_timer(at, host, slot);
        at
    }

    pub(super) fn timer(&mut self, host: u32, slot: u32) {
        match self.hosts[host as usize].owner(slot) {
            Owner::Nobody => {}
            Owner::TcpSender(index) => self.tcp_sender_timer(index),
            Owner::TcpReceiver(index) => self.tcp_receiver_timer(index),
            Owner::D3Sender(index) => self.d3_sender_timer(index),
            Owner::D3Receiver(index) => self.d3_receiver_timer(index),
            Owner::Death { at } => {
                if at == self.now {
                    self.hosts[host as usize].free_slot(slot);
                    self.die(host);
                }
            }
            Owner::Wake {
                workload,
                token,
                at,
            } => {
                if at == self.now {
                    self.hosts[host as usize].free_slot(slot);
                    self.wake(host, workload, token);
                }
            }
        }
    }
}
