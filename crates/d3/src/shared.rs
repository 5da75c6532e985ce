//! What the application's threads and the endpoint's own share: the protocol's endpoint, and who waits for what.

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
    bell: UnixStream,
    clock: Instant,
}

#[derive(Debug)]
pub struct State {
    pub endpoint: Endpoint,
    waits: BTreeMap<Option<StreamId>, Arc<Wait>>,
    /// When the thread looks again by itself.
    pub planned: Time,
    /// Every handle is gone.
    pub closing: bool,
    /// The socket failed.
    pub broken: Option<io::ErrorKind>,
}

/// Whoever waits for a stream, or for one to come.
#[derive(Debug, Default)]
struct Wait {
    threads: Condvar,
    tasks: Mutex<Vec<Waker>>,
}

impl Shared {
    pub fn new(endpoint: Endpoint, bell: UnixStream) -> Self {
        Self {
            state: Mutex::new(State {
                endpoint,
                waits: BTreeMap::new(),
                planned: Time::ZERO,
                closing: false,
                broken: None,
            }),
            bell,
            clock: Instant::now(),
        }
    }

    /// Time since the endpoint was made.
    pub fn now(&self) -> Time {
        let elapsed = self.clock.elapsed().as_nanos();
        Time::ZERO + Span::from_ns(u64::try_from(elapsed).unwrap_or(u64::MAX / 1_000))
    }

    /// A panic in another thread leaves the endpoint as consistent as its own calls do.
    pub fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One call of the application.
    pub fn call<T>(&self, call: impl FnOnce(&mut Endpoint, Time) -> T) -> T {
        let mut state = self.lock();
        let now = self.now();
        let answer = call(&mut state.endpoint, now);
        self.ring(&mut state);
        answer
    }

    /// Calls until there is another answer than [`StreamError::Blocked`], or `timeout` is over.
    pub fn wait<T>(
        &self,
        of: Option<StreamId>,
        timeout: Option<Duration>,
        mut call: impl FnMut(&mut Endpoint, Time) -> Result<T, StreamError>,
    ) -> io::Result<T> {
        let end = timeout.map(|timeout| Instant::now() + timeout);
        let mut state = self.lock();
        loop {
            match call(&mut state.endpoint, self.now()) {
                Err(StreamError::Blocked) => {}
                answer => {
                    self.ring(&mut state);
                    return answer.map_err(io_error);
                }
            }
            self.ring(&mut state);
            state.check()?;
            let wait = state.waits.entry(of).or_default().clone();
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

    /// The same for a task.
    #[cfg(feature = "tokio")]
    pub fn poll<T>(
        &self,
        of: Option<StreamId>,
        context: &mut Context<'_>,
        call: impl FnOnce(&mut Endpoint, Time) -> Result<T, StreamError>,
    ) -> Poll<io::Result<T>> {
        let mut state = self.lock();
        let answer = call(&mut state.endpoint, self.now());
        self.ring(&mut state);
        if !matches!(answer, Err(StreamError::Blocked)) {
            return Poll::Ready(answer.map_err(io_error));
        }
        state.check()?;
        let wait = state.waits.entry(of).or_default().clone();
        let mut tasks = wait.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        if !tasks.iter().any(|task| task.will_wake(context.waker())) {
            tasks.push(context.waker().clone());
        }
        Poll::Pending
    }

    /// The application is done with a stream.
    pub fn release(&self, id: StreamId) {
        let mut state = self.lock();
        state.waits.remove(&Some(id));
        let now = self.now();
        state.endpoint.release(now, id);
        self.ring(&mut state);
    }

    /// Every handle is gone: the thread ends when all is sent.
    pub fn close(&self) {
        let mut state = self.lock();
        state.closing = true;
        state.endpoint.listen(0);
        self.ring(&mut state);
    }

    /// What an application announces, as the protocol takes it.
    pub fn message(now: Time, flow: Flow) -> Message {
        let span = |deadline: Duration| {
            Span::from_ns(
                u64::try_from(deadline.as_nanos())
                    .unwrap_or(u64::MAX)
                    .min(1 << 50),
            )
        };
        Message {
            bytes: flow.bytes,
            deadline: flow.deadline.map(|deadline| now + span(deadline)),
        }
    }

    /// Wakes whoever has to know of what a call did: others of the application, and the thread.
    fn ring(&self, state: &mut State) {
        state.tell();
        if state.closing || state.endpoint.next_timeout() < state.planned {
            state.planned = Time::ZERO;
            // Full means that it rings already.
            let _ = (&self.bell).write(&[1]);
        }
    }
}

impl State {
    /// Wakes whoever waits for what has happened.
    pub fn tell(&mut self) {
        while let Some(event) = self.endpoint.poll_event() {
            let of = match event {
                Event::Incoming => None,
                Event::Changed(id) => Some(id),
            };
            if let Some(wait) = self.waits.get(&of) {
                wait.wake();
            }
        }
    }

    /// The socket failed: nobody need wait any more.
    pub fn fail(&mut self, error: &io::Error) {
        self.broken = Some(error.kind());
        for wait in self.waits.values() {
            wait.wake();
        }
    }

    fn check(&self) -> io::Result<()> {
        match self.broken {
            Some(kind) => Err(io::Error::new(kind, "the endpoint's socket failed")),
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
