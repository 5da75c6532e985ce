//! Sizes and deadlines of the answers, by application and by layer.

use crate::diagnostic::Result;
use crate::distribution::deadlines;
use crate::keys::Kind::{self, OneOrMore};
use crate::keys::declare;
use crate::model::{Deadline, DeadlineFrom, Size as Sizes};
use crate::place::{Place, complete};
use crate::table::Reader;
use crate::values::Readable;
use duetime_core::Span;

declare!(words of DeadlineFrom: "query" = Query, "response" = Response);

const RESPONSE: Kind = OneOrMore(&Kind::Sizes);

pub(super) fn fan_in(reader: &Reader<'_>, key: &'static str) -> Result<Vec<u32>> {
    reader.read(key, None, |place, _| {
        let items = place.some_items("one entry per layer")?;
        items.iter().map(|item| item.integer(1, 100_000)).collect()
    })
}

/// Reads the sizes of the answers, by application and by layer; one of the lists is empty.
pub(super) fn responses(reader: &Reader<'_>) -> Result<(Vec<Sizes>, Vec<Sizes>)> {
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

/// Reads deadlines, multiplied by `deadline_scale`. Variations that are shares of the base scale with it.
pub(super) fn scaled_deadlines(reader: &Reader<'_>, key: &'static str) -> Result<Vec<Deadline>> {
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

pub(super) fn layer_share(reader: &Reader<'_>, key: &'static str) -> Result<Vec<f64>> {
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
