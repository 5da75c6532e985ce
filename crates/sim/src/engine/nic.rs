//! The host's network card. Where it pulls, acknowledgements go first, then ready senders in turn, so that windows
//! do not pile up as packets; where it is a plain queue, everything is offered at once.
//!
//! Each packet begins a short random time after it could, as on a real link, where the gap between two frames varies by
//! a few bytes (IEEE 802.3 lets a sender shift a frame's start to its lanes and make up for it at the next) and the
//! host's and the NIC's clocks are not the switch's. The delay comes out of the gap behind the packet: packets keep
//! their order, and a busy link loses nothing.

use super::Partition;
use crate::host::{Nic, Sender};
use crate::packet::Packet;
use duetime_core::Span;
use duetime_link::Frame;

impl Partition {
    /// A small packet (acknowledgement, SYN-ACK) leaves the host.
    #[inline(always)]
    pub(super) fn send_control(&mut self, host: u32, packet: Packet) {
        let nic = self.nics[host as usize];
        let Nic {
            uplink,
            wake_pending,
            ..
        } = nic;
        if !self.nic_pulls {
            return self.inject(host, uplink, packet);
        }
        if !wake_pending && self.ports[uplink as usize].is_idle(self.now) {
            return self.inject_at_once(host, nic, packet);
        }
        self.hosts[host as usize].control.push_back(packet);
        self.nics[host as usize].waiting = true;
        self.wake_nic(host);
    }

    /// A sender that is not in the ready queue may have become ready.
    #[inline(always)]
    pub(super) fn offer_sender(&mut self, host: u32, class: u8, sender: Sender) {
        let nic = self.nics[host as usize];
        let Nic {
            uplink,
            wake_pending,
            ..
        } = nic;
        if !self.nic_pulls {
            return self.flood(host, uplink, sender);
        }
        if wake_pending || !self.ports[uplink as usize].is_idle(self.now) {
            if self.set_ready(sender) {
                self.queue_sender(host, class, sender);
                self.wake_nic(host);
            }
            return;
        }
        // An idle card has an empty queue: the sender is next.
        let (packet, more) = self.pull_from(sender);
        if let Some(packet) = packet {
            self.inject_at_once(host, nic, packet);
        }
        if more {
            self.queue_sender(host, class, sender);
            self.wake_nic(host);
        }
    }

    /// A card that is a plain queue takes all that the sender has.
    #[inline(never)]
    fn flood(&mut self, host: u32, uplink: u32, sender: Sender) {
        loop {
            let (packet, more) = self.pull_from_queued(sender);
            if let Some(packet) = packet {
                self.inject(host, uplink, packet);
            }
            if !more {
                return;
            }
        }
    }

    /// Puts a sender behind those that are ready.
    #[inline(never)]
    fn queue_sender(&mut self, host: u32, class: u8, sender: Sender) {
        let nic = &mut self.nics[host as usize];
        if nic.next.is_none() && !nic.waiting && self.setup.classes == 1 {
            nic.next = Some(sender);
            return;
        }
        let state = &mut self.hosts[host as usize];
        if nic.next.is_none() && state.ready.is_empty() && self.setup.classes == 1 {
            nic.next = Some(sender);
            return;
        }
        nic.waiting = true;
        state.ready.push_back((class, sender));
    }

    /// A sender that is in the ready queue is gone: its number may soon be another's.
    pub(super) fn forget_ready(&mut self, host: u32, sender: Sender) {
        let (nic, state) = (
            &mut self.nics[host as usize],
            &mut self.hosts[host as usize],
        );
        nic.next = nic.next.filter(|next| *next != sender);
        state.forget_ready(sender);
        nic.waiting = state.has_work();
    }

    /// Whether the sender can transmit and so belongs into the ready queue; notes that it is there.
    #[inline(never)]
    fn set_ready(&mut self, sender: Sender) -> bool {
        match sender {
            Sender::Tcp(index) => self.set_tcp_ready(index),
            Sender::D3(index) => self.set_d3_ready(index),
        }
    }

    /// The card sends one packet if its link is free, and asks to be woken if more wait.
    pub(super) fn serve_nic(&mut self, host: u32) {
        let uplink = self.nics[host as usize].uplink;
        if self.ports[uplink as usize].is_idle(self.now) {
            let Some(packet) = self.pull(host) else {
                return;
            };
            self.inject_at_once(host, self.nics[host as usize], packet);
        }
        let nic = &self.nics[host as usize];
        if nic.waiting || nic.next.is_some() {
            self.wake_nic(host);
        }
    }

    #[inline(never)]
    fn wake_nic(&mut self, host: u32) {
        let nic = &mut self.nics[host as usize];
        if !nic.wake_pending {
            nic.wake_pending = true;
            let uplink = nic.uplink;
            let at = self.ports[uplink as usize].busy_until();
            self.schedule_departure(at, uplink);
        }
    }

    /// The next packet of the host: acknowledgements first, then ready senders in turn.
    #[inline]
    fn pull(&mut self, host: u32) -> Option<Packet> {
        if self.nics[host as usize].waiting {
            let state = &mut self.hosts[host as usize];
            let packet = state.control.pop_front();
            self.nics[host as usize].waiting = state.has_work();
            if packet.is_some() {
                return packet;
            }
        }
        while let Some((class, sender)) = self.next_sender(host) {
            let (packet, more) = self.pull_from_queued(sender);
            if more {
                self.queue_sender(host, class, sender);
            }
            if packet.is_some() {
                return packet;
            }
        }
        None
    }

    /// Takes the ready sender whose turn it is, with its class.
    #[inline]
    fn next_sender(&mut self, host: u32) -> Option<(u8, Sender)> {
        let nic = &mut self.nics[host as usize];
        if let Some(sender) = nic.next.take() {
            return Some((0, sender));
        }
        if !nic.waiting {
            return None;
        }
        let state = &mut self.hosts[host as usize];
        let next = state.next_ready(self.setup.classes > 1);
        nic.waiting = state.has_work();
        next
    }

    #[inline(always)]
    fn pull_from(&mut self, sender: Sender) -> (Option<Packet>, bool) {
        match sender {
            Sender::Tcp(index) => self.pull_tcp(index),
            Sender::D3(index) => self.pull_d3(index),
        }
    }

    #[inline(never)]
    fn pull_from_queued(&mut self, sender: Sender) -> (Option<Packet>, bool) {
        self.pull_from(sender)
    }

    /// How much later than it could a packet leaves its host.
    #[inline(always)]
    pub(super) fn draw_delay(&mut self, host: u32) -> Span {
        let nic = &mut self.nics[host as usize];
        Span::from_ps(u64::from(nic.delays.below(nic.jitter)))
    }

    #[inline(never)]
    fn inject(&mut self, host: u32, uplink: u32, packet: Packet) {
        self.totals.injected_bytes += u64::from(packet.wire_bytes());
        let delay = self.draw_delay(host);
        self.send(uplink, packet, delay);
    }

    #[inline(always)]
    fn inject_at_once(&mut self, host: u32, nic: Nic, packet: Packet) {
        self.totals.injected_bytes += u64::from(packet.wire_bytes());
        let delay = self.draw_delay(host);
        self.send_at_once(nic, packet, delay);
    }
}
