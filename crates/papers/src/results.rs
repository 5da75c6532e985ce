//! Results of a campaign: sums by experiment, panel, scheme and axis value, and estimates with intervals from them.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use duetime_results::{Estimate, stats};
use duetime_scenario::Scenario;

use super::campaign::Campaign;
use super::experiment::{Experiment, Measure, Measured, Side};
use super::metric::Metric;
use super::sums::Sums;

/// Experiment, panel and axis value.
pub(super) type Place = (usize, usize, usize);

/// Place and scheme.
pub(super) type Cell = (Place, usize);

/// Reference scheme of relative goodput.
const REFERENCE: &str = "tcp";

/// Results of a campaign.
#[derive(Debug)]
pub struct Results<'a> {
    /// Campaign.
    pub campaign: &'a Campaign,
    /// Sums of the seeds in order, by place and scheme.
    cells: HashMap<Cell, Vec<Arc<Sums>>>,
    /// Names of the workloads by experiment.
    workloads: BTreeMap<usize, Vec<String>>,
}

/// An expression over seeds. Its interval comes from resampling seeds, with the same draw for all its parts.
enum Term<'r> {
    Constant(f64),
    At {
        seeds: &'r [Arc<Sums>],
        metric: Metric,
        workload: Option<u16>,
    },
    Along {
        points: Vec<(f64, &'r [Arc<Sums>])>,
        metric: Metric,
        workload: Option<u16>,
    },
    Over(Box<Term<'r>>, Box<Term<'r>>),
    Minus(Box<Term<'r>>, Box<Term<'r>>),
}

impl<'a> Results<'a> {
    /// Creates empty results.
    pub(super) fn new(campaign: &'a Campaign) -> Self {
        Self {
            campaign,
            cells: HashMap::new(),
            workloads: BTreeMap::new(),
        }
    }

    /// Adds the next seed of a cell.
    pub(super) fn add(&mut self, place: Place, scheme: usize, sums: Arc<Sums>) {
        self.cells.entry((place, scheme)).or_default().push(sums);
    }

    /// Sets the names of an experiment's workloads.
    pub(super) fn set_workloads(&mut self, experiment: usize, scenario: &Scenario) {
        self.workloads.entry(experiment).or_insert_with(|| {
            let names = scenario.workload_names().into_iter();
            names.map(str::to_owned).collect()
        });
    }

    /// Returns an experiment by index.
    pub fn experiment(&self, index: usize) -> &'a Experiment {
        &self.campaign.experiments[index]
    }

    /// Returns the sums of a cell's seeds in order; empty if the campaign does not include the cell.
    pub fn seeds(
        &self,
        experiment: usize,
        panel: usize,
        scheme: usize,
        value: usize,
    ) -> &[Arc<Sums>] {
        self.cells
            .get(&((experiment, panel, value), scheme))
            .map_or(&[], Vec::as_slice)
    }

    /// Returns a measure at one point, or read from the whole axis if its metric is.
    pub fn estimate(
        &self,
        experiment: usize,
        panel: usize,
        scheme: usize,
        value: usize,
        measure: &Measure,
    ) -> Option<Estimate> {
        self.term(experiment, panel, scheme, value, measure)?
            .estimate()
    }

    fn term(
        &self,
        experiment: usize,
        panel: usize,
        scheme: usize,
        value: usize,
        measure: &Measure,
    ) -> Option<Term<'_>> {
        let metric = measure.metric;
        let workload = match &measure.workload {
            None => None,
            Some(name) => {
                let known = self.workloads.get(&experiment)?;
                Some(u16::try_from(known.iter().position(|known| known == name)?).ok()?)
            }
        };
        if metric.spans_axis() {
            let axis = &self.experiment(experiment).axis;
            let mut points: Vec<(f64, &[Arc<Sums>])> = (0..axis.values.len())
                .map(|value| {
                    (
                        axis.place(value),
                        self.seeds(experiment, panel, scheme, value),
                    )
                })
                .filter(|(_, seeds)| !seeds.is_empty())
                .collect();
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
            return (!points.is_empty()).then_some(Term::Along {
                points,
                metric,
                workload,
            });
        }
        if metric == Metric::GoodputRelative {
            let reference = self.experiment(experiment).scheme(REFERENCE)?;
            let goodput = Measure {
                metric: Metric::Goodput,
                ..measure.clone()
            };
            let term = |scheme| self.term(experiment, panel, scheme, value, &goodput);
            let share = Term::Over(Box::new(term(scheme)?), Box::new(term(reference)?));
            let hundredth = Term::Over(
                Box::new(Term::Constant(1.0)),
                Box::new(Term::Constant(100.0)),
            );
            return Some(Term::Over(Box::new(share), Box::new(hundredth)));
        }
        let seeds = self.seeds(experiment, panel, scheme, value);
        (!seeds.is_empty()).then_some(Term::At {
            seeds,
            metric,
            workload,
        })
    }

    /// Returns one side of a check of an experiment. `at` is the axis value, as written, for sides without one.
    fn side(&self, experiment_index: usize, side: &Side, at: Option<&str>) -> Option<Term<'_>> {
        match side {
            Side::Value(value) => Some(Term::Constant(*value)),
            Side::Over(a, b) => Some(Term::Over(
                Box::new(self.side(experiment_index, a, at)?),
                Box::new(self.side(experiment_index, b, at)?),
            )),
            Side::Minus(a, b) => Some(Term::Minus(
                Box::new(self.side(experiment_index, a, at)?),
                Box::new(self.side(experiment_index, b, at)?),
            )),
            Side::Measured(measured) => {
                let ((index, panel, value), scheme) = self.cell(experiment_index, measured, at)?;
                let measure = measured.measure(self.experiment(index));
                self.term(index, panel, scheme, value, measure)
            }
        }
    }

    /// Returns the cell of a measured value of an experiment's check. `at` is the axis value, as written, for values
    /// without one.
    pub(super) fn cell(
        &self,
        experiment_index: usize,
        measured: &Measured,
        at: Option<&str>,
    ) -> Option<Cell> {
        let index = match &measured.experiment {
            Some(name) => self
                .experiment(experiment_index)
                .sibling(name, &self.campaign.experiments)?,
            None => experiment_index,
        };
        let experiment = self.experiment(index);
        let value = match measured.at.as_deref().or(at) {
            Some(at) => experiment.value(at)?,
            None => 0,
        };
        let panel = match &measured.panel {
            Some(name) => experiment.panel(name)?,
            None => 0,
        };
        Some(((index, panel, value), experiment.scheme(&measured.scheme)?))
    }

    /// Returns the cells that a metric with a value at `cell` reads.
    pub(super) fn cells_of(&self, (place, scheme): Cell, metric: Metric) -> Vec<Cell> {
        let reference = self.experiment(place.0).scheme(REFERENCE);
        let reference = reference.filter(|_| metric == Metric::GoodputRelative);
        let schemes = std::iter::once(scheme).chain(reference);
        schemes.map(|scheme| (place, scheme)).collect()
    }

    /// Returns the value of a side.
    pub(super) fn side_estimate(
        &self,
        experiment_index: usize,
        side: &Side,
        at: Option<&str>,
    ) -> Option<Estimate> {
        self.side(experiment_index, side, at)?.estimate()
    }

    /// Returns the change of a side from one axis value, as written, to another, paired by seed.
    pub(super) fn step(
        &self,
        experiment_index: usize,
        side: &Side,
        [from, to]: [&str; 2],
    ) -> Option<Estimate> {
        let term = |at| Some(Box::new(self.side(experiment_index, side, Some(at))?));
        Term::Minus(term(to)?, term(from)?).estimate()
    }

    /// Returns left over right, or left minus right, paired by seed.
    pub(super) fn both(
        &self,
        experiment_index: usize,
        (left, right): (&Side, &Side),
        at: Option<&str>,
        ratio: bool,
    ) -> Option<Estimate> {
        let (left, right) = (
            Box::new(self.side(experiment_index, left, at)?),
            Box::new(self.side(experiment_index, right, at)?),
        );
        let term = if ratio {
            Term::Over(left, right)
        } else {
            Term::Minus(left, right)
        };
        term.estimate()
    }

    /// Returns true if both sides have identical results for every seed that both have, or `None` if there are none.
    pub(super) fn same(
        &self,
        experiment_index: usize,
        left: &Side,
        right: &Side,
        at: Option<&str>,
    ) -> Option<bool> {
        let seeds = |side| match self.side(experiment_index, side, at)? {
            Term::At { seeds, .. } => Some(vec![seeds]),
            Term::Along { points, .. } => {
                Some(points.into_iter().map(|(_, seeds)| seeds).collect())
            }
            _ => None,
        };
        let mut points = seeds(left)?.into_iter().zip(seeds(right)?);
        Some(points.all(|(left, right)| left.iter().zip(right).all(|(left, right)| left == right)))
    }
}

impl Term<'_> {
    /// Returns the number of seeds that all parts have, or `None` for constants.
    fn drawable(&self) -> Option<usize> {
        match self {
            Term::Constant(_) => None,
            Term::At { seeds, .. } => Some(seeds.len()),
            Term::Along { points, .. } => points.iter().map(|(_, seeds)| seeds.len()).min(),
            Term::Over(a, b) | Term::Minus(a, b) => {
                a.drawable().into_iter().chain(b.drawable()).min()
            }
        }
    }

    /// Returns the value over the drawn seeds, or over all.
    fn value(&self, draw: Option<&[usize]>) -> Option<f64> {
        fn drawn<'s>(seeds: &'s [Arc<Sums>], draw: Option<&[usize]>) -> Vec<&'s Sums> {
            match draw {
                None => seeds.iter().map(AsRef::as_ref).collect(),
                Some(draw) => draw.iter().map(|&i| seeds[i].as_ref()).collect(),
            }
        }
        match self {
            Term::Constant(value) => Some(*value),
            Term::At {
                seeds,
                metric,
                workload,
            } => metric.at(&drawn(seeds, draw), *workload),
            Term::Along {
                points,
                metric,
                workload,
            } => {
                let points: Vec<(f64, Vec<&Sums>)> = points
                    .iter()
                    .map(|(place, seeds)| (*place, drawn(seeds, draw)))
                    .collect();
                metric.along(&points, *workload)
            }
            Term::Over(a, b) => {
                let (a, b) = (a.value(draw)?, b.value(draw)?);
                (b != 0.0).then_some(a / b)
            }
            Term::Minus(a, b) => Some(a.value(draw)? - b.value(draw)?),
        }
    }

    fn estimate(&self) -> Option<Estimate> {
        let value = self.value(None).filter(|value| value.is_finite())?;
        let interval =
            stats::bootstrap(self.drawable().unwrap_or(0), |draw| self.value(Some(draw)));
        Some(Estimate { value, interval })
    }
}
