//! Expected order of grants by docs/due.md, "Order of grants".

use crate::case::{Case, MessageCase};
use crate::entry::Entry;
use crate::ledger::Ledger;
use crate::rules::{Rule, rule};
use crate::world::id;
use duetime_core::{Span, Time};
use duetime_proto::due::{Control, MessageId, Receiver};

/// Packets of a request at most.
const MAX_REQUEST: u8 = 4;
/// Upper limit of the time per packet that the overload check assumes, in packet times.
const MAX_SERVICE: u64 = 10;

/// State of the messages when the receiver computed the order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Ranking {
    /// Time of the ranking, and of the receiver's first packet.
    at: Option<Time>,
    started_at: Option<Time>,
    /// By message, `None` if it is not known.
    ranked: Vec<Option<Ranked>>,
    /// True if an answer of a query was late: then the queries with late answers are postponed first.
    has_late: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Ranked {
    /// Packets that had not arrived.
    left: u64,
    /// True if some were not granted.
    is_open: bool,
}

/// Message with a deadline that it can meet.
#[derive(Clone, Copy)]
struct Due {
    left: u64,
    deadline: Time,
    query: Option<u64>,
    is_urgent: bool,
}

impl Ranking {
    /// Records a ranking, before the grants that follow from it.
    pub fn record(&mut self, case: &Case, now: Time, entries: &[Option<Entry>]) {
        self.at = Some(now);
        self.started_at = self.started_at.or(Some(now));
        let entries = entries.iter().zip(&case.messages);
        let ranked = entries.map(|(entry, message)| {
            entry.map(|entry| Ranked {
                left: u64::from(message.packets) - entry.received(),
                is_open: entry.granted < message.packets,
            })
        });
        self.ranked = ranked.collect();
    }

    /// Returns true if the receiver must rank again: the order is older than R/2.
    pub fn is_old(&self, case: &Case, now: Time) -> bool {
        self.at.is_none_or(|at| now >= at + case.round_trip() / 2)
    }

    pub fn note_end(&mut self, case: &Case, now: Time, message: usize) {
        let message = &case.messages[message];
        let is_late = deadline(case, message).is_some_and(|deadline| deadline < now);
        self.has_late |= is_late && message.query.is_some();
    }

    /// Returns the upper limit of the time per packet. It starts at a packet time and moves by 1/8 per R.
    fn slowest_service(&self, case: &Case, now: Time) -> Span {
        let since = now.since(self.started_at.unwrap_or(now));
        let updates = since.as_ps() / case.round_trip().as_ps();
        (0..updates.min(50)).fold(case.packet_time(), |service, _| {
            (service * 7 + case.packet_time() * MAX_SERVICE) / 8
        })
    }

    /// Checks which messages are urgent after a ranking.
    pub fn check(
        &self,
        case: &Case,
        now: Time,
        receiver: &Receiver<MessageId>,
    ) -> Result<(), Rule> {
        let (mut due, mut is_open) = (Vec::new(), true);
        for (number, (ranked, message)) in self.ranked.iter().zip(&case.messages).enumerate() {
            let Some(ranked) = ranked else {
                continue;
            };
            let is_urgent = is_urgent(case, receiver, number);
            let Some(deadline) = deadline(case, message).filter(|deadline| *deadline > now) else {
                rule(is_urgent == is_request(message), Rule::Order)?;
                continue;
            };
            is_open &= ranked.is_open;
            due.push(Due {
                left: ranked.left,
                deadline,
                query: message.query,
                is_urgent,
            });
        }
        // The urgent messages are in time if packets take the least time that can be assumed.
        let urgent: Vec<Due> = due.iter().filter(|due| due.is_urgent).copied().collect();
        let is_in_time = in_time(case, now, case.packet_time(), &urgent);
        rule(!is_open || is_in_time, Rule::Order)?;
        // As many queries are urgent as can be in time if packets take the most time.
        let slowest = self.slowest_service(case, now);
        let queries = queries(&due);
        let sets = (0..1_u32 << queries.len()).map(|set| {
            let chosen = queries
                .iter()
                .enumerate()
                .filter(|(at, _)| set >> at & 1 != 0);
            let chosen: Vec<Due> = chosen
                .flat_map(|(_, query)| query.iter().copied())
                .collect();
            let is_in_time = in_time(case, now, slowest, &chosen);
            if is_in_time { set.count_ones() } else { 0 }
        });
        let most = sets.max().unwrap_or(0);
        let kept = queries
            .iter()
            .filter(|query| query.iter().all(|due| due.is_urgent));
        rule(self.has_late || kept.count() as u32 >= most, Rule::Order)
    }

    /// Checks that grants follow the order: `given` are the new packets by message.
    pub fn follows(
        &self,
        case: &Case,
        now: Time,
        ledger: &Ledger,
        given: &[u64],
        receiver: &Receiver<MessageId>,
    ) -> Result<(), Rule> {
        if !case.has_true_sizes() {
            return Ok(());
        }
        let wants = |number: usize| ledger.can_use(case, now, number);
        let background = |number: &usize| !is_urgent(case, receiver, *number);
        let known = |number: &usize| ledger.entries[*number].is_some();
        let left = |number: usize| self.ranked[number].map_or(0, |ranked| ranked.left);
        let numbers = 0..case.messages.len();
        // The minimum share of the background is one packet per call.
        let shared: u64 = numbers
            .clone()
            .filter(known)
            .filter(background)
            .map(|number| given[number])
            .sum();
        for number in numbers
            .clone()
            .filter(known)
            .filter(|&number| given[number] > 0)
        {
            for other in numbers.clone().filter(known).filter(|&other| wants(other)) {
                let is_earlier = match (background(&number), background(&other)) {
                    (true, false) => shared > 1,
                    (true, true) => left(other) < left(number),
                    (false, false) => precedes(case, other, number),
                    (false, true) => false,
                };
                rule(!is_earlier, Rule::Order)?;
            }
        }
        Ok(())
    }
}

/// Returns the deadline of a message.
pub fn deadline(case: &Case, message: &MessageCase) -> Option<Time> {
    let start = Time::ZERO + case.round_trip() * message.start;
    message
        .deadline
        .map(|after| start + case.packet_time() * after)
}

/// Returns true if a message is a request that is granted before all others.
pub fn is_request(message: &MessageCase) -> bool {
    message.is_request && message.deadline.is_none() && message.packets <= MAX_REQUEST
}

fn is_urgent(case: &Case, receiver: &Receiver<MessageId>, number: usize) -> bool {
    matches!(
        receiver.current_grant(id(case, number)),
        Some(Control::Grant {
            is_background: false,
            ..
        })
    )
}

/// Groups messages by query. A message without one is a group.
fn queries(due: &[Due]) -> Vec<Vec<Due>> {
    let mut queries: Vec<Vec<Due>> = Vec::new();
    for due in due {
        let is_same = |query: &&mut Vec<Due>| due.query.is_some() && query[0].query == due.query;
        match queries.iter_mut().find(is_same) {
            Some(query) => query.push(*due),
            None => queries.push(vec![*due]),
        }
    }
    queries
}

/// Returns true if all messages can be in time, earliest deadline first.
fn in_time(case: &Case, now: Time, service: Span, due: &[Due]) -> bool {
    let mut due = due.to_vec();
    due.sort_by_key(|due| due.deadline);
    let mut end = now + case.round_trip() / 2;
    due.iter().all(|due| {
        end += service * due.left;
        end <= due.deadline
    })
}

/// Returns true if an urgent message is surely granted before another.
fn precedes(case: &Case, first: usize, second: usize) -> bool {
    let [first, second] = [first, second].map(|number| &case.messages[number]);
    let has_queries = case.messages.iter().any(|message| message.query.is_some());
    let is_earlier = deadline(case, first) < deadline(case, second);
    is_request(first) && !is_request(second)
        || !has_queries && !is_request(first) && !is_request(second) && is_earlier
}
