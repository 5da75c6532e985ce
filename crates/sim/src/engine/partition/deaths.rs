//! Deaths of hosts (see [`Faults`]).

use super::Partition;
use crate::engine::endpoints::{Listed, every};
use crate::engine::hosts::Owner;
use crate::faults::Faults;
use duetime_core::Time;

impl Partition {
    /// Schedules the deaths of this partition's hosts as host timers.
    pub(super) fn schedule_deaths(&mut self, faults: &Faults, owned: &dyn Fn(u32) -> bool) {
        for death in faults.deaths.iter().filter(|death| owned(death.host)) {
            let at = Time::ZERO + death.at;
            let slot = self.hosts.take_slot(death.host, Owner::Death { at });
            self.context.events.schedule_timer(at, death.host, slot);
        }
    }

    /// Handles the death of a host: all its state is lost.
    pub(super) fn die(&mut self, host: u32) {
        let context = &mut self.context;
        every!(T => {
            let table = T::table(&mut self.endpoints);
            table.forget_senders(context, &mut self.hosts, host);
            table.forget_receivers(&mut self.hosts, host);
        });
        self.hosts.forget_waiting(context, host);
        self.wire.host_dies(host, context.now());
    }
}
