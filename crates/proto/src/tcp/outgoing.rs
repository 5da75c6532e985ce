//! Unacknowledged messages of a stream: their ends and deadlines.

use crate::Message;
use duetime_core::Time;
use std::collections::VecDeque;

/// A message, identified by the position after its last byte.
#[derive(Clone, Copy, Debug)]
struct Extent {
    end: u64,
    /// `Time::MAX` if there is none.
    deadline: Time,
}

/// Queue of submitted, unacknowledged messages. A single message, the common case, needs no allocation.
#[derive(Clone, Debug)]
#[repr(C)]
pub(super) struct Outgoing {
    /// First message that is not fully acknowledged, or the last message if all are.
    first: Extent,
    /// End of all messages.
    end: u64,
    #[expect(
        clippy::box_collection,
        reason = "rarely used; eight bytes instead of 32 in every sender"
    )]
    later: Option<Box<VecDeque<Extent>>>,
    /// Number of unacknowledged messages before the one being sent.
    sending: u32,
}

impl Outgoing {
    pub(super) const fn new() -> Self {
        let none = Extent {
            end: 1,
            deadline: Time::MAX,
        };
        Self {
            first: none,
            end: 1,
            later: None,
            sending: 0,
        }
    }

    /// Appends a message, where `una` is the first unacknowledged position and `next` the next to send. Returns the end
    /// of the message at `next`.
    pub(super) fn push(&mut self, message: Message, una: u64, next: u64) -> u64 {
        let sending_end = self.sending_end();
        self.end = self
            .end
            .saturating_add(message.length.bytes().max(1))
            .min(u64::MAX / 4 * 3);
        let extent = Extent {
            end: self.end,
            deadline: message.deadline.unwrap_or(Time::MAX),
        };
        if una >= self.first.end || self.first.end == 1 {
            self.first = extent;
            return extent.end;
        }
        let later = self.later.get_or_insert_default();
        later.push_back(extent);
        if next >= sending_end {
            self.sending = later.len() as u32;
            return extent.end;
        }
        sending_end
    }

    /// Moves to the next message, if any, after the current one was sent. Returns the end of the message to send.
    pub(super) fn next_message(&mut self) -> u64 {
        if self.sending_end() < self.end {
            self.sending += 1;
        }
        self.sending_end()
    }

    /// Restarts sending at the first unacknowledged message. Returns its end.
    pub(super) fn rewind(&mut self) -> u64 {
        self.sending = 0;
        self.first.end
    }

    /// Removes messages acknowledged up to `una`. Called only when the first one is.
    pub(super) fn acknowledged(&mut self, una: u64) {
        while una >= self.first.end
            && let Some(next) = self.later.as_mut().and_then(|later| later.pop_front())
        {
            self.first = next;
            self.sending = self.sending.saturating_sub(1);
        }
    }

    fn sending_end(&self) -> u64 {
        match (self.sending, &self.later) {
            (1.., Some(later)) => later[self.sending as usize - 1].end,
            _ => self.first.end,
        }
    }

    /// Returns the end of the first message that is not fully acknowledged.
    #[inline]
    pub(super) const fn first_end(&self) -> u64 {
        self.first.end
    }

    /// Returns the end of all messages.
    #[inline]
    pub(super) const fn end(&self) -> u64 {
        self.end
    }

    /// Returns the deadline of the first message that is not fully acknowledged.
    pub(super) fn deadline(&self) -> Option<Time> {
        (self.first.deadline != Time::MAX).then_some(self.first.deadline)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Length;

    fn message(bytes: u64) -> Message {
        Message::new(bytes, Some(Time::from_ps(bytes)))
    }

    #[test]
    fn tracks_consecutive_messages() {
        let mut out = Outgoing::new();
        assert_eq!(out.push(message(100), 0, 0), 101);
        assert_eq!(out.push(message(50), 1, 11), 101);
        assert_eq!(out.end(), 151);
        assert_eq!(out.next_message(), 151);
        assert_eq!(out.next_message(), 151, "no further message");
        assert_eq!(
            out.push(message(9), 1, 151),
            160,
            "all sent: the new message is next"
        );
        assert_eq!(out.rewind(), 101);
        assert_eq!(out.deadline(), Some(Time::from_ps(100)));
        out.acknowledged(155);
        assert_eq!(
            (out.first_end(), out.deadline()),
            (160, Some(Time::from_ps(9)))
        );
        out.acknowledged(160);
        assert_eq!(
            out.push(message(7), 160, 160),
            167,
            "all acknowledged: the new message replaces the last"
        );
        assert_eq!(out.first_end(), 167);
    }

    #[test]
    fn endless_messages_do_not_overflow() {
        let mut out = Outgoing::new();
        out.push(message(Length::END), 0, 0);
        out.push(message(u64::MAX), 1, 1);
        assert!(out.end() < u64::MAX / 4 * 3 + 1);
    }
}
