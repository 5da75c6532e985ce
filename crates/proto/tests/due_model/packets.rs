//! Packets in flight, and what happens to them.

use crate::case::Case;
use crate::world::World;
use duetime_core::Time;
use duetime_proto::due::{Body, Control, Data};

/// Packet to the receiver.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Flight {
    pub at: Time,
    pub source: usize,
    pub data: Data,
}

/// Packet to a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Reply {
    pub message: usize,
    pub control: Control,
}

/// Fate of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Arrive,
    Lose,
    Duplicate,
    /// It arrives this number of round trips later.
    Delay(u64),
}

impl World {
    /// Adds a packet to the receiver. Where the network keeps order, it arrives behind the earlier ones of its source.
    pub fn put(&mut self, case: &Case, mut flight: Flight) {
        let end = self
            .packets
            .partition_point(|other| other.source <= flight.source);
        let start = self
            .packets
            .partition_point(|other| other.source < flight.source);
        let mut place = end;
        if case.link.keeps_order {
            let last = self.packets[start..end].last();
            flight.at = last.map_or(flight.at, |last| flight.at.max(last.at));
        } else {
            // The order in which the packets were sent does not matter.
            let key = |flight: &Flight| (flight.at, flight.data.message, number_of(&flight.data));
            let earlier = &self.packets[start..end];
            place = start + earlier.partition_point(|other| key(other) <= key(&flight));
        }
        self.packets.insert(place, flight);
    }

    /// Returns true if a packet to the receiver may be the next to arrive.
    pub fn may_arrive(&self, case: &Case, index: usize) -> bool {
        let flight = &self.packets[index];
        let is_behind = index > 0
            && (self.packets[index - 1] == *flight
                || case.link.keeps_order && self.packets[index - 1].source == flight.source);
        flight.at <= self.now && !is_behind
    }

    /// Decides about a packet to the receiver.
    pub fn decide(&mut self, case: &Case, index: usize, fate: Fate) {
        match fate {
            Fate::Lose => {
                self.packets.remove(index);
            }
            Fate::Duplicate => {
                let copy = self.packets[index].clone();
                self.packets.insert(index, copy);
            }
            Fate::Delay(round_trips) => {
                let at = self.packets[index].at + case.round_trip() * round_trips;
                if case.link.keeps_order {
                    let source = self.packets[index].source;
                    let behind = self.packets[index..].iter_mut();
                    for flight in behind.take_while(|flight| flight.source == source) {
                        flight.at = flight.at.max(at);
                    }
                } else {
                    let mut flight = self.packets.remove(index);
                    flight.at = at;
                    self.put(case, flight);
                }
            }
            Fate::Arrive => {
                let flight = self.packets.remove(index);
                self.arrive(case, &flight);
            }
        }
    }

    /// Decides about the first packet to a source.
    pub fn decide_reply(&mut self, case: &Case, fate: Fate) {
        let Some(&reply) = self.replies.front() else {
            return;
        };
        match fate {
            Fate::Duplicate => self.replies.push_front(reply),
            Fate::Lose => {
                self.replies.pop_front();
            }
            Fate::Delay(round_trips) => {
                self.replies.pop_front();
                let at = self.now + case.round_trip() * round_trips;
                self.late_replies.push((at, reply));
            }
            Fate::Arrive => {
                self.replies.pop_front();
                self.answer(case, reply);
            }
        }
    }
}

fn number_of(data: &Data) -> u64 {
    match data.body {
        Body::Payload { number, .. } => number,
        Body::Abort => u64::MAX,
    }
}
