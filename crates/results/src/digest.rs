//! A stable 128-bit digest of all records of a run, for tests of determinism.
//!
//! The fields of all records are added, in the order of their declaration, as 64-bit words to two lanes: each lane is
//! updated to `mix(lane, word)` with [`duetime_core::random::mix`], the second with the word's complement. Texts and
//! lists are preceded by their length and options by 0 or 1; floats are added as their bits. The digest detects
//! different results but does not protect against forgery.

use crate::RunRecords;
use duetime_core::random::mix;
use std::fmt;

/// Digest of a run's records. Its `Display` form is 32 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest(pub u128);

/// Returns the digest of a run's records.
pub fn digest(records: &RunRecords) -> Digest {
    let RunRecords {
        flows,
        queries,
        ports,
        servers,
        sampled_links,
        series,
        totals,
    } = records;
    let mut lanes = Lanes(1, 2);
    lanes.list(flows, Digested::digest);
    lanes.list(queries, Digested::digest);
    lanes.list(ports, Digested::digest);
    // Runs with unlimited servers keep the digests of versions without servers.
    if !servers.is_empty() {
        lanes.list(servers, Digested::digest);
    }
    lanes.list(sampled_links, |name, lanes| lanes.text(name));
    lanes.list(series, Digested::digest);
    totals.digest(&mut lanes);
    Digest(u128::from(lanes.0) << 64 | u128::from(lanes.1))
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// A type that can be added to a digest.
pub(crate) trait Digested {
    /// Adds all fields, in the order of their declaration.
    fn digest(&self, lanes: &mut Lanes);
}

/// The two lanes of a digest.
pub(crate) struct Lanes(u64, u64);

impl Lanes {
    /// Adds a word.
    pub(crate) fn word(&mut self, word: u64) {
        self.0 = mix(self.0, word);
        self.1 = mix(self.1, !word);
    }

    /// Adds a text, preceded by its length.
    pub(crate) fn text(&mut self, text: &str) {
        self.word(text.len() as u64);
        for chunk in text.as_bytes().chunks(8) {
            let mut bytes = [0; 8];
            bytes[..chunk.len()].copy_from_slice(chunk);
            self.word(u64::from_le_bytes(bytes));
        }
    }

    fn list<T>(&mut self, items: &[T], each: impl Fn(&T, &mut Self)) {
        self.word(items.len() as u64);
        for item in items {
            each(item, self);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Class;
    use crate::record::sample;
    use duetime_core::Time;

    #[test]
    fn every_field_changes_the_digest() {
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
            |r| r.flows[0].attempt = 1.into(),
            |r| r.flows[0].spare = true.into(),
            |r| r.queries[0].hedges = 1.into(),
            |r| r.queries[0].retries = 1.into(),
            |r| r.ports[0].link.push('x'),
            |r| r.ports[0].utilisation += 1e-12,
            |r| r.servers.push(crate::ServerRecord::default()),
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
    fn digest_is_stable() {
        let empty = digest(&RunRecords::default()).to_string();
        assert_eq!(empty, "61d3ba90db272bff45e9eedb0eed3030");
        let small = digest(&sample::records()).to_string();
        assert_eq!(small, "a4c95c6b92f799e806ce0861f6a5dc7e");
    }
}
