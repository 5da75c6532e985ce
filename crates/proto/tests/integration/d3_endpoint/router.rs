//! Router port of the virtual network, with the expected values of its counters.

use duetime_core::{Rate, Span, Time};
use duetime_proto::d3::endpoint::Options;
use duetime_proto::d3::wire::{self, Kind, decode};
use duetime_proto::d3::{Config, Flags, PortDriver, Reading};
use std::collections::BTreeMap;

pub struct Router {
    driver: PortDriver,
    config: Config,
    rate: Rate,
    free: Time,
    departed: u64,
    /// State of each live flow after its last request: desired rate and allocation, in units.
    live: BTreeMap<Flow, (u64, u64)>,
    /// Time of the last request.
    pub last: Time,
    pub slowest_pace: u8,
}

/// Flow as seen by a router with per-flow state: its sender's host and identifier, and whether it is the flow of
/// acknowledgements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Flow {
    host: usize,
    source: u64,
    is_answer: bool,
}

impl Flow {
    /// Returns the flow of a valid datagram.
    pub fn from_datagram(host: usize, datagram: &[u8]) -> Option<Self> {
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
            slowest_pace: 0,
        }
    }

    /// Restarts the router with all counters at zero, while the flows continue.
    pub fn restart(&mut self) {
        self.driver = PortDriver::new(&self.config, self.rate, Span::ZERO);
    }

    /// Removes a host's flows.
    pub fn remove_host(&mut self, host: usize) {
        self.live.retain(|flow, _| flow.host != host);
    }

    /// Runs the updates that are due.
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

    /// Forwards a datagram that arrives now. Returns the time at which it has left.
    pub fn pass(&mut self, now: Time, flow: Option<Flow>, datagram: &mut [u8]) -> Time {
        self.run_until(now);
        self.driver.sample(self.queue(now));
        let (driver, config, live) = (&mut self.driver, &self.config, &mut self.live);
        let (last, slowest_pace) = (&mut self.last, &mut self.slowest_pace);
        wire::route(datagram, |request| {
            let answer = driver.answer(config, now, request);
            *last = now;
            *slowest_pace = (*slowest_pace).max(request.pace);
            let Some(flow) = flow else { return answer };
            if request.flags.contains(Flags::FIN) {
                live.remove(&flow);
            } else {
                let units = |rate: duetime_proto::d3::EncodedRate| rate.byte().unwrap_or(0).into();
                let outcome = answer.outcome;
                live.insert(flow, (units(outcome.desired), units(outcome.granted)));
            }
            answer
        });
        let bytes = datagram.len() as u64 + 28;
        self.departed += bytes;
        self.free = self.free.max(now) + self.rate.transmit(bytes);
        self.free
    }

    /// Returns the actual and the expected N, D and A: flows, and units of rate.
    pub fn counters(&self) -> ([u64; 3], [u64; 3]) {
        let allocator = self.driver.allocator();
        let units = |rate: u64| rate / 256;
        let actual = [
            allocator.flows(),
            units(allocator.demand()),
            units(allocator.allocated()),
        ];
        let sum = |component: fn(&(u64, u64)) -> u64| self.live.values().map(component).sum();
        (
            actual,
            [
                self.live.len() as u64,
                sum(|rates| rates.0),
                sum(|rates| rates.1),
            ],
        )
    }

    /// Returns true if no flow is registered and the whole link is available.
    pub fn is_idle(&self) -> bool {
        self.driver.allocator().is_idle()
    }

    /// Returns the maximum time for counters to become correct, or clear, after the last fault: four epochs and the
    /// rest of the current one, extended by the slowest flow.
    pub fn recovery_time(&self) -> Span {
        let epoch = self.config.interval() * u64::from(self.config.router.reset_intervals / 2);
        epoch * 5 * (1 << (2 * self.slowest_pace))
    }

    fn queue(&self, now: Time) -> u64 {
        let waiting = self.free.since(now.min(self.free));
        self.rate.as_bps() / 8 * waiting.as_ns() / 1_000_000_000
    }
}
