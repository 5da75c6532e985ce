//! Receiving end of a D3 flow.

use super::contents::{Extra, is_plain, plain};
use super::packets::{create, header_bytes};
use crate::engine::context::Context;
use crate::engine::endpoint::{Binding, Receiver};
use crate::packet::{Packet, REVERSE};
use crate::workload::Message;
use duetime_core::{Span, Time};
use duetime_proto::d3;
use duetime_results::FlowEventKind;
use std::sync::Arc;

/// Receiving end of a D3 flow.
pub struct Receiving {
    machine: d3::Receiver,
    config: Arc<d3::Config>,
    /// True after the last byte arrived.
    finished: bool,
    /// True after the sender quenched the flow.
    quenched: bool,
    message: Message,
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

    fn input(&mut self, _binding: &mut Binding, context: &mut Context, packet: Packet) -> u32 {
        let inner = match context.take::<Extra>(&packet) {
            Some(extra) => extra.packet,
            None => plain(&packet, header_bytes(&self.config, context)),
        };
        let newly = self.machine.input(&inner).bytes;
        let delivered = self.machine.delivered();
        if newly > 0 {
            let kind = FlowEventKind::Delivered {
                seq: delivered - newly,
                len: newly as u32,
            };
            context.observe(packet.flow, kind);
        }
        // A flow ends with its last byte, not with the FIN that may follow it.
        let complete = delivered >= self.message.bytes;
        // The receiver decides whether a flow finished or was quenched, so that the flow ends once.
        let abandoned = inner.flags.contains(d3::Flags::FIN | d3::Flags::QUENCH) && !complete;
        if abandoned && !std::mem::replace(&mut self.quenched, true) {
            context.recorder.abandoned(&self.message);
        }
        u32::from(complete && !std::mem::replace(&mut self.finished, complete))
    }

    fn take_delivered(&mut self) -> Option<(Message, u32)> {
        Some((self.message.clone(), 0))
    }

    fn poll_transmit(
        &mut self,
        binding: &mut Binding,
        context: &mut Context,
        index: u32,
    ) -> Option<Packet> {
        // The packet is large: refer to it instead of moving it.
        let polled = self.machine.poll_transmit(&self.config);
        let inner = polled.as_ref()?;
        let mut packet = create(&self.config, binding, context, inner, REVERSE);
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
