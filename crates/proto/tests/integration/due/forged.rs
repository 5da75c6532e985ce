//! Harm by a source whose messages claim to answer the queries of others.

use super::network::{Faults, Network, RATE};
use duetime_core::random::{Purpose, Streams};
use duetime_core::{Span, Time};
use duetime_proto::due::Announcement;

const SOURCES: u64 = 20;
const FORGER: u32 = SOURCES as u32;
const QUERIES: u64 = 1_000;
const ANSWERS: u64 = 10;
/// Minimum and maximum of an answer's bytes.
const BYTES: (u64, u64) = (2_000, 38_000);
/// Bytes of a forged message that is as large as all answers of a query.
const LARGE: u64 = 200_000;

/// Messages of the forger, one per chosen query, at its start.
#[derive(Clone, Copy)]
struct Forged {
    bytes: u64,
    /// True if the deadline is over; otherwise it is the query's.
    is_late: bool,
    /// One of so many queries is chosen.
    every: u64,
    claims_query: bool,
}

/// Late shares in % of the queries that the forger chose, of the other queries, and of all answers.
struct Late {
    chosen: f64,
    others: f64,
    answers: f64,
}

fn late(load_percent: u64, forged: Forged) -> Late {
    let mut network = Network::new(SOURCES as usize + 1, Faults::default());
    let mut stream = Streams::new(3, 0).stream(0, Purpose::Arrival);
    let mean_bytes = ANSWERS * (BYTES.0 + BYTES.1) / 2;
    let interval = RATE.transmit(mean_bytes) * 100 / load_percent;
    let mut at = Time::ZERO;
    let mut deadlines = Vec::new();
    for query in 0..QUERIES {
        at += stream.exponential(interval);
        let deadline = at + stream.exponential(Span::from_ms(10)).max(Span::from_ms(3));
        let first = stream.below(SOURCES);
        let mut submit = |source, number, bytes, deadline, query| {
            let announcement = Announcement {
                bytes,
                deadline: Some(deadline),
                query,
                is_request: false,
            };
            network.submit(at, source, number, announcement);
        };
        for answer in 0..ANSWERS {
            let source = ((first + answer) % SOURCES) as u32;
            let bytes = stream.between(BYTES.0, BYTES.1);
            submit(
                source,
                query * ANSWERS + answer,
                bytes,
                deadline,
                Some(query),
            );
        }
        if query % forged.every == 0 {
            let claimed = forged.claims_query.then_some(query);
            let due = if forged.is_late { at } else { deadline };
            submit(
                FORGER,
                QUERIES * ANSWERS + query,
                forged.bytes,
                due,
                claimed,
            );
        }
        deadlines.push(deadline);
    }
    network.run(at + Span::from_secs(1));
    let is_late = |query: u64, answer: u64| {
        let arrival = network.delivered[&(query * ANSWERS + answer)];
        arrival > deadlines[query as usize]
    };
    let percent = |late: usize, of: usize| 100.0 * late as f64 / of.max(1) as f64;
    let is_late_query = |&query: &u64| (0..ANSWERS).any(|answer| is_late(query, answer));
    let (chosen, others): (Vec<u64>, Vec<u64>) =
        (0..QUERIES).partition(|query| query % forged.every == 0);
    let share = |queries: &[u64]| {
        percent(
            queries.iter().copied().filter(is_late_query).count(),
            queries.len(),
        )
    };
    let answers =
        (0..QUERIES * ANSWERS).filter(|answer| is_late(answer / ANSWERS, answer % ANSWERS));
    Late {
        chosen: share(&chosen),
        others: share(&others),
        answers: percent(answers.count(), (QUERIES * ANSWERS) as usize),
    }
}

/// The chosen queries lose what the others gain: the answers that are late in all do not change.
#[test]
fn forged_membership_harms_only_the_chosen_queries() {
    println!(
        "| load | forged messages | claim | chosen queries late | others late | answers late |"
    );
    println!("|---|---|---|---|---|---|");
    for load in [70, 90] {
        for (name, bytes, is_late, every) in [
            ("late packet for every query", 1, true, 1),
            ("late packet for every 2nd", 1, true, 2),
            ("200 KB for every 10th", LARGE, false, 10),
        ] {
            let [honest, false_claims] = [false, true].map(|claims_query| {
                let late = late(
                    load,
                    Forged {
                        bytes,
                        is_late,
                        every,
                        claims_query,
                    },
                );
                println!(
                    "| {load} % | {name} | {claims_query} | {:.2} % | {:.2} % | {:.2} % |",
                    late.chosen, late.others, late.answers
                );
                late
            });
            assert!(
                false_claims.answers < honest.answers + 0.3,
                "{load}, {name}"
            );
            assert!(false_claims.others < honest.others + 0.3, "{load}, {name}");
        }
    }
}
