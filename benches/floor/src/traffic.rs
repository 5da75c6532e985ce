//! Flows of the workloads on fat trees.

use crate::random::{Random, cycle};

/// Traffic between the hosts of a network.
#[derive(Clone, Copy, Debug)]
pub enum Traffic {
    /// A random permutation without fixed points, one flow per host. The flows start at random within one packet time.
    Permutation {
        /// Size of each flow.
        bytes: u32,
    },
    /// Flows with the sizes of Hadoop between random hosts. They start at independent random times, so they are a
    /// Poisson process whose number of flows is given.
    Hadoop {
        /// Number of flows per host.
        flows: u32,
        /// Flows per second and host.
        rate: u32,
    },
}

/// Flow to simulate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Demand {
    /// Start in picoseconds.
    pub start: u64,
    /// Sending host.
    pub source: u32,
    /// Receiving host.
    pub destination: u32,
    /// Size in bytes.
    pub bytes: u32,
}

/// Sizes of the simulator's `hadoop`: lines with a size in bytes and the share of flows that are smaller.
const HADOOP: &str = include_str!("../../../crates/scenario/data/hadoop.csv");

impl Traffic {
    /// Returns the flows in order of their starts. `packet` is the time of a full-size packet.
    pub(crate) fn demands(self, hosts: u32, packet: u64) -> Vec<Demand> {
        let mut random = Random(1);
        let mut demands: Vec<Demand> = match self {
            Self::Permutation { bytes } => cycle(hosts as usize)
                .into_iter()
                .map(|(source, destination)| Demand {
                    start: random.below(packet),
                    source: source as u32,
                    destination: destination as u32,
                    bytes,
                })
                .collect(),
            Self::Hadoop { flows, rate } => {
                let points = points(HADOOP);
                let period = u64::from(flows) * 1_000_000_000_000 / u64::from(rate);
                let demand = |_| {
                    let source = random.below(u64::from(hosts));
                    let distance = 1 + random.below(u64::from(hosts) - 1);
                    Demand {
                        start: random.below(period),
                        source: source as u32,
                        destination: ((source + distance) % u64::from(hosts)) as u32,
                        bytes: size(&points, random.below(SHARES) as f64 / SHARES as f64),
                    }
                };
                (0..hosts * flows).map(demand).collect()
            }
        };
        demands.sort_unstable();
        demands
    }
}

/// Number of different shares at which sizes are drawn.
const SHARES: u64 = 1 << 53;

/// Returns the points of a distribution. Other lines of its text do not begin with a number.
fn points(text: &str) -> Vec<(f64, f64)> {
    let point = |line: &str| {
        let (size, share) = line.split_once(',')?;
        Some((size.parse().ok()?, share.parse().ok()?))
    };
    text.lines().filter_map(point).collect()
}

/// Returns the size below which a share of the flows is, from 0 to below 1: at least one byte.
#[expect(clippy::cast_sign_loss, reason = "sizes are above zero")]
fn size(points: &[(f64, f64)], share: f64) -> u32 {
    let above = points.partition_point(|point| point.1 <= share);
    let [(low, from), (high, to)] = [points[above - 1], points[above]];
    ((low + (high - low) * (share - from) / (to - from)) as u32).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_the_mean_of_hadoop() {
        let points = points(HADOOP);
        let count: u32 = 1_000_000;
        let sum: u64 = (0..count)
            .map(|number| u64::from(size(&points, f64::from(number) / f64::from(count))))
            .sum();
        assert_eq!(sum / u64::from(count) / 100, 1_204, "mean of 120.4 KB");
        assert_eq!(size(&points, 0.0), 1);
    }

    #[test]
    fn rate_of_flows_is_kept() {
        let traffic = Traffic::Hadoop {
            flows: 50,
            rate: 1_250,
        };
        let demands = traffic.demands(40, 0);
        assert_eq!(demands.len(), 2_000);
        let last = demands.last().unwrap().start;
        // 50 flows per host at 1,250 per second take 40 ms.
        assert!((39_000_000_000..40_000_000_000).contains(&last), "{last}");
        assert!(demands.iter().all(|flow| flow.source != flow.destination));
    }
}
