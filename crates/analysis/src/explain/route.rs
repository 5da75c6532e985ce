//! Route of a flow's packets over the ports and hosts of one direction.

use duetime_core::{Span, Time};
use std::collections::{BTreeMap, BTreeSet};

/// Passage of one packet through one port, or through the host that it reached.
#[derive(Clone, Copy)]
pub(super) struct Hop {
    /// Departure from the port, or arrival at the host's transport.
    pub(super) at: Time,
    pub(super) through: Through,
    pub(super) packet: Packet,
    pub(super) waited: Span,
    /// Part of `waited`.
    pub(super) delayed: Span,
    pub(super) sending: Span,
    /// Propagation behind the port.
    pub(super) latency: Span,
}

/// Port or host that a packet passes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Through {
    /// The port that feeds a directed link.
    Port(u32),
    /// The receiving side of a host.
    Host(u32),
}

/// A packet by its sequence number (low 32 bits) and length.
pub(super) type Packet = (u32, u32);

/// Packets of one direction.
#[derive(Default)]
pub(super) struct Route {
    /// Hops, by time.
    pub(super) hops: Vec<Hop>,
    /// Ports in order, and the receiving host if hosts hold packets.
    pub(super) passed: Vec<Through>,
    /// Largest random delay of a packet at the sending host.
    pub(super) longest_delay: Span,
    /// First arrival of each packet at the end of the route, by time.
    firsts: Vec<Hop>,
}

impl Route {
    /// Creates the route of all packets of one direction. One flow keeps to one path, so the packet with the most hops
    /// shows all of it.
    pub(super) fn of(mut hops: Vec<Hop>) -> Self {
        hops.sort_by_key(|hop| hop.at);
        let mut packets: BTreeMap<Packet, Vec<Through>> = BTreeMap::new();
        for hop in &hops {
            let passed = packets.entry(hop.packet).or_default();
            if !passed.contains(&hop.through) {
                passed.push(hop.through);
            }
        }
        let longest = packets.into_values().max_by_key(Vec::len);
        let mut route = Self {
            passed: longest.unwrap_or_default(),
            longest_delay: hops.iter().map(|hop| hop.delayed).max().unwrap_or_default(),
            hops,
            firsts: Vec::new(),
        };
        let mut arrived = BTreeSet::new();
        let arrivals = route.arrivals(Time::MAX);
        let firsts = arrivals.filter(|hop| arrived.insert(hop.packet));
        route.firsts = firsts.copied().collect();
        route
    }

    pub(super) fn hops_until(&self, at: Time) -> &[Hop] {
        &self.hops[..self.hops.partition_point(|hop| hop.at <= at)]
    }

    /// Returns the packets that arrived at the end of the route by `at`, by time.
    pub(super) fn arrivals(&self, at: Time) -> impl DoubleEndedIterator<Item = &Hop> {
        let last = self.passed.last().copied();
        let hops = self.hops_until(at).iter();
        hops.filter(move |hop| Some(hop.through) == last && hop.arrival() <= at)
    }

    /// Returns the last packet that arrived at the end of the route by `at`.
    pub(super) fn arrival(&self, at: Time) -> Option<Hop> {
        self.arrivals(at).next_back().copied()
    }

    /// Returns the last packet that arrived at the end of the route by `at` and was not a copy of an earlier one.
    pub(super) fn new_arrival(&self, at: Time) -> Option<Hop> {
        let until = self.firsts.partition_point(|hop| hop.arrival() <= at);
        self.firsts[..until].last().copied()
    }

    /// Returns the latest passage of `packet` through a port or host from which it arrived further on by `at`.
    pub(super) fn passage(&self, through: Through, packet: Packet, at: Time) -> Option<Hop> {
        let passed =
            |hop: &&Hop| hop.through == through && hop.packet == packet && hop.arrival() <= at;
        self.hops_until(at).iter().rfind(passed).copied()
    }

    /// Returns the time before `at` at which the first port of the route last received a packet with this number.
    pub(super) fn offered_before(&self, at: Time, number: u32) -> Option<Time> {
        let first = *self.passed.first()?;
        let hops = self.hops_until(at).iter();
        let sent = |hop: &&Hop| hop.through == first && hop.packet.0 == number && hop.at < at;
        let hop = hops.rev().find(sent)?;
        let before = hop.sending + hop.waited;
        Some(Time::from_ps(hop.at.as_ps().saturating_sub(before.as_ps())))
    }

    /// Returns the last packet that the first port of the route had sent by `at`, not counting its random delay.
    pub(super) fn departure_until(&self, at: Time) -> Option<Hop> {
        let first = *self.passed.first()?;
        let sent =
            |hop: &&Hop| hop.through == first && hop.free_at() <= at && hop.sending > Span::ZERO;
        let hops = self.hops_until(at + self.longest_delay).iter();
        hops.rev().find(sent).copied()
    }
}

impl Hop {
    /// Arrival at the next port or host.
    pub(super) fn arrival(&self) -> Time {
        self.at + self.latency
    }

    /// Time from which the port could send the next packet.
    pub(super) fn free_at(&self) -> Time {
        Time::from_ps(self.at.as_ps().saturating_sub(self.delayed.as_ps()))
    }
}
