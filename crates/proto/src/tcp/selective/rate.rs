//! Proportional rate reduction: limits the data sent per data delivered during a recovery (RFC 6937).

/// State of one recovery. Names in comments are the RFC's.
#[derive(Clone, Debug)]
pub(super) struct Rate {
    /// Bytes in flight at the start, without those of limited transmit (`RecoverFS`); above zero.
    flight: u64,
    /// Bytes delivered since the start (`prr_delivered`).
    delivered: u64,
    /// Bytes sent since the start (`prr_out`).
    pub sent: u64,
}

impl Rate {
    pub fn new(flight: u64) -> Self {
        Self {
            flight: flight.max(1),
            delivered: 0,
            sent: 0,
        }
    }

    /// Returns the window after `arrived` more bytes were delivered, with `pipe` bytes in flight (RFC 6937 §3, with the
    /// slow start reduction bound).
    pub fn window(&mut self, arrived: u64, pipe: u64, ssthresh: u64, mss: u64) -> u64 {
        self.delivered += arrived;
        let may_leave = if pipe > ssthresh {
            // Rounded up to whole segments, so that the first is sent at once.
            let share = u128::from(self.delivered) * u128::from(ssthresh);
            let segments = share.div_ceil(u128::from(self.flight) * u128::from(mss));
            (segments as u64)
                .saturating_mul(mss)
                .saturating_sub(self.sent)
        } else {
            let limit = self.delivered.saturating_sub(self.sent).max(arrived) + mss;
            (ssthresh - pipe).min(limit)
        };
        pipe.saturating_add(may_leave)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sends_one_segment_per_two_delivered() {
        // Twenty segments are in flight and the first is lost; ssthresh is ten. While more than ten are in flight, one
        // segment is sent per two that arrive.
        let mut rate = Rate::new(20);
        let (mut pipe, mut leaves) = (19, Vec::new());
        for _ in 0..19 {
            pipe -= 1;
            let window = rate.window(1, pipe, 10, 1);
            let may_leave = window - pipe;
            leaves.push(may_leave);
            rate.sent += may_leave;
            pipe += may_leave;
        }
        assert_eq!(leaves[..8], [1, 0, 1, 0, 1, 0, 1, 0]);
        assert_eq!(pipe, 10, "the window ends at ssthresh");
    }

    #[test]
    fn grows_like_slow_start_below_ssthresh() {
        // Only three of twenty are in flight: two segments per arrival, up to ssthresh.
        let mut rate = Rate::new(20);
        rate.delivered = 2;
        rate.sent = 2;
        assert_eq!(rate.window(1, 3, 10, 1), 3 + 2);
        rate.sent += 2;
        assert_eq!(rate.window(1, 9, 10, 1), 10);
    }
}
