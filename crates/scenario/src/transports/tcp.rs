//! The options of TCP, which all window protocols share.

use crate::keys::Kind::{self, Any, Boolean, Choice, Integer, Size, Time};
use crate::keys::{H, MS, S, TB, US};
use crate::options::{Layers, Result, fields, options, word, words};
use crate::place::Place;
use duetime_core::Span;
use duetime_proto::tcp::{Coalescing, Config, Growth, Recovery};

options! {
    /// TCP NewReno, and what DCTCP and D2TCP share with it.
    tcp for Config, checked by rules {
        /// All options at once: `paper` has the defaults below, `linux` those of Linux: `initial_window = 10`, `rto_min =
        /// "200 ms"`, `rto_initial = "1 s"`, `rto_max = "2 min"`, `delayed_ack_timeout = "40 ms"`, `slow_start_limit =
        /// 1000`, `recovery = "sack"`, `rack`, `tail_loss_probe` and `rate_reduction` on, `max_ack_delay = "200 ms"`,
        /// `quick_ack = 16`; for DCTCP and D2TCP `initial_alpha = 1`, for CUBIC `hystart = true`, `tick = "4 ms"`
        /// and `alpha_one = false`. Other keys of the same table, and of more special ones, change single
        /// options.
        profile: Choice(PROFILES), default "paper", set profile;
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
        rto_initial: Time(10 * US, 10 * S), otherwise "that of `rto_min`, or by `profile`", follow initial_timeout;
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
        /// How losses are found and repaired: by cumulative acknowledgements (`newreno`, RFC 6582), or by selective ones
        /// (`sack`, RFC 2018 and RFC 6675), which receivers send then.
        recovery: word::<Recovery>(), default "newreno";
        /// With `recovery = "sack"`: a segment is lost when one that left later has arrived and time for reordering has
        /// passed (RACK, RFC 8985), not when three segments have overtaken it.
        rack: Boolean, default false;
        /// With `rack`: two round trips without an acknowledgement send a segment that tells of losses at the end of a
        /// burst (RFC 8985 §7).
        tail_loss_probe: Boolean, default false;
        /// How much longer a tail loss probe waits where one segment is in flight.
        max_ack_delay: Time(0, S), default "1 ms";
        /// With `recovery = "sack"`: a loss reduces the window over the whole recovery, in proportion to what arrives
        /// (RFC 6937), and not at once.
        rate_reduction: Boolean, default false;
        /// Segments that a receiver acknowledges one by one: the first of a connection, and those after an idle time
        /// above `rto_min` and after data that it had already.
        quick_ack: Integer(0, 255), default 0, unit "segments";
        /// After an idle time above the RTO the window falls back to the initial one (RFC 5681 §4.1).
        slow_start_restart: Boolean, default true;
        /// The receiver's window.
        receive_window: Size(1_500, TB), default "1 GiB";
    }
}

/// The values of `profile`.
const PROFILES: &[&str] = &["paper", "linux"];

words!(Recovery: NewReno = "newreno", Sack = "sack");
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

/// Whether a value of `profile` is Linux's.
pub(super) fn is_linux(place: &Place<'_>) -> Result<bool> {
    Ok(place.choice(PROFILES)? == "linux")
}

fn profile(config: &mut Config, place: &Place<'_>, _: &'static Kind) -> Result<()> {
    let congestion_control = config.congestion_control;
    *config = if is_linux(place)? {
        linux()
    } else {
        Config::default()
    };
    config.congestion_control = congestion_control;
    Ok(())
}

/// Linux's TCP, as its sources and `tcp(7)` have it. What it does with the round trip of the handshake, and undoing
/// needless reductions, are not among the options.
fn linux() -> Config {
    Config {
        initial_window: 10,
        rto_min: Span::from_ms(200),
        rto_initial: Span::from_secs(1),
        rto_max: Span::from_secs(120),
        delayed_ack_timeout: Span::from_ms(40),
        slow_start_limit: 1_000,
        recovery: Recovery::Sack,
        rack: true,
        tail_loss_probe: true,
        max_ack_delay: Span::from_ms(200),
        rate_reduction: true,
        quick_ack: 16,
        ..Config::default()
    }
}

/// No table has `rto_initial`: that of the profile, or else `rto_min`.
fn initial_timeout(config: &mut Config) {
    config.rto_initial = if config.rto_initial == Config::default().rto_initial {
        config.rto_min
    } else {
        config.rto_initial.max(config.rto_min)
    };
}

fn rules(config: &Config, layers: Layers<'_, '_>) -> Result<()> {
    timeouts(config, layers)?;
    let sack = sack(config);
    let rack = Needed {
        key: "rack",
        is_there: config.rack,
        without: "rack = false",
        with: "rack = true",
    };
    sack.by(layers, "rack", config.rack)?;
    rack.by(layers, "tail_loss_probe", config.tail_loss_probe)?;
    sack.by(layers, "rate_reduction", config.rate_reduction)
}

/// An option that others need.
pub(super) struct Needed {
    key: &'static str,
    is_there: bool,
    without: &'static str,
    with: &'static str,
}

/// Selective acknowledgements.
pub(super) fn sack(config: &Config) -> Needed {
    Needed {
        key: "recovery",
        is_there: config.recovery == Recovery::Sack,
        without: "recovery = \"newreno\"",
        with: "recovery = \"sack\"",
    }
}

impl Needed {
    /// It must be there if `key` is on. The mistake is in the most special table that has one of the keys.
    pub(super) fn by(&self, layers: Layers<'_, '_>, key: &str, is_on: bool) -> Result<()> {
        if !is_on || self.is_there {
            return Ok(());
        }
        let keys = [key, self.key, "profile"];
        let mut places = (layers.iter().rev())
            .flat_map(|reader| keys.into_iter().filter_map(|key| reader.find(key)));
        let place = places.next().expect("the defaults agree");
        let message = format!("{key} = true, with {}", self.without);
        let allowed = format!("{}, or {key} = false", self.with);
        Err(place.wrong(message).allowed(allowed))
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
