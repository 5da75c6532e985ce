//! The hosts of a partition: their NICs and timer slots.
//!
//! Where a NIC pulls, acknowledgements go first, then ready senders in turn, so that windows do not pile up as packets;
//! where it is a plain queue, everything is offered at once.
//!
//! Each packet begins a short random time after it could, as on a real link, where the gap between two frames varies by
//! a few bytes (IEEE 802.3 lets a sender shift a frame's start to its lanes and make up for it at the next) and the
//! host's and the NIC's clocks are not the switch's. The delay comes out of the gap behind the packet: packets keep
//! their order, and a busy link loses nothing.

mod host;

pub use host::Owner;

use super::context::Context;
use super::endpoint::{Endpoints, Handle, Sender, SendingEnd};
use super::wire::{Link, Wire};
use crate::packet::Packet;
use crate::setup::Setup;
use duetime_core::Span;
use duetime_core::random::Purpose;
use duetime_results::FlowEventKind;
use host::{Host, Nic};

/// The hosts of a partition.
pub struct Hosts {
    nics: Vec<Nic>,
    states: Vec<Host>,
    /// NICs pull from the flows.
    pulls: bool,
    /// There is more than one strict-priority class.
    classed: bool,
}

impl Hosts {
    /// Hosts with nothing to send.
    pub fn new(setup: &Setup, wire: &Wire) -> Self {
        let uplinks = setup.network.uplink.iter().zip(0..);
        let nics = uplinks.map(|(&uplink, host)| Nic {
            jitter: setup.send_jitter(uplink),
            delays: setup.streams.small(host, Purpose::Send),
            uplink,
            plain: Link::of(wire.port(uplink)).special & !Link::LOSSY == 0,
            appends: Link::of(wire.port(uplink)).special & Link::QUEUES == 0,
            wake_pending: false,
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

    /// Gives a timer slot back.
    pub fn free_slot(&mut self, host: u32, slot: u32) {
        self.states[host as usize].free_slot(slot);
    }

    /// Whose timer a slot is.
    pub fn owner(&self, host: u32, slot: u32) -> Owner {
        self.states[host as usize].owner(slot)
    }

    /// The port of `link`, the uplink of `host` if it is one, is free.
    pub fn departure(
        &mut self,
        context: &mut Context,
        wire: &mut Wire,
        endpoints: &mut Endpoints,
        link: u32,
    ) {
        match wire.host_before(link) {
            None => wire.departure(context, link, || Span::ZERO),
            Some(host) if self.pulls => self.serve(context, wire, endpoints, host),
            Some(host) => wire.departure(context, link, || self.nics[host as usize].draw_delay()),
        }
    }

    /// A small packet of a receiver (acknowledgement, SYN-ACK, grant) leaves the host.
    #[inline(always)]
    pub fn send_control(
        &mut self,
        context: &mut Context,
        wire: &mut Wire,
        host: u32,
        packet: Packet,
    ) {
        let nic = &mut self.nics[host as usize];
        if !self.pulls {
            return nic.inject(context, wire, packet);
        }
        if nic.is_free(context, wire) {
            return nic.inject_at_once(context, wire, packet);
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

    /// A sender that is not in the ready queue may have become ready.
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
        if !self.pulls {
            return nic.flood(context, wire, end, sender);
        }
        if !nic.is_free(context, wire) {
            if end.set_ready() {
                context.observe(end.binding.hash, FlowEventKind::Ready);
                self.queue(host, end.binding.class, sender);
                self.wake(context, wire, host);
            }
            return;
        }
        // An idle NIC has an empty queue: the sender is next.
        let (packet, more) = end.pull(context, sender.index);
        if let Some(packet) = packet {
            nic.inject_at_once(context, wire, packet);
        }
        if more {
            self.queue(host, end.binding.class, sender);
            self.wake(context, wire, host);
        }
    }

    /// Puts a sender behind those that are ready.
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

    /// A sender that is in the ready queue is gone: its number may soon be another's.
    pub fn forget_ready(&mut self, host: u32, sender: Handle) {
        let nic = &mut self.nics[host as usize];
        let state = &mut self.states[host as usize];
        nic.next = nic.next.filter(|next| *next != sender);
        state.forget_ready(sender);
        nic.waiting = state.has_work();
    }

    /// The host dies: nothing waits in its NIC any more.
    pub fn forget_waiting(&mut self, context: &mut Context, host: u32) {
        let state = &mut self.states[host as usize];
        state.ready.clear();
        for packet in state.control.drain(..) {
            context.discard_extra(packet);
        }
    }

    /// The ready senders of a host.
    pub fn ready(&self, host: u32) -> impl Iterator<Item = Handle> + '_ {
        let queued = self.states[host as usize].ready.iter();
        let next = self.nics[host as usize].next.iter();
        next.chain(queued.map(|(_, sender)| sender)).copied()
    }

    /// The NIC was woken: it sends one packet if its link is free, and asks to be woken if more wait.
    fn serve(
        &mut self,
        context: &mut Context,
        wire: &mut Wire,
        endpoints: &mut Endpoints,
        host: u32,
    ) {
        let nic = &mut self.nics[host as usize];
        nic.wake_pending = false;
        if nic.is_free(context, wire) {
            let packet = match nic.next {
                // The usual case: one sender is ready and nothing else waits.
                Some(sender) if !nic.waiting => {
                    let (packet, more) = endpoints.pull(context, sender);
                    nic.next = more.then_some(sender);
                    packet
                }
                _ => self.pull(context, endpoints, host),
            };
            let Some(packet) = packet else {
                return;
            };
            self.nics[host as usize].inject_at_once(context, wire, packet);
        }
        let nic = &mut self.nics[host as usize];
        if nic.waiting || nic.next.is_some() {
            nic.wake(context, wire);
        }
    }

    #[inline(never)]
    fn wake(&mut self, context: &mut Context, wire: &Wire, host: u32) {
        let nic = &mut self.nics[host as usize];
        if !nic.wake_pending {
            nic.wake(context, wire);
        }
    }

    /// The next packet of the host: acknowledgements first, then ready senders in turn.
    #[inline(never)]
    fn pull(
        &mut self,
        context: &mut Context,
        endpoints: &mut Endpoints,
        host: u32,
    ) -> Option<Packet> {
        if self.nics[host as usize].waiting {
            let state = &mut self.states[host as usize];
            let packet = state.control.pop_front();
            self.nics[host as usize].waiting = state.has_work();
            if packet.is_some() {
                return packet;
            }
        }
        while let Some((class, sender)) = self.next_sender(host) {
            let (packet, more) = endpoints.pull(context, sender);
            if more {
                self.queue(host, class, sender);
            }
            if packet.is_some() {
                return packet;
            }
        }
        None
    }

    /// Takes the ready sender whose turn it is, with its class.
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

    /// The uplink of a host.
    #[inline(always)]
    pub(super) fn uplink(&self, host: u32) -> u32 {
        self.nics[host as usize].uplink
    }

    /// The sender whose turn it is when the NIC of `host` is free, unless a control packet is first; looked up ahead of
    /// time.
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
    /// Whether its link is free and nothing waits for it.
    #[inline(always)]
    fn is_free(&self, context: &Context, wire: &Wire) -> bool {
        !self.wake_pending && wire.port(self.uplink).is_idle(context.now())
    }

    /// Asks for an event when the link is free.
    #[inline(always)]
    fn wake(&mut self, context: &mut Context, wire: &Wire) {
        self.wake_pending = true;
        let at = wire.port(self.uplink).busy_until();
        context.events.schedule_departure(at, self.uplink);
    }

    /// How much later than it could a packet leaves the host.
    #[inline(always)]
    fn draw_delay(&mut self) -> Span {
        Span::from_ps(u64::from(self.delays.below(self.jitter)))
    }

    #[inline(never)]
    fn inject(&mut self, context: &mut Context, wire: &mut Wire, packet: Packet) {
        let delay = self.draw_delay();
        wire.inject(context, self.uplink, packet, delay);
    }

    #[inline(always)]
    fn inject_at_once(&mut self, context: &mut Context, wire: &mut Wire, packet: Packet) {
        let delay = self.draw_delay();
        wire.inject_at_once(context, self.uplink, self.plain, packet, delay);
    }

    /// A NIC that is a plain queue takes all that the sender has.
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
