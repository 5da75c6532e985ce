//! D3's router at a port (D3 §4.3, §4.4): what surrounds the port driver of `proto::d3`.

use crate::frame::Frame;
use crate::headers::changed_checksum;
use crate::report::D3Report;
use duetime_core::{Rate, Span, Time};
use duetime_link::{Frame as _, Port};
use duetime_proto::d3::datagram::{Found, ROUTED_BYTES, claim, hop_request, write_answer};
use duetime_proto::d3::{Allocator, Config, HopAnswer, HopRequest, Police, PortDriver, Reading};

/// Bytes of a UDP header.
pub(crate) const UDP: usize = 8;
/// Bytes of UDP's and D3's headers in front of the payload of a packet with a request.
pub(crate) const REQUEST_BYTES: usize = UDP + ROUTED_BYTES;

/// The driver of one port, and what it has answered.
#[derive(Debug)]
pub(crate) struct Router {
    driver: PortDriver,
    config: Config,
    /// The exponent of every rate.
    scale: i8,
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
        let phase = config.interval() * (number as u64 % 16);
        let phase = Span::from_ps(phase.as_ps() / 16);
        Self {
            driver: PortDriver::new(config, rate, phase),
            config: *config,
            scale: config.exponent(),
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

    /// Answers the request of a frame: these are its headers from UDP's on, and the datagram
    /// [has one](duetime_proto::d3::datagram::has_request). The result is whether the router was idle until now.
    #[inline(never)]
    pub fn answer(&mut self, now: Time, headers: &mut [u8; REQUEST_BYTES]) -> bool {
        let was_idle = self.next_update() == Time::MAX;
        if let Some(asked) = self.hear(headers) {
            let answer = self.driver.answer(&self.config, now, &asked);
            self.reply(headers, &asked, answer);
        }
        was_idle
    }

    /// The same where the router polices, for a frame of an interface.
    #[cold]
    #[inline(never)]
    pub fn answer_policed(
        &mut self,
        now: Time,
        interface: u16,
        headers: &mut [u8; REQUEST_BYTES],
    ) -> bool {
        let was_idle = self.next_update() == Time::MAX;
        if let Some(asked) = self.hear(headers) {
            let (driver, config) = (&mut self.driver, &self.config);
            let ingress = usize::from(interface);
            let answer = self
                .police
                .answering(driver, ingress, |driver| driver.answer(config, now, &asked));
            self.reply(headers, &asked, answer);
        }
        was_idle
    }

    /// Reads a request and counts it.
    #[expect(clippy::inline_always, reason = "the packet path: measured")]
    #[inline(always)]
    fn hear(&mut self, headers: &[u8; REQUEST_BYTES]) -> Option<HopRequest> {
        let found = headers.last_chunk().map_or(Found::Nothing, hop_request);
        match found {
            Found::Nothing => None,
            Found::Full => {
                self.requests += 1;
                self.unanswered += 1;
                None
            }
            Found::Request(asked) => {
                self.requests += 1;
                if asked.scale != self.scale {
                    self.unanswered += 1;
                }
                Some(asked)
            }
        }
    }

    /// The UDP checksum follows what changes; zero, which says that there is none, stays (RFC 768).
    #[expect(clippy::inline_always, reason = "the packet path: measured")]
    #[inline(always)]
    fn reply(&mut self, headers: &mut [u8; REQUEST_BYTES], asked: &HopRequest, answer: HopAnswer) {
        self.denied += u64::from(answer.outcome.denied);
        let (udp, datagram) = headers.split_at_mut(UDP);
        let (Some(checksum), Some(datagram)) = (udp.last_chunk_mut(), datagram.first_chunk_mut())
        else {
            return;
        };
        if let Some(words) = write_answer(datagram, asked, answer)
            && *checksum != [0; 2]
        {
            *checksum = match changed_checksum(u16::from_le_bytes(*checksum), words) {
                0 => [u8::MAX; 2],
                changed => changed.to_le_bytes(),
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
