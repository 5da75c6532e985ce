//! Messages under way.

use crate::Socket;
use crate::error::result;
use crate::protocol::Key;
use duetime_proto::due::endpoint::Outcome;
use std::io;
use std::time::Duration;

/// Message under way. Dropping it leaves the message under way; a failure is then not reported.
#[derive(Debug)]
pub struct Sending {
    pub(crate) socket: Socket,
    pub(crate) number: u64,
    /// Outcome, after the endpoint has returned it.
    pub(crate) outcome: Option<Outcome>,
}

impl Drop for Sending {
    fn drop(&mut self) {
        let shared = &self.socket.shared;
        shared.forget(&self.key());
        shared.call(|messages, _| messages.endpoint.forget(self.number));
    }
}

impl Sending {
    pub(crate) fn new(socket: Socket, number: u64) -> Self {
        Self {
            socket,
            number,
            outcome: None,
        }
    }

    /// Waits until the peer's socket has received the message. Fails if the message cannot be delivered; [`failure`]
    /// returns the reason.
    ///
    /// [`failure`]: crate::failure()
    pub fn wait(self) -> io::Result<()> {
        if let Some(outcome) = self.outcome {
            return result(outcome);
        }
        let outcome = self
            .socket
            .shared
            .wait(&self.key(), |messages, _| messages.outcome(self.number))?;
        result(outcome)
    }

    /// Waits for at most `timeout`. Returns true if the peer's socket has received the message, or false while it is
    /// under way. Fails like [`wait`](Self::wait).
    pub fn wait_timeout(&mut self, timeout: Duration) -> io::Result<bool> {
        if self.outcome.is_none() {
            let shared = &self.socket.shared;
            self.outcome = shared.wait_timeout(&self.key(), timeout, |messages, _| {
                messages.outcome(self.number)
            })?;
        }
        match self.outcome {
            Some(outcome) => result(outcome).map(|()| true),
            None => Ok(false),
        }
    }

    /// Aborts the message: the peer drops the part that it has received, unless the message was complete.
    pub fn abort(self) {
        let shared = &self.socket.shared;
        shared.call(|messages, _| messages.endpoint.abort(self.number));
    }

    pub(crate) fn key(&self) -> Key {
        Key::Ended(self.number)
    }
}
