//! Sender with a scripted network.

use duetime_core::{Rate, Span, Time};
use duetime_proto::Message;
use duetime_proto::d3::{Config, EncodedRate, Flags, Packet, Request, Sender, Tag};

pub const GIGABIT: Rate = Rate::from_gbps(1);
/// Default round-trip time.
pub const RTT: Span = Span::from_us(300);
/// Returns a configuration that sends each grant as one burst.
pub fn bursts() -> Config {
    Config::default().with(|c| c.host.pacing = false)
}

/// Sending host with a network scripted by the test.
pub struct Host {
    pub config: Config,
    pub sender: Sender,
    pub now: Time,
    /// Number of the newest request.
    number: u16,
    flags: Flags,
}

impl Host {
    pub fn new(config: Config, bytes: u64, deadline: Option<Time>) -> Self {
        let sender = Sender::new(&config, Time::ZERO, GIGABIT, Message::new(bytes, deadline));
        Self {
            config,
            sender,
            now: Time::ZERO,
            number: 0,
            flags: Flags::default(),
        }
    }

    /// Returns all packets that may be sent now.
    pub fn burst(&mut self) -> Vec<Packet> {
        let mut packets = Vec::new();
        while let Some(packet) = self.sender.poll_transmit(&self.config, self.now) {
            if packet.request.is_some() {
                self.number = packet.tag.number;
                self.flags = packet.flags;
            }
            packets.push(packet);
        }
        assert!(!self.sender.can_transmit(&self.config));
        packets
    }

    pub fn answer(&self, ack: u64, rate: EncodedRate) -> Packet {
        let mut request = Request {
            index: 1,
            ..Request::default()
        };
        request.feedback[0] = rate;
        request.feedback[1] = rate;
        let kind = Flags(self.flags.0 & (Flags::SYN | Flags::FIN).0);
        Packet {
            seq: ack,
            flags: Flags::ACK | Flags::FEEDBACK | kind,
            tag: Tag {
                number: 1,
                echo: self.number,
                hops: 2,
                stamps: 0,
            },
            request: Some(request),
            ..Packet::default()
        }
    }

    /// Delivers the routers' answer `after` the last step. Returns the packets sent in response.
    pub fn grant(&mut self, after: Span, ack: u64, units: u8) -> Vec<Packet> {
        self.now += after;
        let answer = self.answer(ack, EncodedRate::from_byte(units));
        self.sender.input(&self.config, self.now, &answer);
        self.burst()
    }

    pub fn ack(&mut self, seq: u64, gap: bool) {
        let flags = Flags::ACK.with(Flags::GAP, gap);
        self.sender.input(
            &self.config,
            self.now,
            &Packet {
                seq,
                flags,
                ..Packet::default()
            },
        );
    }

    pub fn wait(&mut self) -> Vec<Packet> {
        self.now = self.sender.next_timeout();
        self.sender.timeout(&self.config, self.now);
        self.burst()
    }

    /// Returns the packets sent until `end`, including the `first` ones sent now: time, bytes on the wire, and whether
    /// it has a request.
    pub fn departures(&mut self, first: &[Packet], end: Time) -> Vec<(Time, u32, bool)> {
        let mut departures = Vec::new();
        let mut record = |now: Time, packets: &[Packet]| {
            let sizes = sizes(packets).into_iter();
            departures.extend(sizes.map(|(bytes, request)| (now, bytes, request)));
        };
        record(self.now, first);
        while self.sender.next_timeout() < end {
            let packets = self.wait();
            record(self.now, &packets);
        }
        departures
    }
}

/// Returns the bytes on the wire of each packet, and whether it has a request.
pub fn sizes(packets: &[Packet]) -> Vec<(u32, bool)> {
    packets
        .iter()
        .map(|packet| {
            (
                packet.wire_bytes(&Config::default()),
                packet.request.is_some(),
            )
        })
        .collect()
}

pub fn us(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}
