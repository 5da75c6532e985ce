//! Calls from a packet capture: segments form messages, messages form pairs of requests and answers, and pairs form
//! calls with estimates of queueing and computation.

mod calls;
mod censored;
mod conversations;
mod pairs;
mod queues;
mod segments;

use crate::calls::Calls;
use conversations::Conversations;
use duetime_core::Rate;
use duetime_scenario::Diagnostic;
pub(crate) use segments::is_capture;
use std::io::Read;

/// Reads the calls of the capture `file`. `link` is the rate of the hosts' links.
///
/// # Errors
/// If the capture is unreadable or contains no calls.
pub(crate) fn read(file: &str, input: impl Read, link: Rate) -> Result<Calls, Diagnostic> {
    let mut seen = Conversations::new(link);
    let counts = segments::read(file, input, &mut |segment| seen.take(segment, file))?;
    let calls = calls::calls(&seen, counts.others);
    if calls.list.is_empty() {
        let message = format!(
            "no request with an answer over TCP in {} packets, {} of them of other protocols",
            counts.packets, counts.others
        );
        let error = Diagnostic::of_file(file, message);
        return Err(error.allowed("a capture of both directions at a host that sends requests"));
    }
    Ok(calls)
}
