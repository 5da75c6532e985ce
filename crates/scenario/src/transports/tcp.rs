//! The options of TCP, which all window protocols share.

use crate::keys::Kind::{self, Any, Boolean, Choice, Integer, Size, Time};
use crate::keys::{H, MS, S, TB, US};
use crate::options::{Layers, Result, fields, options, word, words};
use crate::place::Place;
use duetime_proto::tcp::{Coalescing, Config, Growth};

options! {
    /// TCP NewReno, and what DCTCP and D2TCP share with it.
    tcp for Config, checked by timeouts {
        /// Largest payload of a segment.
        mss: Size(100, 9_000), default "1460 B";
        /// Initial window, in segments.
        initial_window: Integer(1, 10_000), default 2, unit "segments";
        /// Floor of the window after a reduction by marks, in segments (RFC 8257 §3.3).
        min_window: Integer(1, 100), default 2, unit "segments";
        /// Initial slow-start threshold, in segments.
        initial_ssthresh: Any(&[THRESHOLD, Choice(&["infinite"])]), default "infinite", unit "segments", read threshold;
        /// Smallest retransmission timeout.
        rto_min: Time(10 * US, 10 * S), default "10 ms";
        /// Timeout before the first round-trip sample; at least `rto_min`.
        rto_initial: Time(10 * US, 10 * S), otherwise "that of `rto_min`", follows rto_min;
        /// Largest timeout after backoff; at least `rto_initial`.
        rto_max: Time(MS, H), default "1 min";
        /// Segments acknowledged together; 1 acknowledges each.
        delayed_ack: Integer(1, 100), default 2, unit "segments";
        /// Longest delay of an acknowledgement.
        delayed_ack_timeout: Time(0, S), default "1 ms";
        /// Hold acknowledgements that are due back, as receive offload in NICs does: `{ segments = 10, within
        /// = "50 us" }`. The end of a message, data out of order, a FIN and a change of the mark end the wait.
        ack_coalescing: Kind::Table(&ACK_COALESCING), otherwise "none";
        /// Segments by which one acknowledgement opens the window at most in slow start (RFC 5681 §3.1: 1; RFC 3465:
        /// 2).
        slow_start_limit: Integer(1, 1_000), default 1, unit "segments";
        /// What congestion avoidance counts up to a window before it adds a segment: acknowledged bytes, or
        /// acknowledgements as one segment each (RFC 5681 §3.1, equation 3).
        growth: word::<Growth>(), default "bytes";
        /// A new segment for each of the first two duplicate acknowledgements (RFC 3042).
        limited_transmit: Boolean, default true;
        /// After an idle time above the RTO the window falls back to the initial one (RFC 5681 §4.1).
        slow_start_restart: Boolean, default true;
        /// The receiver's window.
        receive_window: Size(1_500, TB), default "1 GiB";
    }
}

words!(Growth: Bytes = "bytes", Acknowledgements = "acknowledgements");

fields! {
    /// Receive offload, as far as the sender can see it.
    static ACK_COALESCING: "ack_coalescing" for Coalescing {
        /// Segments that one acknowledgement answers at most.
        segments: Integer(1, 1_000);
        /// Longest time that an acknowledgement which is due is held back.
        within: Time(0, S);
    }
}

const THRESHOLD: Kind = Integer(1, 1_000_000);

fn threshold(place: &Place<'_>, _: &'static Kind) -> Result<Option<u32>> {
    match place.node.str() {
        Some("infinite") => Ok(None),
        Some(_) => place.refuse("not a number", "segments, or \"infinite\""),
        None => place.integer(1, 1_000_000).map(Some),
    }
}

/// `rto_min ≤ rto_initial ≤ rto_max`; the mistake is in the last layer, or else in one that was already refused.
fn timeouts(config: &Config, layers: Layers<'_, '_>) -> Result<()> {
    let Some(reader) = layers.last() else {
        return Ok(());
    };
    let pairs = [
        ("rto_initial", config.rto_initial, "rto_min", config.rto_min),
        ("rto_max", config.rto_max, "rto_initial", config.rto_initial),
    ];
    for (key, value, other, least) in pairs {
        if value < least {
            let message = format!("{key} ({value}) is below {other} ({least})");
            let mut places = [key, other, "rto_min"].into_iter();
            let place = places.find_map(|key| reader.find(key));
            return Err(place
                .unwrap_or_else(|| reader.place.clone())
                .wrong(message)
                .allowed("rto_min <= rto_initial <= rto_max"));
        }
    }
    Ok(())
}
