//! State shared by the application's threads and the socket's thread: the protocol's endpoint and its waiters.

use crate::Protocol;
use crate::sync::{Condvar, Mutex, MutexGuard, UnixStream};
use duetime_core::{Span, Time};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::mem;
use std::sync::{Arc, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Instant;

#[derive(Debug)]
pub struct Shared<P: Protocol> {
    state: Mutex<State<P>>,
    /// Wakes the socket's thread.
    wakeup: UnixStream,
    clock: Instant,
}

#[derive(Debug)]
pub struct State<P: Protocol> {
    pub protocol: P,
    waits: BTreeMap<P::Key, Arc<Wait>>,
    wakes: Wakes,
    /// Time at which the thread next runs without a wake-up.
    pub planned: Time,
    /// True if the application has dropped the socket.
    pub closing: bool,
    /// Kind and text of the error that ended the socket's thread.
    broken: Option<(io::ErrorKind, String)>,
}

/// Wake-ups that are due when the state is unlocked. A thread that is woken before would wait for the lock.
#[derive(Debug, Default)]
struct Wakes {
    waits: Vec<Arc<Wait>>,
    /// True to wake the socket's thread.
    includes_thread: bool,
}

/// Threads and tasks that wait for a key.
#[derive(Debug, Default)]
struct Wait {
    threads: Condvar,
    tasks: Mutex<Vec<Waker>>,
}

impl<P: Protocol> Shared<P> {
    pub fn new(protocol: P, wakeup: UnixStream) -> Self {
        Self {
            state: Mutex::new(State {
                protocol,
                waits: BTreeMap::new(),
                wakes: Wakes::default(),
                planned: Time::ZERO,
                closing: false,
                broken: None,
            }),
            wakeup,
            clock: Instant::now(),
        }
    }

    /// Returns the time since the socket was created.
    pub fn now(&self) -> Time {
        let elapsed = self.clock.elapsed().as_nanos();
        Time::ZERO + Span::from_ns(u64::try_from(elapsed).unwrap_or(u64::MAX / 1_000))
    }

    /// Locks the state, even after a panic in another thread, because the protocol is consistent between calls.
    pub fn lock(&self) -> MutexGuard<'_, State<P>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Unlocks the state, and wakes the threads and tasks affected by the calls.
    pub fn unlock(&self, mut state: MutexGuard<'_, State<P>>) {
        let wakes = mem::take(&mut state.wakes);
        drop(state);
        self.wake(wakes);
    }

    fn wake(&self, wakes: Wakes) {
        for wait in wakes.waits {
            wait.wake();
        }
        if wakes.includes_thread {
            // If the pipe is full, the thread is being woken already.
            let _ = (&self.wakeup).write(&[1]);
        }
    }

    /// Calls the protocol and wakes all affected threads.
    pub fn call<T>(&self, call: impl FnOnce(&mut P, Time) -> T) -> T {
        let mut state = self.lock();
        let now = self.now();
        let result = call(&mut state.protocol, now);
        state.notify_all();
        self.unlock(state);
        result
    }

    /// Repeats a call until it is ready. Returns `None` at `end`, or an error if the socket's thread has ended.
    pub fn wait_until<T>(
        &self,
        end: Option<Instant>,
        key: &P::Key,
        mut call: impl FnMut(&mut P, Time) -> Poll<T>,
    ) -> io::Result<Option<T>> {
        let mut state = self.lock();
        loop {
            state.check()?;
            let result = call(&mut state.protocol, self.now());
            state.notify_all();
            if let Poll::Ready(result) = result {
                self.unlock(state);
                return Ok(Some(result));
            }
            // Before the wait, since it unlocks the state.
            self.wake(mem::take(&mut state.wakes));
            let wait = state.waits.entry(key.clone()).or_default().clone();
            state = match end {
                None => wait
                    .threads
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner),
                Some(end) => {
                    let left = end.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return Ok(None);
                    }
                    let woken = wait.threads.wait_timeout(state, left);
                    woken.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }

    /// Calls the protocol for a task, which is woken when another call may be ready.
    pub fn poll<T>(
        &self,
        key: &P::Key,
        context: &mut Context<'_>,
        call: impl FnOnce(&mut P, Time) -> Poll<T>,
    ) -> Poll<io::Result<T>> {
        let mut state = self.lock();
        state.check()?;
        let result = call(&mut state.protocol, self.now());
        state.notify_all();
        if let Poll::Ready(result) = result {
            self.unlock(state);
            return Poll::Ready(Ok(result));
        }
        let wait = state.waits.entry(key.clone()).or_default().clone();
        let mut tasks = wait.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        if !tasks.iter().any(|task| task.will_wake(context.waker())) {
            tasks.push(context.waker().clone());
        }
        drop(tasks);
        self.unlock(state);
        Poll::Pending
    }

    /// Ends the thread when all data is sent. Called when the application drops the socket.
    pub fn close(&self) {
        let mut state = self.lock();
        state.closing = true;
        state.protocol.stop();
        state.notify_all();
        self.unlock(state);
    }
}

impl<P: Protocol> State<P> {
    /// Wakes the waiters of all pending events when the state is unlocked.
    pub fn notify(&mut self) {
        while let Some(key) = self.protocol.poll_event() {
            if let Some(wait) = self.waits.get(&key) {
                self.wakes.waits.push(Arc::clone(wait));
            }
        }
    }

    /// Wakes the waiters, and the socket's thread if a call requires it.
    fn notify_all(&mut self) {
        self.notify();
        if self.closing || self.protocol.next_timeout() < self.planned {
            self.planned = Time::ZERO;
            self.wakes.includes_thread = true;
        }
    }

    /// Removes a key without waiters.
    pub fn forget(&mut self, key: &P::Key) {
        self.waits.remove(key);
    }

    /// Records the error that ended the socket's thread, and wakes all waiters.
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
