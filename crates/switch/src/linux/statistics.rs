//! Counters of a running switch for other threads.

use crate::report::Report;
use std::sync::{Mutex, PoisonError};

/// Counters of a running switch for other threads, updated several times per second.
#[derive(Debug, Default)]
pub struct Statistics {
    report: Mutex<Report>,
}

impl Statistics {
    /// Returns the last report, without the series.
    pub fn report(&self) -> Report {
        self.report
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    pub(super) fn publish(&self, report: Report) {
        *self.report.lock().unwrap_or_else(PoisonError::into_inner) = report;
    }
}
