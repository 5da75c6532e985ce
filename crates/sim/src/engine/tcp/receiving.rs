//! The receiving end of a connection in its host.

use super::HEADER_BYTES;
use crate::engine::Partition;
use crate::host::Owner;
use crate::packet::{Extra, NONE, Packet, REVERSE};
use crate::workload::Message;
use duetime_core::{Span, Time};
use duetime_link::Frame;
use duetime_proto::tcp::{self, Segment};
use duetime_results::FlowEventKind;
use std::sync::Arc;

/// The receiving end of a connection.
pub struct Receiving {
    machine: tcp::Receiver,
    config: Arc<tcp::Config>,
    /// The sender's handle in its partition.
    reply: u32,
    hash: u32,
    host: u32,
    source: u32,
    slot: u32,
    armed: Time,
    class: u8,
    /// Data segments with CE since the last message was complete.
    marks: u32,
    /// Where the state is forgotten, after the FIN.
    forget_at: Time,
    opener: u64,
    /// Messages whose last segment has been seen, by stream position after it.
    expected: Vec<(u64, Message)>,
}

impl Partition {
    /// Data, or a SYN or FIN, reaches its receiver.
    #[inline(always)]
    pub(in crate::engine) fn tcp_data(&mut self, host: u32, packet: Packet) {
        if packet.extra == NONE {
            self.tcp_segment(packet.endpoint, packet, None);
        } else {
            self.tcp_data_with_extra(host, packet);
        }
    }

    /// The first segment of a connection, or the last of a message.
    #[cold]
    fn tcp_data_with_extra(&mut self, host: u32, packet: Packet) {
        match self.extras.remove(packet.extra as usize) {
            Extra::Syn { reply, message } => {
                let index = self.accept_tcp(host, packet, reply, &message);
                self.tcp_segment(index, packet, None);
            }
            Extra::Last { message } => self.tcp_segment(packet.endpoint, packet, Some(message)),
            _ => {}
        }
    }

    /// A segment for the receiver `index`; `last` if it is the last of a message.
    #[inline(always)]
    fn tcp_segment(&mut self, index: u32, packet: Packet, last: Option<Message>) {
        let index = index as usize;
        let now = self.now;
        let Some(receiving) = self.tcp_receivers.get_mut(index) else {
            return;
        };
        if receiving.hash != packet.flow {
            return;
        }
        let config = &*receiving.config;
        let len = packet.wire_bytes() - u32::from(self.frame_overhead) - HEADER_BYTES;
        let seq = tcp::expand(packet.seq, receiving.machine.expected());
        let flags = packet.tcp_flags();
        receiving.marks += u32::from(flags.contains(tcp::Flags::CE));
        if let Some(message) = last {
            let end = seq + u64::from(len);
            if end > receiving.machine.expected()
                && !receiving.expected.iter().any(|(known, _)| *known == end)
            {
                receiving.expected.push((end, message));
            }
        }
        let delivery = receiving
            .machine
            .input(config, now, Segment { seq, len, flags });
        if receiving.machine.is_closed() {
            receiving.forget_at = now + linger(config);
        }
        if self.observed.is_some() && delivery.bytes > 0 {
            let end = self.tcp_receivers[index].machine.delivered() + 1;
            let what = FlowEventKind::Delivered {
                seq: end - delivery.bytes,
                len: delivery.bytes as u32,
            };
            self.observe(packet.flow, what);
        }
        self.after_tcp_receiver(index as u32);
        for _ in 0..delivery.messages {
            let receiving = &mut self.tcp_receivers[index];
            let marks = std::mem::take(&mut receiving.marks);
            let first = (0..receiving.expected.len()).min_by_key(|&i| receiving.expected[i].0);
            let Some(first) = first else { break };
            let (_, message) = receiving.expected.swap_remove(first);
            self.deliver(&message, marks);
        }
    }

    /// A SYN: finds the receiver of a repeated one, or makes one.
    #[cold]
    fn accept_tcp(&mut self, host: u32, packet: Packet, reply: u32, message: &Message) -> u32 {
        if let Some(&known) = self.receivers.get(&message.flow) {
            return known;
        }
        let transport = self.setup.workload_transport[usize::from(message.workload)];
        let config = self.setup.tcp(transport);
        let index = self.tcp_receivers.vacant_key() as u32;
        let slot = self.hosts[host as usize].take_slot(Owner::TcpReceiver(index));
        self.tcp_receivers.insert(Receiving {
            machine: tcp::Receiver::new(&config),
            config,
            reply,
            hash: packet.flow,
            host,
            source: message.source,
            slot,
            armed: Time::MAX,
            class: packet.class() as u8,
            marks: 0,
            forget_at: Time::MAX,
            opener: message.flow,
            expected: Vec::new(),
        });
        self.receivers.insert(message.flow, index);
        index
    }

    /// Sends what the receiver wants to send and arms its timer.
    #[inline(always)]
    fn after_tcp_receiver(&mut self, index: u32) {
        loop {
            let receiving = &mut self.tcp_receivers[index as usize];
            let segment = receiving.machine.poll_transmit(&receiving.config, self.now);
            let Some(segment) = segment else {
                return self.arm_tcp_receiver(index);
            };
            let more = receiving.machine.can_transmit(&receiving.config);
            let host = receiving.host;
            let mut packet = Packet::new(
                receiving.source,
                receiving.reply,
                receiving.hash,
                segment.seq as u32,
                HEADER_BYTES as u16 + self.frame_overhead,
                segment.flags.0 | REVERSE | Packet::class_bits(receiving.class),
            );
            let due = receiving.machine.next_timeout().min(receiving.forget_at);
            let quiet = due >= receiving.armed;
            if segment.flags.contains(tcp::Flags::SYN) {
                packet.extra = self.extras.insert(Extra::SynAck { reply: index }) as u32;
            }
            self.send_control(host, packet);
            if !more {
                if !quiet {
                    self.arm_tcp_receiver(index);
                }
                return;
            }
        }
    }

    #[inline]
    fn arm_tcp_receiver(&mut self, index: u32) {
        let receiving = &mut self.tcp_receivers[index as usize];
        let due = receiving.machine.next_timeout().min(receiving.forget_at);
        if due < receiving.armed {
            receiving.armed = due;
            let (host, slot) = (receiving.host, receiving.slot);
            self.schedule_timer(due, host, slot);
        }
    }

    pub(in crate::engine) fn tcp_receiver_timer(&mut self, index: u32) {
        let now = self.now;
        let Some(receiving) = self.tcp_receivers.get_mut(index as usize) else {
            return;
        };
        if receiving.armed != now {
            return;
        }
        receiving.armed = Time::MAX;
        if receiving.forget_at <= now {
            return self.remove_tcp_receiver(index as usize);
        }
        if receiving.machine.next_timeout() <= now {
            let config = &*receiving.config;
            receiving.machine.timeout(config, now);
        }
        self.after_tcp_receiver(index);
    }

    fn remove_tcp_receiver(&mut self, index: usize) {
        let receiving = self.tcp_receivers.remove(index);
        self.hosts[receiving.host as usize].free_slot(receiving.slot);
        self.receivers.remove(&receiving.opener);
    }

    /// The host dies: its receivers are gone.
    pub(super) fn forget_tcp_receivers(&mut self, host: u32) {
        let receivers: Vec<usize> = self
            .tcp_receivers
            .iter()
            .filter(|(_, r)| r.host == host)
            .map(|(i, _)| i)
            .collect();
        for index in receivers {
            self.remove_tcp_receiver(index);
        }
    }
}

impl Receiving {
    /// Reads what a segment will need, ahead of time. The value means nothing.
    #[inline]
    pub(in crate::engine) fn touch(&self) -> u64 {
        self.machine.expected() ^ u64::from(self.hash ^ self.host ^ self.marks) ^ self.armed.as_ps()
    }
}

/// How long a receiver remembers a closed connection, so that a repeated FIN is answered.
fn linger(config: &tcp::Config) -> Span {
    config.rto_initial.max(config.rto_min) * 16
}
