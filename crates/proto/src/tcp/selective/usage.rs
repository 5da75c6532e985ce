//! Congestion-window validation as in Linux (`tcp_cwnd_validate`, after RFC 2861): a window grows only while it limits
//! the sender.
//!
//! Linux also reduces a window that was unused for an RTO, but counts that time from the last acknowledgement. A sender
//! that receives acknowledgements therefore keeps its window, and one that receives none runs into its retransmission
//! timer.

use crate::tcp::Config;
use crate::tcp::sender::Sender;
use crate::window::Window;

/// Use of the congestion window by a sender.
#[derive(Clone, Debug)]
pub(super) struct Usage {
    /// True if the window limited the sender in the current window of data (`is_cwnd_limited`).
    is_limited: bool,
    /// Largest amount outstanding in the current window of data, in bytes (`max_packets_out`).
    outstanding: u64,
    /// Stream position at which the current window of data ends (`cwnd_usage_seq`).
    end: u64,
}

impl Usage {
    pub const fn new() -> Self {
        Self {
            is_limited: false,
            outstanding: 0,
            end: 0,
        }
    }

    /// Returns true if acknowledgements may open the window (`tcp_is_cwnd_limited`). Slow start may grow to twice the
    /// largest amount outstanding.
    pub const fn allows_growth(&self, config: &Config, window: &Window) -> bool {
        !config.window_validation
            || self.is_limited
            || (window.cwnd < window.ssthresh && window.cwnd < 2 * self.outstanding)
    }

    /// Records the use of the window when new data is sent, where data from `una` to `end` is unacknowledged.
    ///
    /// Here the NIC pulls segments one by one, while Linux hands the whole window to the NIC's queue at once. Data that
    /// waits for the NIC therefore counts as outstanding.
    #[inline]
    pub fn validate(&mut self, config: &Config, window: &Window, una: u64, end: u64) {
        if !config.window_validation {
            return;
        }
        let waiting = end - una;
        let outstanding = waiting.min(window.cwnd);
        let is_limited = waiting > window.cwnd.saturating_sub(u64::from(config.mss));
        if una >= self.end || is_limited || (!self.is_limited && outstanding > self.outstanding) {
            (self.is_limited, self.outstanding) = (is_limited, outstanding);
            self.end = una + outstanding;
        }
    }
}

impl Sender {
    /// Returns the bytes from which a loss reduces the window: the window itself if it is validated, as in Linux
    /// (`tcp_reno_ssthresh`, `prior_cwnd`), otherwise the data in flight (RFC 5681 §3.1, equation 4).
    ///
    /// At the end of a message less is in flight than the window allows. A validated window was used while it grew, so it
    /// is reduced itself. Limited transmit sends beyond the window, which does not count (RFC 6675 §5 step 4.2).
    pub(super) fn window_at_loss(&self, config: &Config, flight: u64) -> u64 {
        if config.window_validation {
            self.window.cwnd
        } else {
            flight.min(self.window.cwnd)
        }
    }
}
