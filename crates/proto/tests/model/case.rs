//! Networks and options to check.

use crate::world::Load;
use duetime_core::Span;
use duetime_proto::d3::Config;

/// Network of at most three flows and two ports, and what may happen in it.
#[derive(Clone, Debug)]
pub struct Case {
    pub name: &'static str,
    pub config: Config,
    pub flows: Vec<FlowCase>,
    pub ports: usize,
    pub faults: Faults,
    /// Maximum number of requests per flow, without limits in time.
    pub requests: u8,
    /// Maximum number of updates per port, and the loads that they may find.
    pub updates: u8,
    pub loads: &'static [Load],
    /// Time by which the clock of a sender advances at each answer to a request, if there is no common clock.
    pub round_trip: Span,
    /// Latency of each hop with a common clock, or zero without.
    pub hop_latency: Span,
    /// Time until which faults may happen, and the end, with a common clock.
    pub window: Span,
    pub horizon: Span,
    /// Delays of late packets, with a common clock.
    pub delays: &'static [Span],
}

#[derive(Clone, Debug)]
pub struct FlowCase {
    /// Length, or `None` if it does not end.
    pub bytes: Option<u64>,
    /// Time from the start to the deadline.
    pub deadline: Option<Span>,
    pub start: Span,
    /// Time at which the application writes the data, with a common clock; at any time without. `None` if it has
    /// written the data before the start.
    pub written: Option<Span>,
    /// Ports of the path to the receiver, and of the path back.
    pub forward: &'static [usize],
    pub backward: &'static [usize],
    /// True if the application may abandon it at any time.
    pub may_close: bool,
}

/// Faults that may happen.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "independent kinds of faults")]
pub struct Faults {
    /// Number of faults, of all kinds.
    pub number: u8,
    pub loss: bool,
    pub duplicates: bool,
    /// A sender counts packets as lost that are only late.
    pub late: bool,
    pub deaths: bool,
    pub restarts: bool,
}

impl FlowCase {
    /// Returns true if the flow must end before the horizon. Its data packets may fail as well.
    pub fn is_short(&self) -> bool {
        self.bytes.is_some_and(|bytes| bytes < 100_000)
    }
}

impl Case {
    pub fn path(&self, flow: usize, forward: bool) -> &'static [usize] {
        let flow = &self.flows[flow];
        if forward { flow.forward } else { flow.backward }
    }

    pub fn is_timed(&self) -> bool {
        self.hop_latency > Span::ZERO
    }

    /// Returns true if the limit of requests lets all flows end.
    pub fn lets_all_end(&self) -> bool {
        !self.is_timed() && self.requests >= 3 && self.flows.iter().all(FlowCase::is_short)
    }

    /// Returns the shortest epoch, in updates.
    pub fn epoch(&self) -> u32 {
        (self.config.router.reset_intervals / 2).max(1)
    }
}
