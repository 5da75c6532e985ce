//! The sending end of a connection in its host.

use super::HEADER_BYTES;
use crate::engine::Partition;
use crate::engine::applications::flow_hash;
use crate::host::{Owner, Sender};
use crate::packet::{Extra, NONE, Packet};
use crate::workload::Message;
use duetime_core::Time;
use duetime_proto::tcp::{self, Segment};
use duetime_results::FlowEventKind;
use duetime_scenario::model::Connection;
use std::collections::VecDeque;
use std::sync::Arc;

/// The sending end of a connection. What every acknowledgement touches fills the first cache line and the first three
/// of the state machine.
#[repr(C, align(64))]
pub struct Sending {
    config: Arc<tcp::Config>,
    /// Hash of the connection.
    hash: u32,
    /// The receiver's handle in its partition, once known.
    peer: u32,
    /// When the pending timer event is due.
    armed: Time,
    /// Stream position after the first of the messages, or `u64::MAX`.
    first_end: u64,
    host: u32,
    destination: u32,
    slot: u32,
    class: u8,
    /// In the host's ready queue.
    ready: bool,
    stream: Box<Stream>,
    machine: tcp::Sender,
}

/// What a connection carries.
struct Stream {
    /// Key of a long-lived connection.
    key: Option<(u16, u32, u32)>,
    /// The flow that opened it.
    opener: u64,
    /// Stream position after the last message.
    end: u64,
    /// Messages not wholly acknowledged.
    messages: VecDeque<Outgoing>,
    /// Counters when the first of `messages` became the first.
    counted: tcp::Counters,
}

struct Outgoing {
    /// Stream position after its last byte.
    end: u64,
    /// Its index in the flow records.
    record: u32,
    message: Message,
}

impl Partition {
    pub(in crate::engine) fn send_by_tcp(
        &mut self,
        message: Message,
        record: u32,
        transport: u8,
        class: u8,
    ) {
        let workload = usize::from(message.workload);
        let persistent = self.setup.connections[workload] == Connection::Persistent;
        let key = persistent.then_some((message.workload, message.source, message.destination));
        let known = key.and_then(|key| self.connections.get(&key).copied());
        let index = known.unwrap_or_else(|| self.open_tcp(&message, transport, class, key));
        self.observe_connection(message.flow, self.tcp_senders[index as usize].hash);
        let sending = &mut self.tcp_senders[index as usize];
        let bytes = message.bytes.min(u64::MAX / 2);
        sending.stream.end = sending.stream.end.saturating_add(bytes);
        sending.machine.send(
            &sending.config,
            self.now,
            duetime_proto::Message {
                bytes,
                deadline: message.deadline,
            },
        );
        if key.is_none() {
            sending.machine.close();
        }
        sending.stream.messages.push_back(Outgoing {
            end: sending.stream.end,
            record,
            message,
        });
        sending.first_end = sending.stream.messages[0].end;
        self.after_tcp_sender(index);
    }

    fn open_tcp(
        &mut self,
        message: &Message,
        transport: u8,
        class: u8,
        key: Option<(u16, u32, u32)>,
    ) -> u32 {
        let config = self.setup.tcp(transport);
        let index = self.tcp_senders.vacant_key() as u32;
        let slot = self.hosts[message.source as usize].take_slot(Owner::TcpSender(index));
        self.tcp_senders.insert(Sending {
            machine: tcp::Sender::new(&config, self.now),
            config,
            peer: NONE,
            hash: flow_hash(message.flow),
            host: message.source,
            destination: message.destination,
            slot,
            armed: Time::MAX,
            class,
            ready: false,
            first_end: u64::MAX,
            stream: Box::new(Stream {
                key,
                opener: message.flow,
                end: 1,
                messages: VecDeque::with_capacity(1),
                counted: tcp::Counters::default(),
            }),
        });
        if let Some(key) = key {
            self.connections.insert(key, index);
        }
        index
    }

    /// The network card takes a segment; says whether more is ready.
    #[inline(always)]
    pub(in crate::engine) fn pull_tcp(&mut self, index: u32) -> (Option<Packet>, bool) {
        let Some(sending) = self.tcp_senders.get_mut(index as usize) else {
            return (None, false);
        };
        let Some(segment) = sending.machine.poll_transmit(&sending.config, self.now) else {
            sending.ready = false;
            return (None, false);
        };
        let more = sending.machine.can_transmit(&sending.config);
        sending.ready = more;
        let mut packet = Packet::new(
            sending.destination,
            sending.peer,
            sending.hash,
            segment.seq as u32,
            (HEADER_BYTES + segment.len) as u16 + self.frame_overhead,
            segment.flags.0 | Packet::class_bits(sending.class),
        );
        let due = sending.machine.next_timeout();
        if due < sending.armed {
            sending.armed = due;
            let (host, slot) = (sending.host, sending.slot);
            self.schedule_timer(due, host, slot);
        }
        if segment.flags.intersects(tcp::Flags::SYN | tcp::Flags::PUSH) {
            packet.extra = self.attach(index, segment);
        }
        if self.observed.is_some() {
            let retransmit = segment.flags.contains(tcp::Flags::RETRANSMIT);
            self.observe(
                packet.flow,
                FlowEventKind::Sent {
                    seq: segment.seq,
                    len: segment.len,
                    retransmit,
                },
            );
        }
        (Some(packet), more)
    }

    /// Puts what accompanies a SYN or the last segment of a message into the extras.
    #[cold]
    fn attach(&mut self, index: u32, segment: Segment) -> u32 {
        let extra = self.tcp_senders[index as usize].extra(index, segment);
        self.extras.insert(extra) as u32
    }

    /// An acknowledgement reaches its sender.
    #[inline(always)]
    pub(in crate::engine) fn tcp_acknowledgement(&mut self, packet: Packet) {
        if packet.extra != NONE {
            self.meet_peer(packet);
        }
        let now = self.now;
        let Some(sending) = self.tcp_senders.get_mut(packet.endpoint as usize) else {
            return;
        };
        if sending.hash != packet.flow {
            return;
        }
        let seq = tcp::expand(packet.seq, sending.machine.first_unacknowledged());
        sending.machine.input(
            &sending.config,
            now,
            Segment {
                seq,
                len: 0,
                flags: packet.tcp_flags(),
            },
        );
        let after = sending.after_call();
        if self.observed.is_some() {
            self.observe(packet.flow, FlowEventKind::Acked { seq });
            if packet.tcp_flags().contains(tcp::Flags::SYN) {
                self.observe(packet.flow, FlowEventKind::Established);
            }
        }
        self.follow_up(packet.endpoint, after);
    }

    /// A SYN-ACK says where to send.
    #[cold]
    fn meet_peer(&mut self, packet: Packet) {
        let extra = self.take_extra(packet);
        if let Some(sending) = self.tcp_senders.get_mut(packet.endpoint as usize)
            && sending.hash == packet.flow
            && let Some(Extra::SynAck { reply }) = extra
        {
            sending.peer = reply;
        }
    }

    fn after_tcp_sender(&mut self, index: u32) {
        let after = self.tcp_senders[index as usize].after_call();
        self.follow_up(index, after);
    }

    /// Completes messages, arms the timer and tells the network card.
    #[inline(always)]
    fn follow_up(&mut self, index: u32, after: AfterCall) {
        if after.rare && self.complete_acknowledged(index) {
            return;
        }
        if after.arm != Time::MAX {
            self.schedule_timer(after.arm, after.host, after.slot);
        }
        if !after.ready {
            self.offer_sender(after.host, after.class, Sender::Tcp(index));
        }
    }

    /// Notes whether the sender is in the ready queue: it is if it can transmit.
    pub(in crate::engine) fn set_tcp_ready(&mut self, index: u32) -> bool {
        let sending = &mut self.tcp_senders[index as usize];
        sending.ready = sending.machine.can_transmit(&sending.config);
        sending.ready
    }

    /// Completes the messages that are acknowledged whole; true if the connection is over and the sender gone.
    #[cold]
    fn complete_acknowledged(&mut self, index: u32) -> bool {
        let sending = &mut self.tcp_senders[index as usize];
        let acknowledged = sending.machine.first_unacknowledged();
        while sending.first_end <= acknowledged {
            let (record, counters) = sending.complete();
            self.records.add_tcp(record, counters);
        }
        let closed = sending.machine.is_closed();
        if closed {
            self.remove_tcp_sender(index);
        }
        closed
    }

    fn remove_tcp_sender(&mut self, index: u32) {
        let mut sending = self.tcp_senders.remove(index as usize);
        self.hosts[sending.host as usize].free_slot(sending.slot);
        if sending.ready {
            self.forget_ready(sending.host, Sender::Tcp(index));
        }
        if let Some(key) = sending.stream.key {
            self.connections.remove(&key);
        }
        while !sending.stream.messages.is_empty() {
            let acked = sending.machine.first_unacknowledged();
            let delivered = sending.delivered(acked);
            let (record, counters) = sending.complete();
            self.records.add_tcp(record, counters);
            self.records.flows[record as usize].delivered_bytes = delivered;
        }
    }

    pub(in crate::engine) fn tcp_sender_timer(&mut self, index: u32) {
        let now = self.now;
        let Some(sending) = self.tcp_senders.get_mut(index as usize) else {
            return;
        };
        if sending.armed != now {
            return;
        }
        sending.armed = Time::MAX;
        if sending.machine.next_timeout() <= now {
            let config = &*sending.config;
            sending.machine.timeout(config, now);
            let hash = sending.hash;
            self.observe(hash, FlowEventKind::Timeout);
        }
        self.after_tcp_sender(index);
    }

    /// Window and α of every open TCP sender here, if they are sampled.
    pub(in crate::engine) fn sample_windows(&mut self) {
        for (_, sending) in &self.tcp_senders {
            self.records.windows.push(crate::WindowSample {
                flow: sending.stream.opener,
                at: self.now,
                window_bytes: sending.machine.window_bytes(),
                alpha: sending.machine.alpha().to_f64(),
            });
        }
        self.schedule_windows();
    }

    /// Writes what unfinished flows have delivered into their records, at the end of a run.
    pub(in crate::engine) fn account_open_tcp(&mut self) {
        for (_, sending) in &mut self.tcp_senders {
            let acked = sending.machine.first_unacknowledged();
            while !sending.stream.messages.is_empty() {
                let delivered = sending.delivered(acked);
                let (record, counters) = sending.complete();
                self.records.add_tcp(record, counters);
                self.records.flows[record as usize].delivered_bytes = delivered;
            }
        }
    }

    /// The host dies: its senders are gone.
    pub(super) fn forget_tcp_senders(&mut self, host: u32) {
        let senders: Vec<u32> = self
            .tcp_senders
            .iter()
            .filter(|(_, s)| s.host == host)
            .map(|(i, _)| i as u32)
            .collect();
        for index in senders {
            self.remove_tcp_sender(index);
        }
    }
}

/// What is left to do after a call of a sender's state machine.
#[derive(Clone, Copy)]
struct AfterCall {
    /// A message may be complete, or the connection over.
    rare: bool,
    ready: bool,
    class: u8,
    host: u32,
    slot: u32,
    /// When the timer must fire earlier than the event that is due, or [`Time::MAX`].
    arm: Time,
}

impl Sending {
    /// Reads what an acknowledgement will need, ahead of time. The value means nothing.
    #[inline]
    pub(in crate::engine) fn touch(&self) -> u64 {
        self.machine.first_unacknowledged()
            ^ self.machine.next_timeout().as_ps()
            ^ u64::from(self.hash)
            ^ self.first_end
    }

    #[inline(always)]
    fn after_call(&mut self) -> AfterCall {
        let due = self.machine.next_timeout();
        let earlier = due < self.armed;
        if earlier {
            self.armed = due;
        }
        AfterCall {
            rare: self.first_end <= self.machine.first_unacknowledged() || self.machine.is_closed(),
            ready: self.ready,
            class: self.class,
            host: self.host,
            slot: self.slot,
            arm: if earlier { due } else { Time::MAX },
        }
    }

    /// What accompanies a SYN or the last segment of a message.
    fn extra(&self, index: u32, segment: Segment) -> Extra {
        let end = segment.seq + u64::from(segment.len);
        let named = if segment.flags.contains(tcp::Flags::SYN) {
            self.stream.messages.front()
        } else {
            self.stream
                .messages
                .iter()
                .find(|outgoing| outgoing.end == end)
        };
        let message = named
            .expect("a segment belongs to a message")
            .message
            .clone();
        if segment.flags.contains(tcp::Flags::SYN) {
            Extra::Syn {
                reply: index,
                message: Message {
                    flow: self.stream.opener,
                    ..message
                },
            }
        } else {
            Extra::Last { message }
        }
    }

    /// Takes the first message; returns its record and what it cost.
    fn complete(&mut self) -> (u32, tcp::Counters) {
        let first = self.stream.messages.pop_front().expect("a message");
        self.first_end = self
            .stream
            .messages
            .front()
            .map_or(u64::MAX, |next| next.end);
        let total = self.machine.counters();
        let cost = tcp::Counters {
            timeouts: total.timeouts - self.stream.counted.timeouts,
            retransmits: total.retransmits - self.stream.counted.retransmits,
            fast_retransmits: total.fast_retransmits - self.stream.counted.fast_retransmits,
        };
        self.stream.counted = total;
        (first.record, cost)
    }

    /// Bytes of the first message below stream position `acked`.
    fn delivered(&self, acked: u64) -> u64 {
        self.stream.messages.front().map_or(0, |first| {
            let bytes = first.message.bytes.min(u64::MAX / 2);
            acked.saturating_sub(first.end - bytes).min(bytes)
        })
    }
}
