//! Access to one message by its number, for drivers that keep a table of their messages.

use super::Sender;

impl<T> Sender<T> {
    /// Aborts a message, even if all of its packets were sent. If the receiver may know the message, it is notified,
    /// and the message remains until it replies. Returns true if the message remains.
    pub fn abort_number(&mut self, number: u64) -> bool {
        let Some(message) = self.messages.get_mut(&number) else {
            return false;
        };
        if !message.is_aborted {
            message.is_aborted = true;
            message.sends_abort = message.next > 0;
            message.granted = message.next;
            message.resend.clear();
            message.reorder(number, &mut self.ready);
        }
        let remains = message.next > 0;
        if !remains {
            self.messages.remove(&number);
        }
        remains
    }

    /// Removes a message without notifying the receiver.
    pub fn forget(&mut self, number: u64) {
        if let Some(message) = self.messages.remove(&number)
            && let Some(urgency) = message.urgency
        {
            self.ready.remove((urgency, number));
        }
    }

    /// Sends packet 0, or the abort, again if it was sent before. The timer of the announcement is unchanged.
    pub fn repeat(&mut self, number: u64) {
        if let Some(message) = self.messages.get_mut(&number)
            && message.next > 0
        {
            if message.is_aborted {
                message.sends_abort = true;
            } else {
                message.resend.insert(0);
            }
            message.reorder(number, &mut self.ready);
        }
    }
}
