//! Reader of the method: how an experiment is run and drawn.

use super::super::experiment::{Experiment, Method, Sampled};
use super::super::file::{self, Text, place};
use super::{Reader, Result};

impl Reader<'_> {
    pub(super) fn method(&self, file: &file::File, experiment: &Experiment) -> Result<Method> {
        #[derive(Clone, Copy)]
        enum Word {
            Simulate,
            Fluid,
            Scatter,
            Distribution,
            Series,
            Note,
        }
        let Some(method) = &file.method else {
            return Ok(Method::Simulate);
        };
        let values = &experiment.axis.values;
        let table =
            |name: &str| self.wrong(place(method), format!("the table [{name}] is missing"));
        let names = [
            ("simulate", Word::Simulate),
            ("fluid", Word::Fluid),
            ("scatter", Word::Scatter),
            ("distribution", Word::Distribution),
            ("series", Word::Series),
            ("note", Word::Note),
        ];
        let sampled = [
            ("queue", Sampled::Queue),
            ("throughput", Sampled::Throughput),
        ];
        Ok(match self.one_of(method, "method", &names)? {
            Word::Simulate => Method::Simulate,
            Word::Fluid => Method::Fluid,
            Word::Note => Method::Note,
            Word::Scatter => Method::Scatter {
                runs: file.scatter.as_ref().ok_or_else(|| table("scatter"))?.runs,
            },
            Word::Distribution => {
                let distribution = file
                    .distribution
                    .as_ref()
                    .ok_or_else(|| table("distribution"))?;
                let more = [
                    ("completion", Sampled::Completion),
                    ("latency-to-allowed", Sampled::Allowed),
                ];
                let names: Vec<_> = sampled.into_iter().chain(more).collect();
                let at = match &distribution.at {
                    Some(at) => at
                        .iter()
                        .map(|value| self.axis_value(value, values))
                        .collect::<Result<_>>()?,
                    None => (0..values.len()).collect(),
                };
                Method::Distribution {
                    of: self.one_of(&distribution.of, "quantity", &names)?,
                    at,
                }
            }
            Word::Series => {
                let series = file.series.as_ref().ok_or_else(|| table("series"))?;
                let at = series.at.as_ref();
                Method::Series {
                    of: self.one_of(&series.of, "quantity", &sampled)?,
                    at: at.map_or(Ok(0), |value| self.axis_value(value, values))?,
                    names: series.names.clone(),
                    average_s: series
                        .average
                        .as_ref()
                        .map_or(Ok(0.0), |text| self.time(text))?,
                    until_s: series
                        .until
                        .as_ref()
                        .map(|text| self.time(text))
                        .transpose()?,
                }
            }
        })
    }

    /// Parses a time such as "20 ms" to seconds.
    fn time(&self, text: &Text) -> Result<f64> {
        let units = [
            ("ps", 1e-12),
            ("ns", 1e-9),
            ("us", 1e-6),
            ("ms", 1e-3),
            ("s", 1.0),
        ];
        let parsed = text.get_ref().split_once(' ').and_then(|(number, unit)| {
            let factor = units.iter().find(|(name, _)| *name == unit.trim())?.1;
            Some(number.parse::<f64>().ok()? * factor)
        });
        parsed.ok_or_else(|| {
            self.wrong(place(text), "not a time")
                .allowed("a time such as \"20 ms\"")
        })
    }
}
