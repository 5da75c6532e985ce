//! Two TCP endpoints joined by a scripted network with a virtual clock, delay, losses and marks.

use duetime_core::{Span, Time};
use duetime_proto::tcp::{Config, Flags, Receiver, Sack, Segment, Sender};
use duetime_proto::window::{Completion, CongestionControl, D2tcp, Dctcp};
use duetime_proto::{Length, Message};
use std::collections::BTreeMap;

/// Fate of a packet in the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Deliver,
    Drop,
    Mark,
    /// Delivered with an additional delay.
    Delay(Span),
    /// Delivered twice.
    Duplicate,
}

/// Packet sent by an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    pub at: Time,
    pub segment: Segment,
    pub sack: Sack,
    pub fate: Fate,
}

type DataFate = Box<dyn FnMut(usize, &Segment, usize) -> Fate>;
type AckFate = Box<dyn FnMut(usize, &Segment) -> Fate>;

/// Sender and receiver, with a log of their packets.
pub struct Pair {
    pub config: Config,
    pub now: Time,
    pub sender: Sender,
    pub receiver: Receiver,
    pub data: Vec<Sent>,
    pub acks: Vec<Sent>,
    pub bytes: u64,
    pub messages: u32,
    one_way: Span,
    data_fate: DataFate,
    ack_fate: AckFate,
    in_flight: BTreeMap<(Time, u64), (bool, Segment, Sack)>,
    data_in_flight: usize,
    counter: u64,
}

impl Pair {
    /// Creates a pair with a round trip of 100 us and no loss.
    pub fn new(config: Config) -> Self {
        Self {
            config,
            now: Time::ZERO,
            sender: Sender::new(&config, Time::ZERO),
            receiver: Receiver::new(&config),
            data: Vec::new(),
            acks: Vec::new(),
            bytes: 0,
            messages: 0,
            one_way: Span::from_us(50),
            data_fate: Box::new(|_, _, _| Fate::Deliver),
            ack_fate: Box::new(|_, _| Fate::Deliver),
            in_flight: BTreeMap::new(),
            data_in_flight: 0,
            counter: 0,
        }
    }

    /// Sets the fate of each packet from the sender, given its number, the segment, and the number of packets in
    /// flight.
    pub fn data_fate(mut self, fate: impl FnMut(usize, &Segment, usize) -> Fate + 'static) -> Self {
        self.data_fate = Box::new(fate);
        self
    }

    /// Drops the packets from the sender for whose number `lost` returns true.
    pub fn losing(self, mut lost: impl FnMut(usize) -> bool + 'static) -> Self {
        self.data_fate(move |packet, _, _| drop_if(lost(packet)))
    }

    /// Sets the fate of each packet from the receiver.
    pub fn ack_fate(mut self, fate: impl FnMut(usize, &Segment) -> Fate + 'static) -> Self {
        self.ack_fate = Box::new(fate);
        self
    }

    /// Drops the packets from the receiver for whose number `lost` returns true.
    pub fn losing_acks(self, mut lost: impl FnMut(usize) -> bool + 'static) -> Self {
        self.ack_fate(move |packet, _| drop_if(lost(packet)))
    }

    pub fn send(&mut self, length: impl Into<Length>) {
        self.send_by(length, None);
    }

    pub fn send_by(&mut self, length: impl Into<Length>, deadline: Option<Time>) {
        self.sender
            .send(&self.config, self.now, Message::new(length, deadline));
    }

    /// Runs until `end`, or until no events are left.
    pub fn run_until(&mut self, end: Time) {
        loop {
            self.exchange();
            let arrival = self.in_flight.keys().next().map_or(Time::MAX, |key| key.0);
            let timer = self.sender.next_timeout().min(self.receiver.next_timeout());
            let next = arrival.min(timer);
            if next == Time::MAX || next > end {
                if end != Time::MAX {
                    self.now = end;
                }
                return;
            }
            self.now = next;
            if arrival <= timer {
                self.arrive();
            } else {
                self.sender.timeout(&self.config, next);
                self.receiver.timeout(&self.config, next);
            }
        }
    }

    pub fn run(&mut self) {
        self.run_until(Time::MAX);
    }

    /// Takes all packets that both endpoints can send.
    fn exchange(&mut self) {
        loop {
            let ready = self.sender.can_transmit(&self.config);
            let segment = self.sender.poll_transmit(&self.config, self.now);
            assert_eq!(
                ready,
                segment.is_some(),
                "can_transmit and poll_transmit agree"
            );
            let Some(segment) = segment else { break };
            let fate = (self.data_fate)(self.data.len(), &segment, self.data_in_flight);
            self.data.push(Sent {
                at: self.now,
                segment,
                sack: Sack::NONE,
                fate,
            });
            self.transmit(true, segment, Sack::NONE, fate);
        }
        while let Some(segment) = self.receiver.poll_transmit() {
            let sack = if segment.flags.contains(Flags::SACK) {
                self.receiver.sack()
            } else {
                Sack::NONE
            };
            let fate = (self.ack_fate)(self.acks.len(), &segment);
            self.acks.push(Sent {
                at: self.now,
                segment,
                sack,
                fate,
            });
            self.transmit(false, segment, sack, fate);
        }
    }

    fn transmit(&mut self, data: bool, mut segment: Segment, sack: Sack, fate: Fate) {
        let mut at = self.now + self.one_way;
        let mut copies = 1;
        match fate {
            Fate::Drop => copies = 0,
            Fate::Mark if segment.flags.contains(Flags::ECT) => segment.flags |= Flags::CE,
            Fate::Mark | Fate::Deliver => {}
            Fate::Delay(by) => at += by,
            Fate::Duplicate => copies = 2,
        }
        for _ in 0..copies {
            self.in_flight
                .insert((at, self.counter), (data, segment, sack));
            self.counter += 1;
            self.data_in_flight += usize::from(data);
        }
    }

    fn arrive(&mut self) {
        let Some((_, (data, segment, sack))) = self.in_flight.pop_first() else {
            return;
        };
        if data {
            self.data_in_flight -= 1;
            let delivery = self.receiver.input(&self.config, self.now, segment);
            self.bytes += delivery.bytes;
            self.messages += delivery.messages;
        } else if sack.is_empty() {
            self.sender.input(&self.config, self.now, segment);
        } else {
            self.sender
                .input_sack(&self.config, self.now, segment, &sack);
        }
    }

    /// Returns the data segments sent, without the SYN, as (microsecond, number of the segment from one,
    /// retransmission).
    pub fn transmissions(&self) -> Vec<(u64, u64, bool)> {
        let mss = u64::from(self.config.mss);
        self.data
            .iter()
            .filter(|sent| !sent.segment.flags.contains(Flags::SYN))
            .map(|sent| {
                let segment = sent.segment;
                let is_retransmission = segment.flags.contains(Flags::RETRANSMIT);
                (
                    sent.at.as_ns() / 1_000,
                    (segment.seq - 1) / mss + 1,
                    is_retransmission,
                )
            })
            .collect()
    }

    /// Returns the number of data segments sent per instant, without the SYN, as (microsecond, count).
    pub fn rounds(&self) -> Vec<(u64, u64)> {
        let mut rounds = BTreeMap::new();
        for (at, _, _) in self.transmissions() {
            *rounds.entry(at).or_insert(0) += 1;
        }
        rounds.into_iter().collect()
    }
}

fn drop_if(lost: bool) -> Fate {
    if lost { Fate::Drop } else { Fate::Deliver }
}

/// Creates a pair that loses these packets of the sender (the SYN is packet 0).
pub fn dropping(config: Config, lost: &'static [usize]) -> Pair {
    Pair::new(config).losing(|packet| lost.contains(&packet))
}

/// Returns a configuration for hand-worked values: segments of 1000 B, acknowledged individually, and a timeout of 10
/// ms.
pub fn plain() -> Config {
    Config {
        mss: 1_000,
        delayed_ack: 1,
        ..Config::default()
    }
}

/// Returns DCTCP with g = 1/16.
pub fn dctcp(initial_alpha: f64) -> CongestionControl {
    CongestionControl::Dctcp(Dctcp {
        gain_shift: 4,
        initial_alpha,
    })
}

/// Returns D2TCP with d in [`d_min`, `d_max`].
pub fn d2tcp(initial_alpha: f64, d_min: f64, d_max: f64) -> CongestionControl {
    let options = D2tcp {
        d_min,
        d_max,
        d_expired: 0.5,
        completion: Completion::Approximate,
    };
    CongestionControl::D2tcp(
        Dctcp {
            gain_shift: 4,
            initial_alpha,
        },
        options,
    )
}

pub fn us(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}
