//! Sending end of a TCP connection, which carries a stream of messages.

use super::Tcp;
use super::contents::{Extra, HEADER_BYTES};
use crate::engine::context::Context;
use crate::engine::endpoint::{Aborted, Binding, Endpoint, Sender};
use crate::engine::family::Family;
use crate::output::WindowSample;
use crate::packet::{NONE, Packet, flow_hash};
use crate::workload::Message;
use duetime_core::Time;
use duetime_proto::tcp::{self, Segment};
use duetime_results::{FlowEventKind, Timer};
use std::collections::VecDeque;
use std::sync::Arc;

/// Sending end of a TCP connection. The fields that every acknowledgement touches come first.
#[repr(C)]
pub struct Sending {
    config: Arc<tcp::Config>,
    /// Stream position of the end of the first message, or `u64::MAX` without messages.
    first_end: u64,
    stream: Box<Stream>,
    machine: tcp::Sender,
}

/// Messages of a connection.
struct Stream {
    /// True if the connection is persistent and stays open after its first message.
    persistent: bool,
    /// Flow that opened the connection.
    opener: u64,
    /// Message that identifies a connection opened before it has messages.
    opening: Option<Box<Message>>,
    /// Stream position of the end of the last message.
    end: u64,
    /// First message that is not fully acknowledged.
    first: Option<Outgoing>,
    /// Messages after `first`.
    later: VecDeque<Outgoing>,
    /// Counters when `first` became the first message.
    counted: tcp::Counters,
}

struct Outgoing {
    /// Stream position of the message's end.
    end: u64,
    /// Index of the flow's record.
    record: u32,
    message: Message,
}

impl Sender for Sending {
    type Config = tcp::Config;

    fn open(context: &Context, config: &Arc<tcp::Config>, message: &Message) -> Self {
        Self {
            machine: tcp::Sender::new(config, context.now()),
            config: Arc::clone(config),
            first_end: u64::MAX,
            stream: Box::new(Stream {
                persistent: Tcp::connection(&context.setup, message).is_some(),
                opener: message.flow,
                opening: None,
                end: 1,
                first: None,
                later: VecDeque::new(),
                counted: tcp::Counters::default(),
            }),
        }
    }

    fn submit(&mut self, context: &mut Context, message: Message, record: u32) {
        let bytes = message.bytes.min(u64::MAX / 2);
        self.stream.end = self.stream.end.saturating_add(bytes);
        let submitted = duetime_proto::Message::new(message.length(), message.deadline);
        self.machine.send(&self.config, context.now(), submitted);
        if !self.stream.persistent {
            self.machine.close();
        }
        let outgoing = Outgoing {
            end: self.stream.end,
            record,
            message,
        };
        if self.stream.first.is_some() {
            context.observe(flow_hash(self.stream.opener), FlowEventKind::Behind);
            self.stream.later.push_back(outgoing);
        } else {
            self.first_end = outgoing.end;
            self.stream.first = Some(outgoing);
        }
    }

    fn connect(&mut self, message: &Message) {
        self.stream.opening = Some(Box::new(message.clone()));
        self.machine.connect();
    }

    #[inline(always)]
    fn input(&mut self, binding: &mut Binding, context: &mut Context, packet: Packet) {
        let segment = self.acknowledgement(packet);
        if packet.extra != NONE {
            // Passed in registers: a reference would keep every packet in memory.
            let (seq, flags) = (segment.seq, segment.flags);
            return self.input_extra(binding, context, packet.extra, seq, flags);
        }
        self.machine.input(&self.config, context.now(), segment);
        if context.recorder.is_observing() {
            observe(context, packet.flow, segment.seq, segment.flags);
        }
    }

    #[inline(always)]
    fn poll_transmit(
        &mut self,
        binding: &mut Binding,
        context: &mut Context,
        index: u32,
    ) -> Option<Packet> {
        let segment = self.machine.poll_transmit(&self.config, context.now())?;
        let mut packet = Packet::new(
            binding.remote,
            binding.peer,
            binding.hash,
            segment.seq as u32,
            (HEADER_BYTES + segment.len) as u16 + context.frame_overhead,
            segment.flags.0 | Packet::label(Family::Tcp as u16, binding.class),
        );
        if segment.flags.intersects(tcp::Flags::SYN | tcp::Flags::PUSH) {
            let Segment { seq, len, flags } = segment;
            packet.extra = self.attach(context, index, seq + u64::from(len), flags);
        }
        if context.recorder.is_observing() {
            let retransmit = segment.flags.contains(tcp::Flags::RETRANSMIT);
            let kind = FlowEventKind::Sent {
                seq: segment.seq,
                len: segment.len,
                retransmit,
            };
            context.observe(packet.flow, kind);
        }
        Some(packet)
    }

    #[inline(always)]
    fn can_transmit(&self) -> bool {
        self.machine.can_transmit(&self.config)
    }

    #[inline(always)]
    fn prefetch_boxed(&self) {
        self.machine.prefetch_recovery();
    }

    #[inline(always)]
    fn prefetch_segments(&self) {
        self.machine.prefetch_segments();
    }

    #[inline(always)]
    fn next_timeout(&self) -> Time {
        self.machine.next_timeout()
    }

    fn timeout(&mut self, binding: &mut Binding, context: &mut Context) {
        let Some(timer) = self.machine.timeout(&self.config, context.now()) else {
            return;
        };
        let timer = match timer {
            tcp::Timer::Handshake => Timer::Handshake,
            tcp::Timer::Retransmission => Timer::Retransmission,
            tcp::Timer::TailLossProbe => Timer::TailLossProbe,
            tcp::Timer::Reordering => Timer::Reordering,
        };
        context.observe(binding.hash, FlowEventKind::Timer(timer));
    }

    /// Resets the connection. Its receiver lacks bytes that were never sent, so the message cannot complete.
    #[cold]
    fn abort(
        &mut self,
        context: &mut Context,
        matches: &dyn Fn(&Message) -> bool,
    ) -> Option<(u32, Aborted)> {
        let first = self.stream.first.as_ref()?;
        let aborts = !self.stream.persistent && self.machine.unsent() > 0;
        if !aborts || !matches(&first.message) {
            return None;
        }
        context.recorder.abandoned(&first.message);
        Some((first.record, Aborted::Removed))
    }

    #[inline(always)]
    fn needs_settling(&self) -> bool {
        self.first_end <= self.machine.first_unacknowledged() || self.machine.is_closed()
    }

    #[cold]
    fn settle(&mut self, context: &mut Context) {
        while self.first_end <= self.machine.first_unacknowledged() {
            self.complete(context);
        }
    }

    #[inline(always)]
    fn is_closed(&self) -> bool {
        self.machine.is_closed()
    }

    fn finish(&mut self, context: &mut Context) {
        let acked = self.machine.first_unacknowledged();
        while self.stream.first.is_some() {
            let delivered = self.delivered(acked);
            let record = self.complete(context);
            context.recorder.records.flows[record as usize].delivered_bytes = delivered;
        }
    }

    fn window(&self, now: Time) -> Option<WindowSample> {
        Some(WindowSample {
            flow: self.stream.opener,
            at: now,
            window_bytes: self.machine.window_bytes(),
            alpha: self.machine.alpha().to_f64(),
        })
    }
}

/// Records an acknowledgement that was processed.
#[cold]
fn observe(context: &mut Context, hash: u32, seq: u64, flags: tcp::Flags) {
    context.observe(hash, FlowEventKind::Acked { seq });
    if flags.contains(tcp::Flags::SYN) {
        context.observe(hash, FlowEventKind::Established);
    }
}

impl Sending {
    #[inline(always)]
    fn acknowledgement(&self, packet: Packet) -> Segment {
        Segment {
            seq: tcp::expand(packet.seq, self.machine.first_unacknowledged()),
            len: 0,
            flags: packet.tcp_flags(),
        }
    }

    /// Processes an acknowledgement with an extra: a SYN-ACK with the receiver's index, or SACK blocks.
    #[cold]
    #[inline(never)]
    fn input_extra(
        &mut self,
        binding: &mut Binding,
        context: &mut Context,
        extra: u32,
        seq: u64,
        flags: tcp::Flags,
    ) {
        let segment = Segment { seq, len: 0, flags };
        let now = context.now();
        match context.take_at::<Extra>(extra) {
            Extra::Sack(sack) => self.machine.input_sack(&self.config, now, segment, &sack),
            extra => {
                if let Extra::SynAck { reply } = extra {
                    binding.peer = reply;
                }
                self.machine.input(&self.config, now, segment);
            }
        }
        if context.recorder.is_observing() {
            observe(context, binding.hash, seq, flags);
        }
    }

    /// Stores the extra of a SYN, or of a message's last segment, which ends at stream position `end`. Returns its index.
    #[cold]
    fn attach(&mut self, context: &mut Context, index: u32, end: u64, flags: tcp::Flags) -> u32 {
        if flags.contains(tcp::Flags::SYN) {
            let first = self.stream.first.as_ref().map(|outgoing| &outgoing.message);
            let message = first.or(self.stream.opening.as_deref());
            let message = Message {
                flow: self.stream.opener,
                ..message.expect("a connection opens for a message").clone()
            };
            return context.attach(Extra::Syn {
                reply: index,
                message,
            });
        }
        let mut messages = self.stream.first.iter().chain(&self.stream.later);
        let message = messages.find(|outgoing| outgoing.end == end);
        let message = message
            .expect("a segment belongs to a message")
            .message
            .clone();
        context.attach(Extra::Last { message })
    }

    /// Removes the first message and adds its timeouts and retransmissions to its record. Returns the record's index.
    fn complete(&mut self, context: &mut Context) -> u32 {
        let next = self.stream.later.pop_front();
        self.first_end = next.as_ref().map_or(u64::MAX, |next| next.end);
        let first = std::mem::replace(&mut self.stream.first, next);
        let Outgoing { record, .. } = first.expect("a message");
        let total = self.machine.counters();
        // The record has left the processor's caches by now; a flow without loss, the usual case, does not touch it.
        if total != self.stream.counted {
            let before = std::mem::replace(&mut self.stream.counted, total);
            let flow = &mut context.recorder.records.flows[record as usize];
            flow.timeouts += total.timeouts - before.timeouts;
            flow.retransmits += total.retransmits - before.retransmits;
        }
        record
    }

    /// Returns the number of bytes of the first message below stream position `acked`.
    fn delivered(&self, acked: u64) -> u64 {
        self.stream.first.as_ref().map_or(0, |first| {
            let bytes = first.message.bytes.min(u64::MAX / 2);
            acked.saturating_sub(first.end - bytes).min(bytes)
        })
    }
}
