//! What the paper published, and what must hold.

use super::super::experiment::{Check, Experiment, Measure, Measured, Published, Relation, Side};
use super::super::file::{self, Text, owned, place, written};
use super::super::verdict::Kind;
use super::{Reader, Result, Value, numbered};

impl Reader<'_> {
    pub(super) fn published(
        &self,
        of: &file::Published,
        experiment: &Experiment,
    ) -> Result<Published> {
        let schemes = experiment.schemes.iter().map(|of| of.name.as_str());
        let scheme = self.one_of(&of.scheme, "scheme", &numbered(schemes))?;
        let measure = match &of.metric {
            Some(metric) => self.measure(metric, of.workload.as_ref())?,
            None => Measure {
                workload: owned(of.workload.as_ref())
                    .or_else(|| experiment.measure.workload.clone()),
                ..experiment.measure.clone()
            },
        };
        let at = of
            .at
            .as_ref()
            .map(|value| self.axis_value(value, &experiment.axis.values))
            .transpose()?;
        let needs_at = experiment.axis.is_there() && !measure.metric.reads_the_axis();
        if needs_at && at.is_none() && experiment.axis.values.len() > 1 {
            let message = format!(
                "`{}` has a value at each point: say which",
                measure.metric.name()
            );
            return self.refuse(
                place(&of.scheme),
                message,
                format!("at = {}", experiment.axis.values.join(", ")),
            );
        }
        if let (Some(unit), Some(own)) = (&of.unit, measure.metric.unit())
            && unit.get_ref() != own
        {
            let message = format!("{} is measured in {own}", measure.metric.name());
            return self.refuse(place(unit), message, format!("\"{own}\""));
        }
        let kind = self.kind(&of.kind)?;
        if of.value.is_none() != (kind == Kind::NotStated) {
            let message =
                "a value that the paper does not state has no `value`, and any other has one";
            return Err(self.wrong(place(&of.kind), message));
        }
        Ok(Published {
            scheme,
            panel: self.panel(of.panel.as_ref(), experiment)?,
            at: if needs_at {
                Some(at.unwrap_or(0))
            } else {
                None
            },
            measure,
            value: of.value,
            kind,
            source: of.source.clone(),
        })
    }

    pub(super) fn check(&self, of: &file::Check, experiment: &Experiment) -> Result<Check> {
        let values = &experiment.axis.values;
        let end = |value: Option<&Value>, default: usize| {
            value.map_or(Ok(default), |value| self.axis_value(value, values))
        };
        let range = (
            end(of.from.as_ref(), 0)?,
            end(of.to.as_ref(), values.len() - 1)?,
        );
        let left = self.side(&of.left, of, None)?;
        let right = of
            .right
            .as_ref()
            .map(|side| self.side(side, of, None))
            .transpose()?;
        let by = of.by.unwrap_or(0.0);
        let (low, high) = (
            of.low.unwrap_or(f64::NEG_INFINITY),
            of.high.unwrap_or(f64::INFINITY),
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
        let relation = self.one_of(&of.relation, "relation", &relations)?;
        let bounded = matches!(
            relation,
            Relation::Ratio(..) | Relation::Difference(..) | Relation::Within(..)
        );
        if bounded && of.low.is_none() && of.high.is_none() {
            return self.refuse(
                place(&of.relation),
                "nothing bounds it",
                "low, high or both",
            );
        }
        if bounded && low > high {
            return Err(self.wrong(
                place(&of.relation),
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
            return Err(self.wrong(place(&of.relation), message));
        }
        let kind = of
            .kind
            .as_ref()
            .map_or(Ok(Kind::Predicted), |kind| self.kind(kind))?;
        Ok(Check {
            text: of.text.get_ref().clone(),
            left,
            right,
            relation,
            range,
            stated: of.stated,
            kind,
            source: of
                .source
                .clone()
                .unwrap_or_else(|| experiment.source.clone()),
            span: place(&of.text),
        })
    }

    /// A side; what it does not say is that of `outer`, of the check or of the experiment.
    fn side(
        &self,
        of: &file::Side,
        check: &file::Check,
        outer: Option<&file::Side>,
    ) -> Result<Side> {
        if let Some(value) = of.value {
            return Ok(Side::Value(value));
        }
        let inherited =
            |pick: fn(&file::Side) -> Option<&Text>| pick(of).or_else(|| outer.and_then(pick));
        let Some(scheme) = owned(inherited(|side| side.scheme.as_ref())) else {
            return self.refuse(
                place(&check.text),
                "a side of this check names no scheme",
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
                    "a workload needs a metric beside it",
                    "metric = \"NAME\"",
                );
            }
        };
        let at = of
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
        let measured = match &of.minus {
            Some(minus) => Side::Minus(
                Box::new(measured),
                Box::new(self.side(minus, check, Some(of))?),
            ),
            None => measured,
        };
        Ok(match &of.over {
            Some(over) => Side::Over(
                Box::new(measured),
                Box::new(self.side(over, check, Some(of))?),
            ),
            None => measured,
        })
    }
}
