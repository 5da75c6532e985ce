//! An event loop waits for messages with the socket's descriptor.

use duetime_due::{Message, Options, Rate, Socket};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::thread;

fn socket() -> Socket {
    Socket::bind("127.0.0.1:0", Options::new(Rate::from_gbps(1))).unwrap()
}

/// Waits for the descriptor for at most `seconds`, and returns true if it is readable.
fn is_readable(socket: &Socket, seconds: i64) -> bool {
    let descriptor = socket.incoming_fd().unwrap();
    let timeout = Timespec {
        tv_sec: seconds,
        tv_nsec: 0,
    };
    let mut polled = [PollFd::new(&descriptor, PollFlags::IN)];
    poll(&mut polled, Some(&timeout)).unwrap() > 0
}

#[test]
fn descriptor_is_readable_until_an_attempt_fails() {
    let (receiver, sender) = (socket(), socket());
    let address = receiver.local_addr().unwrap();
    assert!(is_readable(&receiver, 0), "before the first attempt");
    assert!(receiver.try_receive().unwrap().is_none());
    assert!(!is_readable(&receiver, 0));
    for length in [0, 5, 300_000] {
        let sending = sender.send(address, Message::new(vec![7; length])).unwrap();
        sending.wait().unwrap();
    }
    let mut lengths = Vec::new();
    while is_readable(&receiver, 0) {
        let received = receiver.try_receive().unwrap();
        lengths.extend(received.map(|received| received.bytes.len()));
    }
    assert_eq!(lengths, [0, 5, 300_000]);
}

#[test]
fn descriptor_wakes_a_waiting_thread() {
    let (receiver, sender) = (socket(), socket());
    let address = receiver.local_addr().unwrap();
    assert!(receiver.try_receive().unwrap().is_none());
    let received = thread::spawn(move || {
        loop {
            assert!(is_readable(&receiver, 20), "a message arrives");
            if let Some(received) = receiver.try_receive().unwrap() {
                return received;
            }
        }
    });
    sender.send(address, Message::new("query")).unwrap();
    assert_eq!(received.join().unwrap().bytes, b"query");
}

#[test]
fn attempts_without_a_descriptor() {
    let (receiver, sender) = (socket(), socket());
    let address = receiver.local_addr().unwrap();
    assert!(receiver.try_receive().unwrap().is_none());
    let sending = sender.send(address, Message::new("query")).unwrap();
    sending.wait().unwrap();
    let received = receiver.try_receive().unwrap().expect("a message");
    assert_eq!(received.bytes, b"query");
    assert!(receiver.try_receive().unwrap().is_none());
}
