//! Progress and end of a run.

use crate::options::Progress;
use crate::setup::Setup;
use duetime_core::{Span, Time};
use std::sync::atomic::Ordering;

/// Interval between checks for the end of the run and progress reports.
const STRIDE: Span = Span::from_ms(1);

/// Decides when a run is over, and reports its progress.
pub struct Clock<'a> {
    pub setup: &'a Setup,
    pub progress: Option<&'a Progress>,
}

impl Clock<'_> {
    /// Returns the first stride boundary after `reached` that has an event before it, but no later than the cut-off.
    pub fn next_boundary(&self, next_event: Time, reached: Time) -> Time {
        let time = next_event.max(reached);
        let strides = time.as_ps() / STRIDE.as_ps() + 1;
        Time::from_ps(strides.saturating_mul(STRIDE.as_ps())).min(self.cut())
    }

    fn cut(&self) -> Time {
        Time::ZERO + self.setup.cut
    }

    /// Returns true if the run ends at `boundary`: every measured flow has ended and no source will start another.
    pub fn is_over(&self, boundary: Time, open: i64, wakes: bool, events: bool) -> bool {
        let sources_stopped = boundary >= Time::ZERO + self.setup.duration || !wakes;
        boundary >= self.cut()
            || !events
            || (open == 0 && sources_stopped && self.ends_when_done(boundary))
    }

    /// Returns true if the run may end at `boundary` when its flows are done; endless flows keep it going until its
    /// duration.
    fn ends_when_done(&self, boundary: Time) -> bool {
        !self.setup.has_long_flows || boundary >= Time::ZERO + self.setup.duration
    }

    /// Reports the progress of the run. Returns false if the run must stop.
    pub fn report(&self, boundary: Time, packet_hops: u64, open: i64) -> bool {
        let Some(progress) = self.progress else {
            return true;
        };
        progress
            .simulated_ps
            .store(boundary.as_ps(), Ordering::Relaxed);
        progress.packet_hops.store(packet_hops, Ordering::Relaxed);
        let open = u64::try_from(open).unwrap_or(0);
        progress.open_flows.store(open, Ordering::Relaxed);
        !progress.cancel.load(Ordering::Relaxed)
    }
}
