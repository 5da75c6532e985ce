//! Flows that arrive at random: Poisson arrivals at every host, and background sources.

use super::context::{Context, Flows, Key};
use super::place::Place;
use super::{Actions, Wake, draw};
use crate::SetupError;
use duetime_core::random::Purpose;
use duetime_core::{Span, Time};
use duetime_scenario::model::{Destination, Gap, Intensity, Size, SourceGap, WorkloadKind};
use std::borrow::Cow;
use std::sync::Arc;

/// Poisson arrivals at every sending host. The token of a wake-up is the index of the flow at its host.
#[derive(Clone, Debug)]
pub(super) struct Poisson {
    flows: Flows,
    destination: Destination,
    hosts: u32,
    /// Mean gap between the flows of each host.
    gaps: Arc<[Span]>,
}

impl Poisson {
    /// Returns every sending host with the mean gap between its flows and their destination.
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
        let gaps = match *intensity {
            Intensity::Load(load) => gaps_at_load(load, size, 0..hosts, place),
            Intensity::FlowsPerSecond(rate) => {
                let gap = draw::scale(Span::from_secs(1), f64::from(senders) / rate);
                vec![gap; hosts as usize]
            }
        };
        check_not_zero(&gaps, place)?;
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

    // Exponential gaps have no ties to break, so no start jitter is needed.
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

/// Sources that each start one flow after another, by default to a random host each time. The token of a wake-up
/// contains the source and the index of its flow.
#[derive(Clone, Debug)]
pub struct Background {
    flows: Flows,
    hosts: u32,
    /// Host of each source.
    sources: Arc<[u32]>,
    /// Destinations of the sources, in turn; if empty, each flow goes to a random host.
    roots: Arc<[u32]>,
    every: Every,
}

/// Time between the starts of a source's flows.
#[derive(Clone, Debug)]
enum Every {
    /// Distribution of the gap, the same for all sources.
    Gap(Gap),
    /// Mean of the exponential gaps of each source.
    AtLoad(Arc<[Span]>),
}

impl Background {
    /// Returns each source's host, the mean gap between its flows, and their destination, or `None` if each flow goes
    /// to a random host.
    pub fn sources(&self) -> impl Iterator<Item = (u32, Span, Option<u32>)> {
        let to =
            |source: usize| (!self.roots.is_empty()).then(|| self.roots[source % self.roots.len()]);
        let sources = self.sources.iter().enumerate();
        sources.map(move |(source, &host)| (host, draw::mean_gap(&self.every(source)), to(source)))
    }

    fn every(&self, source: usize) -> Cow<'_, Gap> {
        match &self.every {
            Every::Gap(gap) => Cow::Borrowed(gap),
            Every::AtLoad(means) => Cow::Owned(Gap::Exponential(means[source])),
        }
    }

    /// Places the sources on random hosts. Sources share a host only if there are more sources than hosts.
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
        let hosts = place.network.hosts();
        let mut stream = place
            .context
            .stream(Key::new(place.workload, 0, 0), Purpose::Placement);
        let order = stream.permutation(hosts as usize);
        let roots = to_roots_of.map_or_else(Vec::new, place.roots_of);
        let mut next = order.iter().copied().cycle();
        let sources = (0..*count as usize).map(|source| {
            // A source on its own root's host takes the next host instead.
            let root = (!roots.is_empty()).then(|| roots[source % roots.len()]);
            next.find(|&host| Some(host) != root).unwrap_or(order[0])
        });
        let sources: Vec<u32> = sources.collect();
        let every = match every {
            SourceGap::Given(gap) if draw::mean_gap(gap) == Span::ZERO => {
                return Err(place.invalid(
                    "`every` is zero; the gap between the starts of a source must be longer",
                ));
            }
            SourceGap::Given(gap) => Every::Gap(gap.clone()),
            SourceGap::AtLoad(load) => {
                let gaps = gaps_at_load(*load, size, sources.iter().copied(), place);
                check_not_zero(&gaps, place)?;
                Every::AtLoad(gaps.into())
            }
        };
        Ok(Self {
            flows: Flows {
                workload: place.workload,
                size: size.clone(),
                deadline: *deadline,
            },
            hosts,
            sources: sources.into(),
            roots: roots.into(),
            every,
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
                &self.every(source),
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
            &self.every(source),
            &mut context.stream(self.key(source, number + 1), Purpose::Arrival),
        );
        self.schedule(context, now + gap, source, number + 1, actions);
    }

    // Every source has a random phase, so no start jitter is needed.
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

/// Returns the mean gap between the flows of each host at which they offer `load` of the host's access link, in bytes
/// on the wire.
fn gaps_at_load(
    load: f64,
    size: &Size,
    hosts: impl Iterator<Item = u32>,
    place: &Place<'_>,
) -> Vec<Span> {
    let network = place.network;
    let wire_bits = 8.0 * draw::mean_wire(size, place.context.header);
    let gap = |host: u32| {
        let rate = network.links[network.uplink[host as usize] as usize].rate;
        draw::scale(
            Span::from_secs(1),
            wire_bits / (load * rate.as_bps() as f64),
        )
    };
    hosts.map(gap).collect()
}

/// Returns an error if flows would all start at once.
fn check_not_zero(gaps: &[Span], place: &Place<'_>) -> Result<(), SetupError> {
    match gaps.iter().find(|gap| **gap == Span::ZERO) {
        Some(gap) => Err(place.invalid(format!(
            "a mean gap of {gap} between the flows of a host; lower the load"
        ))),
        None => Ok(()),
    }
}

/// Draws a host other than `host`.
fn other_host(context: &Context, key: Key, host: u32, hosts: u32) -> u32 {
    let other = context
        .stream(key, Purpose::Destination)
        .below(u64::from(hosts) - 1) as u32;
    other + u32::from(other >= host)
}
