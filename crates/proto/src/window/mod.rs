//! The window laws: how a sender answers marks. Everything else of TCP is the same for all of them.

/// Which law, with its knobs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Law {
    /// No ECN: loss halves the window.
    NewReno,
    /// DCTCP (RFC 8257).
    Dctcp(Dctcp),
    /// D2TCP (D2TCP §3).
    D2tcp(Dctcp, D2tcp),
}

/// Knobs of the marked-fraction estimator α.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dctcp {
    /// The gain g is 2⁻ˢ: 4 gives 1/16.
    pub gain_shift: u8,
    /// α of a fresh connection, in [0, 1].
    pub initial_alpha: f64,
}

/// Knobs of the deadline imminence d.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct D2tcp {
    /// Smallest d.
    pub d_min: f64,
    /// Largest d.
    pub d_max: f64,
    /// d of a flow whose deadline has passed.
    pub d_expired: f64,
    /// How Tc is computed.
    pub completion: Completion,
}

/// The two forms of Tc (D2TCP §3.2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completion {
    /// B / (3W/4).
    Approximate,
    /// Summing the sawtooth, with its first period apart.
    Precise,
}
