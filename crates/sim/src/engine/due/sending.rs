//! Sending end of all messages of a host.

use super::contents::Extra;
use super::inputs::{announcement, host_link};
use crate::engine::context::Context;
use crate::engine::endpoint::host_wide::Outgoing;
use crate::engine::endpoint::{Aborted, Binding, Sender};
use crate::engine::family::Family;
use crate::packet::{NONE, Packet};
use crate::workload::Message;
use duetime_core::Time;
use duetime_proto::due::{self, Body, Config, Control, HEADER_BYTES, UNSCHEDULED_PACKETS};
use duetime_proto::tcp::Flags;
use duetime_results::{FlowEventKind, Timer};
use std::sync::Arc;

/// Sending end of all messages of a host.
pub struct Sending {
    machine: due::Sender<Outgoing>,
    config: Arc<Config>,
}

impl Sending {
    /// Records a grant or a request for missing packets.
    #[cold]
    fn observe(&self, context: &mut Context, flow: u32, control: Control) {
        let bytes = |packets: u64| packets.saturating_mul(self.config.payload());
        let event = match control {
            Control::Grant {
                up_to,
                is_background,
                ..
            } => FlowEventKind::Permitted {
                up_to: bytes(up_to),
                is_background,
            },
            Control::Resend { from, to } => FlowEventKind::ResendRequested {
                from: bytes(from),
                to: bytes(to),
            },
            Control::Done => return,
        };
        context.observe(flow, event);
    }
}

impl Sender for Sending {
    type Config = Config;

    fn open(context: &Context, config: &Arc<Config>, message: &Message) -> Self {
        let uplink = context.setup.network.uplink[message.source as usize];
        Self {
            machine: due::Sender::new(config, &host_link(context, message, uplink)),
            config: Arc::clone(config),
        }
    }

    fn is_addressed(_binding: &Binding, _packet: &Packet) -> bool {
        true
    }

    fn submit(&mut self, context: &mut Context, message: Message, record: u32) {
        let description = announcement(&self.config, &message);
        let number = message.flow;
        let permitted = FlowEventKind::Permitted {
            up_to: UNSCHEDULED_PACKETS * self.config.payload(),
            is_background: false,
        };
        let tag = Outgoing::new(message, record);
        context.observe(tag.flow_hash, permitted);
        self.machine
            .send(&self.config, context.now(), number, description, tag);
    }

    fn input(&mut self, _binding: &mut Binding, context: &mut Context, packet: Packet) {
        let Some(Extra::Control { flow, control }) = context.take::<Extra>(&packet) else {
            return;
        };
        if context.recorder.is_observing() {
            self.observe(context, packet.flow, control);
        }
        if let Some((tag, counters)) = self.machine.input(context.now(), flow, control) {
            tag.complete_record(
                context,
                counters.retransmissions,
                counters.timeouts,
                tag.message.bytes,
            );
        }
    }

    fn poll_transmit(
        &mut self,
        _binding: &mut Binding,
        context: &mut Context,
        index: u32,
    ) -> Option<Packet> {
        let config = &*self.config;
        let (data, description, tag) = self.machine.poll_transmit()?;
        let (number, payload) = match data.body {
            Body::Payload {
                number,
                is_retransmission: retransmit,
                ..
            } => {
                let len = config.payload_of(description.bytes, number);
                if context.recorder.is_observing() {
                    let seq = number.saturating_mul(config.payload());
                    let sent = FlowEventKind::Sent {
                        seq,
                        len,
                        retransmit,
                    };
                    context.observe(tag.flow_hash, sent);
                }
                (number, len)
            }
            Body::Abort => (0, 0),
        };
        let ecn = if config.core_window {
            Flags::ECT
        } else {
            Flags::default()
        };
        let mut packet = Packet::new(
            tag.message.destination,
            NONE,
            tag.flow_hash,
            number as u32,
            (HEADER_BYTES + payload) as u16 + context.frame_overhead,
            Packet::label(Family::Due as u16, data.class) | Packet::tcp(ecn),
        );
        packet.extra = context.attach(Extra::Data {
            message: Arc::clone(&tag.message),
            body: data.body,
            reply: index,
        });
        Some(packet)
    }

    fn can_transmit(&self) -> bool {
        self.machine.can_transmit()
    }

    fn next_timeout(&self) -> Time {
        self.machine.next_timeout()
    }

    fn timeout(&mut self, _binding: &mut Binding, context: &mut Context) {
        for tag in self.machine.timeout(context.now()) {
            let timer = FlowEventKind::Timer(Timer::Announcement);
            context.observe(tag.flow_hash, timer);
        }
    }

    #[cold]
    fn abort(
        &mut self,
        context: &mut Context,
        matches: &dyn Fn(&Message) -> bool,
    ) -> Option<(u32, Aborted)> {
        let tag = self.machine.abort(|tag| matches(&tag.message))?;
        context.recorder.abandoned(&tag.message);
        Some((tag.record, Aborted::Closing))
    }

    fn finish(&mut self, context: &mut Context) {
        for (tag, counters, packets) in self.machine.open() {
            let bytes = packets.saturating_mul(self.config.payload());
            tag.complete_record(context, counters.retransmissions, counters.timeouts, bytes);
        }
    }
}
