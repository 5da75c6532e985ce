//! Work on a thread of its own, while the thread of Python tells events and looks for Ctrl-C.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use duetime_study::{Event, Listener};
use pyo3::prelude::*;

/// Time between two looks for Ctrl-C.
const LOOK: Duration = Duration::from_millis(50);
/// How long stopped work may take to end. What takes longer, such as the summary of many runs, ends unattended: what it
/// writes is whole or absent.
const PATIENCE: Duration = Duration::from_millis(700);

/// Sends each event on, as JSON.
struct Teller(Mutex<Sender<String>>);

impl Listener for Teller {
    fn on(&self, event: &Event) {
        let text = serde_json::to_string(event).expect("plain data");
        let to = self.0.lock().expect("no panic holds it");
        // Nobody listens any more after Ctrl-C.
        let _ = to.send(text);
    }
}

/// Does `work`, and calls `on_event` with the JSON of each of its events. The flag that `work` gets is set when it shall
/// stop: after Ctrl-C, or an exception in `on_event`; that exception is the result then.
pub fn attended<T: Send + 'static>(
    py: Python<'_>,
    on_event: Option<Py<PyAny>>,
    work: impl FnOnce(&dyn Listener, &Arc<AtomicBool>) -> PyResult<T> + Send + 'static,
) -> PyResult<T> {
    let stop = Arc::new(AtomicBool::new(false));
    let (teller, events) = mpsc::channel();
    let (answer, answered) = mpsc::channel();
    let its_stop = Arc::clone(&stop);
    let worker = std::thread::spawn(move || {
        let teller = Teller(Mutex::new(teller));
        // After Ctrl-C nobody waits for it.
        let _ = answer.send(work(&teller, &its_stop));
    });
    py.detach(move || {
        let mut looked = Instant::now();
        loop {
            let event = events.recv_timeout(LOOK);
            if event == Err(RecvTimeoutError::Disconnected) {
                break;
            }
            let told = event.ok().zip(on_event.as_ref());
            if told.is_none() && looked.elapsed() < LOOK {
                continue;
            }
            let fine = Python::attach(|py| {
                if let Some((event, on_event)) = told {
                    on_event.call1(py, (event,))?;
                }
                py.check_signals()
            });
            looked = Instant::now();
            if let Err(error) = fine {
                stop.store(true, Ordering::SeqCst);
                let _ = answered.recv_timeout(PATIENCE);
                return Err(error);
            }
        }
        let answer = answered.recv();
        let ended = worker.join();
        answer.unwrap_or_else(|_| match ended {
            Err(panic) => std::panic::resume_unwind(panic),
            Ok(()) => unreachable!("work that did not panic answers"),
        })
    })
}
