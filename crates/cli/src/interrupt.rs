//! Ctrl-C handling: the first stops the study and keeps finished runs, the second exits immediately.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Returns a flag that Ctrl-C or a termination signal sets.
pub fn flag() -> Arc<AtomicBool> {
    flag_saying("stopping; finished runs are kept (press Ctrl-C again to exit immediately)")
}

/// Returns a flag that Ctrl-C or a termination signal sets, which also prints `message`.
pub fn flag_saying(message: &'static str) -> Arc<AtomicBool> {
    let flag = Arc::new(AtomicBool::new(false));
    let set = Arc::clone(&flag);
    let handler = move || {
        if set.swap(true, Ordering::SeqCst) {
            std::process::exit(130);
        }
        let _ = writeln!(crate::terminal::stderr(), "{message}");
    };
    // Without a handler, Ctrl-C still ends the process, and run folders are complete or absent in any case.
    let _ = ctrlc::set_handler(handler);
    flag
}
