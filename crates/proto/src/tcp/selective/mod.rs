//! Loss recovery by selective acknowledgements: RFC 6675, or RACK and tail loss probes (RFC 8985). Replaces `recovery`,
//! which uses cumulative acknowledgements only.
//!
//! A sender with selective recovery leaves the fast path and uses these modules: `acknowledging` processes
//! acknowledgements, `sending` chooses segments, `expiring` handles timers, and `usage` validates the congestion
//! window.

mod acknowledging;
mod expiring;
mod probe;
mod rack;
mod rate;
mod scoreboard;
mod sending;
mod usage;

use probe::{Probe, Timers};
use rack::Rack;
use rate::Rate;
use scoreboard::Scoreboard;
use usage::Usage;

/// State of selective recovery.
#[derive(Clone, Debug)]
pub(super) struct Selective {
    board: Scoreboard,
    rack: Rack,
    probe: Probe,
    timers: Timers,
    usage: Usage,
    /// State of proportional rate reduction in the current recovery.
    rate: Option<Rate>,
    /// True if the next lost segment is sent regardless of the window (RFC 6675 §5 step 4.3).
    urgent: bool,
    /// True if the recovery has sent its rescue segment (RFC 6675 §4, `NextSeg` rule 4).
    rescued: bool,
}

impl Selective {
    pub fn new() -> Self {
        Self {
            board: Scoreboard::default(),
            rack: Rack::new(),
            probe: Probe::new(),
            timers: Timers::STOPPED,
            usage: Usage::new(),
            rate: None,
            urgent: false,
            rescued: false,
        }
    }

    /// Prefetches the first and last segments in flight.
    #[inline]
    pub fn prefetch_segments(&self) {
        self.board.prefetch();
    }
}
