//! Port of a switch: accepts or pauses flows and controls the rate that it allocates (PDQ §3.3).

use super::{Config, Header, Kind, Packet};
use duetime_core::{Rate, Span, Time};

/// Identifies a port. PDQ's "switch ID" is per link here, because the links of a switch decide independently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortId(pub u32);

/// Hard limit of a port's list, whatever the number of sending flows.
const MAX_FLOWS: usize = 1_024;
/// Smallest length of a full list.
const MIN_FLOWS: usize = 2;
/// Packets of a flow that may be lost in a row, or be late, before a port forgets the flow.
const MAX_SILENCE: u64 = 8;
/// Smallest grant as a fraction of the link's rate, as a binary logarithm, if a packet per round trip is more.
const MIN_GRANT_SHIFT: u32 = 2;
/// Words of the set that estimates the number of flows outside the list.
const SET_WORDS: usize = 4;

/// PDQ's state of one outgoing link.
///
/// The owner calls [`forward`](Self::forward) for each packet from a sender that leaves through the port, and
/// [`reverse`](Self::reverse) for each reply that arrives over the reversed link. The port has no timers: what is due
/// with time is done by the next packet.
#[derive(Clone, Debug)]
pub struct Port {
    id: PortId,
    /// r: rate of the link that PDQ may use, in bits per second.
    rate: u64,
    /// C: rate that the port allocates, in bits per second.
    capacity: u64,
    /// Mean round trip of the flows.
    rtt: Span,
    /// Time from which the next packet runs the rate controller.
    update_at: Time,
    /// Time of the last packet with data.
    data_at: Time,
    /// The most critical flows, most critical first.
    flows: Vec<Flow>,
    /// Flow that was accepted last.
    accepted: u64,
    /// Time until which no other paused flow is accepted.
    dampened_until: Time,
    outside: Outside,
}

/// State of a flow: ⟨R, P, D, T, RTT⟩ and what repairs it.
#[derive(Clone, Copy, Debug)]
struct Flow {
    id: u64,
    deadline: Time,
    remaining: Span,
    /// R: rate that the whole path granted, as the last reply reported; zero if the flow is not sending.
    rate: u64,
    paused_by: Option<PortId>,
    rtt: Span,
    /// Remaining time in round trips, in thousandths.
    round_trips: u64,
    /// Time after which the flow is forgotten.
    expires: Time,
    /// Last I of a reply, in thousandths.
    probe_every: u32,
    /// True if the port granted a rate that no reply has confirmed.
    is_granted: bool,
}

/// Order of two flows: earliest deadline first, then shortest remaining time, then the identifier (PDQ §3.1).
type Criticality = (Time, Span, u64);

impl Flow {
    const fn criticality(&self) -> Criticality {
        (self.deadline, self.remaining, self.id)
    }

    const fn is_sending(&self) -> bool {
        self.rate > 0 || self.is_granted
    }
}

/// Number of flows that are not in the list, estimated by a set of hashes per control interval.
#[derive(Clone, Copy, Debug, Default)]
struct Outside {
    seen: [u64; SET_WORDS],
    /// Number in the last interval, at least the number in this one.
    count: u64,
}

impl Outside {
    fn insert(&mut self, flow: u64) {
        let hash = (flow ^ (flow >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56;
        self.seen[(hash >> 6) as usize] |= 1 << (hash & 63);
        self.count = self.count.max(self.len());
    }

    fn len(&self) -> u64 {
        self.seen
            .iter()
            .map(|word| u64::from(word.count_ones()))
            .sum()
    }

    fn next_interval(&mut self) {
        self.count = self.len();
        self.seen = [0; SET_WORDS];
    }
}

impl Port {
    /// Creates the port of a link. `round_trip` is used until a flow reports a measured one.
    pub fn new(id: PortId, rate: Rate, round_trip: Span) -> Self {
        let rate = rate.as_bps();
        Self {
            id,
            rate,
            capacity: rate,
            rtt: round_trip.max(Span::from_ps(1)),
            update_at: Time::ZERO,
            data_at: Time::ZERO,
            flows: Vec::new(),
            accepted: 0,
            dampened_until: Time::ZERO,
            outside: Outside::default(),
        }
    }

    /// Returns the number of flows in the list.
    pub fn flows(&self) -> usize {
        self.flows.len()
    }

    /// Returns C, the rate that the port allocates.
    pub const fn capacity(&self) -> Rate {
        Rate::from_bps(self.capacity)
    }

    /// Returns the sum of the rates of the sending flows in the list.
    pub fn allocated(&self) -> Rate {
        Rate::from_bps(
            self.flows
                .iter()
                .map(|flow| flow.rate)
                .fold(0, u64::saturating_add),
        )
    }

    /// Returns the flows of the list, most critical first.
    #[cfg(test)]
    pub(super) fn identifiers(&self) -> Vec<u64> {
        self.flows.iter().map(|flow| flow.id).collect()
    }

    /// Processes a packet from a sender (PDQ, Algorithm 1) and changes its header. `queue` returns the bytes that wait
    /// at the port.
    pub fn forward(
        &mut self,
        config: &Config,
        now: Time,
        flow: u64,
        packet: &mut Packet,
        queue: impl FnOnce() -> u64,
    ) {
        let header = &mut packet.header;
        if header.rtt > Span::ZERO {
            self.rtt = self.rtt - self.rtt / 8 + header.rtt.min(Span::from_secs(1)) / 8;
        }
        if now >= self.update_at {
            self.control(now, queue());
        }
        if packet.kind == Kind::Data {
            self.data_at = now;
        }
        let is_paused_elsewhere = header.paused_by.is_some_and(|port| port != self.id);
        if packet.kind == Kind::Term || is_paused_elsewhere {
            self.remove(flow);
            return;
        }
        let Some(index) = self.update(config, now, flow, header) else {
            self.outside.insert(flow);
            self.allocate_outside(config, header);
            return;
        };
        let mut available = self.available(config, index);
        if index == 0 && now > self.data_at + self.rtt * MAX_SILENCE {
            // If probes alone fill the queue, the rate controller would otherwise pause all flows for ever.
            available = available.max(self.min_grant(config));
        }
        let is_sending = self.flows[index].rate > 0;
        let is_dampened = !is_sending && self.accepted != flow && now < self.dampened_until;
        if available < self.min_grant(config) || is_dampened || header.rate.as_bps() == 0 {
            self.flows[index].paused_by = Some(self.id);
            self.flows[index].is_granted = false;
            header.paused_by = Some(self.id);
            return;
        }
        header.paused_by = None;
        header.rate = header.rate.min(Rate::from_bps(available));
        if !is_sending && !self.flows[index].is_granted {
            self.flows[index].is_granted = true;
            let length = header.remaining.min(self.flows[index].rtt);
            self.accepted = flow;
            self.dampened_until = now + permille(length, config.dampening_permille);
        }
    }

    /// Processes a reply (PDQ, Algorithm 3) and changes its header.
    pub fn reverse(&mut self, config: &Config, now: Time, flow: u64, header: &mut Header) {
        if header.paused_by.is_some() {
            header.rate = Rate::from_bps(0);
        }
        if header.paused_by.is_some_and(|port| port != self.id) {
            self.remove(flow);
            return;
        }
        let index = self.flows.iter().position(|entry| entry.id == flow);
        // A flow outside the list is behind all of the list.
        let rank = index.unwrap_or(self.flows.len()) as u64;
        // Suppressed Probing.
        let probe_every = (rank * u64::from(config.probing_permille)).min(u64::from(u32::MAX));
        if index.is_some() || header.paused_by.is_some() {
            header.probe_every = header.probe_every.max(probe_every as u32);
        }
        if let Some(index) = index {
            let entry = &mut self.flows[index];
            entry.paused_by = header.paused_by;
            entry.rate = header.rate.as_bps();
            entry.probe_every = header.probe_every;
            entry.is_granted = false;
            entry.expires = now + entry.lifetime(config);
        }
    }

    /// Runs the rate controller (PDQ §3.3.3): C = max(0, r − q / (2 RTT)), every two round trips. Also forgets flows
    /// whose sender is silent, because their TERM may be lost.
    fn control(&mut self, now: Time, queue_bytes: u64) {
        let drain =
            u128::from(queue_bytes) * 8 * 1_000_000_000_000 / u128::from(self.rtt.as_ps() * 2);
        self.capacity = self
            .rate
            .saturating_sub(u64::try_from(drain).unwrap_or(u64::MAX));
        self.update_at = now + self.rtt * 2;
        self.outside.next_interval();
        self.flows.retain(|flow| now <= flow.expires);
    }

    fn remove(&mut self, flow: u64) {
        if let Some(index) = self.flows.iter().position(|entry| entry.id == flow) {
            self.flows.remove(index);
        }
    }

    /// Stores the header's ⟨D, T, RTT⟩ in the list. Returns the flow's index, or `None` if the list has no place for it.
    fn update(&mut self, config: &Config, now: Time, flow: u64, header: &Header) -> Option<usize> {
        let known = self.flows.iter().position(|entry| entry.id == flow);
        let rtt = match (header.rtt, known) {
            (Span::ZERO, Some(index)) => self.flows[index].rtt,
            (Span::ZERO, None) => self.rtt,
            (rtt, _) => rtt,
        };
        let mut entry = Flow {
            id: flow,
            deadline: header.deadline,
            remaining: header.remaining,
            rate: 0,
            paused_by: None,
            rtt,
            round_trips: header.remaining.as_ps().saturating_mul(1_000) / rtt.as_ps().max(1),
            expires: now,
            probe_every: 0,
            is_granted: false,
        };
        if let Some(index) = known {
            let before = self.flows[index];
            entry.rate = before.rate;
            entry.paused_by = before.paused_by;
            entry.probe_every = before.probe_every;
            entry.is_granted = before.is_granted;
        }
        entry.expires = now + entry.lifetime(config);
        if let Some(index) = known {
            let before = self.flows[index].criticality();
            self.flows[index] = entry;
            if before == entry.criticality() {
                return Some(index);
            }
            self.flows.remove(index);
        }
        let criticality = entry.criticality();
        let place = (self.flows).partition_point(|other| other.criticality() < criticality);
        if known.is_none() {
            let limit = self.limit();
            if place >= limit {
                return None;
            }
            self.flows.truncate(limit - 1);
        }
        self.flows.insert(place, entry);
        Some(place)
    }

    /// Returns the maximum length of the list: twice the number of sending flows (PDQ §3.3.1).
    fn limit(&self) -> usize {
        let sending = self.flows.iter().filter(|flow| flow.is_sending()).count();
        (2 * sending).clamp(MIN_FLOWS, MAX_FLOWS)
    }

    /// Returns the rate that is left for the flow at `index` of the list (PDQ, Algorithm 2).
    fn available(&self, config: &Config, index: usize) -> u64 {
        let early = u64::from(config.early_start_permille);
        let (mut ending, mut allocated) = (0, 0_u64);
        for flow in &self.flows[..index] {
            // Early Start: a flow that is nearly complete does not delay the next one.
            if flow.round_trips < early && ending < early {
                ending += flow.round_trips;
            } else {
                allocated = allocated.saturating_add(flow.rate);
            }
            if allocated >= self.capacity {
                return 0;
            }
        }
        self.capacity - allocated
    }

    /// Allocates to a flow outside the list its share of what the list leaves (PDQ §3.3.1, where RCP computes it).
    fn allocate_outside(&self, config: &Config, header: &mut Header) {
        let is_unsettled = self.flows.iter().any(|flow| flow.is_granted);
        let left = self.capacity.saturating_sub(self.allocated().as_bps());
        let share = if is_unsettled {
            0
        } else {
            left / self.outside.count.max(1)
        };
        if share < self.min_grant(config) || header.rate.as_bps() == 0 {
            header.paused_by = Some(self.id);
        } else {
            header.paused_by = None;
            header.rate = header.rate.min(Rate::from_bps(share));
        }
    }

    /// Returns the smallest rate that is worth a grant, at least 1: a full packet per round trip, which is as often as a
    /// paused flow may ask, but never more than a quarter of the link.
    fn min_grant(&self, config: &Config) -> u64 {
        let bits = u128::from(config.mtu) * 8 * 1_000_000_000_000;
        let packet = bits / u128::from(self.rtt.as_ps().max(1));
        let part = u128::from(self.rate >> MIN_GRANT_SHIFT);
        (packet.min(part) as u64).max(1)
    }
}

impl Flow {
    /// Returns the time without packets after which the flow is forgotten.
    fn lifetime(&self, config: &Config) -> Span {
        let spacing = if self.rate > 0 {
            Rate::from_bps(self.rate).transmit(u64::from(config.mtu))
        } else {
            permille(self.rtt, self.probe_every)
        };
        let every = spacing.max(self.rtt).min(Span::from_secs(1_000));
        every * MAX_SILENCE
    }
}

/// Returns `permille` thousandths of `span`.
pub(super) fn permille(span: Span, permille: u32) -> Span {
    let product = u128::from(span.as_ps()) * u128::from(permille) / 1_000;
    Span::from_ps(u64::try_from(product).unwrap_or(u64::MAX))
}
