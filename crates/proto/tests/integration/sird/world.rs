//! Hosts on one switch, step by step.

use super::*;

/// Hosts on one switch. Each step takes the time of a full packet, in which each link carries one data packet.
pub struct World {
    pub config: Config,
    pub now: Time,
    pub senders: BTreeMap<u32, Sender<u32>>,
    pub receivers: BTreeMap<u32, Receiver<u32>>,
    /// Packets for a receiver that have passed the switch, and their arrival times.
    pub downlinks: BTreeMap<u32, VecDeque<(Time, Packet)>>,
    /// Packets for a sender: arrival time, sender, message.
    pub replies: VecDeque<(Time, u32, u64, Control)>,
    /// Packets lost, in thousandths.
    pub loss_permille: u64,
    /// Maximum additional delay of a data packet in steps, which reorders packets.
    pub disorder: u64,
    pub sent: u64,
    pub delivered: Vec<(u32, u32)>,
    pub marked: BTreeMap<u32, usize>,
}

pub type Packet = (MessageId, Body, Announcement, u32);

/// One-way delay in steps.
const DELAY: u64 = 30;

impl World {
    pub fn new(config: Config, senders: &[u32], receivers: &[u32]) -> Self {
        Self {
            config,
            now: Time::ZERO,
            senders: senders
                .iter()
                .map(|&host| (host, sender(&config)))
                .collect(),
            receivers: (receivers.iter())
                .map(|&host| (host, receiver(&config)))
                .collect(),
            downlinks: receivers
                .iter()
                .map(|&host| (host, VecDeque::new()))
                .collect(),
            replies: VecDeque::new(),
            loss_permille: 0,
            disorder: 0,
            sent: 0,
            delivered: Vec::new(),
            marked: BTreeMap::new(),
        }
    }

    /// Submits a message of full packets. The driver's data is the receiver.
    pub fn send(&mut self, from: u32, to: u32, number: u64, packets: u64) {
        let sender = self.senders.get_mut(&from).unwrap();
        sender.send(&self.config, self.now, number, (to, packets * PAYLOAD), to);
    }

    pub fn is_lost(&mut self) -> bool {
        self.sent += 1;
        mix(self.sent, 1) % 1_000 < self.loss_permille
    }

    pub fn step(&mut self) {
        let now = self.now;
        while let Some(&(due, from, number, control)) = self.replies.front()
            && due <= now
        {
            self.replies.pop_front();
            self.senders
                .get_mut(&from)
                .unwrap()
                .input(now, number, control);
        }
        for from in self.senders.keys().copied().collect::<Vec<_>>() {
            let sender = self.senders.get_mut(&from).unwrap();
            sender.timeout(now);
            let Some((data, announcement, &to)) = sender.poll_transmit() else {
                continue;
            };
            if let Body::Payload {
                is_congested: true, ..
            } = data.body
            {
                *self.marked.entry(from).or_default() += 1;
            }
            let id = MessageId {
                source: from,
                number: data.message,
            };
            if !self.is_lost() {
                let extra = mix(self.sent, 2) % (self.disorder + 1);
                let due = now + PACKET_TIME * (DELAY + extra);
                let packet = (due, (id, data.body, announcement, from));
                let downlink = self.downlinks.get_mut(&to).unwrap();
                let place = downlink.partition_point(|&(other, _)| other <= due);
                downlink.insert(place, packet);
            }
        }
        for to in self.receivers.keys().copied().collect::<Vec<_>>() {
            let receiver = self.receivers.get_mut(&to).unwrap();
            receiver.timeout(now);
            if let Some(&(due, (id, body, announcement, from))) = self.downlinks[&to].front()
                && due <= now
            {
                self.downlinks.get_mut(&to).unwrap().pop_front();
                let number = id.number as u32;
                receiver.input(
                    &self.config,
                    now,
                    id,
                    body,
                    (announcement, from | number << 8),
                    false,
                );
            }
            while let Some(message) = receiver.take_delivered() {
                self.delivered.push((to, message.tag >> 8));
            }
            let mut replies = Vec::new();
            while let Some(reply) = receiver.poll_transmit() {
                replies.push(reply);
            }
            for (tag, control) in replies {
                if !self.is_lost() {
                    let due = now + PACKET_TIME * DELAY;
                    let reply = (due, tag & 0xff, u64::from(tag >> 8), control);
                    self.replies.push_back(reply);
                }
            }
        }
        self.now += PACKET_TIME;
    }

    pub fn run(&mut self, steps: u64) {
        for _ in 0..steps {
            self.step();
        }
    }
}
