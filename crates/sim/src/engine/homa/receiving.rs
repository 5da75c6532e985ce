//! Receiving end of all messages into a host.

use super::contents::Extra;
use super::plan::plan;
use crate::engine::context::Context;
use crate::engine::endpoint::host_wide::{Incoming, receiver_key};
use crate::engine::endpoint::{Binding, Receiver};
use crate::engine::family::Family;
use crate::packet::{Packet, REVERSE};
use crate::setup::Setup;
use crate::workload::Message;
use duetime_core::Time;
use duetime_proto::homa::{self, Body, Config, Control, HEADER_BYTES, MessageId};
use duetime_results::FlowEventKind;
use std::sync::Arc;

/// Class of packets without payload: the highest (Homa §3.2).
const CONTROL_CLASS: u8 = 0;

/// Receiving end of all messages into a host.
pub struct Receiving {
    machine: homa::Receiver<Incoming>,
    config: Arc<Config>,
}

impl Receiver for Receiving {
    type Config = Config;

    fn open(context: &Context, config: &Arc<Config>, message: &Message) -> Self {
        Self {
            machine: homa::Receiver::new(config, plan(context, config, message)),
            config: Arc::clone(config),
        }
    }

    fn key(setup: &Setup, message: &Message) -> u64 {
        receiver_key(setup, message)
    }

    fn is_addressed(_binding: &Binding, _packet: &Packet) -> bool {
        true
    }

    fn input(&mut self, _binding: &mut Binding, context: &mut Context, packet: Packet) -> u32 {
        let Some(Extra::Data {
            message,
            body,
            reply,
        }) = context.take::<Extra>(&packet)
        else {
            return 0;
        };
        if let Body::Payload { number, .. } = body
            && context.recorder.is_observing()
        {
            let kind = FlowEventKind::Delivered {
                seq: number.saturating_mul(self.config.payload()),
                len: self.config.payload_of(message.bytes, number),
            };
            context.observe(packet.flow, kind);
        }
        let id = MessageId {
            source: message.source,
            number: message.flow,
        };
        let outline = self.config.outline(message.bytes, message.siblings);
        let tag = || Incoming {
            message,
            sender: reply,
            flow_hash: packet.flow,
        };
        u32::from(self.machine.input(context.now(), id, outline, body, tag))
    }

    fn take_delivered(&mut self) -> Option<(Message, u32)> {
        let tag = self.machine.take_delivered()?;
        Some((Message::clone(&tag.message), 0))
    }

    fn poll_transmit(
        &mut self,
        _binding: &mut Binding,
        context: &mut Context,
        _index: u32,
    ) -> Option<Packet> {
        let (tag, control) = self.machine.poll_transmit()?;
        let number = match control {
            Control::Grant { up_to, .. } => up_to,
            Control::Resend { from, .. } => from,
            Control::Done => 0,
        };
        let mut packet = Packet::new(
            tag.message.source,
            tag.sender,
            tag.flow_hash,
            number.saturating_mul(self.config.payload()) as u32,
            HEADER_BYTES as u16 + context.frame_overhead,
            REVERSE | Packet::label(Family::Homa as u16, CONTROL_CLASS),
        );
        packet.extra = context.attach(Extra::Control {
            message: tag.message,
            control,
        });
        Some(packet)
    }

    fn can_transmit(&self) -> bool {
        self.machine.can_transmit()
    }

    fn next_timeout(&self) -> Time {
        self.machine.next_timeout()
    }

    fn timeout(&mut self, _binding: &Binding, context: &mut Context) {
        self.machine.timeout(context.now());
    }
}
