//! Grants: which messages may send how many packets.

use super::message::{Incoming, Standing};
use super::order::{Entry, Pace};
use super::shared_link::OTHERS;
use super::{Receiver, STALL_ROUND_TRIPS};
use crate::due::Config;
use duetime_core::{Span, Time};

/// One packet, in units of the cap.
const PACKET: u64 = 1_000;
/// Limit of all granted packets, those of silent senders included, as a multiple of the cap.
const SILENT_FACTOR: u64 = 4;
/// Minimum of the cap in packets.
const MIN_CAP: u64 = 2;
/// Limit of the background's credit, in thousandths of a packet.
const MAX_CREDIT: u64 = 4_000;
/// Laxity up to which urgent messages use class 0, in round trips. Each further class is twice as wide.
const LAXITY_ROUND_TRIPS: u64 = 8;
/// Credit for one packet.
const CREDIT_PER_PACKET: u64 = 1_000;

/// Packets that were granted and have not arrived, and the limits of further grants.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Limits {
    /// Packets of messages whose sources respond.
    pub in_flight: u64,
    /// Packets of all messages that are not written off.
    pub outstanding: u64,
    /// Credit of the background, in thousandths of a packet.
    credit: u64,
    /// Position in the order before which all messages are granted in full.
    first_open: usize,
}

impl Limits {
    /// Counts packets of a message.
    pub const fn add(&mut self, standing: Standing, packets: u64) {
        if matches!(standing, Standing::Responding) {
            self.in_flight += packets;
        }
        if !matches!(standing, Standing::WrittenOff) {
            self.outstanding += packets;
        }
    }

    /// Takes back what [`Self::add`] counted.
    pub const fn remove(&mut self, standing: Standing, packets: u64) {
        if matches!(standing, Standing::Responding) {
            self.in_flight -= packets;
        }
        if !matches!(standing, Standing::WrittenOff) {
            self.outstanding -= packets;
        }
    }

    /// Gives the background its share of `packets`.
    pub fn add_credit(&mut self, config: &Config, packets: u64) {
        let credit = u64::from(config.background_permille).saturating_mul(packets);
        self.credit = self.credit.saturating_add(credit).min(MAX_CREDIT);
    }

    /// Changes how the packets in flight of a message count.
    pub fn move_to<T>(&mut self, standing: Standing, message: &mut Incoming<T>) {
        self.remove(message.standing, message.in_flight());
        message.standing = standing;
        if standing == Standing::WrittenOff {
            message.withdraw();
        }
        self.add(standing, message.in_flight());
    }
}

/// Returns the class of an urgent message by its laxity. Classes count time and not places in the order, because the
/// messages that meet in the core are for different receivers.
fn laxity_class(laxity: Span, unit: Span) -> u8 {
    let units = laxity.as_ps() / unit.as_ps().max(1);
    (u64::BITS - units.leading_zeros()) as u8
}

impl<T: Clone> Receiver<T> {
    /// Grants packets while fewer than the cap are in flight, most urgent message first. The background receives its
    /// minimum share before.
    #[inline]
    pub(super) fn schedule(&mut self, config: &Config, now: Time) {
        if self.is_stale || now >= self.ranked_at + self.round_trip / 2 {
            self.update_order(now);
        }
        let cap = (self.delays.cap() / PACKET).max(MIN_CAP);
        if self.limits.in_flight < cap && self.limits.outstanding < cap * SILENT_FACTOR {
            let has_background = self.order.urgent < self.order.messages.len();
            if has_background && self.limits.credit >= CREDIT_PER_PACKET {
                let one_more = self.limits.in_flight + 1;
                if self.grant_from(config, now, self.order.urgent, one_more) {
                    self.limits.credit -= CREDIT_PER_PACKET;
                }
            }
            self.grant_from(config, now, self.limits.first_open, cap);
        }
        // With other receivers the arrival rate is not that of the link.
        if self.limits.in_flight + 1 >= cap && self.others.is_empty() {
            self.arrivals.note_demand();
        }
        if !self.index.is_empty() && self.timer == Time::MAX {
            self.timer = now + self.round_trip * STALL_ROUND_TRIPS / 2;
        }
    }

    /// Grants packets in the order from position `from`, until `cap` packets are in flight, including those that more
    /// urgent messages of other receivers may have. Returns true if any was granted.
    fn grant_from(&mut self, config: &Config, now: Time, from: usize, mut cap: u64) -> bool {
        let mut has_granted = false;
        for (place, &index) in self.order.messages.iter().enumerate().skip(from) {
            if self.limits.in_flight >= cap {
                break;
            }
            if index >= OTHERS {
                cap = cap.saturating_sub(self.others.window(index, self.packet_time));
                continue;
            }
            let Some(message) = self.messages[index as usize].as_mut() else {
                continue;
            };
            if message.standing != Standing::Responding {
                continue;
            }
            let window = message.window.min(message.core.packets());
            let packets = window
                .saturating_sub(message.in_flight())
                .min(message.grantable())
                .min(cap - self.limits.in_flight);
            if packets == 0 {
                // The next grants start behind messages that are granted in full.
                if place == self.limits.first_open && message.granted >= message.packets {
                    self.limits.first_open += 1;
                }
                continue;
            }
            let reply = message.grant(now, packets);
            self.limits.add(Standing::Responding, packets);
            if !message.is_background {
                self.limits.add_credit(config, packets);
            }
            has_granted = true;
            self.replies.push_back((message.tag.clone(), reply));
        }
        has_granted
    }

    /// Replies with the message's current grant.
    pub(super) fn reply_with_grant(&mut self, index: u32) {
        if let Some(message) = self.get(index) {
            let reply = (message.tag.clone(), message.current_grant());
            self.replies.push_back(reply);
        }
    }

    /// Orders the messages and assigns their classes.
    #[inline(never)]
    fn update_order(&mut self, now: Time) {
        self.is_stale = false;
        self.is_ranked = true;
        self.ranked_at = now;
        self.limits.first_open = 0;
        let pace = Pace {
            now,
            service: self.arrivals.service(),
            latency: self.round_trip / 2,
        };
        let (messages, spoiled, others) = (&self.messages, &self.spoiled, &self.others);
        let entries = self.index.values().filter_map(|&index| {
            let message = messages[index as usize].as_ref()?;
            let announcement = &message.announcement;
            Some(Entry {
                index,
                serial: others.serial(message.serial),
                left: message.left(),
                received: message.received,
                is_open: message.granted < message.packets,
                deadline: announcement.deadline,
                query: announcement.query,
                is_spoiled: announcement
                    .query
                    .is_some_and(|query| spoiled.contains(&query)),
                is_request: announcement.is_request,
            })
        });
        let entries = entries.chain(others.entries(self.packet_time));
        self.order.rank(pace, entries);
        let lowest = self.classes - 1;
        let unit = self.round_trip * LAXITY_ROUND_TRIPS;
        for (place, &index) in self.order.messages.iter().enumerate() {
            let message = self.messages.get_mut(index as usize);
            let Some(message) = message.and_then(Option::as_mut) else {
                continue;
            };
            message.is_background = place >= self.order.urgent;
            message.class = if message.is_background {
                lowest
            } else {
                laxity_class(
                    pace.laxity(message.announcement.deadline, message.left()),
                    unit,
                )
                .min(lowest.saturating_sub(1))
            };
        }
    }
}
