//! D3: deadline-driven delivery by explicit rates, and RCPdc, which is D3 without deadlines.

use duetime_core::Span;

/// Options of D3, hosts and routers together: one network, one value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// Treat every flow as one without a deadline: RCPdc.
    pub ignore_deadlines: bool,
    /// Signed exponent: rate = byte × 2^scale B/us; `None`: chosen so that the slowest link encodes to 64..=127.
    pub scale: Option<i8>,
    /// How rates are rounded to bytes.
    pub rounding: Rounding,
    /// What a paused flow may send.
    pub base_rate: BaseRate,
    /// End hopeless flows early (D3 §6.1.3).
    pub quench: bool,
    /// Quench by the paper's formula literally, lag terms included.
    pub quench_strict: bool,
    /// What to ask for after the deadline.
    pub late: Late,
    /// Period of capacity adaptation, T.
    pub update_interval: Span,
    /// Gain α of capacity adaptation, in 1/256.
    pub alpha_256: u32,
    /// Gain β of capacity adaptation, in 1/256.
    pub beta_256: u32,
    /// What the spare capacity is measured against.
    pub alpha_reference: AlphaReference,
    /// Whether q includes the packet in service.
    pub queue_in_service: bool,
    /// Never grant more than what is left.
    pub cap_to_left: bool,
    /// Grant new flows only the base rate as fair share (D3 §4.5).
    pub pause_new: bool,
    /// Acknowledgements register as a flow of their own.
    pub reverse_request: bool,
    /// Heal the counters under load (see `repair`).
    pub repair: bool,
    /// Largest packet, all headers included, in bytes.
    pub mtu: u32,
    /// Smallest retransmission timeout.
    pub rto_min: Span,
}

/// How rates are rounded to the header's byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// Down, with each port and sender carrying the remainder into its next rounding.
    Carry,
    /// Requests up, grants down.
    CeilFloor,
    /// Both down.
    FloorFloor,
    /// None: for comparison in simulation only.
    Exact,
}

/// What a paused flow may send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BaseRate {
    /// A header-only request per round trip, unaccounted (D3 §4.5).
    HeaderOnly,
    /// One full segment per round trip of the given length, accounted (how D2TCP's authors ran D3).
    Segment(Span),
}

/// What a late flow asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Late {
    /// Nothing: it becomes a flow without deadline.
    FairShare,
    /// Its deadline moves by the original allowance.
    Extend,
    /// Its uplink's rate.
    Max,
}

/// What the spare capacity is measured against (capacity adaptation's α term).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AlphaReference {
    /// The link's rate.
    Physical,
    /// C(t), as printed.
    Literal,
}

impl Default for Config {
    /// The paper's profile with the resolutions of the documentation.
    fn default() -> Self {
        Self {
            ignore_deadlines: false,
            scale: None,
            rounding: Rounding::Carry,
            base_rate: BaseRate::HeaderOnly,
            quench: false,
            quench_strict: false,
            late: Late::FairShare,
            update_interval: Span::from_us(800),
            alpha_256: 26,
            beta_256: 256,
            alpha_reference: AlphaReference::Physical,
            queue_in_service: false,
            cap_to_left: false,
            pause_new: true,
            reverse_request: true,
            repair: true,
            mtu: 1500,
            rto_min: Span::from_ms(10),
        }
    }
}
