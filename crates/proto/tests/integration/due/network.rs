//! Sources, and receivers behind a link of 1 Gbps with an unlimited queue. All paths have the same latency.

use duetime_core::random::mix;
use duetime_core::{Rate, Span, Time};
use duetime_proto::due::{
    Announcement, Body, Config, Control, Demand, Link, MessageId, Receiver, Sender,
};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

pub const LATENCY: Span = Span::from_us(50);
pub const RATE: Rate = Rate::from_gbps(1);

/// Impairments of the path to the receiver and back, in 1/1000 of the packets.
#[derive(Clone, Copy, Debug, Default)]
pub struct Faults {
    pub lost: u64,
    pub duplicated: u64,
    pub late: u64,
    pub seed: u64,
}

/// Packet in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Packet {
    Data {
        source: u32,
        message: u64,
        payload: Option<Payload>,
    },
    Control {
        source: u32,
        message: u64,
        reply: Reply,
    },
}

/// [`Body::Payload`] with an order: number, announced packets and whether it is the last.
type Payload = (u64, u64, bool);

/// [`Control`] with an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Reply {
    Grant(u64, u64, u8, bool),
    Resend(u64, u64),
    Done,
}

impl Reply {
    fn of(control: Control) -> Self {
        match control {
            Control::Grant {
                up_to,
                arrived,
                class,
                is_background,
            } => Self::Grant(up_to, arrived, class, is_background),
            Control::Resend { from, to } => Self::Resend(from, to),
            Control::Done => Self::Done,
        }
    }

    fn control(self) -> Control {
        match self {
            Self::Grant(up_to, arrived, class, is_background) => Control::Grant {
                up_to,
                arrived,
                class,
                is_background,
            },
            Self::Resend(from, to) => Control::Resend { from, to },
            Self::Done => Control::Done,
        }
    }
}

/// Use of the link by several receivers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// Each as if it were alone.
    None,
    /// Each knows the messages to the others.
    Link,
}

/// Sources with their messages, and the receivers. Message `m` is for receiver `m` modulo the number of receivers.
pub struct Network {
    pub config: Config,
    pub now: Time,
    pub senders: Vec<Sender<u64>>,
    pub receivers: Vec<Receiver<(u32, u64)>>,
    /// Arrival of each delivered message, by its number.
    pub delivered: BTreeMap<u64, Time>,
    /// Most packets that were at once granted and not arrived.
    pub max_in_flight: i64,
    /// Packets of data that reached the receiver.
    pub arrived: u64,
    /// Largest time that a packet waited for the receivers' link.
    pub max_queue: Span,
    sharing: Sharing,
    /// Messages of each receiver, as the others know them.
    demands: Vec<Vec<Demand>>,
    announcements: BTreeMap<u64, Announcement>,
    events: BinaryHeap<Reverse<(Time, u64, Packet)>>,
    submissions: Vec<(Time, u32, u64)>,
    dead: Vec<u32>,
    /// Time at which the receiver's link and each source's link are free.
    link_free: Time,
    uplink_free: Vec<Time>,
    faults: Faults,
    draws: u64,
    serial: u64,
    granted: BTreeMap<u64, u64>,
    counted: BTreeMap<u64, u64>,
    /// Packets that were granted and have not arrived, of messages with a grant.
    in_flight: i64,
}

impl Network {
    pub fn new(sources: usize, faults: Faults) -> Self {
        Self::with_config(Config::default(), sources, faults)
    }

    pub fn with_config(config: Config, sources: usize, faults: Faults) -> Self {
        Self::with_receivers(config, sources, faults, 1, Sharing::None)
    }

    pub fn with_receivers(
        config: Config,
        sources: usize,
        faults: Faults,
        receivers: usize,
        sharing: Sharing,
    ) -> Self {
        let link = Link {
            rate: RATE,
            round_trip: LATENCY * 2 + RATE.transmit(1_500) * 2,
            framing_bytes: 0,
            classes: 1,
            keeps_order: true,
        };
        Self {
            config,
            now: Time::ZERO,
            senders: (0..sources).map(|_| Sender::new(&config, &link)).collect(),
            receivers: (0..receivers)
                .map(|_| Receiver::new(&config, &link))
                .collect(),
            max_queue: Span::ZERO,
            sharing,
            demands: vec![Vec::new(); receivers],
            delivered: BTreeMap::new(),
            max_in_flight: 0,
            arrived: 0,
            announcements: BTreeMap::new(),
            events: BinaryHeap::new(),
            submissions: Vec::new(),
            dead: Vec::new(),
            link_free: Time::ZERO,
            uplink_free: vec![Time::ZERO; sources],
            faults,
            draws: 0,
            serial: 0,
            granted: BTreeMap::new(),
            counted: BTreeMap::new(),
            in_flight: 0,
        }
    }

    /// Submits a message from a source at a time.
    pub fn submit(&mut self, at: Time, source: u32, message: u64, announcement: Announcement) {
        self.announcements.insert(message, announcement);
        self.submissions.push((at, source, message));
    }

    /// Stops a source: it sends and receives nothing from now on.
    pub fn kill(&mut self, source: u32) {
        self.dead.push(source);
    }

    /// Runs until nothing happens or `end` is reached.
    pub fn run(&mut self, end: Time) {
        self.submissions.sort_by_key(|&(at, ..)| Reverse(at));
        loop {
            self.transmit();
            let Some(next) = self.next_event().filter(|&next| next <= end) else {
                self.now = end;
                return;
            };
            self.now = next;
            self.advance();
        }
    }

    /// Asserts that a message was delivered before a time.
    #[track_caller]
    pub fn assert_delivered_before(&self, message: u64, time: Time) {
        let delivered = self.delivered.get(&message);
        assert!(
            delivered.is_some_and(|&at| at < time),
            "{delivered:?}, not before {time}"
        );
    }

    fn next_event(&self) -> Option<Time> {
        let timers = self
            .senders
            .iter()
            .map(Sender::next_timeout)
            .chain(self.receivers.iter().map(Receiver::next_timeout));
        let packets = self.events.peek().map(|Reverse((at, ..))| *at);
        let busy = self.senders.iter().zip(&self.uplink_free);
        let polls = busy
            .filter(|(sender, _)| sender.can_transmit())
            .map(|(_, free)| *free);
        let submission = self.submissions.last().map(|&(at, ..)| at);
        let all = timers.chain(packets).chain(polls).chain(submission);
        all.filter(|&at| at != Time::MAX)
            .min()
            .map(|at| at.max(self.now))
    }

    fn advance(&mut self) {
        while let Some(&(at, source, message)) = self.submissions.last()
            && at <= self.now
        {
            self.submissions.pop();
            let announcement = self.announcements[&message];
            self.senders[source as usize].send(
                &self.config,
                self.now,
                message,
                announcement,
                message,
            );
        }
        while let Some(&Reverse((at, _, packet))) = self.events.peek()
            && at <= self.now
        {
            self.events.pop();
            self.arrive(packet);
        }
        for sender in &mut self.senders {
            sender.timeout(self.now);
        }
        for index in 0..self.receivers.len() {
            self.read_others(index);
            self.receivers[index].timeout(&self.config, self.now);
            self.write_own(index);
        }
    }

    /// Passes the messages of the other receivers to a receiver.
    fn read_others(&mut self, index: usize) {
        if self.sharing == Sharing::Link {
            let others = self.demands.iter().enumerate();
            let others = others.filter(|&(other, _)| other != index);
            let demands: Vec<Demand> = others.flat_map(|(_, demands)| demands).copied().collect();
            self.receivers[index].share_link(&self.config, self.now, index as u16, &demands);
        }
    }

    fn write_own(&mut self, index: usize) {
        if self.receivers[index].take_ranked() {
            self.demands[index] = self.receivers[index].demands(index as u16).collect();
        }
    }

    fn arrive(&mut self, packet: Packet) {
        match packet {
            Packet::Data {
                source,
                message,
                payload,
            } => {
                self.arrived += 1;
                let body =
                    payload.map_or(Body::Abort, |(number, announced, is_last)| Body::Payload {
                        number,
                        is_retransmission: false,
                        announced,
                        is_last,
                    });
                let description = (self.announcements[&message], (source, message));
                let id = MessageId {
                    source,
                    number: message,
                };
                *self.counted.entry(message).or_default() += 1;
                if let Some(granted) = self.granted.get_mut(&message) {
                    self.in_flight -= 1;
                    // The last packet cancels grants for packets that do not exist.
                    if let Some((number, _, true)) = payload
                        && number + 1 < *granted
                    {
                        self.in_flight -= (*granted - number - 1) as i64;
                        *granted = number + 1;
                    }
                }
                let index = message as usize % self.receivers.len();
                self.read_others(index);
                let receiver = &mut self.receivers[index];
                let described = || Some(description);
                receiver.input(&self.config, self.now, id, body, described, false);
                self.write_own(index);
                while let Some(delivered) = self.receivers[index].take_delivered() {
                    let before = self.delivered.insert(delivered.tag.1, self.now);
                    assert_eq!(
                        before, None,
                        "message {} was delivered twice",
                        delivered.tag.1
                    );
                }
            }
            Packet::Control {
                source,
                message,
                reply,
            } => {
                if !self.dead.contains(&source) {
                    self.senders[source as usize].input(self.now, message, reply.control());
                }
            }
        }
    }

    /// Moves packets from the state machines to the network.
    fn transmit(&mut self) {
        for source in 0..self.senders.len() {
            if self.dead.contains(&(source as u32)) {
                while self.senders[source].poll_transmit().is_some() {}
                continue;
            }
            while self.uplink_free[source] <= self.now {
                let Some((data, announcement, _)) = self.senders[source].poll_transmit() else {
                    break;
                };
                let (payload, bytes) = match data.body {
                    Body::Payload {
                        number,
                        announced,
                        is_last,
                        ..
                    } => (
                        Some((number, announced, is_last)),
                        self.config.payload_of(announcement.bytes, number),
                    ),
                    Body::Abort => (None, 0),
                };
                let time = RATE.transmit(u64::from(bytes) + 60);
                self.uplink_free[source] = self.now + time;
                let packet = Packet::Data {
                    source: source as u32,
                    message: data.message,
                    payload,
                };
                let reaches_link = self.now + time + LATENCY;
                self.max_queue = self
                    .max_queue
                    .max(self.link_free.since(reaches_link.min(self.link_free)));
                self.link_free = self.link_free.max(reaches_link) + time;
                self.send(self.link_free, packet);
            }
        }
        let replies = |receiver: &mut Receiver<_>| receiver.poll_transmit();
        while let Some(((source, message), control)) = self.receivers.iter_mut().find_map(replies) {
            if let Control::Grant { up_to, .. } = control {
                let arrived = self.counted[&message];
                let granted = self.granted.entry(message).or_insert_with(|| {
                    self.in_flight -= arrived as i64;
                    0
                });
                self.in_flight += up_to.saturating_sub(*granted) as i64;
                *granted = up_to.max(*granted);
            }
            self.send(
                self.now + LATENCY,
                Packet::Control {
                    source,
                    message,
                    reply: Reply::of(control),
                },
            );
        }
        self.max_in_flight = self.max_in_flight.max(self.in_flight);
    }

    fn send(&mut self, arrival: Time, packet: Packet) {
        if self.chance(self.faults.lost) {
            return;
        }
        let late = if self.chance(self.faults.late) {
            LATENCY * 3
        } else {
            Span::ZERO
        };
        self.push(arrival + late, packet);
        if self.chance(self.faults.duplicated) {
            self.push(arrival + LATENCY, packet);
        }
    }

    fn push(&mut self, arrival: Time, packet: Packet) {
        self.serial += 1;
        self.events.push(Reverse((arrival, self.serial, packet)));
    }

    fn chance(&mut self, permille: u64) -> bool {
        self.draws += 1;
        mix(self.faults.seed, self.draws) % 1_000 < permille
    }
}

/// Returns an announcement of a message without query.
pub fn plain(bytes: u64, deadline: Option<Time>) -> Announcement {
    Announcement {
        bytes,
        deadline,
        query: None,
        is_request: false,
    }
}

/// Returns a time after the start.
pub fn at_us(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}
