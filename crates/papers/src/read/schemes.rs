//! Reader of panels and schemes.

use duetime_scenario::Diagnostic;

use super::super::experiment::{Experiment, Ideal, Method, Panel, Scheme};
use super::super::file::{self, place, written};
use super::{Reader, Result};

impl Reader<'_> {
    pub(super) fn panels(&self, file: &file::File) -> Result<Vec<Panel>> {
        let mut panels: Vec<Panel> = Vec::new();
        for panel in &file.panel {
            let name = panel.name.get_ref().clone();
            if panels.iter().any(|other| other.name == name) {
                return Err(self.wrong(place(&panel.name), "duplicate panel name"));
            }
            panels.push(Panel {
                label: panel.label.clone().unwrap_or_else(|| name.clone()),
                range: panel.range,
                name,
                set: settings(&panel.set),
                quick: panel.quick,
            });
        }
        if panels.is_empty() {
            panels.push(Panel {
                name: String::new(),
                label: String::new(),
                range: None,
                set: Vec::new(),
                quick: true,
            });
        }
        Ok(panels)
    }

    pub(super) fn schemes(
        &self,
        file: &file::File,
        experiment: &Experiment,
    ) -> Result<Vec<Scheme>> {
        let mut schemes: Vec<Scheme> = Vec::new();
        for scheme in &file.scheme {
            let name = scheme.name.get_ref().clone();
            if schemes.iter().any(|other| other.name == name) {
                return Err(self.wrong(place(&scheme.name), "duplicate scheme name"));
            }
            let panels = match &scheme.panels {
                None => vec![true; experiment.panels.len()],
                Some(names) => {
                    let mut panels = vec![false; experiment.panels.len()];
                    for name in names {
                        panels[self.panel(Some(name), experiment)?] = true;
                    }
                    panels
                }
            };
            let mut values = vec![scheme.values.is_none(); experiment.axis.values.len()];
            for value in scheme.values.iter().flatten() {
                values[self.axis_value(value, &experiment.axis.values)?] = true;
            }
            schemes.push(Scheme {
                label: scheme.label.clone().unwrap_or_else(|| name.clone()),
                name,
                set: settings(&scheme.set),
                panels,
                values,
                quick: scheme.quick,
                repetitions: match &scheme.repetitions {
                    Some(repetitions) => self.repetitions(repetitions)?,
                    None => experiment.repetitions,
                },
                ideal: self
                    .ideal(scheme, &experiment.method)?
                    .map(|ideal| (ideal, None)),
            });
        }
        if schemes.is_empty() {
            return Err(Diagnostic::of_file(
                &self.name,
                "the table [[scheme]] is missing",
            ));
        }
        if experiment.method != Method::Fluid {
            self.flows_of(file, &mut schemes)?;
        }
        Ok(schemes)
    }

    /// Returns the ideal scheduler of a scheme, or `None` for a simulated one.
    fn ideal(&self, scheme: &file::Scheme, method: &Method) -> Result<Option<Ideal>> {
        if let Some(method) = &scheme.method {
            self.one_of(method, "method of a scheme", &[("fluid", ())])?;
        } else if *method != Method::Fluid {
            return Ok(None);
        }
        let ideal = self.one_of(&scheme.name, "ideal scheduler", &Ideal::ALL)?;
        Ok(Some(ideal))
    }

    /// Sets the schemes whose flows the ideal schedulers take.
    fn flows_of(&self, file: &file::File, schemes: &mut [Scheme]) -> Result<()> {
        let simulated: Vec<(String, usize)> = schemes
            .iter()
            .enumerate()
            .filter(|(_, scheme)| scheme.ideal.is_none())
            .map(|(index, scheme)| (scheme.name.clone(), index))
            .collect();
        let names: Vec<(&str, usize)> = simulated
            .iter()
            .map(|(name, index)| (name.as_str(), *index))
            .collect();
        for (scheme, written) in schemes.iter_mut().zip(&file.scheme) {
            let Some((_, source)) = &mut scheme.ideal else {
                continue;
            };
            if let Some(key) = written.set.keys().next() {
                let message = "an ideal scheduler has the flows and settings of another scheme";
                return self.refuse(place(key), message, "no `set`");
            }
            *source = match (&written.flows_of, names.first()) {
                (Some(name), _) => Some(self.one_of(name, "simulated scheme", &names)?),
                (None, Some(&(_, first))) => Some(first),
                (None, None) => {
                    let message = "no simulated scheme has flows for this scheduler";
                    return Err(self
                        .wrong(place(&written.name), message)
                        .help("set method = \"fluid\" at the top"));
                }
            };
        }
        Ok(())
    }
}

/// Converts settings to texts as `--set` takes them.
fn settings(set: &file::Set) -> Vec<(String, String)> {
    set.iter()
        .map(|(key, value)| (key.get_ref().clone(), written(value.get_ref())))
        .collect()
}
