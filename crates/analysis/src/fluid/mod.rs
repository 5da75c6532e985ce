//! Ideal schedulers on one link or on all links of a network, without packets, and the offline optimum that no scheduler can beat. D3's Figure 5 and
//! the "ideal" curves are computed with them.
//!
//! The work of a flow is the time that the link needs to transmit it alone, rounded up to a picosecond. Earliest
//! deadline first and the optimum are exact on those integers. Fair share is exact when all flows start together;
//! otherwise it rounds by less than a picosecond. A reservation is a fraction of the link in units of 2⁻⁶⁴.

mod batch;
mod claim;
mod edf;
mod network;
mod online;
mod optimum;
mod reserve;
mod search;
mod share;
mod windows;

use duetime_core::{Rate, Span, Time};

pub use batch::{Batch, fewest_late_batches};
pub use network::{PathJob, online_network};
pub use online::{online, online_batches};
pub use optimum::{FewestLate, fewest_late, is_feasible};

/// Flow to schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    /// Arrival time.
    pub arrival: Time,
    /// Size in bytes, including the overhead that the link carries.
    pub bytes: u64,
    /// Absolute deadline.
    pub deadline: Option<Time>,
}

/// Ideal scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheduler {
    /// Processor sharing: all active flows get equal shares.
    FairShare,
    /// Preemptive earliest deadline first. Late flows keep their place and are not dropped. Flows without a deadline
    /// come after all others, in order of arrival.
    EarliestDeadline,
    /// Reserves size / time to deadline for each flow in order of arrival until its deadline, if the link has that much
    /// left, and nothing otherwise (D3 §3). Flows without a reservation are not served.
    Reservation,
}

impl Scheduler {
    /// Returns the finish times of the jobs on a link of `rate`, in the order of `jobs`; `None` if a job never
    /// finishes.
    pub fn finish(self, rate: Rate, jobs: &[Job]) -> Vec<Option<Time>> {
        match self {
            Self::FairShare => share::finish(rate, jobs),
            Self::EarliestDeadline => edf::finish(rate, jobs),
            Self::Reservation => reserve::finish(rate, jobs),
        }
    }
}

impl Job {
    fn work(&self, rate: Rate) -> Span {
        rate.transmit(self.bytes)
    }

    /// Returns the job's work in picoseconds, rounded down.
    fn least_work(&self, rate: Rate) -> u64 {
        batch::least_work(rate, self.bytes)
    }
}

/// Returns the indices of `jobs` sorted by arrival; ties keep the given order.
fn by_arrival(jobs: &[Job]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..jobs.len()).collect();
    order.sort_by_key(|&i| jobs[i].arrival);
    order
}

#[cfg(test)]
mod tests;
