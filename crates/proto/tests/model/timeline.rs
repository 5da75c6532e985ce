//! Model with a common clock: every hop takes the same time, unless a packet is delayed.

use crate::case::Case;
use crate::checker::{Checked, properties};
use crate::describe::describe_action;
use crate::rules::Rule;
use crate::world::{Flow, Load, World};
use duetime_core::{Span, Time};
use stateright::{Model, Property};

#[derive(Clone)]
pub struct Timeline(pub Case);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// The next packet arrives on time, and everything happens until a packet may be subject to a fault again.
    Arrive,
    Lose,
    Duplicate,
    /// The next packet arrives later.
    Delay(Span),
    Kill(usize),
    Restart(usize),
}

/// Next event, in the order of simultaneous ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Packet,
    Write(usize),
    Timer(usize),
    Update(usize),
}

impl Timeline {
    fn next(&self, world: &World) -> Option<(Time, Event)> {
        let packet = world
            .packets
            .first()
            .map(|flight| (flight.at, Event::Packet));
        let timers = world.flows.iter().enumerate().map(|(id, flow)| {
            let due = if flow.is_dead {
                Time::MAX
            } else {
                flow.sender.next_timeout()
            };
            (due.max(world.now), Event::Timer(id))
        });
        let writes = world.flows.iter().enumerate().filter_map(|(id, flow)| {
            let written = self.0.flows[id].written.filter(|_| flow.is_unwritten);
            written.map(|after| (Time::ZERO + after, Event::Write(id)))
        });
        let updates = world.ports.iter().enumerate();
        let updates = updates.map(|(id, port)| (port.driver.next_timeout(), Event::Update(id)));
        packet
            .into_iter()
            .chain(timers)
            .chain(writes)
            .chain(updates)
            .min()
            .filter(|(time, _)| *time <= Time::ZERO + self.0.horizon)
    }

    /// Returns true if the next packet may be subject to a fault.
    fn is_decided(&self, world: &World) -> bool {
        let Some((time, event)) = self.next(world) else {
            return true;
        };
        let flight = world.packets.first();
        let may_fail = |flow: usize| self.0.flows[flow].is_short();
        event == Event::Packet
            && world.faults > 0
            && time <= Time::ZERO + self.0.window
            && flight.is_some_and(|f| f.packet.request.is_some() || may_fail(f.flow))
    }

    fn step(&self, world: &mut World) {
        let case = &self.0;
        let Some((time, event)) = self.next(world) else {
            return;
        };
        world.now = time;
        match event {
            Event::Packet => world.arrive(case, 0),
            Event::Timer(id) => {
                world.expire(case, id);
            }
            Event::Write(id) => world.write(case, id),
            Event::Update(id) => world.update(case, id, Load::Full),
        }
        world.settle(case);
    }

    fn run(&self, world: &mut World) {
        let case = &self.0;
        while world.broken.is_none() && !self.is_decided(world) {
            self.step(world);
        }
        if world.broken.is_none() && self.next(world).is_none() {
            let is_open = |(id, flow): (usize, &Flow)| {
                case.flows[id].is_short() && !flow.is_dead && !flow.sender.is_closed()
            };
            if world.flows.iter().enumerate().any(is_open) {
                world.broken = Some(Rule::End);
            }
        }
    }
}

impl Model for Timeline {
    type State = World;
    type Action = Action;

    fn init_states(&self) -> Vec<World> {
        let mut world = World::new(&self.0);
        self.run(&mut world);
        vec![world]
    }

    fn actions(&self, world: &World, actions: &mut Vec<Action>) {
        if world.broken.is_some() || self.next(world).is_none() {
            return;
        }
        actions.push(Action::Arrive);
        if world.faults == 0 {
            return;
        }
        let faults = self.0.faults;
        if faults.loss {
            actions.push(Action::Lose);
        }
        if faults.duplicates {
            actions.push(Action::Duplicate);
        }
        if faults.late {
            let delays = self.0.delays.iter();
            actions.extend(delays.map(|delay| Action::Delay(*delay)));
        }
        if faults.deaths {
            let flows = world.flows.iter().enumerate();
            let alive = flows.filter(|(_, flow)| !flow.is_dead && !flow.sender.is_closed());
            actions.extend(alive.map(|(id, _)| Action::Kill(id)));
        }
        if faults.restarts {
            actions.extend((0..world.ports.len()).map(Action::Restart));
        }
    }

    fn next_state(&self, before: &World, action: Action) -> Option<World> {
        let case = &self.0;
        let mut world = before.clone();
        world.faults -= u8::from(action != Action::Arrive);
        match action {
            Action::Arrive => self.step(&mut world),
            Action::Lose => world.lose(0),
            Action::Duplicate => world.duplicate(0),
            Action::Delay(delay) => world.delay(case, 0, delay),
            Action::Kill(id) => world.kill(id),
            Action::Restart(id) => world.restart(case, id),
        }
        self.run(&mut world);
        Some(world)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        properties()
    }
}

impl Checked for Timeline {
    fn name(&self) -> &str {
        self.0.name
    }

    fn must_end(&self) -> bool {
        self.0.lets_all_end()
    }

    fn describe_action(world: &World, action: Action) -> String {
        let packet = match action {
            Action::Arrive | Action::Lose | Action::Duplicate | Action::Delay(_) => Some(0),
            Action::Kill(_) | Action::Restart(_) => None,
        };
        describe_action(world, action, packet)
    }
}
