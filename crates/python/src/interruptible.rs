//! Long calls on a separate thread, while the Python thread forwards events and checks for Ctrl-C.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use duetime_study::{Event, Listener};
use pyo3::prelude::*;

/// Interval between checks for Ctrl-C.
const POLL: Duration = Duration::from_millis(50);
/// Time limit for cancelled work to end. Work that takes longer, such as the summary of many runs, continues in the
/// background; its files are written completely or not at all.
const STOP_TIMEOUT: Duration = Duration::from_millis(700);

/// Forwards each event to the Python thread, as JSON.
struct Forwarder(Mutex<Sender<String>>);

impl Listener for Forwarder {
    fn on(&self, event: &Event) {
        let text = serde_json::to_string(event).expect("plain data");
        let sender = self.0.lock().expect("no panic holds it");
        // After Ctrl-C the receiver is gone.
        let _ = sender.send(text);
    }
}

/// Calls `work` on a separate thread, and `on_event` with the JSON of each of its events. The flag passed to `work` is
/// set to cancel it, after Ctrl-C or an exception in `on_event`; the exception is then returned.
pub fn interruptible<T: Send + 'static>(
    py: Python<'_>,
    on_event: Option<Py<PyAny>>,
    work: impl FnOnce(&dyn Listener, &Arc<AtomicBool>) -> PyResult<T> + Send + 'static,
) -> PyResult<T> {
    let stop = Arc::new(AtomicBool::new(false));
    let (event_sender, events) = mpsc::channel();
    let (result_sender, results) = mpsc::channel();
    let worker_stop = Arc::clone(&stop);
    let worker = std::thread::spawn(move || {
        let forwarder = Forwarder(Mutex::new(event_sender));
        // After Ctrl-C the receiver is gone.
        let _ = result_sender.send(work(&forwarder, &worker_stop));
    });
    py.detach(move || {
        let mut checked = Instant::now();
        loop {
            let event = events.recv_timeout(POLL);
            if event == Err(RecvTimeoutError::Disconnected) {
                break;
            }
            let callback = event.ok().zip(on_event.as_ref());
            if callback.is_none() && checked.elapsed() < POLL {
                continue;
            }
            let outcome = Python::attach(|py| {
                if let Some((event, on_event)) = callback {
                    on_event.call1(py, (event,))?;
                }
                py.check_signals()
            });
            checked = Instant::now();
            if let Err(error) = outcome {
                stop.store(true, Ordering::SeqCst);
                let _ = results.recv_timeout(STOP_TIMEOUT);
                return Err(error);
            }
        }
        let result = results.recv();
        let ended = worker.join();
        result.unwrap_or_else(|_| match ended {
            Err(panic) => std::panic::resume_unwind(panic),
            Ok(()) => unreachable!("work that did not panic sends a result"),
        })
    })
}
