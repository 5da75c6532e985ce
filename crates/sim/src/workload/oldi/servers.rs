//! Computations of nodes, which start at once or occupy a slot of their host's servers (`host.servers`).

use super::super::context::Call;
use super::super::servers::Job;
use super::super::token::{At, Due};
use super::Trees;
use duetime_core::{Span, Time};
use duetime_scenario::model::DeadlineFrom;

impl Trees {
    /// Starts the computation of a node that waits for no more answers, and answers after it.
    pub(super) fn compute(&mut self, call: &mut Call<'_>, query: At) {
        let (compute, jitter) = self.plan.delays(call.context, query);
        if call.context.servers.is_none() || compute == Span::ZERO {
            return self.answer_after(call, query, compute + jitter);
        }
        let deadline = self.answer_deadline(call, query, compute + jitter);
        let job = Job {
            host: self.plan.host_of(call.context, query),
            workload: self.plan.workload,
            token: Due::Computed.token(query),
            compute,
            deadline,
            measured: query.measured,
        };
        if let Some(servers) = &mut call.context.servers {
            servers.arrive(call.now, job, call.actions);
        }
    }

    /// Handles the end of a computation that occupied a slot.
    pub(super) fn computed(&mut self, call: &mut Call<'_>, query: At) {
        let job = self.job(call, query);
        let Some(servers) = &mut call.context.servers else {
            return;
        };
        let Some(waited) = servers.finish(call.now, job, call.actions) else {
            return;
        };
        if let Some(open) = self.open[query.role as usize].get_mut(&query.slot()) {
            open.waited = waited;
            let (_, jitter) = self.plan.delays(call.context, query);
            self.answer_after(call, query, jitter);
        }
    }

    /// Removes a cancelled attempt from the queue for a server, or from its slot. Returns true if it was waiting.
    pub(super) fn cancel_computation(&self, call: &mut Call<'_>, query: At) -> bool {
        if call.context.servers.is_none() {
            return false;
        }
        let job = self.job(call, query);
        let servers = call.context.servers.as_mut();
        servers.is_some_and(|servers| servers.cancel(call.now, job, call.actions))
    }

    /// Returns the host, the workload and the token of a node's computation.
    fn job(&self, call: &Call<'_>, query: At) -> (u32, u16, u64) {
        let host = self.plan.host_of(call.context, query);
        (host, self.plan.workload, Due::Computed.token(query))
    }

    /// Returns the absolute deadline of the answer of a node that computes for `delay` from now on, or `None` if the
    /// servers do not use deadlines or the answer has none. If deadlines count from the submission of the answer, it is
    /// assumed to be submitted after `delay`.
    fn answer_deadline(&self, call: &Call<'_>, query: At, delay: Span) -> Option<Time> {
        if !call.context.servers.as_ref()?.reads_deadlines() {
            return None;
        }
        let relative = self
            .plan
            .relative_deadline(call.context, query.role, query.number)?;
        let clock = match self.plan.config.deadline_from {
            DeadlineFrom::Query => self.open[query.role as usize].get(&query.slot())?.at_parent,
            DeadlineFrom::Response => call.now + delay,
        };
        Some(clock + relative)
    }
}
