//! Receiving end of a TCP connection.

use super::contents::{Extra, HEADER_BYTES};
use crate::engine::context::Context;
use crate::engine::endpoint::{Binding, Receiver};
use crate::engine::family::Family;
use crate::packet::{NONE, Packet, REVERSE};
use crate::workload::Message;
use duetime_core::{Span, Time};
use duetime_link::Frame;
use duetime_proto::tcp::{self, Segment};
use duetime_results::{FlowEventKind, Timer};
use std::sync::Arc;

/// Receiving end of a TCP connection.
pub struct Receiving {
    machine: tcp::Receiver,
    config: Arc<tcp::Config>,
    /// Data segments with CE since the last completed message.
    marks: u32,
    /// Messages whose last segment was received, each with the stream position of its end.
    expected: Vec<(u64, Message)>,
}

impl Receiver for Receiving {
    type Config = tcp::Config;

    fn open(_context: &Context, config: &Arc<tcp::Config>, _message: &Message) -> Self {
        Self {
            machine: tcp::Receiver::new(config),
            config: Arc::clone(config),
            marks: 0,
            expected: Vec::new(),
        }
    }

    #[inline(always)]
    fn input(&mut self, _binding: &mut Binding, context: &mut Context, packet: Packet) -> u32 {
        let len = packet.wire_bytes() - u32::from(context.frame_overhead) - HEADER_BYTES;
        let seq = tcp::expand(packet.seq, self.machine.expected());
        if packet.extra != NONE {
            self.expect(context, &packet, seq + u64::from(len));
        }
        let flags = packet.tcp_flags();
        self.marks += u32::from(flags.contains(tcp::Flags::CE));
        let segment = Segment { seq, len, flags };
        let delivery = self.machine.input(&self.config, context.now(), segment);
        if context.recorder.is_observing() && delivery.bytes > 0 {
            let kind = FlowEventKind::Delivered {
                seq: self.machine.delivered() + 1 - delivery.bytes,
                len: delivery.bytes as u32,
            };
            context.observe(packet.flow, kind);
        }
        delivery.messages
    }

    fn take_delivered(&mut self) -> Option<(Message, u32)> {
        let marks = std::mem::take(&mut self.marks);
        let first = (0..self.expected.len()).min_by_key(|&i| self.expected[i].0)?;
        let (_, message) = self.expected.swap_remove(first);
        if self.machine.is_closed() && self.expected.is_empty() {
            // Free the memory, because many closed connections may linger.
            self.expected = Vec::new();
        }
        Some((message, marks))
    }

    #[inline(always)]
    fn poll_transmit(
        &mut self,
        binding: &mut Binding,
        context: &mut Context,
        index: u32,
    ) -> Option<Packet> {
        let segment = self.machine.poll_transmit()?;
        let mut packet = Packet::new(
            binding.remote,
            binding.peer,
            binding.hash,
            segment.seq as u32,
            HEADER_BYTES as u16 + context.frame_overhead,
            Packet::tcp(segment.flags) | REVERSE | Packet::label(Family::Tcp as u16, binding.class),
        );
        if (segment.flags).intersects(tcp::Flags::SYN | tcp::Flags::SACK) {
            let (extra, more) = self.attach(context, index, segment.flags);
            packet = packet.lengthened(more);
            packet.extra = extra;
        }
        Some(packet)
    }

    #[inline(always)]
    fn can_transmit(&self) -> bool {
        self.machine.can_transmit()
    }

    #[inline(always)]
    fn next_timeout(&self) -> Time {
        self.machine.next_timeout()
    }

    fn timeout(&mut self, binding: &Binding, context: &mut Context) {
        self.machine.timeout(&self.config, context.now());
        if self.can_transmit() {
            context.observe(binding.hash, FlowEventKind::Timer(Timer::DelayedAck));
        }
    }

    #[inline(always)]
    fn is_closed(&self) -> bool {
        self.machine.is_closed()
    }

    fn linger(&self) -> Span {
        self.config.rto_initial.max(self.config.rto_min) * 16
    }
}

impl Receiving {
    /// Stores the extra of a SYN-ACK or of an acknowledgement with SACK blocks. Returns its index and the number of
    /// bytes that it adds to the header.
    #[cold]
    fn attach(&self, context: &mut Context, index: u32, flags: tcp::Flags) -> (u32, u16) {
        let (extra, more) = if flags.contains(tcp::Flags::SYN) {
            (Extra::SynAck { reply: index }, 0)
        } else {
            let sack = self.machine.sack();
            (Extra::Sack(sack), sack.option_bytes() as u16)
        };
        (context.attach(extra), more)
    }

    /// Handles the extra of a segment that ends at stream position `end`: a SYN's is dropped, a message's last segment
    /// adds the message to the expected ones.
    #[cold]
    fn expect(&mut self, context: &mut Context, packet: &Packet, end: u64) {
        if let Some(Extra::Last { message }) = context.take::<Extra>(packet)
            && end > self.machine.expected()
            && !self.expected.iter().any(|(known, _)| *known == end)
        {
            self.expected.push((end, message));
        }
    }
}
