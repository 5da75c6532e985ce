//! Options of the congestion controllers.

use duetime_core::Span;

/// Congestion controller with its options.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CongestionControl {
    /// No ECN: loss halves the window (RFC 5681).
    NewReno,
    /// DCTCP (RFC 8257).
    Dctcp(Dctcp),
    /// D2TCP (D2TCP §3).
    D2tcp(Dctcp, D2tcp),
    /// CUBIC, without ECN (RFC 9438).
    Cubic(Cubic),
}

/// Options of the marked-fraction estimator α.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dctcp {
    /// Exponent s of the gain g = 2⁻ˢ: 4 gives 1/16. Clamped to 20.
    pub gain_shift: u8,
    /// α of a new connection, in [0, 1].
    pub initial_alpha: f64,
}

impl Default for Dctcp {
    /// Returns a gain of 1/16 and an initial α of zero.
    fn default() -> Self {
        Self {
            gain_shift: 4,
            initial_alpha: 0.0,
        }
    }
}

/// Options of the deadline imminence d.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct D2tcp {
    /// Minimum d.
    pub d_min: f64,
    /// Maximum d.
    pub d_max: f64,
    /// Value of d after the deadline has passed.
    pub d_expired: f64,
    /// Form of Tc.
    pub completion: Completion,
}

impl Default for D2tcp {
    /// Returns d within [0.5, 2], with 0.5 for flows past their deadline.
    fn default() -> Self {
        Self {
            d_min: 0.5,
            d_max: 2.0,
            d_expired: 0.5,
            completion: Completion::Approximate,
        }
    }
}

/// Form of Tc (D2TCP §3.2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completion {
    /// B / (3W/4).
    Approximate,
    /// Sum over the sawtooth, with a separate first period.
    Precise,
}

/// Options of CUBIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cubic {
    /// True to use `HyStart++` in the first slow start (RFC 9406). Needs round-trip times of single segments, which
    /// [`Recovery::Sack`](crate::tcp::Recovery::Sack) measures.
    pub hystart: bool,
    /// Clock tick by which Linux computes window growth: the curve is computed once per tick, and for an unchanged
    /// window again after 1/32 s. Zero computes it for each acknowledgement.
    pub tick: Span,
    /// True to set α to 1 after `W_est` has reached the window of the last reduction (RFC 9438 §4.3). Linux does not
    /// change α.
    pub alpha_one: bool,
}

impl Default for Cubic {
    fn default() -> Self {
        Self {
            hystart: false,
            tick: Span::ZERO,
            alpha_one: true,
        }
    }
}
