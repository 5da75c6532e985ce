//! What a running switch shows to others.

use crate::report::Report;
use std::sync::{Mutex, PoisonError};

/// What a switch has done so far, for other threads; some tenths of a second old.
#[derive(Debug, Default)]
pub struct Statistics {
    report: Mutex<Report>,
}

impl Statistics {
    /// The last report, without the series.
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
