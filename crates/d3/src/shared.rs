//! State shared by the application's threads and the endpoint's thread: the protocol's endpoint and its waiters.

use crate::{Flow, StreamError, io_error};
use duetime_core::{Span, Time};
use duetime_proto::Message;
use duetime_proto::d3::endpoint::{Endpoint, Event, StreamId};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
#[cfg(feature = "tokio")]
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

#[derive(Debug)]
pub struct Shared {
    state: Mutex<State>,
    /// Wakes the endpoint's thread.
    wakeup: UnixStream,
    clock: Instant,
}

#[derive(Debug)]
pub struct State {
    pub endpoint: Endpoint,
    waits: BTreeMap<Option<StreamId>, Arc<Wait>>,
    /// Time at which the thread next runs without a wake-up.
    pub planned: Time,
    /// True if all handles are dropped.
    pub closing: bool,
    /// Kind and text of the error that ended the endpoint's thread.
    broken: Option<(io::ErrorKind, String)>,
}

/// Threads and tasks that wait for a stream or for an incoming one.
#[derive(Debug, Default)]
struct Wait {
    threads: Condvar,
    tasks: Mutex<Vec<Waker>>,
}

impl Shared {
    pub fn new(endpoint: Endpoint, wakeup: UnixStream) -> Self {
        Self {
            state: Mutex::new(State {
                endpoint,
                waits: BTreeMap::new(),
                planned: Time::ZERO,
                closing: false,
                broken: None,
            }),
            wakeup,
            clock: Instant::now(),
        }
    }

    /// Returns the time since the endpoint was created.
    pub fn now(&self) -> Time {
        let elapsed = self.clock.elapsed().as_nanos();
        Time::ZERO + Span::from_ns(u64::try_from(elapsed).unwrap_or(u64::MAX / 1_000))
    }

    /// Locks the state, even after a panic in another thread, because the endpoint is consistent between calls.
    pub fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls the endpoint and wakes all affected threads.
    pub fn call<T>(&self, call: impl FnOnce(&mut Endpoint, Time) -> T) -> T {
        let mut state = self.lock();
        let now = self.now();
        let result = call(&mut state.endpoint, now);
        self.notify(&mut state);
        result
    }

    /// Repeats the call until it returns something other than [`StreamError::Blocked`]. Returns an error after
    /// `timeout`, or if the endpoint's thread has ended.
    pub fn wait<T>(
        &self,
        stream: Option<StreamId>,
        timeout: Option<Duration>,
        mut call: impl FnMut(&mut Endpoint, Time) -> Result<T, StreamError>,
    ) -> io::Result<T> {
        let end = timeout.map(|timeout| Instant::now() + timeout);
        let mut state = self.lock();
        loop {
            state.check()?;
            match call(&mut state.endpoint, self.now()) {
                Err(StreamError::Blocked) => {}
                result => {
                    self.notify(&mut state);
                    return result.map_err(io_error);
                }
            }
            self.notify(&mut state);
            let wait = state.waits.entry(stream).or_default().clone();
            state = match end {
                None => wait
                    .threads
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner),
                Some(end) => {
                    let left = end.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return Err(io::ErrorKind::WouldBlock.into());
                    }
                    let woken = wait.threads.wait_timeout(state, left);
                    woken.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }

    /// Calls the endpoint for a task, which is woken when another call may succeed.
    #[cfg(feature = "tokio")]
    pub fn poll<T>(
        &self,
        stream: Option<StreamId>,
        context: &mut Context<'_>,
        call: impl FnOnce(&mut Endpoint, Time) -> Result<T, StreamError>,
    ) -> Poll<io::Result<T>> {
        let mut state = self.lock();
        state.check()?;
        let result = call(&mut state.endpoint, self.now());
        self.notify(&mut state);
        if !matches!(result, Err(StreamError::Blocked)) {
            return Poll::Ready(result.map_err(io_error));
        }
        let wait = state.waits.entry(stream).or_default().clone();
        let mut tasks = wait.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        if !tasks.iter().any(|task| task.will_wake(context.waker())) {
            tasks.push(context.waker().clone());
        }
        Poll::Pending
    }

    /// Releases a stream of the application.
    pub fn release(&self, id: StreamId) {
        let mut state = self.lock();
        state.waits.remove(&Some(id));
        let now = self.now();
        state.endpoint.release(now, id);
        self.notify(&mut state);
    }

    /// Ends the thread when all data is sent. Called when all handles are dropped.
    pub fn close(&self) {
        let mut state = self.lock();
        state.closing = true;
        state.endpoint.listen(0);
        self.notify(&mut state);
    }

    /// Converts a flow to the protocol's message.
    pub fn message(now: Time, flow: Flow) -> Message {
        let span = |deadline: Duration| {
            Span::from_ns(
                u64::try_from(deadline.as_nanos())
                    .unwrap_or(u64::MAX)
                    .min(1 << 50),
            )
        };
        Message {
            length: flow.length,
            deadline: flow.deadline.map(|deadline| now + span(deadline)),
        }
    }

    /// Wakes the threads and tasks affected by a call, and the endpoint's thread if necessary.
    fn notify(&self, state: &mut State) {
        state.notify();
        if state.closing || state.endpoint.next_timeout() < state.planned {
            state.planned = Time::ZERO;
            // If the pipe is full, the thread is being woken already.
            let _ = (&self.wakeup).write(&[1]);
        }
    }
}

impl State {
    /// Wakes the waiters of all pending events.
    pub fn notify(&mut self) {
        while let Some(event) = self.endpoint.poll_event() {
            let stream = match event {
                Event::Incoming => None,
                Event::Changed(id) => Some(id),
            };
            if let Some(wait) = self.waits.get(&stream) {
                wait.wake();
            }
        }
    }

    /// Records the error that ended the endpoint's thread, and wakes all waiters.
    pub fn fail(&mut self, error: &io::Error) {
        self.broken = Some((error.kind(), error.to_string()));
        for wait in self.waits.values() {
            wait.wake();
        }
    }

    fn check(&self) -> io::Result<()> {
        match &self.broken {
            Some((kind, text)) => Err(io::Error::new(*kind, text.clone())),
            None => Ok(()),
        }
    }
}

impl Wait {
    fn wake(&self) {
        self.threads.notify_all();
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        for task in tasks.drain(..) {
            task.wake();
        }
    }
}
