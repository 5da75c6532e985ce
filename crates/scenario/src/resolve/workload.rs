//! What the hosts do.

use super::{Result, is_name, tables};
use crate::distribution::{deadline, deadlines, gap, size};
use crate::document::Value;
use crate::keys::{GIVE_UPS, OBJECTIVE, SOME_TIME, WORKLOADS};
use crate::model::{
    Connection, Deadline, DeadlineFrom, Destination, Gap, GiveUp, Intensity, Objective, Oldi,
    QueryArrival, Size, Transport, Workload, WorkloadKind,
};
use crate::place::Place;
use crate::sources::Sources;
use crate::table::Reader;
use crate::transports::find;
use duetime_core::{Bytes, Span};

/// The longest run.
const LONGEST: Span = Span::from_secs(24 * 3_600);

/// All workloads.
pub(super) fn all(
    reader: &Reader<'_>,
    hosts: u32,
    transports: &[Transport],
    sources: &dyn Sources,
) -> Result<Vec<Workload>> {
    let places = tables(reader, "workload")?;
    if places.is_empty() {
        return Err(reader.missing("workload"));
    }
    let mut workloads: Vec<Workload> = Vec::new();
    for place in places {
        let (kind, reader) = Reader::open_tagged(place, "kind", WORKLOADS)?;
        let name = name(&reader, kind, &workloads)?;
        let transport = match reader.text("transport")? {
            Some(name) => Some(find(name, &reader.need("transport")?, transports)?),
            None => None,
        };
        let connection = match reader.choice("connection")? {
            Some("persistent") => Connection::Persistent,
            _ => Connection::PerFlow,
        };
        let kind = workload(kind, &reader, hosts, sources, &workloads)?;
        workloads.push(Workload {
            name,
            kind,
            transport,
            connection,
        });
    }
    Ok(workloads)
}

fn name(reader: &Reader<'_>, kind: &str, before: &[Workload]) -> Result<String> {
    let taken = |name: &str| before.iter().any(|other| other.name == name);
    let Some(name) = reader.text("name")? else {
        let numbered = (2..).map(|number| format!("{kind}-{number}"));
        let mut names = std::iter::once(kind.to_owned()).chain(numbered);
        return Ok(names.find(|name| !taken(name)).unwrap_or_default());
    };
    let place = reader.need("name")?;
    if !is_name(name) {
        return Err(place.wrong("not a name").allowed(super::NAMES));
    }
    if taken(name) {
        return Err(place
            .wrong("there is a workload of that name")
            .allowed("another name"));
    }
    Ok(name.to_owned())
}

fn workload(
    kind: &str,
    reader: &Reader<'_>,
    hosts: u32,
    sources: &dyn Sources,
    before: &[Workload],
) -> Result<WorkloadKind> {
    let sizes = || size(&reader.need("size")?, sources);
    let one_deadline = |key| {
        reader
            .get(key)
            .map_or(Ok(Deadline::None), |place| deadline(&place))
    };
    let at = || Ok(reader.time("at")?.unwrap_or(Span::ZERO));
    let jitter = || Ok(reader.time("jitter")?.unwrap_or(Span::ZERO));
    Ok(match kind {
        "oldi" => WorkloadKind::Oldi(oldi(reader, sources)?),
        "burst" => {
            let senders = reader.needed("senders", Reader::integer)? as u32;
            let receiver = reader
                .get("receiver")
                .map(|place| host(&place, hosts))
                .transpose()?;
            let from = reader
                .get("from")
                .map(|place| from(&place, hosts, receiver))
                .transpose()?;
            let (most, which) = match &from {
                Some(from) => (from.len() as u32, "of `from`"),
                None => (hosts - 1, "beside the receiver"),
            };
            if senders > most && !reader.boolean("share_hosts")?.unwrap_or(false) {
                let message = format!("larger than the {most} hosts {which}");
                let place = reader.need("senders")?;
                let error = place.wrong(message).allowed(format!("1..={most}"));
                return Err(error.help("`share_hosts = true` lets several start at one host"));
            }
            let repeat = reader.integer("repeat")?.unwrap_or(1) as u32;
            let every = if repeat > 1 {
                reader.needed("every", Reader::time)?
            } else {
                reader.time("every")?.unwrap_or(Span::ZERO)
            };
            // A start is computed as `at + every × round`, which must not overflow.
            if u128::from(every.as_ps()) * u128::from(repeat) > u128::from(LONGEST.as_ps()) {
                let place = reader.need("repeat")?;
                let message = format!("with {every} from burst to burst the last is too late");
                return Err(place.wrong(message).allowed("bursts within 24 hours"));
            }
            let jitter = jitter()?;
            // A sender's start asks for its next one, which must not be due before.
            if repeat > 1 && jitter > every {
                let place = reader.need("jitter")?;
                let message = format!("longer than the {every} from burst to burst");
                return Err(place.wrong(message).allowed("at most `every`"));
            }
            WorkloadKind::Burst {
                senders,
                receiver,
                from,
                size: sizes()?,
                deadline: one_deadline("deadline")?,
                at: at()?,
                repeat,
                every,
                jitter,
            }
        }
        "poisson" => {
            let intensity = match (reader.number("load")?, reader.get("rate")) {
                (Some(load), None) => Intensity::Load(load),
                (None, Some(rate)) => Intensity::FlowsPerSecond(rate.frequency()?),
                (None, None) => return Err(reader.missing("load")),
                (Some(_), Some(rate)) => {
                    return Err(rate.wrong("both `load` and `rate`").allowed("one of them"));
                }
            };
            let destination = match reader.get("destination") {
                None => Destination::Uniform,
                Some(place) if place.node.str().is_some() => {
                    place.choice(&["uniform"])?;
                    Destination::Uniform
                }
                Some(place) => Destination::Host(host(&place, hosts)?),
            };
            WorkloadKind::Poisson {
                size: sizes()?,
                deadline: one_deadline("deadline")?,
                intensity,
                destination,
            }
        }
        "background" => WorkloadKind::Background {
            count: reader.integer("count")?.unwrap_or(1) as u32,
            size: sizes()?,
            deadline: one_deadline("deadline")?,
            every: gap(&reader.need("every")?, false)?,
            to_roots_of: roots_of(reader, before)?,
        },
        "permutation" => WorkloadKind::Permutation {
            size: sizes()?,
            deadline: one_deadline("deadline")?,
            at: at()?,
        },
        "long" => WorkloadKind::Long {
            pairs: pairs(&reader.need("pairs")?, hosts)?,
            at: at()?,
            jitter: jitter()?,
        },
        _ => {
            let place = reader.need("file")?;
            let file = place.str(
                "the name of a file",
                "a CSV or Parquet file, seen from the scenario",
            )?;
            WorkloadKind::Trace {
                flows: crate::trace::read(&place, file, hosts, sources)?,
            }
        }
    })
}

/// The trees to whose roots background flows go, by position.
fn roots_of(reader: &Reader<'_>, before: &[Workload]) -> Result<Option<usize>> {
    let Some(name) = reader.text("to_roots_of")? else {
        return Ok(None);
    };
    let trees = |it: &Workload| matches!(it.kind, WorkloadKind::Oldi(_));
    let found = before.iter().position(|it| it.name == name && trees(it));
    if found.is_none() {
        let names: Vec<&str> = (before.iter().filter(|it| trees(it)))
            .map(|it| it.name.as_str())
            .collect();
        let place = reader.need("to_roots_of")?;
        let allowed = format!("an `oldi` workload before this one: {}", names.join(", "));
        return Err(place.wrong("no such trees").allowed(allowed));
    }
    Ok(found)
}

fn host(place: &Place<'_>, hosts: u32) -> Result<u32> {
    let allowed = format!("0..={}", hosts - 1);
    let host = place
        .integer(0, i64::MAX)
        .map_err(|error| error.allowed(&allowed))?;
    if host >= i64::from(hosts) {
        return Err(place
            .wrong(format!("the topology has {hosts} hosts"))
            .allowed(allowed));
    }
    Ok(host as u32)
}

/// The sending hosts of a burst: each once, none the receiver.
fn from(place: &Place<'_>, hosts: u32, receiver: Option<u32>) -> Result<Vec<u32>> {
    if receiver.is_none() {
        return Err(place
            .wrong("senders are named, the receiver is not")
            .allowed("with `receiver` only"));
    }
    let mut from = Vec::new();
    for entry in place.array()? {
        let sender = host(&entry, hosts)?;
        if Some(sender) == receiver {
            return Err(entry.wrong("the receiver").allowed("other hosts"));
        }
        if from.contains(&sender) {
            return Err(entry.wrong("named twice").allowed("each host once"));
        }
        from.push(sender);
    }
    if from.is_empty() {
        return Err(place.wrong("an empty list").allowed("at least one host"));
    }
    Ok(from)
}

fn pairs(place: &Place<'_>, hosts: u32) -> Result<Vec<(u32, u32)>> {
    let mut pairs = Vec::new();
    for pair in place.array()? {
        let ends = pair.array()?;
        let [from, to] = &ends[..] else {
            return Err(pair.wrong("not a pair").allowed("[from, to]"));
        };
        let (from, to) = (host(from, hosts)?, host(to, hosts)?);
        if from == to {
            return Err(pair
                .wrong("a flow from a host to itself")
                .allowed("two different hosts"));
        }
        pairs.push((from, to));
    }
    if pairs.is_empty() {
        return Err(place.wrong("an empty list").allowed("at least one pair"));
    }
    Ok(pairs)
}

fn oldi(reader: &Reader<'_>, sources: &dyn Sources) -> Result<Oldi> {
    let fan_in_place = reader.need("fan_in")?;
    let fan_in = fan_in_place
        .items()
        .iter()
        .map(|item| Ok(item.integer(1, 100_000)? as u32))
        .collect::<Result<Vec<_>>>()?;
    if fan_in.is_empty() {
        return Err(fan_in_place
            .wrong("an empty list")
            .allowed("one entry per layer"));
    }
    let optional_gap = |key| {
        reader
            .get(key)
            .map_or(Ok(Gap::Fixed(Span::ZERO)), |place| gap(&place, true))
    };
    let unscaled = reader
        .get("deadline")
        .map_or(Ok(vec![Deadline::None]), |place| deadlines(&place))?;
    let deadline_scale = reader.number("deadline_scale")?.unwrap_or(1.0);
    let answers_due: Vec<Deadline> = (unscaled.into_iter())
        .map(|deadline| scaled(deadline, deadline_scale))
        .collect();
    let complete_at = reader.number("complete_at")?.unwrap_or(1.0);
    Ok(Oldi {
        applications: reader.integer("applications")?.unwrap_or(1) as u32,
        trees: reader.integer("trees")?.unwrap_or(1) as u32,
        layer_share: layer_share(reader, fan_in.len())?,
        fan_in,
        query: reader.size("query")?.unwrap_or(Bytes(1_000)),
        response: responses(&reader.need("response")?, sources)?,
        objective: objective(reader, &answers_due, complete_at)?,
        give_up: give_up(reader)?,
        deadline: answers_due,
        deadline_from: match reader.choice("deadline_from")? {
            Some("query") => DeadlineFrom::Query,
            _ => DeadlineFrom::Response,
        },
        query_deadline: reader
            .get("query_deadline")
            .map_or(Ok(Deadline::None), |place| deadline(&place))?,
        arrival: arrival(reader)?,
        compute: optional_gap("compute")?,
        jitter: optional_gap("jitter")?,
        complete_at,
        share_hosts: reader.boolean("share_hosts")?.unwrap_or(false),
    })
}

/// What is wanted of a query. Where the file does not say within which time, fixed deadlines of the answers do.
fn objective(reader: &Reader<'_>, deadlines: &[Deadline], complete_at: f64) -> Result<Objective> {
    let fixed = |deadline: &Deadline| match *deadline {
        Deadline::Added { base, added: 0.0 } => Some(base),
        _ => None,
    };
    let default = || {
        let within: Option<Vec<Span>> = deadlines.iter().map(fixed).collect();
        within.unwrap_or_default()
    };
    let Some(place) = reader.get("objective") else {
        return Ok(Objective {
            within: default(),
            answers: complete_at,
            share: None,
        });
    };
    let reader = Reader::open(place, &OBJECTIVE)?;
    let within = match reader.get("within") {
        None => default(),
        Some(place) => {
            let items = place.items();
            if items.is_empty() {
                return Err(place
                    .wrong("an empty list")
                    .allowed("one time per application"));
            }
            let time = |item: &Place<'_>| item.time(SOME_TIME.0, SOME_TIME.1);
            items.iter().map(time).collect::<Result<_>>()?
        }
    };
    Ok(Objective {
        within,
        answers: reader.number("answers")?.unwrap_or(complete_at),
        share: reader.number("share")?,
    })
}

fn give_up(reader: &Reader<'_>) -> Result<GiveUp> {
    let Some(place) = reader.get("give_up") else {
        return Ok(GiveUp::Children);
    };
    let allowed = "\"children\", \"own\", \"never\", or a time such as \"5 ms\"";
    let text = place.str("a word or a time", allowed)?;
    if text.starts_with(|first: char| first.is_ascii_digit()) {
        return Ok(GiveUp::After(place.time(SOME_TIME.0, SOME_TIME.1)?));
    }
    let choice = place
        .choice(GIVE_UPS)
        .map_err(|error| error.allowed(allowed))?;
    Ok(match choice {
        "own" => GiveUp::Own,
        "never" => GiveUp::Never,
        _ => GiveUp::Children,
    })
}

/// A deadline times `factor`. Variations that are shares of the base follow it.
fn scaled(deadline: Deadline, factor: f64) -> Deadline {
    // Millionths, so that the result is the same on every machine and never zero.
    let millionths = (factor * 1e6).round() as u64;
    let scale = |span: Span| {
        let ps = u128::from(span.as_ps()) * u128::from(millionths) / 1_000_000;
        Span::from_ps((ps as u64).max(u64::from(span > Span::ZERO)))
    };
    match deadline {
        Deadline::None => Deadline::None,
        Deadline::Added { base, added } => Deadline::Added {
            base: scale(base),
            added,
        },
        Deadline::Around { base, variation } => Deadline::Around {
            base: scale(base),
            variation,
        },
        Deadline::Exponential { mean, floor } => Deadline::Exponential {
            mean: scale(mean),
            floor: scale(floor),
        },
        Deadline::AddedExponential { base, mean } => Deadline::AddedExponential {
            base: scale(base),
            mean: scale(mean),
        },
    }
}

fn responses(place: &Place<'_>, sources: &dyn Sources) -> Result<Vec<Size>> {
    let items = place.items();
    if items.is_empty() {
        return Err(place
            .wrong("an empty list")
            .allowed("one size per application"));
    }
    items.iter().map(|item| size(item, sources)).collect()
}

fn layer_share(reader: &Reader<'_>, layers: usize) -> Result<Vec<f64>> {
    let Some(place) = reader.get("layer_share") else {
        return Ok((0..layers)
            .map(|layer| (layers - layer) as f64 / layers as f64)
            .collect());
    };
    let shares = place
        .array()?
        .iter()
        .map(|item| item.share(0.001, 1.0))
        .collect::<Result<Vec<_>>>()?;
    let first_is_one = shares
        .first()
        .is_some_and(|share| share.to_bits() == 1f64.to_bits());
    if shares.len() != layers || !first_is_one || shares.windows(2).any(|pair| pair[1] > pair[0]) {
        let allowed = format!("{layers} shares, one per entry of `fan_in`, falling from 1");
        return Err(place.wrong("not the shares of the layers").allowed(allowed));
    }
    Ok(shares)
}

fn arrival(reader: &Reader<'_>) -> Result<QueryArrival> {
    let arrival = reader.choice("arrival")?;
    let every = reader.get("every");
    let load = reader.number("load")?;
    let over = reader.choice("load_over")?;
    if over.is_some() && load.is_none() {
        let place = reader.need("load_over")?;
        return Err(place
            .wrong("says what `load` is over, but there is none")
            .allowed("`load_over` beside `load`"));
    }
    let each_tree = over != Some("workload");
    let allowed = "one of `load` (with `arrival` \"poisson\" or \"periodic\"), `every`, `arrival = \"back-to-back\"`";
    match (load, every, arrival) {
        (None, None, Some("back-to-back")) => Ok(QueryArrival::BackToBack),
        (Some(load), None, None | Some("poisson")) => Ok(QueryArrival::Load {
            load,
            poisson: true,
            each_tree,
        }),
        (Some(load), None, Some("periodic")) => Ok(QueryArrival::Load {
            load,
            poisson: false,
            each_tree,
        }),
        (None, Some(every), None) => Ok(QueryArrival::Every(gap(&every, false)?)),
        (None, Some(every), Some("periodic")) => match every.node.value {
            Value::String(_) => Ok(QueryArrival::Every(Gap::Fixed(
                every.time(SOME_TIME.0, SOME_TIME.1)?,
            ))),
            _ => Err(every.expected("a time", "\"300 ms\"")),
        },
        (None, Some(every), Some("poisson")) => Ok(QueryArrival::Every(Gap::Exponential(
            every.time(SOME_TIME.0, SOME_TIME.1)?,
        ))),
        (None, None, _) => Err(reader.missing("load")),
        (Some(_), Some(every), _) => Err(every.wrong("`load` is given too").allowed(allowed)),
        _ => {
            let place = reader.need("arrival")?;
            Err(place
                .wrong("needs neither `load` nor `every`")
                .allowed(allowed))
        }
    }
}
