//! Sending end of all messages of a host.

use super::contents::Extra;
use super::plan::plan;
use crate::engine::context::Context;
use crate::engine::endpoint::host_wide::Outgoing;
use crate::engine::endpoint::{Aborted, Binding, Sender};
use crate::engine::family::Family;
use crate::packet::{NONE, Packet};
use crate::workload::Message;
use duetime_core::Time;
use duetime_proto::homa::{self, Body, Config, Control, HEADER_BYTES, Plan};
use duetime_results::{FlowEventKind, Timer};
use std::sync::Arc;

/// Sending end of all messages of a host.
pub struct Sending {
    machine: homa::Sender<Outgoing>,
    config: Arc<Config>,
    plan: Plan,
}

impl Sending {
    /// Records a grant or a request for missing packets.
    #[cold]
    fn observe(&self, context: &mut Context, flow: u32, control: Control) {
        let bytes = |packets: u64| packets.saturating_mul(self.config.payload());
        let event = match control {
            Control::Grant { up_to, .. } => FlowEventKind::Permitted {
                up_to: bytes(up_to),
                is_background: false,
            },
            Control::Resend { from, to, .. } => FlowEventKind::ResendRequested {
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
        let plan = plan(context, config, message);
        Self {
            machine: homa::Sender::new(config, plan),
            config: Arc::clone(config),
            plan,
        }
    }

    fn is_addressed(_binding: &Binding, _packet: &Packet) -> bool {
        true
    }

    fn submit(&mut self, context: &mut Context, message: Message, record: u32) {
        let number = message.flow;
        let outline = self.config.outline(message.bytes, message.siblings);
        let unscheduled = self.plan.unscheduled(outline);
        let permitted = FlowEventKind::Permitted {
            up_to: unscheduled
                .saturating_mul(self.config.payload())
                .min(outline.bytes),
            is_background: false,
        };
        let tag = Outgoing::new(message, record);
        context.observe(tag.flow_hash, permitted);
        self.machine.send(context.now(), number, outline, tag);
    }

    fn input(&mut self, _binding: &mut Binding, context: &mut Context, packet: Packet) {
        let Some(Extra::Control { message, control }) = context.take::<Extra>(&packet) else {
            return;
        };
        if context.recorder.is_observing() {
            self.observe(context, packet.flow, control);
        }
        let number = message.flow;
        let tag = || Outgoing {
            message,
            record: NONE,
            flow_hash: packet.flow,
        };
        let completed = self.machine.input(context.now(), number, control, tag);
        if let Some((tag, counters)) = completed {
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
        let (data, tag) = self.machine.poll_transmit(context.now())?;
        let (number, payload) = match data.body {
            Body::Payload {
                number,
                is_retransmission: retransmit,
            } => {
                let len = self.config.payload_of(data.outline.bytes, number);
                if context.recorder.is_observing() {
                    let seq = number.saturating_mul(self.config.payload());
                    let sent = FlowEventKind::Sent {
                        seq,
                        len,
                        retransmit,
                    };
                    context.observe(tag.flow_hash, sent);
                }
                (number, len)
            }
            Body::Busy | Body::Unknown => (0, 0),
        };
        let mut packet = Packet::new(
            tag.message.destination,
            NONE,
            tag.flow_hash,
            number as u32,
            (HEADER_BYTES + payload) as u16 + context.frame_overhead,
            Packet::label(Family::Homa as u16, data.class),
        );
        packet.extra = context.attach(Extra::Data {
            message: tag.message,
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
