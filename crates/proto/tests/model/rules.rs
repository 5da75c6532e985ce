//! Rules that every state must obey.

use crate::case::Case;
use crate::ledger::EPOCHS_TO_REPAIR;
use crate::world::{Flow, World};
use duetime_core::Time;
use duetime_proto::d3::{PortDriver, Reading};

/// One encoded unit, in 1/256.
const UNIT: u64 = 256;
/// Limit of N, and of D and A in multiples of the largest encoded rate. Wrapped counters are far above it.
const LIMIT: u64 = 64;
/// Sum of earlier roundings that a grant may contain (4 units), and its own rounding (1 unit).
const ROUNDING: u64 = 5 * UNIT;

/// Rule that a state breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rule {
    /// N, D and A equal the sums over live flows, or do so within four epochs of a disturbance.
    Counters,
    /// N, D and A do not wrap.
    Wrap,
    /// A grant does not raise A above C plus the slack.
    Admission,
    /// No hop grants more than the hop before it, and none grants anything to a flow that ends.
    Grant,
    /// A flow without packets in flight has a timer, or is closed.
    Stuck,
    /// A flow that closes has delivered exactly its bytes, unless it was abandoned.
    Delivery,
    /// After the last flow, a port returns to idle.
    Idle,
    /// Without faults, a request returns what the port has granted, a flow that closes has returned everything, and a
    /// live flow is seen in every epoch.
    Disturbance,
    /// After the last fault, all flows with an end close.
    End,
}

impl World {
    /// Checks the rules about a state, after a step.
    pub fn settle(&mut self, case: &Case) {
        let is_disturbed = self.ports.iter().any(|port| port.ledger.is_disturbed());
        if is_disturbed && self.faults == case.faults.number {
            self.check(Err(Rule::Disturbance));
        }
        let is_over = |flow: &Flow| flow.is_dead || flow.sender.is_closed();
        for id in 0..self.flows.len() {
            let flow = &self.flows[id];
            let is_silent = !self.has_packets(id) && flow.sender.next_timeout() == Time::MAX;
            if is_silent && !is_over(flow) && !flow.is_unwritten {
                self.check(Err(Rule::Stuck));
            }
        }
        if self.packets.is_empty() && self.flows.iter().all(is_over) && case.config.router.repair {
            for id in 0..self.ports.len() {
                let result = self.returns_to_idle(case, id);
                self.check(result);
            }
        }
    }

    /// Checks the bytes that a flow has delivered.
    pub fn delivery(&self, case: &Case, id: usize) -> Result<(), Rule> {
        let (flow, bytes) = (&self.flows[id], case.flows[id].bytes);
        let delivered = flow.receiver.delivered();
        let is_complete = bytes == Some(delivered) && flow.receiver.is_finished();
        let is_right = if flow.sender.is_closed() && !flow.sender.is_quenched() {
            is_complete
        } else {
            bytes.is_none_or(|bytes| delivered <= bytes)
        };
        if is_right {
            Ok(())
        } else {
            Err(Rule::Delivery)
        }
    }

    /// Checks that a port without flows returns to idle: its counters after the epochs of the repair, its capacity
    /// after the reset.
    fn returns_to_idle(&self, case: &Case, id: usize) -> Result<(), Rule> {
        let mut driver = self.ports[id].driver.clone();
        let reading = Reading {
            departed_bytes: self.ports[id].departed_bytes,
            queue_bytes: 0,
        };
        // Slow flows of the last epochs may have extended them. The first update only reads.
        let epochs = u32::from(EPOCHS_TO_REPAIR) * (case.epoch() << (2 * 3));
        for _ in 0..=epochs.max(case.config.router.reset_intervals + 1) {
            if driver.next_timeout() < Time::MAX {
                driver.timeout(&case.config, driver.next_timeout(), reading);
            }
        }
        if driver.next_timeout() == Time::MAX && driver.allocator().is_idle() {
            Ok(())
        } else {
            Err(Rule::Idle)
        }
    }
}

/// Checks that the counters of a port are within their limits.
pub fn limits(driver: &PortDriver) -> Result<(), Rule> {
    let port = driver.allocator();
    let rates = LIMIT * 255 * UNIT;
    if port.flows() <= LIMIT && port.demand() <= rates && port.allocated() <= rates {
        Ok(())
    } else {
        Err(Rule::Wrap)
    }
}

/// Checks A after a request, given A before it. A grant may exceed the capacity left by the fair share, because the
/// paper compares only the desired rate with it (D3 §4.3, Snippet 1), by the base rate and by rounding.
pub fn admission(case: &Case, driver: &PortDriver, before: u64) -> Result<(), Rule> {
    let port = driver.allocator();
    let share = port.capacity().saturating_sub(port.demand()) / port.flows().max(1);
    let share = if case.config.router.variant.cap_to_left {
        0
    } else {
        share
    };
    let base = u64::from(port.base().0);
    let limit = before.max(port.capacity() + share + 1) + base + ROUNDING;
    if port.allocated() <= limit {
        Ok(())
    } else {
        Err(Rule::Admission)
    }
}
