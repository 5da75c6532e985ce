//! Steps of the walk over hops: a reply back to the receiver, and a packet back through ports and hosts.

use super::super::Cause;
use super::super::route::{Hop, Packet, Through};
use super::{Walk, earlier, until};
use duetime_core::Span;
use duetime_results::{FlowEventKind, Timer};

impl Walk {
    /// Follows an acknowledgement or grant that reached the sender at `cursor` back to the receiver.
    /// `number` is its sequence number, if known.
    pub(super) fn return_back(&mut self, number: Option<u32>) {
        self.round_trips += 1;
        let before = self.cursor;
        let arrivals = self.backward.arrivals(before).rev();
        let mut matching =
            arrivals.filter(|hop| number.is_none_or(|number| hop.packet.0 == number));
        if let Some(packet) = matching.next().map(|hop| hop.packet) {
            drop(matching);
            self.hops_back(packet, false);
            self.reply_back(packet.0);
            return;
        }
        drop(matching);
        // The reply was not traced: find the delivery that it acknowledges.
        let delivery = earlier(&self.kinds.delivered, before)
            .iter()
            .rfind(|event| {
                let FlowEventKind::Delivered { seq, len } = event.what else {
                    return false;
                };
                number.is_none_or(|number| (seq as u32).wrapping_add(len) == number)
            });
        let to = delivery
            .or_else(|| earlier(&self.kinds.sent, before).last())
            .map_or(self.start, |event| event.at);
        self.take(to, Cause::Untraced);
    }

    /// Follows a reply that left the receiver at `cursor` back to the arrival that caused it, or to the arrival before
    /// which the receiver delayed it.
    fn reply_back(&mut self, number: u32) {
        let arrived = |walk: &Self| {
            let hop = walk.forward.arrival(walk.cursor);
            hop.map(|hop| hop.arrival())
        };
        let delayed = |walk: &Self| {
            walk.happened_at(walk.cursor, |what| {
                what == FlowEventKind::Timer(Timer::DelayedAck)
            })
            .is_some()
        };
        if arrived(self) != Some(self.cursor) && !delayed(self) {
            // An earlier reply may have had the same number.
            let earlier = self.backward.offered_before(self.cursor, number);
            let queued = until(&self.kinds.replies, self.cursor)
                .iter()
                .rfind(|event| {
                    matches!(event.what, FlowEventKind::ReplyQueued { seq } if seq as u32 == number)
                        && earlier.is_none_or(|earlier| event.at > earlier)
                });
            if let Some(queued) = queued {
                self.take(queued.at, Cause::ReplyNic);
            }
        }
        if delayed(self) {
            // The segment may have arrived before the message was submitted.
            let before = arrived(self).unwrap_or(self.start);
            self.take(before, Cause::Timer(Timer::DelayedAck));
        }
    }

    /// Follows `packet` back over the hops of one direction, to the first port of its route.
    pub(super) fn hops_back(&mut self, packet: Packet, forward: bool) {
        let ports = if forward {
            self.forward.passed.len()
        } else {
            self.backward.passed.len()
        };
        for place in (0..ports).rev() {
            let route = if forward {
                &self.forward
            } else {
                &self.backward
            };
            if let Some(hop) = route.passage(route.passed[place], packet, self.cursor) {
                self.take(hop.at, Cause::Propagation);
                self.hop_back(&hop);
            }
        }
    }

    /// Follows a packet back through one port or host, from its departure to its arrival there.
    pub(super) fn hop_back(&mut self, hop: &Hop) {
        let (sending, waiting) = match hop.through {
            Through::Port(link) => (Cause::Transmission(link), Cause::Queue(link)),
            Through::Host(_) => (Cause::Reception, Cause::Reception),
        };
        self.take_span(hop.delayed, Cause::SendJitter);
        self.take_span(hop.sending, sending);
        self.take_span(hop.waited.saturating_sub(hop.delayed), waiting);
    }

    /// Follows a packet of the flow after which the NIC was free at `cursor` back to its arrival at the NIC.
    pub(super) fn own_packet_back(&mut self, hop: &Hop) {
        self.hop_back(&Hop {
            waited: hop.waited.saturating_sub(hop.delayed),
            delayed: Span::ZERO,
            ..*hop
        });
    }
}
