//! Asynchronous methods, for any runtime.

use crate::error::result;
use crate::protocol::{Key, Messages};
use crate::{Message, Received, Sending, Socket};
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;

impl Socket {
    /// Submits a message like [`send`](Self::send).
    pub async fn send_async(&self, peer: SocketAddr, message: Message) -> io::Result<Sending> {
        let mut submission = self.submission(peer, message)?;
        let submitted = poll_fn(|context| {
            let shared = &self.shared;
            shared.poll(&Key::Writable, context, |messages, now| {
                submission.attempt(messages, now)
            })
        });
        Ok(Sending::new(self.clone(), submitted.await??))
    }

    /// Waits for the next message.
    pub async fn receive_async(&self) -> io::Result<Received> {
        let received = poll_fn(|context| {
            let shared = &self.shared;
            shared.poll(&Key::Incoming, context, Messages::receive)
        });
        received.await
    }
}

impl Sending {
    /// Waits like [`wait`](Self::wait).
    pub async fn wait_async(self) -> io::Result<()> {
        if let Some(outcome) = self.outcome {
            return result(outcome);
        }
        let outcome = poll_fn(|context| {
            let shared = &self.socket.shared;
            shared.poll(&self.key(), context, |messages, _| {
                messages.outcome(self.number)
            })
        });
        result(outcome.await?)
    }
}
