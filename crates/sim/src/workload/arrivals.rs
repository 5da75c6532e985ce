//! Flows that arrive at random: Poisson arrivals at every host, and background sources.

use super::context::{Context, Flows, Key};
use super::{Actions, Place, Source, Wake, draw};
use crate::SetupError;
use duetime_core::random::Purpose;
use duetime_core::{Span, Time};
use duetime_scenario::model::{Destination, Gap, Intensity, WorkloadKind};
use std::sync::Arc;

/// Poisson arrivals at every sending host. A wake's token is the number of the flow at its host.
#[derive(Clone, Debug)]
pub(super) struct Poisson {
    flows: Flows,
    destination: Destination,
    hosts: u32,
    /// Per host: the mean gap between its flows.
    gaps: Arc<[Span]>,
}

impl Poisson {
    /// Every sending host, the mean gap between its flows, and to whom they go.
    pub(super) fn senders(&self) -> impl Iterator<Item = (u32, Span, Destination)> {
        let hosts = (0..self.hosts).filter(|&host| self.destination != Destination::Host(host));
        hosts.map(|host| (host, self.gaps[host as usize], self.destination))
    }

    pub(super) fn new(kind: &WorkloadKind, place: &Place<'_>) -> Result<Self, SetupError> {
        let WorkloadKind::Poisson {
            size,
            deadline,
            intensity,
            destination,
        } = kind
        else {
            unreachable!("called for Poisson arrivals only");
        };
        let network = place.network;
        let hosts = network.hosts();
        let senders = match destination {
            Destination::Uniform => hosts,
            Destination::Host(host) => {
                place.host(*host, || "`destination`".into())?;
                hosts - 1
            }
        };
        let wire_bits = 8.0 * draw::mean_wire(size, place.context.header);
        let gaps: Vec<Span> = network
            .uplink
            .iter()
            .map(|&uplink| {
                let seconds = match *intensity {
                    Intensity::Load(load) => {
                        wire_bits / (load * network.links[uplink as usize].rate.as_bps() as f64)
                    }
                    Intensity::FlowsPerSecond(rate) => f64::from(senders) / rate,
                };
                draw::scale(Span::from_secs(1), seconds)
            })
            .collect();
        if let Some(gap) = gaps.iter().find(|gap| **gap == Span::ZERO) {
            return Err(place.invalid(format!(
                "a mean gap of {gap} between the flows of a host; lower the load"
            )));
        }
        let flows = Flows {
            workload: place.workload,
            size: size.clone(),
            deadline: *deadline,
        };
        Ok(Self {
            flows,
            destination: *destination,
            hosts,
            gaps: gaps.into(),
        })
    }

    pub(super) fn start(
        &self,
        context: &Context,
        owned: &dyn Fn(u32) -> bool,
        actions: &mut Actions,
    ) {
        for host in (0..self.hosts)
            .filter(|&host| owned(host) && self.destination != Destination::Host(host))
        {
            self.schedule(context, Time::ZERO, host, 0, actions);
        }
    }

    pub(super) fn wake(
        &self,
        context: &mut Context,
        now: Time,
        host: u32,
        token: u64,
        actions: &mut Actions,
    ) {
        let key = self.key(host, token);
        let to = match self.destination {
            Destination::Host(host) => host,
            Destination::Uniform => other_host(context, key, host, self.hosts),
        };
        context.send_flow(actions, now, &self.flows, (host, to), key);
        self.schedule(context, now, host, token + 1, actions);
    }

    // No start jitter: an exponential gap has no ties to break.
    fn schedule(
        &self,
        context: &Context,
        last: Time,
        host: u32,
        number: u64,
        actions: &mut Actions,
    ) {
        let gap = context
            .stream(self.key(host, number), Purpose::Arrival)
            .exponential(self.gaps[host as usize]);
        let wake = Wake {
            host,
            at: last + gap,
            workload: self.flows.workload,
            token: number,
        };
        context.start_at(actions, Span::ZERO, wake);
    }

    fn key(&self, host: u32, number: u64) -> Key {
        Key::new(self.flows.workload, u64::from(host), number)
    }
}

/// Sources that each start one flow after another, to a random host each time. A wake's token is the source and the
/// number of its flow.
#[derive(Clone, Debug)]
pub(super) struct Background {
    flows: Flows,
    hosts: u32,
    /// Per source: its host.
    sources: Arc<[u32]>,
    /// Where the sources send, in turn; empty: each flow to a random host.
    roots: Arc<[u32]>,
    every: Gap,
}

impl Background {
    /// Of every source: its host, and to whom it sends; `None`: each flow to a random host.
    pub(super) fn pairs(&self) -> impl Iterator<Item = (u32, Option<u32>)> {
        let to =
            |source: usize| (!self.roots.is_empty()).then(|| self.roots[source % self.roots.len()]);
        let sources = self.sources.iter().enumerate();
        sources.map(move |(source, &host)| (host, to(source)))
    }

    /// Puts the sources on random hosts, several on one only when there are more sources than hosts.
    pub(super) fn new(kind: &WorkloadKind, place: &Place<'_>) -> Result<Self, SetupError> {
        let WorkloadKind::Background {
            count,
            size,
            deadline,
            every,
            to_roots_of,
        } = kind
        else {
            unreachable!("called for background flows only");
        };
        if draw::mean_gap(every) == Span::ZERO {
            return Err(place.invalid(
                "`every` is zero; the gap between the starts of a source must be longer",
            ));
        }
        let hosts = place.network.hosts();
        let mut stream = place
            .context
            .stream(Key::new(place.workload, 0, 0), Purpose::Placement);
        let order = stream.permutation(hosts as usize);
        let roots = match to_roots_of.map(|workload| &place.before[workload]) {
            Some(Source::Oldi(oldi)) => oldi.roots(),
            _ => Vec::new(),
        };
        let mut next = order.iter().copied().cycle();
        let sources = (0..*count as usize).map(|source| {
            // A source that would be its own root takes the next host.
            let root = (!roots.is_empty()).then(|| roots[source % roots.len()]);
            next.find(|&host| Some(host) != root).unwrap_or(order[0])
        });
        Ok(Self {
            flows: Flows {
                workload: place.workload,
                size: size.clone(),
                deadline: *deadline,
            },
            hosts,
            sources: sources.collect(),
            roots: roots.into(),
            every: every.clone(),
        })
    }

    pub(super) fn start(
        &self,
        context: &Context,
        owned: &dyn Fn(u32) -> bool,
        actions: &mut Actions,
    ) {
        for (source, _) in self
            .sources
            .iter()
            .enumerate()
            .filter(|(_, host)| owned(**host))
        {
            let gap = draw::first_gap(
                &self.every,
                &mut context.stream(self.key(source, 0), Purpose::Arrival),
            );
            self.schedule(context, Time::ZERO + gap, source, 0, actions);
        }
    }

    pub(super) fn wake(&self, context: &mut Context, now: Time, token: u64, actions: &mut Actions) {
        let (source, number) = ((token >> 32) as usize, token as u32);
        let (host, key) = (self.sources[source], self.key(source, number));
        let to = if self.roots.is_empty() {
            other_host(context, key, host, self.hosts)
        } else {
            self.roots[source % self.roots.len()]
        };
        context.send_flow(actions, now, &self.flows, (host, to), key);
        let gap = draw::gap(
            &self.every,
            &mut context.stream(self.key(source, number + 1), Purpose::Arrival),
        );
        self.schedule(context, now + gap, source, number + 1, actions);
    }

    // No start jitter: every source has a random phase.
    fn schedule(
        &self,
        context: &Context,
        at: Time,
        source: usize,
        number: u32,
        actions: &mut Actions,
    ) {
        let token = (source as u64) << 32 | u64::from(number);
        let wake = Wake {
            host: self.sources[source],
            at,
            workload: self.flows.workload,
            token,
        };
        context.start_at(actions, Span::ZERO, wake);
    }

    fn key(&self, source: usize, number: u32) -> Key {
        Key::new(self.flows.workload, source as u64, u64::from(number))
    }
}

/// Any host but this one.
fn other_host(context: &Context, key: Key, host: u32, hosts: u32) -> u32 {
    let other = context
        .stream(key, Purpose::Destination)
        .below(u64::from(hosts) - 1) as u32;
    other + u32::from(other >= host)
}
