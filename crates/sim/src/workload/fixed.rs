//! Flows with given start times: synchronised bursts, permutations and endless flows.

use super::context::{Context, Draft, Flows, Key};
use super::place::Place;
use super::{Actions, Wake};
use crate::SetupError;
use duetime_core::random::Purpose;
use duetime_core::{Span, Time};
use duetime_results::record::Class;
use duetime_scenario::model::WorkloadKind;
use std::sync::Arc;

/// Synchronised flows from many senders to one receiver, repeated periodically.
#[derive(Clone, Debug)]
pub(super) struct Burst {
    flows: Flows,
    receiver: u32,
    senders: Arc<[u32]>,
    at: Span,
    repeat: u32,
    every: Span,
    jitter: Span,
}

impl Burst {
    pub(super) fn receiver(&self) -> u32 {
        self.receiver
    }

    /// Returns the host of each flow of a burst.
    pub(super) fn senders(&self) -> &[u32] {
        &self.senders
    }

    /// Uses the receiver and senders of the scenario file, or draws a random receiver and random senders among the
    /// other hosts. If there are more senders than hosts, several share a host.
    pub(super) fn new(kind: &WorkloadKind, place: &Place<'_>) -> Result<Self, SetupError> {
        let WorkloadKind::Burst {
            senders,
            receiver,
            from,
            size,
            deadline,
            at,
            repeat,
            every,
            jitter,
        } = kind
        else {
            unreachable!("called for bursts only");
        };
        let hosts = place.network.hosts();
        let mut stream = place
            .context
            .stream(Key::new(place.workload, 0, 0), Purpose::Placement);
        let receiver = match receiver {
            Some(host) => place.host(*host, || "`receiver`".into())?,
            None => stream.below(u64::from(hosts)) as u32,
        };
        let others = if let Some(from) = from {
            for (index, &host) in from.iter().enumerate() {
                place.ends(host, receiver, || format!("`from[{index}]`"))?;
            }
            from.clone()
        } else {
            let mut others = stream.permutation(hosts as usize);
            others.retain(|&host| host != receiver);
            others
        };
        Ok(Self {
            flows: Flows {
                workload: place.workload,
                size: size.clone(),
                deadline: *deadline,
            },
            receiver,
            senders: others
                .iter()
                .copied()
                .cycle()
                .take(*senders as usize)
                .collect(),
            at: *at,
            repeat: (*repeat).max(1),
            every: *every,
            jitter: *jitter,
        })
    }

    pub(super) fn start(
        &self,
        context: &Context,
        owned: &dyn Fn(u32) -> bool,
        actions: &mut Actions,
    ) {
        for (sender, &host) in self.senders.iter().enumerate() {
            if owned(host) {
                self.schedule(context, sender as u32, 0, actions);
            }
        }
    }

    pub(super) fn wake(&self, context: &mut Context, now: Time, token: u64, actions: &mut Actions) {
        let (sender, round) = ((token >> 32) as u32, token as u32);
        let ends = (self.senders[sender as usize], self.receiver);
        let key = self.key(sender, round);
        context.send_flow(actions, now, &self.flows, ends, key);
        if round + 1 < self.repeat {
            self.schedule(context, sender, round + 1, actions);
        }
    }

    fn schedule(&self, context: &Context, sender: u32, round: u32, actions: &mut Actions) {
        let host = self.senders[sender as usize];
        let key = self.key(sender, round);
        let burst = Time::ZERO + self.at + self.every * u64::from(round);
        let base = burst + context.draw_start(self.jitter, key);
        let token = u64::from(sender) << 32 | u64::from(round);
        let jitter = context.jitter(host, key);
        let wake = Wake {
            host,
            at: base,
            workload: self.flows.workload,
            token,
        };
        context.start_at(actions, jitter, wake);
    }

    fn key(&self, sender: u32, round: u32) -> Key {
        Key::new(self.flows.workload, u64::from(sender), u64::from(round))
    }
}

/// One flow from every host, and one to every host.
#[derive(Clone, Debug)]
pub(super) struct Permutation {
    flows: Flows,
    /// Destination of each host's flow.
    to: Arc<[u32]>,
    at: Span,
}

impl Permutation {
    /// Returns the destination of each host's flow.
    pub(super) fn to(&self) -> &[u32] {
        &self.to
    }

    /// Draws a uniformly random permutation in which no host sends to itself.
    pub(super) fn new(kind: &WorkloadKind, place: &Place<'_>) -> Self {
        let WorkloadKind::Permutation { size, deadline, at } = kind else {
            unreachable!("called for permutations only");
        };
        let mut stream = place
            .context
            .stream(Key::new(place.workload, 0, 0), Purpose::Placement);
        // About one in e permutations has no fixed point; a network has at least two hosts.
        let to = loop {
            let to = stream.permutation(place.network.hosts() as usize);
            if to
                .iter()
                .enumerate()
                .all(|(host, &other)| host as u32 != other)
            {
                break to;
            }
        };
        let flows = Flows {
            workload: place.workload,
            size: size.clone(),
            deadline: *deadline,
        };
        Self {
            flows,
            to: to.into(),
            at: *at,
        }
    }

    pub(super) fn start(
        &self,
        context: &Context,
        owned: &dyn Fn(u32) -> bool,
        actions: &mut Actions,
    ) {
        let base = Time::ZERO + self.at;
        for host in (0..self.to.len() as u32).filter(|&host| owned(host)) {
            let jitter = context.jitter(host, self.key(host));
            let wake = Wake {
                host,
                at: base,
                workload: self.flows.workload,
                token: 0,
            };
            context.start_at(actions, jitter, wake);
        }
    }

    pub(super) fn wake(&self, context: &mut Context, now: Time, host: u32, actions: &mut Actions) {
        context.send_flow(
            actions,
            now,
            &self.flows,
            (host, self.to[host as usize]),
            self.key(host),
        );
    }

    fn key(&self, host: u32) -> Key {
        Key::new(self.flows.workload, u64::from(host), 1)
    }
}

/// Endless flows.
#[derive(Clone, Debug)]
pub(super) struct Long {
    workload: u16,
    pairs: Arc<[(u32, u32)]>,
    at: Span,
    jitter: Span,
}

impl Long {
    pub(super) fn new(
        pairs: &[(u32, u32)],
        at: Span,
        jitter: Span,
        place: &Place<'_>,
    ) -> Result<Self, SetupError> {
        for (index, &(source, destination)) in pairs.iter().enumerate() {
            place.ends(source, destination, || format!("`pairs[{index}]`"))?;
        }
        Ok(Self {
            workload: place.workload,
            pairs: pairs.into(),
            at,
            jitter,
        })
    }

    pub(super) fn start(
        &self,
        context: &Context,
        owned: &dyn Fn(u32) -> bool,
        actions: &mut Actions,
    ) {
        for (index, &(host, _)) in self
            .pairs
            .iter()
            .enumerate()
            .filter(|(_, pair)| owned(pair.0))
        {
            let token = index as u64;
            let key = Key::new(self.workload, token, 0);
            let base = Time::ZERO + self.at + context.draw_start(self.jitter, key);
            let jitter = context.jitter(host, key);
            let wake = Wake {
                host,
                at: base,
                workload: self.workload,
                token,
            };
            context.start_at(actions, jitter, wake);
        }
    }

    pub(super) fn wake(&self, context: &mut Context, now: Time, token: u64, actions: &mut Actions) {
        let (source, destination) = self.pairs[token as usize];
        let draft = Draft {
            workload: self.workload,
            class: Class::Long,
            query: None,
            source,
            destination,
            bytes: u64::MAX,
            deadline: None,
            tag: 0,
            leaves: [0; 2],
            siblings: 0,
            asked: Time::ZERO,
            waited: Span::ZERO,
            measured: context.measured(now),
        };
        context.send(actions, now, &draft);
    }
}
