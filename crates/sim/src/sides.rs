//! Windows of a network whose switches form two sides, such that no link joins nodes of one side: in a fat tree, racks
//! with core switches, and aggregation switches. The sides run in turn, each for two latencies at a time: one until the
//! other side's next events, and one until these affect it. A network without such sides has one, which runs for one
//! latency at a time.

use duetime_core::{Span, Time};

/// Progress of the sides. All threads of a run have equal ones.
#[derive(Clone, Debug)]
pub struct Sides {
    /// Time before which all events of each side have been processed.
    clocks: Vec<Time>,
    /// Shortest latency between the sides, or between the partitions of the only one.
    latency: Span,
}

impl Sides {
    /// Creates `count` sides, 1 or 2, at time zero.
    pub fn new(count: usize, latency: Span) -> Self {
        Self {
            clocks: vec![Time::ZERO; count],
            latency,
        }
    }

    /// Returns the time before which all events of all sides have been processed.
    pub fn reached(&self) -> Time {
        self.clocks.iter().copied().min().unwrap_or(Time::ZERO)
    }

    /// Returns the side that runs next, and the end of its window: no event that has not been processed affects it
    /// before. `next` is the time of the earliest event, and `limit` a later time that no window exceeds.
    pub fn open_window(&mut self, next: Time, limit: Time) -> (usize, Time) {
        for clock in &mut self.clocks {
            *clock = next.max(*clock);
        }
        let count = self.clocks.len();
        let side = (0..count).min_by_key(|&side| self.clocks[side]);
        let side = side.unwrap_or(0);
        let end = (self.clocks[(side + 1) % count] + self.latency).min(limit);
        self.clocks[side] = end;
        (side, end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the next windows as (side, end in microseconds).
    fn windows<const COUNT: usize>(sides: &mut Sides, next_us: u64) -> [(usize, u64); COUNT] {
        let at = |us| Time::ZERO + Span::from_us(us);
        [(); COUNT].map(|()| {
            let (side, end) = sides.open_window(at(next_us), at(100));
            (side, end.as_ps() / 1_000_000)
        })
    }

    #[test]
    fn sides_run_in_turn() {
        let mut two = Sides::new(2, Span::from_us(10));
        assert_eq!(windows(&mut two, 3), [(0, 13), (1, 23), (0, 33), (1, 43)]);
        // Nothing happens before 50 us, so both sides continue there; no window exceeds the limit.
        assert_eq!(
            windows(&mut two, 50),
            [(0, 60), (1, 70), (0, 80), (1, 90), (0, 100), (1, 100)]
        );
    }

    #[test]
    fn one_side_runs_for_one_latency() {
        let mut one = Sides::new(1, Span::from_us(10));
        assert_eq!(windows(&mut one, 3), [(0, 13)]);
        assert_eq!(windows(&mut one, 20), [(0, 30)]);
    }
}
