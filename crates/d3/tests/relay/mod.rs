//! Relay with faults and a D3 router's port in each direction.

#[path = "../../../udp/tests/relay/mod.rs"]
mod faulty;

pub use faulty::{Faults, Relay, Route};

use duetime_core::{Rate, Span, Time};
use duetime_proto::d3::{PortDriver, Reading, wire};
use faulty::Routers;
use std::time::Duration;

/// Starts to relay through ports of this rate, until dropped.
pub fn start(route: Route, rate: Rate, faults: Faults, seed: u64) -> Relay {
    let mut ports = Ports {
        rate,
        drivers: Vec::new(),
        departed: [0; 2],
    };
    ports.restart();
    Relay::start(route, faults, seed, ports)
}

/// Ports towards the server and towards the client.
struct Ports {
    rate: Rate,
    drivers: Vec<PortDriver>,
    departed: [u64; 2],
}

impl Routers for Ports {
    /// Answers a request.
    fn pass(&mut self, direction: usize, elapsed: Duration, datagram: &mut [u8]) {
        let now = Time::ZERO + Span::from_ns(elapsed.as_nanos() as u64);
        let config = duetime_d3::Options::new(self.rate).config;
        let driver = &mut self.drivers[direction];
        let reading = Reading {
            departed_bytes: self.departed[direction],
            queue_bytes: 0,
        };
        driver.timeout(&config, now, reading);
        wire::route(datagram, |request| driver.answer(&config, now, request));
        self.departed[direction] += datagram.len() as u64 + 28;
    }

    fn restart(&mut self) -> bool {
        let config = duetime_d3::Options::new(self.rate).config;
        let port = || PortDriver::new(&config, self.rate, Span::ZERO);
        self.drivers = vec![port(), port()];
        true
    }
}
