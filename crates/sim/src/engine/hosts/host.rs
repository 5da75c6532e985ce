//! A host: its NIC, its timer slots and its ready senders.

use crate::engine::family::Handle;
use crate::packet::{NONE, Packet};
use duetime_core::Time;
use duetime_core::random::Small;
use std::collections::VecDeque;

/// NIC state used by every packet that a host sends; small, so that it stays in the cache.
#[derive(Clone, Copy, Debug)]
pub struct Nic {
    /// Link from the host into the network.
    pub uplink: u32,
    /// True if the uplink needs no special handling, other than random loss, when it takes a packet.
    pub plain: bool,
    /// True if acknowledgements wait in the port because nothing overtakes them, which saves an event each.
    pub appends: bool,
    /// True if the NIC sends no packet at once, because a departure event is scheduled for when it is free or because
    /// NICs do not pull.
    pub wake_pending: bool,
    /// True if control packets or senders wait in [`Host`].
    pub waiting: bool,
    /// Ready sender that is served next. If senders have classes, it is the only ready one.
    pub next: Option<Handle>,
    /// Strict-priority class of `next`.
    pub next_class: u8,
    /// Upper bound of the random delay of a packet (exclusive), in picoseconds.
    pub jitter: u32,
    /// Random stream of the delays.
    pub delays: Small,
}

/// A host: what waits for its NIC, and its timers.
#[derive(Debug, Default)]
pub struct Host {
    /// Acknowledgements and other small packets that wait for the NIC, which sends them first.
    pub control: VecDeque<Packet>,
    /// Ready senders with their classes, in order of service, after [`Nic::next`].
    pub ready: VecDeque<(u8, Handle)>,
    slots: Vec<Slot>,
    free: Vec<u32>,
}

/// Owner of a timer slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// The slot is free; a late event of its former owner is ignored.
    Free,
    /// A sender.
    Sender(Handle),
    /// A receiver.
    Receiver(Handle),
    /// The host itself, which dies at `at` (see [`crate::Faults`]).
    Death { at: Time },
    /// A workload, which is woken at `at`.
    Wake { workload: u16, token: u64, at: Time },
}

/// A timer slot. Slots are numbered per host, so that the order of simultaneous timers does not depend on the number of
/// threads.
type Slot = Owner;

impl Host {
    pub fn take_slot(&mut self, owner: Owner) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.slots[slot as usize] = owner;
            return slot;
        }
        self.slots.push(owner);
        self.slots.len() as u32 - 1
    }

    pub fn free_slot(&mut self, slot: u32) {
        debug_assert_ne!(slot, NONE);
        self.slots[slot as usize] = Owner::Free;
        self.free.push(slot);
    }

    /// Returns the owner of a timer slot.
    pub fn owner(&self, slot: u32) -> Owner {
        self.slots[slot as usize]
    }

    /// Returns true if control packets or senders wait for the NIC.
    #[inline]
    pub fn has_work(&self) -> bool {
        !self.control.is_empty() || !self.ready.is_empty()
    }

    /// Removes a sender that no longer exists from the ready queue, because its index may be reused.
    #[cold]
    pub fn forget_ready(&mut self, sender: Handle) {
        self.ready.retain(|(_, other)| *other != sender);
    }

    /// Returns the sender at the head of the ready queue, or `None` if a control packet goes first.
    #[inline]
    pub fn upcoming_sender(&self) -> Option<Handle> {
        if self.control.is_empty() {
            self.ready.front().map(|&(_, sender)| sender)
        } else {
            None
        }
    }

    /// Removes and returns the next ready sender of the highest class that has one. `classed` is true if there is more
    /// than one class.
    #[inline]
    pub fn next_ready(&mut self, classed: bool) -> Option<(u8, Handle)> {
        if !classed {
            return self.ready.pop_front();
        }
        let first = self
            .ready
            .iter()
            .enumerate()
            .min_by_key(|(position, (class, _))| (*class, *position));
        first
            .map(|(position, _)| position)
            .and_then(|position| self.ready.remove(position))
    }
}
