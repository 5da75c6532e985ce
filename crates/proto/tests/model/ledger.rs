//! Expected counters of a port: the sums over its live flows, kept per flow and apart from the code under test.

use crate::rules::Rule;
use duetime_proto::d3::{EncodedRate, Flags, PortDriver, Request};

/// Number of complete epochs after which the counters must be right again (`repair` of the D3 module).
pub const EPOCHS_TO_REPAIR: u8 = 4;
const MAX_FLOWS: usize = 3;

/// Flow at a port, in one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Entry {
    desired: EncodedRate,
    granted: EncodedRate,
    /// Number of requests of the flow that the port has processed in this epoch.
    seen: u8,
    /// Stamp that the port has written.
    stamp: bool,
}

/// Live flows of a port, and the age of the last disturbance.
///
/// A *disturbance* is an event after which the sums of the port are wrong: a request that does not return what the port
/// has granted to the flow, the end of a flow that the port is not notified of, a restart of the port, or an epoch in
/// which a live flow was silent.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Ledger {
    /// By flow and direction.
    entries: [Option<Entry>; 2 * MAX_FLOWS],
    /// Complete epochs since the last disturbance, at most [`EPOCHS_TO_REPAIR`].
    epochs: u8,
    /// Updates in this epoch.
    updates: u32,
    /// Slowest pace of this epoch and of the last one.
    paces: [u8; 2],
    /// False if the next update only reads the number of departed bytes.
    is_reading: bool,
    /// True if the port repairs its counters.
    repair: bool,
}

impl Ledger {
    pub fn new(repair: bool) -> Self {
        Self {
            repair,
            entries: [None; 2 * MAX_FLOWS],
            epochs: EPOCHS_TO_REPAIR,
            updates: 0,
            paces: [0; 2],
            is_reading: false,
        }
    }

    pub fn disturb(&mut self) {
        self.epochs = 0;
    }

    /// Records that the port has lost its state.
    pub fn restart(&mut self) {
        self.disturb();
        (self.updates, self.paces, self.is_reading) = (0, [0; 2], false);
        for entry in self.entries.iter_mut().flatten() {
            entry.seen = 0;
        }
    }

    /// Returns true if a disturbance may not be repaired yet.
    pub fn is_disturbed(&self) -> bool {
        self.epochs < EPOCHS_TO_REPAIR
    }

    /// Records a request. `before` is the request as it arrived, `after` as the port has answered it.
    pub fn record(
        &mut self,
        flow: usize,
        forward: bool,
        is_live: bool,
        flags: Flags,
        (before, after): (&Request, &Request),
    ) {
        let slot = usize::from(before.index);
        let returned = (before.previous_desired, before.previous_allocations[slot]);
        let entry = &mut self.entries[2 * flow + usize::from(forward)];
        let stamp = |request: &Request| request.stamps >> slot & 1 != 0;
        let is_stale = entry.is_some_and(|entry| entry.stamp != stamp(before));
        let registered = entry.map(|entry| (entry.desired, entry.granted));
        let is_expected = if flags.contains(Flags::FIN) {
            registered == Some(returned)
        } else if flags.contains(Flags::SYN) {
            registered.is_none()
        } else {
            registered == Some(returned) && is_live
        };
        let seen = entry.map_or(0, |entry| entry.seen);
        *entry = (is_live && !flags.contains(Flags::FIN)).then_some(Entry {
            desired: before.desired,
            granted: after.allocations[slot],
            seen: seen + 1,
            stamp: stamp(after),
        });
        // A flow with an old stamp is counted twice in this epoch. This delays the repair of an earlier error, but has
        // no other effect.
        let is_delayed = is_stale && self.is_disturbed();
        if !is_expected || (flags.contains(Flags::SYN) && !is_live) || is_delayed {
            self.disturb();
        }
        self.paces[0] = self.paces[0].max(before.pace);
    }

    /// Removes a flow that the port is not notified of.
    pub fn remove(&mut self, flow: usize) {
        for direction in 0..2 {
            if self.entries[2 * flow + direction].take().is_some() {
                self.disturb();
            }
        }
    }

    /// Returns true if the next update ends an epoch in which a live flow was silent.
    pub fn misses_a_flow(&self, epoch: u32) -> bool {
        self.ends_epoch(epoch) && self.entries.iter().flatten().any(|entry| entry.seen == 0)
    }

    /// Returns true if a flow has sent more than two requests in this epoch.
    pub fn is_crowded(&self) -> bool {
        self.entries.iter().flatten().any(|entry| entry.seen > 2)
    }

    fn ends_epoch(&self, epoch: u32) -> bool {
        let pace = self.paces[0].max(self.paces[1]);
        self.is_reading && self.updates + 1 >= epoch << (2 * pace)
    }

    /// Records an update of the port, after which it `is_idle` or not. `epoch` is the shortest epoch in updates.
    pub fn update(&mut self, epoch: u32, is_idle: bool) {
        if self.ends_epoch(epoch) {
            if self.repair {
                self.epochs = (self.epochs + 1).min(EPOCHS_TO_REPAIR);
            }
            if self.misses_a_flow(epoch) {
                self.disturb();
            }
            for entry in self.entries.iter_mut().flatten() {
                entry.seen = 0;
            }
            self.updates = 0;
            self.paces = [0, self.paces[0]];
        } else {
            self.updates += u32::from(self.is_reading);
        }
        self.is_reading = !is_idle;
    }

    /// Compares the counters of the port with the sums, unless a disturbance may not be repaired yet.
    pub fn compare(&self, driver: &PortDriver) -> Result<(), Rule> {
        if self.is_disturbed() {
            return Ok(());
        }
        let mut sums = (0, 0, 0);
        for entry in self.entries.iter().flatten() {
            sums.0 += 1;
            sums.1 += u64::from(entry.desired.0);
            sums.2 += u64::from(entry.granted.0);
        }
        let port = driver.allocator();
        if (port.flows(), port.demand(), port.allocated()) == sums {
            Ok(())
        } else {
            Err(Rule::Counters)
        }
    }
}
