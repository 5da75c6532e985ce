//! Access to one message or source, for drivers that store bytes and limit what strangers receive.

use super::Receiver;
use crate::due::{Config, Control, MessageId};
use duetime_core::{Span, Time};

impl<T: Clone> Receiver<T> {
    /// Returns true if the message is announced and not complete.
    pub fn contains(&self, id: MessageId) -> bool {
        self.index.contains_key(&id)
    }

    /// Returns true if the message was complete or aborted recently.
    pub fn is_finished(&self, id: MessageId) -> bool {
        self.finished.contains(&id)
    }

    /// Sets the time for which messages that finish from now on are remembered.
    pub const fn remember_for(&mut self, lifetime: Span) {
        self.finished.set_lifetime(lifetime);
    }

    /// Returns the number of granted packets of a known message if packet `number` is one of them and has not arrived.
    pub fn expects(&self, id: MessageId, number: u64) -> Option<u64> {
        let message = self.get(*self.index.get(&id)?)?;
        message.expects(number).then_some(message.granted)
    }

    /// Returns the grant of a known message that is in force, or `None`.
    pub fn current_grant(&self, id: MessageId) -> Option<Control> {
        let message = self.get(*self.index.get(&id)?)?;
        Some(message.current_grant())
    }

    /// Limits grants of the messages that are announced from now on to the packets below `packets`, until
    /// [`lift_limit`](Self::lift_limit). [`u64::MAX`] removes the limit for further messages.
    pub const fn limit_new(&mut self, packets: u64) {
        self.new_limit = packets;
    }

    /// Removes the limit of [`limit_new`](Self::limit_new) from a message.
    pub fn lift_limit(&mut self, config: &Config, now: Time, id: MessageId) {
        if let Some(&index) = self.index.get(&id)
            && let Some(message) = self.messages[index as usize].as_mut()
        {
            message.limit = u64::MAX;
            self.is_stale = true;
            self.schedule(config, now);
        }
    }

    /// Removes a message without a reply. It may be announced again.
    pub fn forget(&mut self, config: &Config, now: Time, id: MessageId) {
        if let Some(&index) = self.index.get(&id) {
            self.remove(index);
            self.schedule(config, now);
        }
    }

    /// Removes the measurements of a source, so that they do not count towards the maximum number of sources. The
    /// source must have no messages.
    pub fn forget_source(&mut self, source: u32) {
        self.delays.forget(source);
        self.sizes.forget(source);
    }
}
