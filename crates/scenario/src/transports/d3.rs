//! Options of D3, which RCPdc shares.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the keys' ranges are positive and small"
)]

use super::about::About;
use crate::diagnostic::Result;
use crate::expected::{Expected, Form};
use crate::keys::Kind::{self, Any, Boolean, Choice, Integer, Number, Share, Size, Time};
use crate::keys::{S, TB, Table, US, declare};
use crate::model::Protocol;
use crate::options::{Configuration, Configured, Field, Layers, last};
use crate::place::Place;
use crate::table::Reader;
use crate::values::{Readable, Resolved, word};
use duetime_core::{Rate, Span};
use duetime_proto::d3::{
    Allocation, AlphaReference, BaseRate, Config, HostOptions, Late, QueueSample, RequestBytes,
    Rounding, RouterOptions,
};
use serde_json::{Map, Value, json};

/// Describes D3 with these options, or RCPdc.
pub(super) const fn about(config: &Config) -> About {
    About {
        what: if config.host.ignore_deadlines {
            "D3 without deadlines: each link is divided evenly among its flows."
        } else {
            "Each flow requests the rate that meets its deadline; requests are granted first come, first served."
        },
        needs: match config.router.allocation {
            Allocation::Routers => "UDP sockets of Duetime, and its software switch as router",
            Allocation::Edge => "UDP sockets of Duetime, nothing of the switches",
        },
    }
}

declare! {
    /// D3, and the options that RCPdc shares with it.
    d3 for Config {
        /// `d2tcp-authors`: paused flows may send a full segment per 200 us, which is accounted, as in the D2TCP
        /// experiments.
        profile: Choice(&["paper", "d2tcp-authors"]), default "paper",
            by Field { unit: "", set: profile, write: |_| None };
        /// Base rate of a paused flow: `"header-only"`, or `{ segment_every = "200 us" }`.
        base_rate: Any(&[Choice(&["header-only"]), Kind::Table(&BASE_RATE)]), otherwise "by `profile`",
            field router.base_rate;
        /// Rates are encoded as byte × 2^scale B/us. `auto`: the slowest link encodes to 64..127.
        scale: Any(&[Integer(-10, 10), Choice(&["auto"])]), default "auto", field wire.scale, read scale;
        /// Rounding of rates to bytes. `exact`: no rounding, only in the simulator.
        rounding: word::<Rounding>(), default "carry", field wire.rounding;
        /// Ends flows early that cannot meet their deadline (D3 §6.1.3).
        quench: Boolean, default false, field host.policy.quench;
        /// Quenches by the published formula, including the lag terms.
        quench_strict: Boolean, default false, field host.variant.quench_strict;
        /// Ends flows early whose desired rate keeps rising, regardless of `quench` (D3 §7, speculative flow
        /// quenching).
        speculative: Boolean, default false, field host.policy.speculative;
        /// Consecutive increases of the desired rate, one per round trip, after which `speculative` ends a flow.
        speculative_rises: Integer(1, 100), default 4, field host.policy.speculation.rises;
        /// Minimum growth of the desired rate that counts as an increase (rounded to 1/1000).
        speculative_growth: Share(0.0, 10.0), default "10%",
            unit "permille", field host.policy.speculation.growth_permille, read thousandths;
        /// Request of a flow after its deadline, for soft deadlines (D3 §7): no desired rate, the rate for an extended
        /// deadline, or the rate of its uplink. Has no effect with `quench`.
        late: word::<Late>(), default "fair-share", field host.policy.late;
        /// Extension of a missed deadline with `late = "extend"`, as a share of the flow's original time (rounded to
        /// 1/1000).
        late_extension: Share(0.001, 100.0), default "100%",
            unit "permille", field host.policy.late_extension_permille, read thousandths;
        /// Period T of capacity adaptation, which should exceed the round trip. `auto`: the paper's 800 us, or the
        /// transmission time of 100 KB on the slowest link if longer.
        update_interval: Any(&[INTERVAL, Choice(&["auto"])]), default "auto", unit "ps",
            field router.update_interval, read update_interval;
        /// Gain of spare capacity (rounded to 1/256).
        alpha: Number(0.0, 16.0), default 0.1, unit "256", field router.alpha_256, read of_256;
        /// Gain of the queue (rounded to 1/256).
        beta: Number(0.0, 16.0), default 1, unit "256", field router.beta_256, read of_256;
        /// Target utilisation of capacity adaptation, with `alpha_reference = "physical"` (rounded to 1/256). A few per
        /// cent below 100 % keep queues as short as published (D3 §6.2).
        target: Share(0.1, 1.0), default "100%", unit "256", field router.target_256, read of_256;
        /// Reference of spare capacity: the link's rate, or C(t) as published.
        alpha_reference: word::<AlphaReference>(), default "physical", field router.variant.alpha_reference;
        /// Includes the packet in service in the queue q.
        queue_in_service: Boolean, default false, field router.variant.queue_in_service;
        /// Queue used by capacity adaptation: the smallest since the last update, or the current one (D3 §4.4).
        queue_sample: word::<QueueSample>(), default "smallest", field router.variant.queue_sample;
        /// Limits grants to the capacity that is left.
        cap_to_left: Boolean, default false, field router.variant.cap_to_left;
        /// Bytes that a flow requests: its data, or its data with headers, which is what uses the allocation.
        request_bytes: word::<RequestBytes>(), default "payload", field host.variant.request_bytes;
        /// Requests the bytes left after this round trip over the time to the deadline minus two round trips (D3 §5).
        /// `false`: the bytes left over the time to the deadline.
        request_lag: Boolean, default true, field host.variant.request_lag;
        /// Limits requests to the rate that sends the remaining bytes in one round trip, the lifetime of a grant (D3
        /// §4.1).
        cap_to_remaining: Boolean, default false, field host.variant.cap_to_remaining;
        /// Maximum number of times that a paused flow doubles its wait between requests: 1, 2, 4, … round trips, at
        /// most half of the time to its deadline. 0: a request per round trip (D3 §4.5).
        request_backoff: Integer(0, HostOptions::MAX_REQUEST_BACKOFF as i64), default 0, field host.request_backoff;
        /// Minimum time between requests, as a number of maximum-size packets on the flow's uplink. A grant is valid
        /// until the next request. 0: a request per round trip, however short (D3 §4.5).
        request_packets: Integer(0, 1_000), default 16, field host.request_packets;
        /// Sends data packet by packet at the allocated rate. `false`: as one burst when the grant arrives (D3 §5).
        pacing: Boolean, default true, field host.pacing;
        /// Accepts the reply to a request that timed out and was sent again. Otherwise only the reply to the newest
        /// request counts, and a flow whose round trip exceeds its timeout makes no progress.
        late_answers: Boolean, otherwise "`false` in the simulator, `true` on the testbed", field host.late_answers;
        /// Grants new flows only the base rate as fair share (D3 §4.5).
        pause_new: Boolean, default true, field router.variant.pause_new;
        /// Registers acknowledgements as a separate flow.
        reverse_request: Boolean, default true, field host.reverse_request;
        /// Allocation of links: by the routers in front of them (D3 §4), or by each receiving host for its downlink
        /// only (`edge`). The sending host always allocates its uplink.
        allocation: word::<Allocation>(), default "routers", field router.allocation;
        /// Corrects the routers' counters under load.
        repair: Boolean, default true, field router.repair;
        /// Update intervals without requests after which an idle port resets (D3 §4.4). An epoch of `repair` is half of
        /// them.
        reset_intervals: Integer(2, 1_000), default 4, field router.reset_intervals;
        /// Polices each incoming link at each port of a switch with a token bucket. The bucket fills at the sum of
        /// the port's grants to flows from that link plus this rate, an allowance for unaccounted traffic. Excess
        /// packets are dropped. The paper's routers trust the hosts (`off`; D3 §4.4). Requires `repair`, whose census
        /// counts the grants, and `allocation = "routers"`.
        police: Any(&[ALLOWANCE, Choice(&["off"])]), default "off", unit "bps", field router.police, read police;
        /// Maximum packet size, including all headers.
        mtu: Size(200, 9_000), default "1500 B", field wire.mtu;
        /// Minimum retransmission timeout.
        rto_min: Time(10 * US, 10 * S), default "10 ms", field host.rto_min;
    }
}

/// Reads the options of D3.
pub(super) fn read<'a>(layers: Layers<'_, 'a>) -> Configured<'a, Protocol> {
    OPTIONS.read(layers, Protocol::D3)
}

/// Reads the options of RCPdc, which is D3 without deadlines.
pub(super) fn rcpdc<'a>(layers: Layers<'_, 'a>) -> Configured<'a, Protocol> {
    let without_deadlines =
        |config: Config| config.with(|config| config.host.ignore_deadlines = true);
    OPTIONS.read(layers, |config| Protocol::D3(without_deadlines(config)))
}

/// Returns the options as stored in the manifest.
pub(super) fn resolved(config: &Config) -> Map<String, Value> {
    let mut options = OPTIONS.resolved(config);
    let ignore_deadlines = config.host.ignore_deadlines;
    options.insert("ignore_deadlines".to_owned(), ignore_deadlines.into());
    options
}

declare!(words of Rounding: "carry" = Carry, "ceil-floor" = CeilFloor, "floor-floor" = FloorFloor, "exact" = Exact);
declare!(words of Late: "fair-share" = FairShare, "extend" = Extend, "max" = Max);
declare!(words of AlphaReference: "physical" = Physical, "literal" = Literal);
declare!(words of Allocation: "routers" = Routers, "edge" = Edge);
declare!(words of QueueSample: "smallest" = Smallest, "instant" = Instant);
declare!(words of RequestBytes: "payload" = Payload, "wire" = Wire);

/// RCPdc is D3 without deadlines. It uses the options of `[d3]` unless `[rcpdc]` overrides them.
pub(crate) static RCPDC: Table = Table {
    name: "rcpdc",
    doc: "RCPdc. Accepts the keys of `[d3]`, which override that table.",
    keys: OPTIONS.table.keys,
};

/// Names of the tables of RCPdc, from the specific to the general.
pub(super) const RCPDC_LAYERS: &[&str] = &["rcpdc", "d3"];

declare! {
    /// Base rate that is accounted.
    static BASE_RATE: "base_rate" {
        /// Time per full segment of a paused flow.
        segment_every: Time(US, S);
    }
}

impl Readable for BaseRate {
    fn read(place: &Place<'_>, _: &'static Kind) -> Result<Self> {
        if place.node.table().is_some() {
            let reader = Reader::open(place.clone(), &BASE_RATE)?;
            return Ok(Self::Segment(reader.value("segment_every")?));
        }
        place.choice(&["header-only"])?;
        Ok(Self::HeaderOnly)
    }
}

impl Resolved for BaseRate {
    fn resolved(&self) -> Value {
        match self {
            Self::HeaderOnly => json!("header-only"),
            Self::Segment(every) => json!({ "segment_every_ps": every.as_ps() }),
        }
    }
}

fn profile(config: &mut Config, place: &Place<'_>, _: &'static Kind) -> Result<()> {
    config.router.base_rate = match place.choice(&["paper", "d2tcp-authors"])? {
        // How D2TCP's authors ran D3: one full segment per round trip of 200 us.
        "d2tcp-authors" => BaseRate::Segment(Span::from_us(200)),
        _ => BaseRate::HeaderOnly,
    };
    Ok(())
}

const ALLOWANCE: Kind = Kind::Rate(1_000, 10 * TB);

fn police(place: &Place<'_>, _: &'static Kind) -> Result<Option<Rate>> {
    match place.node.str() {
        Some("off") => Ok(None),
        _ => Rate::read(place, &ALLOWANCE).map(Some).map_err(|wrong| {
            wrong.expected(Expected::new(
                "a rate of 1 Kbps to 10 Tbps, or \"off\"",
                &[Form::Quantity, Form::Word],
            ))
        }),
    }
}

impl Configuration for Config {
    /// Refuses `police` without the routers' census.
    fn finish(&mut self, layers: Layers<'_, '_>) -> Result<()> {
        let (key, value) = match &self.router {
            RouterOptions { police: None, .. } => return Ok(()),
            RouterOptions { repair: false, .. } => ("repair", "repair = false"),
            RouterOptions {
                allocation: Allocation::Edge,
                ..
            } => ("allocation", "allocation = \"edge\""),
            _ => return Ok(()),
        };
        let place = last(layers, &["police", key]).expect("the defaults do not police");
        let message = format!("police, with {value}: no router counts its grants");
        let allowed = "police = \"off\", or repair = true and allocation = \"routers\"";
        place.refuse(message, allowed)
    }
}

const INTERVAL: Kind = Time(10 * US, S);

fn update_interval(place: &Place<'_>, _: &'static Kind) -> Result<Option<Span>> {
    match place.node.str() {
        Some("auto") => Ok(None),
        _ => Span::read(place, &INTERVAL).map(Some).map_err(|wrong| {
            wrong.expected(Expected::new(
                "a time of 10 us to 1 s, or \"auto\"",
                &[Form::Quantity, Form::Word],
            ))
        }),
    }
}

fn scale(place: &Place<'_>, _: &'static Kind) -> Result<Option<i8>> {
    match place.node.str() {
        Some(_) => place.choice(&["auto"]).map(|_| None),
        None => place.integer(-10, 10).map(Some),
    }
}

/// Reads a number as thousandths.
pub(super) fn thousandths(place: &Place<'_>, kind: &'static Kind) -> Result<u32> {
    Ok((f64::read(place, kind)? * 1_000.0 + 0.5) as u32)
}

fn of_256(place: &Place<'_>, kind: &'static Kind) -> Result<u32> {
    Ok((f64::read(place, kind)? * 256.0 + 0.5) as u32)
}
