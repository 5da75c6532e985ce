//! The two folders: what each has, what both have, and what is said of the rest.

use std::collections::BTreeSet;
use std::path::Path;

use duetime_store::{Manifest, RunFolder, RunKey};

use crate::error::StudyError;

/// A folder and what its manifest says.
pub(super) struct Side {
    pub(super) folder: RunFolder,
    pub(super) manifest: Manifest,
}

impl Side {
    pub(super) fn open(path: &Path) -> Result<Self, StudyError> {
        let folder = RunFolder::open(path)?;
        let manifest = folder.manifest()?;
        Ok(Self { folder, manifest })
    }

    pub(super) fn name(&self) -> String {
        format!("`{}`", self.folder.path().display())
    }

    /// The points: id and label.
    pub(super) fn points(&self) -> Vec<(Option<String>, String)> {
        let points = self.manifest.points.iter().map(|point| {
            let settings = point.values.iter();
            let settings: Vec<String> = settings
                .map(|(key, value)| format!("{key}={value}"))
                .collect();
            (Some(point.id.clone()), settings.join(","))
        });
        let points: Vec<_> = points.collect();
        if points.is_empty() {
            vec![(None, String::new())]
        } else {
            points
        }
    }

    pub(super) fn workloads(&self) -> Vec<String> {
        let list = self.manifest.scenario["workloads"].as_array();
        let name = |of: &serde_json::Value| of["name"].as_str().unwrap_or_default().to_owned();
        list.into_iter().flatten().map(name).collect()
    }
}

/// Why two folders cannot be compared: what each has.
pub(super) struct Refused([String; 2]);

pub(super) fn refused(sides: &[Side; 2], has: impl Fn(&Side) -> String) -> Refused {
    Refused([0, 1].map(|side| format!("{} has {}", sides[side].name(), has(&sides[side]))))
}

impl Refused {
    pub(super) fn with(self, why: &str) -> StudyError {
        let [a, b] = self.0;
        StudyError::Choice(format!("{a}, {b}: {why}"))
    }
}

/// What of two lists is in both, in the order of the first; the rest is noted.
pub(super) fn common<T: PartialEq + Clone>(
    lists: [&[T]; 2],
    sides: &[Side; 2],
    show: impl Fn(&T) -> String,
    what: &str,
    notes: &mut Vec<String>,
) -> Vec<T> {
    for (own, side) in [0, 1].into_iter().zip(sides) {
        let other = lists[1 - own];
        let alone = lists[own].iter().filter(|of| !other.contains(of));
        let alone: Vec<String> = alone.map(&show).collect();
        if !alone.is_empty() {
            let names = alone.join(", ");
            notes.push(format!("only {} has these {what}: {names}", side.name()));
        }
    }
    let both = lists[0].iter().filter(|of| lists[1].contains(of));
    both.cloned().collect()
}

pub(super) fn common_transports(
    sides: &[Side; 2],
    asked: &[String],
    notes: &mut Vec<String>,
) -> Result<Vec<String>, StudyError> {
    let [a, b] = [0, 1].map(|side| sides[side].manifest.transports.as_slice());
    let has = |side: &Side| side.manifest.transports.join(", ");
    let mut unsaid = Vec::new();
    let both = common([a, b], sides, Clone::clone, "transports", &mut unsaid);
    if both.is_empty() {
        return Err(refused(sides, has).with("no transport is in both"));
    }
    if asked.is_empty() {
        notes.extend(unsaid);
        return Ok(both);
    }
    match asked.iter().find(|name| !both.contains(name)) {
        Some(name) => {
            let why = format!("`{name}` is not in both; allowed: {}", both.join(", "));
            Err(refused(sides, has).with(&why))
        }
        None => Ok(asked.to_vec()),
    }
}

pub(super) fn common_points(
    sides: &[Side; 2],
    notes: &mut Vec<String>,
) -> Result<Vec<(Option<String>, String)>, StudyError> {
    let [a, b] = [0, 1].map(|side| sides[side].points());
    let show = |(_, label): &(Option<String>, String)| label.clone();
    let mut unsaid = Vec::new();
    let both = common([&a, &b], sides, show, "points", &mut unsaid);
    if both.is_empty() {
        let has = |side: &Side| match &side.points()[..] {
            [(None, _)] => "no sweep".to_owned(),
            points => {
                let labels: Vec<String> = points.iter().map(show).collect();
                format!("the points {}", labels.join("; "))
            }
        };
        return Err(refused(sides, has).with("no point of the sweep is in both"));
    }
    notes.extend(unsaid);
    Ok(both)
}

pub(super) fn common_workloads(
    sides: &[Side; 2],
    notes: &mut Vec<String>,
) -> Result<Vec<String>, StudyError> {
    let [a, b] = [0, 1].map(|side| sides[side].workloads());
    let mut unsaid = Vec::new();
    let both = common([&a, &b], sides, Clone::clone, "workloads", &mut unsaid);
    if both.is_empty() {
        return Err(refused(sides, |side| side.workloads().join(", "))
            .with("no workload is in both; workloads are compared by `name`"));
    }
    notes.extend(unsaid);
    Ok(both)
}

pub(super) fn versions(sides: &[Side; 2], notes: &mut Vec<String>) {
    let [a, b] = [0, 1].map(|side| &sides[side].manifest.duetime);
    if a != b {
        notes.push(format!(
            "{} was written by duetime {a}, {} by {b}: a change of the program may be among the differences",
            sides[0].name(),
            sides[1].name()
        ));
    }
}

/// The runs of a folder that are there.
pub(super) fn there(side: &Side, key: impl Fn(u64) -> RunKey) -> BTreeSet<u64> {
    let runs = 0..side.manifest.seeds;
    runs.filter(|&run| side.folder.has_run(&key(run))).collect()
}

pub(super) fn finished(side: &Side) -> usize {
    let points = side.points();
    let transports = &side.manifest.transports;
    let of = |point: &Option<String>, transport: &String| {
        there(side, |run| RunKey {
            point: point.clone(),
            transport: transport.clone(),
            run,
        })
        .len()
    };
    let each = points
        .iter()
        .map(|(id, _)| transports.iter().map(|name| of(id, name)).sum::<usize>());
    each.sum()
}

/// Says where runs have no pair.
pub(super) fn incomplete(
    sides: &[Side; 2],
    point: &str,
    transports: &[String; 2],
    there: [&BTreeSet<u64>; 2],
    notes: &mut Vec<String>,
) {
    let pairs = there[0].intersection(there[1]).count();
    for ((side, transport), runs) in sides.iter().zip(transports).zip(there) {
        let asked = side.manifest.seeds;
        if runs.len() as u64 != asked {
            let at = if point.is_empty() {
                String::new()
            } else {
                format!(" at {point}")
            };
            notes.push(format!(
                "{} is incomplete: {} of its {asked} runs of {transport}{at} are there; {pairs} are in both",
                side.name(),
                runs.len()
            ));
        }
    }
    let [a, b] = [0, 1].map(|side| sides[side].manifest.seeds);
    let note = format!(
        "{} has {a} seeds, {} {b}: compared over those that both have",
        sides[0].name(),
        sides[1].name()
    );
    if a != b && !notes.contains(&note) {
        notes.push(note);
    }
}
