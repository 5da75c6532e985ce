//! Delay from a packet's arrival at its host's NIC until the transport receives it (`[host] receive_delay`,
//! `receive_jitter`).
//!
//! The delay is part of the arrival time on the last link, so it costs no event. A link's ring keeps the times at which
//! packets reach the NIC, so the delay does not affect the port in front of the link. Packets stay in order. The jitter
//! models the wait for a processor: packets that arrive while the host waits for one are received together when it
//! runs, as a kernel polls a NIC's whole queue on one interrupt. Delays therefore never limit the rate.

use crate::setup::Setup;
use crate::workload::draw;
use duetime_core::prefetch::prefetch;
use duetime_core::random::{Purpose, Small};
use duetime_core::{Span, Time};
use duetime_scenario::model::Gap;

/// Receive side of the hosts.
pub struct Reception {
    /// Time from the NIC to the queue of packets that wait for a processor.
    delay: Span,
    jitter: Sampler,
    hosts: Vec<Host>,
    /// True if packets take time from the NIC to the transport.
    pub takes_time: bool,
}

/// Receive side of one host.
struct Host {
    /// Time at which a processor last ran, or will next run, for received packets.
    due: Time,
    delays: Small,
}

impl Reception {
    /// Creates the receive side of hosts that have received nothing.
    pub fn new(setup: &Setup) -> Self {
        let (delay, ref jitter) = setup.receive;
        let host = |host: u32| Host {
            due: Time::ZERO,
            delays: setup.streams.small(u64::from(host), Purpose::Receive),
        };
        Self {
            delay,
            jitter: Sampler::new(jitter),
            hosts: (0..setup.network.hosts()).map(host).collect(),
            takes_time: setup.receive != (Span::ZERO, Gap::ZERO),
        }
    }

    /// Returns the time at which the transport of `host` receives the packet that reaches the NIC at `arrival`. Call
    /// once per packet, in order of arrival.
    #[inline(always)]
    pub fn due(&mut self, host: u32, arrival: Time) -> Time {
        let host = &mut self.hosts[host as usize];
        let queued_ps = arrival.as_ps() + self.delay.as_ps();
        if queued_ps > host.due.as_ps() {
            host.due = Time::from_ps(queued_ps + self.jitter.draw(&mut host.delays));
        }
        host.due
    }

    /// Prefetches the state of a host.
    #[inline(always)]
    pub fn prefetch(&self, host: u32) {
        prefetch(&self.hosts[host as usize]);
    }
}

/// Binary logarithm of the number of steps of a [`Sampler`].
const STEP_BITS: u32 = 10;
const STEPS: usize = 1 << STEP_BITS;

/// Inverse CDF in steps of equal probability, each drawn as its middle. The last step, which contains the tail, is
/// exact.
struct Sampler {
    /// Picoseconds by step.
    times: [u64; STEPS],
    gap: Gap,
}

impl Sampler {
    fn new(gap: &Gap) -> Self {
        let mut times = [0; STEPS];
        for (step, time) in times.iter_mut().enumerate() {
            *time = draw::gap_at(gap, (step as f64 + 0.5) / STEPS as f64).as_ps();
        }
        Self {
            times,
            gap: gap.clone(),
        }
    }

    /// Draws a time in picoseconds.
    #[inline(always)]
    fn draw(&self, stream: &mut Small) -> u64 {
        let bits = stream.bits();
        let step = (bits >> (u32::BITS - STEP_BITS)) as usize;
        if step == STEPS - 1 {
            return self.tail(bits);
        }
        self.times[step]
    }

    #[cold]
    #[inline(never)]
    fn tail(&self, bits: u32) -> u64 {
        draw::gap_at(&self.gap, f64::from(bits) / 4_294_967_296.0).as_ps()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use duetime_core::random::Streams;

    /// Draws agree with the inverse CDF at every quantile, the tail included.
    #[test]
    fn sampler_follows_the_distribution() {
        let us = Span::from_us;
        for gap in [
            Gap::Fixed(us(3)),
            Gap::Uniform(us(1), us(9)),
            Gap::Exponential(us(5)),
            Gap::LogNormal {
                median: us(2),
                sigma: 1.0,
            },
        ] {
            let sampler = Sampler::new(&gap);
            let mut stream = Streams::new(1, 0).small(0, Purpose::Receive);
            let mut drawn: Vec<u64> = (0..200_000).map(|_| sampler.draw(&mut stream)).collect();
            drawn.sort_unstable();
            for share in [0.01, 0.1, 0.5, 0.9, 0.99, 0.9995] {
                let found = drawn[(share * drawn.len() as f64) as usize] as f64;
                let expected = draw::gap_at(&gap, share).as_ps() as f64;
                assert!(
                    (found / expected - 1.0).abs() < 0.08,
                    "{gap:?} at {share}: {found} for {expected}"
                );
            }
        }
    }
}
