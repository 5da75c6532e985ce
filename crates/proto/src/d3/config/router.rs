//! Options that routers read: allocation, capacity adaptation, and repair of the counters.

use duetime_core::{Rate, Span};

/// Options of the allocators at ports. They are equal in a whole network; hosts read `update_interval`, `repair` and
/// `reset_intervals` to send requests often enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RouterOptions {
    /// Allocators of the links.
    pub allocation: Allocation,
    /// Rate that a paused flow may use.
    pub base_rate: BaseRate,
    /// Period of capacity adaptation, T, or `None` to choose it for the slowest link by
    /// [`Config::interval_for`](super::Config::interval_for).
    pub update_interval: Option<Span>,
    /// Gain α of capacity adaptation, in 1/256.
    pub alpha_256: u32,
    /// Gain β of capacity adaptation, in 1/256.
    pub beta_256: u32,
    /// Share of the link's rate that capacity adaptation aims for with [`AlphaReference::Physical`], in 1/256. A few
    /// per cent below 256 keep queues as short as published (D3 §6.1.4: 0.95 of the link for any number of flows, and a
    /// median queue of one packet); at 256, colliding bursts leave two or three more packets.
    pub target_256: u32,
    /// True to repair the counters under load (see `repair`).
    pub repair: bool,
    /// Number of update intervals within which a live flow sends a request, if its round trip is below one interval.
    /// After this many intervals without a request and with an empty queue, a port resets (D3 §4.4, "low load"). Half
    /// as many are an epoch of the repair.
    pub reset_intervals: u32,
    /// Allowance per ingress for traffic that D3 does not account for, if routers limit each ingress to the grants of
    /// its flows plus this rate ([`Police`](crate::d3::Police)). `None` trusts the hosts (D3 §4.4). Requires `repair`.
    pub police: Option<Rate>,
    /// Variants of the paper's rules.
    pub variant: RouterVariant,
}

/// Variants of the rules of a router (D3 §4) that the paper leaves open or describes in two ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RouterVariant {
    /// Reference for the spare capacity.
    pub alpha_reference: AlphaReference,
    /// True if q includes the packet in service.
    pub queue_in_service: bool,
    /// Queue length that capacity adaptation uses.
    pub queue_sample: QueueSample,
    /// True to never grant more than the capacity left.
    pub cap_to_left: bool,
    /// True to grant new flows only the base rate as fair share (D3 §4.5).
    pub pause_new: bool,
}

/// Allocators of the links of a path. The sender's interface, hop 0, is always allocated by the sending host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allocation {
    /// Routers in front of the links (D3 §4).
    Routers,
    /// Receiving host, for its own downlink, if no router has answered a request
    /// ([`Downlink`](crate::d3::Downlink)). Links in between are not allocated.
    Edge,
}

/// Rate that a paused flow may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BaseRate {
    /// A header-only request per round trip, not accounted (D3 §4.5).
    HeaderOnly,
    /// A full segment per round trip of the given length, accounted (as D2TCP's authors ran D3).
    Segment(Span),
}

/// Reference for the spare capacity (the α term of capacity adaptation).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AlphaReference {
    /// Rate of the link, or `target_256` of it.
    Physical,
    /// C(t), as printed in the paper.
    Literal,
}

/// Queue length that capacity adaptation uses at the end of an update interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueSample {
    /// Minimum since the last update: the standing queue. Hosts may send each round trip's allocation as one burst, so
    /// queues form and drain within a round trip although capacity is not exceeded. XCP, the origin of this controller,
    /// also uses the queue that does not drain within a round trip.
    Smallest,
    /// Queue at that instant, as printed (D3 §4.4): overlapping bursts cost up to half of the capacity.
    Instant,
}

impl Default for RouterOptions {
    fn default() -> Self {
        Self {
            allocation: Allocation::Routers,
            base_rate: BaseRate::HeaderOnly,
            update_interval: None,
            alpha_256: 26,
            beta_256: 256,
            target_256: 256,
            repair: true,
            reset_intervals: 4,
            police: None,
            variant: RouterVariant::default(),
        }
    }
}

impl Default for RouterVariant {
    fn default() -> Self {
        Self {
            alpha_reference: AlphaReference::Physical,
            queue_in_service: false,
            queue_sample: QueueSample::Smallest,
            cap_to_left: false,
            pause_new: true,
        }
    }
}
