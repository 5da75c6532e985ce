//! A stable 128-bit digest of everything a run left behind, for tests of determinism.
//!
//! Every field of every record, in the order of its declaration, is fed as 64-bit words into two lanes, each
//! `lane = mix(lane, word)` with [`duetime_core::random::mix`]; the second lane takes the word's complement. Texts and
//! lists are led by their length, options by 0 or 1, floats go by their bits. It tells equal from unequal results; it
//! is no protection against forgery.

use crate::{Class, FlowRecord, PortRecord, QueryRecord, RunRecords, SeriesSample, Totals};
use duetime_core::Time;
use duetime_core::random::mix;
use std::fmt;

/// The digest of a run's records. Displays as 32 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest(pub u128);

/// Digests a run's records.
pub fn digest(records: &RunRecords) -> Digest {
    let RunRecords {
        flows,
        queries,
        ports,
        sampled_links,
        series,
        totals,
    } = records;
    let mut lanes = Lanes(1, 2);
    lanes.list(flows, Lanes::flow);
    lanes.list(queries, Lanes::query);
    lanes.list(ports, Lanes::port);
    lanes.list(sampled_links, |lanes, name| lanes.text(name));
    lanes.list(series, Lanes::sample);
    lanes.totals(totals);
    Digest(u128::from(lanes.0) << 64 | u128::from(lanes.1))
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

struct Lanes(u64, u64);

// Records are taken apart by name, so that a new field cannot be forgotten here.
impl Lanes {
    fn word(&mut self, word: u64) {
        self.0 = mix(self.0, word);
        self.1 = mix(self.1, !word);
    }

    fn words(&mut self, words: &[u64]) {
        for &word in words {
            self.word(word);
        }
    }

    fn option(&mut self, word: Option<u64>) {
        self.word(u64::from(word.is_some()));
        self.words(word.as_slice());
    }

    fn time(&mut self, time: Option<Time>) {
        self.option(time.map(Time::as_ps));
    }

    fn text(&mut self, text: &str) {
        self.word(text.len() as u64);
        for chunk in text.as_bytes().chunks(8) {
            let mut bytes = [0; 8];
            bytes[..chunk.len()].copy_from_slice(chunk);
            self.word(u64::from_le_bytes(bytes));
        }
    }

    fn list<T>(&mut self, items: &[T], each: impl Fn(&mut Self, &T)) {
        self.word(items.len() as u64);
        for item in items {
            each(self, item);
        }
    }

    fn flow(&mut self, record: &FlowRecord) {
        let &FlowRecord {
            flow,
            workload,
            class,
            query,
            source,
            destination,
            size_bytes,
            delivered_bytes,
            start,
            finish,
            deadline,
            quenched,
            measured,
            timeouts,
            retransmits,
            marks,
            denials,
            inversions,
            requests,
            leaves,
        } = record;
        let class = match class {
            Class::Query => 0,
            Class::Response => 1,
            Class::Flow => 2,
            Class::Long => 3,
        };
        self.words(&[flow, workload.into(), class]);
        self.option(query);
        self.words(&[
            source.into(),
            destination.into(),
            size_bytes,
            delivered_bytes,
        ]);
        self.word(start.as_ps());
        self.time(finish);
        self.time(deadline);
        self.words(&[
            quenched.into(),
            measured.into(),
            timeouts.into(),
            retransmits.into(),
        ]);
        self.words(&[
            marks.into(),
            denials.into(),
            inversions.into(),
            requests.into(),
            leaves.into(),
        ]);
    }

    fn query(&mut self, record: &QueryRecord) {
        let &QueryRecord {
            query,
            workload,
            application,
            root,
            start,
            complete,
            children,
            answered,
            in_time,
            measured,
            asked,
            leaves,
            needed,
            judged,
            due,
            enough,
            leaves_answered,
            leaves_in_time,
            gave_up,
        } = record;
        self.words(&[
            query,
            workload.into(),
            application.into(),
            root.into(),
            start.as_ps(),
        ]);
        self.time(complete);
        self.words(&[
            children.into(),
            answered.into(),
            in_time.into(),
            measured.into(),
        ]);
        self.words(&[asked.into(), leaves.into(), needed.into(), judged.into()]);
        self.time(due);
        self.time(enough);
        self.words(&[
            leaves_answered.into(),
            leaves_in_time.into(),
            gave_up.into(),
        ]);
    }

    fn port(&mut self, record: &PortRecord) {
        let PortRecord {
            link,
            packets,
            bytes,
            drops,
            drop_bytes,
            losses,
            loss_bytes,
            marks,
            queue_max_bytes,
            queue_mean_bytes,
            utilisation,
        } = record;
        self.text(link);
        self.words(&[
            *packets,
            *bytes,
            *drops,
            *drop_bytes,
            *losses,
            *loss_bytes,
            *marks,
        ]);
        self.words(&[
            *queue_max_bytes,
            queue_mean_bytes.to_bits(),
            utilisation.to_bits(),
        ]);
    }

    fn sample(&mut self, record: &SeriesSample) {
        let &SeriesSample {
            link,
            at,
            queue_bytes,
            queue_packets,
            sent_bytes,
        } = record;
        self.words(&[
            link.into(),
            at.as_ps(),
            queue_bytes,
            queue_packets.into(),
            sent_bytes,
        ]);
    }

    fn totals(&mut self, totals: &Totals) {
        let &Totals {
            end,
            packet_hops,
            events,
            injected_bytes,
            arrived_bytes,
            dropped_bytes,
            in_flight_bytes,
        } = totals;
        self.words(&[end.as_ps(), packet_hops, events, injected_bytes]);
        self.words(&[arrived_bytes, dropped_bytes, in_flight_bytes]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::sample;

    #[test]
    fn any_single_field_changes_the_digest() {
        let base = sample::records();
        let mut seen = vec![digest(&base)];
        let edits: &[fn(&mut RunRecords)] = &[
            |r| r.flows[0].finish = None,
            |r| r.flows[0].finish = Some(Time::ZERO),
            |r| r.flows[0].query = None,
            |r| r.flows[0].class = Class::Long,
            |r| r.flows[0].inversions += 1,
            |r| r.flows[0].requests += 1,
            |r| r.flows[0].leaves += 1,
            |r| r.flows.swap(0, 1),
            |r| r.flows.truncate(5),
            |r| r.queries[0].in_time -= 1,
            |r| r.queries[0].measured = false,
            |r| r.queries[0].due = None,
            |r| r.queries[0].enough = None,
            |r| r.queries[0].gave_up += 1,
            |r| r.ports[0].link.push('x'),
            |r| r.ports[0].utilisation += 1e-12,
            |r| r.sampled_links.push("a->b".into()),
            |r| r.series[0].queue_packets += 1,
            |r| r.totals.in_flight_bytes += 1,
        ];
        for edit in edits {
            let mut records = base.clone();
            edit(&mut records);
            seen.push(digest(&records));
        }
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), edits.len() + 1);
    }

    #[test]
    fn the_digest_is_the_same_on_every_machine() {
        let empty = digest(&RunRecords::default()).to_string();
        assert_eq!(empty, "61d3ba90db272bff45e9eedb0eed3030");
    }
}
