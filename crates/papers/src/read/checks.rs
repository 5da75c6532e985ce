//! Reader of published values and checks.

use super::super::experiment::{Check, Experiment, Measure, Measured, Published, Relation, Side};
use super::super::file::{self, Text, owned, place, written};
use super::super::verdict::Kind;
use super::{Reader, Result, Value, numbered};

impl Reader<'_> {
    pub(super) fn published(
        &self,
        raw: &file::Published,
        experiment: &Experiment,
    ) -> Result<Published> {
        let schemes = experiment.schemes.iter().map(|scheme| scheme.name.as_str());
        let scheme = self.one_of(&raw.scheme, "scheme", &numbered(schemes))?;
        let measure = match &raw.metric {
            Some(metric) => self.measure(metric, raw.workload.as_ref())?,
            None => Measure {
                workload: owned(raw.workload.as_ref())
                    .or_else(|| experiment.measure.workload.clone()),
                ..experiment.measure.clone()
            },
        };
        let at = raw
            .at
            .as_ref()
            .map(|value| self.axis_value(value, &experiment.axis.values))
            .transpose()?;
        let needs_at = experiment.axis.exists() && !measure.metric.spans_axis();
        if needs_at && at.is_none() && experiment.axis.values.len() > 1 {
            let message = format!(
                "`{}` has a value at each point: choose one",
                measure.metric.name()
            );
            return self.refuse(
                place(&raw.scheme),
                message,
                format!("at = {}", experiment.axis.values.join(", ")),
            );
        }
        if let (Some(unit), Some(own)) = (&raw.unit, measure.metric.unit())
            && unit.get_ref() != own
        {
            let message = format!("{} is measured in {own}", measure.metric.name());
            return self.refuse(place(unit), message, format!("\"{own}\""));
        }
        let kind = self.kind(&raw.kind)?;
        if raw.value.is_none() != (kind == Kind::NotStated) {
            let message = "kind = \"not-stated\" has no `value`, and every other kind needs one";
            return Err(self.wrong(place(&raw.kind), message));
        }
        Ok(Published {
            scheme,
            panel: self.panel(raw.panel.as_ref(), experiment)?,
            at: if needs_at {
                Some(at.unwrap_or(0))
            } else {
                None
            },
            measure,
            value: raw.value,
            kind,
            source: raw.source.clone(),
        })
    }

    pub(super) fn check(&self, raw: &file::Check, experiment: &Experiment) -> Result<Check> {
        let values = &experiment.axis.values;
        let end = |value: Option<&Value>, default: usize| {
            value.map_or(Ok(default), |value| self.axis_value(value, values))
        };
        let range = (
            end(raw.from.as_ref(), 0)?,
            end(raw.to.as_ref(), values.len() - 1)?,
        );
        let left = self.side(&raw.left, raw, None)?;
        let right = raw
            .right
            .as_ref()
            .map(|side| self.side(side, raw, None))
            .transpose()?;
        let by = raw.by.unwrap_or(0.0);
        let (low, high) = (
            raw.low.unwrap_or(f64::NEG_INFINITY),
            raw.high.unwrap_or(f64::INFINITY),
        );
        let relations = [
            ("greater", Relation::Greater(by)),
            ("less", Relation::Less(by)),
            ("ratio", Relation::Ratio(low, high)),
            ("difference", Relation::Difference(low, high)),
            ("within", Relation::Within(low, high)),
            ("monotone-up", Relation::MonotoneUp(by)),
            ("monotone-down", Relation::MonotoneDown(by)),
            ("same", Relation::Same),
        ];
        let relation = self.one_of(&raw.relation, "relation", &relations)?;
        let bounded = matches!(
            relation,
            Relation::Ratio(..) | Relation::Difference(..) | Relation::Within(..)
        );
        if bounded && raw.low.is_none() && raw.high.is_none() {
            return self.refuse(
                place(&raw.relation),
                "this relation has no bound",
                "low, high or both",
            );
        }
        if bounded && low > high {
            return Err(self.wrong(
                place(&raw.relation),
                format!("low = {low} is above high = {high}"),
            ));
        }
        let alone = matches!(
            relation,
            Relation::Within(..) | Relation::MonotoneUp(_) | Relation::MonotoneDown(_)
        );
        if alone == right.is_some() {
            let message = if alone {
                "this relation has no right side"
            } else {
                "this relation needs a right side"
            };
            return Err(self.wrong(place(&raw.relation), message));
        }
        let kind = raw
            .kind
            .as_ref()
            .map_or(Ok(Kind::Predicted), |kind| self.kind(kind))?;
        Ok(Check {
            text: raw.text.get_ref().clone(),
            left,
            right,
            relation,
            range,
            stated: raw.stated,
            kind,
            source: raw
                .source
                .clone()
                .unwrap_or_else(|| experiment.source.clone()),
            span: place(&raw.text),
        })
    }

    /// Reads a side. Missing keys are those of `outer`, then of the check, then of the experiment.
    fn side(
        &self,
        raw: &file::Side,
        check: &file::Check,
        outer: Option<&file::Side>,
    ) -> Result<Side> {
        if let Some(value) = raw.value {
            return Ok(Side::Value(value));
        }
        let inherited =
            |pick: fn(&file::Side) -> Option<&Text>| pick(raw).or_else(|| outer.and_then(pick));
        let Some(scheme) = owned(inherited(|side| side.scheme.as_ref())) else {
            return self.refuse(
                place(&check.text),
                "a side of this check has no scheme",
                "scheme = \"NAME\" or value = NUMBER",
            );
        };
        let metric = inherited(|side| side.metric.as_ref()).or(check.metric.as_ref());
        let workload = inherited(|side| side.workload.as_ref()).or(check.workload.as_ref());
        let panel = inherited(|side| side.panel.as_ref()).or(check.panel.as_ref());
        let measure = match (metric, workload) {
            (None, None) => None,
            (Some(metric), workload) => Some(self.measure(metric, workload)?),
            (None, Some(workload)) => {
                return self.refuse(
                    place(workload),
                    "a workload needs a metric",
                    "metric = \"NAME\"",
                );
            }
        };
        let at = raw
            .at
            .as_ref()
            .or_else(|| outer.and_then(|side| side.at.as_ref()));
        let measured = Side::Measured(Measured {
            experiment: owned(inherited(|side| side.experiment.as_ref())),
            scheme,
            panel: owned(panel),
            at: at.map(|value| written(value.get_ref())),
            measure,
        });
        let measured = match &raw.minus {
            Some(minus) => Side::Minus(
                Box::new(measured),
                Box::new(self.side(minus, check, Some(raw))?),
            ),
            None => measured,
        };
        Ok(match &raw.over {
            Some(over) => Side::Over(
                Box::new(measured),
                Box::new(self.side(over, check, Some(raw))?),
            ),
            None => measured,
        })
    }
}
