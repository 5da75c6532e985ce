//! NewReno's window (RFC 5681), the default of the other controllers.

use super::{Control, Window};
use crate::tcp::{Config, Growth};

/// NewReno has no state other than the window.
#[derive(Clone, Debug)]
pub(crate) struct State;

impl State {
    pub fn new() -> Self {
        Self
    }
}

impl Control for State {}

impl Window {
    /// Grows the window in slow start or congestion avoidance after `bytes` were acknowledged (RFC 5681 §3.1).
    #[inline(always)]
    pub fn grow(&mut self, config: &Config, bytes: u64) {
        let mss = u64::from(config.mss);
        if self.cwnd >= config.receive_window {
            return; // the receiver allows no more
        }
        if self.cwnd < self.ssthresh {
            self.cwnd += bytes.min(u64::from(config.slow_start_limit) * mss);
            return;
        }
        // One segment per window of acknowledged bytes, or of acknowledgements counted as one segment each.
        self.growth += match config.growth {
            Growth::Bytes => bytes,
            Growth::Acknowledgements => bytes.min(mss),
        };
        if self.growth >= self.cwnd {
            self.growth -= self.cwnd;
            self.cwnd += mss;
        }
    }

    /// Raises the slow-start threshold to three quarters of the window before a reduction without a loss (RFC 2861 §3,
    /// Linux's `tcp_current_ssthresh`).
    pub fn keep_ssthresh(&mut self) {
        self.ssthresh = self.ssthresh.max(self.cwnd / 2 + self.cwnd / 4);
    }

    /// Sets the slow-start threshold after a loss with `flight` bytes in flight (RFC 5681 §3.1, equation 4).
    pub fn halve(&mut self, config: &Config, flight: u64) {
        self.ssthresh = (flight / 2).max(2 * u64::from(config.mss));
    }
}
