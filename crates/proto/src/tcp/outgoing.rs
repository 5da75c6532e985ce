//! The messages of a stream that are not yet acknowledged: their ends and deadlines.

use crate::Message;
use duetime_core::Time;
use std::collections::VecDeque;

/// A message by the position after its last byte.
#[derive(Clone, Copy, Debug)]
struct Extent {
    end: u64,
    /// `Time::MAX`: none.
    deadline: Time,
}

/// The messages submitted and not yet acknowledged. The usual single one needs no allocation.
#[derive(Clone, Debug)]
#[repr(C)]
pub(super) struct Outgoing {
    /// The first message that is not wholly acknowledged, or the last one if all are.
    first: Extent,
    /// The end of all messages.
    end: u64,
    #[expect(
        clippy::box_collection,
        reason = "rarely there; eight bytes instead of 32 in every sender"
    )]
    later: Option<Box<VecDeque<Extent>>>,
    /// How many messages before the one being sent are unacknowledged.
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

    /// Appends a message. `una` is acknowledged, `next` is sent next; gives the end of the message at `next`.
    pub(super) fn push(&mut self, message: Message, una: u64, next: u64) -> u64 {
        let sending_end = self.sending_end();
        self.end = self
            .end
            .saturating_add(message.bytes.max(1))
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

    /// Sending has reached the end of a message: moves to the next one, if any, and gives the end of it.
    pub(super) fn sent_one(&mut self) -> u64 {
        if self.sending_end() < self.end {
            self.sending += 1;
        }
        self.sending_end()
    }

    /// Sending starts again at the first unacknowledged message: gives the end of it.
    pub(super) fn rewind(&mut self) -> u64 {
        self.sending = 0;
        self.first.end
    }

    /// Drops messages acknowledged up to `una`, of which the first is.
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

    /// The end of the first message not wholly acknowledged.
    #[inline]
    pub(super) const fn first_end(&self) -> u64 {
        self.first.end
    }

    /// The end of all messages.
    #[inline]
    pub(super) const fn end(&self) -> u64 {
        self.end
    }

    /// The deadline of the first message not wholly acknowledged.
    pub(super) fn deadline(&self) -> Option<Time> {
        (self.first.deadline != Time::MAX).then_some(self.first.deadline)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(bytes: u64) -> Message {
        Message {
            bytes,
            deadline: Some(Time::from_ps(bytes)),
        }
    }

    #[test]
    fn messages_follow_each_other() {
        let mut out = Outgoing::new();
        assert_eq!(out.push(message(100), 0, 0), 101);
        assert_eq!(out.push(message(50), 1, 11), 101);
        assert_eq!(out.end(), 151);
        assert_eq!(out.sent_one(), 151);
        assert_eq!(out.sent_one(), 151, "there is no further one");
        assert_eq!(
            out.push(message(9), 1, 151),
            160,
            "all was sent: the new one is next"
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
            "all was acknowledged: it replaces the last"
        );
        assert_eq!(out.first_end(), 167);
    }

    #[test]
    fn an_endless_message_does_not_overflow() {
        let mut out = Outgoing::new();
        out.push(message(u64::MAX / 2), 0, 0);
        out.push(message(u64::MAX), 1, 1);
        assert!(out.end() < u64::MAX / 4 * 3 + 1);
    }
}
