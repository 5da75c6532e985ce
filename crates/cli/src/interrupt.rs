//! Ctrl-C: the first stops the study and keeps what is finished, the second leaves at once.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A flag that Ctrl-C (or a termination signal) sets.
pub fn flag() -> Arc<AtomicBool> {
    flag_saying("stopping; finished runs are kept (again to leave at once)")
}

/// The same, with what is said when it is set.
pub fn flag_saying(what: &'static str) -> Arc<AtomicBool> {
    let flag = Arc::new(AtomicBool::new(false));
    let set = Arc::clone(&flag);
    let handler = move || {
        if set.swap(true, Ordering::SeqCst) {
            std::process::exit(130);
        }
        let _ = writeln!(crate::terminal::stderr(), "{what}");
    };
    // Without a handler Ctrl-C still ends the process, and a run folder is whole or absent in any case.
    let _ = ctrlc::set_handler(handler);
    flag
}
