//! Two folders to compare: their common content, and notes on the differences.

use std::collections::BTreeSet;
use std::path::Path;

use duetime_store::{Manifest, RunFolder, RunKey};

use crate::error::StudyError;

/// Folder with its manifest.
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

    /// Returns the ID and the label of each point.
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
        let name =
            |workload: &serde_json::Value| workload["name"].as_str().unwrap_or_default().to_owned();
        list.into_iter().flatten().map(name).collect()
    }
}

/// Error under construction: what each of two folders has that prevents their comparison.
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

/// Returns the common items of two lists in the order of the first, and notes the other items. `kind` is the plural of
/// the items' name.
pub(super) fn common<T: PartialEq + Clone>(
    lists: [&[T]; 2],
    sides: &[Side; 2],
    show: impl Fn(&T) -> String,
    kind: &str,
    notes: &mut Vec<String>,
) -> Vec<T> {
    for (index, side) in [0, 1].into_iter().zip(sides) {
        let other = lists[1 - index];
        let alone = lists[index].iter().filter(|item| !other.contains(item));
        let alone: Vec<String> = alone.map(&show).collect();
        if !alone.is_empty() {
            let names = alone.join(", ");
            notes.push(format!("only {} has these {kind}: {names}", side.name()));
        }
    }
    let both = lists[0].iter().filter(|item| lists[1].contains(item));
    both.cloned().collect()
}

pub(super) fn common_transports(
    sides: &[Side; 2],
    wanted: &[String],
    notes: &mut Vec<String>,
) -> Result<Vec<String>, StudyError> {
    let [a, b] = [0, 1].map(|side| sides[side].manifest.transports.as_slice());
    let has = |side: &Side| side.manifest.transports.join(", ");
    let mut pending_notes = Vec::new();
    let both = common(
        [a, b],
        sides,
        Clone::clone,
        "transports",
        &mut pending_notes,
    );
    if both.is_empty() {
        return Err(refused(sides, has).with("no common transport"));
    }
    if wanted.is_empty() {
        notes.extend(pending_notes);
        return Ok(both);
    }
    match wanted.iter().find(|name| !both.contains(name)) {
        Some(name) => {
            let why = format!("`{name}` is not in both; allowed: {}", both.join(", "));
            Err(refused(sides, has).with(&why))
        }
        None => Ok(wanted.to_vec()),
    }
}

pub(super) fn common_points(
    sides: &[Side; 2],
    notes: &mut Vec<String>,
) -> Result<Vec<(Option<String>, String)>, StudyError> {
    let [a, b] = [0, 1].map(|side| sides[side].points());
    let show = |(_, label): &(Option<String>, String)| label.clone();
    let mut pending_notes = Vec::new();
    let both = common([&a, &b], sides, show, "points", &mut pending_notes);
    if both.is_empty() {
        let has = |side: &Side| match &side.points()[..] {
            [(None, _)] => "no sweep".to_owned(),
            points => {
                let labels: Vec<String> = points.iter().map(show).collect();
                format!("the points {}", labels.join("; "))
            }
        };
        return Err(refused(sides, has).with("no common point of the sweep"));
    }
    notes.extend(pending_notes);
    Ok(both)
}

pub(super) fn common_workloads(
    sides: &[Side; 2],
    notes: &mut Vec<String>,
) -> Result<Vec<String>, StudyError> {
    let [a, b] = [0, 1].map(|side| sides[side].workloads());
    let mut pending_notes = Vec::new();
    let both = common(
        [&a, &b],
        sides,
        Clone::clone,
        "workloads",
        &mut pending_notes,
    );
    if both.is_empty() {
        return Err(refused(sides, |side| side.workloads().join(", "))
            .with("no common workload; workloads are matched by `name`"));
    }
    notes.extend(pending_notes);
    Ok(both)
}

pub(super) fn versions(sides: &[Side; 2], notes: &mut Vec<String>) {
    let [a, b] = [0, 1].map(|side| &sides[side].manifest.duetime);
    if a != b {
        notes.push(format!(
            "{} was written by duetime {a}, {} by {b}: the change of version may cause some differences",
            sides[0].name(),
            sides[1].name()
        ));
    }
}

/// Returns the indices of the stored runs of a folder.
pub(super) fn stored(side: &Side, key: impl Fn(u64) -> RunKey) -> BTreeSet<u64> {
    let runs = 0..side.manifest.seeds;
    runs.filter(|&run| side.folder.has_run(&key(run))).collect()
}

pub(super) fn finished(side: &Side) -> usize {
    let points = side.points();
    let transports = &side.manifest.transports;
    let count = |point: &Option<String>, transport: &String| {
        stored(side, |run| RunKey {
            point: point.clone(),
            transport: transport.clone(),
            run,
        })
        .len()
    };
    let each = points
        .iter()
        .map(|(id, _)| transports.iter().map(|name| count(id, name)).sum::<usize>());
    each.sum()
}

/// Adds notes about runs without a pair.
pub(super) fn incomplete(
    sides: &[Side; 2],
    point: &str,
    transports: &[String; 2],
    stored: [&BTreeSet<u64>; 2],
    notes: &mut Vec<String>,
) {
    let pairs = stored[0].intersection(stored[1]).count();
    for ((side, transport), runs) in sides.iter().zip(transports).zip(stored) {
        let seeds = side.manifest.seeds;
        if runs.len() as u64 != seeds {
            let at = if point.is_empty() {
                String::new()
            } else {
                format!(" at {point}")
            };
            notes.push(format!(
                "{} is incomplete: it has {} of {seeds} runs of {transport}{at}; {pairs} are in both",
                side.name(),
                runs.len()
            ));
        }
    }
    let [a, b] = [0, 1].map(|side| sides[side].manifest.seeds);
    let note = format!(
        "{} has {a} seeds, {} has {b}: only the common seeds are compared",
        sides[0].name(),
        sides[1].name()
    );
    if a != b && !notes.contains(&note) {
        notes.push(note);
    }
}
