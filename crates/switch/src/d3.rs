//! D3's router at a port (D3 §4.3, §4.4): what surrounds the port driver of `proto::d3`.

use crate::frame::Frame;
use crate::headers::changed_checksum;
use crate::report::D3Report;
use duetime_core::{Rate, Span, Time};
use duetime_link::{Frame as _, Port};
use duetime_proto::d3::datagram::{ROUTED_BYTES, Routed, claim, route_headers};
use duetime_proto::d3::{Allocator, Config, Police, PortDriver, Reading};

/// Bytes of a UDP header.
const UDP: usize = 8;

/// The driver of one port, and what it has answered.
#[derive(Debug)]
pub(crate) struct Router {
    driver: PortDriver,
    config: Config,
    requests: u64,
    denied: u64,
    unanswered: u64,
    /// By interface.
    police: Police,
    policed: u64,
}

impl Router {
    /// That of the port with this number and rate, idle, at a switch whose interfaces have uplinks of these rates. Ports
    /// do not all adapt at once.
    pub fn new(
        config: &Config,
        rate: Rate,
        number: usize,
        uplinks: impl Iterator<Item = Rate>,
    ) -> Self {
        let phase = config.update_interval * (number as u64 % 16);
        let phase = Span::from_ps(phase.as_ps() / 16);
        Self {
            driver: PortDriver::new(config, rate, phase),
            config: *config,
            requests: 0,
            denied: 0,
            unanswered: 0,
            police: Police::new(config, uplinks, rate),
            policed: 0,
        }
    }

    /// Whether [`admits`](Self::admits) can say no.
    #[inline]
    pub fn polices(&self) -> bool {
        !self.police.is_empty()
    }

    /// Whether a packet of an interface may come to the port.
    #[cold]
    pub fn admits(&mut self, now: Time, interface: u16, frame: Frame, bytes: &[u8]) -> bool {
        let datagram = frame.request_at().and_then(|at| bytes.get(at..));
        let claim = datagram.map(claim).unwrap_or_default();
        let length = u64::from(frame.wire_bytes());
        let admitted = self
            .police
            .admits(now, usize::from(interface), length, claim);
        self.policed += u64::from(!admitted);
        admitted
    }

    /// A frame comes to the port.
    #[inline]
    pub fn sample(&mut self, now: Time, port: &mut Port<Frame>) {
        if self.driver.needs_sample(&self.config) {
            port.drain(now);
            self.driver.sample(queue(&self.config, port));
        }
    }

    /// The frame of an interface has a request, in the UDP payload that begins at `at`: what says so has looked at its form
    /// ([`has_request`](duetime_proto::d3::datagram::has_request)). The UDP checksum follows what changes; zero, which says
    /// that there is none, stays (RFC 768).
    #[inline]
    pub fn answer(&mut self, now: Time, interface: u16, frame: &mut [u8], at: usize) {
        let Some(headers) = frame
            .get_mut(at - UDP..)
            .and_then(<[u8]>::first_chunk_mut::<{ UDP + ROUTED_BYTES }>)
        else {
            return;
        };
        let (udp, datagram) = headers.split_at_mut(UDP);
        let (Some(checksum), Some(datagram)) = (udp.last_chunk_mut(), datagram.first_chunk_mut())
        else {
            return;
        };
        let Self {
            driver,
            config,
            police,
            ..
        } = self;
        let (mut answers, mut denied) = (false, false);
        let routed = route_headers(datagram, |asked| {
            answers = asked.scale == config.exponent();
            let ingress = usize::from(interface);
            let answer =
                police.answering(driver, ingress, |driver| driver.answer(config, now, asked));
            denied = answer.outcome.denied;
            answer
        });
        if routed == Routed::Nothing {
            return;
        }
        self.requests += 1;
        if !answers {
            self.unanswered += 1;
        }
        self.denied += u64::from(denied);
        if let Routed::Answered { words } = routed
            && *checksum != [0; 2]
        {
            *checksum = match changed_checksum(u16::from_be_bytes(*checksum), words) {
                0 => [u8::MAX; 2],
                changed => changed.to_be_bytes(),
            };
        }
    }

    /// When the driver next adapts; [`Time::MAX`] while it knows no flow.
    #[inline]
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
            self.police
                .timeout(&mut self.driver, &self.config, due, reading);
        }
    }

    pub fn report(&self) -> D3Report {
        D3Report {
            requests: self.requests,
            denied: self.denied,
            unanswered: self.unanswered,
            policed: self.policed,
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
