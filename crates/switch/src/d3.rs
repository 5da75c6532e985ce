//! D3's router at a port (D3 §4.3, §4.4): what surrounds the port driver of `proto::d3`.

use crate::frame::Frame;
use crate::headers::updated_checksum;
use crate::report::D3Report;
use duetime_core::{Rate, Span, Time};
use duetime_link::Port;
use duetime_proto::d3::datagram::{HEADER_BYTES, route};
use duetime_proto::d3::{Allocator, Config, MAX_HOPS, PortDriver, Reading, Request};

/// Bytes of a UDP header.
const UDP: usize = 8;
/// The bytes of a datagram that a router changes: its checksum and the congestion header.
const CHANGED: usize = 4 + Request::WIRE_BYTES;

/// The driver of one port, and what it has answered.
#[derive(Debug)]
pub(crate) struct Router {
    driver: PortDriver,
    config: Config,
    requests: u64,
    denied: u64,
    unanswered: u64,
}

impl Router {
    /// That of the port with this number and rate, idle. Ports do not all adapt at once.
    pub fn new(config: &Config, rate: Rate, number: usize) -> Self {
        let phase = config.update_interval * (number as u64 % 16);
        let phase = Span::from_ps(phase.as_ps() / 16);
        Self {
            driver: PortDriver::new(config, rate, phase),
            config: *config,
            requests: 0,
            denied: 0,
            unanswered: 0,
        }
    }

    /// A frame comes to the port.
    pub fn sample(&mut self, now: Time, port: &mut Port<Frame>) {
        if self.driver.needs_sample(&self.config) {
            port.drain(now);
            self.driver.sample(queue(&self.config, port));
        }
    }

    /// The frame that comes has a request, in the UDP payload that begins at `at`. The UDP checksum follows what changes;
    /// zero, which says that there is none, stays (RFC 768).
    pub fn answer(&mut self, now: Time, frame: &mut [u8], at: usize) {
        let length = usize::from(u16::from_be_bytes([frame[at - 4], frame[at - 3]]));
        let Some((headers, datagram)) = frame
            .get_mut(..at - UDP + length)
            .and_then(|packet| packet.split_at_mut_checked(at))
        else {
            return;
        };
        let first = HEADER_BYTES - 4;
        let changed = first..first + CHANGED;
        let Some(before) = datagram[first..].first_chunk::<CHANGED>().copied() else {
            return;
        };
        let Self { driver, config, .. } = self;
        let (mut answers, mut outcome) = (false, None);
        let is_read = route(datagram, |flags, request| {
            answers = request.scale == config.exponent() && usize::from(request.index) < MAX_HOPS;
            outcome = Some(driver.process(config, now, flags, request));
        });
        if !is_read {
            return;
        }
        self.requests += 1;
        self.unanswered += u64::from(!answers);
        self.denied += u64::from(outcome.is_some_and(|outcome| outcome.denied));
        let place = at - 2..at;
        let checksum = u16::from_be_bytes([headers[at - 2], headers[at - 1]]);
        if checksum != 0 {
            let checksum = match updated_checksum(checksum, &before, &datagram[changed]) {
                0 => u16::MAX,
                checksum => checksum,
            };
            headers[place].copy_from_slice(&checksum.to_be_bytes());
        }
    }

    /// When the driver next adapts; [`Time::MAX`] while it knows no flow.
    pub fn next_update(&self) -> Time {
        self.driver.next_timeout()
    }

    /// The updates that are due by `now`, each at its time.
    pub fn update(&mut self, now: Time, port: &mut Port<Frame>) {
        while self.driver.next_timeout() <= now {
            let due = self.driver.next_timeout();
            port.drain(due);
            let reading = Reading {
                departed_bytes: port.departed_bytes(),
                queue_bytes: queue(&self.config, port),
            };
            self.driver.timeout(&self.config, due, reading);
        }
    }

    pub fn report(&self) -> D3Report {
        D3Report {
            requests: self.requests,
            denied: self.denied,
            unanswered: self.unanswered,
            ..D3Report::of(self.driver.allocator(), self.config.exponent())
        }
    }
}

impl D3Report {
    /// What an allocator holds, with rates of this scale, and no requests.
    pub fn of(allocator: &Allocator, scale: i8) -> Self {
        Self {
            flows: allocator.flows(),
            demand_bps: bits_per_second(allocator.demand(), scale),
            allocated_bps: bits_per_second(allocator.allocated(), scale),
            capacity_bps: bits_per_second(allocator.capacity(), scale),
            scale,
            ..Self::default()
        }
    }
}

/// q of capacity adaptation, of a port that was drained (D3 §4.4).
fn queue(config: &Config, port: &Port<Frame>) -> u64 {
    if config.queue_in_service {
        port.queue_bytes()
    } else {
        port.queue_bytes_waiting()
    }
}

/// A rate in 1/256 of an encoded unit, which is 2^scale bytes per microsecond.
fn bits_per_second(rate: u64, scale: i8) -> u64 {
    let bits = (u128::from(rate) * 8_000_000) << (i32::from(scale) + 16);
    u64::try_from(bits >> (16 + 8)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_told_in_bits_per_second() {
        assert_eq!(bits_per_second(100 * 256, -3), 100_000_000);
        assert_eq!(bits_per_second(125 * 256, 0), 1_000_000_000);
        assert_eq!(bits_per_second(128, 0), 4_000_000);
        assert_eq!(bits_per_second(u64::MAX, 15), u64::MAX);
    }
}
