//! Synchronised flows to one receiver.

use super::common::COMMON;
use super::hosts::{HOST, host};
use crate::diagnostic::Result;
use crate::keys::Kind::{self, Integer, List, Time};
use crate::keys::{ANY_TIME, INSTANT, SOME_TIME, declare};
use crate::model::WorkloadKind;
use crate::table::Reader;
use crate::values::Readable;
use duetime_core::Span;

declare! {
    /// Synchronised flows to one receiver (incast).
    pub(super) static BURST: "workload of kind \"burst\"" after COMMON {
        /// Flows per burst, each from a different host.
        senders: Integer(1, 999_999);
        /// Lets several flows start at one host, if there are more senders than hosts.
        share_hosts: Kind::Boolean, default false;
        /// Receiving host.
        receiver: HOST, otherwise "drawn at random";
        /// Sending hosts, without the receiver: flow i starts at entry i, repeating the list with `share_hosts`.
        /// Requires `receiver`.
        from: List(&HOST), otherwise "drawn at random";
        /// Size of each flow.
        size: Kind::Sizes;
        /// Deadline of each flow, from its start.
        deadline: Kind::Deadline, default "none";
        /// Start of the first burst.
        at: INSTANT, default "0 us";
        /// Number of bursts.
        repeat: Integer(1, 10_000_000), default 1;
        /// Time between the starts of bursts.
        every: Time(SOME_TIME.0, SOME_TIME.1), otherwise "required with `repeat`";
        /// Maximum additional random delay of each flow's start.
        jitter: Time(ANY_TIME.0, ANY_TIME.1), default "0 us";
    } for WorkloadKind::Burst {
        senders, receiver: |reader, key| reader.read(key, Some(None), host), size, deadline, at, repeat, every: period,
        jitter, from: senders_of
    }
}

/// Maximum duration of a run.
const LONGEST: Span = Span::from_secs(24 * 3_600);

/// Reads the time between bursts; zero for a single burst.
fn period(reader: &Reader<'_>, key: &'static str) -> Result<Span> {
    reader.read(key, Some(Span::ZERO), Readable::read)
}

/// Reads the sending hosts of a burst: each once, without the receiver. Checks all keys of the burst.
fn senders_of(reader: &Reader<'_>, key: &'static str) -> Result<Option<Vec<u32>>> {
    let from = from(reader, key)?;
    enough_hosts(reader, from.as_deref())?;
    in_turn(reader)?;
    Ok(from)
}

fn from(reader: &Reader<'_>, key: &'static str) -> Result<Option<Vec<u32>>> {
    let Some(place) = reader.get(key) else {
        return Ok(None);
    };
    let receiver: Option<u32> = reader.read("receiver", Some(None), host)?;
    if receiver.is_none() {
        return place.refuse(
            "senders are named, the receiver is not",
            "with `receiver` only",
        );
    }
    let mut from = Vec::new();
    for entry in place.array()? {
        let sender = host(&entry, &HOST)?;
        if Some(sender) == receiver {
            return entry.refuse("the receiver", "other hosts");
        }
        if from.contains(&sender) {
            return entry.refuse("named twice", "each host once");
        }
        from.push(sender);
    }
    if from.is_empty() {
        return place.refuse("an empty list", "at least one host");
    }
    Ok(Some(from))
}

/// Checks that there is a host for each flow of a burst.
fn enough_hosts(reader: &Reader<'_>, from: Option<&[u32]>) -> Result<()> {
    let hosts = reader.place.scope.hosts;
    let (most, which) = match from {
        Some(from) => (u32::try_from(from.len()).unwrap_or(hosts), "of `from`"),
        None => (hosts - 1, "other than the receiver"),
    };
    let senders: u32 = reader.value("senders")?;
    if senders > most && !reader.value::<bool>("share_hosts")? {
        let message = format!("larger than the {most} hosts {which}");
        let place = reader.need("senders")?;
        let error = place.wrong(message).allowed(format!("1..={most}"));
        return Err(error.help("`share_hosts = true` lets several start at one host"));
    }
    Ok(())
}

/// Checks that bursts do not overlap and start within the maximum duration of a run.
fn in_turn(reader: &Reader<'_>) -> Result<()> {
    let (repeat, every): (u32, Span) = (reader.value("repeat")?, period(reader, "every")?);
    if repeat > 1 {
        reader.need("every")?;
    }
    // A start is computed as `at + every × round`, which must not overflow.
    if u128::from(every.as_ps()) * u128::from(repeat) > u128::from(LONGEST.as_ps()) {
        let place = reader.need("repeat")?;
        let message = format!("with {every} from burst to burst the last is too late");
        return place.refuse(message, "bursts within 24 hours");
    }
    // The start of a flow schedules the sender's next one, which must not be earlier.
    if repeat > 1 && reader.value::<Span>("jitter")? > every {
        let place = reader.need("jitter")?;
        let message = format!("longer than the {every} from burst to burst");
        return place.refuse(message, "at most `every`");
    }
    Ok(())
}
