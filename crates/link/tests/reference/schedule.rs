//! Random ports and random arrivals at them.

use crate::Packet;
use crate::plain::{self, NEVER, Network};
use duetime_core::random::Stream;
use duetime_link::Limit;

/// Feature exercised by a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discipline {
    Unlimited,
    PacketLimit,
    ByteLimit,
    MarkByPackets,
    MarkByBytes,
    SharedBuffer,
    StrictPriority,
    StrictPriorityShared,
}

/// One port and its link.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub rate_bps: u64,
    pub latency_ps: u64,
    pub limit: Limit,
    pub mark_at: Limit,
    pub classes: usize,
    pub far_end: FarEnd,
}

/// Driver of the far end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FarEnd {
    /// Driven by the port's driver, in order of time.
    Here,
    /// Driven by the port's driver, which is also notified of each departure under strict priority.
    HereNotified,
    /// Driven by the port's driver, ahead of time by the link latency: packets processed there left the port before any
    /// packet not yet offered arrived.
    Ahead,
    /// Driven by another driver, which takes packets as soon as they are sent.
    Remote,
}

/// Memory shared by all ports from `first_member` on.
#[derive(Clone, Copy, Debug)]
pub struct Memory {
    pub first_member: usize,
    pub capacity_bytes: u64,
    /// Multiple of 1/256.
    pub alpha: f64,
}

/// Random arrivals of one schedule. They depend on the reference ports, so that some coincide with departures.
pub struct Arrivals {
    steps: u64,
    now: u64,
    number: u32,
    mixed_ecn: bool,
    sizes: Sizes,
}

#[derive(Clone, Copy)]
enum Sizes {
    Same(u16),
    DataAndAcknowledgements,
    Any,
}

impl Memory {
    pub fn shares(self, port: usize) -> bool {
        port >= self.first_member
    }
}

impl Discipline {
    pub fn draw(self, draws: &mut Stream) -> (Vec<Shape>, Option<Memory>) {
        use Discipline::{SharedBuffer, StrictPriority, StrictPriorityShared};
        let shared = matches!(self, SharedBuffer | StrictPriorityShared);
        let prioritised = matches!(self, StrictPriority | StrictPriorityShared);
        let classes = if prioritised {
            draws.between(2, 4) as usize
        } else {
            1
        };
        let ports = if shared { draws.between(3, 9) } else { 1 };
        let (rate_bps, same_rate) = (rate(draws), draws.chance(0.7));
        let shapes = (0..ports).map(|_| Shape {
            rate_bps: if same_rate { rate_bps } else { rate(draws) },
            latency_ps: latency(draws),
            limit: self.limit(draws),
            mark_at: self.mark_at(draws),
            classes,
            far_end: pick(
                draws,
                &[
                    FarEnd::Here,
                    FarEnd::HereNotified,
                    FarEnd::Ahead,
                    FarEnd::Remote,
                ],
            ),
        });
        let shapes = shapes.collect();
        let memory = shared.then(|| Memory {
            first_member: draws.below(2) as usize,
            capacity_bytes: draws.between(1_500, 5_000 * ports),
            alpha: f64::from(pick(
                draws,
                &[16, 32, 64, 128, 256, 512, 1024, 2048, 77, 300_u32],
            )) / 256.0,
        });
        (shapes, memory)
    }

    fn limit(self, draws: &mut Stream) -> Limit {
        let packets = Limit::Packets(draws.between(1, 12) as u32);
        let bytes = Limit::Bytes(draws.between(1_500, 20_000));
        match self {
            Self::Unlimited => Limit::Unlimited,
            Self::PacketLimit => packets,
            Self::ByteLimit => bytes,
            Self::StrictPriority => pick(draws, &[Limit::Unlimited, packets, bytes]),
            _ => pick(draws, &[Limit::Unlimited, Limit::Unlimited, packets, bytes]),
        }
    }

    fn mark_at(self, draws: &mut Stream) -> Limit {
        let packets = Limit::Packets(draws.below(8) as u32);
        let bytes = Limit::Bytes(draws.below(10_000));
        match self {
            Self::Unlimited | Self::PacketLimit | Self::ByteLimit => Limit::Unlimited,
            Self::MarkByPackets => packets,
            Self::MarkByBytes => bytes,
            _ => pick(draws, &[Limit::Unlimited, packets, bytes]),
        }
    }
}

impl Arrivals {
    pub fn draw(draws: &mut Stream) -> Self {
        let steps = match draws.below(64) {
            0 => draws.between(1, 200),
            1..8 => draws.between(1, 40),
            _ => draws.between(1, 16),
        };
        let sizes = match draws.below(4) {
            0 | 1 => Sizes::DataAndAcknowledgements,
            2 => Sizes::Same(draws.between(1, 9_000) as u16),
            _ => Sizes::Any,
        };
        let now = if draws.chance(0.1) {
            draws.below(1 << 59)
        } else {
            draws.below(1 << 20)
        };
        Self {
            steps,
            now,
            number: 0,
            mixed_ecn: draws.chance(0.5),
            sizes,
        }
    }

    /// Returns the next arrival time and the number of packets, or `None` at the end of the schedule.
    pub fn next(
        &mut self,
        draws: &mut Stream,
        plain: &Network,
        unit_ps: u64,
    ) -> Option<(u64, u64)> {
        self.steps = self.steps.checked_sub(1)?;
        let departure = match draws.below(plain.ports.len() as u64 + 2) as usize {
            port if port < plain.ports.len() => plain.ports[port].next_departure(),
            _ => plain
                .ports
                .iter()
                .map(plain::Port::next_departure)
                .min()
                .unwrap_or(NEVER),
        };
        let until_departure = if departure == NEVER {
            0
        } else {
            departure - self.now
        };
        let gap = match draws.below(10) {
            0 => 0,
            1..4 => until_departure,
            4 => until_departure.saturating_sub(1),
            5 => until_departure + 1,
            6..9 => draws.below(2 * unit_ps),
            _ => draws.below(40 * unit_ps),
        };
        self.now += gap;
        Some((
            self.now,
            if draws.chance(0.3) {
                draws.between(2, 12)
            } else {
                1
            },
        ))
    }

    pub fn packet(&mut self, draws: &mut Stream) -> Packet {
        self.number += 1;
        let bytes = match self.sizes {
            Sizes::Same(bytes) => bytes,
            Sizes::DataAndAcknowledgements => pick(draws, &[40, 1_500, 1_500]),
            Sizes::Any => pick(draws, &[1, 100, 1_000, 3_000, u16::MAX]) - draws.below(2) as u16,
        };
        Packet {
            number: self.number,
            bytes: bytes.max(1),
            // One more class than any port has; it counts as the last class.
            class: draws.below(5) as u8,
            ecn_capable: !self.mixed_ecn || draws.chance(0.5),
            marked: false,
        }
    }
}

fn rate(draws: &mut Stream) -> u64 {
    const M: u64 = 1_000_000;
    match draws.below(4) {
        // Rates with a whole number of picoseconds per byte.
        0 | 1 => pick(
            draws,
            &[
                10 * M,
                100 * M,
                1_000 * M,
                10_000 * M,
                40_000 * M,
                100_000 * M,
                400_000 * M,
            ],
        ),
        // Rates without.
        2 => pick(
            draws,
            &[
                3_000 * M,
                7_000 * M,
                1_000 * M + 1,
                999_999_937,
                1_500_000 * M,
            ],
        ),
        // Any rate.
        _ => draws.between(M, 400_000 * M),
    }
}

fn latency(draws: &mut Stream) -> u64 {
    match draws.below(4) {
        0 => 0,
        1 => draws.below(5_000),
        2 => 12_000_000,
        _ => draws.below(50_000_000),
    }
}

fn pick<T: Copy>(draws: &mut Stream, from: &[T]) -> T {
    from[draws.below(from.len() as u64) as usize]
}
