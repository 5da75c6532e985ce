//! Messages over `due`, with [`Messages`](super::messages::Messages) as endpoints.

use super::Traffic;
use super::messages::MessageEvent;
use crate::LabError;
use crate::linux::clock::Clock;

impl Traffic<'_> {
    /// Drives `due`'s endpoints and passes their events to the workloads.
    pub(super) fn drive_messages(&mut self, clock: Clock) -> Result<(), LabError> {
        loop {
            let Some(messages) = &mut self.messages else {
                return Ok(());
            };
            let events = messages.drive(clock, &mut self.results.lateness)?;
            if events.is_empty() {
                return Ok(());
            }
            for event in events {
                match event {
                    MessageEvent::Delivered(waiting, at) => self.complete(at, &waiting)?,
                    MessageEvent::Failed(failure) => self.results.fail(failure),
                }
            }
        }
    }
}
