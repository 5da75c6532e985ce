//! Replies of the receiver that wait for the link.

use super::super::{Control, MessageId};
use super::Tag;
use std::collections::{BTreeMap, VecDeque};

/// Queue of replies. A grant replaces an older one of its message that is still in the queue, so that datagrams that
/// arrive together cause one grant per message.
#[derive(Debug, Default)]
pub(super) struct Replies {
    /// Replies in order; `None` is for the message's entry in `grants`.
    queue: VecDeque<(Tag, Option<Control>)>,
    grants: BTreeMap<MessageId, Control>,
}

impl Replies {
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    pub fn push(&mut self, tag: Tag, control: Control) {
        if !matches!(control, Control::Grant { .. }) {
            self.queue.push_back((tag, Some(control)));
        } else if self.grants.insert(tag.id, control).is_none() {
            self.queue.push_back((tag, None));
        }
    }

    pub fn pop(&mut self) -> Option<(Tag, Control)> {
        let (tag, control) = self.queue.pop_front()?;
        let control = control.or_else(|| self.grants.remove(&tag.id))?;
        Some((tag, control))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tag(number: u64) -> Tag {
        Tag {
            peer: ([127, 0, 0, 1], 7_000).into(),
            identity: 1,
            id: MessageId { source: 1, number },
        }
    }

    const fn grant(up_to: u64) -> Control {
        Control::Grant {
            up_to,
            arrived: 0,
            class: 0,
            is_background: false,
        }
    }

    #[test]
    fn only_the_newest_grant_of_a_message_is_sent() {
        let mut replies = Replies::default();
        for (number, control) in [
            (1, grant(4)),
            (2, grant(9)),
            (1, Control::Done),
            (1, grant(6)),
        ] {
            replies.push(tag(number), control);
        }
        let popped = std::iter::from_fn(|| replies.pop());
        let popped: Vec<_> = popped
            .map(|(tag, control)| (tag.id.number, control))
            .collect();
        assert_eq!(popped, [(1, grant(6)), (2, grant(9)), (1, Control::Done)]);
        replies.push(tag(1), grant(7));
        assert_eq!(replies.pop().map(|(_, control)| control), Some(grant(7)));
        assert!(replies.is_empty() && replies.pop().is_none());
    }
}
