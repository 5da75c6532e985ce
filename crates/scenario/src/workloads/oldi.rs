//! Partition-aggregate trees.

use super::COMMON;
use crate::diagnostic::Result;
use crate::distribution::{deadlines, delay, gap};
use crate::document::Value as Written;
use crate::expected::{Expected, Form};
use crate::keys::Kind::{
    self, Any, Boolean, Choice, Frequency, Integer, List, Number, OneOrMore, Share, Size, Time,
};
use crate::keys::{SOME_TIME, declare};
use crate::model::{
    Deadline, DeadlineFrom, Gap, GiveUp, Hedge, HedgeAfter, Objective, Oldi, QueryArrival, Retry,
    RetryAt, Size as Sizes,
};
use crate::place::{Place, complete};
use crate::table::Reader;
use crate::values::{Readable, Resolved, word};
use duetime_core::Span;
use serde_json::{Value, json};

declare! {
    /// Partition-aggregate trees: a parent queries its children, which all answer at the same time (D2TCP §2, D3 §2.1).
    pub(crate) static OLDI: "workload of kind \"oldi\"" after COMMON {
        /// Number of applications. Application i uses entry i of `response` and `deadline`, repeating the lists.
        applications: Integer(1, 1_000), default 1;
        /// Trees per application.
        trees: Integer(1, 100_000), default 1;
        /// Children per node. A list has one entry per layer, the root's first.
        fan_in: OneOrMore(&Integer(1, 100_000));
        /// Size of a query.
        query: Size(1, 1_000_000_000), default "1 KB";
        /// Size of each answer. A list has one entry per application.
        response: OneOrMore(&Kind::Sizes), otherwise "one of `response` and `layer_response`";
        /// Size of each layer's answers instead of `response`: one entry per entry of `fan_in`, answers to the root
        /// first.
        layer_response: List(&Kind::Sizes), otherwise "see `response`";
        /// Deadline of each answer. A list, or a list in `base`, has one entry per application.
        deadline: OneOrMore(&Kind::Deadline), default "none";
        /// Factor on all deadlines of answers, including their variation. Below 1 they are tighter.
        deadline_scale: Number(0.01, 100.0), default 1;
        /// Deadline of layer i's answers as a share of `deadline`; the first is 1.
        layer_share: List(&Share(0.001, 1.0)), otherwise "equal steps: 1, 1/2 for two layers";
        /// Start of the deadline: the arrival of the query, so that it includes computation, or the submission of the
        /// answer.
        deadline_from: word::<DeadlineFrom>(), default "response";
        /// Deadline of the query messages.
        query_deadline: Kind::Deadline, default "none";
        /// Mean bytes of answers on the wire per second, as a share of the parent's access link.
        load: Share(0.0001, 0.99),
            otherwise "one of `load`, `rate`, `every` and `arrival = \"back-to-back\"`";
        /// `tree`: every tree offers `load`, so trees with small answers send more queries. `workload`: all trees send
        /// queries at the same rate and offer `load` on average.
        load_over: Choice(&["tree", "workload"]), default "tree";
        /// Queries per second of all trees together.
        rate: Frequency, otherwise "see `load`";
        /// Time between queries of a tree.
        every: Kind::Gap, otherwise "see `load`";
        /// Arrival process at `load` or `rate`. `back-to-back`: each query arrives when the previous answer is
        /// complete.
        arrival: Choice(&["poisson", "periodic", "back-to-back"]), default "poisson";
        /// Computation time of a leaf.
        compute: Kind::Gap, default "0 us";
        /// Computation time of an aggregator, after it has the answers that it needs or times out.
        aggregate_compute: Kind::Gap, default "0 us";
        /// Additional delay of a leaf's answer.
        jitter: Kind::Gap, default "0 us";
        /// Share of the children whose answers complete a parent's answer.
        complete_at: Share(0.001, 1.0), default 1;
        /// Objective of queries: `{ within = "5 ms", answers = "99 %", share = "99.9 %" }`.
        objective: Kind::Table(&OBJECTIVE), otherwise "defaults below";
        /// Timeout after which an aggregator answers with the answers that it has: `children`, the last deadline of
        /// its children; `own`, its own deadline, from the arrival of the query at its parent; `never`; or a time
        /// from the arrival of its query. Roots of back-to-back trees always continue at their children's deadlines.
        give_up: Any(&[Choice(GIVE_UPS), Time(SOME_TIME.0, SOME_TIME.1)]), default "children";
        /// Hedging: a second query for a slow answer, sent to another host.
        hedge: Kind::Table(HEDGE.table), otherwise "none";
        /// Retries: another query after a timeout.
        retry: Kind::Table(RETRY.table), otherwise "none";
        /// Makes a parent with enough answers of its leaves cancel the others, as in storage with coded reads:
        /// computations stop and answers are aborted. A root needs the answers of the objective, an aggregator
        /// `complete_at`.
        cancel_spares: Boolean, default false;
        /// Lets a host have several roles at the same time. Each tree takes hosts in a random order and repeats it
        /// when all are used.
        share_hosts: Boolean, default false;
    } for Oldi {
        applications, trees, fan_in: fan_in, query, deadline: scaled_deadlines, deadline_from, query_deadline,
        compute: delay, aggregate_compute: delay, jitter: delay, complete_at, give_up, hedge: hedge, retry: retry,
        cancel_spares, share_hosts, response: |reader, _| Ok(responses(reader)?.0),
        layer_response: |reader, _| Ok(responses(reader)?.1), layer_share: layer_share, arrival: arrival,
        objective: objective_of
    }
}

declare!(words of DeadlineFrom: "query" = Query, "response" = Response);

pub(super) const GIVE_UPS: &[&str] = &["children", "own", "never"];

const RESPONSE: Kind = OneOrMore(&Kind::Sizes);
const ENOUGH: Kind = Any(&[Share(0.001, 1.0), Kind::OutOf]);
const WITHIN: Kind = OneOrMore(&Time(SOME_TIME.0, SOME_TIME.1));

declare! {
    /// A query is in time if enough leaf answers reach the root within its budget, directly or through aggregators.
    pub(crate) static OBJECTIVE: "objective" {
        /// Budget of a query, from its arrival at the root. A list has one entry per application.
        within: WITHIN,
            otherwise "the answers' `deadline` if it is fixed; else each leaf's answer has its own deadline";
        /// Leaf answers that a query needs: a share, or a number out of all leaves of a tree, such as `"10 of 14"`.
        answers: ENOUGH, otherwise "`complete_at`";
        /// Required share of queries in time.
        share: Share(0.001, 1.0), otherwise "no target";
    }

    /// If a leaf's answer is not complete at its parent after a time, the parent sends a second query to another host.
    /// The host is drawn, outside the tree if possible, and repeats the computation. The first answer counts.
    pub(crate) static HEDGE: "hedge" {
        /// Time from the first query to the hedge: fixed, or a percentile (`p1` to `p99.99`) of the answer times that
        /// the parent has observed, from the first query to a leaf to its first answer. `never`: no hedges.
        after: Any(&[Choice(&["never"]), Time(SOME_TIME.0, SOME_TIME.1), Kind::Percentile]);
        /// Sends a cancel message to the slower host, which stops its computation or aborts its answer. Answers on a
        /// `persistent` connection are not aborted once begun.
        cancel: Boolean, default true;
        /// For a percentile: minimum number of answer times. Missing ones come from the distributions of `compute`
        /// and `jitter`, plus the time of the messages on an idle network. If that time exceeds the percentile of
        /// `compute` and `jitter`, the parent does not hedge yet.
        samples: Integer(10, 100_000), default 100;
        /// For a percentile (exact, nearest rank): number of the parent's latest answer times.
        window: Integer(10, 100_000), default 1000;
    } for Hedge { after, cancel, samples, window }

    /// If a leaf's answer is not complete at its parent after a timeout, the parent sends another query, and the
    /// computation is repeated.
    pub(crate) static RETRY: "retry" {
        /// Timeout of each query.
        timeout: Time(SOME_TIME.0, SOME_TIME.1);
        /// Maximum number of retries; 0: none.
        times: Integer(0, 8), default 1;
        /// Host of a retry: another one, drawn as for a hedge, or the same.
        at: word::<RetryAt>(), default "other";
        /// Sends a cancel message to the host that did not answer, and ignores its answer. Without it, the first answer
        /// to any of the queries counts.
        cancel: Boolean, default true;
    } for Retry { timeout, times, at, cancel }
}

declare!(words of RetryAt: "other" = Other, "same" = Same);

fn hedge(reader: &Reader<'_>, key: &'static str) -> Result<Option<Hedge>> {
    let hedge = reader.read(key, Some(None), |place, _| {
        let reader = Reader::open(place.clone(), HEDGE.table)?;
        let hedge = (HEDGE.read)(&reader)?;
        check_window(&reader, hedge.samples, hedge.window)?;
        Ok(Some(hedge))
    })?;
    Ok(hedge.filter(|hedge| hedge.after != HedgeAfter::Never))
}

fn retry(reader: &Reader<'_>, key: &'static str) -> Result<Option<Retry>> {
    let retry: Option<Retry> = reader.value(key)?;
    Ok(retry.filter(|retry| retry.times > 0))
}

impl Readable for HedgeAfter {
    fn read(place: &Place<'_>, _: &'static Kind) -> Result<Self> {
        let text = place
            .str("a time or a percentile", &Kind::Percentile)?
            .trim();
        if text == "never" {
            return Ok(Self::Never);
        }
        let Some(percentile) = text.strip_prefix('p') else {
            return place.time(SOME_TIME.0, SOME_TIME.1).map(Self::Time);
        };
        match percentile.parse::<f64>() {
            Ok(percent) if (1.0..=99.99).contains(&percent) => {
                Ok(Self::Percentile(percent / 100.0))
            }
            _ => place.refuse("not a percentile", &Kind::Percentile),
        }
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

/// Checks that `window` is at least `samples`.
fn check_window(reader: &Reader<'_>, samples: u32, window: u32) -> Result<()> {
    if samples > window {
        let message = format!("`samples` ({samples}) exceeds `window` ({window})");
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

fn fan_in(reader: &Reader<'_>, key: &'static str) -> Result<Vec<u32>> {
    reader.read(key, None, |place, _| {
        let items = place.some_items("one entry per layer")?;
        items.iter().map(|item| item.integer(1, 100_000)).collect()
    })
}

/// Reads the sizes of the answers, by application and by layer; one of the lists is empty.
fn responses(reader: &Reader<'_>) -> Result<(Vec<Sizes>, Vec<Sizes>)> {
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
            let (items, layers) = (place.array()?, fan_in(reader, "fan_in")?.len());
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

fn objective_of(reader: &Reader<'_>, _: &'static str) -> Result<Objective> {
    let deadlines = scaled_deadlines(reader, "deadline")?;
    let fan_in = fan_in(reader, "fan_in")?;
    let leaves = fan_in.iter().map(|&children| u64::from(children)).product();
    objective(reader, &deadlines, Some(leaves))
}

/// Reads the objective of queries. Without `within`, fixed deadlines of the answers are the budgets.
pub(super) fn objective(
    reader: &Reader<'_>,
    deadlines: &[Deadline],
    leaves: Option<u64>,
) -> Result<Objective> {
    let complete_at = reader.value("complete_at")?;
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

/// Reads the share of the leaf answers that a query needs. `leaves` is the number of leaves per tree, or `None` if
/// trees differ.
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
        let allowed = Expected::new(
            "\"children\", \"own\", \"never\", or a time such as \"5 ms\"",
            &[Form::Word, Form::Quantity],
        );
        let text = place.str("a word or a time", allowed.clone())?;
        if text.starts_with(|first: char| first.is_ascii_digit()) {
            return Ok(Self::After(place.time(SOME_TIME.0, SOME_TIME.1)?));
        }
        let choice = place
            .choice(GIVE_UPS)
            .map_err(|error| error.expected(allowed))?;
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

/// Reads deadlines, multiplied by `deadline_scale`. Variations that are shares of the base scale with it.
fn scaled_deadlines(reader: &Reader<'_>, key: &'static str) -> Result<Vec<Deadline>> {
    let mut deadlines = reader.read(key, None, deadlines)?;
    let factor: f64 = reader.value("deadline_scale")?;
    // Millionths, so that the result is the same on every machine.
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
    Ok(deadlines)
}

fn layer_share(reader: &Reader<'_>, key: &'static str) -> Result<Vec<f64>> {
    let layers = fan_in(reader, "fan_in")?.len();
    let Some(place) = reader.get(key) else {
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

fn arrival(reader: &Reader<'_>, key: &'static str) -> Result<QueryArrival> {
    let arrival = reader.choice(key)?;
    let every = reader.get("every");
    let load: Option<f64> = reader.value("load")?;
    let over = reader.choice("load_over")?;
    if over.is_some() && load.is_none() {
        let place = reader.need("load_over")?;
        return place.refuse(
            "`load_over` without `load`",
            "`load_over` together with `load`",
        );
    }
    let each_tree = over != Some("workload");
    let allowed = "one of `load` or `rate` (with `arrival` \"poisson\" or \"periodic\"), `every`, `arrival = \"back-to-back\"`";
    if let Some(rate) = reader.get("rate") {
        if load.is_some() || every.is_some() || arrival == Some("back-to-back") {
            return rate.refuse(
                "conflicts with another key for the arrival of queries",
                allowed,
            );
        }
        let (applications, trees): (u64, u64) =
            (reader.value("applications")?, reader.value("trees")?);
        return at_rate(&rate, applications * trees, arrival != Some("periodic"));
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

/// Reads the rate of the queries of all trees together.
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
        // Bounds, rounded inwards to values that can be written.
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
