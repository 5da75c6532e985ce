//! Loss recovery by selective acknowledgements: RFC 6675, or RACK and tail loss probes (RFC 8985). It takes the place of
//! `recovery`, which knows cumulative acknowledgements alone.
//!
//! A sender that has it leaves the usual path for the functions here: `acknowledging` takes acknowledgements, `sending`
//! chooses what leaves, `expiring` answers timers, and `usage` validates the congestion window.

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

/// What selective recovery keeps, apart from the sender.
#[derive(Clone, Debug)]
pub(super) struct Selective {
    board: Scoreboard,
    rack: Rack,
    probe: Probe,
    timers: Timers,
    usage: Usage,
    /// The recovery under way, with proportional rate reduction.
    rate: Option<Rate>,
    /// The next lost segment leaves whatever the window says (RFC 6675 §5 step 4.3).
    urgent: bool,
    /// The recovery has had its rescue (RFC 6675 §4, `NextSeg` rule 4).
    rescued: bool,
}

impl Selective {
    /// Nothing was sent.
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
}
