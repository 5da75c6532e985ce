//! Receiving end of all messages into a host.

use super::contents::Extra;
use super::inputs::{announcement, host_link};
use crate::engine::context::Context;
use crate::engine::endpoint::host_wide::{Incoming, receiver_key};
use crate::engine::endpoint::{Binding, Receiver};
use crate::engine::family::Family;
use crate::packet::{Packet, REVERSE};
use crate::setup::Setup;
use crate::workload::Message;
use duetime_core::Time;
use duetime_proto::due::{self, Body, Config, Control, HEADER_BYTES, MessageId};
use duetime_proto::tcp::Flags;
use duetime_results::FlowEventKind;
use std::sync::Arc;

/// Receiving end of all messages into a host.
pub struct Receiving {
    machine: due::Receiver<Incoming>,
    config: Arc<Config>,
}

impl Receiver for Receiving {
    type Config = Config;

    fn open(context: &Context, config: &Arc<Config>, message: &Message) -> Self {
        let downlink = context.setup.network.downlink[message.destination as usize];
        let link = host_link(context, message, downlink);
        Self {
            machine: due::Receiver::new(config, &link),
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
        let config = &*self.config;
        if let Body::Payload { number, .. } = body
            && context.recorder.is_observing()
        {
            let kind = FlowEventKind::Delivered {
                seq: number.saturating_mul(config.payload()),
                len: config.payload_of(message.bytes, number),
            };
            context.observe(packet.flow, kind);
        }
        let id = MessageId {
            source: message.source,
            number: message.flow,
        };
        let announced = || {
            let tag = Incoming {
                message: Arc::clone(&message),
                sender: reply,
                flow_hash: packet.flow,
            };
            Some((announcement(config, &message), tag))
        };
        let is_marked = packet.tcp_flags().contains(Flags::CE);
        let now = context.now();
        u32::from(
            self.machine
                .input(config, now, id, body, announced, is_marked),
        )
    }

    fn take_delivered(&mut self) -> Option<(Message, u32)> {
        let delivered = self.machine.take_delivered()?;
        Some((Message::clone(&delivered.tag.message), delivered.marks))
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
            REVERSE | Packet::label(Family::Due as u16, 0),
        );
        packet.extra = context.attach(Extra::Control {
            flow: tag.message.flow,
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
        self.machine.timeout(&self.config, context.now());
    }
}
