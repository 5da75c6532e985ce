//! Ideal schedulers on one link, without packets: the best that a transport could do, and the offline optimum that no
//! scheduler beats. D3's Figure 5 and the "ideal" curves come from them.
//!
//! A flow's work is the time that the link needs for it alone, rounded up to a picosecond. Earliest deadline first and
//! the optimum are exact on those integers; fair share is exact when all flows start together and otherwise rounds by
//! less than a picosecond; a reservation is a fraction of the link in units of 2⁻⁶⁴.

#![forbid(unsafe_code)]

mod batch;
mod claim;
mod edf;
mod online;
mod optimum;
mod reserve;
mod search;
mod share;
mod windows;

use duetime_core::{Rate, Span, Time};

pub use batch::{Batch, fewest_late_batches};
pub use online::{online, online_batches};
pub use optimum::{FewestLate, fewest_late, is_feasible};

/// One flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    /// When it starts.
    pub arrival: Time,
    /// Its size in bytes, with whatever overhead the link is to carry.
    pub bytes: u64,
    /// Its absolute deadline.
    pub deadline: Option<Time>,
}

/// An ideal scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheduler {
    /// All flows at once, each with an equal share: processor sharing.
    FairShare,
    /// Preemptive earliest deadline first. Late flows keep their place and are not dropped; flows without a deadline
    /// come after all others, in order of arrival.
    EarliestDeadline,
    /// In order of arrival each flow is given size / time to deadline for as long as it lasts, if that much is left of
    /// the link, and nothing otherwise (D3 §3). Flows without a reservation are not served.
    Reservation,
}

impl Scheduler {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::FairShare, Self::EarliestDeadline, Self::Reservation];

    /// Its name in tables and figures.
    pub fn name(self) -> &'static str {
        match self {
            Self::FairShare => "fair-share",
            Self::EarliestDeadline => "edf",
            Self::Reservation => "reservation",
        }
    }

    /// When each job finishes on a link of `rate`, in the order of `jobs`; `None`: never.
    pub fn finish(self, rate: Rate, jobs: &[Job]) -> Vec<Option<Time>> {
        match self {
            Self::FairShare => share::finish(rate, jobs),
            Self::EarliestDeadline => edf::finish(rate, jobs),
            Self::Reservation => reserve::finish(rate, jobs),
        }
    }

    /// How many jobs with a deadline miss it.
    pub fn late(self, rate: Rate, jobs: &[Job]) -> usize {
        let finishes = self.finish(rate, jobs);
        let on_time =
            |deadline: Time, finish: &Option<Time>| finish.is_some_and(|at| at <= deadline);
        let jobs = jobs.iter().zip(&finishes);
        jobs.filter(|(job, finish)| {
            job.deadline
                .is_some_and(|deadline| !on_time(deadline, finish))
        })
        .count()
    }
}

impl Job {
    fn work(&self, rate: Rate) -> Span {
        rate.transmit(self.bytes)
    }

    /// Its work in picoseconds, rounded down.
    fn least_work(&self, rate: Rate) -> u64 {
        batch::least_work(rate, self.bytes)
    }
}

/// The indices of `jobs` by arrival, ties in their given order.
fn by_arrival(jobs: &[Job]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..jobs.len()).collect();
    order.sort_by_key(|&i| jobs[i].arrival);
    order
}

#[cfg(test)]
mod tests;
