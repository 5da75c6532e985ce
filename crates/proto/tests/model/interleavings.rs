//! Model without time: any packet in flight may be the next to arrive, and any timer the next to expire.

use crate::case::Case;
use crate::checker::{Checked, properties};
use crate::describe::describe_action;
use crate::world::{Load, World};
use duetime_core::Time;
use stateright::{Model, Property};

#[derive(Clone)]
pub struct Interleavings(pub Case);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// A packet arrives at its next hop.
    Arrive(usize),
    Lose(usize),
    Duplicate(usize),
    /// The timer of a flow expires.
    Expire(usize),
    Abandon(usize),
    /// The application of a flow writes its data.
    Write(usize),
    Kill(usize),
    Update(usize, Load),
    Restart(usize),
}

impl Interleavings {
    /// Returns a flow whose next steps touch no port. Only its steps are then explored (a partial-order reduction):
    /// they commute with those of other flows and ports, so that each state of these is reached after them as well. A
    /// fault of the flow before an update, instead of after it, only makes the ledger stricter.
    fn local_flow(&self, world: &World) -> Option<usize> {
        let case = &self.0;
        (0..world.flows.len()).find(|&id| {
            let flow = &world.flows[id];
            let mut packets = world.packets.iter().filter(|flight| flight.flow == id);
            let has_timer = !flow.is_dead && flow.sender.next_timeout() < Time::MAX;
            let has_steps = world.has_packets(id) || has_timer;
            // Its steps must not be cut off, because those of the others follow them.
            let is_within_bound = flow.sender.counters().requests < u32::from(case.requests);
            has_steps
                && is_within_bound
                && packets.all(|flight| flight.hop == case.path(id, flight.forward).len())
        })
    }

    fn actions_of_flow(&self, world: &World, id: usize, actions: &mut Vec<Action>) {
        let (faults, flow) = (self.0.faults, &world.flows[id]);
        let is_faulty = world.faults > 0;
        for (index, flight) in world.packets.iter().enumerate() {
            let is_copy = index > 0 && *flight == world.packets[index - 1];
            if flight.flow != id || is_copy {
                continue;
            }
            actions.push(Action::Arrive(index));
            if is_faulty && faults.loss {
                actions.push(Action::Lose(index));
            }
            if is_faulty && faults.duplicates {
                actions.push(Action::Duplicate(index));
            }
        }
        if flow.is_dead || flow.sender.is_closed() {
            return;
        }
        if flow.sender.next_timeout() < Time::MAX {
            actions.push(Action::Expire(id));
        }
        if flow.is_unwritten {
            actions.push(Action::Write(id));
        }
        if self.0.flows[id].may_close && !flow.was_abandoned {
            actions.push(Action::Abandon(id));
        }
        if is_faulty && faults.deaths {
            actions.push(Action::Kill(id));
        }
    }
}

impl Model for Interleavings {
    type State = World;
    type Action = Action;

    fn init_states(&self) -> Vec<World> {
        vec![World::new(&self.0)]
    }

    fn actions(&self, world: &World, actions: &mut Vec<Action>) {
        if world.broken.is_some() {
            return;
        }
        let local = self.local_flow(world);
        for id in 0..world.flows.len() {
            if local.is_none_or(|local| local == id) {
                self.actions_of_flow(world, id, actions);
            }
        }
        if local.is_some() {
            return;
        }
        let case = &self.0;
        for (id, port) in world.ports.iter().enumerate() {
            let is_awake = port.driver.next_timeout() < Time::MAX;
            // A host sends a request in every epoch.
            let is_early = port.ledger.misses_a_flow(case.epoch())
                || world.packets.iter().any(|flight| flight.age > 0);
            if is_awake && !is_early && port.updates < case.updates {
                let loads = case.loads.iter();
                actions.extend(loads.map(|load| Action::Update(id, *load)));
            }
            if world.faults > 0 && case.faults.restarts && is_awake {
                actions.push(Action::Restart(id));
            }
        }
    }

    fn next_state(&self, before: &World, action: Action) -> Option<World> {
        let case = &self.0;
        let mut world = before.clone();
        match action {
            Action::Arrive(index) => {
                if before.overtakes(case, index) && before.faults == case.faults.number {
                    world.faults = before.faults.checked_sub(1)?;
                }
                world.arrive(case, index);
            }
            Action::Lose(index) => world.lose(index),
            Action::Duplicate(index) => world.duplicate(index),
            Action::Expire(id) => {
                let has_lost = world.expire(case, id);
                // The packets that are in flight were not lost, only late.
                if has_lost && before.has_packets(id) {
                    if world.faults == 0 || !case.faults.late {
                        return None;
                    }
                    world.faults -= 1;
                }
            }
            Action::Abandon(id) => world.abandon(case, id),
            Action::Write(id) => world.write(case, id),
            Action::Kill(id) => world.kill(id),
            Action::Update(id, load) => world.update(case, id, load),
            Action::Restart(id) => world.restart(case, id),
        }
        if matches!(
            action,
            Action::Lose(_) | Action::Duplicate(_) | Action::Kill(_) | Action::Restart(_)
        ) {
            world.faults -= 1;
        }
        world.settle(case);
        Some(world)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        properties()
    }

    fn within_boundary(&self, world: &World) -> bool {
        let is_within = |requests: u32| requests <= u32::from(self.0.requests);
        let mut flows = world.flows.iter();
        flows.all(|flow| is_within(flow.sender.counters().requests))
            && (self.0.updates == 0 || world.ports.iter().all(|port| !port.ledger.is_crowded()))
    }
}

impl Checked for Interleavings {
    fn name(&self) -> &str {
        self.0.name
    }

    fn must_end(&self) -> bool {
        self.0.lets_all_end()
    }

    fn describe_action(world: &World, action: Action) -> String {
        let packet = match action {
            Action::Arrive(index) | Action::Lose(index) | Action::Duplicate(index) => Some(index),
            _ => None,
        };
        describe_action(world, action, packet)
    }
}
