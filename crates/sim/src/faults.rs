//! Faults put in on purpose: lost requests, dying hosts and misbehaving ones. For tests; a scenario knows nothing of them.

use duetime_core::Span;

/// What goes wrong in a run; by default nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Faults {
    /// Probability, on every link, that a packet with a D3 request is lost, in [0, 1).
    pub request_loss: f64,
    /// Hosts that die, in any order.
    pub deaths: Vec<Death>,
    /// Hosts that misbehave.
    pub misbehaving: Vec<MisbehavingHost>,
}

/// A host forgets all its endpoints without a word, and starts again at once: what it sends later is new.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Death {
    /// When, since the start of the run.
    pub at: Span,
    /// Which host.
    pub host: u32,
}

/// A host whose D3 senders do not keep to the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MisbehavingHost {
    /// Which host.
    pub host: u32,
    /// What it does.
    pub how: Misbehaviour,
}

/// Ways to misbehave towards D3's routers (D3 §4.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misbehaviour {
    /// Asks for this many times what it needs, and returns what it asked for.
    AsksTooMuch(u8),
    /// Never returns an allocation or a desired rate, not even with its FIN.
    KeepsEverything,
    /// Sends as fast as its own link can, whatever it is granted; what it returns is honest.
    IgnoresGrants,
}
