//! Runs of the checker, and what they print.

use crate::case::Case;
use crate::rules::Rule;
use crate::world::World;
use core::fmt::{Debug, Write};
use stateright::{Checker, HasDiscoveries, Model};

/// Number of threads of the checker.
const THREADS: usize = 2;

/// Model of a [`World`].
pub trait Checked: Model<State = World, Action: Copy + Debug + PartialEq> + Clone + Sync {
    fn case(&self) -> &Case;

    /// Returns the index of the packet that an action is about.
    fn packet(action: Self::Action) -> Option<usize>;
}

/// Explores all states of a model, prints their number, and fails with the shortest path to a state that breaks a rule.
pub fn explore<M: Checked + Send + 'static>(model: &M) {
    let name = model.case().name;
    #[expect(clippy::disallowed_types, reason = "the seconds are printed only")]
    let start = std::time::Instant::now();
    let builder = model.clone().checker().threads(THREADS);
    let checker = builder
        .finish_when(HasDiscoveries::AnyFailures)
        .spawn_bfs()
        .join();
    println!(
        "{name:<58} {:>11} states {:>12} steps {:>4} deep {:>7.1} s",
        checker.unique_state_count(),
        checker.state_count(),
        checker.max_depth(),
        start.elapsed().as_secs_f64()
    );
    if let Some(path) = checker.discovery("rules") {
        let (rule, text) = describe::<M>(path.into_vec());
        panic!("{name}: {rule:?} is broken\n{text}");
    }
    assert!(checker.is_done());
    if model.case().lets_all_end() {
        assert!(checker.discovery("all flows end").is_some(), "{name}");
    }
}

/// Returns the rule that the last state of a path breaks, and the path in words.
fn describe<M: Checked>(path: Vec<(World, Option<M::Action>)>) -> (Option<Rule>, String) {
    let (mut text, mut rule) = (String::new(), None);
    for (world, action) in path {
        rule = world.broken;
        let Some(action) = action else {
            let _ = writeln!(text, "{:#?}", world.ports);
            break;
        };
        let _ = write!(text, "{action:?}");
        if let Some(flight) = M::packet(action).map(|index| &world.packets[index]) {
            let packet = &flight.packet;
            let direction = if flight.forward { "forward" } else { "back" };
            let _ = write!(
                text,
                ": flow {} {direction}, hop {}, at {:?}, {:?}, {} + {} B, number {} echo {}",
                flight.flow,
                flight.hop,
                flight.at,
                packet.flags,
                packet.seq,
                packet.len,
                packet.tag.number,
                packet.tag.echo
            );
            if let Some(request) = &packet.request {
                let _ = write!(
                    text,
                    ", desired {:?} before {:?}, allocations {:?} before {:?}, stamps {:b}",
                    request.desired,
                    request.previous_desired,
                    &request.allocations[..2],
                    &request.previous_allocations[..2],
                    request.stamps
                );
            }
        }
        text.push('\n');
    }
    (rule, text)
}
