//! What all workloads share: the window in which flows count, the random streams, the numbering of flows.

use super::draw;
use super::servers::Servers;
use super::{Actions, Message, Wake};
use crate::topology::Network;
use duetime_core::random::{Purpose, Stream, Streams, mix};
use duetime_core::{Span, Time};
use duetime_results::record::Class;
use duetime_scenario::model::{Deadline, Scenario, Size};
use std::sync::Arc;

/// The packet whose transmission time bounds the start jitter: 1500 B of IP.
const JITTER_BYTES: u64 = 1500;

/// Set in the numbers of connections that are opened before their first message.
const OPENED: u32 = 1 << 31;

/// Shared by all workloads of a run.
#[derive(Clone, Debug)]
pub(super) struct Context {
    streams: Streams,
    warm_up: Time,
    end: Time,
    /// Per host: one packet's time on its link; `None` without start jitter.
    packet_time: Option<Arc<[Span]>>,
    /// Bytes on the wire of every segment beside its payload.
    pub(super) header: u32,
    /// Per host: messages started so far.
    started: Vec<u32>,
    /// Per host: connections opened before their first message.
    opened: Vec<u32>,
    /// Servers of the hosts, if they have slots.
    pub(super) servers: Option<Servers>,
}

/// A message without what the context adds.
pub(super) struct Draft {
    pub(super) workload: u16,
    pub(super) class: Class,
    pub(super) query: Option<u64>,
    pub(super) source: u32,
    pub(super) destination: u32,
    pub(super) bytes: u64,
    pub(super) deadline: Option<Time>,
    pub(super) tag: u32,
    pub(super) leaves: [u32; 2],
    pub(super) asked: Time,
    pub(super) waited: Span,
    pub(super) measured: bool,
}

impl Draft {
    fn message(&self, flow: u64, now: Time) -> Message {
        Message {
            flow,
            workload: self.workload,
            class: self.class,
            query: self.query,
            source: self.source,
            destination: self.destination,
            bytes: self.bytes,
            submitted: now,
            deadline: self.deadline,
            tag: self.tag,
            leaves: self.leaves[0],
            leaves_in_time: self.leaves[1],
            asked: self.asked,
            waited: self.waited,
            measured: self.measured,
        }
    }
}

/// Names one flow or query of one sender or role, as the entity of a random stream.
#[derive(Clone, Copy, Debug)]
pub(super) struct Key(u64);

impl Key {
    pub(super) fn new(workload: u16, item: u64, number: u64) -> Self {
        Self(mix(mix(u64::from(workload) + 1, item), number))
    }

    /// The same question asked again, for the `number`th time.
    pub(super) fn again(self, number: u8) -> Self {
        Self(mix(self.0, 0x100 + u64::from(number)))
    }

    /// Another stream of the same purpose.
    pub(super) fn other(self) -> Self {
        Self(mix(self.0, 1))
    }
}

impl Context {
    pub(super) fn new(scenario: &Scenario, network: &Network, streams: Streams) -> Self {
        let packet_time = |&link: &u32| network.links[link as usize].rate.transmit(JITTER_BYTES);
        Self {
            streams,
            warm_up: Time::ZERO + scenario.warm_up,
            end: Time::ZERO + scenario.duration,
            packet_time: scenario
                .host
                .start_jitter
                .then(|| network.uplink.iter().map(packet_time).collect()),
            header: draw::TCP_IP_HEADER + scenario.host.frame_overhead,
            started: vec![0; network.hosts() as usize],
            opened: vec![0; network.hosts() as usize],
            servers: Servers::new(scenario, network.hosts()),
        }
    }

    pub(super) fn stream(&self, key: Key, purpose: Purpose) -> Stream {
        self.streams.stream(key.0, purpose)
    }

    /// The start jitter of one message of `host`: U[0, one packet time], or none.
    pub(super) fn jitter(&self, host: u32, key: Key) -> Span {
        self.packet_time.as_ref().map_or(Span::ZERO, |packet_time| {
            let longest = packet_time[host as usize].as_ps();
            Span::from_ps(self.stream(key, Purpose::Jitter).between(0, longest))
        })
    }

    /// Where in [0, longest] one flow starts, uniformly.
    pub(super) fn within(&self, longest: Span, key: Key) -> Span {
        if longest == Span::ZERO {
            return Span::ZERO;
        }
        let mut stream = self.stream(key, Purpose::Start);
        Span::from_ps(stream.between(0, longest.as_ps()))
    }

    /// Hosts of the network.
    pub(super) fn hosts(&self) -> u32 {
        self.started.len() as u32
    }

    /// Whether `at` is in the measurement window.
    pub(super) fn measured(&self, at: Time) -> bool {
        self.warm_up <= at && at < self.end
    }

    /// Whether sources still start anything.
    pub(super) fn running(&self, at: Time) -> bool {
        at < self.end
    }

    /// Asks for a wake, later by `jitter`, unless the source would start something at `wake.at` and that is past the end.
    pub(super) fn start_at(&self, actions: &mut Actions, jitter: Span, mut wake: Wake) {
        if self.running(wake.at) {
            wake.at += jitter;
            actions.wakes.push(wake);
        }
    }

    pub(super) fn send(&mut self, actions: &mut Actions, now: Time, draft: &Draft) {
        let number = &mut self.started[draft.source as usize];
        let flow = u64::from(draft.source) << 32 | u64::from(*number);
        *number += 1;
        actions.sends.push(draft.message(flow, now));
    }

    /// Opens a persistent connection for messages like this one. It has a number of its own, so that the numbers of the
    /// flows do not depend on connections.
    pub(super) fn connect(&mut self, actions: &mut Actions, now: Time, draft: &Draft) {
        let number = &mut self.opened[draft.source as usize];
        let flow = u64::from(draft.source) << 32 | u64::from(OPENED | *number);
        *number += 1;
        actions.connects.push(draft.message(flow, now));
    }

    /// Sends a plain flow, its size and deadline drawn by its key.
    pub(super) fn send_flow(
        &mut self,
        actions: &mut Actions,
        now: Time,
        flows: &Flows,
        ends: (u32, u32),
        key: Key,
    ) {
        let bytes = draw::size(&flows.size, &mut self.stream(key, Purpose::Size));
        let deadline = draw::deadline(&flows.deadline, &mut self.stream(key, Purpose::Deadline));
        let draft = Draft {
            workload: flows.workload,
            class: Class::Flow,
            query: None,
            source: ends.0,
            destination: ends.1,
            bytes,
            deadline: deadline.map(|span| now + span),
            tag: 0,
            leaves: [0; 2],
            asked: Time::ZERO,
            waited: Span::ZERO,
            measured: self.measured(now),
        };
        self.send(actions, now, &draft);
    }
}

/// What the flows of one plain workload are like.
#[derive(Clone, Debug)]
pub(super) struct Flows {
    pub(super) workload: u16,
    pub(super) size: Size,
    pub(super) deadline: Deadline,
}
