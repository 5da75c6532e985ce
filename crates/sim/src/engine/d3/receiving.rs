//! Receiving end of a D3 flow.

use super::contents::{Extra, is_plain, is_short};
use super::packets::{create, header_bytes};
use crate::engine::context::Context;
use crate::engine::endpoint::{Binding, Receiver};
use crate::packet::{NONE, Packet, REVERSE};
use crate::workload::Message;
use duetime_core::{Span, Time};
use duetime_link::Frame;
use duetime_proto::d3;
use duetime_results::FlowEventKind;
use std::sync::Arc;

/// Receiving end of a D3 flow. Most packets have no request; they take a short path.
pub struct Receiving {
    machine: d3::Receiver,
    config: Arc<d3::Config>,
    /// True after the last byte arrived.
    finished: bool,
    /// True after the sender quenched the flow.
    quenched: bool,
    message: Message,
}

impl Receiving {
    /// Processes a packet that has an extra.
    #[inline(never)]
    fn input_any(&mut self, context: &mut Context, packet: &Packet) -> u32 {
        let inner = context.take_at::<Extra>(packet.extra).packet;
        let newly = self.machine.input(&inner).bytes;
        let completed = self.delivered(context, packet.flow, newly);
        // The receiver decides whether a flow finished or was quenched, so that the flow ends once.
        let abandoned = inner.flags.contains(d3::Flags::FIN | d3::Flags::QUENCH) && !self.finished;
        if abandoned && !std::mem::replace(&mut self.quenched, true) {
            context.recorder.abandoned(&self.message);
        }
        completed
    }

    /// Handles `newly` delivered bytes of the connection with hash `hash`. Returns 1 if they complete the message, else
    /// 0.
    #[inline(always)]
    fn delivered(&mut self, context: &mut Context, hash: u32, newly: u64) -> u32 {
        let delivered = self.machine.delivered();
        if newly > 0 {
            let kind = FlowEventKind::Delivered {
                seq: delivered - newly,
                len: newly as u32,
            };
            context.observe(hash, kind);
        }
        // A flow ends with its last byte, not with the FIN that may follow it.
        let complete = delivered >= self.message.bytes;
        u32::from(complete && !std::mem::replace(&mut self.finished, complete))
    }

    /// Returns the next packet: `polled` if the machine already returned a plain one, given by its position.
    #[inline(never)]
    fn poll_any(
        &mut self,
        binding: &Binding,
        context: &mut Context,
        index: u32,
        polled: Option<u64>,
    ) -> Option<Packet> {
        // The packet is large: refer to it instead of moving it.
        let polled = match polled {
            Some(seq) => Some(d3::Packet {
                seq,
                flags: d3::Flags::ACK,
                ..d3::Packet::default()
            }),
            None => self.machine.poll_transmit(&self.config),
        };
        let inner = polled.as_ref()?;
        let bytes = inner.wire_bytes(&self.config);
        let mut packet = create(binding, context, inner.seq, bytes, REVERSE);
        if !is_plain(inner, REVERSE) {
            packet.extra = context.attach(Extra {
                packet: *inner,
                reply: index,
                message: None,
                flow: self.message.flow,
                deadline: None,
            });
        }
        Some(packet)
    }
}

impl Receiver for Receiving {
    type Config = d3::Config;

    fn open(_context: &Context, config: &Arc<d3::Config>, message: &Message) -> Self {
        Self {
            machine: d3::Receiver::new(),
            config: Arc::clone(config),
            finished: false,
            quenched: false,
            message: message.clone(),
        }
    }

    #[inline(always)]
    fn input(&mut self, _binding: &mut Binding, context: &mut Context, packet: Packet) -> u32 {
        if packet.extra != NONE {
            return self.input_any(context, &packet);
        }
        let len = packet.wire_bytes() - header_bytes(&self.config, context);
        let newly = self.machine.input_plain(u64::from(packet.seq), len);
        self.delivered(context, packet.flow, newly)
    }

    fn take_delivered(&mut self) -> Option<(Message, u32)> {
        Some((self.message.clone(), 0))
    }

    #[inline(always)]
    fn poll_transmit(
        &mut self,
        binding: &mut Binding,
        context: &mut Context,
        index: u32,
    ) -> Option<Packet> {
        match self.machine.poll_plain() {
            Some(seq) if is_short(seq) => {
                let bytes = self.config.wire.header_bytes;
                Some(create(binding, context, seq, bytes, REVERSE))
            }
            polled => self.poll_any(binding, context, index, polled),
        }
    }

    fn can_transmit(&self) -> bool {
        self.machine.can_transmit()
    }

    fn next_timeout(&self) -> Time {
        Time::MAX
    }

    fn timeout(&mut self, _binding: &Binding, _context: &mut Context) {}

    fn is_closed(&self) -> bool {
        self.machine.is_closed()
    }

    fn linger(&self) -> Span {
        self.config.host.rto_min * 16
    }
}
