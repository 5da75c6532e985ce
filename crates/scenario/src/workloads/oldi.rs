//! Partition-aggregate trees.

use super::COMMON;
use crate::distribution::{deadlines, delay, gap};
use crate::document::Value as Written;
use crate::keys::Kind::{
    self, Any, Boolean, Choice, Frequency, Integer, List, Number, OneOrMore, Share, Size, Time,
};
use crate::keys::{SOME_TIME, Table};
use crate::model::{
    Deadline, DeadlineFrom, Gap, GiveUp, Hedge, HedgeAfter, Objective, Oldi, QueryArrival, Retry,
    RetryAt, Size as Sizes,
};
use crate::options::{Readable, Resolved, Result, fields, keys, word, words};
use crate::place::Place;
use crate::table::Reader;
use crate::words::complete;
use duetime_core::Span;
use serde_json::{Value, json};

fields! {
    /// Partition-aggregate trees: a parent queries its children, all answer at once (D2TCP §2, D3 §2.1).
    pub(crate) static OLDI: "workload of kind \"oldi\"" under COMMON for Oldi {
        /// Number of applications; application i takes entry i, in turn, of `response` and `deadline`.
        applications: Integer(1, 1_000), default 1;
        /// Trees per application.
        trees: Integer(1, 100_000), default 1;
        /// Children per node; a list has one entry per layer, the root's first.
        fan_in: OneOrMore(&Integer(1, 100_000)), read fan_in;
        /// Size of a query.
        query: Size(1, 1_000_000_000), default "1 KB";
        /// Size of each answer; a list has one entry per application.
        response: OneOrMore(&Kind::Sizes), otherwise "one of `response` and `layer_response`", left to then;
        /// Size of each layer's answers, in place of `response`: one entry per entry of `fan_in`, those to the root first.
        layer_response: List(&Kind::Sizes), otherwise "see `response`", left to then;
        /// Deadline of each answer; a list, or a list in `base`, has one entry per application.
        deadline: OneOrMore(&Kind::Deadline), default "none", read deadlines;
        /// Factor on all deadlines of the answers, variation included: below 1 they are tighter.
        deadline_scale: Number(0.01, 100.0), default 1;
        /// Deadline of layer i's answers as a share of the whole; the first is 1.
        layer_share: List(&Share(0.001, 1.0)), otherwise "equal steps: 1, 1/2 for two layers", left to then;
        /// Whether the deadline's clock starts when the leaf gets the query, so that computing eats into it, or when it
        /// submits its answer.
        deadline_from: word::<DeadlineFrom>(), default "response";
        /// Deadline of the queries themselves.
        query_deadline: Kind::Deadline, default "none";
        /// Mean wire bytes of answers per second, as a share of the parent's access link.
        load: Share(0.0001, 0.99),
            otherwise "one of `load`, `rate`, `every` and `arrival = \"back-to-back\"`", left to then;
        /// `tree`: every tree offers `load`, so that those with small answers ask more often. `workload`: all trees ask
        /// equally often, and offer `load` in the mean.
        load_over: Choice(&["tree", "workload"]), default "tree", left to then;
        /// Queries per second of all trees together.
        rate: Frequency, otherwise "see `load`", left to then;
        /// Gap between queries of one tree.
        every: Kind::Gap, otherwise "see `load`", left to then;
        /// How queries arrive at `load` or `rate`; or each as soon as the answer before is complete.
        arrival: Choice(&["poisson", "periodic", "back-to-back"]), default "poisson", left to then;
        /// Computation time of a leaf.
        compute: Kind::Gap, default "0 us", read delay;
        /// Computation time of an aggregator: from the moment it holds what it waits for, or gives up, to the moment its
        /// answer leaves.
        aggregate_compute: Kind::Gap, default "0 us", read delay;
        /// Further delay of a leaf's answer.
        jitter: Kind::Gap, default "0 us", read delay;
        /// An answer is complete when this share of the children has answered.
        complete_at: Share(0.001, 1.0), default 1;
        /// What is wanted of a query: `{ within = "5 ms", answers = "99 %", share = "99.9 %" }`.
        objective: Kind::Table(&OBJECTIVE), otherwise "the defaults below", left to then;
        /// When an aggregator that still lacks answers stops waiting and answers with what it has: at the last of its
        /// `children`'s deadlines, at its `own` (counting from when its parent got the query), `never`, or this long
        /// after it got the query. The root of a back-to-back tree always goes on at its children's deadlines.
        give_up: Any(&[Choice(GIVE_UPS), Time(SOME_TIME.0, SOME_TIME.1)]), default "children";
        /// Hedged requests: a leaf that is slow to answer is asked a second time, at another host.
        hedge: Kind::Table(&HEDGE), otherwise "none" is None, read hedge;
        /// Retries: a leaf that has not answered after a time is asked anew.
        retry: Kind::Table(&RETRY), otherwise "none" is None, read retry;
        /// A parent that holds enough answers of its leaves tells the others to stop, as storage does with coded reads: they
        /// compute no further, and their answers are aborted. Enough is what the objective asks for at a root, and
        /// `complete_at` at an aggregator.
        cancel_spares: Boolean, default false;
        /// Whether a host may play several roles at once. Each tree takes hosts in an order of its own, from the start
        /// again when they are used up.
        share_hosts: Boolean, default false;
    } into {
        applications, trees, fan_in, query, response, layer_response, deadline, layer_share, deadline_from, query_deadline,
        arrival, compute, aggregate_compute, jitter, complete_at, objective, give_up, hedge, retry,
        cancel_spares, share_hosts
    } then |reader| {
        let (response, layer_response) = responses(reader, fan_in.len())?;
        let layer_share = layer_share(reader, fan_in.len())?;
        let deadline = scaled(deadline, deadline_scale);
        let arrival = arrival(reader, u64::from(applications) * u64::from(trees))?;
        let leaves = fan_in.iter().map(|&children| u64::from(children)).product();
        let objective = objective(reader, &deadline, complete_at, Some(leaves))?;
    }
}

words!(DeadlineFrom: Query = "query", Response = "response");
pub(super) const GIVE_UPS: &[&str] = &["children", "own", "never"];

const RESPONSE: Kind = OneOrMore(&Kind::Sizes);
const ENOUGH: Kind = Any(&[Share(0.001, 1.0), Kind::OutOf]);
const WITHIN: Kind = OneOrMore(&Time(SOME_TIME.0, SOME_TIME.1));

/// What is wanted of a query.
pub(crate) static OBJECTIVE: Table = Table {
    name: "objective",
    doc: "What the owner of trees wants of a query. It is in time when enough of the leaves' answers are at the root, directly or through aggregators, soon enough after it arrived there.",
    keys: &[keys! {
        /// Budget of a query, from its arrival at the root; a list has one entry per application.
        within: WITHIN,
            otherwise "the answers' `deadline` where that is one fixed time; otherwise each leaf's answer has its own";
        /// Share of the leaves' answers that is enough, or their number out of all leaves of a tree: `"10 of 14"`.
        answers: ENOUGH, otherwise "`complete_at`";
        /// Share of the queries that shall be in time.
        share: Share(0.001, 1.0), otherwise "no target";
    }],
};

fields! {
    /// Hedged requests. A leaf whose answer is not complete at its parent in time is asked a second time, at a host that is
    /// drawn, none of the tree's where there are others. It computes anew. The first answer counts.
    pub(crate) static HEDGE: "hedge" for Hedge {
        /// How long after the first question: a time, or a percentile (`p1` to `p99.99`) of the answer times that the parent
        /// has seen, each from the first question to a leaf to the first answer to it; `never` is as without the table.
        after: Any(&[Choice(&["never"]), Time(SOME_TIME.0, SOME_TIME.1), Kind::Percentile]), read hedge_after;
        /// Whether a message tells the host that lost to stop: it computes no further, or its answer is aborted. Otherwise
        /// it goes on, and loads the network for nothing. On a `persistent` connection an answer that has begun goes on.
        cancel: Boolean, default true;
        /// For a percentile: answer times that a parent needs. Until it has seen as many, the missing ones are taken from the
        /// distributions of `compute` and `jitter`, plus the time of the query's messages on an idle network. Where that time
        /// exceeds the percentile of `compute` and `jitter`, they say little of the answers, and the parent does not hedge yet.
        samples: Integer(10, 100_000), default 100;
        /// For a percentile: it is the exact one (nearest rank) of the parent's latest answer times, so many.
        window: Integer(10, 100_000), default 1000;
    } into { after, cancel, samples, window } then |reader| {
        window_holds(reader, samples, window)?;
    }
}

fields! {
    /// Retries. A leaf whose answer is not complete at its parent after a time is asked anew, and computes anew.
    pub(crate) static RETRY: "retry" for Retry {
        /// How long a parent waits for the answer to each question.
        timeout: Time(SOME_TIME.0, SOME_TIME.1);
        /// How often it asks anew; 0 is as without the table.
        times: Integer(0, 8), default 1;
        /// Whom: another host, drawn as for a hedge, or the same.
        at: word::<RetryAt>(), default "other";
        /// Whether a message tells the host that did not answer to stop. Its answer is no longer taken then. Otherwise the
        /// first answer to any of the questions counts.
        cancel: Boolean, default true;
    }
}

words!(RetryAt: Other = "other", Same = "same");

/// What a hedge may wait for.
const PERCENTILES: &str = "a percentile, such as \"p95\" (p1..p99.99)";

fn hedge(place: &Place<'_>, kind: &'static Kind) -> Result<Option<Hedge>> {
    let hedge = Hedge::read(place, kind)?;
    Ok(Some(hedge).filter(|hedge| hedge.after != HedgeAfter::Never))
}

fn retry(place: &Place<'_>, kind: &'static Kind) -> Result<Option<Retry>> {
    let retry = Retry::read(place, kind)?;
    Ok(Some(retry).filter(|retry| retry.times > 0))
}

fn hedge_after(place: &Place<'_>, _: &'static Kind) -> Result<HedgeAfter> {
    let text = place.str("a time or a percentile", PERCENTILES)?.trim();
    if text == "never" {
        return Ok(HedgeAfter::Never);
    }
    let Some(percentile) = text.strip_prefix('p') else {
        return place.time(SOME_TIME.0, SOME_TIME.1).map(HedgeAfter::Time);
    };
    match percentile.parse::<f64>() {
        Ok(percent) if (1.0..=99.99).contains(&percent) => {
            Ok(HedgeAfter::Percentile(percent / 100.0))
        }
        _ => place.refuse("not a percentile", PERCENTILES),
    }
}

impl Resolved for HedgeAfter {
    fn resolved(&self) -> Value {
        match self {
            Self::Time(span) => json!({ "ps": span.as_ps() }),
            Self::Percentile(share) => json!({ "percentile": share }),
            Self::Never => json!("never"),
        }
    }
}

/// Whether the answer times that are kept are as many as must have been seen.
fn window_holds(reader: &Reader<'_>, samples: u32, window: u32) -> Result<()> {
    if samples > window {
        let message = format!("the latest {window} answer times never are {samples}");
        let key = if reader.get("window").is_some() {
            "window"
        } else {
            "samples"
        };
        let allowed = format!("`samples` of at most `window`: {window}");
        return reader.need(key)?.refuse(message, allowed);
    }
    Ok(())
}

fn fan_in(place: &Place<'_>, _: &'static Kind) -> Result<Vec<u32>> {
    let items = place.some_items("one entry per layer")?;
    items.iter().map(|item| item.integer(1, 100_000)).collect()
}

/// The sizes of the answers: by application, or by layer.
fn responses(reader: &Reader<'_>, layers: usize) -> Result<(Vec<Sizes>, Vec<Sizes>)> {
    let sizes = |items: Vec<Place<'_>>| {
        let read = |item: &Place<'_>| Readable::read(item, &Kind::Sizes);
        items.iter().map(read).collect::<Result<Vec<_>>>()
    };
    let allowed = "one of `response` and `layer_response`";
    match (reader.get("response"), reader.get("layer_response")) {
        (Some(place), None) => {
            let read = place.some_items("one size per application").and_then(sizes);
            let all = read.map_err(|error| complete(error, &place, &RESPONSE))?;
            Ok((all, Vec::new()))
        }
        (None, Some(place)) => {
            let items = place.array()?;
            if items.len() != layers {
                let message = format!("{} sizes for {layers} layers", items.len());
                let allowed = format!("{layers} sizes, one per entry of `fan_in`");
                return place.refuse(message, allowed);
            }
            Ok((Vec::new(), sizes(items)?))
        }
        (Some(_), Some(place)) => place.refuse("`response` is given too", allowed),
        (None, None) => Err(reader.missing("response")),
    }
}

/// What is wanted of a query. Where the file does not say within which time, fixed deadlines of the answers do.
pub(super) fn objective(
    reader: &Reader<'_>,
    deadlines: &[Deadline],
    complete_at: f64,
    leaves: Option<u64>,
) -> Result<Objective> {
    let default = || {
        let within: Option<Vec<Span>> = deadlines.iter().map(Deadline::fixed).collect();
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
            let items = place.some_items("one time per application")?;
            let time = |item: &Place<'_>| item.time(SOME_TIME.0, SOME_TIME.1);
            let times = items.iter().map(time).collect::<Result<_>>();
            times.map_err(|error| complete(error, &place, &WITHIN))?
        }
    };
    Ok(Objective {
        within,
        answers: match reader.get("answers") {
            Some(place) => enough(&place, leaves)?,
            None => complete_at,
        },
        share: reader.value("share")?,
    })
}

/// Reads the share of the leaves' answers that is enough. `leaves` is the number of leaves of each tree, if they have the
/// same.
fn enough(place: &Place<'_>, leaves: Option<u64>) -> Result<f64> {
    let written = place.node.str().and_then(|text| text.split_once(" of "));
    let Some((needed, all)) = written else {
        let share = place.share(0.001, 1.0);
        return share.map_err(|error| complete(error, place, &ENOUGH));
    };
    let allowed = match leaves {
        Some(leaves) => {
            format!("\"1 of {leaves}\" to \"{leaves} of {leaves}\", or a share of the answers")
        }
        None => {
            "a share of the answers: recorded trees have different numbers of leaves".to_owned()
        }
    };
    let number = |text: &str| text.trim().parse::<u64>().ok();
    match (number(needed), number(all), leaves) {
        (Some(needed), Some(all), Some(leaves)) if all != leaves => {
            let message = format!("each query has {leaves} leaves, not {all} ({needed} of {all})");
            Err(place.wrong(message).allowed(allowed))
        }
        (Some(needed), Some(all), Some(_)) if (1..=all).contains(&needed) => {
            Ok(needed as f64 / all as f64)
        }
        (Some(_), Some(_), Some(_)) => place.refuse("no number of the answers", allowed),
        _ => place.refuse("not a number of the answers", allowed),
    }
}

impl Resolved for Objective {
    fn resolved(&self) -> Value {
        json!({ "within_ps": self.within.resolved(), "answers": self.answers, "share": self.share })
    }
}

impl Readable for GiveUp {
    fn read(place: &Place<'_>, _: &'static Kind) -> Result<Self> {
        let allowed = "\"children\", \"own\", \"never\", or a time such as \"5 ms\"";
        let text = place.str("a word or a time", allowed)?;
        if text.starts_with(|first: char| first.is_ascii_digit()) {
            return Ok(Self::After(place.time(SOME_TIME.0, SOME_TIME.1)?));
        }
        let choice = place
            .choice(GIVE_UPS)
            .map_err(|error| error.allowed(allowed))?;
        Ok(match choice {
            "own" => Self::Own,
            "never" => Self::Never,
            _ => Self::Children,
        })
    }
}

impl Resolved for GiveUp {
    fn resolved(&self) -> Value {
        match self {
            Self::Children => json!("children"),
            Self::Own => json!("own"),
            Self::Never => json!("never"),
            Self::After(span) => json!({ "after_ps": span.as_ps() }),
        }
    }
}

/// Deadlines times `factor`. Variations that are shares of the base follow it.
fn scaled(mut deadlines: Vec<Deadline>, factor: f64) -> Vec<Deadline> {
    // Millionths, so that the result is the same on every machine and never zero.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the key's range is positive and small"
    )]
    let millionths = (factor * 1e6).round() as u64;
    let scale = |span: Span| {
        let ps = u128::from(span.as_ps()) * u128::from(millionths) / 1_000_000;
        let ps = u64::try_from(ps).unwrap_or(u64::MAX);
        Span::from_ps(ps.max(u64::from(span > Span::ZERO)))
    };
    for span in deadlines.iter_mut().flat_map(Deadline::spans_mut) {
        *span = scale(*span);
    }
    deadlines
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
        return place.refuse("not the shares of the layers", allowed);
    }
    Ok(shares)
}

fn arrival(reader: &Reader<'_>, trees: u64) -> Result<QueryArrival> {
    let arrival = reader.choice("arrival")?;
    let every = reader.get("every");
    let load: Option<f64> = reader.value("load")?;
    let over = reader.choice("load_over")?;
    if over.is_some() && load.is_none() {
        let place = reader.need("load_over")?;
        return place.refuse(
            "says what `load` is over, but there is none",
            "`load_over` beside `load`",
        );
    }
    let each_tree = over != Some("workload");
    let allowed = "one of `load` (with `arrival` \"poisson\" or \"periodic\"), `rate` (likewise), `every`, `arrival = \"back-to-back\"`";
    if let Some(rate) = reader.get("rate") {
        if load.is_some() || every.is_some() || arrival == Some("back-to-back") {
            return rate.refuse("one of several that say when queries arrive", allowed);
        }
        return at_rate(&rate, trees, arrival != Some("periodic"));
    }
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
            Written::String(_) => Ok(QueryArrival::Every(Gap::Fixed(
                every.time(SOME_TIME.0, SOME_TIME.1)?,
            ))),
            _ => Err(every.expected("a time", "\"300 ms\"")),
        },
        (None, Some(every), Some("poisson")) => Ok(QueryArrival::Every(Gap::Exponential(
            every.time(SOME_TIME.0, SOME_TIME.1)?,
        ))),
        (None, None, _) => Err(reader.missing("load").allowed(allowed)),
        (Some(_), Some(every), _) => every.refuse("`load` is given too", allowed),
        _ => {
            let place = reader.need("arrival")?;
            place.refuse("needs neither `load` nor `every`", allowed)
        }
    }
}

/// Queries of all trees together so many times a second.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a gap within its range"
)]
fn at_rate(place: &Place<'_>, trees: u64, poisson: bool) -> Result<QueryArrival> {
    let (shortest, longest) = SOME_TIME;
    let each = trees as f64 * 1e12 / place.frequency()?;
    if !(shortest as f64..=longest as f64).contains(&each) {
        let rate = |gap: u64| trees as f64 * 1e12 / gap as f64;
        // The bounds, rounded inwards to what can be written.
        let least = (rate(longest) * 1e4).ceil() / 1e4;
        let most = rate(shortest).floor();
        let often = if each < shortest as f64 {
            "often"
        } else {
            "seldom"
        };
        let seconds = each / 1e12;
        let message = format!("a query at each of {trees} trees every {seconds} s: too {often}");
        return place.refuse(message, format!("{least} /s to {most} /s"));
    }
    let gap = Span::from_ps(each.round() as u64);
    Ok(QueryArrival::Every(if poisson {
        Gap::Exponential(gap)
    } else {
        Gap::Fixed(gap)
    }))
}

impl Resolved for QueryArrival {
    fn resolved(&self) -> Value {
        match self {
            Self::Load {
                load,
                poisson,
                each_tree,
            } => {
                let over = if *each_tree { "tree" } else { "workload" };
                json!({ "load": load, "poisson": poisson, "load_over": over })
            }
            Self::Every(every) => json!({ "every": every.resolved() }),
            Self::BackToBack => json!("back-to-back"),
        }
    }
}
