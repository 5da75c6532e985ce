//! A host: its network card, its timers, and which endpoints are ready to send.

use crate::packet::{NONE, Packet};
use duetime_core::Time;
use duetime_core::random::Small;
use std::collections::VecDeque;

/// What every packet that a host sends needs to know of its network card; small, so that it stays in the cache.
#[derive(Clone, Copy, Debug)]
pub struct Nic {
    /// The host's link into the network.
    pub uplink: u32,
    /// The link takes packets without more ado: nothing about it is special.
    pub plain: bool,
    /// A departure event is due when the card is free.
    pub wake_pending: bool,
    /// Something waits in [`Host`].
    pub waiting: bool,
    /// The ready sender whose turn is next, unless senders have classes.
    pub next: Option<Sender>,
    /// Its packets leave later by less than this, in picoseconds.
    pub jitter: u32,
    /// Where their delays are drawn.
    pub delays: Small,
}

/// One host: what waits for its network card, and its timers.
#[derive(Debug, Default)]
pub struct Host {
    /// Acknowledgements and other small packets that wait for the card: they go first.
    pub control: VecDeque<Packet>,
    /// Senders with something to send, with their classes, in turn; after [`Nic::next`].
    pub ready: VecDeque<(u8, Sender)>,
    slots: Vec<Slot>,
    free: Vec<u32>,
}

/// A sender's handle in its partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sender {
    /// Index into the TCP senders.
    Tcp(u32),
    /// Index into the D3 senders.
    D3(u32),
}

/// Whose timer it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// Nobody's: a late event of a former owner is ignored.
    Nobody,
    /// A TCP sender's.
    TcpSender(u32),
    /// A TCP receiver's.
    TcpReceiver(u32),
    /// A D3 sender's.
    D3Sender(u32),
    /// A D3 receiver's.
    D3Receiver(u32),
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

    /// Whether anything waits here for the network card.
    #[inline]
    pub fn has_work(&self) -> bool {
        !self.control.is_empty() || !self.ready.is_empty()
    }

    /// Takes a sender that is no more out of the ready ones: its number will be another's.
    #[cold]
    pub fn forget_ready(&mut self, sender: Sender) {
        self.ready.retain(|(_, other)| *other != sender);
    }

    /// Reads what waits for the network card, ahead of time: the sender whose turn it is.
    #[inline]
    pub fn foreseen(&self) -> Option<Sender> {
        if self.control.is_empty() {
            self.ready.front().map(|&(_, sender)| sender)
        } else {
            None
        }
    }

    /// The next ready sender of the first class that has one; `classed` if there is more than one class.
    #[inline]
    pub fn next_ready(&mut self, classed: bool) -> Option<(u8, Sender)> {
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
