//! The options of D3, which RCPdc shares.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the keys' ranges are positive and small"
)]

use super::About;
use crate::keys::Kind::{self, Any, Boolean, Choice, Integer, Number, Share, Size, Time};
use crate::keys::{S, TB, Table, US};
use crate::options::{Layers, Readable, Resolved, Result, keys, options, word, words};
use crate::place::Place;
use crate::table::Reader;
use duetime_core::{Rate, Span};
use duetime_proto::d3::{
    Allocation, AlphaReference, BaseRate, Config, Late, QueueSample, RequestBytes, Rounding,
};
use serde_json::{Value, json};

/// Describes D3 with these options, or RCPdc.
pub(super) const fn about(config: &Config) -> About {
    About {
        what: if config.ignore_deadlines {
            "D3 without deadlines: each link is divided evenly among its flows."
        } else {
            "Each flow requests the rate that meets its deadline; requests are granted first come, first served."
        },
        needs: match config.allocation {
            Allocation::Routers => "UDP sockets of Duetime, and its software switch as router",
            Allocation::Edge => "UDP sockets of Duetime, nothing of the switches",
        },
    }
}

options! {
    /// D3, and what RCPdc shares with it.
    d3 for Config, checked by police_can_work {
        /// `d2tcp-authors`: paused flows may send a full segment per 200 us, accounted, as in the D2TCP experiments.
        profile: Choice(&["paper", "d2tcp-authors"]), default "paper", set profile;
        /// What a paused flow may send: `"header-only"`, or `{ segment_every = "200 us" }`.
        base_rate: Any(&[Choice(&["header-only"]), Kind::Table(&BASE_RATE)]), otherwise "by `profile`";
        /// Rates are encoded as byte × 2^scale B/us; `auto` lets the slowest link encode to 64..127.
        scale: Any(&[Integer(-10, 10), Choice(&["auto"])]), default "auto", read scale;
        /// How rates become bytes; `exact` exists only in simulation.
        rounding: word::<Rounding>(), default "carry";
        /// End hopeless flows early (D3 §6.1.3).
        quench: Boolean, default false;
        /// Quench by the printed formula, lag terms included.
        quench_strict: Boolean, default false;
        /// End flows early whose desired rate keeps rising, whatever `quench` says (D3 §7, speculative flow quenching).
        speculative: Boolean, default false;
        /// Increases of the desired rate running, one per round trip, that end a flow with `speculative`.
        speculative_rises: Integer(1, 100), default 4, field speculation.rises;
        /// Smallest growth of the desired rate that counts as an increase (rounded to 1/1000).
        speculative_growth: Share(0.0, 10.0), default "10%",
            unit "permille", field speculation.growth_permille, read thousandths;
        /// What a flow asks for after its deadline: nothing, a longer deadline, its uplink's rate. Ways to live with
        /// soft deadlines (D3 §7); with `quench` there is no after.
        late: word::<Late>(), default "fair-share";
        /// By how much `late = "extend"` moves a deadline each time it is missed, as a share of the flow's original
        /// allowance (rounded to 1/1000).
        late_extension: Share(0.001, 100.0), default "100%",
            unit "permille", field late_extension_permille, read thousandths;
        /// Period T of capacity adaptation; longer than the round trip. `auto`: the paper's 800 us, or the time of 100 KB on
        /// the slowest link where that is longer.
        update_interval: Any(&[INTERVAL, Choice(&["auto"])]), default "auto", unit "ps", read update_interval;
        /// Gain of spare capacity (rounded to 1/256).
        alpha: Number(0.0, 16.0), default 0.1, unit "256", field alpha_256, read of_256;
        /// Gain of the queue (rounded to 1/256).
        beta: Number(0.0, 16.0), default 1, unit "256", field beta_256, read of_256;
        /// Share of the link's rate that capacity adaptation steers to, with `alpha_reference = "physical"` (rounded to
        /// 1/256): a few per cent below the whole keep queues as short as published (D3 §6.2).
        target: Share(0.1, 1.0), default "100%", unit "256", field target_256, read of_256;
        /// Spare capacity against the link's rate, or against C(t) as printed.
        alpha_reference: word::<AlphaReference>(), default "physical";
        /// Whether q counts the packet in service.
        queue_in_service: Boolean, default false;
        /// Which queue capacity adaptation sees: the smallest since its last update, or the one at that instant (D3
        /// §4.4).
        queue_sample: word::<QueueSample>(), default "smallest";
        /// Never grant more than what is left.
        cap_to_left: Boolean, default false;
        /// Which bytes a flow asks for: its data, or its data with headers, which is what allocations are charged with.
        request_bytes: word::<RequestBytes>(), default "payload";
        /// Ask for what will be left after this round trip, over the time to the deadline less two round trips (D3 §5);
        /// `false`: for what is left over the time to the deadline.
        request_lag: Boolean, default true;
        /// Never ask for more than what is left to send can use in one round trip, which is as long as a grant holds
        /// (D3 §4.1).
        cap_to_remaining: Boolean, default false;
        /// How often a paused flow doubles its wait before it asks again: 1, 2, 4, … round trips after its last request,
        /// 2^`request_backoff` at most, and half of the time to its deadline at most. At 0 it asks once per round trip
        /// (D3 §4.5).
        request_backoff: Integer(0, Config::MAX_REQUEST_BACKOFF as i64), default 0;
        /// A flow asks for a rate at most once in the time in which its uplink sends so many of the largest packets; a
        /// grant holds until it asks again. At 0 it asks once per round trip, however short (D3 §4.5).
        request_packets: Integer(0, 1_000), default 16;
        /// Data leaves at the allocated rate, packet by packet; `false`: as one burst when the grant comes (D3 §5).
        pacing: Boolean, default true;
        /// Take the answer to a request that was given up for lost and sent again, whichever of the two is answered
        /// first; otherwise only the newest one's. Without it a flow whose round trip becomes longer than its wait for an
        /// answer stands still.
        late_answers: Boolean, otherwise "`false` in the simulator, `true` on the testbed";
        /// New flows get only the base rate as fair share (D3 §4.5).
        pause_new: Boolean, default true;
        /// Acknowledgements register as a flow of their own.
        reverse_request: Boolean, default true;
        /// Who allocates the links: the routers in front of them (D3 §4), or each receiving host its own downlink and nobody
        /// the links between (`edge`). The sender's host allocates its uplink in any case.
        allocation: word::<Allocation>(), default "routers";
        /// Heal the routers' counters under load.
        repair: Boolean, default true;
        /// Update intervals without any request after which an idle port resets (D3 §4.4); half as many are an epoch of
        /// `repair`.
        reset_intervals: Integer(2, 1_000), default 4;
        /// A token bucket before each port of a switch for each link that leads to the switch: it is filled at the sum
        /// of what the port has granted to flows from there, and at this rate, the allowance for whatever D3 does not
        /// account for. What does not fit is dropped. The paper's routers trust the hosts (`off`; D3 §4.4). Needs
        /// `repair`, whose census counts what was granted, and routers.
        police: Any(&[ALLOWANCE, Choice(&["off"])]), default "off", unit "bps", read police;
        /// Largest packet, all headers included.
        mtu: Size(200, 9_000), default "1500 B";
        /// Smallest retransmission timeout.
        rto_min: Time(10 * US, 10 * S), default "10 ms";
    }
}

words!(Rounding: Carry = "carry", CeilFloor = "ceil-floor", FloorFloor = "floor-floor", Exact = "exact");
words!(Late: FairShare = "fair-share", Extend = "extend", Max = "max");
words!(AlphaReference: Physical = "physical", Literal = "literal");
words!(Allocation: Routers = "routers", Edge = "edge");
words!(QueueSample: Smallest = "smallest", Instant = "instant");
words!(RequestBytes: Payload = "payload", Wire = "wire");

/// RCPdc is D3 without deadlines, and takes the options of `[d3]` where it has none of its own.
pub(crate) static RCPDC: Table = Table {
    name: "rcpdc",
    doc: "RCPdc, over `[d3]`.",
    keys: &[OPTIONS.keys],
};

static BASE_RATE: Table = Table {
    name: "base_rate",
    doc: "A base rate that is accounted.",
    keys: &[keys! {
        /// A paused flow may send one full segment in this time.
        segment_every: Time(US, S);
    }],
};

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
    config.base_rate = match place.choice(&["paper", "d2tcp-authors"])? {
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
        _ => Rate::read(place, &ALLOWANCE)
            .map(Some)
            .map_err(|wrong| wrong.allowed("a rate of 1 Kbps to 10 Tbps, or \"off\"")),
    }
}

/// Policing rests on the routers' census.
fn police_can_work(config: &Config, layers: Layers<'_, '_>) -> Result<()> {
    let trouble = match config {
        Config { police: None, .. } => return Ok(()),
        Config { repair: false, .. } => ("repair", "repair = false"),
        Config { allocation, .. } if *allocation == Allocation::Edge => {
            ("allocation", "allocation = \"edge\"")
        }
        _ => return Ok(()),
    };
    let (key, value) = trouble;
    let mut found = layers.iter().rev().flat_map(|reader| {
        let keys = ["police", key].into_iter();
        keys.filter_map(|key| reader.find(key))
    });
    let place = found.next().expect("the defaults do not police");
    let message = format!("police, with {value}: no router counts what it has granted");
    Err(place
        .wrong(message)
        .allowed("police = \"off\", or repair = true and allocation = \"routers\""))
}

const INTERVAL: Kind = Time(10 * US, S);

fn update_interval(place: &Place<'_>, _: &'static Kind) -> Result<Option<Span>> {
    match place.node.str() {
        Some("auto") => Ok(None),
        _ => Span::read(place, &INTERVAL)
            .map(Some)
            .map_err(|wrong| wrong.allowed("a time of 10 us to 1 s, or \"auto\"")),
    }
}

fn scale(place: &Place<'_>, _: &'static Kind) -> Result<Option<i8>> {
    match place.node.str() {
        Some(_) => place.choice(&["auto"]).map(|_| None),
        None => place.integer(-10, 10).map(Some),
    }
}

/// A number, kept as thousandths.
pub(super) fn thousandths(place: &Place<'_>, kind: &'static Kind) -> Result<u32> {
    Ok((f64::read(place, kind)? * 1_000.0 + 0.5) as u32)
}

fn of_256(place: &Place<'_>, kind: &'static Kind) -> Result<u32> {
    Ok((f64::read(place, kind)? * 256.0 + 0.5) as u32)
}
