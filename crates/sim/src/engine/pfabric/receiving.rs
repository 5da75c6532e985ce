//! Receiving end of all messages into a host.

use super::contents::Extra;
use super::host_link::host_link;
use crate::engine::context::Context;
use crate::engine::endpoint::host_wide::{Incoming, receiver_key};
use crate::engine::endpoint::{Binding, Receiver};
use crate::engine::family::Family;
use crate::packet::{Packet, REVERSE};
use crate::setup::Setup;
use crate::workload::Message;
use duetime_core::Time;
use duetime_proto::pfabric::{self, Body, Config, HEADER_BYTES, MessageId};
use duetime_results::FlowEventKind;
use std::sync::Arc;

/// Receiving end of all messages into a host.
pub struct Receiving {
    machine: pfabric::Receiver<Incoming>,
}

impl Receiver for Receiving {
    type Config = Config;

    fn open(context: &Context, config: &Arc<Config>, message: &Message) -> Self {
        let setup = &context.setup;
        let downlink = setup.network.downlink[message.destination as usize];
        Self {
            machine: pfabric::Receiver::new(config, &host_link(setup, downlink)),
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
            len,
            seq,
            reply,
        }) = context.take::<Extra>(&packet)
        else {
            return 0;
        };
        if matches!(body, Body::Payload { .. }) && context.recorder.is_observing() {
            context.observe(packet.flow, FlowEventKind::Delivered { seq, len });
        }
        let id = MessageId {
            source: message.source,
            number: message.flow,
        };
        let tag = Incoming {
            message,
            sender: reply,
            flow_hash: packet.flow,
        };
        u32::from(self.machine.input(context.now(), id, body, tag))
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
        let (tag, ack) = self.machine.poll_transmit()?;
        // Acknowledgements have the highest priority.
        let mut packet = Packet::new(
            tag.message.source,
            tag.sender,
            tag.flow_hash,
            0,
            HEADER_BYTES as u16 + context.frame_overhead,
            REVERSE | Packet::label(Family::PFabric as u16, 0),
        );
        packet.extra = context.attach(Extra::Ack {
            flow: tag.message.flow,
            ack,
        });
        Some(packet)
    }

    fn can_transmit(&self) -> bool {
        self.machine.can_transmit()
    }

    fn next_timeout(&self) -> Time {
        Time::MAX
    }

    fn timeout(&mut self, _binding: &Binding, _context: &mut Context) {}
}
