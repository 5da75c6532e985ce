//! Model of the network: the choices in each state.

use crate::case::Case;
use crate::checker::{Checked, Ruled, properties};
use crate::packets::Fate;
use crate::world::World;
use core::fmt::Debug;
use stateright::{Model, Property};

#[derive(Clone)]
pub struct Interleavings(pub Case);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// A packet to the receiver arrives now, or a fault happens to it.
    Packet(usize, Fate),
    /// The next packet to a source arrives, or a fault happens to it.
    Reply(Fate),
    /// The receiver's timer expires.
    Expire,
    /// A source stops for ever.
    Kill(usize),
    /// The receiver loses its state.
    Restart,
    /// An application aborts its message.
    Abort(usize),
}

impl Interleavings {
    fn fates(&self, world: &World, mut action: impl FnMut(Fate)) {
        action(Fate::Arrive);
        let faults = self.0.faults;
        if world.faults == 0 {
            return;
        }
        if faults.loss {
            action(Fate::Lose);
        }
        if faults.duplicates {
            action(Fate::Duplicate);
        }
        for &delay in faults.delays {
            action(Fate::Delay(delay));
        }
    }
}

impl Model for Interleavings {
    type State = World;
    type Action = Action;

    fn init_states(&self) -> Vec<World> {
        let mut world = World::new(&self.0);
        world.run(&self.0);
        vec![world]
    }

    fn actions(&self, world: &World, actions: &mut Vec<Action>) {
        let case = &self.0;
        if world.broken.is_some() {
            return;
        }
        if !world.replies.is_empty() {
            // Sources do not affect each other, and their packets arrive later: the order of replies does not matter.
            self.fates(world, |fate| actions.push(Action::Reply(fate)));
            return;
        }
        for index in 0..world.packets.len() {
            if world.may_arrive(case, index) {
                self.fates(world, |fate| actions.push(Action::Packet(index, fate)));
            }
        }
        if actions.is_empty() {
            return;
        }
        if world.is_timer_due() {
            actions.push(Action::Expire);
        }
        if world.faults > 0 && case.faults.deaths {
            let sources = world.sources.iter().enumerate();
            let alive = sources.filter(|(_, source)| !source.is_dead);
            actions.extend(alive.map(|(source, _)| Action::Kill(source)));
        }
        if world.faults > 0 && case.faults.restarts {
            actions.push(Action::Restart);
        }
        if world.aborts > 0 {
            let numbers = (0..case.messages.len()).filter(|&number| world.may_abort(case, number));
            actions.extend(numbers.map(Action::Abort));
        }
    }

    fn next_state(&self, before: &World, action: Action) -> Option<World> {
        let case = &self.0;
        let mut world = before.clone();
        match action {
            Action::Packet(_, Fate::Arrive) | Action::Reply(Fate::Arrive) | Action::Expire => {}
            Action::Abort(_) => world.aborts -= 1,
            _ => world.faults -= 1,
        }
        match action {
            Action::Packet(index, fate) => world.decide(case, index, fate),
            Action::Reply(fate) => world.decide_reply(case, fate),
            Action::Expire => world.expire(case),
            Action::Kill(source) => world.kill(case, source),
            Action::Restart => world.restart(case),
            Action::Abort(number) => world.abort(case, number),
        }
        world.run(case);
        Some(world)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        properties()
    }
}

impl Ruled for World {
    fn broken(&self) -> Option<&dyn Debug> {
        self.broken.as_ref().map(|rule| rule as &dyn Debug)
    }

    fn is_end(&self) -> bool {
        self.packets.is_empty() && self.messages.iter().all(|message| message.is_complete)
    }

    fn describe(&self) -> String {
        format!("{self:#?}")
    }
}

impl Checked for Interleavings {
    fn name(&self) -> &str {
        self.0.name
    }

    fn must_end(&self) -> bool {
        true
    }

    fn describe_action(world: &World, action: Action) -> String {
        let at = world.now;
        match action {
            Action::Packet(index, fate) => {
                let flight = &world.packets[index];
                format!(
                    "{at:?}: {fate:?} {:?} of source {}",
                    flight.data, flight.source
                )
            }
            Action::Reply(fate) => format!("{at:?}: {fate:?} {:?}", world.replies[0]),
            _ => format!("{at:?}: {action:?}"),
        }
    }
}
