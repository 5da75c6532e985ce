//! Sampled queues of ports.

use crate::config::Sampling;
use crate::frame::Frame;
use duetime_core::Time;
use duetime_link::Port;
use serde::Serialize;

/// Queue of a port at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Sample {
    /// Nanoseconds since the switch was opened.
    pub time_ns: u64,
    /// Packets in the port, including the one in service.
    pub packets: u32,
    /// Bytes in the port.
    pub bytes: u32,
    /// Bytes that have left the port since the switch was opened.
    pub departed_bytes: u64,
}

/// Sampled queue of one port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Series {
    /// Name of the port.
    pub port: String,
    /// Samples in order of time.
    pub samples: Vec<Sample>,
}

#[derive(Debug)]
pub(crate) struct Sampler {
    sampling: Sampling,
    next: Time,
    taken: usize,
    samples: Vec<Vec<Sample>>,
}

impl Sampler {
    pub fn new(sampling: Sampling, ports: usize) -> Self {
        Self {
            sampling,
            next: Time::ZERO,
            taken: 0,
            samples: vec![Vec::new(); ports],
        }
    }

    /// Takes the samples that are due by `now`. No packet may reach the ports before `now` after this call.
    pub fn sample(&mut self, now: Time, ports: &mut [Port<Frame>]) {
        while self.next <= now && self.taken < self.sampling.keep {
            for (port, samples) in ports.iter_mut().zip(&mut self.samples) {
                port.drain(self.next);
                samples.push(Sample {
                    time_ns: self.next.as_ns(),
                    packets: port.queue_packets(),
                    bytes: port.queue_bytes() as u32,
                    departed_bytes: port.departed_bytes(),
                });
            }
            self.taken += 1;
            self.next += self.sampling.every;
        }
    }

    /// Returns the samples of all ports, with the given names.
    pub fn series(&self, names: impl Iterator<Item = String>) -> Vec<Series> {
        let series = names.zip(&self.samples).map(|(port, samples)| Series {
            port,
            samples: samples.clone(),
        });
        series.collect()
    }
}
