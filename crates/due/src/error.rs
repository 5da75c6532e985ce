//! Errors of the protocol as I/O errors.

use duetime_proto::due::endpoint::{Failure, OptionsError, Outcome, SendError};
use std::io::{self, ErrorKind};

/// Returns the reason why a message was not delivered, or `None` if the error has another cause.
pub fn failure(error: &io::Error) -> Option<Failure> {
    error.get_ref()?.downcast_ref().copied()
}

/// Converts the end of a message to a result.
pub(crate) fn result(outcome: Outcome) -> io::Result<()> {
    let failure = match outcome {
        Outcome::Delivered => return Ok(()),
        Outcome::Aborted => {
            return Err(io::Error::new(
                ErrorKind::ConnectionAborted,
                "the message was aborted",
            ));
        }
        Outcome::Failed(failure) => failure,
    };
    let kind = match failure {
        Failure::Unreachable | Failure::Refused => ErrorKind::ConnectionRefused,
        Failure::TimedOut => ErrorKind::TimedOut,
        Failure::TooLong => ErrorKind::InvalidData,
    };
    Err(io::Error::new(kind, failure))
}

pub(crate) fn send_error(error: SendError) -> io::Error {
    let kind = match error {
        SendError::Blocked => ErrorKind::WouldBlock,
        SendError::TooLong { .. } => ErrorKind::InvalidInput,
    };
    io::Error::new(kind, error)
}

pub(crate) fn options_error(error: OptionsError) -> io::Error {
    io::Error::new(ErrorKind::InvalidInput, error)
}
