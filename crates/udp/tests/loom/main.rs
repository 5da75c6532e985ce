//! Runs the state that a socket shares between the application's threads and its own under every interleaving, with the
//! model checker loom. A lost wake-up is a deadlock, which loom reports. The file is the crate's, with loom's locks; the
//! pipe, the protocol and the socket's thread are small models.

#![allow(clippy::print_stdout, reason = "tests print their measurements")]

#[path = "../../../../tests/interleavings/explore.rs"]
mod explore;
mod pipe;
#[path = "../../src/shared.rs"]
#[expect(dead_code, reason = "the model needs a part of it")]
mod shared;

mod sync {
    pub use crate::pipe::Pipe as UnixStream;
    pub use loom::sync::{Condvar, Mutex, MutexGuard};
}

use duetime_core::Time;
use duetime_udp::{Protocol, Transmit};
use explore::explore;
use pipe::Pipe;
use shared::Shared;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::Poll;

/// A protocol with messages of one datagram each, delivered when the datagram leaves.
#[derive(Debug, Default)]
struct Messages {
    waiting: u32,
    delivered: u32,
    /// Messages whose delivery was not announced.
    events: u32,
}

impl Protocol for Messages {
    type Key = ();

    fn reads_marks(&self) -> bool {
        false
    }

    fn input(&mut self, _: Time, _: SocketAddr, _: &[u8], _: bool) {}

    fn timeout(&mut self, _: Time) {}

    fn next_timeout(&self) -> Time {
        if self.waiting > 0 {
            Time::ZERO
        } else {
            Time::MAX
        }
    }

    fn poll_transmit(&mut self, _: Time, _: &mut Vec<u8>) -> Option<Transmit> {
        self.waiting = self.waiting.checked_sub(1)?;
        self.delivered += 1;
        self.events += 1;
        Some(Transmit {
            bytes: 0,
            peer: SocketAddr::from(([127, 0, 0, 1], 1)),
        })
    }

    fn poll_event(&mut self) -> Option<()> {
        self.events = self.events.checked_sub(1)?;
        Some(())
    }

    fn too_long(&mut self, _: Time, _: SocketAddr) {}

    fn port_closed(&mut self, _: Time, _: SocketAddr) {}

    fn is_sending(&self) -> bool {
        self.waiting > 0
    }

    fn stop(&mut self) {}
}

/// Runs the socket's thread as `driver.rs` does: collects datagrams, and sleeps if there are none.
fn drive(shared: &Shared<Messages>, wakeup: &Pipe) {
    loop {
        let mut state = shared.lock();
        let is_sending = state
            .protocol
            .poll_transmit(Time::ZERO, &mut Vec::new())
            .is_some();
        state.notify();
        if state.closing && !is_sending && !state.protocol.is_sending() {
            shared.unlock(state);
            return;
        }
        state.planned = if is_sending {
            Time::ZERO
        } else {
            state.protocol.next_timeout()
        };
        shared.unlock(state);
        if !is_sending {
            wakeup.wait();
        }
    }
}

/// Explores the interleavings of an application and the socket's thread. The application then closes the socket, and its
/// thread must end.
fn with_socket(name: &str, preemptions: usize, application: fn(&Arc<Shared<Messages>>)) {
    explore(name, preemptions, move || {
        let wakeup = Pipe::default();
        let shared = Arc::new(Shared::new(Messages::default(), wakeup.clone()));
        let driver = Arc::clone(&shared);
        let driver = loom::thread::spawn(move || drive(&driver, &wakeup));
        application(&shared);
        shared.close();
        driver.join().expect("the thread ends");
    });
}

fn send(shared: &Shared<Messages>) {
    shared.call(|messages, _| messages.waiting += 1);
}

/// Waits until `count` messages are delivered.
fn wait_for(shared: &Shared<Messages>, count: u32) {
    let delivered = shared.wait_until(None, &(), |messages, _| {
        if messages.delivered == count {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    });
    assert_eq!(delivered.expect("the socket works"), Some(()));
}

#[test]
fn one_thread_sends_and_waits() {
    with_socket("one thread sends and waits", 5, |shared| {
        send(shared);
        wait_for(shared, 1);
    });
}

#[test]
fn two_threads_send_and_wait() {
    with_socket("two threads send and wait", 2, |shared| {
        let other = Arc::clone(shared);
        let other = loom::thread::spawn(move || {
            send(&other);
            wait_for(&other, 2);
        });
        send(shared);
        wait_for(shared, 2);
        other.join().expect("the messages are delivered");
    });
}

#[test]
fn one_thread_sends_and_another_waits() {
    with_socket("one thread sends, another waits", 4, |shared| {
        let other = Arc::clone(shared);
        let other = loom::thread::spawn(move || send(&other));
        wait_for(shared, 1);
        other.join().expect("the message is sent");
    });
}

#[test]
fn failure_of_the_thread_ends_all_waits() {
    explore("the thread fails", 3, || {
        let shared = Arc::new(Shared::new(Messages::default(), Pipe::default()));
        let waiting = Arc::clone(&shared);
        let waiting = loom::thread::spawn(move || {
            let never = waiting.wait_until(None, &(), |_, _| Poll::<()>::Pending);
            never.expect_err("the wait fails").to_string()
        });
        shared.lock().fail(&std::io::Error::other("broken"));
        assert_eq!(waiting.join().expect("the thread ends"), "broken");
    });
}
