//! The transports with their options: defaults, then the option tables from the general to the special, then a
//! variant's own keys.

use super::network::optional;
use super::{Result, is_name, tables};
use crate::diagnostic::nearest;
use crate::keys::{D2TCP, D3, D3_ONLY, DCTCP, PRIORITY, TCP, TRANSPORTS, VARIANTS};
use crate::model::{Protocol, Transport};
use crate::place::Place;
use crate::table::Reader;
use duetime_core::Span;
use duetime_proto::d3::{
    self, AlphaReference, BaseRate, Late, QueueSample, RequestBytes, Rounding,
};
use duetime_proto::tcp;
use duetime_proto::window::{Completion, CongestionControl, D2tcp, Dctcp};

/// Every transport that the file can name: the built-in ones and its variants.
pub(super) fn all(reader: &Reader<'_>) -> Result<Vec<Transport>> {
    let tcp = optional(reader, "tcp", &TCP)?;
    let dctcp = optional(reader, "dctcp", &DCTCP)?;
    let d2tcp = optional(reader, "d2tcp", &D2TCP)?;
    let d3 = optional(reader, "d3", &D3)?;
    let rcpdc = optional(reader, "rcpdc", &D3_ONLY)?;
    let classes = match optional(reader, "priority", &PRIORITY)? {
        Some(reader) => reader.integer("classes")?.unwrap_or(2) as u8,
        None => 2,
    };
    let layers = |name: &str| match name {
        "tcp" | "tcp-prio" => vec![&tcp],
        "dctcp" => vec![&tcp, &dctcp],
        "d2tcp" => vec![&tcp, &dctcp, &d2tcp],
        "d3" => vec![&d3],
        _ => vec![&d3, &rcpdc],
    };
    let build = |base: &str, last: Option<&Reader<'_>>| -> Result<Transport> {
        let layers = layers(base).into_iter().flatten().chain(last);
        let priorities = if base.ends_with("-prio") { classes } else { 1 };
        Ok(Transport {
            name: base.to_owned(),
            protocol: protocol(base, layers)?,
            priorities,
        })
    };
    let mut all = TRANSPORTS
        .iter()
        .map(|name| build(name, None))
        .collect::<Result<Vec<_>>>()?;
    for place in tables(reader, "variant")? {
        let (base, reader) = Reader::open_tagged(place, "base", VARIANTS)?;
        let name_place = reader.need("name")?;
        let name = name_place.str("a name", super::NAMES)?;
        if !is_name(name) {
            return Err(name_place.wrong("not a name").allowed(super::NAMES));
        }
        if all.iter().any(|other| other.name == name) {
            return Err(name_place
                .wrong("there is a transport of that name")
                .allowed("another name"));
        }
        let mut transport = build(base, Some(&reader))?;
        name.clone_into(&mut transport.name);
        if let Some(classes) = reader.integer("classes")? {
            transport.priorities = classes as u8;
        }
        all.push(transport);
    }
    Ok(all)
}

/// The transports that `transport` lists.
pub(super) fn compared(reader: &Reader<'_>, all: &[Transport]) -> Result<Vec<Transport>> {
    let mut compared: Vec<Transport> = Vec::new();
    for (name, place) in reader.needed("transport", Reader::texts)? {
        let transport = find(name, &place, all)?;
        if compared.iter().any(|other| other.name == name) {
            return Err(place.wrong("listed twice").allowed("each transport once"));
        }
        compared.push(transport);
    }
    if compared.is_empty() {
        return Err(reader
            .need("transport")?
            .wrong("an empty list")
            .allowed("at least one transport"));
    }
    Ok(compared)
}

/// The transport of that name.
pub(super) fn find(name: &str, place: &Place<'_>, all: &[Transport]) -> Result<Transport> {
    let names = || all.iter().map(|transport| transport.name.as_str());
    all.iter()
        .find(|transport| transport.name == name)
        .cloned()
        .ok_or_else(|| {
            let quoted: Vec<String> = names().map(|name| format!("\"{name}\"")).collect();
            let error = place.wrong("no such transport").allowed(quoted.join(", "));
            match nearest(name, names()) {
                Some(near) => error.help(format!("did you mean \"{near}\"?")),
                None => error,
            }
        })
}

fn protocol<'r, 'a: 'r>(
    base: &str,
    layers: impl Iterator<Item = &'r Reader<'a>>,
) -> Result<Protocol> {
    if matches!(base, "d3" | "rcpdc" | "rcpdc-prio") {
        let mut config = d3::Config {
            ignore_deadlines: base != "d3",
            ..d3::Config::default()
        };
        for reader in layers {
            read_d3(&mut config, reader)?;
        }
        return Ok(Protocol::D3(config));
    }
    let mut config = tcp::Config::default();
    let mut marks = Dctcp {
        gain_shift: 4,
        initial_alpha: 0.0,
    };
    let mut deadlines = Imminence::default();
    let mut rto_initial = None;
    let mut last = None;
    for reader in layers {
        rto_initial = read_tcp(&mut config, reader)?.or(rto_initial);
        if reader.has("gain") {
            read_dctcp(&mut marks, reader)?;
        }
        if reader.has("imminence") {
            read_d2tcp(&mut deadlines, reader)?;
        }
        last = Some(reader);
    }
    config.rto_initial = rto_initial.unwrap_or(config.rto_min);
    if let Some(reader) = last {
        ordered_timeouts(&config, reader)?;
    }
    config.congestion_control = match base {
        "dctcp" => CongestionControl::Dctcp(marks),
        "d2tcp" => CongestionControl::D2tcp(marks, deadlines.knobs()),
        _ => CongestionControl::NewReno,
    };
    Ok(Protocol::Tcp(config))
}

/// `rto_min ≤ rto_initial ≤ rto_max`; the mistake is in the last layer, or else in one that was already refused.
fn ordered_timeouts(config: &tcp::Config, reader: &Reader<'_>) -> Result<()> {
    let pairs = [
        ("rto_initial", config.rto_initial, "rto_min", config.rto_min),
        ("rto_max", config.rto_max, "rto_initial", config.rto_initial),
    ];
    for (key, value, other, least) in pairs {
        if value < least {
            let message = format!("{key} ({value}) is below {other} ({least})");
            let place = reader
                .get(key)
                .or_else(|| reader.get(other))
                .or_else(|| reader.get("rto_min"));
            let place = place.unwrap_or_else(|| reader.place.clone());
            return Err(place
                .wrong(message)
                .allowed("rto_min <= rto_initial <= rto_max"));
        }
    }
    Ok(())
}

/// Reads the keys that all window protocols share; gives `rto_initial` back, whose default depends on `rto_min`.
fn read_tcp(config: &mut tcp::Config, reader: &Reader<'_>) -> Result<Option<Span>> {
    if let Some(mss) = reader.size("mss")? {
        config.mss = mss.0 as u32;
    }
    let count = |key: &'static str, value: &mut u32| -> Result<()> {
        if let Some(count) = reader.integer(key)? {
            *value = count as u32;
        }
        Ok(())
    };
    count("initial_window", &mut config.initial_window)?;
    count("min_window", &mut config.min_window)?;
    count("delayed_ack", &mut config.delayed_ack)?;
    count("slow_start_limit", &mut config.slow_start_limit)?;
    if let Some(place) = reader.get("initial_ssthresh") {
        config.initial_ssthresh = match place.node.str() {
            Some("infinite") => None,
            Some(_) => {
                return Err(place
                    .wrong("not a number")
                    .allowed("segments, or \"infinite\""));
            }
            None => Some(place.integer(1, 1_000_000)? as u32),
        };
    }
    let time = |key: &'static str, value: &mut Span| -> Result<()> {
        if let Some(time) = reader.time(key)? {
            *value = time;
        }
        Ok(())
    };
    time("rto_min", &mut config.rto_min)?;
    time("rto_max", &mut config.rto_max)?;
    time("delayed_ack_timeout", &mut config.delayed_ack_timeout)?;
    if let Some(place) = reader.get("ack_coalescing") {
        let reader = Reader::open(place, &crate::keys::ACK_COALESCING)?;
        config.ack_coalescing = Some(tcp::Coalescing {
            segments: reader.needed("segments", Reader::integer)? as u32,
            within: reader.needed("within", Reader::time)?,
        });
    }
    if let Some(growth) = reader.choice("growth")? {
        config.growth = match growth {
            "acknowledgements" => tcp::Growth::Acknowledgements,
            _ => tcp::Growth::Bytes,
        };
    }
    if let Some(limited) = reader.boolean("limited_transmit")? {
        config.limited_transmit = limited;
    }
    if let Some(restart) = reader.boolean("slow_start_restart")? {
        config.slow_start_restart = restart;
    }
    if let Some(window) = reader.size("receive_window")? {
        config.receive_window = window.0;
    }
    reader.time("rto_initial")
}

fn read_dctcp(marks: &mut Dctcp, reader: &Reader<'_>) -> Result<()> {
    if let Some(place) = reader.get("gain") {
        let allowed = "1/2^n for n of 0 to 10, such as \"1/16\"";
        let value = match place.node.str() {
            Some(text) => {
                let parts = text.split_once('/').and_then(|(one, n)| {
                    let one: f64 = one.trim().parse().ok()?;
                    Some(one / n.trim().parse::<f64>().ok()?)
                });
                parts.ok_or_else(|| place.wrong("not a fraction").allowed(allowed))?
            }
            None => place
                .number(0.0, 1.0)
                .map_err(|error| error.allowed(allowed))?,
        };
        let shift =
            (0..=10u8).find(|&shift| value.to_bits() == (1.0 / f64::from(1u32 << shift)).to_bits());
        marks.gain_shift =
            shift.ok_or_else(|| place.wrong("not a power of two").allowed(allowed))?;
    }
    if let Some(alpha) = reader.number("initial_alpha")? {
        marks.initial_alpha = alpha;
    }
    Ok(())
}

/// D2TCP's knobs before the default of `expired` is known.
struct Imminence {
    bounds: (f64, f64),
    expired: Option<f64>,
    completion: Completion,
}

impl Default for Imminence {
    fn default() -> Self {
        Self {
            bounds: (0.5, 2.0),
            expired: None,
            completion: Completion::Approximate,
        }
    }
}

impl Imminence {
    fn knobs(&self) -> D2tcp {
        let (d_min, d_max) = self.bounds;
        D2tcp {
            d_min,
            d_max,
            d_expired: self.expired.unwrap_or(d_min),
            completion: self.completion,
        }
    }
}

fn read_d2tcp(deadlines: &mut Imminence, reader: &Reader<'_>) -> Result<()> {
    if let Some(place) = reader.get("imminence") {
        let items = place.array()?;
        let allowed = "[low, high] with 0.0625 <= low <= high <= 16";
        let [low, high] = &items[..] else {
            return Err(place.wrong("not two bounds").allowed(allowed));
        };
        let (low, high) = (low.number(0.0625, 16.0)?, high.number(0.0625, 16.0)?);
        if low > high {
            return Err(place
                .wrong("the bounds are the wrong way round")
                .allowed(allowed));
        }
        deadlines.bounds = (low, high);
    }
    if let Some(expired) = reader.number("expired")? {
        deadlines.expired = Some(expired);
    }
    match reader.choice("completion")? {
        Some("precise") => deadlines.completion = Completion::Precise,
        Some(_) => deadlines.completion = Completion::Approximate,
        None => {}
    }
    Ok(())
}

/// Soft deadlines and speculative quenching (D3 §7).
fn read_deadline_policy(config: &mut d3::Config, reader: &Reader<'_>) -> Result<()> {
    let permille = |share: f64| (share * 1_000.0 + 0.5) as u32;
    if let Some(extension) = reader.number("late_extension")? {
        config.late_extension_permille = permille(extension).max(1);
    }
    if let Some(speculative) = reader.boolean("speculative")? {
        config.speculative = speculative;
    }
    if let Some(rises) = reader.integer("speculative_rises")? {
        config.speculation.rises = rises as u8;
    }
    if let Some(growth) = reader.number("speculative_growth")? {
        config.speculation.growth_permille = permille(growth);
    }
    Ok(())
}

fn read_d3(config: &mut d3::Config, reader: &Reader<'_>) -> Result<()> {
    match reader.choice("profile")? {
        // How D2TCP's authors ran D3: one full segment per round trip of 200 us.
        Some("d2tcp-authors") => config.base_rate = BaseRate::Segment(Span::from_us(200)),
        Some(_) => config.base_rate = BaseRate::HeaderOnly,
        None => {}
    }
    if let Some(place) = reader.get("base_rate") {
        config.base_rate = if place.node.table().is_some() {
            let reader = Reader::open(place, &crate::keys::BASE_RATE)?;
            BaseRate::Segment(reader.needed("segment_every", Reader::time)?)
        } else {
            place.choice(&["header-only"])?;
            BaseRate::HeaderOnly
        };
    }
    if let Some(place) = reader.get("scale") {
        config.scale = match place.node.str() {
            Some(_) => place.choice(&["auto"]).map(|_| None)?,
            None => Some(place.integer(-10, 10)? as i8),
        };
    }
    if let Some(rounding) = reader.choice("rounding")? {
        config.rounding = match rounding {
            "ceil-floor" => Rounding::CeilFloor,
            "floor-floor" => Rounding::FloorFloor,
            "exact" => Rounding::Exact,
            _ => Rounding::Carry,
        };
    }
    if let Some(late) = reader.choice("late")? {
        config.late = match late {
            "extend" => Late::Extend,
            "max" => Late::Max,
            _ => Late::FairShare,
        };
    }
    if let Some(bytes) = reader.choice("request_bytes")? {
        config.request_bytes = match bytes {
            "wire" => RequestBytes::Wire,
            _ => RequestBytes::Payload,
        };
    }
    if let Some(reference) = reader.choice("alpha_reference")? {
        config.alpha_reference = match reference {
            "literal" => AlphaReference::Literal,
            _ => AlphaReference::Physical,
        };
    }
    if let Some(sample) = reader.choice("queue_sample")? {
        config.queue_sample = match sample {
            "instant" => QueueSample::Instant,
            _ => QueueSample::Smallest,
        };
    }
    let flag = |key: &'static str, value: &mut bool| -> Result<()> {
        if let Some(flag) = reader.boolean(key)? {
            *value = flag;
        }
        Ok(())
    };
    flag("quench", &mut config.quench)?;
    flag("quench_strict", &mut config.quench_strict)?;
    flag("queue_in_service", &mut config.queue_in_service)?;
    flag("cap_to_left", &mut config.cap_to_left)?;
    flag("request_lag", &mut config.request_lag)?;
    flag("cap_to_remaining", &mut config.cap_to_remaining)?;
    flag("pause_new", &mut config.pause_new)?;
    flag("reverse_request", &mut config.reverse_request)?;
    flag("repair", &mut config.repair)?;
    read_deadline_policy(config, reader)?;
    let gain = |key: &'static str, value: &mut u32| -> Result<()> {
        if let Some(gain) = reader.number(key)? {
            *value = (gain * 256.0 + 0.5) as u32;
        }
        Ok(())
    };
    gain("alpha", &mut config.alpha_256)?;
    gain("beta", &mut config.beta_256)?;
    gain("target", &mut config.target_256)?;
    if let Some(interval) = reader.time("update_interval")? {
        config.update_interval = interval;
    }
    if let Some(intervals) = reader.integer("reset_intervals")? {
        config.reset_intervals = intervals as u32;
    }
    if let Some(mtu) = reader.size("mtu")? {
        config.mtu = mtu.0 as u32;
    }
    if let Some(rto) = reader.time("rto_min")? {
        config.rto_min = rto;
    }
    Ok(())
}
