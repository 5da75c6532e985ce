//! Fault injection for tests: lost requests, dying hosts and misbehaving hosts. Scenarios cannot configure faults.

use duetime_core::Span;

/// Faults of a run; none by default.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Faults {
    /// Probability, on every link, that a packet with a D3 request is lost, in [0, 1).
    pub request_loss: f64,
    /// Hosts that die, in any order.
    pub deaths: Vec<Death>,
    /// Hosts that misbehave.
    pub misbehaving: Vec<MisbehavingHost>,
}

/// Death of a host: it loses all its endpoints without notice and restarts at once. Its later flows are new.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Death {
    /// Time since the start of the run.
    pub at: Span,
    /// Index of the host.
    pub host: u32,
}

/// A host whose D3 senders violate the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MisbehavingHost {
    /// Index of the host.
    pub host: u32,
    /// Kind of the violation.
    pub how: Misbehaviour,
}

/// Kinds of misbehaviour towards D3's routers (D3 §4.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misbehaviour {
    /// Requests this many times the rate that it needs, and returns what it requested.
    OverRequests(u8),
    /// Never returns an allocation or a desired rate, not even with its FIN.
    NeverReturns,
    /// Sends at the full rate of its link regardless of grants, but returns honest values.
    IgnoresGrants,
}
