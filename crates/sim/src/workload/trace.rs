//! Recorded flows, which start exactly at the times of the trace.

use super::context::{Context, Draft};
use super::place::Place;
use super::{Actions, Wake};
use crate::SetupError;
use duetime_core::{Span, Time};
use duetime_results::record::Class;
use duetime_scenario::model::TraceFlow;
use std::sync::Arc;

/// Flows of a trace, sorted by source and start, and in file order if starts are equal. The token of a wake-up is the
/// index of the host's next flow.
#[derive(Clone, Debug)]
pub(super) struct Trace {
    workload: u16,
    flows: Arc<[TraceFlow]>,
    /// Index of each host's first flow, and the number of flows at the end.
    first: Arc<[u32]>,
}

impl Trace {
    pub(super) fn new(flows: &[TraceFlow], place: &Place<'_>) -> Result<Self, SetupError> {
        let hosts = place.network.hosts() as usize;
        let mut first = vec![0; hosts + 1];
        for (index, flow) in flows.iter().enumerate() {
            place.ends(flow.source, flow.destination, || {
                format!("flow {} of the trace", index + 1)
            })?;
            first[flow.source as usize + 1] += 1;
        }
        for host in 0..hosts {
            first[host + 1] += first[host];
        }
        let mut sorted = flows.to_vec();
        sorted.sort_by_key(|flow| (flow.source, flow.start));
        Ok(Self {
            workload: place.workload,
            flows: sorted.into(),
            first: first.into(),
        })
    }

    pub(super) fn start(
        &self,
        context: &Context,
        owned: &dyn Fn(u32) -> bool,
        actions: &mut Actions,
    ) {
        for host in (0..self.first.len() as u32 - 1).filter(|&host| owned(host)) {
            self.schedule(context, host, self.first[host as usize], actions);
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
        let mut next = token as u32;
        while let Some(flow) = self
            .flow(host, next)
            .filter(|flow| Time::ZERO + flow.start <= now)
        {
            let draft = Draft {
                workload: self.workload,
                class: Class::Flow,
                query: None,
                source: host,
                destination: flow.destination,
                bytes: flow.size.0.max(1),
                deadline: flow.deadline.map(|deadline| now + deadline),
                tag: 0,
                leaves: [0; 2],
                siblings: 0,
                asked: Time::ZERO,
                waited: Span::ZERO,
                measured: context.measured(now),
            };
            context.send(actions, now, &draft);
            next += 1;
        }
        self.schedule(context, host, next, actions);
    }

    fn schedule(&self, context: &Context, host: u32, next: u32, actions: &mut Actions) {
        if let Some(flow) = self.flow(host, next) {
            let at = Time::ZERO + flow.start;
            let wake = Wake {
                host,
                at,
                workload: self.workload,
                token: u64::from(next),
            };
            context.start_at(actions, Span::ZERO, wake);
        }
    }

    fn flow(&self, host: u32, index: u32) -> Option<&TraceFlow> {
        (index < self.first[host as usize + 1]).then(|| &self.flows[index as usize])
    }
}
