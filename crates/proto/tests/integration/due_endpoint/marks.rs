//! Datagrams that the network marks.

use super::messages::{Message, run};
use super::world::{SECOND, World, after, options};
use duetime_core::{Rate, Span};
use duetime_proto::due::endpoint::{Endpoint, Options, Outcome};

/// Returns the time of a message of 2 MB from a host at `source` to one at 1 Gbps, if the network marks all datagrams or
/// none.
fn time(source: Rate, is_marked: bool, core_window: bool) -> Span {
    let mut options = options();
    options.config.core_window = core_window;
    let mut world = World::new(2, options, 1);
    let mut slow = Options::new(source);
    slow.config.core_window = core_window;
    world.endpoints[0] = Endpoint::new(slow, [1, 0]).unwrap();
    world.marks_all = is_marked;
    let mut messages = [Message::new(0, 1, 2_000_000)];
    assert!(run(&mut world, &mut messages, after(SECOND * 5)));
    assert_eq!(messages[0].outcome, Some(Outcome::Delivered));
    messages[0].ended_at.since(messages[0].at)
}

#[test]
fn marks_of_the_core_slow_the_source_down() {
    let half = Rate::from_mbps(500);
    let unmarked = time(half, false, true);
    assert!(time(half, true, true) > unmarked * 3 / 2);
    assert_eq!(time(half, true, false), unmarked);
}

/// The receiver's link may have marked them, and the grants limit its queue.
#[test]
fn marks_have_no_effect_while_the_link_is_busy() {
    let rate = Rate::from_gbps(1);
    assert_eq!(time(rate, true, true), time(rate, false, true));
}
