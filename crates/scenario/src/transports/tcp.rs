//! The options of TCP, which all window protocols share.

use super::About;
use crate::keys::Kind::{self, Any, Boolean, Choice, Integer, Size, Time};
use crate::keys::{H, MS, S, TB, US};
use crate::options::{Layers, Result, fields, options, word, words};
use crate::place::Place;
use duetime_core::Span;
use duetime_proto::tcp::{Coalescing, Config, Growth, Recovery};

pub(super) const ABOUT: About = About {
    what: "TCP NewReno: halves its window when a packet is lost.",
    needs: "`reno` as congestion control",
};

options! {
    /// TCP NewReno, and what DCTCP and D2TCP share with it.
    tcp for Config, starting from linux, checked by rules {
        /// Sets all options at once. `linux` has the defaults below, those of a Linux host. `paper` is the TCP of both papers:
        /// `initial_window = 2`, `rto_min = "10 ms"`, `rto_initial` that of `rto_min`, `rto_max = "1 min"`,
        /// `delayed_ack_timeout = "1 ms"`, `slow_start_limit = 1`, `recovery = "newreno"`, `rack`, `tail_loss_probe`,
        /// `rate_reduction` and `window_validation` off, `max_ack_delay = "1 ms"`, `timeout_min = "0 us"`, `quick_ack = 0`;
        /// for DCTCP and D2TCP `initial_alpha = 0`, for CUBIC `hystart = false`, `tick = "0 us"` and `alpha_one = true`.
        /// Other keys of the same table, and of more special tables, change single options.
        profile: Choice(PROFILES), default "linux", set profile;
        /// Largest payload of a segment.
        mss: Size(100, 9_000), default "1460 B";
        /// Initial window, in segments.
        initial_window: Integer(1, 10_000), default 10, unit "segments";
        /// Floor of the window after a reduction by marks, in segments (RFC 8257 §3.3).
        min_window: Integer(1, 100), default 2, unit "segments";
        /// Initial slow-start threshold, in segments.
        initial_ssthresh: Any(&[THRESHOLD, Choice(&["infinite"])]), default "infinite", unit "segments", read threshold;
        /// Smallest retransmission timeout.
        rto_min: Time(10 * US, 10 * S), default "200 ms";
        /// Timeout before the first round-trip sample; at least `rto_min`.
        rto_initial: Time(10 * US, 10 * S), otherwise "1 s, or `rto_min` where that is longer", follow initial_timeout;
        /// Largest timeout after backoff; at least `rto_initial`.
        rto_max: Time(MS, H), default "2 min";
        /// Segments acknowledged together; 1 acknowledges each.
        delayed_ack: Integer(1, 100), default 2, unit "segments";
        /// Longest delay of an acknowledgement.
        delayed_ack_timeout: Time(0, S), default "40 ms";
        /// Hold acknowledgements that are due back, as receive offload in NICs does: `{ segments = 10, within
        /// = "50 us" }`. The end of a message, data out of order, a FIN and a change of the mark end the wait.
        ack_coalescing: Kind::Table(&ACK_COALESCING), otherwise "none";
        /// Segments by which one acknowledgement opens the window at most in slow start (RFC 5681 §3.1: 1; RFC 3465:
        /// 2).
        slow_start_limit: Integer(1, 1_000), default 1000, unit "segments";
        /// What congestion avoidance counts up to a window before it adds a segment: acknowledged bytes, or
        /// acknowledgements as one segment each (RFC 5681 §3.1, equation 3).
        growth: word::<Growth>(), default "bytes";
        /// A new segment for each of the first two duplicate acknowledgements (RFC 3042).
        limited_transmit: Boolean, default true;
        /// How losses are found and repaired: by cumulative acknowledgements (`newreno`, RFC 6582), or by selective ones
        /// (`sack`, RFC 2018 and RFC 6675), which receivers send then.
        recovery: word::<Recovery>(), default "sack";
        /// With `recovery = "sack"`: a segment is lost when one that left later has arrived and time for reordering has
        /// passed (RACK, RFC 8985), not when three segments have overtaken it.
        rack: Boolean, otherwise "true with `recovery = \"sack\"`", follow rack;
        /// With `rack`: two round trips without an acknowledgement send a segment that tells of losses at the end of a
        /// burst (RFC 8985 §7).
        tail_loss_probe: Boolean, otherwise "that of `rack`", follow tail_loss_probe;
        /// Added to the wait of a tail loss probe where one segment is in flight.
        max_ack_delay: Time(0, S), otherwise "`rto_min`, as in Linux", follow max_ack_delay;
        /// Added to the wait of a tail loss probe where more segments are in flight, and to RACK's reordering timer. Linux
        /// adds two ticks of its clock (`TCP_TIMEOUT_MIN`): 8 ms at 250 Hz.
        timeout_min: Time(0, S), default "8 ms";
        /// With `recovery = "sack"`: a loss reduces the window over the whole recovery, in proportion to what arrives
        /// (RFC 6937), and not at once.
        rate_reduction: Boolean, otherwise "true with `recovery = \"sack\"`", follow rate_reduction;
        /// With `recovery = "sack"`: the window grows only while it limits the sender (Linux; RFC 2861).
        window_validation: Boolean, otherwise "true with `recovery = \"sack\"`", follow window_validation;
        /// Segments that a receiver acknowledges one by one: the first of a connection, and those after an idle time
        /// above `rto_min` and after data that it had already.
        quick_ack: Integer(0, 255), default 16, unit "segments";
        /// After an idle time above the RTO the window falls back to the initial one (RFC 5681 §4.1); with
        /// `window_validation` it halves for each RTO of idle time (Linux, `net.ipv4.tcp_slow_start_after_idle`).
        slow_start_restart: Boolean, default true;
        /// The receiver's window.
        receive_window: Size(1_500, TB), default "1 GiB";
    }
}

/// The values of `profile`.
const PROFILES: &[&str] = &["linux", "paper"];

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

/// Returns the options of Linux's TCP, from its sources and `tcp(7)`. They do not include what Linux does with the round
/// trip of the handshake, nor undoing needless reductions.
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
        timeout_min: Span::from_ms(8),
        rate_reduction: true,
        window_validation: true,
        quick_ack: 16,
        ..Config::default()
    }
}

/// No table has `rto_initial`: `rto_min` with the profile `paper`, otherwise Linux's, which is at least `rto_min`.
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
    sack.by(layers, "rate_reduction", config.rate_reduction)?;
    sack.by(layers, "window_validation", config.window_validation)
}

/// No table has `max_ack_delay`: Linux takes its smallest retransmission timeout.
fn max_ack_delay(config: &mut Config) {
    if config.max_ack_delay == linux().max_ack_delay {
        config.max_ack_delay = config.rto_min;
    }
}

fn rack(config: &mut Config) {
    config.rack &= config.recovery == Recovery::Sack;
}

fn tail_loss_probe(config: &mut Config) {
    config.tail_loss_probe &= config.rack;
}

fn rate_reduction(config: &mut Config) {
    config.rate_reduction &= config.recovery == Recovery::Sack;
}

fn window_validation(config: &mut Config) {
    config.window_validation &= config.recovery == Recovery::Sack;
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
