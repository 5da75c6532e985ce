//! Options of TCP, which all window protocols share.

use super::about::About;
use crate::diagnostic::Result;
use crate::keys::Kind::{self, Boolean, Choice, Integer, Size, Time};
use crate::keys::{H, MS, S, TB, US, declare};
use crate::model::Protocol;
use crate::options::{Configuration, Configured, Field, Layers, Overrides, last};
use crate::place::Place;
use crate::values::word;
use duetime_core::Span;
use duetime_proto::tcp::{Coalescing, Config, Growth, Recovery};
use duetime_proto::window::CongestionControl;

pub(super) const ABOUT: About = About {
    what: "TCP NewReno: halves its window when a packet is lost.",
    needs: "`reno` as congestion control",
};

declare! {
    /// TCP NewReno, and the options that DCTCP, D2TCP and CUBIC share with it.
    tcp for Config {
        /// Sets all options. `linux`: the defaults below, those of a Linux host. `paper`: the TCP of both papers,
        /// `initial_window = 2`, `rto_min = "10 ms"`, `rto_initial = rto_min`, `rto_max = "1 min"`,
        /// `delayed_ack_timeout = "1 ms"`, `slow_start_limit = 1`, `recovery = "newreno"`, `rack`, `tail_loss_probe`,
        /// `rate_reduction` and `window_validation` off, `max_ack_delay = "1 ms"`, `timeout_min = "0 us"`, `quick_ack =
        /// 0`; for DCTCP and D2TCP `initial_alpha = 0`; for CUBIC `hystart = false`, `tick = "0 us"`, `alpha_one =
        /// true`. Other keys of this table and of more specific tables override single options.
        profile: Choice(PROFILES), default "linux",
            by Field { unit: "", set: profile, write: |_| None };
        /// Maximum payload of a segment.
        mss: Size(100, 9_000), default "1460 B";
        /// Initial window, in segments.
        initial_window: Integer(1, 10_000), default 10, unit "segments";
        /// Minimum window after a reduction by marks, in segments (RFC 8257 §3.3).
        min_window: Integer(1, 100), default 2, unit "segments";
        /// Minimum retransmission timeout.
        rto_min: Time(10 * US, 10 * S), default "200 ms";
        /// Retransmission timeout before the first round-trip sample; at least `rto_min`.
        rto_initial: Time(10 * US, 10 * S), otherwise "1 s, or `rto_min` if longer";
        /// Maximum retransmission timeout, after backoff; at least `rto_initial`.
        rto_max: Time(MS, H), default "2 min";
        /// Segments per acknowledgement; 1: acknowledge each.
        delayed_ack: Integer(1, 100), default 2, unit "segments";
        /// Maximum delay of an acknowledgement.
        delayed_ack_timeout: Time(0, S), default "40 ms";
        /// Merges acknowledgements, like receive offload in NICs: `{ segments = 10, within = "50 us" }`. The end of a
        /// message, out-of-order data, a FIN or a change of the mark ends the delay.
        ack_coalescing: Kind::Table(ACK_COALESCING.table), otherwise "none";
        /// Maximum growth of the window per acknowledgement in slow start, in segments (RFC 5681 §3.1: 1; RFC 3465: 2).
        slow_start_limit: Integer(1, 1_000), default 1000, unit "segments";
        /// Unit that congestion avoidance counts before it adds a segment to the window: acknowledged bytes, or
        /// acknowledgements as one segment each (RFC 5681 §3.1, equation 3).
        growth: word::<Growth>(), default "bytes";
        /// Sends a new segment for each of the first two duplicate acknowledgements (RFC 3042).
        limited_transmit: Boolean, default true;
        /// Loss detection and recovery: by cumulative acknowledgements (`newreno`, RFC 6582) or selective
        /// acknowledgements (`sack`, RFC 2018 and RFC 6675).
        recovery: word::<Recovery>(), default "sack";
        /// A segment counts as lost when a later one has been delivered and the reordering time has passed (RACK, RFC
        /// 8985), not when three later ones have. Requires `recovery = "sack"`.
        rack: Boolean, otherwise "true with `recovery = \"sack\"`";
        /// After two round trips without an acknowledgement, sends a segment that reveals losses at the end of a burst
        /// (RFC 8985 §7). Requires `rack`.
        tail_loss_probe: Boolean, otherwise "`rack`";
        /// Added to the timeout of a tail loss probe with one segment in flight.
        max_ack_delay: Time(0, S), otherwise "`rto_min`, as in Linux";
        /// Added to the timeout of a tail loss probe with several segments in flight, and to RACK's reordering timer.
        /// Linux adds two clock ticks (`TCP_TIMEOUT_MIN`): 8 ms at 250 Hz.
        timeout_min: Time(0, S), default "8 ms";
        /// Reduces the window gradually over the recovery, in proportion to delivered data (RFC 6937), instead of
        /// immediately. Requires `recovery = "sack"`.
        rate_reduction: Boolean, otherwise "true with `recovery = \"sack\"`";
        /// The window grows only while it limits the sender (Linux; RFC 2861). Requires `recovery = "sack"`.
        window_validation: Boolean, otherwise "true with `recovery = \"sack\"`";
        /// Segments that a receiver acknowledges immediately at the start of a connection, after an idle time above
        /// `rto_min`, and after duplicate data.
        quick_ack: Integer(0, 255), default 16, unit "segments";
        /// Resets the window to the initial window after an idle time above the RTO (RFC 5681 §4.1). With
        /// `window_validation`, halves it per RTO of idle time (Linux, `net.ipv4.tcp_slow_start_after_idle`).
        slow_start_restart: Boolean, default true;
        /// Receive window.
        receive_window: Size(1_500, TB), default "1 GiB";
    }
}

/// Reads the options of TCP NewReno.
pub(super) fn newreno<'a>(layers: Layers<'_, 'a>) -> Configured<'a, Protocol> {
    with(layers, (CongestionControl::NewReno, Vec::new()))
}

/// Reads the options that all window protocols share, for this congestion control and the keys that override its profile.
pub(super) fn with<'a>(
    layers: Layers<'_, 'a>,
    (congestion_control, own): (CongestionControl, Overrides<'a>),
) -> Configured<'a, Protocol> {
    let with_control = |config| Config {
        congestion_control,
        ..config
    };
    let (config, mut overrides) = OPTIONS.read(layers, with_control)?;
    overrides.extend(own);
    Ok((Protocol::Tcp(config), overrides))
}

/// Values of `profile`.
const PROFILES: &[&str] = &["linux", "paper"];

declare!(words of Recovery: "newreno" = NewReno, "sack" = Sack);
declare!(words of Growth: "bytes" = Bytes, "acknowledgements" = Acknowledgements);

declare! {
    /// Receive offload, as visible to the sender.
    static ACK_COALESCING: "ack_coalescing" {
        /// Maximum number of segments per acknowledgement.
        segments: Integer(1, 1_000);
        /// Maximum delay of an acknowledgement that is due.
        within: Time(0, S);
    } for Coalescing { segments, within }
}

/// Returns the options of a profile.
pub(super) fn profiled<C: Configuration>(profile: &Place<'_>) -> Result<C> {
    Ok(match profile.choice(PROFILES)? {
        "linux" => C::start(),
        _ => C::default(),
    })
}

fn profile(config: &mut Config, place: &Place<'_>, _: &'static Kind) -> Result<()> {
    *config = Config {
        congestion_control: config.congestion_control,
        ..profiled(place)?
    };
    Ok(())
}

impl Configuration for Config {
    /// Returns the options of Linux's TCP, from its sources and `tcp(7)`. Linux's use of the round trip of the handshake
    /// and its undo of spurious reductions are not included.
    fn start() -> Self {
        Self {
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
            ..Self::default()
        }
    }

    fn finish(&mut self, layers: Layers<'_, '_>) -> Result<()> {
        follow(self, |key| last(layers, &[key]).is_none());
        timeouts(self, layers)?;
        let sack = sack(self);
        let rack = Required {
            key: "rack",
            is_on: self.rack,
            without: "rack = false",
            with: "rack = true",
        };
        sack.by(layers, "rack", self.rack)?;
        rack.by(layers, "tail_loss_probe", self.tail_loss_probe)?;
        sack.by(layers, "rate_reduction", self.rate_reduction)?;
        sack.by(layers, "window_validation", self.window_validation)
    }
}

/// Sets the options that follow others, if no table has them.
fn follow(config: &mut Config, is_absent: impl Fn(&str) -> bool) {
    if is_absent("rto_initial") {
        // At least `rto_min`, and equal to it with the profile `paper`.
        config.rto_initial = if config.rto_initial == Config::default().rto_initial {
            config.rto_min
        } else {
            config.rto_initial.max(config.rto_min)
        };
    }
    let sack = config.recovery == Recovery::Sack;
    config.rack &= sack || !is_absent("rack");
    config.tail_loss_probe &= config.rack || !is_absent("tail_loss_probe");
    // Linux uses its minimum retransmission timeout.
    if is_absent("max_ack_delay") && config.max_ack_delay == Config::start().max_ack_delay {
        config.max_ack_delay = config.rto_min;
    }
    config.rate_reduction &= sack || !is_absent("rate_reduction");
    config.window_validation &= sack || !is_absent("window_validation");
}

/// An option that other options require.
pub(super) struct Required {
    key: &'static str,
    is_on: bool,
    without: &'static str,
    with: &'static str,
}

/// Returns the requirement of selective acknowledgements.
pub(super) fn sack(config: &Config) -> Required {
    Required {
        key: "recovery",
        is_on: config.recovery == Recovery::Sack,
        without: "recovery = \"newreno\"",
        with: "recovery = \"sack\"",
    }
}

impl Required {
    /// Refuses `key` if it is on without this option. The error points at the most specific table that sets one of the
    /// keys.
    pub(super) fn by(&self, layers: Layers<'_, '_>, key: &str, needs_it: bool) -> Result<()> {
        if !needs_it || self.is_on {
            return Ok(());
        }
        let place = last(layers, &[key, self.key, "profile"]).expect("the defaults agree");
        let message = format!("{key} = true, with {}", self.without);
        let allowed = format!("{}, or {key} = false", self.with);
        Err(place.wrong(message).allowed(allowed))
    }
}

/// Checks that `rto_min ≤ rto_initial ≤ rto_max`. The error points at the last layer: an earlier layer with this
/// mistake was already refused.
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
