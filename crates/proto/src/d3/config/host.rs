//! Options that hosts read: deadlines, requests and pacing.

use duetime_core::Span;

/// Options of hosts. Routers do not depend on them, so hosts of one network may differ in them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostOptions {
    /// True to treat every flow as one without a deadline (RCPdc).
    pub ignore_deadlines: bool,
    /// Response to a deadline that cannot be met or has passed.
    pub policy: Policy,
    /// Number of times that a paused flow doubles its wait between requests: it waits 1, 2, 4, … up to
    /// 2^`request_backoff` round trips. 0 requests once per round trip (D3 §4.5). At most
    /// [`HostOptions::MAX_REQUEST_BACKOFF`].
    pub request_backoff: u8,
    /// Minimum time between requests of a flow, in transmission times of the largest packet on its uplink; a grant is
    /// valid until the next request. 0 requests once per round trip, however short (D3 §4.5).
    pub request_packets: u32,
    /// True to send data at the allocated rate, packet by packet, while the grant is valid. Otherwise it is sent as one
    /// burst on each grant, as in the paper's stack (D3 §5).
    pub pacing: bool,
    /// Time by which a paced packet may be sent early, so that one timer event can send several.
    pub pacing_batch: Span,
    /// True to accept answers to requests that were declared lost and repeated, whichever is answered first. Otherwise
    /// only the answer to the newest request counts. A flow whose round trip has become longer than its wait for
    /// feedback then waits for ever, because each answer arrives after the next request and no round trip is measured.
    /// `None` means false unless the driver overrides it.
    pub late_answers: Option<bool>,
    /// True if acknowledgements are registered as a separate flow.
    pub reverse_request: bool,
    /// Minimum retransmission timeout.
    pub rto_min: Span,
    /// Variants of the paper's desired rate.
    pub variant: HostVariant,
}

/// Deadline policy of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// True to end the flow if its deadline cannot be met (D3 §6.1.3).
    pub quench: bool,
    /// True to end the flow if its desired rate keeps rising (D3 §7, "speculative flow quenching"). Independent of
    /// `quench`.
    pub speculative: bool,
    /// Definition of a rising rate for `speculative`.
    pub speculation: Speculation,
    /// Rate requested after the deadline. Not used with `quench`.
    pub late: Late,
    /// Step by which [`Late::Extend`] moves a deadline, in 1/1000 of the flow's original allowance; at least 1.
    pub late_extension_permille: u32,
}

/// Variants of the desired rate (D3 §5) that the paper leaves open or describes in two ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostVariant {
    /// True to quench by the literal formula of the paper, including the lag terms.
    pub quench_strict: bool,
    /// Bytes that a desired rate counts.
    pub request_bytes: RequestBytes,
    /// True to request the bytes left after this round trip over the time to the deadline less two round trips (D3 §5).
    /// Otherwise requests are for the bytes left now over the time to the deadline, like the first request.
    pub request_lag: bool,
    /// True to cap requests at the bytes left to send over one round trip, the duration of a grant (D3 §4.1). The
    /// formula of §5 exceeds this when the deadline is less than three round trips away.
    pub cap_to_remaining: bool,
}

/// Criterion by which a rising desired rate predicts a missed deadline. D3 §7 names the sign, "successive increases of
/// the desired rate over multiple RTTs", and leaves both numbers open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Speculation {
    /// k: number of successive increases that end the flow; at least 1.
    pub rises: u8,
    /// Minimum growth between the requests of successive round trips, in 1/1000.
    pub growth_permille: u32,
}

impl Default for Speculation {
    /// Returns four increases of 10 %.
    fn default() -> Self {
        Self {
            rises: 4,
            growth_permille: 100,
        }
    }
}

/// Rate requested by a late flow: host-only policies for soft deadlines (D3 §7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Late {
    /// Zero: the flow becomes a flow without a deadline, in fair-share mode.
    FairShare,
    /// Deadline moved by `late_extension_permille` of the original allowance each time it is missed.
    Extend,
    /// Rate of the flow's uplink.
    Max,
}

/// Bytes that a desired rate counts. Allocations are charged with whole packets (D3 §5: k = s·rtt / 1500 packets).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestBytes {
    /// Application bytes: the flow size that D3 §4.1 divides by the time to the deadline. Requests then lack the
    /// headers, 2.7 % with packets of 1500 B.
    Payload,
    /// Bytes on the wire: includes the headers of each packet and the request of each round trip.
    Wire,
}

impl HostOptions {
    /// Maximum [`request_backoff`](Self::request_backoff).
    pub const MAX_REQUEST_BACKOFF: u8 = 10;
}

impl Default for HostOptions {
    fn default() -> Self {
        Self {
            ignore_deadlines: false,
            policy: Policy::default(),
            request_backoff: 0,
            request_packets: 16,
            pacing: true,
            pacing_batch: Span::ZERO,
            late_answers: None,
            reverse_request: true,
            rto_min: Span::from_ms(10),
            variant: HostVariant::default(),
        }
    }
}

impl Default for Policy {
    /// Returns the policy of the paper's soft deadlines: late flows receive their fair share.
    fn default() -> Self {
        Self {
            quench: false,
            speculative: false,
            speculation: Speculation::default(),
            late: Late::FairShare,
            late_extension_permille: 1_000,
        }
    }
}

impl Default for HostVariant {
    fn default() -> Self {
        Self {
            quench_strict: false,
            request_bytes: RequestBytes::Payload,
            request_lag: true,
            cap_to_remaining: false,
        }
    }
}
