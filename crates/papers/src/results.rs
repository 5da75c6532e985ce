//! Everything that a campaign measured: sums by experiment, panel, scheme and axis value, and values with intervals
//! read from them.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use duetime_results::{Estimate, stats};
use duetime_scenario::Scenario;

use super::campaign::Campaign;
use super::experiment::{Experiment, Measure, Side};
use super::metric::Metric;
use super::sums::Sums;

/// (experiment, panel, axis value)
type Place = (usize, usize, usize);

/// The scheme that relative goodput is measured against.
const REFERENCE: &str = "tcp";

/// What a campaign measured.
#[derive(Debug)]
pub struct Results<'a> {
    /// The campaign.
    pub campaign: &'a Campaign,
    /// By place and scheme: the sums of the seeds, in order.
    cells: HashMap<(Place, usize), Vec<Arc<Sums>>>,
    /// Names of the workloads, by experiment.
    workloads: BTreeMap<usize, Vec<String>>,
}

/// An expression over seeds, so that its interval can be had by drawing seeds: the same for all that is in it.
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
    /// Nothing yet.
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

    /// Takes the names of the workloads.
    pub(super) fn set_workloads(&mut self, experiment: usize, scenario: &Scenario) {
        self.workloads.entry(experiment).or_insert_with(|| {
            let names = scenario.workload_names().into_iter();
            names.map(str::to_owned).collect()
        });
    }

    /// An experiment by index.
    pub fn experiment(&self, index: usize) -> &'a Experiment {
        &self.campaign.experiments[index]
    }

    /// The seeds of a cell, in order; empty where the campaign does not have it.
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

    /// A measure at one point, or read off the axis where its metric is.
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
                Some(u16::try_from(known.iter().position(|of| of == name)?).ok()?)
            }
        };
        if metric.reads_the_axis() {
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
            let of = |scheme| self.term(experiment, panel, scheme, value, &goodput);
            let share = Term::Over(Box::new(of(scheme)?), Box::new(of(reference)?));
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

    /// One side of a check of experiment `own`, at the axis value as written where the side has none of its own.
    fn side(&self, own: usize, side: &Side, at: Option<&str>) -> Option<Term<'_>> {
        match side {
            Side::Value(value) => Some(Term::Constant(*value)),
            Side::Over(a, b) => Some(Term::Over(
                Box::new(self.side(own, a, at)?),
                Box::new(self.side(own, b, at)?),
            )),
            Side::Minus(a, b) => Some(Term::Minus(
                Box::new(self.side(own, a, at)?),
                Box::new(self.side(own, b, at)?),
            )),
            Side::Measured(measured) => {
                let index = match &measured.experiment {
                    Some(name) => self
                        .experiment(own)
                        .beside(name, &self.campaign.experiments)?,
                    None => own,
                };
                let of = self.experiment(index);
                let value = match measured.at.as_deref().or(at) {
                    Some(at) => of.value(at)?,
                    None => 0,
                };
                let panel = match &measured.panel {
                    Some(name) => of.panel(name)?,
                    None => 0,
                };
                let scheme = of.scheme(&measured.scheme)?;
                self.term(index, panel, scheme, value, measured.measure(of))
            }
        }
    }

    /// The value of a side.
    pub(super) fn side_estimate(
        &self,
        own: usize,
        side: &Side,
        at: Option<&str>,
    ) -> Option<Estimate> {
        self.side(own, side, at)?.estimate()
    }

    /// Left over right, or left minus right, drawn together.
    pub(super) fn both(
        &self,
        own: usize,
        (left, right): (&Side, &Side),
        at: Option<&str>,
        ratio: bool,
    ) -> Option<Estimate> {
        let (left, right) = (
            Box::new(self.side(own, left, at)?),
            Box::new(self.side(own, right, at)?),
        );
        let term = if ratio {
            Term::Over(left, right)
        } else {
            Term::Minus(left, right)
        };
        term.estimate()
    }

    /// Whether every seed of both sides left the same; `None` where there are none.
    pub(super) fn same(
        &self,
        own: usize,
        left: &Side,
        right: &Side,
        at: Option<&str>,
    ) -> Option<bool> {
        let seeds = |side| match self.side(own, side, at)? {
            Term::At { seeds, .. } => Some(vec![seeds]),
            Term::Along { points, .. } => {
                Some(points.into_iter().map(|(_, seeds)| seeds).collect())
            }
            _ => None,
        };
        let (left, right) = (seeds(left)?, seeds(right)?);
        Some(left == right)
    }
}

impl Term<'_> {
    /// How many seeds can be drawn: as many as all of it has; `None` for constants.
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

    /// Its value over the seeds drawn, or over all.
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
