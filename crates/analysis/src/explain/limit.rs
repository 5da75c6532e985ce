//! Limit of a query: the kind of waiting that takes the largest part of its time.

use super::query::{Activity, QueryStep};
use super::{Cause, Stage};
use duetime_core::Span;
use duetime_results::Timer;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Kind of waiting on a query's critical path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    /// Wait for a retransmission timeout.
    RetransmissionTimeout,
    /// Wait for a tail loss probe.
    TailLossProbe,
    /// Loss recovery without a retransmission timeout or tail loss probe.
    LossRecovery,
    /// Handshake of a connection.
    Handshake,
    /// Queues of switch ports and hosts' NICs.
    Queue,
    /// Transmission of packets on links.
    Transmission,
    /// Additional round trips, because the window is smaller than the message.
    RoundTrips,
    /// Earlier messages of the same connection.
    EarlierMessages,
    /// D3: no rate granted.
    Pause,
    /// D3: allocated rate below the requested rate.
    Allocation,
    /// `due`: grants to more urgent messages.
    Grant,
    /// `due`: postponed by the receiver's overload check.
    Postponed,
    /// Propagation and network stacks of the hosts.
    Hosts,
    /// Wait for a free server of a host.
    Server,
    /// Computation.
    Computing,
    /// Wait before a hedge or a retry.
    HedgeOrRetryWait,
    /// Timeout of an aggregator.
    AggregatorTimeout,
    /// Message that was aborted or never finished.
    Unfinished,
}

impl Limit {
    /// Returns the kind with the largest total time on a path, or `None` if the path takes no time. Ties go to the kind
    /// declared first.
    pub fn largest(steps: &[QueryStep]) -> Option<Self> {
        let sums = by_limit(steps).into_iter();
        // `max_by_key` returns the last maximum, so reverse the order.
        sums.rev()
            .max_by_key(|&(_, span)| span)
            .map(|(limit, _)| limit)
    }

    /// Returns the kind of a part of a query's time, or `None` for time that is not part of its delay.
    fn of(activity: Activity) -> Option<Self> {
        Some(match activity {
            Activity::Queueing => Self::Server,
            Activity::Computing | Activity::Aggregating => Self::Computing,
            Activity::Hedging | Activity::Retrying => Self::HedgeOrRetryWait,
            Activity::AggregatorTimeout => Self::AggregatorTimeout,
            Activity::QueryJitter
            | Activity::AnswerJitter
            | Activity::Parent
            | Activity::Untraced => Self::Hosts,
            Activity::Down(stage, cause) | Activity::Up(stage, cause) => {
                Self::of_flow(stage, cause)
            }
            Activity::Pending => return None,
        })
    }

    fn of_flow(stage: Stage, cause: Cause) -> Self {
        match (stage, cause) {
            (_, Cause::Timer(Timer::Retransmission)) => Self::RetransmissionTimeout,
            (_, Cause::Timer(Timer::TailLossProbe)) => Self::TailLossProbe,
            (_, Cause::Aborted | Cause::Unfinished) => Self::Unfinished,
            (_, Cause::EarlierMessages) => Self::EarlierMessages,
            (Stage::Postponed, _) => Self::Postponed,
            (_, Cause::Grant) => Self::Grant,
            (Stage::Handshake, _) | (_, Cause::Timer(Timer::Handshake)) => Self::Handshake,
            (Stage::Loss, _) | (_, Cause::Timer(Timer::Reordering)) => Self::LossRecovery,
            (Stage::Pause, _) | (_, Cause::Timer(Timer::Pause | Timer::Request)) => Self::Pause,
            (Stage::Denied | Stage::Pace, _) | (_, Cause::Timer(Timer::Pace)) => Self::Allocation,
            (_, Cause::Queue(_) | Cause::Nic | Cause::ReplyNic) => Self::Queue,
            (_, Cause::Transmission(_)) => Self::Transmission,
            (Stage::Window | Stage::Rate | Stage::Grant, _) => Self::RoundTrips,
            (Stage::Delivery, _) => Self::Hosts,
        }
    }
}

/// Returns the total time of each kind on a path.
fn by_limit(steps: &[QueryStep]) -> BTreeMap<Limit, Span> {
    let mut sums = BTreeMap::new();
    for step in steps {
        if let Some(limit) = Limit::of(step.activity) {
            *sums.entry(limit).or_default() += step.to.since(step.from);
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;
    use duetime_core::Time;

    fn steps(parts: &[(u64, Activity)]) -> Vec<QueryStep> {
        let mut at = Time::ZERO;
        let step = |&(us, activity): &(u64, Activity)| {
            let from = at;
            at = from + Span::from_us(us);
            QueryStep {
                from,
                to: at,
                node: 1,
                activity,
            }
        };
        parts.iter().map(step).collect()
    }

    #[test]
    fn largest_sum_is_the_limit() {
        let up = |stage, cause| Activity::Up(stage, cause);
        let path = steps(&[
            (30, Activity::Computing),
            (20, up(Stage::Window, Cause::Queue(3))),
            (15, up(Stage::Delivery, Cause::Nic)),
            (10, up(Stage::Window, Cause::Propagation)),
            (900, Activity::Pending),
        ]);
        assert_eq!(Limit::largest(&path), Some(Limit::Queue), "20 + 15 us");
        let sums = by_limit(&path);
        assert_eq!(sums[&Limit::Computing], Span::from_us(30));
        assert_eq!(sums[&Limit::RoundTrips], Span::from_us(10));
        assert_eq!(sums.len(), 3, "time after the last event is not counted");
        assert_eq!(Limit::largest(&steps(&[(5, Activity::Pending)])), None);
    }

    #[test]
    fn every_part_of_a_postponed_wait_counts_as_postponed() {
        for cause in [Cause::Grant, Cause::Queue(1), Cause::Propagation] {
            assert_eq!(Limit::of_flow(Stage::Postponed, cause), Limit::Postponed);
        }
        let of_grant = |cause| Limit::of_flow(Stage::Grant, cause);
        assert_eq!(of_grant(Cause::Grant), Limit::Grant);
        assert_eq!(of_grant(Cause::Queue(1)), Limit::Queue);
        assert_eq!(of_grant(Cause::Propagation), Limit::RoundTrips);
        assert_eq!(
            Limit::of_flow(Stage::Loss, Cause::Resend),
            Limit::LossRecovery
        );
    }

    #[test]
    fn timeout_counts_in_every_sender_state() {
        for stage in [Stage::Loss, Stage::Handshake, Stage::Window] {
            let timeout = Cause::Timer(Timer::Retransmission);
            assert_eq!(Limit::of_flow(stage, timeout), Limit::RetransmissionTimeout);
        }
    }
}
