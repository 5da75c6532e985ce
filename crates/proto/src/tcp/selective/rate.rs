//! Proportional rate reduction: how much leaves for what arrives while a loss is repaired (RFC 6937).

/// One recovery. Names in the comments are the RFC's.
#[derive(Clone, Debug)]
pub(super) struct Rate {
    /// Bytes in flight when it began, without what limited transmit has sent (`RecoverFS`); above zero.
    flight: u64,
    /// Bytes that have arrived since (`prr_delivered`).
    delivered: u64,
    /// Bytes that have left since (`prr_out`).
    pub sent: u64,
}

impl Rate {
    /// A recovery begins.
    pub fn new(flight: u64) -> Self {
        Self {
            flight: flight.max(1),
            delivered: 0,
            sent: 0,
        }
    }

    /// `arrived` bytes have arrived and `pipe` are on their way: the window for now (RFC 6937 §3, with its slow start
    /// reduction bound).
    pub fn window(&mut self, arrived: u64, pipe: u64, ssthresh: u64, mss: u64) -> u64 {
        self.delivered += arrived;
        let may_leave = if pipe > ssthresh {
            // In whole segments, of which the first leaves at once.
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
    fn one_loss_of_twenty_sends_a_segment_for_two() {
        // Twenty segments in flight, the first is lost; ssthresh is ten. While more than ten are on their way, one
        // leaves for two that arrive.
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
        assert_eq!(pipe, 10, "at the end the window is ssthresh");
    }

    #[test]
    fn with_less_on_its_way_than_ssthresh_it_grows_as_slow_start_does() {
        // Of twenty only four are left: two may leave for each that arrives, up to ssthresh.
        let mut rate = Rate::new(20);
        rate.delivered = 2;
        rate.sent = 2;
        assert_eq!(rate.window(1, 3, 10, 1), 3 + 2);
        rate.sent += 2;
        assert_eq!(rate.window(1, 9, 10, 1), 10);
    }
}
