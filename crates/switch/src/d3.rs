//! D3's router at a port (D3 §4.3, §4.4): the driver of `proto::d3` with checksums, policing and counters.

use crate::frame::Frame;
use crate::headers::changed_checksum;
use crate::report::D3Report;
use duetime_core::{Rate, Span, Time};
use duetime_link::{Frame as _, Port};
use duetime_proto::d3::wire::{Found, ROUTED_BYTES, claim, hop_request, write_answer};
use duetime_proto::d3::{Allocator, Config, HopAnswer, HopRequest, Police, PortDriver, Reading};

/// Bytes of a UDP header.
pub(crate) const UDP: usize = 8;
/// Bytes of the UDP and D3 headers of a packet with a request.
pub(crate) const REQUEST_BYTES: usize = UDP + ROUTED_BYTES;

#[derive(Debug)]
pub(crate) struct Router {
    driver: PortDriver,
    config: Config,
    /// Exponent of all rates.
    scale: i8,
    requests: u64,
    denied: u64,
    unanswered: u64,
    police: Police,
    policed: u64,
}

impl Router {
    /// Creates the idle router of the port with this index and rate. `uplinks` are the rates of the switch's
    /// interfaces. Ports adapt at different phases of the update interval.
    pub fn new(
        config: &Config,
        rate: Rate,
        index: usize,
        uplinks: impl Iterator<Item = Rate>,
    ) -> Self {
        let phase = config.interval() * (index as u64 % 16);
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

    /// Returns true if [`admits`](Self::admits) may return false.
    #[inline]
    pub fn polices(&self) -> bool {
        !self.police.is_empty()
    }

    /// Returns true if the policer lets a packet of the interface pass.
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

    /// Samples the queue, if the driver needs it, when a frame reaches the port.
    #[inline]
    pub fn sample(&mut self, now: Time, port: &mut Port<Frame>) {
        if self.driver.needs_sample(&self.config) {
            port.drain(now);
            self.driver.sample(queue(&self.config, port));
        }
    }

    /// Answers the request of a frame. `headers` are the bytes from the UDP header on, with a datagram that
    /// [has a request](duetime_proto::d3::wire::has_request). Returns true if the router was idle before.
    #[inline(never)]
    pub fn answer(&mut self, now: Time, headers: &mut [u8; REQUEST_BYTES]) -> bool {
        let was_idle = self.next_update() == Time::MAX;
        if let Some(request) = self.read(headers) {
            let answer = self.driver.answer(&self.config, now, &request);
            self.reply(headers, &request, answer);
        }
        was_idle
    }

    /// Like [`Self::answer`], for a router that polices.
    #[cold]
    #[inline(never)]
    pub fn answer_policed(
        &mut self,
        now: Time,
        interface: u16,
        headers: &mut [u8; REQUEST_BYTES],
    ) -> bool {
        let was_idle = self.next_update() == Time::MAX;
        if let Some(request) = self.read(headers) {
            let (driver, config) = (&mut self.driver, &self.config);
            let ingress = usize::from(interface);
            let answer = self.police.answering(driver, ingress, |driver| {
                driver.answer(config, now, &request)
            });
            self.reply(headers, &request, answer);
        }
        was_idle
    }

    /// Reads and counts a request.
    #[expect(clippy::inline_always, reason = "the packet path: measured")]
    #[inline(always)]
    fn read(&mut self, headers: &[u8; REQUEST_BYTES]) -> Option<HopRequest> {
        let found = headers.last_chunk().map_or(Found::Nothing, hop_request);
        match found {
            Found::Nothing => None,
            Found::Full => {
                self.requests += 1;
                self.unanswered += 1;
                None
            }
            Found::Request(request) => {
                self.requests += 1;
                if request.scale != self.scale {
                    self.unanswered += 1;
                }
                Some(request)
            }
        }
    }

    /// Writes the answer and updates the UDP checksum. Zero, which means no checksum, remains (RFC 768).
    #[expect(clippy::inline_always, reason = "the packet path: measured")]
    #[inline(always)]
    fn reply(
        &mut self,
        headers: &mut [u8; REQUEST_BYTES],
        request: &HopRequest,
        answer: HopAnswer,
    ) {
        self.denied += u64::from(answer.outcome.denied);
        let (udp, datagram) = headers.split_at_mut(UDP);
        let (Some(checksum), Some(datagram)) = (udp.last_chunk_mut(), datagram.first_chunk_mut())
        else {
            return;
        };
        if let Some(words) = write_answer(datagram, request, answer)
            && *checksum != [0; 2]
        {
            *checksum = match changed_checksum(u16::from_le_bytes(*checksum), words) {
                0 => [u8::MAX; 2],
                changed => changed.to_le_bytes(),
            };
        }
    }

    /// Returns the time of the next update, or [`Time::MAX`] while no flow is registered.
    #[inline]
    pub fn next_update(&self) -> Time {
        self.driver.next_timeout()
    }

    /// Performs the updates due by `now`, each at its own time.
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
    /// Creates the report of an allocator with rates of this scale and without requests.
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

/// Returns q of the capacity adaptation for a drained port (D3 §4.4).
fn queue(config: &Config, port: &Port<Frame>) -> u64 {
    if config.router.variant.queue_in_service {
        port.queue_bytes()
    } else {
        port.queue_bytes_waiting()
    }
}

/// Converts a rate in 1/256 of 2^scale bytes per microsecond to bits per second.
fn bits_per_second(rate: u64, scale: i8) -> u64 {
    let bits = (u128::from(rate) * 8_000_000) << (i32::from(scale) + 16);
    u64::try_from(bits >> (16 + 8)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_bits_per_second() {
        assert_eq!(bits_per_second(100 * 256, -3), 100_000_000);
        assert_eq!(bits_per_second(125 * 256, 0), 1_000_000_000);
        assert_eq!(bits_per_second(128, 0), 4_000_000);
        assert_eq!(bits_per_second(u64::MAX, 15), u64::MAX);
    }
}
