//! Retries: further queries after timeouts.

use crate::diagnostic::Result;
use crate::keys::Kind::{Boolean, Integer, Time};
use crate::keys::{SOME_TIME, declare};
use crate::model::{Retry, RetryAt};
use crate::table::Reader;
use crate::values::word;

declare! {
    /// If a leaf's answer is not complete at its parent after a timeout, the parent sends another query, and the
    /// computation is repeated.
    pub(crate) static RETRY: "retry" {
        /// Timeout of each query.
        timeout: Time(SOME_TIME.0, SOME_TIME.1);
        /// Maximum number of retries; 0: none.
        times: Integer(0, 8), default 1;
        /// Host of a retry: another one, drawn as for a hedge, or the same.
        at: word::<RetryAt>(), default "other";
        /// Sends a cancel message to the host that did not answer, and ignores its answer. Without it, the first answer
        /// to any of the queries counts.
        cancel: Boolean, default true;
    } for Retry { timeout, times, at, cancel }
}

declare!(words of RetryAt: "other" = Other, "same" = Same);

pub(super) fn read(reader: &Reader<'_>, key: &'static str) -> Result<Option<Retry>> {
    let retry: Option<Retry> = reader.value(key)?;
    Ok(retry.filter(|retry| retry.times > 0))
}
