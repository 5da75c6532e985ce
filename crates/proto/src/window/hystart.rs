//! HyStart++: ends slow start before it fills the queue, when round-trip times grow (RFC 9406).

use duetime_core::Span;

/// Minimum growth of the round-trip time to end slow start (RFC 9406 §4.3, `MIN_RTT_THRESH`).
const MIN_GROWTH: Span = Span::from_ms(4);
/// Growth of the round-trip time that always ends slow start (`MAX_RTT_THRESH`).
const MAX_GROWTH: Span = Span::from_ms(16);
/// Divisor of the round-trip time for thresholds between these bounds (`MIN_RTT_DIVISOR`).
const GROWTH_DIVISOR: u64 = 8;
/// Number of samples that a round needs (`N_RTT_SAMPLE`).
const SAMPLES: u32 = 8;
/// Divisor of growth in conservative slow start (`CSS_GROWTH_DIVISOR`).
const CONSERVATIVE_DIVISOR: u64 = 4;
/// Maximum number of rounds of conservative slow start (`CSS_ROUNDS`).
const CONSERVATIVE_ROUNDS: u8 = 5;

/// First slow start of a connection; later ones have a threshold (RFC 9406 §4.3). Names in comments are the RFC's.
#[derive(Clone, Debug)]
pub(super) struct HyStart {
    /// Minimum round-trip time of the previous round (`lastRoundMinRTT`).
    last: Span,
    /// Minimum round-trip time of this round (`currentRoundMinRTT`).
    current: Span,
    /// Samples in this round (`rttSampleCount`).
    samples: u32,
    /// Position that must be acknowledged to end the round (`windowEnd`); zero before the first round.
    window_end: u64,
    stage: Stage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    SlowStart,
    /// Conservative slow start.
    Conservative {
        /// Round-trip time that ended slow start (`cssBaselineMinRtt`).
        baseline: Span,
        /// Number of completed rounds.
        rounds: u8,
    },
    Over,
}

impl HyStart {
    pub fn new() -> Self {
        Self {
            last: Span::MAX,
            current: Span::MAX,
            samples: 0,
            window_end: 0,
            stage: Stage::SlowStart,
        }
    }

    /// Records a sample `rtt`, where everything up to `ack` is acknowledged and `next` is sent next (RFC 9406 §4.2).
    pub fn measured(&mut self, rtt: Span, ack: u64, next: u64) {
        if self.window_end == 0 {
            self.window_end = next;
        }
        self.current = self.current.min(rtt);
        self.samples += 1;
        if self.samples >= SAMPLES {
            self.update_stage();
        }
        if ack >= self.window_end {
            self.end_round(next);
        }
    }

    fn update_stage(&mut self) {
        match self.stage {
            Stage::SlowStart if self.last != Span::MAX => {
                let part = Span::from_ps(self.last.as_ps() / GROWTH_DIVISOR);
                let growth = part.min(MAX_GROWTH).max(MIN_GROWTH);
                if self.current >= self.last + growth {
                    self.stage = Stage::Conservative {
                        baseline: self.current,
                        rounds: 0,
                    };
                }
            }
            Stage::Conservative { baseline, .. } if self.current < baseline => {
                self.stage = Stage::SlowStart;
            }
            Stage::SlowStart | Stage::Conservative { .. } | Stage::Over => {}
        }
    }

    fn end_round(&mut self, next: u64) {
        (self.last, self.current) = (self.current, Span::MAX);
        (self.samples, self.window_end) = (0, next);
        if let Stage::Conservative { rounds, .. } = &mut self.stage {
            *rounds += 1;
            if *rounds >= CONSERVATIVE_ROUNDS {
                self.stage = Stage::Over;
            }
        }
    }

    /// Returns the window growth, where slow start would grow by `bytes`, or `None` if slow start is over.
    pub fn growth(&self, bytes: u64) -> Option<u64> {
        match self.stage {
            Stage::SlowStart => Some(bytes),
            Stage::Conservative { .. } => Some(bytes / CONSERVATIVE_DIVISOR),
            Stage::Over => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a round of ten one-byte segments with a round-trip time of `rtt_ms`. The next ten are sent before the last
    /// one is acknowledged.
    fn round(hystart: &mut HyStart, start: u64, rtt_ms: u64) -> u64 {
        for ack in start + 1..=start + 10 {
            let next = start + if ack < start + 10 { 10 } else { 20 };
            hystart.measured(Span::from_ms(rtt_ms), ack, next);
        }
        start + 10
    }

    #[test]
    fn threshold_is_bounded() {
        // RFC 9406 §4.2: max(4 ms, min(last / 8, 16 ms)).
        for (last, growth) in [(1, 4), (32, 4), (40, 5), (96, 12), (128, 16), (400, 16)] {
            for (more, divisor) in [(growth - 1, 1), (growth, 4)] {
                let mut hystart = HyStart::new();
                let start = round(&mut hystart, 0, last);
                round(&mut hystart, start, last + more);
                let expected = Some(1_000 / divisor);
                assert_eq!(hystart.growth(1_000), expected, "{last} ms + {more} ms");
            }
        }
    }

    #[test]
    fn needs_eight_samples() {
        let mut hystart = HyStart::new();
        round(&mut hystart, 0, 10);
        for ack in 11..=17 {
            hystart.measured(Span::from_ms(30), ack, 20);
            assert_eq!(hystart.growth(4), Some(4));
        }
        hystart.measured(Span::from_ms(30), 18, 20);
        assert_eq!(hystart.growth(4), Some(1));
    }

    #[test]
    fn conservative_slow_start_ends_after_five_rounds() {
        let mut hystart = HyStart::new();
        let mut start = round(&mut hystart, 0, 10);
        // It begins within a round, which counts (§4.2).
        for number in 1..=5 {
            assert!(hystart.growth(4).is_some(), "round {number}");
            start = round(&mut hystart, start, 30);
        }
        assert_eq!(hystart.growth(4), None);
    }

    #[test]
    fn shorter_round_trip_resumes_slow_start() {
        let mut hystart = HyStart::new();
        let mut start = round(&mut hystart, 0, 10);
        start = round(&mut hystart, start, 14);
        assert_eq!(hystart.growth(4), Some(1));
        start = round(&mut hystart, start, 14);
        assert_eq!(hystart.growth(4), Some(1), "not below the baseline");
        start = round(&mut hystart, start, 13);
        assert_eq!(hystart.growth(4), Some(4));
        // Conservative slow start may begin again, relative to the previous round.
        round(&mut hystart, start, 17);
        assert_eq!(hystart.growth(4), Some(1));
    }
}
