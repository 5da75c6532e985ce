//! A host: its NIC, its timer slots, and which endpoints are ready to send.

use crate::engine::endpoint::Handle;
use crate::packet::{NONE, Packet};
use duetime_core::Time;
use duetime_core::random::Small;
use std::collections::VecDeque;

/// What every packet that a host sends needs to know of its NIC; small, so that it stays in the cache.
#[derive(Clone, Copy, Debug)]
pub struct Nic {
    /// The host's link into the network.
    pub uplink: u32,
    /// The link takes packets without more ado: nothing about it is special.
    pub plain: bool,
    /// Acknowledgements wait in the port, since nothing goes before them: each saves an event.
    pub appends: bool,
    /// A departure event is due when the NIC is free.
    pub wake_pending: bool,
    /// Something waits in [`Host`].
    pub waiting: bool,
    /// The ready sender whose turn is next; where senders have classes, the only one that is ready.
    pub next: Option<Handle>,
    /// The class of `next`.
    pub next_class: u8,
    /// Its packets leave later by less than this, in picoseconds.
    pub jitter: u32,
    /// Where their delays are drawn.
    pub delays: Small,
}

/// One host: what waits for its NIC, and its timers.
#[derive(Debug, Default)]
pub struct Host {
    /// Acknowledgements and other small packets that wait for the NIC: they go first.
    pub control: VecDeque<Packet>,
    /// Senders with something to send, with their classes, in turn; after [`Nic::next`].
    pub ready: VecDeque<(u8, Handle)>,
    slots: Vec<Slot>,
    free: Vec<u32>,
}

/// Whose timer it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// Nobody's: a late event of a former owner is ignored.
    Nobody,
    /// A sender's.
    Sender(Handle),
    /// A receiver's.
    Receiver(Handle),
    /// The host's own: it dies (see [`crate::Faults`]).
    Death { at: Time },
    /// A workload's wake-up.
    Wake { workload: u16, token: u64, at: Time },
}

/// A timer slot. Slots are numbered per host, so that simultaneous timers have one order for any number of threads.
type Slot = Owner;

impl Host {
    /// Takes a timer slot.
    pub fn take_slot(&mut self, owner: Owner) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.slots[slot as usize] = owner;
            return slot;
        }
        self.slots.push(owner);
        self.slots.len() as u32 - 1
    }

    /// Gives a timer slot back.
    pub fn free_slot(&mut self, slot: u32) {
        debug_assert_ne!(slot, NONE);
        self.slots[slot as usize] = Owner::Nobody;
        self.free.push(slot);
    }

    /// Whose timer a slot is.
    pub fn owner(&self, slot: u32) -> Owner {
        self.slots[slot as usize]
    }

    /// Whether anything waits here for the NIC.
    #[inline]
    pub fn has_work(&self) -> bool {
        !self.control.is_empty() || !self.ready.is_empty()
    }

    /// Takes a sender that is no more out of the ready ones: its number will be another's.
    #[cold]
    pub fn forget_ready(&mut self, sender: Handle) {
        self.ready.retain(|(_, other)| *other != sender);
    }

    /// The sender whose turn is next, unless a control packet is first.
    #[inline]
    pub fn upcoming_sender(&self) -> Option<Handle> {
        if self.control.is_empty() {
            self.ready.front().map(|&(_, sender)| sender)
        } else {
            None
        }
    }

    /// The next ready sender of the first class that has one; `classed` if there is more than one class.
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
