//! Receiving end of a PDQ flow.

use super::contents::{Extra, Path};
use super::packets::create;
use crate::engine::context::Context;
use crate::engine::endpoint::{Binding, Receiver};
use crate::packet::{Packet, REVERSE};
use crate::workload::Message;
use duetime_core::{Span, Time};
use duetime_proto::pdq;
use duetime_results::FlowEventKind;
use std::sync::Arc;

/// Receiving end of a PDQ flow.
pub struct Receiving {
    machine: pdq::Receiver,
    config: Arc<pdq::Config>,
    /// True after the last byte arrived.
    finished: bool,
    /// True after the sender abandoned the flow.
    abandoned: bool,
    /// Path of the packet to reply to.
    path: Path,
    message: Message,
}

impl Receiver for Receiving {
    type Config = pdq::Config;

    fn open(context: &Context, config: &Arc<pdq::Config>, message: &Message) -> Self {
        let network = &context.setup.network;
        let downlink = network.downlink[message.destination as usize];
        Self {
            machine: pdq::Receiver::new(network.links[downlink as usize].rate),
            config: Arc::clone(config),
            finished: false,
            abandoned: false,
            path: Path::default(),
            message: message.clone(),
        }
    }

    fn input(&mut self, _binding: &mut Binding, context: &mut Context, packet: Packet) -> u32 {
        let Some(extra) = context.take::<Extra>(&packet) else {
            return 0;
        };
        self.path = extra.path;
        let newly = self.machine.input(&extra.packet).bytes;
        let delivered = self.machine.delivered();
        if newly > 0 {
            let kind = FlowEventKind::Delivered {
                seq: delivered - newly,
                len: newly as u32,
            };
            context.observe(packet.flow, kind);
        }
        // A flow ends with its last byte, not with the TERM that follows it.
        let complete = delivered >= self.message.bytes;
        // The receiver decides whether a flow finished or was abandoned, so that the flow ends once.
        let abandoned = self.machine.is_abandoned() && !complete;
        if abandoned && !std::mem::replace(&mut self.abandoned, true) {
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
        let extra = Extra {
            packet: self.machine.poll_transmit()?,
            reply: index,
            message: None,
            flow: self.message.flow,
            path: self.path,
        };
        Some(create(binding, context, extra, REVERSE))
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
        self.config.rto_min * 16
    }
}
