//! Congestion-window validation as in Linux (`tcp_cwnd_validate`, after RFC 2861): a window that does not limit the sender
//! does not grow, and decays.

use super::Selective;
use crate::tcp::Config;
use crate::tcp::sender::{Phase, Sender, initial_window};
use crate::window::Window;
use duetime_core::Time;

/// How much of its window a sender uses.
#[derive(Clone, Debug)]
pub(super) struct Usage {
    /// True if the window limited the sender in the current window of data (`is_cwnd_limited`).
    is_limited: bool,
    /// Largest amount outstanding in the current window of data, in bytes (`max_packets_out`).
    outstanding: u64,
    /// Stream position at which the current window of data ends (`cwnd_usage_seq`).
    end: u64,
    /// Largest amount outstanding since the window last limited the sender, in bytes (`snd_cwnd_used`).
    used: u64,
    /// When the window last limited the sender or was reduced (`snd_cwnd_stamp`).
    limited_at: Time,
}

impl Usage {
    pub const fn new() -> Self {
        Self {
            is_limited: false,
            outstanding: 0,
            end: 0,
            used: 0,
            limited_at: Time::ZERO,
        }
    }

    /// Returns true if acknowledgements may open the window (`tcp_is_cwnd_limited`).
    pub const fn allows_growth(&self, config: &Config, window: &Window) -> bool {
        !config.window_validation || self.limits(window)
    }

    /// Slow start may probe for up to twice what was used.
    const fn limits(&self, window: &Window) -> bool {
        self.is_limited || (window.cwnd < window.ssthresh && window.cwnd < 2 * self.outstanding)
    }
}

impl Selective {
    /// Records that the window was reduced after an idle time.
    pub fn restart_usage(&mut self, now: Time) {
        (self.usage.used, self.usage.limited_at) = (0, now);
    }
}

impl Sender {
    /// Records how much of the window is in use. Called when new data leaves.
    ///
    /// A NIC that pulls sends a window segment by segment, where Linux hands all of it to the queue of its NIC at once; so
    /// data that waits for the NIC counts as outstanding.
    pub(super) fn validate_window(
        &mut self,
        config: &Config,
        now: Time,
        selective: &mut Selective,
    ) {
        if !config.window_validation {
            return;
        }
        let usage = &mut selective.usage;
        let waiting = self.end - self.una;
        let outstanding = waiting.min(self.window.cwnd);
        let is_limited = waiting > self.window.cwnd.saturating_sub(u64::from(config.mss));
        if self.una >= usage.end
            || is_limited
            || (!usage.is_limited && outstanding > usage.outstanding)
        {
            (usage.is_limited, usage.outstanding) = (is_limited, outstanding);
            usage.end = self.una + outstanding;
        }
        if usage.limits(&self.window) {
            (usage.used, usage.limited_at) = (0, now);
            return;
        }
        usage.used = usage.used.max(outstanding);
        if config.slow_start_restart && now.since(usage.limited_at) >= self.rtt.timeout() {
            let used = usage.used.max(initial_window(config));
            if self.phase == Phase::Open && used < self.window.cwnd {
                self.window.keep_ssthresh();
                self.window.cwnd = u64::midpoint(self.window.cwnd, used);
            }
            (usage.used, usage.limited_at) = (0, now);
        }
    }
}
