//! Figures of a sweep: curves along its axis with the most values, with one panel for each setting of the others.

use duetime_figures::{Axis, Panel, Point, Series, Style};
use duetime_results::Estimate;

use super::draw::on_page;
use super::page;
use crate::gather::{Cell, Gathered, group_name, is_bulk, workload_name};
use crate::plan::Plan;
use crate::text::numbers;

/// Axis of the sweep along the x axis: the axis with the most values.
struct SweepAxis {
    key: String,
    values: Vec<String>,
    /// Values as numbers with their unit, if all are numbers of one unit.
    numbers: Option<(Vec<f64>, String)>,
}

impl SweepAxis {
    fn of(plan: &Plan) -> Option<SweepAxis> {
        let axes = plan.axes();
        let most = axes.iter().map(|(_, values)| values.len()).max()?;
        let (key, values) = axes.into_iter().find(|(_, values)| values.len() == most)?;
        let numbers = numbers(&values);
        Some(SweepAxis {
            key,
            values,
            numbers,
        })
    }

    fn axis(&self) -> Axis {
        match &self.numbers {
            Some((_, unit)) => Axis::linear(&self.key, unit),
            None => Axis::names(&self.key, self.values.iter().cloned()),
        }
    }

    fn place(&self, settings: &[(String, String)]) -> Option<f64> {
        let (_, value) = settings.iter().find(|(key, _)| *key == self.key)?;
        let index = self.values.iter().position(|known| known == value)?;
        Some(
            self.numbers
                .as_ref()
                .map_or(index as f64, |(numbers, _)| numbers[index]),
        )
    }
}

/// Returns all figures of the sweep.
pub fn figures(plan: &Plan, gathered: &Gathered) -> Vec<page::Figure> {
    let Some(along) = SweepAxis::of(plan) else {
        return Vec::new();
    };
    let curves = Curves {
        plan,
        gathered,
        along,
    };
    let mut figures = Vec::new();
    figures.extend(curves.figure(
        "Queries in time",
        &Axis::linear("queries in time", "%").between(0.0, 100.0),
        100.0,
        |cell| {
            let queries = cell.summary.queries.iter();
            queries
                .map(|queries| {
                    (
                        workload_name(plan, cell, queries.workload),
                        queries.objective.map(|objective| objective.in_time),
                    )
                })
                .collect()
        },
    ));
    figures.extend(curves.figure(
        "Missed deadlines",
        &Axis::linear("missed", "%"),
        100.0,
        |cell| {
            let missed = cell.summary.deadlines.map(|deadlines| deadlines.missed);
            vec![(String::new(), missed)]
        },
    ));
    figures.extend(curves.figure(
        "Answers in time per query",
        &Axis::linear("answers in time", "%"),
        100.0,
        |cell| {
            let queries = cell.summary.queries.iter();
            queries
                .map(|queries| (workload_name(plan, cell, queries.workload), queries.in_time))
                .collect()
        },
    ));
    figures.extend(curves.figure(
        "Completion time, p99",
        &Axis::log("completion time p99", "ms"),
        1e3,
        |cell| {
            let groups = cell.summary.groups.iter();
            groups
                .map(|group| (group_name(plan, cell, group), group.completion_s.p99))
                .collect()
        },
    ));
    figures.extend(curves.figure(
        "Goodput of flows without deadlines",
        &Axis::linear("mean goodput", "Mbps"),
        8e-6,
        |cell| {
            let groups = cell.summary.groups.iter().filter(|group| is_bulk(group));
            groups
                .map(|group| {
                    (
                        group_name(plan, cell, group),
                        group.goodput_bytes_per_s.mean,
                    )
                })
                .collect()
        },
    ));
    figures
}

/// Name and measured value.
type Named = (String, Option<Estimate>);

struct Curves<'a> {
    plan: &'a Plan,
    gathered: &'a Gathered,
    along: SweepAxis,
}

impl Curves<'_> {
    /// Returns a figure with a panel for each setting of the other axes and each name that `values` returns, and a
    /// curve for each transport.
    fn figure(
        &self,
        title: &str,
        y: &Axis,
        factor: f64,
        values: impl Fn(&Cell) -> Vec<Named>,
    ) -> Option<page::Figure> {
        let mut panels: Vec<Panel> = Vec::new();
        for cell in &self.gathered.cells {
            let settings = &self.plan.points[cell.point].settings;
            let Some(x) = self.along.place(settings) else {
                continue;
            };
            let others = settings.iter().filter(|(key, _)| *key != self.along.key);
            let others: Vec<String> = others
                .map(|(key, value)| format!("{key}={value}"))
                .collect();
            for (name, value) in values(cell) {
                let Some(value) = value else { continue };
                let mut parts = others.clone();
                parts.splice(0..0, (!name.is_empty()).then_some(name));
                let title = parts.join(", ");
                let index = panels
                    .iter()
                    .position(|panel| panel.title == title)
                    .unwrap_or_else(|| {
                        panels.push(Panel {
                            title,
                            ..Panel::new(self.along.axis(), y.clone(), Vec::new())
                        });
                        panels.len() - 1
                    });
                let transport = &cell.summary.transport;
                let curves = &mut panels[index].series;
                let curve = curves
                    .iter()
                    .position(|curve| curve.name == *transport)
                    .unwrap_or_else(|| {
                        curves.push(Series::new(transport, Style::Line, Vec::new()));
                        curves.len() - 1
                    });
                curves[curve].points.push(Point::of(x, &value, factor));
            }
        }
        for curve in panels.iter_mut().flat_map(|panel| &mut panel.series) {
            curve.points.sort_by(|a, b| a.x.total_cmp(&b.x));
        }
        on_page(title, "Bands: 95 % intervals over runs.", panels)
    }
}
