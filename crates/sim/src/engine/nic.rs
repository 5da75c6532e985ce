//! The host's network card. Where it pulls, acknowledgements go first, then ready senders in turn, so that windows
//! do not pile up as packets; where it is a plain queue, everything is offered at once.

use super::Partition;
use crate::host::Sender;
use crate::packet::Packet;
use duetime_link::Frame;

impl Partition {
    /// A small packet (acknowledgement, SYN-ACK) leaves the host.
    #[inline(always)]
    pub(super) fn send_control(&mut self, host: u32, packet: Packet) {
        let state = &mut self.hosts[host as usize];
        let uplink = state.uplink;
        if !self.setup.nic_pulls {
            return self.inject(uplink, packet);
        }
        if state.nic_wake_pending {
            return state.control.push_back(packet);
        }
        if self.ports[uplink as usize].is_idle(self.now) {
            return self.inject_at_once(uplink, packet);
        }
        state.control.push_back(packet);
        self.wake_nic(host);
    }

    /// A sender that is not in the ready queue may have become ready.
    #[inline(always)]
    pub(super) fn offer_sender(&mut self, host: u32, class: u8, sender: Sender) {
        let state = &self.hosts[host as usize];
        let uplink = state.uplink;
        if self.setup.nic_pulls && (state.nic_wake_pending || !self.ports[uplink as usize].is_idle(self.now)) {
            if self.set_ready(sender) {
                self.hosts[host as usize].ready.push_back((class, sender));
                self.wake_nic(host);
            }
            return;
        }
        // An idle card has an empty queue: the sender is next.
        loop {
            let (packet, more) = self.pull_from(sender);
            match packet {
                Some(packet) if self.setup.nic_pulls => self.inject_at_once(uplink, packet),
                Some(packet) => self.inject(uplink, packet),
                None => {}
            }
            if !more {
                return;
            }
            if self.setup.nic_pulls {
                self.hosts[host as usize].ready.push_back((class, sender));
                return self.wake_nic(host);
            }
        }
    }

    /// Whether the sender can transmit and so belongs into the ready queue; notes that it is there.
    fn set_ready(&mut self, sender: Sender) -> bool {
        match sender {
            Sender::Tcp(index) => self.set_tcp_ready(index),
            Sender::D3(index) => self.set_d3_ready(index),
        }
    }

    /// The card sends one packet if its link is free, and asks to be woken if more wait.
    pub(super) fn serve_nic(&mut self, host: u32) {
        let uplink = self.hosts[host as usize].uplink;
        if self.ports[uplink as usize].is_idle(self.now) {
            let Some(packet) = self.pull(host) else { return };
            self.inject_at_once(uplink, packet);
        }
        if self.hosts[host as usize].has_work() {
            self.wake_nic(host);
        }
    }

    fn wake_nic(&mut self, host: u32) {
        let state = &mut self.hosts[host as usize];
        if !state.nic_wake_pending {
            state.nic_wake_pending = true;
            let uplink = state.uplink;
            let at = self.ports[uplink as usize].busy_until();
            self.schedule_departure(at, uplink);
        }
    }

    /// The next packet of the host: acknowledgements first, then ready senders in turn.
    #[inline]
    fn pull(&mut self, host: u32) -> Option<Packet> {
        let state = &mut self.hosts[host as usize];
        if let Some(packet) = state.control.pop_front() {
            return Some(packet);
        }
        while let Some((class, sender)) = self.hosts[host as usize].next_ready(self.setup.classes > 1) {
            let (packet, more) = self.pull_from(sender);
            if more {
                self.hosts[host as usize].ready.push_back((class, sender));
            }
            if packet.is_some() {
                return packet;
            }
        }
        None
    }

    #[inline(always)]
    fn pull_from(&mut self, sender: Sender) -> (Option<Packet>, bool) {
        match sender {
            Sender::Tcp(index) => self.pull_tcp(index),
            Sender::D3(index) => self.pull_d3(index),
        }
    }

    #[inline]
    fn inject(&mut self, uplink: u32, packet: Packet) {
        self.totals.injected_bytes += u64::from(packet.wire_bytes());
        self.send(uplink, packet);
    }

    #[inline(always)]
    fn inject_at_once(&mut self, uplink: u32, packet: Packet) {
        self.totals.injected_bytes += u64::from(packet.wire_bytes());
        self.send_at_once(uplink, packet);
    }
}
