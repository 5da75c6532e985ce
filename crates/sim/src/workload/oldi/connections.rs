//! Persistent connections of the nodes of trees, which open before the first query, as in a service that has been
//! running.

use super::super::Wake;
use super::super::context::{Call, Context, Draft};
use super::super::token::{At, Due};
use super::plan::Plan;
use duetime_core::{Span, Time};
use duetime_results::record::Class;

/// Period at the start of a run in which persistent connections open. They open one after another, so that no SYN is
/// lost.
const OPENING: Span = Span::from_ms(1);

impl Plan {
    /// Returns the wake-ups at which the nodes of a tree open their connections, in both directions.
    pub(super) fn openings<'a>(
        &'a self,
        context: &'a Context,
        tree: u32,
    ) -> impl Iterator<Item = Wake> + 'a {
        let root = self.root(tree);
        let ends =
            (root + 1..root + self.forest.nodes(tree)).flat_map(|role| [(role, 0), (role, 1)]);
        ends.map(|(role, attempt)| {
            let end = At {
                role,
                number: 0,
                attempt,
                measured: false,
            };
            let key = self.key(role, u32::MAX - u32::from(attempt));
            let at = Time::ZERO + context.draw_start(OPENING, key);
            self.wake(
                self.wake_host(context, Due::Connect, end),
                Due::Connect,
                end,
                at,
            )
        })
    }

    /// Opens the connection of one direction of a tree's edge.
    pub(super) fn connect(&self, call: &mut Call<'_>, end: At) {
        let (parent, child) = (self.host(self.parent(end.role)), self.host(end.role));
        let (class, source, destination) = match end.attempt {
            0 => (Class::Query, parent, child),
            _ => (Class::Response, child, parent),
        };
        let draft = Draft {
            workload: self.workload,
            class,
            query: None,
            source,
            destination,
            bytes: 0,
            deadline: None,
            tag: At { attempt: 0, ..end }.tag(),
            leaves: [0; 2],
            siblings: 0,
            asked: Time::ZERO,
            waited: Span::ZERO,
            measured: false,
        };
        call.context.connect(call.actions, call.now, &draft);
    }
}
