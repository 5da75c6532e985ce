//! Hosts of a partition: their NICs and timer slots.
//!
//! A pulling NIC sends acknowledgements first, then serves the ready senders in turn, so that a window does not pile up
//! as queued packets. A NIC that is a plain queue accepts everything at once.
//!
//! Each packet starts a short random time late, as on a real link: the gap between two frames varies by a few bytes
//! (IEEE 802.3 lets a sender align a frame's start to its lanes and compensate at the next frame), and the clocks of
//! host, NIC and switch differ. The delay is taken from the gap behind the packet, so packets stay in order and a busy
//! link loses no capacity.

mod host;

pub use host::Owner;

use super::context::Context;
use super::endpoint::{Sender, SendingEnd};
use super::endpoints::Endpoints;
use super::family::Handle;
use super::wire::{Link, Wire};
use crate::packet::Packet;
use crate::setup::Setup;
use duetime_core::Span;
use duetime_core::prefetch::prefetch;
use duetime_core::random::Purpose;
use duetime_results::FlowEventKind;
use host::{Host, Nic};

/// Hosts of a partition.
pub struct Hosts {
    nics: Vec<Nic>,
    states: Vec<Host>,
    /// True if NICs pull from the flows.
    pulls: bool,
    /// True if there is more than one strict-priority class.
    classed: bool,
}

impl Hosts {
    /// Creates hosts that have nothing to send.
    pub fn new(setup: &Setup, wire: &Wire) -> Self {
        let uplinks = setup.network.uplink.iter().zip(0..);
        let nics = uplinks.map(|(&uplink, host)| Nic {
            jitter: setup.send_jitter(uplink),
            delays: setup.streams.small(host, Purpose::Send),
            uplink,
            plain: Link::of(wire.port(uplink)).special & !Link::LOSSY == 0,
            appends: Link::of(wire.port(uplink)).special & Link::QUEUES == 0,
            wake_pending: !setup.nic_pulls,
            waiting: false,
            next: None,
            next_class: 0,
        });
        Self {
            nics: nics.collect(),
            states: setup
                .network
                .uplink
                .iter()
                .map(|_| Host::default())
                .collect(),
            pulls: setup.nic_pulls,
            classed: setup.classes > 1,
        }
    }

    /// Takes a timer slot of `host`.
    pub fn take_slot(&mut self, host: u32, owner: Owner) -> u32 {
        self.states[host as usize].take_slot(owner)
    }

    /// Frees a timer slot of `host`.
    pub fn free_slot(&mut self, host: u32, slot: u32) {
        self.states[host as usize].free_slot(slot);
    }

    /// Returns the owner of a timer slot.
    pub fn owner(&self, host: u32, slot: u32) -> Owner {
        self.states[host as usize].owner(slot)
    }

    /// Handles a departure event of `link`: its port is free. If the link is a host's uplink and NICs pull, the NIC
    /// sends its next packet.
    #[inline(always)]
    pub fn departure<const ALONE: bool>(
        &mut self,
        context: &mut Context,
        wire: &mut Wire,
        endpoints: &mut Endpoints,
        link: u32,
    ) {
        match wire.host_before(link) {
            Some(host) if self.pulls => self.serve::<ALONE>(context, wire, endpoints, host),
            None => wire.departure(context, link, || Span::ZERO),
            Some(host) => wire.departure(context, link, || self.nics[host as usize].draw_delay()),
        }
    }

    /// Sends a small packet of a receiver (acknowledgement, SYN-ACK, grant).
    #[inline(always)]
    pub fn send_control(
        &mut self,
        context: &mut Context,
        wire: &mut Wire,
        host: u32,
        packet: Packet,
    ) {
        let nic = &mut self.nics[host as usize];
        let uplink = nic.uplink;
        if nic.is_free(context, wire) {
            return nic.inject_at_once(context, wire, uplink, packet);
        }
        if !self.pulls {
            return nic.inject(context, wire, packet);
        }
        if context.recorder.is_observing() {
            let seq = u64::from(packet.seq);
            context.observe(packet.flow, FlowEventKind::ReplyQueued { seq });
        }
        if nic.appends {
            return nic.inject(context, wire, packet);
        }
        nic.waiting = true;
        self.states[host as usize].control.push_back(packet);
        self.wake(context, wire, host);
    }

    /// Offers a sender that is not in the ready queue and may have become ready. An idle NIC sends its packet at once.
    #[inline(always)]
    pub fn offer<S: Sender>(
        &mut self,
        context: &mut Context,
        wire: &mut Wire,
        end: &mut SendingEnd<S>,
        sender: Handle,
    ) {
        let host = end.binding.host;
        let nic = &mut self.nics[host as usize];
        let uplink = nic.uplink;
        if !nic.is_free(context, wire) {
            if !self.pulls {
                nic.flood(context, wire, end, sender);
            } else if end.set_ready() {
                context.observe(end.binding.hash, FlowEventKind::Ready);
                self.queue(host, end.binding.class, sender);
                self.wake(context, wire, host);
            }
            return;
        }
        // An idle NIC has an empty queue: the sender is next.
        let (packet, more) = end.pull(context, sender.index);
        if let Some(packet) = packet {
            nic.inject_at_once(context, wire, uplink, packet);
        }
        if more {
            self.queue(host, end.binding.class, sender);
            self.wake(context, wire, host);
        }
    }

    /// Appends a sender to the ready queue.
    #[inline(never)]
    fn queue(&mut self, host: u32, class: u8, sender: Handle) {
        let nic = &mut self.nics[host as usize];
        let state = &mut self.states[host as usize];
        if nic.next.is_none() && (!nic.waiting || state.ready.is_empty()) {
            (nic.next, nic.next_class) = (Some(sender), class);
            return;
        }
        nic.waiting = true;
        if self.classed
            && let Some(first) = nic.next.take()
        {
            state.ready.push_back((nic.next_class, first));
        }
        state.ready.push_back((class, sender));
    }

    /// Removes a sender that no longer exists from the ready queue, because its index may be reused.
    pub fn forget_ready(&mut self, host: u32, sender: Handle) {
        let nic = &mut self.nics[host as usize];
        let state = &mut self.states[host as usize];
        nic.next = nic.next.filter(|next| *next != sender);
        state.forget_ready(sender);
        nic.waiting = state.has_work();
    }

    /// Discards everything that waits in the NIC of a dying host.
    pub fn forget_waiting(&mut self, context: &mut Context, host: u32) {
        let state = &mut self.states[host as usize];
        state.ready.clear();
        for packet in state.control.drain(..) {
            context.discard_extra(packet);
        }
    }

    /// Returns the ready senders of a host.
    pub fn ready(&self, host: u32) -> impl Iterator<Item = Handle> + '_ {
        let queued = self.states[host as usize].ready.iter();
        let next = self.nics[host as usize].next.iter();
        next.chain(queued.map(|(_, sender)| sender)).copied()
    }

    /// Handles a wake-up of the NIC: sends one packet if the link is free, and schedules another wake-up if more wait.
    #[inline(always)]
    fn serve<const ALONE: bool>(
        &mut self,
        context: &mut Context,
        wire: &mut Wire,
        endpoints: &mut Endpoints,
        host: u32,
    ) {
        let nic = &mut self.nics[host as usize];
        nic.wake_pending = false;
        if nic.is_free(context, wire) {
            let sent = match nic.next {
                // The usual case: one sender is ready and nothing else waits.
                Some(sender) if !nic.waiting => {
                    let (sent, more) = endpoints.pull(context, sender, |context, packet| {
                        nic.inject_at_once(context, wire, nic.uplink, packet);
                    });
                    nic.next = more.then_some(sender);
                    sent
                }
                _ => self.send_waiting(context, wire, endpoints, host),
            };
            if !sent {
                return;
            }
        }
        let nic = &mut self.nics[host as usize];
        if nic.waiting || nic.next.is_some() {
            nic.wake::<ALONE>(context, wire);
        }
    }

    #[inline(never)]
    fn wake(&mut self, context: &mut Context, wire: &Wire, host: u32) {
        let nic = &mut self.nics[host as usize];
        if !nic.wake_pending {
            nic.wake::<false>(context, wire);
        }
    }

    /// Sends the next packet of the host: acknowledgements first, then ready senders in turn. Returns false if there is
    /// none.
    #[inline(never)]
    fn send_waiting(
        &mut self,
        context: &mut Context,
        wire: &mut Wire,
        endpoints: &mut Endpoints,
        host: u32,
    ) -> bool {
        let nic = &mut self.nics[host as usize];
        if nic.waiting {
            let state = &mut self.states[host as usize];
            let packet = state.control.pop_front();
            nic.waiting = state.has_work();
            if let Some(packet) = packet {
                nic.inject_at_once(context, wire, nic.uplink, packet);
                return true;
            }
        }
        while let Some((class, sender)) = self.next_sender(host) {
            let nic = &mut self.nics[host as usize];
            let (sent, more) = endpoints.pull(context, sender, |context, packet| {
                nic.inject_at_once(context, wire, nic.uplink, packet);
            });
            if more {
                self.queue(host, class, sender);
            }
            if sent {
                return true;
            }
        }
        false
    }

    /// Removes and returns the next ready sender with its class.
    #[inline]
    fn next_sender(&mut self, host: u32) -> Option<(u8, Handle)> {
        let nic = &mut self.nics[host as usize];
        if let Some(sender) = nic.next.take() {
            return Some((nic.next_class, sender));
        }
        if !nic.waiting {
            return None;
        }
        let state = &mut self.states[host as usize];
        let next = state.next_ready(self.classed);
        nic.waiting = state.has_work();
        next
    }

    /// Returns the uplink of a host.
    #[inline(always)]
    pub(super) fn uplink(&self, host: u32) -> u32 {
        self.nics[host as usize].uplink
    }

    /// Prefetches the NIC of `host`.
    #[inline(always)]
    pub(super) fn prefetch_nic(&self, host: u32) {
        prefetch(&self.nics[host as usize]);
    }

    /// Returns the sender that the NIC of `host` would serve next, or `None` if a control packet goes first. Used for
    /// prefetching.
    #[inline(always)]
    pub(super) fn upcoming_sender(&self, host: u32) -> Option<Handle> {
        let nic = &self.nics[host as usize];
        if nic.waiting {
            self.states[host as usize].upcoming_sender()
        } else {
            nic.next
        }
    }
}

impl Nic {
    /// Returns true if the link is free and nothing waits for it.
    #[inline(always)]
    fn is_free(&self, context: &Context, wire: &Wire) -> bool {
        !self.wake_pending && wire.port(self.uplink).is_idle(context.now())
    }

    /// Schedules an event for when the link is free.
    #[inline(always)]
    fn wake<const ALONE: bool>(&mut self, context: &mut Context, wire: &Wire) {
        self.wake_pending = true;
        let at = wire.port(self.uplink).busy_until();
        context.events.schedule_departure::<ALONE>(at, self.uplink);
    }

    /// Draws the random delay of a packet at the host (`send_jitter`).
    #[inline(always)]
    fn draw_delay(&mut self) -> Span {
        Span::from_ps(u64::from(self.delays.below(self.jitter)))
    }

    #[inline(never)]
    fn inject(&mut self, context: &mut Context, wire: &mut Wire, packet: Packet) {
        let delay = self.draw_delay();
        wire.inject(context, self.uplink, packet, delay);
    }

    /// Sends a packet on a free uplink. `link` is [`Nic::uplink`], which the caller has read already.
    #[inline(always)]
    fn inject_at_once(
        &mut self,
        context: &mut Context,
        wire: &mut Wire,
        link: u32,
        packet: Packet,
    ) {
        let delay = self.draw_delay();
        wire.inject_at_once(context, link, self.plain, packet, delay);
    }

    /// Moves all that the sender can transmit into the plain queue.
    #[inline(never)]
    fn flood<S: Sender>(
        &mut self,
        context: &mut Context,
        wire: &mut Wire,
        end: &mut SendingEnd<S>,
        sender: Handle,
    ) {
        loop {
            let (packet, more) = end.pull(context, sender.index);
            if let Some(packet) = packet {
                self.inject(context, wire, packet);
            }
            if !more {
                return;
            }
        }
    }
}
