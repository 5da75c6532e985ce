//! One router port of the virtual network, with a record of what its counters should be.

use duetime_core::{Rate, Span, Time};
use duetime_proto::d3::datagram::{self, Kind, decode};
use duetime_proto::d3::endpoint::Options;
use duetime_proto::d3::{Config, Flags, PortDriver, Reading};
use std::collections::BTreeMap;

pub struct Router {
    driver: PortDriver,
    config: Config,
    rate: Rate,
    free: Time,
    departed: u64,
    /// What each live flow holds here, as its last request left it: desired rate and allocation, in units.
    live: BTreeMap<Seen, (u64, u64)>,
    /// When the last request came, and the slowest pace of all.
    pub last: Time,
    pub slowest: u8,
}

/// A flow, as a router that kept state of flows would know it: its sender's host and identifier, and whether it is the
/// flow of acknowledgements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Seen {
    host: usize,
    source: u64,
    is_answer: bool,
}

impl Seen {
    /// The flow of an intact datagram.
    pub fn of(host: usize, datagram: &[u8]) -> Option<Self> {
        let (header, _) = decode(datagram).ok()?;
        (header.kind == Kind::Packet).then_some(Self {
            host,
            source: header.source,
            is_answer: header.packet.flags.contains(Flags::ACK),
        })
    }
}

impl Router {
    pub fn new(options: &Options) -> Self {
        Self {
            driver: PortDriver::new(&options.config, options.uplink, Span::ZERO),
            config: options.config,
            rate: options.uplink,
            free: Time::ZERO,
            departed: 0,
            live: BTreeMap::new(),
            last: Time::ZERO,
            slowest: 0,
        }
    }

    /// It starts again with all counters at zero; the flows live on.
    pub fn restart(&mut self) {
        self.driver = PortDriver::new(&self.config, self.rate, Span::ZERO);
    }

    /// A host's flows have ended.
    pub fn forget(&mut self, host: usize) {
        self.live.retain(|flow, _| flow.host != host);
    }

    /// Updates that are due.
    pub fn run_until(&mut self, now: Time) {
        while self.driver.next_timeout() <= now {
            let due = self.driver.next_timeout();
            let reading = Reading {
                departed_bytes: self.departed,
                queue_bytes: self.queue(due),
            };
            self.driver.timeout(&self.config, due, reading);
        }
    }

    /// When a datagram that comes now has left.
    pub fn pass(&mut self, now: Time, seen: Option<Seen>, datagram: &mut [u8]) -> Time {
        self.run_until(now);
        self.driver.sample(self.queue(now));
        let (driver, config, live) = (&mut self.driver, &self.config, &mut self.live);
        let (last, slowest) = (&mut self.last, &mut self.slowest);
        datagram::route(datagram, |asked| {
            let answer = driver.answer(config, now, asked);
            *last = now;
            *slowest = (*slowest).max(asked.pace);
            let Some(seen) = seen else { return answer };
            if asked.flags.contains(Flags::FIN) {
                live.remove(&seen);
            } else {
                let units = |rate: duetime_proto::d3::EncodedRate| rate.byte().unwrap_or(0).into();
                let outcome = answer.outcome;
                live.insert(seen, (units(outcome.desired), units(outcome.granted)));
            }
            answer
        });
        let bytes = datagram.len() as u64 + 28;
        self.departed += bytes;
        self.free = self.free.max(now) + self.rate.transmit(bytes);
        self.free
    }

    /// N, D and A as they are, and as they should be: flows, and units of rate.
    pub fn counters(&self) -> ([u64; 3], [u64; 3]) {
        let allocator = self.driver.allocator();
        let units = |rate: u64| rate / 256;
        let are = [
            allocator.flows(),
            units(allocator.demand()),
            units(allocator.allocated()),
        ];
        let sum = |of: fn(&(u64, u64)) -> u64| self.live.values().map(of).sum();
        (
            are,
            [
                self.live.len() as u64,
                sum(|held| held.0),
                sum(|held| held.1),
            ],
        )
    }

    /// Whether it knows of no flow, and allocates all of its link.
    pub fn is_idle(&self) -> bool {
        self.driver.allocator().is_idle()
    }

    /// How long counters may need to be right, or clear, once nothing goes wrong: four epochs, and what is left of the
    /// present one. The slowest flow stretches them.
    pub fn healing_time(&self) -> Span {
        let epoch = self.config.interval() * u64::from(self.config.reset_intervals / 2);
        epoch * 5 * (1 << (2 * self.slowest))
    }

    fn queue(&self, now: Time) -> u64 {
        let waiting = self.free.since(now.min(self.free));
        self.rate.as_bps() / 8 * waiting.as_ns() / 1_000_000_000
    }
}
