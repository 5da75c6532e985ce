//! Steps of the walk under `due`: from a packet to the grant or request that permitted it, and to the decision of the
//! receiver.

use super::super::{Cause, Stage};
use super::Walk;
use super::{earlier, sender_timer, until};
use duetime_results::{FlowEvent, FlowEventKind};
use std::ops::ControlFlow;

impl Walk {
    /// Follows the packet that left the sender at `cursor` to the event that permitted it. Returns `None` if no event
    /// did; `Break` if the walk has reached the receiver, otherwise `Continue`.
    pub(super) fn permission_back(&mut self) -> Option<ControlFlow<()>> {
        let permission = self.permission()?;
        // In between, the sender transmitted earlier packets of this message or more urgent messages.
        let own = self.forward.departure_until(self.cursor);
        if let Some(own) = own.map(|hop| hop.free_at())
            && own > permission.at
        {
            self.take(own, Cause::Nic);
            return Some(ControlFlow::Continue(()));
        }
        self.take(permission.at, Cause::Nic);
        if let Some(timer) = sender_timer(permission.what) {
            self.timer_back(timer);
            return Some(ControlFlow::Continue(()));
        }
        self.grant_back(permission.what);
        Some(ControlFlow::Break(()))
    }

    /// Follows a grant or request that reached the sender at `cursor` back to the arrival of the message's latest packet
    /// before the receiver's decision. A repeated announcement of a message that the receiver knows decides nothing.
    pub(super) fn grant_back(&mut self, control: FlowEventKind) {
        let (stage, number, cause) = match control {
            FlowEventKind::Permitted {
                up_to,
                is_background,
            } => {
                let is_postponed = is_background && self.has_deadline;
                let stage = if is_postponed {
                    Stage::Postponed
                } else {
                    Stage::Grant
                };
                (stage, up_to, Cause::Grant)
            }
            FlowEventKind::ResendRequested { from, .. } => (Stage::Loss, from, Cause::Resend),
            _ => return,
        };
        if self.cursor <= self.start {
            return;
        }
        self.stage = stage;
        self.return_back(Some(number as u32));
        if let Some(packet) = self.forward.new_arrival(self.cursor) {
            self.take(packet.arrival(), cause);
        }
    }

    /// Returns the first event that permitted the packet that left the sender at `cursor`.
    fn permission(&self) -> Option<FlowEvent> {
        let sent = until(&self.kinds.sent, self.cursor).last()?;
        let FlowEventKind::Sent {
            seq, retransmit, ..
        } = sent.what
        else {
            return None;
        };
        if sent.at != self.cursor {
            return None;
        }
        let mut before = earlier(&self.kinds.sent, self.cursor).iter().rev();
        let is_same = |event: &&FlowEvent| matches!(event.what, FlowEventKind::Sent { seq: other, .. } if other == seq);
        let since = (retransmit.then(|| before.find(is_same)).flatten())
            .map_or(self.start, |event| event.at);
        let mut first = None;
        for event in until(&self.kinds.permissions, self.cursor).iter().rev() {
            let permits = match event.what {
                FlowEventKind::Permitted { up_to, .. } if up_to <= seq => break,
                FlowEventKind::Permitted { .. } => !retransmit,
                FlowEventKind::ResendRequested { from, to } => {
                    seq < to && (!retransmit || from <= seq)
                }
                _ => retransmit && seq == 0,
            };
            if event.at < since {
                break;
            }
            if permits {
                first = Some(*event);
            }
        }
        first
    }
}
